/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a run, for its caller and for its record. */
#include <string.h>

#include "train/coordinator.h"
#include "train/hook.h"
#include "train/record.h"

void dt_run_emit(const run *r, const dt_event *e) {
    dt_record_event(r, e);
    if (r->q->run->event) r->q->run->event(e, r->q->run->user);
}

void dt_run_warn(const run *r, const char *text) {
    dt_run_emit(r, &(dt_event){.kind = DT_EVENT_WARNING, .text = text});
}

static int64_t last_batch(const run *r) {
    int64_t rest = r->size.workers ? dt_workers_cut(r->size.workers, r->size.data_steps - 1, NULL)
                                   : r->size.examples % r->size.batch;
    return rest && dt_dataset_spec_of(r->data)->last_batch != DT_LAST_DROP ? rest : r->size.batch;
}

void dt_run_emit_start(run *r) {
    dt_device *device = NULL;
    /* This cannot fail: the trainer has opened the device in order to compile. */
    dt_status_free(dt_strategy_device_of(r->strategy, &device));
    dt_run_emit(r, &(dt_event){.kind = DT_EVENT_START,
                               .job = r->q->name,
                               .job_sha256 = r->q->job_sha256,
                               .backend = dt_strategy_backend(r->strategy),
                               .device = r->strategy->what,
                               .seed = r->q->seed,
                               .replicas = r->strategy->replicas,
                               .logical_devices = r->strategy->logical,
                               .threads = dt_device_facts_of(device).threads,
                               .steps_per_epoch = r->size.steps_per_epoch,
                               .parameters = dt_model_parameters(r->model),
                               .peak_bytes = dt_trainer_peak_bytes(r->q->trainer),
                               .step_bytes = r->memory.step,
                               .evaluation_bytes = r->memory.evaluation,
                               .state_bytes = r->memory.state,
                               .data_bytes = r->memory.data,
                               .program_bytes = r->memory.program,
                               .memory_bytes = r->memory.all,
                               .train_examples = r->size.examples,
                               .validation_examples = dt_dataset_count(r->data, DT_PART_VALIDATION),
                               .global_batch = r->size.batch,
                               .last_batch = last_batch(r),
                               .sharding = r->size.sharding,
                               .epochs = r->size.epochs,
                               .step = r->at.step,
                               .steps = r->size.steps,
                               .epoch = r->at.epoch + 1,
                               .checkpoint = r->out.resumed ? r->out.checkpoint : NULL,
                               .resumed = r->out.resumed});
}

static dt_status *open_events(run *r, dt_hook *h) {
    /* the time when a step was last reported, in nanoseconds */
    int64_t *last = dt_arena_new(r->arena, int64_t);
    *last = 0;
    h->state = last;
    return NULL;
}

/* If the caller receives events: reports the loss of the step's batch, and the other metrics of the
 * epoch so far: for every step with every_step, else at most every 0.1 s. */
static dt_status *step_end(run *r, dt_hook *h, const dt_step_done *done) {
    dt_metric metrics[DT_MAX_KEYS];
    int64_t now = dt_now_ns(), *last = h->state;

    if (!r->q->run->event || (!r->q->run->every_step && now - *last < 100000000)) return NULL;
    *last = now;
    memcpy(metrics, done->logs.metric, (size_t)done->logs.n * sizeof *metrics);
    metrics[0].value = done->loss;
    dt_run_emit(r, &(dt_event){.kind = DT_EVENT_STEP,
                               .step = r->at.step,
                               .steps = r->size.steps,
                               .epoch = r->at.epoch + 1,
                               .epochs = r->size.epochs,
                               .epoch_step = r->at.epoch_step,
                               .steps_per_epoch = r->size.steps_per_epoch,
                               .examples = done->batch->rows,
                               .wall_s = done->seconds,
                               .virtual_s = dt_virtual_step_s(r, done->batch->rows),
                               .metrics = metrics,
                               .n_metrics = done->logs.n});
    return NULL;
}

/* Reports the workers of a parameter server after each epoch. */
static dt_status *settled(run *r, dt_hook *h) {
    (void)h;
    if (r->coordinator && r->at.epoch_step == 0) dt_coordinated_report(r);
    return NULL;
}

static dt_status *saved(run *r, dt_hook *h) {
    (void)h;
    dt_run_emit(r, &(dt_event){.kind = DT_EVENT_CHECKPOINT,
                               .step = r->at.step,
                               .checkpoint = r->out.checkpoint,
                               .weights_sha256 = r->out.saved.hex});
    return NULL;
}

/* Reports the hashes of the data, if they are known. A run that was stopped has not waited for
 * them. */
static void emit_data(const run *r) {
    for (dt_part p = 0; dt_run_is_hashed(r) && p < DT_PARTS; p++) {
        const char *fault;
        const dt_identity *x = dt_run_identity(r, p, &fault);
        if (x && x->files > 0)
            dt_run_emit(r, &(dt_event){.kind = DT_EVENT_DATA,
                                       .split = dt_part_name(p),
                                       .files = x->files,
                                       .bytes = x->bytes,
                                       .data_sha256 = x->sha256.hex,
                                       .hashed = dt_hashed_name(x->hashed)});
    }
}

static dt_status *end(run *r, dt_hook *h) {
    dt_digest digest;
    (void)h;
    emit_data(r);
    DT_TRY(dt_weights_digest(r->model, &digest));
    dt_run_emit(r, &(dt_event){.kind = DT_EVENT_END,
                               .step = r->at.step,
                               .steps = r->size.steps,
                               .checkpoint = r->out.checkpoint,
                               .weights_sha256 = digest.hex,
                               .virtual_s = r->virtual_time.all_s,
                               .metrics = r->last,
                               .n_metrics = r->n_last});
    return NULL;
}

const dt_hook_row dt_hook_events = {
    .open = open_events, .step_end = step_end, .settled = settled, .saved = saved, .end = end};
