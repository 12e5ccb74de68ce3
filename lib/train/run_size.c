/* SPDX-License-Identifier: Apache-2.0 */
/* Computes a run's examples, batches, steps and epochs, and the examples that each worker reads. */
#include "strategy/strategy.h"
#include "train/run.h"

/* Divides the data among workers, unless every worker reads the order of a single process. */
static dt_status *share_data(run *r) {
    const dt_dataset_spec *spec = dt_dataset_spec_of(r->data);
    const dt_strategy *s = r->strategy;
    dt_dealing dealing;

    DT_TRY(dt_workers_dealing(r->data, NULL, s->hosts, &dealing));
    if (dealing == DT_DEAL_GLOBAL) return NULL;
    if (s->replicas % s->hosts)
        return dt_fail(DT_E_INPUT_WORKERS, NULL,
                       "%d replicas cannot be divided evenly among %d workers", s->replicas,
                       s->hosts);
    r->workers = dt_arena_new(r->arena, dt_workers);
    return dt_workers_make(r->arena, r->data,
                           &(dt_workers_options){.part = DT_PART_TRAIN,
                                                 .dealing = dealing,
                                                 .workers = s->hosts,
                                                 .replicas = s->replicas / s->hosts,
                                                 .batch = dt_dataset_batch_size(r->data),
                                                 .repeat = spec->repeat,
                                                 .last = spec->last_batch,
                                                 .shuffle = spec->shuffle},
                           r->workers);
}

int64_t dt_run_fed(const run *r, int64_t steps) {
    const int64_t whole = steps / r->data_steps, rest = steps % r->data_steps;

    if (r->workers) return whole * r->workers->examples + dt_workers_fed(r->workers, rest);
    int64_t all = r->data_steps * r->batch < r->examples ? r->data_steps * r->batch : r->examples;
    return whole * all + rest * r->batch; /* only the last batch may be smaller */
}

static dt_status *count_steps(run *r) {
    const dt_fit_spec *fit = r->q->fit;
    const dt_dataset_spec *spec = dt_dataset_spec_of(r->data);

    r->examples = dt_dataset_count(r->data, DT_PART_TRAIN);
    r->batch = dt_dataset_batch_size(r->data);
    DT_TRY(share_data(r));
    if (!r->workers && r->examples > 0 && r->examples < r->batch)
        r->batch = r->examples; /* a single partial batch is kept, whatever last_batch is */
    r->data_steps = r->workers ? r->workers->steps
                               : dt_steps_per_epoch(r->examples, r->batch, spec->last_batch);
    r->steps_per_epoch = fit->steps_per_epoch > 0 ? fit->steps_per_epoch : r->data_steps;
    if (r->data_steps == 0)
        return dt_fail(DT_E_ELEMENTS, NULL, "the data set has no batch to train on");
    r->steps = r->all_steps = fit->steps > 0 ? fit->steps : fit->epochs * r->steps_per_epoch;
    if (r->q->run->max_steps > 0 && r->q->run->max_steps < r->steps)
        r->steps = r->q->run->max_steps;
    r->epochs = (r->steps + r->steps_per_epoch - 1) / r->steps_per_epoch;
    r->at.epoch = fit->initial_epoch;
    r->at.step = fit->initial_epoch * r->steps_per_epoch;
    if (r->at.step >= r->steps)
        return dt_fail(
            DT_E_FIT_KEYS, fit->at.source ? &fit->at : NULL,
            "initial_epoch %lld begins at step %lld, which leaves none of the %lld steps",
            (long long)fit->initial_epoch, (long long)r->at.step, (long long)r->steps);
    return NULL;
}

static dt_status *word_sharing(run *r) {
    dt_str words = {0};
    dt_status *s = dt_dataset_sharing(r->data, r->strategy->hosts, &words);
    r->sharding = s ? NULL : dt_arena_strdup(r->arena, dt_str_text(&words));
    dt_str_release(&words);
    return s;
}

dt_status *dt_run_measure(run *r) {
    DT_TRY(count_steps(r));
    return word_sharing(r);
}
