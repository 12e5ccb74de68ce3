/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ModelCheckpoint, as in Keras: saves the model after every epoch, every few steps, or when a
 * metric is the best so far. The user keeps what is saved; a run resumes by itself only from the
 * checkpoints of the key `checkpoint`. What is saved is a checkpoint, for `evaluate --ckpt`,
 * `predict --ckpt` and `--resume PATH`, or with save_weights_only the weights alone, as
 * safetensors.
 *
 * A save that is due at the end of an epoch happens after all callbacks have seen that end, so that
 * a run can resume from it. If validation runs every few steps, a callback that monitors its
 * results decides when they are available.
 */
#include <stdlib.h>
#include <string.h>

#include "strategy/divided.h"
#include "train/monitor.h"
#include "train/python_text.h"

struct model_checkpoint {
    dt_monitor_head head;
    const char *filepath;
    bool save_best_only, save_weights_only, has_threshold;
    double initial_value_threshold;
    int64_t save_freq; /* number of steps between two saves; 0: the model is saved by epochs */
};

static const char *const save_words[] = {"epoch", NULL};
static const dt_field fields[] = {
    DT_TEXT(struct model_checkpoint, filepath, .min = 1, .max = 1000, .required = true,
            .help = "path, below output.dir; may contain {epoch:02d}, {batch}, {val_loss:.2f}"),
    DT_MONITOR_FIELDS(struct model_checkpoint),
    DT_FLAG(struct model_checkpoint, save_best_only,
            .help = "save only when the monitored metric is the best so far"),
    DT_FLAG(struct model_checkpoint, save_weights_only,
            .help = "save only the weights, as .safetensors"),
    DT_ONE_OF(save_freq,
              DT_FORMS(DT_WORDS(save_words),
                       DT_INT(struct model_checkpoint, save_freq, .min = 1, .max = 1e15)),
              .preset = "epoch", .help = "how often to save: epoch, or a number of steps"),
    DT_REAL(struct model_checkpoint, initial_value_threshold,
            .set = 1 + offsetof(struct model_checkpoint, has_threshold),
            .help = "value that the metric must beat to count as best"),
    DT_END};

typedef struct keeper {
    const struct model_checkpoint *x;
    dt_monitor monitor;
    /* for save_freq in steps: number of steps since this callback last decided whether to save */
    int64_t seen;
    /* Whether saves are decided when validation by steps has results: the callback monitors them,
     * or its path contains them. */
    bool of_validation;
    /* the path of a save that has been decided but not made; NULL: no save is due */
    const char *due;
    /* whether the model held its running means instead of its weights (dt_run_swap) when the save
     * was decided */
    bool means;
} keeper;

static dt_status *check_ending(const dt_named *named, const struct model_checkpoint *x) {
    const dt_location *at = dt_callback_place(named, "filepath");
    bool weights = dt_ends_with(x->filepath, ".safetensors"),
         keras = dt_ends_with(x->filepath, ".keras") || dt_ends_with(x->filepath, ".h5");
    if (x->save_weights_only && !weights)
        return dt_suggest(
            dt_fail(DT_E_CALLBACK, at,
                    "filepath: '%.200s' does not end in .safetensors, as weights alone do",
                    x->filepath),
            "write filepath: best.safetensors, or leave save_weights_only out");
    if (!x->save_weights_only && (weights || keras))
        return dt_suggest(
            dt_fail(DT_E_CALLBACK, at,
                    "filepath: '%.200s' is a file's name, but a checkpoint is a directory",
                    x->filepath),
            "write filepath: best, or save_weights_only: true and filepath: best.safetensors");
    return NULL;
}

static bool has_value(const dt_callback_job *job, const char *name, bool by_steps) {
    if (strcmp(name, "epoch") == 0 || strcmp(name, "batch") == 0)
        return by_steps || job->validates_by_steps || strcmp(name, "epoch") == 0;
    return dt_monitor_has(job, name) &&
           (!by_steps || job->validates_by_steps || strncmp(name, "val_", 4) != 0);
}

