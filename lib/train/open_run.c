/* SPDX-License-Identifier: Apache-2.0 */
/* The directory of a run: opens it, resumes from a checkpoint, saves checkpoints. */
#include <stdlib.h>
#include <string.h>

#include "format/contents.h"
#include "train/hook.h"
#include "train/recording.h"

static dt_status *same_job(run *r, const dt_saved *c) {
    const dt_fit_request *q = r->q;
    const char *key = q->difference ? q->difference(q->difference_of, r->arena, c->state.job)
                                    : dt_job_difference(r->arena, c->state.job, q->job);

    if (!key) return NULL;
    dt_status *s = dt_fail(DT_E_OTHER_JOB, NULL, "%s is not what checkpoint %s was trained with",
                           key, c->path);
    return dt_suggest(
        s, "change it back, start over with --fresh, or give this job another output.dir");
}

/* Returns the error for a checkpoint whose epochs had another number of steps. At the end of an
 * epoch a checkpoint's sums are 0 and do not show the global batch, so the cause may be other data
 * or another global batch. */
static dt_status *other_epochs(const run *r, const dt_saved *c) {
    const dt_state_file *s = &c->state;

    return dt_suggest(
        dt_fail(DT_E_OTHER_JOB, NULL,
                "an epoch has %lld steps now, and had %lld when checkpoint %s was trained",
                (long long)r->size.steps_per_epoch,
                (long long)((s->step - s->epoch_step) / s->epoch), c->path),
        "the data has changed or, with per_replica_batch_size, the number of replicas: change it "
        "back, or start over with --fresh");
}

/* Checks that the global batch and the number of steps per epoch are those of the checkpoint. With
 * per_replica_batch_size, another number of replicas changes the global batch and so the steps,
 * while the job stays the same. */
static dt_status *same_steps(const run *r, const dt_saved *c) {
    const dt_state_file *s = &c->state;
    bool same_batch =
        s->epoch_step == 0 || s->n_sums == 0 ||
        s->sum[0] == (double)(dt_run_fed(r, s->step) - dt_run_fed(r, s->step - s->epoch_step));

    if (same_batch && s->step == s->epoch * r->size.steps_per_epoch + s->epoch_step) return NULL;
    if (same_batch && s->epoch > 0) return other_epochs(r, c);
    return dt_suggest(dt_fail(DT_E_OTHER_JOB, NULL,
                              "the global batch, %lld, is not what checkpoint %s was trained with",
                              (long long)r->size.batch, c->path),
                      "with per_replica_batch_size, the number of replicas must stay the same");
}

/* Checks the number of workers if they read parts of the data, because another number of workers
 * would read other examples. */
static dt_status *same_workers(const run *r, const dt_saved *c) {
    const int64_t now = r->size.workers ? r->size.workers->n : 0, then = c->state.workers;

    if (now == then) return NULL;
    return dt_suggest(dt_fail(DT_E_OTHER_JOB, NULL,
                              "auto_shard_policy: %s divides the data among %d worker%s, and "
                              "checkpoint %s was trained with %lld",
                              dt_policy_names[dt_dataset_spec_of(r->data)->auto_shard_policy],
                              r->strategy->hosts, r->strategy->hosts == 1 ? "" : "s", c->path,
                              (long long)(then ? then : 1)),
                      "change the number of workers back, or start over with --fresh; "
                      "auto_shard_policy: auto allows any number");
}

/* Checks that `map` learned the same values from the training data, since other means or another
 * vocabulary make another model. */
static dt_status *same_lessons(const run *r, const dt_saved *c) {
    const char *now = dt_learned_print(dt_dataset_learned(r->data), r->arena), *then = c->state.map;

    if (strcmp(now ? now : "", then ? then : "") == 0) return NULL;
    return dt_suggest(
        dt_fail(
            DT_E_OTHER_JOB, NULL,
            "dataset.map learns other values from the training data than checkpoint %s contains",
            c->path),
        "the files have changed: start over with --fresh, or restore the old ones");
}

/* Loads the model's and the optimizer's tensors. A thread hashes the weights while the optimizer's
 * state is read. Fails if their hash is not that of the checkpoint. */
static dt_status *load_tensors(const run *r, const dt_saved *c) {
    const dt_arrays model = dt_model_arrays_to_fill(r->model, r->arena),
                    optimizer = dt_optimizer_arrays_to_fill(r->optimizer, r->arena);

    DT_TRY(dt_saved_load(c, &model, NULL));
    dt_hash_thread *hash = dt_weights_hash(&model, r->arena);
    dt_status *s = dt_saved_load(c, NULL, &optimizer);
    const dt_digest now = dt_hash_end(hash);
    return s ? s : dt_weights_compare(c, &now);
}

