/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run: trains from its current position to the end, and writes its files.
 *
 *     resume -> [batch -> step -> (epoch's end, or its turn: validate, callbacks, history line) -> (due: checkpoint)]* -> checkpoint -> end
 *
 * A position in training is (step, epoch, step in the epoch, running sums), a checkpoint holds it
 * with the weights, and the order of the data is a function of (seed, epoch): so a run that was
 * killed and started again does the very steps that the undisturbed one does. A history line is
 * written before its checkpoint; lines past the checkpoint that is resumed are dropped and written
 * again.
 */
#include "train/callback.h"
#include "train/coordinator.h"
#include "train/faults.h"
#include "train/hashing.h"
#include "train/device_upload.h"
#include "train/observe/previous_data.h"
#include "train/observer.h"
#include "train/record.h"
#include "train/recording.h"

/* ---- steps ---- */

/* A step is done: whoever looks at steps sees it. */
static dt_status *count_step(run *r, dt_step_done *done, int64_t since) {
    r->at.step++;
    r->at.epoch_step++;
    done->seconds = dt_seconds_since(since);
    r->at.wall_s += done->seconds;
    DT_TRY(dt_observers_step(r, done));
    DT_TRY(dt_run_validate_between(r));
    return r->at.epoch_step == r->steps_per_epoch || r->at.step == r->steps ? dt_run_end_epoch(r)
                                                                            : NULL;
}

static dt_status *finish_step(run *r, const dt_batch *batch, int64_t since) {
    dt_step_done done = {.batch = batch};
    dt_status *bad = dt_trainer_finish(r->q->trainer, &r->at.sums, &done.loss);
    return bad ? dt_note(bad, "in step %lld", (long long)r->at.step + 1)
               : count_step(r, &done, since);
}

/* A step of a coordinator: its workers read the batch. */
static dt_status *coordinated_step(run *r, int64_t since) {
    dt_batch batch = {0};
    dt_step_done done = {.batch = &batch};
    DT_TRY(dt_observers_before_step(r, r->at.step + 1));
    dt_status *bad = dt_coordinated_step(r, &batch, &done.loss);
    return bad ? dt_note(bad, "in step %lld", (long long)r->at.step + 1)
               : count_step(r, &done, since);
}

static bool time_is_up(const run *r) {
    double most = r->q->run->max_seconds;
    return most > 0 && dt_seconds_since(r->began_ns) >= most;
}

/* What is due after a step: bits. */
enum { SAVE = 1, STOP = 2, STOP_AT_ONCE = 4 };

static bool is_asked_to_stop(const run *r) {
    const dt_run_options *o = r->q->run;
    return (o->stop && *o->stop) || time_is_up(r);
}

static bool is_asked_to_save(const run *r) {
    const dt_run_options *o = r->q->run;
    const dt_checkpoint_spec *c = r->q->checkpoint;
    return (o->save && *o->save) ||
           (c && c->every_seconds > 0 && dt_seconds_since(r->saved_ns) >= c->every_seconds);
}

/* By the checkpoint's rules of steps and epochs, which are the same on all workers. */
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

/* Signals reach workers at different moments, and clocks differ: what one of them asks for before a
 * step all do after it. One process does it after the step at hand. */
static dt_status *what_is_due(run *r, uint32_t *due) {
    *due = r->strategy->cluster ? 0 : dt_run_wishes(r);
    DT_TRY(dt_cluster_end_step(r->strategy->cluster, "what to do after the step", due));
    if (*due & SAVE && r->q->run->save) *r->q->run->save = 0;
    if (is_saved_after(r, r->at.step, r->at.epoch_step == 0)) *due |= SAVE;
    return NULL;
}

/* At the end the state is always saved; one that was just saved is not saved again. Nothing is
 * saved that could not be gone on from. */
static dt_status *save(run *r) {
    if (r->saved_step == r->at.step) return NULL;
    DT_TRY(dt_run_check_weights(r));
    if (!dt_run_is_chief(r)) { /* the chief saves what all have */
        r->saved_step = r->at.step;
        r->saved_ns = dt_now_ns();
    }
    if (!r->writes) return NULL;
    DT_TRY(dt_record_flush(r->record, r));
    int64_t since = dt_recording_since(r);
    DT_TRY(dt_run_save(r));
    dt_recording_span(r, r->recording.mark[DT_RECORDED_CHECKPOINT], since);
    return dt_observers_saved(r);
}

static dt_status *stopped(const run *r, uint32_t due) {
    if (due & STOP_AT_ONCE)
        return dt_fail(DT_E_STOPPED_AT_ONCE, NULL, "stopped at once after step %lld, not saved",
                       (long long)r->at.step);
    return dt_fail(DT_E_STOPPED, NULL,
                   r->saved_step == r->at.step ? "stopped after step %lld, state saved"
                                               : "stopped after step %lld",
                   (long long)r->at.step);
}

static bool is_training(const run *r) { return r->at.step < r->steps && !r->stop_training; }

bool dt_run_is_done(const run *r) { return r->at.step >= r->all_steps || r->stop_training; }

static dt_status *train_step(run *r, dt_feed *feed) {
    int64_t since = dt_now_ns();
    dt_batch batch = {0};

    if (r->at.epoch_step == 0) DT_TRY(dt_callbacks_epoch_begin(r));
    if (r->coordinator) {
        DT_TRY(coordinated_step(r, since));
        return dt_observers_settled(r);
    }
    DT_TRY(dt_run_start_step(r, feed, &batch));
    dt_run_start_ahead(r, feed);
    DT_TRY(finish_step(r, &batch, since));
    return dt_observers_settled(r);
}

/* A checkpoint says that the first n batches have been applied: what is due waits until no others
 * are on their way. */
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

/* While a step is on its way, variables are its; what was asked for since it started comes after
 * it. */
static dt_status *save_or_stop(run *r) {
    uint32_t due = 0;
    if (r->ahead.is_there) return NULL;
    DT_TRY(what_is_due(r, &due));
    if (waits_for_rest(r, &due)) return NULL;
    if (due & SAVE && !(due & STOP_AT_ONCE)) DT_TRY(save(r));
    return due & STOP && is_training(r) ? stopped(r, due) : NULL;
}

static dt_status *train(run *r, dt_feed *feed) {
    int64_t stop = r->q->run->stop ? *r->q->run->stop : 0;
    dt_status *s = dt_cluster_max(r->strategy->cluster, "whether to begin", &stop, 1);

    /* nothing has been trained that is not saved */
    if (!s && stop) return stopped(r, stop > 1 ? STOP_AT_ONCE : 0);
    while (!s && is_training(r)) {
        int64_t since = dt_recording_step_begin(r);
        s = train_step(r, feed);
        if (!s) s = save_or_stop(r);
        dt_recording_step_end(r, feed, since);
        if (!s && dt_recording_is_over(r)) s = dt_recording_save(r);
    }
    dt_run_drop_ahead(r);
    return s;
}

static dt_status *train_and_record(run *r, dt_feed *feed) {
    r->saved_ns = dt_now_ns();
    dt_status *s = train(r, feed);
    if (s && dt_status_number(s) != DT_E_STOPPED) return s;
    dt_status *bad = dt_recording_save(r);
    dt_status_free(bad ? s : NULL);
    return bad ? bad : s;
}

/* From the step at hand on. */
static dt_status *open_feed(run *r, dt_lender *lender, dt_feed **out) {
    const dt_dataset_spec *spec = dt_dataset_spec_of(r->data);
    const int64_t epoch = r->at.step / r->data_steps,
                  epochs = (r->steps + r->data_steps - 1) / r->data_steps - epoch;
    dt_feed_options o = {.part = DT_PART_TRAIN,
                         .epoch = epoch,
                         .first_step = r->at.step % r->data_steps,
                         .epochs = epochs,
                         .batch = r->batch,
                         .last = spec->last_batch,
                         .shuffle = spec->shuffle,
                         .keeps = r->ahead.allowed,
                         .workers = r->workers ? (int)r->workers->n : 0,
                         .replicas = r->workers ? (int)r->workers->replicas : 0,
                         .own = r->strategy->cluster ? dt_compiled_own_rows : NULL,
                         .own_user = dt_trainer_training_step(r->q->trainer),
                         .recorder = r->recording.recorder};
    if (!r->workers)
        DT_TRY(dt_lender_make(lender, r->data, r->q->trainer->train,
                              spec->last_batch == DT_LAST_DROP ? r->batch : r->examples, r->batch,
                              &o.lend));
    return dt_feed_open(out, r->data, &o);
}

/* The batches of a coordinator are read by its workers. */
static dt_status *train_from_here(run *r) {
    dt_feed *feed = NULL;
    dt_lender lender;

    if (!is_training(r)) return NULL;
    if (r->coordinator) return train_and_record(r, NULL);
    DT_TRY(open_feed(r, &lender, &feed));
    dt_status *s = train_and_record(r, feed);
    dt_feed_close(feed);
    return s;
}

/* ---- the whole ---- */

/* With use_ema the weights become their means when all is done, then callbacks may change them; a
 * run cut short by --steps goes on later. */
static dt_status *finish_weights(run *r) {
    if (!dt_run_is_done(r)) return dt_run_validate_late(r);
    DT_TRY(dt_optimizer_take_averages(r->optimizer, &r->model->trainable, &r->averaged));
    r->replaced = r->averaged;
    if (r->averaged) r->saved_step = -1; /* what was saved last has other weights */
    DT_TRY(dt_callbacks_end(r));
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
    DT_TRY(dt_trainer_target_warnings(r->q->trainer, DT_PART_VALIDATION, r->arena, &warnings));
    warn_all(r, &warnings);
    return NULL;
}

/* The first of two is the cause. */
static dt_status *first_fault(dt_status *s, dt_status *closing) {
    if (s) dt_status_free(closing);
    return s ? s : closing;
}

/* The chief takes the directory first; then the others read the same checkpoint, and all begin with
 * the same weights. */
static dt_status *open_in_turn(run *r) {
    dt_cluster *c = r->strategy->cluster;
    dt_digest weights;

    DT_TRY(dt_cluster_agree(c, "open the run", dt_run_is_chief(r) ? dt_run_open(r) : NULL));
    DT_TRY(dt_cluster_agree(c, "read the run's checkpoint",
                            dt_run_is_chief(r) ? NULL : dt_run_open(r)));
    if (!c) return NULL;
    DT_TRY(dt_weights_digest(r->model, &weights));
    DT_TRY(dt_cluster_compare(c, "examples",
                              dt_arena_printf(r->arena, "%lld", (long long)r->examples)));
    DT_TRY(dt_cluster_compare(c, "kernels", dt_run_kernels(r)));
    DT_TRY(dt_cluster_compare(c, "the first step",
                              dt_arena_printf(r->arena, "%lld", (long long)r->at.step + 1)));
    return dt_cluster_compare(c, "the SHA-256 of the first weights", weights.hex);
}

static dt_status *run_it(run *r) {
    DT_TRY(dt_run_measure(r));
    DT_TRY(dt_recording_open(r));
    DT_TRY(dt_callbacks_open(r));
    if (dt_coordinated_is_worker(r)) return r->q->run->dry_run ? NULL : dt_coordinated_work(r);
    dt_run_allow_ahead(r);
    DT_TRY(open_in_turn(r));
    DT_TRY(dt_run_count_memory(r));
    dt_run_emit_start(r);
    DT_TRY(dt_run_check_memory(r));
    DT_TRY(warn_about_job(r));
    dt_faults_begin(r);
    if (r->q->run->dry_run) return NULL;
    if (is_training(r)) DT_TRY(dt_coordinated_open(r));
    r->hashing = r->writes && is_training(r) ? dt_hashing_begin(r->data) : NULL;
    dt_status *s = dt_callbacks_begin(r);
    if (!s) s = train_from_here(r);
    dt_coordinated_close(r);
    if (!s) s = finish_weights(r);
    if (!s) s = save(r);
    if (!s) {
        dt_hashing_wait(r->hashing);
        dt_previous_data_compare(r);
    }
    if (!s || dt_status_number(s) == DT_E_STOPPED) s = first_fault(s, dt_run_emit_end(r));
    return s;
}

dt_status *dt_fit(const dt_fit_request *q) {
    run r = {.q = q,
             .arena = dt_arena_create(),
             .saved_step = -1,
             .began_ns = q->called_ns ? q->called_ns : dt_now_ns()};

    dt_trainer_parts(q->trainer, &r.strategy, &r.model, &r.optimizer, &r.data);
    r.writes = q->directory && !q->run->dry_run && dt_run_is_chief(&r);
    dt_trainer_clear(q->trainer, &r.at.sums);
    r.record = dt_record_create(&r);
    for (int i = 0; i < q->told.n; i++)
        dt_record_event(r.record, &r, &(dt_event){.kind = DT_EVENT_WARNING, .text = q->told.v[i]});
    dt_status *s = run_it(&r);
    dt_coordinated_close(&r);
    dt_callbacks_close(&r);
    dt_recording_close(&r);
    s = first_fault(s, dt_record_close(r.record, &r, s));
    dt_hashing_end(r.hashing);
    dt_sums_release(&r.at.sums);
    dt_sums_release(&r.validation);
    return first_fault(s, dt_run_close(&r));
}
