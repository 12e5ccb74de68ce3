/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts steps. If the device computes asynchronously, the next step starts before the current one
 * is finished, so that the device need not wait for the host:
 *
 *     start 1, start 2, finish 1, start 3, finish 2, ...
 *
 * The next step starts early only if nothing that reads or changes variables, or may end the run,
 * comes between the two: the end of an epoch, a validation, a checkpoint, a callback that looks at
 * each step, a line of the record with a scheduled rate, an injected fault, a signal. Results,
 * files and messages are those of a run that does one step after the other.
 */
#include "train/device_upload.h"
#include "train/hook.h"
#include "train/record.h"
#include "train/trainer.h"

void dt_run_allow_ahead(run *r) {
    r->ahead.allowed = dt_trainer_runs_ahead(r->q->trainer) && r->q->faults.n == 0 &&
                       !r->strategy->verify_replicas && !dt_callbacks_look_at_steps(r);
}

dt_status *dt_run_open_batches(run *r) {
    const dt_dataset_spec *spec = dt_dataset_spec_of(r->data);
    const int64_t epoch = r->at.step / r->size.data_steps,
                  epochs = (r->size.steps + r->size.data_steps - 1) / r->size.data_steps - epoch;
    dt_batch_options o = {.part = DT_PART_TRAIN,
                          .epoch = epoch,
                          .first_step = r->at.step % r->size.data_steps,
                          .epochs = epochs,
                          .batch = r->size.batch,
                          .last = spec->last_batch,
                          .shuffle = spec->shuffle,
                          .keeps = r->ahead.allowed,
                          .workers = r->size.workers ? (int)r->size.workers->n : 0,
                          .replicas = r->size.workers ? (int)r->size.workers->replicas : 0,
                          .own = r->strategy->cluster ? dt_compiled_own_rows : NULL,
                          .own_user = dt_trainer_training_step(r->q->trainer),
                          .recorder = r->recording.recorder};
    if (!r->size.workers)
        DT_TRY(dt_lender_make(dt_arena_new(r->arena, dt_lender), r->data, r->q->trainer->train,
                              spec->last_batch == DT_LAST_DROP ? r->size.batch : r->size.examples,
                              r->size.batch, &o.lend));
    return dt_iterator_open_batches(&r->batches, r->data, &o);
}

/* Windows of gradient accumulation begin anew with each epoch, so that a window's end depends only
 * on the step's number in its epoch. */
bool dt_run_closes_window(const run *r, int64_t epoch_step) {
    int64_t k = r->q->fit->gradient_accumulation_steps;
    return k <= 1 || epoch_step % k == 0 || epoch_step == r->size.steps_per_epoch;
}

/* Reads the batch of step r->at.step + `after`, and starts the step. */
static dt_status *start(run *r, int after, dt_example *batch) {
    const int64_t step = r->at.step + after;

    DT_TRY(dt_iterator_next_batch(r->batches, batch));
    if (batch->rows == 0)
        return dt_fail(DT_E_INTERNAL, NULL, "the data ended at step %lld of %lld",
                       (long long)step - 1, (long long)r->size.steps);
    dt_cluster_begin_step(r->strategy->cluster, step, dt_run_wishes(r));
    dt_status *bad =
        dt_trainer_start(r->q->trainer, batch, dt_run_closes_window(r, r->at.epoch_step + after));
    return bad ? dt_note(bad, "in step %lld", (long long)step) : NULL;
}

dt_status *dt_run_start_step(run *r, dt_example *batch) {
    dt_status *bad = r->ahead.fault;

    if (!r->ahead.is_there) return start(r, 1, batch);
    *batch = r->ahead.batch;
    r->ahead.is_there = false;
    r->ahead.fault = NULL;
    return bad;
}

/* Whether anything has to be done between the current step and the next one, so that they cannot
 * overlap. */
static bool something_comes_between(const run *r) {
    const int64_t step = r->at.step + 1;
    return step == r->size.steps || r->at.epoch_step + 1 == r->size.steps_per_epoch ||
           dt_run_is_interrupted(r, step) || dt_record_follows_schedule(r) ||
           (dt_run_validates_by_steps(r) && step % r->q->fit->validation_freq == 0);
}

void dt_run_start_ahead(run *r) {
    if (!r->ahead.allowed || something_comes_between(r)) return;
    r->ahead.fault = start(r, 2, &r->ahead.batch);
    r->ahead.is_there = true;
}

void dt_run_drop_ahead(run *r) {
    if (r->ahead.is_there && !r->ahead.fault)
        dt_status_free(dt_trainer_finish(r->q->trainer, NULL, NULL));
    dt_status_free(r->ahead.fault);
    r->ahead.is_there = false;
    r->ahead.fault = NULL;
}