static void take_position(run *r, const dt_state_file *state) {
    dt_sums *sums = &r->at.sums;

    r->at.step = state->step;
    r->at.epoch = state->epoch;
    r->at.epoch_step = state->epoch_step;
    r->at.wall_s = state->wall_s;
    sums->examples = state->n_sums > 0 ? state->sum[0] : 0;
    for (int i = 0; i < sums->n && 1 + i < state->n_sums; i++) sums->v[i] = state->sum[1 + i];
    r->out.generation = state->generation;
    r->out.saved_step = state->step;
}

/* Returns the names of the kernels, on which the last bits of results depend, lent: "openblas
 * 0.3.21 SkylakeX, avx512". Returns "" if they are unknown. */
static const char *kernels_of(const run *r) {
    dt_device *device = NULL;
    dt_status *s = dt_strategy_device_of(r->strategy, &device);

    dt_status_free(s); /* This cannot fail, because the device is open. */
    return device ? dt_device_facts_of(device).kernels : "";
}

static void warn_of_kernels(const run *r, const dt_saved *c) {
    const char *then = c->state.kernels, *now = kernels_of(r);
    if (!then || !*then || !*now || strcmp(then, now) == 0) return;
    dt_run_warn(r, dt_arena_printf(r->arena,
                                   "%s was computed with '%s', and the run goes on with '%s', "
                                   "which may round differently; see --kernels",
                                   c->path, then, now));
}

static dt_status *go_on_from(run *r, const dt_saved *c) {
    DT_TRY(same_job(r, c));
    DT_TRY(same_workers(r, c));
    DT_TRY(same_steps(r, c));
    DT_TRY(same_lessons(r, c));
    DT_TRY(dt_dataset_check_named(r->data, c->state.named_files));
    DT_TRY(dt_stored_compare(c, r->data, r->arena));
    DT_TRY(load_tensors(r, c));
    DT_TRY(dt_hooks_restore(r, c));
    take_position(r, &c->state);
    warn_of_kernels(r, c);
    r->out.checkpoint = dt_strdup(c->path);
    r->out.resumed = true;
    return NULL;
}

static dt_status *none_to_resume(const run *r) {
    return dt_fail(DT_E_NO_INPUT, NULL, "there is no checkpoint below %s to resume from",
                   r->q->directory);
}

static void warn_all(const run *r, dt_status *warnings) {
    for (const dt_status *w = warnings; w; w = dt_status_next(w)) dt_run_warn(r, dt_status_text(w));
    dt_status_free(warnings);
}

static dt_status *resume_newest(run *r, bool must) {
    dt_status *warnings = NULL, *s;
    dt_saved c = {0};

    s = dt_saved_newest(&c, r->q->directory, &warnings);
    /* Warnings before an error are not reported. */
    if (s) dt_status_free(warnings);
    else warn_all(r, warnings);
    if (!s && c.path) s = go_on_from(r, &c);
    else if (!s && must) s = none_to_resume(r);
    dt_saved_release(&c);
    return s;
}

static dt_status *only_weights(const char *path) {
    return dt_suggest(dt_fail(DT_E_NO_INPUT, NULL,
                              "%s: is a file; a run resumes from a checkpoint, "
                              "which is a folder",
                              path),
                      "to begin with weights of a file, write model.init_from");
}

/* Opens the checkpoint `path`. If `path` is a run, opens its newest checkpoint. */
static dt_status *open_path(run *r, const char *path, dt_saved *c) {
    dt_status *warnings = NULL;
    dt_status *s = dt_saved_find(c, path, &warnings);
    if (!s && c->only_weights) s = only_weights(path);
    /* Warnings before an error are not reported. */
    if (s) dt_status_free(warnings);
    else warn_all(r, warnings);
    return s;
}

/* Resumes from an older checkpoint of this run, or from one of another directory. If this run's
 * directory has checkpoints already, the history is written beside the old one, which it replaces
 * after the first new checkpoint; the old checkpoints are not deleted then. */
static dt_status *resume_path(run *r, const char *path) {
    dt_saved c = {0};
    int64_t highest;

    if (!path || !*path)
        return dt_fail(DT_E_NO_INPUT, NULL, "no checkpoint path given to resume from");
    dt_status *s = open_path(r, path, &c);
    if (!s) s = go_on_from(r, &c);
    dt_saved_release(&c);
    if (s) return s;
    DT_TRY(dt_checkpoints_generation(r->q->directory, &highest));
    r->out.aside = highest >= 0;
    if (r->out.aside) r->out.generation = highest + 1;
    r->out.saved_step = -1;
    return NULL;
}

