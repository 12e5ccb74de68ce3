/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TensorBoard: writes event files for TensorBoard below log_dir, with the same tags and steps as
 * Keras:
 *
 *     train/       epoch_loss, epoch_accuracy, ..., epoch_learning_rate  at the epoch, from 0
 *                  batch_loss, ...                                       at the step (update_freq)
 *                  WEIGHT/histogram                                      with histogram_freq
 *     validation/  epoch_loss, ...; evaluation_loss_vs_iterations, ...   at the epoch; at the step
 *
 * The first run and each run that resumes it write separate files, named by time, host and process,
 * as TensorBoard expects. A checkpoint lists these files and their lengths. A run that resumes
 * first cuts each file to its length in the checkpoint and removes files that the checkpoint does
 * not list, so that no step appears twice.
 */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "file/protobuf.h"
#include "file/records.h"
#include "train/run_log.h"

/*
 * ---- event files ----
 *
 * TFRecords of tensorflow.Event, the first of which names the version. Scalars and histograms are
 * tensors with the names of TensorBoard's plug-ins beside them, as TensorFlow 2 and Keras write
 * them. The code is not generated, since only 15 fields of TensorFlow's messages are written and
 * none is read. A nested message is written to a separate buffer first, because its length precedes
 * it; such messages are small. Tests check the bytes with TensorBoard's own reader.
 */

enum {
    EVENT_WALL_TIME = DT_PB_TAG(1, DT_PB_FIXED64),
    EVENT_STEP = DT_PB_TAG(2, DT_PB_VARINT),
    EVENT_VERSION = DT_PB_TAG(3, DT_PB_BYTES),
    EVENT_SUMMARY = DT_PB_TAG(5, DT_PB_BYTES),
    SUMMARY_VALUE = DT_PB_TAG(1, DT_PB_BYTES),
    VALUE_TAG = DT_PB_TAG(1, DT_PB_BYTES),
    VALUE_TENSOR = DT_PB_TAG(8, DT_PB_BYTES),
    VALUE_METADATA = DT_PB_TAG(9, DT_PB_BYTES),
    METADATA_PLUGIN = DT_PB_TAG(1, DT_PB_BYTES),
    PLUGIN_NAME = DT_PB_TAG(1, DT_PB_BYTES),
    TENSOR_DTYPE = DT_PB_TAG(1, DT_PB_VARINT),
    TENSOR_SHAPE = DT_PB_TAG(2, DT_PB_BYTES),
    TENSOR_CONTENT = DT_PB_TAG(4, DT_PB_BYTES),
    SHAPE_DIM = DT_PB_TAG(2, DT_PB_BYTES),
    DIM_SIZE = DT_PB_TAG(1, DT_PB_VARINT),
};
enum { FLOAT = 1, DOUBLE = 2 }; /* numbers of data types in TensorFlow's types.proto */
enum { BUCKETS = 30 };

/* The time and step of an event. */
typedef struct event_time {
    double wall_s; /* time of the event, in seconds since 1970 */
    int64_t step;
} event_time;

static void put_record(dt_str *out, dt_str *event) {
    size_t at = out->size;
    dt_put_little(out, event->size, 8);
    dt_put_little(out, dt_crc32c_masked(out->data + at, 8), 4);
    dt_str_add(out, dt_str_text(event), event->size);
    dt_put_little(out, dt_crc32c_masked(dt_str_text(event), event->size), 4);
    dt_str_release(event);
}

static void put_version(dt_str *out, double wall_s) {
    dt_str event = {0};
    dt_pb_put_double(&event, EVENT_WALL_TIME, wall_s);
    dt_pb_put_text(&event, EVENT_VERSION, "brain.Event:2");
    put_record(out, &event);
}

/* Adds the record of an event with one value: its tag, its tensor (freed here), and the plug-in
 * that shows it. */
