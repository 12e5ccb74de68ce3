/* SPDX-License-Identifier: Apache-2.0 */
/* Outlines: a run's steps are traced, folded and divided into the programs of cores, but never run.
 * Creating an outline compiles nothing and reads no label. With an outline of a model, variables
 * and slots have no memory, so that the steps of a model with 400 billion parameters can be
 * estimated, too. */
#include "train/trainer.h"

#include <string.h>

static dt_status *match(dt_trainer *t) {
    dt_trainer_set_batch(t);
    DT_TRY(dt_match_types(t->o.data, &t->o.model->spec, t->o.compile, &t->match));
    if (!t->o.optimizer) return NULL;
    if (t->o.fit) t->class_weight = t->o.fit->class_weight;
    DT_TRY(dt_match_class_weight(t->o.data, &t->o.model->spec, t->o.compile, &t->match,
                                 dt_trainer_class_weight(t)));
    t->o.optimizer->accumulates = dt_trainer_accumulates(t);
    return dt_optimizer_prepare(t->o.optimizer, &t->o.model->trainable);
}

dt_status *dt_trainer_outline(dt_trainer **out, const dt_trainer_options *o) {
    dt_trainer *t = dt_alloc(sizeof *t);

    *t = (dt_trainer){.arena = dt_arena_create(), .o = *o, .outlined = true};
    dt_status *s = match(t);
    if (s) {
        dt_trainer_destroy(t);
        return s;
    }
    *out = t;
    return NULL;
}

/* Adds to `steps` the step with a full batch and, if the last batch of the n examples is smaller
 * and is not dropped, the step with that one. If n is 0 (no such part, or unknown data), adds the
 * full batch alone. With 0 < n < batch there is no full batch. Returns how many steps were
 * added. */
static int add_batches(const char *name, int64_t n, int64_t batch, bool drops, dt_outlined *steps) {
    int k = 0;

    if (n == 0 || n >= batch) steps[k++] = (dt_outlined){name, batch, n / batch};
    if (n % batch && !drops) steps[k++] = (dt_outlined){name, n % batch, 1};
    return k;
}

int dt_trainer_outlined(const dt_trainer *t, dt_outlined steps[DT_MOST_OUTLINED]) {
    const dt_dataset *d = t->o.data;
    bool drops = dt_dataset_spec_of(d)->last_batch == DT_LAST_DROP;
    int n = 0;

    if (t->o.optimizer)
        n = add_batches("train", dt_dataset_count(d, DT_PART_TRAIN), dt_trainer_full_batch(t),
                        drops, steps);
    return n + add_batches("evaluate", dt_dataset_count(d, DT_PART_VALIDATION),
                           dt_dataset_batch_size(d), false, steps + n);
}

static dt_status *compiled(const dt_trainer *t, dt_step_kind kind, dt_compiled **c) {
    return *c ? NULL : dt_step_compile(t, kind, c);
}

dt_status *dt_trainer_priced(dt_trainer *t, const dt_outlined *step, const dt_spmd **out) {
    bool trains = strcmp(step->name, "train") == 0;
    dt_compiled **c = trains ? &t->train : &t->evaluate;

    DT_TRY(compiled(t, trains ? DT_STEP_TRAIN : DT_STEP_EVALUATE, c));
    return dt_compiled_priced(*c, step->rows, out);
}

dt_status *dt_trainer_check_fits(dt_trainer *t) {
    const int64_t batch = dt_trainer_full_batch(t);
    DT_TRY(compiled(t, DT_STEP_TRAIN, &t->train));
    return dt_trainer_would_fit(t, batch, dt_compiled_check_fits(t->train, batch));
}

static dt_status *slowed(dt_trainer *t, int64_t rows, const dt_slow_links *slow, int n,
                         double *seconds) {
    const dt_strategy *s = t->o.strategy;
    const dt_spmd *program = NULL;

    DT_TRY(dt_compiled_priced(t->train, rows, &program));
    dt_plan *p = dt_plan_create(&(dt_priced_program){.program = program,
                                                     .topology = s->resolver->topology,
                                                     .assignment = s->assignment,
                                                     .slow = slow,
                                                     .n_slow = n});
    *seconds = p->seconds;
    dt_plan_destroy(p);
    return NULL;
}

dt_status *dt_trainer_slowed(dt_trainer *t, const dt_slow_links *slow, int n, double seconds[2]) {
    seconds[1] = 0;
    DT_TRY(slowed(t, dt_trainer_full_batch(t), slow, n, &seconds[0]));
    return t->last_rows > 0 ? slowed(t, t->last_rows, slow, n, &seconds[1]) : NULL;
}

/* Computes the bytes of a training step whose batch is divided into `shards` shards. */
static dt_status *sharded_bytes(const dt_trainer *t, int shards, int64_t *bytes) {
    /* This copy of the trainer is only traced and compiled. */
    dt_trainer other = *t;
    dt_compiled *c = NULL;

    other.o.how.shards = shards;
    DT_TRY(dt_step_compile(&other, DT_STEP_TRAIN, &c));
    dt_status *s = dt_compiled_host_bytes(c, dt_trainer_full_batch(t), bytes);
    dt_compiled_destroy(c);
    return s;
}

dt_status *dt_trainer_host_bytes(dt_trainer *t, int shards, int64_t *bytes) {
    if (shards != t->o.how.shards) return sharded_bytes(t, shards, bytes);
    DT_TRY(compiled(t, DT_STEP_TRAIN, &t->train));
    return dt_compiled_host_bytes(t->train, dt_trainer_full_batch(t), bytes);
}
