/*
 * What callbacks remember in a checkpoint, one JSON object: a run with every callback that keeps something goes on from it to its end. The checkpoint is
 * one that the run itself wrote after its first epoch, with another text in its state.json and the checksum that goes with it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "dtrain.h"
#include "format/state.h"
#include "fuzz.h"

#define STEP "run/ckpt/step-00000003"
enum { FIRST_STEPS = 3, LARGEST = 1 << 16 };

static const char job_text[] =
    "version: 1\n"
    "seed: 7\n"
    "strategy: {type: mirrored, replicas: 1}\n"
    "dataset: {format: synthetic, examples: 15, element: {x: {shape: [2]}, y: {num_classes: 2}}, validation_split: 0.2, global_batch_size: 4}\n"
    "model: {layers: [Input: {name: x, shape: [2]}, Dense: {units: 2}]}\n"
    "compile: {optimizer: {SGD: {learning_rate: 0.05}}, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}\n"
    "fit:\n"
    "  epochs: 2\n"
    "  callbacks:\n"
    "    - CSVLogger: {filename: log.csv}\n"
    "    - ReduceLROnPlateau: {patience: 1}\n"
    "    - TensorBoard: {}\n"
    "    - ModelCheckpoint: {filepath: best.safetensors, save_best_only: true, save_weights_only: true}\n"
    "    - EarlyStopping: {patience: 3, restore_best_weights: true}\n";

/* A file of the checkpoint, as the run wrote it. */
static const char *const names[] = {DT_MODEL_FILE, DT_OPTIMIZER_FILE, DT_CALLBACKS_FILE};
enum { NAMES = sizeof names / sizeof *names };

typedef struct saved {
    dt_str file[NAMES];
    dt_state_read state;
} saved;

/* In the folder that fuzz_tree has just made. */
static dt_status *train(const char *folder, int64_t steps)
{
    dt_str text = {0};
    dt_job *job = NULL;
    dt_str_printf(&text, "%soutput: {dir: %s/run}\n", job_text, folder);
    dt_status *s = dt_job_open(&job, &(dt_job_source){.path = fuzz_file(dt_str_text(&text), text.size)});
    FUZZ_CHECK(!s, dt_status_text(s));
    s = dt_job_fit(job, &(dt_run_options){.threads = 1, .max_steps = steps});
    dt_job_unref(job);
    dt_str_release(&text);
    return s;
}

static char *path_of(const char *folder, const char *name)
{
    char *step = dt_path_join(folder, STEP), *path = dt_path_join(step, name);
    free(step);
    return path;
}

static void read_saved(const char *folder, saved *to)
{
    for (int i = 0; i < NAMES; i++) {
        char *path = path_of(folder, names[i]);
        dt_status *s = dt_file_read(path, LARGEST, &to->file[i]);
        FUZZ_CHECK(!s, dt_status_text(s));
        free(path);
    }
    char *path = path_of(folder, "");
    to->state = (dt_state_read){.arena = dt_arena_create(), .path = path};
    dt_status *s = dt_state_load(&to->state);
    FUZZ_CHECK(!s, dt_status_text(s));
    free(path);
}

static void put(const char *folder, const char *name, const dt_str *bytes)
{
    char *path = path_of(folder, name);
    dt_status *s = dt_file_commit(path, bytes->data, bytes->size);
    FUZZ_CHECK(!s, dt_status_text(s));
    free(path);
}

static void put_saved(const char *folder, const saved *from, const char *callbacks)
{
    dt_str text = {0};
    dt_digest model, optimizer;
    dt_state_file state = from->state.state;
    snprintf(model.hex, sizeof model.hex, "%s", from->state.model_sha256);
    snprintf(optimizer.hex, sizeof optimizer.hex, "%s", from->state.optimizer_sha256);
    state.callbacks = callbacks;
    dt_state_print(&state, &model, &optimizer, &text);
    for (int i = 0; i < NAMES; i++)
        put(folder, names[i], &from->file[i]);
    put(folder, DT_STATE_FILE, &text);
    dt_str_release(&text);
}

FUZZ_TARGET(callbacks)
{
    static saved first;
    char nothing[] = "", step[] = STEP "/";
    if (!first.state.arena) {
        const char *folder = fuzz_tree(nothing, "", 0);
        dt_status *s = train(folder, FIRST_STEPS);
        FUZZ_CHECK(!s, dt_status_text(s));
        read_saved(folder, &first);
    }
    const char *folder = fuzz_tree(step, "", 0);
    put_saved(folder, &first, fuzz_string(data, size));
    fuzz_done(train(folder, 0));
    return 0;
}