static dt_status *check_pattern(const dt_callback_job *job, const dt_named *named) {
    const struct model_checkpoint *x = named->args;
    const dt_location *at = dt_callback_place(named, "filepath");
    const char *p = x->filepath, *wrong;
    dt_python_part part;
    while (dt_python_next(&p, NULL, &part, &wrong))
        if (job->compile && !has_value(job, part.name, x->save_freq > 0))
            return dt_suggest(dt_fail(DT_E_CALLBACK, at,
                                      "filepath: '{%s}' is unknown: the logs have no '%s'",
                                      part.name, part.name),
                              x->save_freq ? "epoch, batch and the metrics of training have values"
                                           : "epoch and the metrics of the job have values");
    if (wrong)
        return dt_suggest(
            dt_fail(DT_E_CALLBACK, at, "filepath: '%.80s' is not a name in braces", wrong),
            "write {epoch:02d} or {val_loss:.2f}");
    return NULL;
}

static dt_status *check(const dt_callback_job *job, const dt_named *named) {
    const struct model_checkpoint *x = named->args;
    DT_TRY(dt_callback_check_path(named, "filepath", x->filepath));
    DT_TRY(check_ending(named, x));
    DT_TRY(check_pattern(job, named));
    return x->save_best_only ? dt_monitor_check(job, named) : NULL;
}

static bool names_validation(const char *filepath) {
    const char *wrong;
    dt_python_part part;
    bool names = false;
    while (dt_python_next(&filepath, NULL, &part, &wrong))
        names |= strncmp(part.name, "val_", 4) == 0;
    return names;
}

static dt_status *open_keeper(run *r, dt_hook *h) {
    keeper *k = dt_arena_new(r->arena, keeper);
    *k = (keeper){.x = h->named->args};
    k->monitor = dt_monitor_open(r, &k->x->head);
    k->monitor.has_best = k->x->has_threshold;
    k->monitor.best = k->x->initial_value_threshold;
    k->of_validation = dt_run_validates_by_steps(r) &&
                       (k->x->save_best_only ? dt_monitor_is_of_validation(&k->monitor)
                                             : names_validation(k->x->filepath));
    h->state = k;
    return NULL;
}

static const char *path_of(run *r, const keeper *k, const dt_logs *logs) {
    const char *p = k->x->filepath, *wrong;
    dt_python_part part;
    dt_str path = {0};
    while (dt_python_next(&p, &path, &part, &wrong)) {
        const double *value = dt_logs_find(logs, part.name);
        if (strcmp(part.name, "epoch") == 0)
            dt_python_put(&path, &part, (double)r->at.epoch + 1, true);
        else if (strcmp(part.name, "batch") == 0)
            dt_python_put(&path, &part, (double)r->at.epoch_step, true);
        else dt_python_put(&path, &part, value ? *value : (double)NAN, false);
    }
    return dt_arena_take(r->arena, &path);
}

/* Decides whether to save: always or, with save_best_only, if the monitored metric has improved. If
 * the logs do not have the metric, the model is saved, as in Keras. */
static void decide(run *r, dt_hook *h, const dt_logs *logs) {
    keeper *k = h->state;
    const double *current = k->x->save_best_only ? dt_logs_find(logs, k->monitor.name) : NULL;
    const bool had_best = k->monitor.has_best;
    const double best = k->monitor.best;
    if (current && !dt_monitor_improves(&k->monitor, *current)) return;
    k->due = path_of(r, k, logs);
    k->means = r->swapped;
    if (k->x->save_best_only && !current)
        dt_callback_report(r, h, "%s is not known here: saving %s, as Keras does", k->monitor.name,
                           k->due);
    else if (current && had_best)
        dt_callback_report(r, h, "%s improved from %.5f to %.5f, saving %s", k->monitor.name, best,
                           *current, k->due);
    else dt_callback_report(r, h, "saving %s", k->due);
}

static dt_status *after_step(run *r, dt_hook *h, const dt_step_done *done) {
    keeper *k = h->state;
    if (k->x->save_freq == 0 || ++k->seen < k->x->save_freq || k->of_validation) return NULL;
    k->seen = 0;
    decide(r, h, &done->logs);
    return NULL;
}

/* Decides after a validation by steps. With save_freq in steps, the first validation after that
 * many steps decides. */
