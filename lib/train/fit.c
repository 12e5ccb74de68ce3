/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The training loop of a run, from its position to the end:
 *
 *     open ── [ step ── (validation) ── (end of the epoch) ── (checkpoint) ]* ── checkpoint ── end
 *
 * Everything else that a run does is in hooks (hook.h). The run's position is the step, the epoch,
 * the step in the epoch, and the epoch's sums so far. A checkpoint has the position and all
 * weights, and the order of the data is a function of seed and epoch. So a run that was killed and
 * is started again computes the same steps as one that was not. A line of the history is written
 * before the checkpoint of the same step. A run that resumes removes the lines of steps after its
 * checkpoint, and writes them again.
 */
#include "train/coordinator.h"
#include "train/faults.h"
#include "train/hook.h"

static dt_status *count_step(run *r, dt_step_done *done, int64_t since) {
    r->at.step++;
    r->at.epoch_step++;
    done->seconds = dt_seconds_since(since);
    r->at.wall_s += done->seconds;
    done->logs.metric = r->so_far;
    done->logs.n = dt_trainer_metrics(r->q->trainer, &r->at.sums, false, r->so_far);
    if (dt_callbacks_look_at_steps(r) || dt_run_is_validated_between(r))
        DT_TRY(dt_coordinated_fetch(r));
    DT_TRY(dt_hooks_step_end(r, done));
    DT_TRY(dt_run_validate_between(r));
    if (r->at.epoch_step == r->size.steps_per_epoch || r->at.step == r->size.steps)
        DT_TRY(dt_run_end_epoch(r));
    return dt_hooks_settled(r);
}

static dt_status *train_step(run *r) {
    dt_example batch = {0};
    dt_step_done done = {.batch = &batch};
    dt_status *bad;

    DT_TRY(dt_hooks_step_begin(r));
    const int64_t since = dt_now_ns();
    if (r->coordinator) {
        bad = dt_coordinated_step(r, &batch, &done.loss);
    } else {
        DT_TRY(dt_run_start_step(r, &batch));
        dt_run_start_ahead(r);
        bad = dt_trainer_finish(r->q->trainer, &r->at.sums, &done.loss);
    }
    return bad ? dt_note(bad, "in step %lld", (long long)r->at.step + 1)
               : count_step(r, &done, since);
}

/* What is to be done after a step, as bits of a number. */
enum { SAVE = 1, STOP = 2, STOP_AT_ONCE = 4 };

static bool is_asked_to_stop(const run *r) {
    const dt_run_options *o = r->q->run;
    return (o->stop && *o->stop) ||
           (o->max_seconds > 0 && dt_seconds_since(r->began_ns) >= o->max_seconds);
}

static bool is_asked_to_save(const run *r) {
    const dt_run_options *o = r->q->run;
    const dt_checkpoint_spec *c = r->q->checkpoint;
    return (o->save && *o->save) ||
           (c && c->every_seconds > 0 && dt_seconds_since(r->out.saved_ns) >= c->every_seconds);
}

/* Whether save_freq, in steps or epochs, asks for a checkpoint. All workers get the same answer. */
static bool is_saved_after(const run *r, int64_t step, bool ends_epoch) {
    const dt_checkpoint_spec *c = r->q->checkpoint;
    return c &&
           ((c->every_steps > 0 && step % c->every_steps == 0) || (c->every_epoch && ends_epoch));
}

bool dt_run_is_interrupted(const run *r, int64_t step) {
    return is_asked_to_stop(r) || is_asked_to_save(r) || is_saved_after(r, step, false);
}

uint32_t dt_run_wishes(const run *r) {
    const volatile int *stop = r->q->run->stop;
    return (is_asked_to_save(r) ? SAVE : 0) | (is_asked_to_stop(r) ? SAVE | STOP : 0) |
           (stop && *stop > 1 ? STOP_AT_ONCE : 0);
}

/* Decides what to do after the step. Workers get signals at different moments, and their clocks
 * differ. So each worker sends its requests when a step starts, and after that step all workers do
 * what any of them asked for. A single process does it at once. */
static dt_status *what_is_due(run *r, uint32_t *due) {
    *due = r->strategy->cluster ? 0 : dt_run_wishes(r);
    DT_TRY(dt_cluster_end_step(r->strategy->cluster, "what to do after the step", due));
    if (*due & SAVE && r->q->run->save) *r->q->run->save = 0;
    if (is_saved_after(r, r->at.step, r->at.epoch_step == 0)) *due |= SAVE;
    return NULL;
}

static dt_status *stopped(const run *r, uint32_t due) {
    if (due & STOP_AT_ONCE)
        return dt_fail(DT_E_STOPPED_AT_ONCE, NULL, "stopped at once after step %lld, not saved",
                       (long long)r->at.step);
    return dt_fail(DT_E_STOPPED, NULL,
                   r->out.saved_step == r->at.step ? "stopped after step %lld, state saved"
                                                   : "stopped after step %lld",
                   (long long)r->at.step);
}

bool dt_run_is_training(const run *r) { return r->at.step < r->size.steps && !r->stop_training; }

bool dt_run_is_done(const run *r) { return r->at.step >= r->size.all_steps || r->stop_training; }

/* Whether what is due has to wait for workers. A parameter server's checkpoint must contain the
 * updates of exactly the first n batches. So no new batches are handed out, and saving waits until
 * the workers have finished theirs. */
static bool waits_for_rest(run *r, uint32_t *due) {
    if (!r->coordinator || *due & STOP_AT_ONCE) return false;
    r->due |= *due;
    *due = 0;
    if (r->due && !dt_coordinated_rests(r)) {
        dt_coordinated_drain(r);
        return true;
    }
    *due = r->due;
    r->due = 0;
    return false;
}

