/* SPDX-License-Identifier: Apache-2.0 */
/* The record of a run: see record.h. */
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/events.h"
#include "dtrain.h"
#include "train/hook.h"
#include "train/monitor.h"
#include "train/record.h"

/* Returns the text, which the caller frees, with values of environment variables replaced as
 * r->q->hidden says, such as by "${HOME}". These values are secret and must not be in the record,
 * but may be part of paths, which warnings, errors and file names repeat. A long value is replaced
 * wherever it appears; a short one, which might match by chance, only as a whole word. */

static char *hide(const run *r, const char *text) {
    return dt_hidden_back(r->q->hidden, r->q->n_hidden, text);
}

enum { LINES = 1000, FULL = 1 << 16 };

/* The steps that the next line "steps" stands for, so far. */
typedef struct window {
    int64_t n, examples;
    double loss, least, most, seconds, waited_s;
} window;

typedef struct dt_record {
    dt_writer file; /* the open record; its path is NULL while it is not open */
    dt_str pending; /* lines that wait to be written to the file */
    dt_str early;   /* lines that came before the line "start", which must be written first */
    bool started, has_data;
    int64_t every; /* most steps that a line "steps" stands for */
    window window;
    int64_t began_ns, written_ns;
    char weights[65]; /* hash of the weights at the end of the run, in hexadecimal */
} record;

/* ---- the file ---- */

/* Whether the file ends in a line feed; true also if it is missing, empty or cannot be read. A
 * killed run may have left half a line, to which the next line must not be appended. */
static bool ends_in_line(const char *path) {
    char last = '\n';
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && lseek(fd, -1, SEEK_END) >= 0 && read(fd, &last, 1) != 1) last = '\n';
    if (fd >= 0) close(fd);
    return last == '\n';
}

static dt_status *open_file(record *c, const run *r) {
    DT_LOCAL char *path = dt_path_join(r->out.directory.path, DT_RECORD_FILE);
    bool whole = ends_in_line(path);
    dt_status *s = dt_writer_append(&c->file, path);
    if (!s && !whole) s = dt_writer_put(&c->file, "\n", 1);
    return s;
}

/* Writes the lines that wait. Opens the file first if the run failed before the hook's `begin`,
 * which opens it otherwise. */
static dt_status *put_pending(record *c, const run *r) {
    if (!c->file.path) DT_TRY(open_file(c, r));
    dt_status *s = dt_writer_put(&c->file, dt_str_text(&c->pending), c->pending.size);
    dt_str_clear(&c->pending);
    c->written_ns = dt_now_ns();
    return s;
}

/* ---- lines ---- */

static void put_line(record *c, int kind, dt_event_line *l) {
    dt_json j = {.out = c->started ? &c->pending : &c->early};
    l->t = dt_seconds_since(c->began_ns);
    dt_json_open(&j, NULL, '{');
    dt_json_string(&j, "event", dt_event_rows[kind].name);
    dt_json_members(&j, dt_event_rows[kind].record, l);
    dt_json_members(&j, dt_record_tail, l);
    dt_json_close(&j, '}');
    dt_str_putc(j.out, '\n');
}

typedef struct utc {
    char text[32];
} utc;

/* Writes the current time in UTC to x->text, which it returns; NULL: the time is unknown. */
static const char *print_time(utc *x) {
    struct tm tm;
    time_t now = time(NULL);
    return gmtime_r(&now, &tm) && strftime(x->text, sizeof x->text, "%Y-%m-%dT%H:%M:%SZ", &tm) > 0
               ? x->text
               : NULL;
}

/* ---- the line about the start of an attempt ---- */

/* Writes members about the strategy's slice, from which `dtrain report` draws it: its name (slice),
 * whether it is simulated, and cores_per_chip. If the strategy has a device assignment, also writes
 * its computation_shape and computation_stride, each as [x, y, z, core], and its order, a number of
 * dt_device_order. Writes nothing if the strategy has no slice. */
static void put_slice(dt_json *j, const dt_strategy *s) {
    if (!dt_resolver_slice(s->resolver) || !s->resolver->slice) return;
    dt_json_string(j, "slice", s->resolver->slice->name);
    dt_json_bool(j, "simulated", s->resolver->simulated);
    dt_json_int(j, "cores_per_chip", s->resolver->topology->mesh[3]);
    if (!s->assignment) return;
    const dt_assignment *a = s->assignment;
    dt_json_ints(j, "computation_shape",
                 (const int64_t[]){a->shape[0], a->shape[1], a->shape[2], a->shape[3]}, 4);
    dt_json_ints(j, "computation_stride",
                 (const int64_t[]){a->stride[0], a->stride[1], a->stride[2], a->stride[3]}, 4);
    dt_json_int(j, "order", a->order);
}