static dt_status *start_fresh(run *r) {
    int64_t highest;

    DT_TRY(dt_checkpoints_generation(r->q->directory, &highest));
    r->out.fresh = r->out.aside = highest >= 0;
    r->out.generation = highest + 1;
    return NULL;
}

/* Reads the weights of `init_from`, unless the run resumes from a checkpoint, which has weights. */
static dt_status *take_first_weights(const run *r) {
    dt_status *warnings = NULL;
    if (r->out.resumed || !r->q->init_from) return NULL;
    DT_TRY(dt_init_weights(r->model, r->q->init_from, &warnings));
    warn_all(r, warnings);
    return NULL;
}

static dt_status *find_start(run *r) {
    const dt_checkpoint_spec *c = r->q->checkpoint;
    dt_resume how = r->q->run->resume != DT_RESUME_JOB ? r->q->run->resume
                    : c                                ? c->resume
                                                       : DT_RESUME_AUTO;

    switch (how) {
    case DT_RESUME_NEVER: return start_fresh(r);
    case DT_RESUME_PATH:
        return resume_path(r, r->q->run->resume_path ? r->q->run->resume_path
                              : c                    ? c->resume_path
                                                     : NULL);
    case DT_RESUME_MUST: return resume_newest(r, true);
    default: return resume_newest(r, false);
    }
}

static int64_t checkpoint_bytes(const run *r) {
    int n;
    dt_variable *const *slot = dt_optimizer_variables(r->optimizer, r->arena, &n);
    int64_t bytes = 65536; /* an allowance for the headers of the files and for state.json */

    for (int i = 0; i < n; i++) bytes += dt_type_bytes(&slot[i]->type);
    for (int i = 0; i < r->model->n_weights; i++)
        bytes += dt_type_bytes(&r->model->weight[i]->type);
    return bytes;
}

/* Returns the step of the last line of the history to keep; -1: none, because the run does not
 * resume. If a run ended within an epoch, the line of this epoch is written again later, so it is
 * not kept. The line of a validation by steps is kept. */
static int64_t last_line(const run *r) {
    if (!r->out.resumed) return -1;
    const bool written_again =
        r->at.step < r->size.steps && r->at.epoch_step > 0 && !dt_run_is_validated_between(r);
    return written_again ? r->at.step - 1 : r->at.step;
}

static const char *history_of(const run *r) {
    return dt_arena_printf(r->arena, "%s/history.jsonl", r->q->directory);
}

/* Opens the history. A damaged history only causes a warning, since no weight depends on it. A
 * history that ends before the checkpoint counts as damaged, unless the checkpoint was given by its
 * path (saved_step -1), because another directory may then have the history. */
static dt_status *open_history(run *r) {
    dt_history_kept kept;
    DT_TRY(dt_history_open(&r->out.history, &r->out.directory,
                           &(dt_history_from){.step = last_line(r),
                                              .generation = r->out.generation,
                                              .aside = r->out.aside},
                           &kept));
    r->out.history_lines = kept.lines;
    if (kept.damage) dt_run_warn(r, kept.damage);
    free(kept.damage);
    if (r->out.resumed && r->out.saved_step >= 0 && kept.epoch < r->at.epoch)
        dt_run_warn(r,
                    dt_arena_printf(r->arena,
                                    "%s: damaged: it ends before the checkpoint, with epoch "
                                    "%lld of %lld",
                                    history_of(r), (long long)kept.epoch, (long long)r->at.epoch));
    return NULL;
}

static dt_status *open_own(run *r) {
    if (!r->q->directory) return take_first_weights(r);
    if (r->out.writes) {
        DT_TRY(dt_run_dir_open(&r->out.directory, r->q->directory, checkpoint_bytes(r)));
        DT_TRY(dt_checkpoints_clean(&r->out.directory, false, NULL));
    }
    DT_TRY(find_start(r));
    DT_TRY(take_first_weights(r));
    if (r->out.writes) DT_TRY(open_history(r));
    if (r->out.resumed)
        r->n_last = dt_history_last_line(r->out.history.path ? r->out.history.path : history_of(r),
                                         r->arena, r->last, DT_MAX_LOGS);
    return NULL;
}

/* The chief locks the directory first. Then the other workers read the same checkpoint, and all
 * workers verify that they have the same weights. */