/* Saves or stops as the step's requests ask. Does nothing while a step that was started ahead runs,
 * because it still writes the variables; requests are then met after that step. */
static dt_status *save_or_stop(run *r) {
    uint32_t due = 0;
    if (r->ahead.is_there) return NULL;
    DT_TRY(what_is_due(r, &due));
    if (waits_for_rest(r, &due)) return NULL;
    if (due & SAVE && !(due & STOP_AT_ONCE)) DT_TRY(dt_run_save(r));
    return due & STOP && dt_run_is_training(r) ? stopped(r, due) : NULL;
}

static dt_status *train(run *r) {
    int64_t stop = r->q->run->stop ? *r->q->run->stop : 0;
    dt_status *s = dt_cluster_max(r->strategy->cluster, "whether to begin", &stop, 1);

    /* A run that has not made a step has nothing to save. */
    if (!s && stop) return stopped(r, stop > 1 ? STOP_AT_ONCE : 0);
    while (!s && dt_run_is_training(r)) {
        s = train_step(r);
        if (!s) s = save_or_stop(r);
    }
    dt_run_drop_ahead(r);
    return s;
}

/* Trains from the run's position to its end. With a parameter server, the workers read the
 * batches. */
static dt_status *train_from_here(run *r) {
    if (!dt_run_is_training(r)) return NULL;
    if (!r->coordinator) DT_TRY(dt_run_open_batches(r));
    r->out.saved_ns = dt_now_ns();
    dt_status *s = train(r);
    dt_iterator_close(r->batches);
    r->batches = NULL;
    return s;
}

static bool is_stopped(const dt_status *s) { return s && dt_status_number(s) == DT_E_STOPPED; }

/* Ends training. If the job is done (dt_run_is_done), use_ema replaces the weights by their means,
 * and callbacks may then replace the weights. After the last step of this run, validates with the
 * final weights if they were replaced, or if --steps or --until-epoch has ended the run and the
 * last line has no validation. */
static dt_status *end_training(run *r) {
    if (dt_run_is_done(r)) {
        DT_TRY(dt_optimizer_take_averages(r->optimizer, &r->model->trainable, &r->averaged));
        r->replaced = r->averaged;
        /* The weights have changed since the last checkpoint, so another one must be written. */
        if (r->averaged) r->out.saved_step = -1;
    }
    DT_TRY(dt_hooks_train_end(r));
    if (dt_run_is_training(r)) return NULL;
    if (!dt_run_is_done(r)) return dt_run_validate_late(r);
    return r->replaced ? dt_run_validate_again(r) : NULL;
}

static void warn_all(const run *r, const dt_texts *warnings) {
    for (int i = 0; i < warnings->n; i++) dt_run_warn(r, warnings->v[i]);
}

static dt_status *warn_about_job(const run *r) {
    dt_texts warnings;
    dt_output_warnings(&r->model->spec, dt_trainer_compiled_with(r->q->trainer), r->arena,
                       &warnings);
    warn_all(r, &warnings);
    DT_TRY(dt_trainer_data_warnings(r->q->trainer, r->arena, &warnings));
    warn_all(r, &warnings);
    DT_TRY(dt_trainer_target_warnings(r->q->trainer, DT_PART_VALIDATION, r->data, r->arena,
                                      &warnings));
    warn_all(r, &warnings);
    const char *alone = dt_launch_without_srun(r->strategy, r->arena);
    if (alone) dt_run_warn(r, alone);
    dt_faults_begin(r);
    return NULL;
}

/* Returns the first of two errors, which has caused the second one, and frees the second. If the
 * first is NULL, returns the second, which may be NULL, too. */
static dt_status *first_fault(dt_status *s, dt_status *closing) {
    if (s) dt_status_free(closing);
    return s ? s : closing;
}

static dt_status *run_it(run *r) {
    DT_TRY(dt_run_measure(r));
    DT_TRY(dt_hooks_open(r));
    if (dt_coordinated_is_worker(r)) return r->q->run->dry_run ? NULL : dt_coordinated_work(r);
    dt_run_allow_ahead(r);
    DT_TRY(dt_run_open(r));
    DT_TRY(dt_run_count_memory(r));
    dt_run_emit_start(r);
    DT_TRY(dt_run_check_memory(r));
    DT_TRY(warn_about_job(r));
    if (r->q->run->dry_run) return NULL;
    if (dt_run_is_training(r)) DT_TRY(dt_coordinated_open(r));
    dt_status *s = dt_hooks_begin(r);
    if (!s) s = train_from_here(r);
    dt_coordinated_close(r);
    /* A stop on request cannot have caused a later fault, so the fault is reported in its place. */
    if (!s || is_stopped(s)) s = first_fault(end_training(r), s);
    if (!s) s = dt_run_save(r);
    return !s || is_stopped(s) ? first_fault(s, dt_hooks_end(r)) : s;
}

dt_status *dt_fit(const dt_fit_request *q) {
    run r = {.q = q,
             .arena = dt_arena_create(),
             .out.saved_step = -1,
             .began_ns = q->called_ns ? q->called_ns : dt_now_ns()};

    dt_trainer_parts(q->trainer, &r.strategy, &r.model, &r.optimizer, &r.data);
    r.out.writes = q->directory && !q->run->dry_run && dt_run_is_chief(&r);
    dt_trainer_clear(q->trainer, &r.at.sums);
    r.so_far = dt_arena_array(r.arena, dt_metric, DT_MAX_LOGS);
    r.fault = run_it(&r);
    dt_coordinated_close(&r);
    dt_hooks_close(&r);
    dt_sums_release(&r.at.sums);
    dt_sums_release(&r.validation);
    dt_status *closing = dt_run_close(&r);
    return first_fault(r.fault, closing);
}