/* Writes which metrics improve when they fall, and which when they grow. Metrics whose direction is
 * unknown are left out. */
static void put_directions(dt_json *j, const run *r) {
    static const struct {
        const char *key;
        dt_better better;
    } ways[] = {{"less_is_better", DT_BETTER_LESS}, {"more_is_better", DT_BETTER_MORE}};
    const dt_compile_spec *c = dt_trainer_compiled_with(r->q->trainer);
    const char *key[DT_MAX_KEYS];
    const int n = dt_compile_keys(c, key);

    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        dt_json_open(j, ways[w].key, '[');
        for (int i = 0; i < n; i++)
            if (dt_metric_better(c, key[i]) == ways[w].better) dt_json_string(j, NULL, key[i]);
        dt_json_close(j, ']');
    }
}

/* Writes the class names of metrics of one class: {"f1_score_0": "iris"}. */
static void put_classes(dt_json *j, const run *r) {
    const char *key[DT_MAX_KEYS];
    const int n = dt_compile_keys(dt_trainer_compiled_with(r->q->trainer), key);

    dt_json_open(j, "classes", '{');
    for (int i = 0; i < n; i++)
        if (dt_trainer_class_of(r->q->trainer, i))
            dt_json_string(j, key[i], dt_trainer_class_of(r->q->trainer, i));
    dt_json_close(j, '}');
}

enum { MOST_LAYERS = 500 };

/* Counts the layer's parameters as dt_model_spec.parameters does or, without `all`, those that are
 * trained. Weights of an integer type are counters, not parameters. */
static int64_t count_parameters(const dt_layer_spec *l, bool all) {
    int64_t n = 0;
    for (int i = 0; i < l->n_weights; i++)
        if (dt_dtype_is_float(l->weight[i].type.dtype) && (all || l->weight[i].trainable))
            n += dt_type_elements(&l->weight[i].type);
    return n;
}

/* Writes a layer: name, kind, output (its shape for one example), parameters, and trainable (how
 * many of these are trained). Its `inputs` are written only if it does not simply follow the layer
 * before it. */
static void put_layer(dt_json *j, const dt_model_spec *m, int i) {
    const dt_layer_spec *l = &m->layer[i];
    dt_json_open(j, NULL, '{');
    dt_json_string(j, "name", l->name);
    dt_json_string(j, "kind", l->row->kind.name);
    dt_json_open(j, "output", '[');
    for (int d = dt_type_has_batch(&l->out); d < l->out.rank; d++)
        dt_json_int(j, NULL, l->out.dim[d]);
    dt_json_close(j, ']');
    dt_json_int(j, "parameters", count_parameters(l, true));
    dt_json_int(j, "trainable", count_parameters(l, false));
    if (l->n_in > 1 || (l->n_in == 1 && l->from[0] != i - 1)) {
        dt_json_open(j, "inputs", '[');
        for (int k = 0; k < l->n_in; k++) dt_json_string(j, NULL, m->layer[l->from[k]].name);
        dt_json_close(j, ']');
    }
    dt_json_close(j, '}');
}

/* Writes trainable_parameters, layers_in_all (the number of layers), and the first MOST_LAYERS
 * layers. */
static void put_layers(dt_json *j, const dt_model_spec *m) {
    int64_t trainable = 0;
    for (int i = 0; i < m->n_layers; i++) trainable += count_parameters(&m->layer[i], false);
    dt_json_int(j, "trainable_parameters", trainable);
    dt_json_int(j, "layers_in_all", m->n_layers);
    dt_json_open(j, "layers", '[');
    for (int i = 0; i < m->n_layers && i < MOST_LAYERS; i++) put_layer(j, m, i);
    dt_json_close(j, ']');
}

static void put_run(dt_json *j, const dt_event_line *l) {
    const run *r = l->of;
    put_slice(j, r->strategy);
    put_directions(j, r);
    put_classes(j, r);
    put_layers(j, &r->model->spec);
    dt_record_host(j);
}