dt_status *dt_run_open(run *r) {
    dt_cluster *c = r->strategy->cluster;
    dt_digest weights;

    DT_TRY(dt_cluster_agree(c, "open the run", dt_run_is_chief(r) ? open_own(r) : NULL));
    DT_TRY(
        dt_cluster_agree(c, "read the run's checkpoint", dt_run_is_chief(r) ? NULL : open_own(r)));
    if (!c) return NULL;
    DT_TRY(dt_weights_digest(r->model, &weights));
    DT_TRY(dt_cluster_compare(c, "examples",
                              dt_arena_printf(r->arena, "%lld", (long long)r->size.examples)));
    DT_TRY(dt_cluster_compare(c, "kernels", kernels_of(r)));
    DT_TRY(dt_cluster_compare(c, "the first step",
                              dt_arena_printf(r->arena, "%lld", (long long)r->at.step + 1)));
    return dt_cluster_compare(c, "the SHA-256 of the first weights", weights.hex);
}

/* After the first checkpoint of this run: replaces the old run's history by the new one if that was
 * written beside it, and on a fresh start also deletes the old checkpoints. */
static dt_status *give_up_old(run *r) {
    bool fresh = r->out.fresh, aside = r->out.aside;

    r->out.fresh = r->out.aside = false;
    if (aside) DT_TRY(dt_history_adopt(&r->out.history, &r->out.directory, r->out.generation));
    return fresh ? dt_checkpoints_clean(&r->out.directory, true, r->out.checkpoint) : NULL;
}

dt_status *dt_run_describe(run *r, dt_arena *arena, dt_state_file *state) {
    dt_arrays *kept = dt_arena_new(arena, dt_arrays);
    double *sum = dt_arena_array(arena, double, 1 + r->at.sums.n);

    *kept = dt_hooks_arrays(r, arena);
    sum[0] = r->at.sums.examples;
    memcpy(sum + 1, r->at.sums.v, (size_t)r->at.sums.n * sizeof *sum);
    *state = (dt_state_file){
        .generation = r->out.generation,
        .step = r->at.step,
        .epoch = r->at.epoch,
        .epoch_step = r->at.epoch_step,
        .seed = r->q->seed,
        .job = r->q->job,
        .job_sha256 = r->q->job_sha256,
        .weights_sha256 = r->out.saved.hex,
        .weights = &r->out.saved,
        .kernels = kernels_of(r),
        .n_sums = 1 + r->at.sums.n,
        .sum = sum,
        .wall_s = r->at.wall_s,
        .finished = dt_run_is_done(r),
        .workers = r->size.workers ? r->size.workers->n : 0,
        .callback_arrays = kept,
        .map = dt_learned_print(dt_dataset_learned(r->data), arena),
        .elements = dt_stored_print(r->data, arena),
        .named_files = dt_dataset_named_files(r->data, arena),
        .classes = dt_trainer_class_names(r->q->trainer, arena),
    };
    return dt_hooks_save(r, arena, &state->callbacks);
}

static dt_status *write_checkpoint(run *r) {
    dt_local_arena arena = dt_arena_create();
    dt_arrays model, optimizer;
    dt_state_file state;
    char *path = NULL;

    DT_TRY(dt_model_arrays(r->model, arena, &model));
    DT_TRY(dt_optimizer_arrays(r->optimizer, arena, &optimizer));
    DT_TRY(dt_run_describe(r, arena, &state));
    /* Lines of the history must be on disk before the checkpoint of the same step. */
    DT_TRY(dt_writer_sync(&r->out.history));
    DT_TRY(dt_run_dir_save(&r->out.directory, &state, &model, &optimizer,
                           r->q->checkpoint ? (int)r->q->checkpoint->max_to_keep : 3, &path));
    free(r->out.checkpoint);
    r->out.checkpoint = path;
    r->out.saved_step = r->at.step;
    r->out.saved_ns = dt_now_ns();
    return give_up_old(r);
}

dt_status *dt_run_save(run *r) {
    if (r->out.saved_step == r->at.step) return NULL;
    DT_TRY(dt_run_check_weights(r));
    if (!dt_run_is_chief(r)) {
        r->out.saved_step = r->at.step;
        r->out.saved_ns = dt_now_ns();
    }
    if (!r->out.writes) return NULL;
    const int64_t since = dt_recording_since(r);
    DT_TRY(write_checkpoint(r));
    dt_recording_span(r, r->recording.mark[DT_RECORDED_CHECKPOINT], since);
    return dt_hooks_saved(r);
}

dt_status *dt_run_close(run *r) {
    dt_status *s = NULL;

    if (r->out.aside && r->out.history.path) {
        /* this run has written no checkpoint, so its history beside the old one is deleted, and the
         * old one stays */
        r->out.history.keep = false;
        dt_writer_abandon(&r->out.history);
    }
    if (r->out.history.path) s = dt_writer_close(&r->out.history);
    dt_run_dir_close(&r->out.directory);
    free(r->out.checkpoint);
    dt_arena_destroy(r->arena);
    return s;
}
