/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What callbacks remember in a checkpoint, one JSON object: a run with every callback that keeps
 * something goes on from it to its end. The checkpoint is one that the run itself wrote after its
 * first epoch, with another text in its state.json and the checksum that goes with it. A digit
 * before the object says which of the jobs it is.
 */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "dtrain.h"
#include "format/state.h"
#include "fuzz.h"

#define STEP "run/ckpt/step-00000003"
enum { FIRST_STEPS = 3, LARGEST = 1 << 16 };

static const char job_head[] =
    "version: 1\n"
    "seed: 7\n"
    "strategy: {type: mirrored, replicas: 1}\n"
    "dataset: {format: synthetic, examples: 15, element: {x: {shape: [2]}, y: {num_classes: 2}}, "
    "validation_split: 0.2, global_batch_size: 4}\n"
    "model: {layers: [Input: {name: x, shape: [2]}, Dense: {units: 2}]}\n"
    "compile: {optimizer: {SGD: {learning_rate: 0.05}}, loss: {SparseCategoricalCrossentropy: "
    "{from_logits: true}}}\n";

static const char plain[] = "fit:\n"
                            "  epochs: 2\n"
                            "  callbacks:\n"
                            "    - CSVLogger: {filename: log.csv}\n"
                            "    - ReduceLROnPlateau: {patience: 1}\n"
                            "    - TensorBoard: {}\n"
                            "    - ModelCheckpoint: {filepath: best.safetensors, save_best_only: "
                            "true, save_weights_only: true}\n"
                            "    - EarlyStopping: {patience: 3, restore_best_weights: true}\n";
/* Steps are told and saved too; nothing is an improvement. */
static const char often[] =
    "fit:\n"
    "  epochs: 4\n"
    "  validation_freq: 2\n"
    "  callbacks:\n"
    "    - CSVLogger: {filename: log.csv, separator: o}\n"
    "    - ReduceLROnPlateau: {monitor: loss, min_delta: 100, patience: 1, cooldown: 1}\n"
    "    - TensorBoard: {update_freq: 2, histogram_freq: 1, write_steps_per_second: true}\n"
    "    - ModelCheckpoint: {filepath: 'w-{epoch:02d}-{batch}-{loss:.2f}.safetensors', save_freq: "
    "2, save_weights_only: true}\n"
    "    - ModelCheckpoint: {filepath: model}\n";
static const char stopping[] =
    "fit:\n"
    "  epochs: 3\n"
    "  callbacks:\n"
    "    - EarlyStopping: {monitor: loss, min_delta: 100, patience: 1}\n"
    "    - ReduceLROnPlateau: {monitor: loss, min_delta: 100, min_lr: 0.05, patience: 1}\n"
    "    - CSVLogger: {filename: log.csv, append: true}\n"
    "    - TensorBoard: {update_freq: batch}\n";
static const char *const jobs[] = {plain, often, stopping};
enum { JOBS = sizeof jobs / sizeof *jobs };

/* Files of the checkpoint, as the run wrote them; the last is there only where callbacks keep
 * arrays. */
static const char *const names[] = {DT_MODEL_FILE, DT_OPTIMIZER_FILE, DT_CALLBACKS_FILE};
enum { NAMES = sizeof names / sizeof *names };

typedef struct saved {
    int n;
    dt_str file[NAMES];
    dt_state_read state;
} saved;

/* In the folder that fuzz_tree has just made. */
static dt_status *train(const char *folder, const char *fit, int64_t steps) {
    dt_str text = {0};
    dt_job *job = NULL;
    dt_str_printf(&text, "%s%soutput: {dir: %s/run}\n", job_head, fit, folder);
    dt_status *s =
        dt_job_open(&job, &(dt_job_source){.path = fuzz_file(dt_str_text(&text), text.size)});
    FUZZ_CHECK(!s, dt_status_text(s));
    s = dt_job_fit(job, &(dt_run_options){.threads = 1, .max_steps = steps});
    dt_job_unref(job);
    dt_str_release(&text);
    return s;
}

static char *path_of(const char *folder, const char *name) {
    char *step = dt_path_join(folder, STEP), *path = dt_path_join(step, name);
    free(step);
    return path;
}

static void read_saved(const char *folder, saved *to) {
    char *path = path_of(folder, "");
    to->state = (dt_state_read){.arena = dt_arena_create(), .path = path};
    dt_status *s = dt_state_load(&to->state);
    FUZZ_CHECK(!s, dt_status_text(s));
    free(path);
    to->n = to->state.state.callbacks_sha256 ? NAMES : NAMES - 1;
    for (int i = 0; i < to->n; i++) {
        path = path_of(folder, names[i]);
        s = dt_file_read(path, LARGEST, &to->file[i]);
        FUZZ_CHECK(!s, dt_status_text(s));
        free(path);
    }
}

static void put(const char *folder, const char *name, const dt_str *bytes) {
    char *path = path_of(folder, name);
    dt_status *s = dt_file_commit(path, bytes->data, bytes->size);
    FUZZ_CHECK(!s, dt_status_text(s));
    free(path);
}

static void put_saved(const char *folder, const saved *from, const char *callbacks) {
    dt_str text = {0};
    dt_digest model, optimizer;
    dt_state_file state = from->state.state;
    snprintf(model.hex, sizeof model.hex, "%s", from->state.model_sha256);
    snprintf(optimizer.hex, sizeof optimizer.hex, "%s", from->state.optimizer_sha256);
    state.callbacks = callbacks;
    dt_state_print(&state, &model, &optimizer, &text);
    for (int i = 0; i < from->n; i++) put(folder, names[i], &from->file[i]);
    put(folder, DT_STATE_FILE, &text);
    dt_str_release(&text);
}

/* As the job saves it, trained for the first time. */
static const saved *saved_by(int job) {
    static saved first[JOBS];
    char nothing[] = "";
    saved *f = &first[job];
    if (f->state.arena) return f;
    const char *folder = fuzz_tree(nothing, "", 0);
    dt_status *s = train(folder, jobs[job], FIRST_STEPS);
    FUZZ_CHECK(!s, dt_status_text(s));
    read_saved(folder, f);
    return f;
}

FUZZ_TARGET(callbacks) {
    static const char events[64];
    char tree[] = STEP "/\nrun/tb/train/events.out.tfevents.1.x.2.0\nrun/tb/train/"
                       "events.out.tfevents.2.x.2.0\nrun/tb/train/other";
    const char *text = fuzz_string(data, size);
    const int job = *text >= '0' && *text < '0' + JOBS ? *text++ - '0' : 0;
    const saved *first = saved_by(job);
    const char *folder = fuzz_tree(tree, events, sizeof events);
    put_saved(folder, first, text);
    fuzz_done(train(folder, jobs[job], 0));
    return 0;
}