static void put_start(record *c, const run *r, const dt_event *e) {
    dt_device *device = NULL;
    char *checkpoint = hide(r, e->checkpoint);
    utc now;
    /* This cannot fail: the device has been open since the trainer compiled. */
    dt_status_free(dt_strategy_device_of(r->strategy, &device));
    c->started = true;
    c->every = (e->steps + LINES - 1) / LINES;
    dt_event_line l = {.event = *e,
                       .v = 1,
                       .time = print_time(&now),
                       .dtrain = DTRAIN_VERSION_STRING,
                       .generation = r->out.generation,
                       .strategy = r->strategy->row->kind.name,
                       .kernels = dt_device_facts_of(device).kernels,
                       .hosts = r->strategy->hosts,
                       .more = put_run,
                       .of = r,
                       .job_text = r->q->job,
                       .config = r->q->config};
    l.event.checkpoint = checkpoint;
    put_line(c, DT_EVENT_START, &l);
    free(checkpoint);
    dt_str_puts(&c->pending, dt_str_text(&c->early));
    dt_str_clear(&c->early);
}

/* ---- steps ---- */

static void close_window(record *c, const run *r) {
    window *w = &c->window;
    double rate = NAN;
    if (w->n == 0) return;
    /* In the line, an unknown learning rate is null. */
    dt_status_free(dt_run_rate(r, &rate));
    put_line(c, DT_LINE_STEPS,
             &(dt_event_line){.event.step = r->at.step,
                              .event.examples = w->examples,
                              .event.waited_s = w->waited_s,
                              .event.virtual_s = dt_virtual_step_s(r, 0),
                              .n = w->n,
                              .loss = w->loss / (double)w->n,
                              .loss_min = w->least,
                              .loss_max = w->most,
                              .learning_rate = rate,
                              .seconds = w->seconds});
    *w = (window){0};
}

bool dt_record_follows_schedule(const run *r) {
    const record *c = r->record;
    return c && dt_optimizer_has_schedule(r->optimizer) && c->window.n + 1 >= c->every;
}

static dt_status *step_end(run *r, dt_hook *h, const dt_step_done *done) {
    record *c = r->record;
    (void)h;
    if (!c) return NULL;
    window *w = &c->window;
    w->least = w->n == 0 ? done->loss : fmin(w->least, done->loss);
    w->most = w->n == 0 ? done->loss : fmax(w->most, done->loss);
    w->n++;
    w->examples += done->batch->rows;
    w->loss += done->loss;
    w->seconds += done->seconds;
    w->waited_s += done->batch->waited_s;
    if (w->n >= c->every) close_window(c, r);
    return NULL;
}

/* ---- other events ---- */

/* Sets the peak memory of the process and, if the device reports its memory, that of the device. */
static void measure_peaks(dt_event_line *l, const run *r) {
    l->peak_rss_bytes = dt_record_peak_bytes();
    l->device_peak_bytes = dt_device_peak_bytes(r->strategy->device);
}

static void put_event(record *c, const run *r, const dt_event *e) {
    char *text = hide(r, e->text), *checkpoint = hide(r, e->checkpoint);
    dt_event_line l = {.event = *e};
    l.event.text = text;
    l.event.checkpoint = checkpoint;
    measure_peaks(&l, r);
    if (e->kind != DT_EVENT_WARNING) close_window(c, r);
    put_line(c, e->kind, &l);
    free(text);
    free(checkpoint);
}

void dt_record_event(const run *r, const dt_event *e) {
    record *c = r->record;
    if (!c) return;
    if (e->kind == DT_EVENT_START) {
        put_start(c, r, e);
        /* The line about the end is written when the run is closed. */
    } else if (e->kind == DT_EVENT_END) {
        if (e->weights_sha256) snprintf(c->weights, sizeof c->weights, "%s", e->weights_sha256);
    } else if (e->kind != DT_EVENT_DATA && dt_event_rows[e->kind].record) {
        put_event(c, r, e);
    }
}

/* ---- the data ---- */

typedef struct part_files {
    const run *r;
    const dt_identity *x;
} part_files;

static void put_file(dt_json *j, const run *r, const dt_file_identity *f) {
    DT_LOCAL char *path = hide(r, f->path);
    dt_json_open(j, NULL, '{');
    dt_json_string(j, "path", path);
    if (*f->what) dt_json_string(j, "what", f->what);
    dt_json_int(j, "bytes", f->bytes);
    dt_json_int(j, "modified", f->modified_s);
    if (*f->sha256.hex) dt_json_string(j, "sha256", f->sha256.hex);
    dt_json_close(j, '}');
}

static void put_first(dt_json *j, const dt_event_line *l) {
    const part_files *f = l->of;
    dt_json_open(j, "first", '[');
    for (int i = 0; i < f->x->n; i++) put_file(j, f->r, &f->x->file[i]);
    dt_json_close(j, ']');
}