static void put_value(dt_str *out, const event_time *at, const char *tag, dt_str *tensor,
                      const char *plugin) {
    dt_str event = {0}, summary = {0}, value = {0}, metadata = {0}, data = {0};
    dt_pb_put_text(&data, PLUGIN_NAME, plugin);
    dt_pb_move_message(&metadata, METADATA_PLUGIN, &data);
    dt_pb_put_text(&value, VALUE_TAG, tag);
    dt_pb_move_message(&value, VALUE_TENSOR, tensor);
    dt_pb_move_message(&value, VALUE_METADATA, &metadata);
    dt_pb_move_message(&summary, SUMMARY_VALUE, &value);
    dt_pb_put_double(&event, EVENT_WALL_TIME, at->wall_s);
    dt_pb_put_int(&event, EVENT_STEP, at->step);
    dt_pb_move_message(&event, EVENT_SUMMARY, &summary);
    put_record(out, &event);
}

static void put_scalar(dt_str *out, const event_time *at, const char *tag, double value) {
    dt_str tensor = {0};
    const float content = (float)value;
    dt_pb_put_int(&tensor, TENSOR_DTYPE, FLOAT);
    dt_pb_put_bytes(&tensor, TENSOR_SHAPE, "", 0);
    dt_pb_put_bytes(&tensor, TENSOR_CONTENT, &content, sizeof content);
    put_value(out, at, tag, &tensor, "scalars");
}

/* ---- histograms ---- */

typedef struct bucket {
    double left, right, count;
} bucket;

static double value_at(const dt_named_view *a, int64_t i) {
    return a->type.dtype == DT_FLOAT64 ? ((const double *)a->data)[i]
                                       : (double)((const float *)a->data)[i];
}

static bool find_limits(const dt_named_view *a, int64_t n, double *least, double *most) {
    bool finite = n > 0;
    *least = INFINITY;
    *most = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        double x = value_at(a, i);
        finite &= isfinite(x) != 0;
        *least = x < *least ? x : *least;
        *most = x > *most ? x : *most;
    }
    return finite;
}

/* Counts the values of each bucket. If all values are equal, the last bucket has all of them. */
static void count(const dt_named_view *a, int64_t n, double least, double most, bucket *b) {
    const double width = (most - least) / BUCKETS;
    for (int k = 0; k < BUCKETS; k++)
        b[k] = (bucket){least + k * width, k + 1 < BUCKETS ? least + (k + 1) * width : most, 0};
    for (int64_t i = 0; i < n; i++) {
        double at = width > 0 ? floor((value_at(a, i) - least) / width) : BUCKETS;
        b[at < BUCKETS ? (int)at : BUCKETS - 1].count++;
    }
}

/* Adds a histogram of thirty buckets of equal width from the smallest to the largest value. If the
 * values are not float32 or float64, if there are none, or if any is not finite, nothing is
 * added. */
static void put_histogram(dt_str *out, const event_time *at, const char *tag,
                          const dt_named_view *values) {
    const int64_t n = dt_type_elements(&values->type);
    dt_str tensor = {0}, shape = {0}, dim = {0};
    bucket buckets[BUCKETS];
    double least, most;
    if ((values->type.dtype != DT_FLOAT32 && values->type.dtype != DT_FLOAT64) ||
        !find_limits(values, n, &least, &most))
        return;
    count(values, n, least, most, buckets);
    dt_pb_put_int(&dim, DIM_SIZE, BUCKETS);
    dt_pb_move_message(&shape, SHAPE_DIM, &dim);
    dt_pb_put_int(&dim, DIM_SIZE, 3);
    dt_pb_move_message(&shape, SHAPE_DIM, &dim);
    dt_pb_put_int(&tensor, TENSOR_DTYPE, DOUBLE);
    dt_pb_move_message(&tensor, TENSOR_SHAPE, &shape);
    dt_pb_put_bytes(&tensor, TENSOR_CONTENT, buckets, sizeof buckets);
    put_value(out, at, tag, &tensor, "histograms");
}

/* ---- the callback ---- */

struct tensorboard {
    const char *log_dir;
    int64_t histogram_freq;
    /* number of steps between two writes of batch_*; 0: update_word says BATCH (every step) or
     * EPOCH (never) */
    int64_t update_freq;
    int update_word;
    bool write_steps_per_second;
};

enum { EPOCH, BATCH };
static const char *const update_words[] = {[EPOCH] = "epoch", [BATCH] = "batch", NULL};