static dt_status *after_validation(run *r, dt_hook *h, const dt_logs *logs) {
    keeper *k = h->state;
    if (!k->of_validation || k->seen < k->x->save_freq) return NULL;
    k->seen = 0;
    decide(r, h, logs);
    return NULL;
}

static dt_status *after_epoch(run *r, dt_hook *h, dt_logs *logs) {
    const keeper *k = h->state;
    const bool at_end =
        k->of_validation && dt_epoch_is_whole(r) && r->at.step % r->q->fit->validation_freq == 0;
    if (logs->between || at_end) return after_validation(r, h, logs);
    if (!k->of_validation && k->x->save_freq == 0 && dt_epoch_is_whole(r)) decide(r, h, logs);
    return NULL;
}

static dt_status *save_weights(run *r, const char *path) {
    dt_local_arena arena = dt_arena_create();
    const char *temporary = dt_arena_printf(arena, "%s.tmp", path);
    dt_arrays model;
    dt_digest digest;
    DT_TRY(dt_model_arrays(r->model, arena, &model));
    DT_TRY(dt_safetensors_write(temporary, &model, &digest));
    return dt_file_adopt(temporary, path);
}

static dt_status *save_model(run *r, const char *path) {
    dt_local_arena arena = dt_arena_create();
    dt_arrays model, optimizer;
    dt_state_file state;
    DT_TRY(dt_model_arrays(r->model, arena, &model));
    DT_TRY(dt_optimizer_arrays(r->optimizer, arena, &optimizer));
    DT_TRY(dt_run_describe(r, arena, &state));
    return dt_saved_write(path, &state, &model, &optimizer);
}

/* Saves what the model held when the save was decided: its weights or their running means. A
 * SwapEMAWeights after this callback may have exchanged the two since then. */
static dt_status *save_as_then(run *r, const keeper *k, const char *path) {
    const bool swapped = r->swapped;
    DT_TRY(dt_run_swap(r, k->means));
    DT_TRY(k->x->save_weights_only ? save_weights(r, path) : save_model(r, path));
    return dt_run_swap(r, swapped);
}

static dt_status *save_due(run *r, dt_hook *h) {
    keeper *k = h->state;
    const char *path;
    dt_arrays state;
    if (!k->due) return NULL;
    dt_local_arena arena = dt_arena_create();
    /* Workers that keep only parts of the weights send them to the chief, which writes the file. */
    DT_TRY(dt_divided_put_together(r->model->weight, r->model->n_weights));
    if (!k->x->save_weights_only) DT_TRY(dt_optimizer_arrays(r->optimizer, arena, &state));
    if (!r->out.writes) {
        k->due = NULL;
        return NULL;
    }
    DT_TRY(dt_callback_path(r, h, k->due, &path));
    k->due = NULL;
    char *folder = dt_path_dir(path);
    dt_status *s = dt_dir_make(folder);
    free(folder);
    if (!s) s = save_as_then(r, k, path);
    return s ? dt_note(s, "in callback ModelCheckpoint") : NULL;
}

static dt_status *begin(run *r, dt_hook *h) {
    const keeper *k = h->state;
    const char *path;
    /* The path is checked before training, so that a link on it is reported early. A path with
     * metrics in a folder's name can be checked only when it is used. */
    return dt_callback_path(r, h, k->x->filepath, &path);
}

static dt_status *save(run *r, dt_hook *h, dt_json *j) {
    const keeper *k = h->state;
    (void)r;
    dt_monitor_save(&k->monitor, j);
    dt_json_int(j, "seen", k->seen);
    return NULL;
}

static void restore(run *r, dt_hook *h, const json_t *kept) {
    keeper *k = h->state;
    (void)r;
    dt_monitor_restore(&k->monitor, kept);
    dt_kept_count(kept, "seen", &k->seen);
}

const dt_hook_row dt_callback_model_checkpoint = {
    .kind = {"ModelCheckpoint", "saves the model where a metric is the best so far, or regularly",
             fields, sizeof(struct model_checkpoint), NULL},
    .check = check,
    .open = open_keeper,
    .save = save,
    .restore = restore,
    .begin = begin,
    .step_end = after_step,
    .epoch_end = after_epoch,
    .settled = save_due,
};