static void put_unread(record *c, const run *r, dt_part p, const char *fault) {
    DT_LOCAL char *error = hide(r, fault);
    put_line(c, DT_LINE_UNREAD, &(dt_event_line){.event.split = dt_part_name(p), .error = error});
}

static void put_part(record *c, const run *r, dt_part p) {
    const char *fault;
    const dt_identity *x = dt_run_identity(r, p, &fault);
    if (!x) put_unread(c, r, p, fault);
    if (!x || x->files == 0) return;
    const part_files files = {r, x};
    put_line(c, DT_EVENT_DATA,
             &(dt_event_line){.event.split = dt_part_name(p),
                              .event.files = x->files,
                              .event.bytes = x->bytes,
                              .event.hashed = dt_hashed_name(x->hashed),
                              .event.data_sha256 = x->sha256.hex,
                              .more = put_first,
                              .of = &files});
}

/* Adds a line about each part of the data that has files or could not be read, once, as soon as the
 * hashes are known and the line "start" is there. */
static void put_data(record *c, const run *r) {
    if (c->has_data || !c->started || !dt_run_is_hashed(r)) return;
    c->has_data = true;
    for (dt_part p = 0; p < DT_PARTS; p++) put_part(c, r, p);
}

/* ---- the moments ---- */

static dt_status *open_record(run *r, dt_hook *h) {
    const dt_texts *printed = &r->q->printed;
    (void)h;
    if (!r->out.writes) return NULL;
    record *c = dt_alloc(sizeof *c);
    *c = (record){.file = {.fd = -1}, .began_ns = dt_now_ns()};
    r->record = c;
    for (int i = 0; i < printed->n; i++)
        put_event(c, r, &(dt_event){.kind = DT_EVENT_WARNING, .text = printed->v[i]});
    return NULL;
}

static dt_status *begin(run *r, dt_hook *h) {
    (void)h;
    return r->record ? open_file(r->record, r) : NULL;
}

/* Writes waiting lines if the last were written at least a second ago, or if the waiting ones have
 * FULL bytes or more. */
static dt_status *settled(run *r, dt_hook *h) {
    record *c = r->record;
    (void)h;
    if (c) put_data(c, r);
    bool due = c && (c->pending.size >= FULL ||
                     (c->pending.size > 0 && dt_seconds_since(c->written_ns) >= 1));
    return due ? put_pending(c, r) : NULL;
}

/* Writes the waiting lines after each checkpoint, so that a run that resumes from it finds them in
 * the record. */
static dt_status *saved(run *r, dt_hook *h) {
    (void)h;
    if (!r->record) return NULL;
    close_window(r->record, r);
    return put_pending(r->record, r);
}

/* ---- the end of an attempt, and the hook ---- */

static void put_end(record *c, const run *r, const dt_status *s) {
    char *error = hide(r, s ? dt_status_text(s) : NULL), *checkpoint = hide(r, r->out.checkpoint);
    utc now;
    dt_event_line l = {.event.step = r->at.step,
                       .event.weights_sha256 = *c->weights ? c->weights : NULL,
                       .event.checkpoint = checkpoint,
                       .event.virtual_s = r->virtual_time.all_s,
                       .time = print_time(&now),
                       .exit = s ? dt_status_code(s) : 0,
                       .error = error,
                       .finished = !s && (r->at.step >= r->size.steps || r->stop_training),
                       .stopped_early = r->stop_training};
    measure_peaks(&l, r);
    put_line(c, DT_EVENT_END, &l);
    free(error);
    free(checkpoint);
}

/* Writes how the attempt ended, and closes the file. Does nothing if there was no line "start". The
 * caller drops an error of writing if the run has another error. */
static dt_status *end_record(record *c, const run *r) {
    if (!c->started) return NULL;
    close_window(c, r);
    put_data(c, r);
    put_end(c, r, r->fault);
    DT_TRY(put_pending(c, r));
    return dt_writer_close(&c->file);
}

static void close_record(run *r, dt_hook *h) {
    record *c = r->record;
    (void)h;
    if (!c) return;
    dt_status *s = end_record(c, r);
    if (r->fault) dt_status_free(s);
    else r->fault = s;
    dt_writer_abandon(&c->file);
    dt_str_release(&c->pending);
    dt_str_release(&c->early);
    free(c);
    r->record = NULL;
}

const dt_hook_row dt_hook_record = {.open = open_record,
                                    .begin = begin,
                                    .step_end = step_end,
                                    .settled = settled,
                                    .saved = saved,
                                    .close = close_record};