static const dt_field fields[] = {
    DT_TEXT(struct tensorboard, log_dir, .min = 1, .max = 1000, .preset = "tb",
            .help = "path, below output.dir"),
    DT_ONE_OF(update_freq,
              DT_FORMS(DT_ENUM(struct tensorboard, update_word, update_words),
                       DT_INT(struct tensorboard, update_freq, .min = 1, .max = 1e15)),
              .preset = "epoch", .help = "how often to write: epoch, batch, or a number of steps"),
    DT_INT(struct tensorboard, histogram_freq, .max = INT32_MAX,
           .help = "write weight histograms every N epochs; 0: never"),
    DT_FLAG(struct tensorboard, write_steps_per_second, .help = "write steps per second"),
    DT_ONLY("write_graph", "false"),
    DT_ONLY("write_images", "false"),
    DT_ONLY("profile_batch", "0"),
    DT_ONLY("embeddings_freq", "0"),
    DT_END};

#define PREFIX "events.out.tfevents."
/* An event file of this run, or of the run that it continues. */
typedef struct part {
    const char *name;
    /* size: bytes without the provisional records, which come last; end: all bytes */
    int64_t size, end;
} part;

typedef struct side {
    /* name: "train" or "validation"; folder: the path of log_dir/name */
    const char *name, *folder;
    /* [n] the event files of this side; the last one is still being written if `file` is open */
    part *part;
    int n, cap;
    dt_writer file;
} side;

enum { TRAIN, VALIDATION, SIDES };
typedef struct board {
    const struct tensorboard *x;
    int64_t every; /* number of steps between two writes of batch_*; 0: never */
    /* seconds of the current epoch up to the previous step, for the step's own duration */
    double wall_s;
    bool aside;
    side side[SIDES];
} board;

static dt_status *check(const dt_callback_job *job, const dt_named *named) {
    const struct tensorboard *x = named->args;
    (void)job;
    return dt_callback_check_path(named, "log_dir", x->log_dir);
}

static dt_status *open_board(run *r, dt_hook *h) {
    board *b = dt_arena_new(r->arena, board);
    *b = (board){.x = h->named->args, .side = {{.name = "train"}, {.name = "validation"}}};
    b->every = b->x->update_word == BATCH ? 1 : b->x->update_freq;
    h->state = b;
    return NULL;
}

static void add_part(side *s, const part *p) {
    DT_GROW(s->part, s->cap, s->n + 1);
    s->part[s->n++] = *p;
}

static const part *find_part(const side *s, const char *name) {
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->part[i].name, name) == 0) return &s->part[i];
    return NULL;
}

/* Cuts an event file to its length in the checkpoint. Removes it if the checkpoint does not list
 * it. */
static dt_status *settle_file(const side *s, const char *name) {
    const part *p = find_part(s, name);
    DT_LOCAL char *path = dt_path_join(s->folder, name);
    return p ? dt_run_log_cut(path, p->end) : dt_file_remove(path);
}

static dt_status *recover_files(const side *s) {
    DIR *dir = opendir(s->folder);
    dt_status *bad = NULL;
    if (!dir) return errno == ENOENT ? NULL : dt_fail_errno(DT_E_IO, s->folder);
    for (struct dirent *e; !bad && (e = readdir(dir));)
        if (strncmp(e->d_name, PREFIX, strlen(PREFIX)) == 0) bad = settle_file(s, e->d_name);
    closedir(dir);
    return bad;
}

