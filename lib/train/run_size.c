/* SPDX-License-Identifier: Apache-2.0 */
/* Computes a run's examples, batches, steps and epochs, and the examples that each worker reads. */
#include "strategy/strategy.h"
#include "train/run.h"

/* Divides the data among workers by auto_shard_policy, unless they share the batches that a single
 * process would read. */
static dt_status *share_data(run *r) {
    const dt_dataset_spec *spec = dt_dataset_spec_of(r->data);
    const dt_strategy *s = r->strategy;
    dt_auto_shard_policy policy;

    DT_TRY(dt_workers_policy(r->data, DT_AUTO_SHARD_AUTO, s->hosts, &policy));
    if (policy == DT_AUTO_SHARD_AUTO) return NULL;
    if (s->replicas % s->hosts)
        return dt_fail(DT_E_INPUT_WORKERS, NULL,
                       "%d replicas cannot be divided evenly among %d workers", s->replicas,
                       s->hosts);
    r->size.workers = dt_arena_new(r->arena, dt_workers);
    *r->size.workers = (dt_workers){.part = DT_PART_TRAIN,
                                    .policy = policy,
                                    .n = s->hosts,
                                    .replicas = s->replicas / s->hosts,
                                    .batch = dt_dataset_batch_size(r->data),
                                    .repeat = spec->repeat,
                                    .last = spec->last_batch,
                                    .shuffle = spec->shuffle};
    dt_status *bad = dt_workers_prepare(r->size.workers, r->arena, r->data);
    /* the run needs only the counts; what reads the batches opens streams of its own */
    dt_workers_release(r->size.workers);
    return bad;
}

int64_t dt_run_fed(const run *r, int64_t steps) {
    const int64_t whole = steps / r->size.data_steps, rest = steps % r->size.data_steps;

    if (r->size.workers)
        return whole * r->size.workers->examples + dt_workers_fed(r->size.workers, rest);
    int64_t all = r->size.data_steps * r->size.batch < r->size.examples
                      ? r->size.data_steps * r->size.batch
                      : r->size.examples;
    /* Only the last batch of a pass over the data may be smaller than the others. */
    return whole * all + rest * r->size.batch;
}

/* Applies the limits --until-epoch and --steps. */
static void limit_steps(run *r) {
    int64_t part = r->q->run->max_epochs, most = r->q->run->max_steps;
    if (part > 0 && dt_mul_fits(part, r->size.steps_per_epoch, &part) && part < r->size.steps)
        r->size.steps = part;
    if (most > 0 && most < r->size.steps) r->size.steps = most;
}

static dt_status *count_steps(run *r) {
    const dt_fit_spec *fit = r->q->fit;
    const dt_dataset_spec *spec = dt_dataset_spec_of(r->data);

    r->size.examples = dt_dataset_count(r->data, DT_PART_TRAIN);
    r->size.batch = dt_dataset_batch_size(r->data);
    DT_TRY(share_data(r));
    if (!r->size.workers && r->size.examples > 0 && r->size.examples < r->size.batch)
        r->size.batch =
            /* If there are fewer examples than a batch needs, the batch has all of them, whatever
             * last_batch says. */
            r->size.examples;
    r->size.data_steps =
        r->size.workers ? r->size.workers->steps
                        : dt_steps_per_epoch(r->size.examples, r->size.batch, spec->last_batch);
    r->size.steps_per_epoch = fit->steps_per_epoch > 0 ? fit->steps_per_epoch : r->size.data_steps;
    if (r->size.data_steps == 0)
        return dt_fail(DT_E_ELEMENTS, NULL, "the data set has no batch to train on");
    if (fit->steps > 0) r->size.steps = fit->steps;
    else if (!dt_mul_fits(fit->epochs, r->size.steps_per_epoch, &r->size.steps) ||
             r->size.steps > (int64_t)1e18)
        return dt_fail(DT_E_FIT_KEYS, fit->at.source ? &fit->at : NULL,
                       "%lld epochs of %lld steps are more steps than can be counted",
                       (long long)fit->epochs, (long long)r->size.steps_per_epoch);
    r->size.all_steps = r->size.steps;
    limit_steps(r);
    r->size.epochs = (r->size.steps + r->size.steps_per_epoch - 1) / r->size.steps_per_epoch;
    r->at.epoch = fit->initial_epoch;
    if (!dt_mul_fits(fit->initial_epoch, r->size.steps_per_epoch, &r->at.step) ||
        r->at.step >= r->size.steps)
        return dt_fail(DT_E_FIT_KEYS, fit->at.source ? &fit->at : NULL,
                       "initial_epoch %lld leaves none of the %lld steps: an epoch has %lld",
                       (long long)fit->initial_epoch, (long long)r->size.steps,
                       (long long)r->size.steps_per_epoch);
    return NULL;
}

static dt_status *word_sharing(run *r) {
    dt_local_str words = {0};
    dt_status *s = dt_dataset_sharing(r->data, r->strategy->hosts, &words);
    r->size.sharding = s ? NULL : dt_arena_strdup(r->arena, dt_str_text(&words));
    return s;
}

dt_status *dt_run_measure(run *r) {
    DT_TRY(count_steps(r));
    return word_sharing(r);
}
