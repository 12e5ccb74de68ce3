/* SPDX-License-Identifier: Apache-2.0 */
/* The record of a run: see record.h. */
#include "train/record.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/json_table.h"
#include "dtrain.h"
#include "train/hashing.h"
#include "train/hook.h"
#include "train/monitor.h"

enum { LINES = 1000, FULL = 1 << 16 };

/* Steps that become one line. */
typedef struct window {
    int64_t n, examples;
    double loss, least, most, seconds, waited_s;
} window;

struct dt_record {
    dt_writer file; /* path NULL: not open */
    dt_str pending; /* lines that wait for it */
    dt_str early;   /* those before the start, which comes first */
    bool started, told_data;
    int64_t every; /* steps of a line */
    window window;
    int64_t began_ns, written_ns;
    char weights[65]; /* at the end */
};

dt_record *dt_record_create(const run *r) {
    if (!r->out.writes) return NULL;
    dt_record *c = dt_alloc(sizeof *c);
    *c = (dt_record){.file = {.fd = -1}, .began_ns = dt_now_ns()};
    return c;
}

/* ---- the file ---- */

/* A killed run may have left half a line, which must not swallow the next one. */
static bool ends_in_line(const char *path) {
    char last = '\n';
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && lseek(fd, -1, SEEK_END) >= 0 && read(fd, &last, 1) != 1) last = '\n';
    if (fd >= 0) close(fd);
    return last == '\n';
}

static dt_status *put_pending(dt_record *c) {
    dt_status *s = c->file.path && c->started
                       ? dt_writer_put(&c->file, dt_str_text(&c->pending), c->pending.size)
                       : NULL;
    if (c->file.path && c->started) dt_str_clear(&c->pending);
    c->written_ns = dt_now_ns();
    return s;
}

dt_status *dt_record_open(dt_record *c, const run *r) {
    if (!c) return NULL;
    char *path = dt_path_join(r->out.directory.path, DT_RECORD_FILE);
    bool whole = ends_in_line(path);
    dt_status *s = dt_writer_append(&c->file, path);
    if (!s && !whole) s = dt_writer_put(&c->file, "\n", 1);
    free(path);
    return s;
}

/* ---- lines ---- */

static dt_json open_line(dt_record *c, const char *event) {
    dt_json j = {.out = c->started ? &c->pending : &c->early};
    dt_json_open(&j, NULL, '{');
    dt_json_string(&j, "event", event);
    return j;
}

static void close_line(dt_record *c, dt_json *j) {
    dt_json_double(j, "t", dt_seconds_since(c->began_ns));
    dt_json_close(j, '}');
    dt_str_putc(j->out, '\n');
}

static void put_time(dt_json *j) {
    char text[32] = "";
    struct tm utc;
    time_t now = time(NULL);
    if (gmtime_r(&now, &utc) && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc) > 0)
        dt_json_string(j, "time", text);
}

static void put_metrics(dt_json *j, const dt_event *e) {
    dt_json_open(j, "metrics", '{');
    for (int i = 0; i < e->n_metrics; i++)
        dt_json_double(j, e->metrics[i].name, e->metrics[i].value);
    dt_json_close(j, '}');
}

/* ---- the start ---- */

static void put_four(dt_json *j, const char *key, const int64_t x[4]) {
    dt_json_open(j, key, '[');
    for (int i = 0; i < 4; i++) dt_json_int(j, NULL, x[i]);
    dt_json_close(j, ']');
}

/* What a picture of the slice is made of. */
static void put_slice(dt_json *j, const dt_strategy *s) {
    if (!dt_resolver_slice(s->resolver) || !s->resolver->slice) return;
    dt_json_string(j, "slice", s->resolver->slice->name);
    dt_json_bool(j, "simulated", s->resolver->simulated);
    dt_json_int(j, "cores_per_chip", s->resolver->topology->mesh[3]);
    if (!s->assignment) return;
    const dt_assignment *a = s->assignment;
    put_four(j, "computation_shape",
             (const int64_t[]){a->shape[0], a->shape[1], a->shape[2], a->shape[3]});
    put_four(j, "computation_stride",
             (const int64_t[]){a->stride[0], a->stride[1], a->stride[2], a->stride[3]});
    dt_json_int(j, "order", a->order);
}