static dt_status *begin(run *r, dt_hook *h) {
    board *b = h->state;
    b->aside = r->out.aside;
    for (int k = 0; k < SIDES; k++) {
        side *s = &b->side[k];
        DT_TRY(dt_callback_folder(r, h, dt_arena_printf(r->arena, "%s/%s", b->x->log_dir, s->name),
                                  &s->folder));
        s->n = r->out.resumed ? s->n : 0;
        for (int i = 0; i < s->n; i++)
            s->part[i].end = s->part[i].size = dt_run_log_kept(r, s->part[i].size, s->part[i].end);
        if (!b->aside) DT_TRY(r->out.writes ? recover_files(s) : NULL);
    }
    return NULL;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Returns the second for the name of a new event file. Readers sort files by name, so a run that
 * continues another one within the same second uses the next second. */
static long long second_of_name(const side *s) {
    /* A file whose name is more than this many seconds in the future came from a wrong clock and is
     * ignored. */
    enum { NEAR = 60 };
    long long second = (long long)time(NULL);
    const long long latest = second + NEAR;
    for (int i = 0; i < s->n; i++) {
        const long long other = strtoll(s->part[i].name + strlen(PREFIX), NULL, 10);
        second = other >= second && other < latest ? other + 1 : second;
    }
    return second;
}

/* Returns the path of a new event file, which the caller frees, and sets *name to its file name, in
 * the run's arena. No file with this name exists yet. */
static char *new_name(run *r, const side *s, const char **name) {
    char host[256] = "", *path = NULL;
    struct stat st;
    const long long second = second_of_name(s);
    gethostname(host, sizeof host - 1);
    for (char *p = host; *p; p++) *p = *p == '/' ? '_' : *p;
    for (int n = s->name[0] == 'v'; !path || lstat(path, &st) == 0; n++) {
        free(path);
        *name = dt_arena_printf(r->arena, PREFIX "%lld.%s.%lld.%d", second, host,
                                (long long)getpid(), n);
        path = dt_path_join(s->folder, *name);
    }
    return path;
}

/* Opens the event file when its first record is written, so that a run without records has no
 * file. */
static dt_status *open_file(run *r, side *s) {
    part p = {0};
    dt_local_str head = {0};
    if (s->file.path) return NULL;
    DT_TRY(dt_dir_make(s->folder));
    DT_LOCAL char *path = new_name(r, s, &p.name);
    dt_status *bad = dt_writer_append(&s->file, path);
    put_version(&head, now());
    if (!bad) bad = dt_writer_put(&s->file, head.data, head.size);
    p.size = p.end = (int64_t)head.size;
    if (!bad) add_part(s, &p);
    return bad;
}

/* Writes the records to the side's event file, which is opened for the first of them, and frees
 * them. A process that writes no files only frees them. provisional: a longer run removes them. */
static dt_status *put(run *r, side *s, dt_str *records, bool provisional) {
    const bool some = r->out.writes && records->size > 0;
    dt_status *bad = some ? open_file(r, s) : NULL;
    if (!bad && some) {
        bad = dt_writer_put(&s->file, records->data, records->size);
        part *p = &s->part[s->n - 1];
        p->end += (int64_t)records->size;
        p->size = provisional ? p->size : p->end;
    }
    dt_str_release(records);
    return bad;
}

static void add_scalar(dt_str *out, const event_time *at, const char *form, const char *name,
                       double value) {
    dt_local_str tag = {0};
    dt_str_printf(&tag,
                  form[0] == 'v'   ? "evaluation_%s_vs_iterations"
                  : form[0] == 'b' ? "batch_%s"
                                   : "epoch_%s",
                  name);
    put_scalar(out, at, dt_str_text(&tag), value);
}

static dt_status *after_step(run *r, dt_hook *h, const dt_step_done *done) {
    const dt_logs *logs = &done->logs;
    board *b = h->state;
    const event_time at = {now(), r->at.step};
    const double seconds = r->at.wall_s - (r->at.epoch_step > 1 ? b->wall_s : 0);
    dt_str records = {0};
    b->wall_s = r->at.wall_s;
    if (b->every == 0 || r->at.step % b->every != 0) return NULL;
    if (b->x->write_steps_per_second && seconds > 0)
        add_scalar(&records, &at, "batch", "steps_per_second", 1 / seconds);
    for (int i = 0; i < logs->n; i++)
        add_scalar(&records, &at, "batch", logs->metric[i].name, logs->metric[i].value);
    return put(r, &b->side[TRAIN], &records, false);
}

static dt_status *after_test(run *r, dt_hook *h, const dt_logs *logs) {
    board *b = h->state;
    const event_time at = {now(), r->at.step};
    dt_str records = {0};
    for (int i = 0; i < logs->n; i++)
        add_scalar(&records, &at, "vs", logs->metric[i].name, logs->metric[i].value);
    return put(r, &b->side[VALIDATION], &records,
               dt_epoch_is_provisional(r) && !dt_run_is_validated_between(r));
}

static dt_status *add_histograms(run *r, const event_time *at, dt_str *out) {
    dt_local_arena arena = dt_arena_create();
    dt_arrays a;
    DT_TRY(dt_model_arrays(r->model, arena, &a));
    for (int i = 0; i < a.n; i++)
        put_histogram(out, at, dt_arena_printf(arena, "%s/histogram", a.array[i].name),
                      &a.array[i]);
    return NULL;
}

static dt_status *after_epoch(run *r, dt_hook *h, dt_logs *logs) {
    board *b = h->state;
    const event_time at = {now(), r->at.epoch};
    dt_local_str trained = {0}, validated = {0};
    double rate;
    if (logs->between) return NULL;
    DT_TRY(dt_run_rate(r, &rate));
    for (int i = 0; i < logs->n; i++) {
        const char *name = logs->metric[i].name;
        const bool validation = strncmp(name, "val_", 4) == 0;
        if (strcmp(name, "learning_rate") != 0)
            add_scalar(validation ? &validated : &trained, &at, "epoch",
                       validation ? name + 4 : name, logs->metric[i].value);
    }
    add_scalar(&trained, &at, "epoch", "learning_rate", rate);
    if (b->x->write_steps_per_second && r->at.wall_s > 0)
        add_scalar(&trained, &at, "epoch", "steps_per_second",
                   (double)r->at.epoch_step / r->at.wall_s);
    if (b->x->histogram_freq && r->at.epoch % b->x->histogram_freq == 0)
        DT_TRY(add_histograms(r, &at, &trained));
    DT_TRY(put(r, &b->side[TRAIN], &trained, dt_epoch_is_provisional(r)));
    return put(r, &b->side[VALIDATION], &validated, dt_epoch_is_provisional(r));
}

static dt_status *save(run *r, dt_hook *h, dt_json *j) {
    board *b = h->state;
    (void)r;
    for (side *s = b->side; s < b->side + SIDES; s++) {
        if (s->file.path) DT_TRY(dt_writer_sync(&s->file));
        dt_json_open(j, s->name, '[');
        for (int i = 0; i < s->n; i++) {
            dt_json_open(j, NULL, '{');
            dt_json_string(j, "name", s->part[i].name);
            dt_json_int(j, "size", s->part[i].size);
            dt_json_int(j, "end", s->part[i].end);
            dt_json_close(j, '}');
        }
        dt_json_close(j, ']');
    }
    return NULL;
}

/* Restores the list of event files from a checkpoint. Its names are only compared with names in the
 * folder, so a checkpoint cannot make this function open any other path. */
static void restore(run *r, dt_hook *h, const json_t *kept) {
    board *b = h->state;
    for (side *s = b->side; s < b->side + SIDES; s++) {
        const json_t *list = json_object_get(kept, s->name);
        for (size_t i = 0; i < json_array_size(list); i++) {
            const json_t *item = json_array_get(list, i);
            const char *name = json_string_value(json_object_get(item, "name"));
            part p = {.name = name ? dt_arena_strdup(r->arena, name) : NULL};
            if (name && strncmp(name, PREFIX, strlen(PREFIX)) == 0 &&
                dt_kept_count(item, "size", &p.size) && dt_kept_count(item, "end", &p.end))
                add_part(s, &p);
        }
    }
}

static dt_status *saved(run *r, dt_hook *h) {
    board *b = h->state;
    (void)r;
    for (int k = 0; k < SIDES && b->aside; k++) DT_TRY(recover_files(&b->side[k]));
    b->aside = false;
    return NULL;
}

static void close_board(run *r, dt_hook *h) {
    board *b = h->state;
    (void)r;
    for (int k = 0; b && k < SIDES; k++) {
        if (b->side[k].file.path) /* Event files that were opened for appending stay on disk. */
            dt_writer_abandon(&b->side[k].file);
        free(b->side[k].part);
    }
}

const dt_hook_row dt_callback_tensorboard = {
    .kind = {"TensorBoard", "writes event files for TensorBoard", fields,
             sizeof(struct tensorboard), NULL},
    .check = check,
    .open = open_board,
    .save = save,
    .restore = restore,
    .begin = begin,
    .step_end = after_step,
    .test_end = after_test,
    .epoch_end = after_epoch,
    .saved = saved,
    .close = close_board,
};