static void put_devices(dt_json *j, const run *r, const dt_event *e) {
    dt_device *device = NULL;
    /* open since the trainer compiled */
    dt_status_free(dt_strategy_device_of(r->strategy, &device));
    dt_json_string(j, "strategy", r->strategy->row->kind.name);
    dt_json_string(j, "backend", e->backend);
    dt_json_string(j, "device", e->device);
    dt_json_string(j, "kernels", dt_device_facts_of(device).kernels);
    dt_json_int(j, "replicas", e->replicas);
    dt_json_int(j, "logical_devices", e->logical_devices);
    dt_json_int(j, "threads", e->threads);
    dt_json_int(j, "hosts", r->strategy->hosts);
    put_slice(j, r->strategy);
}

static const dt_json_member numbers[] = {
    DT_JSON(dt_event, step),
    DT_JSON(dt_event, steps),
    DT_JSON(dt_event, epoch),
    DT_JSON(dt_event, epochs),
    DT_JSON(dt_event, steps_per_epoch),
    DT_JSON(dt_event, parameters),
    DT_JSON(dt_event, peak_bytes),
    DT_JSON(dt_event, memory_bytes),
    DT_JSON_AS("steps_bytes", dt_event, step_bytes),
    DT_JSON(dt_event, evaluation_bytes),
    DT_JSON(dt_event, state_bytes),
    DT_JSON(dt_event, data_bytes),
    DT_JSON(dt_event, program_bytes),
    DT_JSON(dt_event, train_examples),
    DT_JSON(dt_event, validation_examples),
    DT_JSON(dt_event, global_batch),
    DT_JSON(dt_event, last_batch),
    {0},
};

/* Keys of metrics of which less, or more, is better; the direction of
 * others is unknown. */
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

/* {"f1_score_0": "iris"} */
static void put_classes(dt_json *j, const run *r) {
    const char *key[DT_MAX_KEYS];
    const int n = dt_compile_keys(dt_trainer_compiled_with(r->q->trainer), key);

    dt_json_open(j, "classes", '{');
    for (int i = 0; i < n; i++)
        if (dt_trainer_class_of(r->q->trainer, i))
            dt_json_string(j, key[i], dt_trainer_class_of(r->q->trainer, i));
    dt_json_close(j, '}');
}

static void put_start(dt_record *c, const run *r, const dt_event *e) {
    char seed[24];
    c->started = true;
    c->every = (e->steps + LINES - 1) / LINES;
    dt_json j = open_line(c, "start");
    dt_json_int(&j, "v", 1);
    put_time(&j);
    dt_json_string(&j, "dtrain", DTRAIN_VERSION_STRING);
    dt_json_string(&j, "name", e->job);
    dt_json_string(&j, "job_sha256", e->job_sha256);
    snprintf(seed, sizeof seed, "%" PRIu64, e->seed);
    dt_json_string(&j, "seed", seed);
    dt_json_int(&j, "generation", r->out.generation);
    dt_json_members(&j, numbers, e);
    dt_json_bool(&j, "resumed", e->resumed);
    dt_record_text(&j, r, "checkpoint", e->checkpoint);
    put_devices(&j, r, e);
    put_directions(&j, r);
    put_classes(&j, r);
    dt_record_host(&j);
    dt_json_string(&j, "job", r->q->job);
    dt_json_string(&j, "config", r->q->config);
    close_line(c, &j);
    dt_str_puts(&c->pending, dt_str_text(&c->early));
    dt_str_clear(&c->early);
}

/* ---- steps ---- */

static void close_window(dt_record *c, const run *r) {
    window *w = &c->window;
    double rate = NAN;
    if (w->n == 0) return;
    dt_status_free(dt_run_rate(r, &rate)); /* a rate that cannot be told was none of the step's */
    dt_json j = open_line(c, "steps");
    dt_json_int(&j, "step", r->at.step);
    dt_json_int(&j, "n", w->n);
    dt_json_int(&j, "examples", w->examples);
    dt_json_double(&j, "loss", w->loss / (double)w->n);
    dt_json_double(&j, "loss_min", w->least);
    dt_json_double(&j, "loss_max", w->most);
    dt_json_double(&j, "learning_rate", rate);
    dt_json_double(&j, "seconds", w->seconds);
    dt_json_double(&j, "waited_s", w->waited_s);
    dt_json_double(&j, "virtual_s", dt_virtual_step_s(r));
    close_line(c, &j);
    *w = (window){0};
}

bool dt_record_follows_schedule(const dt_record *c, const run *r) {
    return c && dt_optimizer_has_schedule(r->optimizer) && c->window.n + 1 >= c->every;
}

static dt_status *step_end(run *r, dt_hook *h, const dt_step_done *done) {
    dt_record *c = r->record;
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

/* ---- what else happens ---- */

/* Of the process; of a device that has memory of its own, where it tells. */
static void put_peaks(dt_json *j, const run *r) {
    const int64_t device = dt_device_peak_bytes(r->strategy->device);
    dt_json_int(j, "peak_rss_bytes", dt_record_peak_bytes());
    if (device > 0) dt_json_int(j, "device_peak_bytes", device);
}

static void put_measured(dt_json *j, const run *r, const dt_event *e) {
    put_peaks(j, r);
    put_metrics(j, e);
}

static void put_own_metrics(dt_json *j, const run *r, const dt_event *e) {
    (void)r;
    put_metrics(j, e);
}

static void put_checkpoint(dt_json *j, const run *r, const dt_event *e) {
    dt_record_text(j, r, "checkpoint", e->checkpoint);
    dt_json_string(j, "weights_sha256", e->weights_sha256);
}

static void put_text(dt_json *j, const run *r, const dt_event *e) {
    dt_record_text(j, r, "text", e->text);
}

static const dt_json_member epoch[] = {
    DT_JSON(dt_event, epoch),
    DT_JSON(dt_event, step),
    DT_JSON(dt_event, epoch_step),
    DT_JSON(dt_event, examples),
    DT_JSON(dt_event, wall_s),
    DT_JSON(dt_event, examples_per_s),
    DT_JSON(dt_event, virtual_s),
    DT_JSON(dt_event, idle),
    DT_JSON(dt_event, idle_reading),
    DT_JSON(dt_event, idle_decoding),
    DT_JSON(dt_event, idle_map),
    DT_JSON(dt_event, waited_s),
    {0},
};
static const dt_json_member eval[] = {
    DT_JSON(dt_event, step),
    DT_JSON(dt_event, epoch),
    DT_JSON(dt_event, examples),
    {0},
};
static const dt_json_member checkpoint[] = {
    DT_JSON(dt_event, step),
    {0},
};
static const dt_json_member words[] = {
    DT_JSON(dt_event, step, .if_set = true),
    DT_JSON(dt_event, epoch, .if_set = true),
    DT_JSON(dt_event, callback, .if_set = true),
    {0},
};
static const dt_json_member workers[] = {
    DT_JSON(dt_event, step),
    DT_JSON(dt_event, workers),
    DT_JSON_AS("lost", dt_event, workers_lost),
    DT_JSON_AS("again", dt_event, batches_again),
    DT_JSON_AS("dropped", dt_event, pushes_dropped),
    DT_JSON(dt_event, staleness, .count = offsetof(dt_event, n_staleness)),
    {0},
};

/* Members, and what follows them; put NULL: nothing. */
static const struct {
    const char *name;
    const dt_json_member *members;
    void (*put)(dt_json *j, const run *r, const dt_event *e);
} kinds[] = {
    [DT_EVENT_EPOCH] = {"epoch", epoch, put_measured},
    [DT_EVENT_EVAL] = {"eval", eval, put_own_metrics},
    [DT_EVENT_CHECKPOINT] = {"checkpoint", checkpoint, put_checkpoint},
    [DT_EVENT_WARNING] = {"warning", words, put_text},
    [DT_EVENT_CALLBACK] = {"callback", words, put_text},
    [DT_EVENT_FAULT] = {"fault", words, put_text},
    [DT_EVENT_TEXT] = {"text", words, put_text},
    [DT_EVENT_WORKERS] = {"workers", workers, NULL},
};

void dt_record_event(dt_record *c, const run *r, const dt_event *e) {
    if (!c) return;
    if (e->kind == DT_EVENT_START) put_start(c, r, e);
    if (e->kind == DT_EVENT_END && e->weights_sha256)
        snprintf(c->weights, sizeof c->weights, "%s", e->weights_sha256);
    if ((size_t)e->kind >= sizeof kinds / sizeof *kinds || !kinds[e->kind].members) return;
    if (e->kind != DT_EVENT_WARNING) close_window(c, r);
    dt_json j = open_line(c, kinds[e->kind].name);
    dt_json_members(&j, kinds[e->kind].members, e);
    if (kinds[e->kind].put) kinds[e->kind].put(&j, r, e);
    close_line(c, &j);
}

/* ---- the data ---- */

static void put_file(dt_json *j, const run *r, const dt_file_identity *f) {
    dt_json_open(j, NULL, '{');
    dt_record_text(j, r, "path", f->path);
    if (*f->what) dt_json_string(j, "what", f->what);
    dt_json_int(j, "bytes", f->bytes);
    dt_json_int(j, "modified", f->modified_s);
    if (*f->sha256.hex) dt_json_string(j, "sha256", f->sha256.hex);
    dt_json_close(j, '}');
}

static void put_identity(dt_json *j, const run *r, const dt_identity *x) {
    dt_json_int(j, "files", x->files);
    dt_json_int(j, "bytes", x->bytes);
    dt_json_string(j, "hashed", dt_hashed_name(x->hashed));
    dt_json_string(j, "sha256", x->sha256.hex);
    dt_json_open(j, "first", '[');
    for (int i = 0; i < x->n; i++) put_file(j, r, &x->file[i]);
    dt_json_close(j, ']');
}

static void put_part(dt_record *c, const run *r, dt_part p) {
    const char *fault;
    const dt_identity *x = dt_hashing_of(r->hashing, p, &fault);
    if (x && x->files == 0) return;
    dt_json j = open_line(c, "data");
    dt_json_string(&j, "part", dt_part_name(p));
    if (x) put_identity(&j, r, x);
    else dt_record_text(&j, r, "error", fault);
    close_line(c, &j);
}

/* Once it is known. */
static void put_data(dt_record *c, const run *r) {
    if (c->told_data || !c->started || !dt_hashing_is_done(r->hashing)) return;
    c->told_data = true;
    for (dt_part p = 0; p < DT_PARTS; p++) put_part(c, r, p);
}

dt_status *dt_record_flush(dt_record *c, const run *r) {
    if (!c) return NULL;
    close_window(c, r);
    return put_pending(c);
}

/* Writes waiting lines once a second, or earlier if there are many. */
static dt_status *settled(run *r, dt_hook *h) {
    dt_record *c = r->record;
    (void)h;
    if (c) put_data(c, r);
    bool due = c && (c->pending.size >= FULL ||
                     (c->pending.size > 0 && dt_seconds_since(c->written_ns) >= 1));
    return due ? put_pending(c) : NULL;
}

const dt_hook_row dt_hook_record = {.step_end = step_end, .settled = settled};

/* ---- the end ---- */

static void put_end(dt_record *c, const run *r, const dt_status *s) {
    dt_json j = open_line(c, "end");
    put_time(&j);
    dt_json_int(&j, "step", r->at.step);
    dt_json_int(&j, "exit", s ? dt_status_code(s) : 0);
    dt_record_text(&j, r, "error", s ? dt_status_text(s) : NULL);
    dt_json_bool(&j, "finished", !s && (r->at.step >= r->size.steps || r->stop_training));
    dt_json_bool(&j, "stopped_early", r->stop_training);
    dt_json_string(&j, "weights_sha256", *c->weights ? c->weights : NULL);
    dt_record_text(&j, r, "checkpoint", r->out.checkpoint);
    dt_json_double(&j, "virtual_s", r->virtual_time.all_s);
    put_peaks(&j, r);
    close_line(c, &j);
}

dt_status *dt_record_close(dt_record *c, const run *r, const dt_status *s) {
    dt_status *closing = NULL;
    if (!c) return NULL;
    if (c->started) {
        close_window(c, r);
        put_data(c, r);
        put_end(c, r, s);
        closing = put_pending(c);
    }
    if (c->file.path && !closing) closing = dt_writer_close(&c->file);
    dt_writer_abandon(&c->file);
    dt_str_release(&c->pending);
    dt_str_release(&c->early);
    free(c);
    return closing;
}
