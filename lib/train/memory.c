/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory that a run will need, computed before its first step. Arenas, data and weights are
 * counted. The rest of the process is measured as it is now, plus an allowance for what libraries
 * and threads allocate when the first step runs. docs/reliability.md says how close the sum is to
 * the peak. A large model is also checked before its weights are allocated, by the parts that are
 * known then.
 */
#include <string.h>

#include "base/memory.h"
#include "strategy/compiled.h"
#include "strategy/divided.h"
#include "train/hook.h"
#include "train/trainer.h"

/* Bytes that each thread (OF_A_LANE), and the process (OF_A_RUN), allocate at the first
 * computation: stacks, and the packed matrices and generated code of kernel libraries. */
enum { OF_A_LANE = 1 << 20, OF_A_RUN = 4 << 20 };

static int64_t sum(int64_t a, int64_t b) {
    int64_t c;
    return dt_add_fits(a, b, &c) ? c : INT64_MAX;
}

/* Adds to *bytes the bytes of the arena of a step over `rows` rows. Adds nothing if c is NULL or
 * rows is 0, nor for a step that runs replica by replica, which has no arena. */
static dt_status *add_arena(dt_compiled *c, int64_t rows, int64_t *bytes) {
    dt_executable *x = NULL;
    if (!c || rows == 0) return NULL;
    DT_TRY(dt_compiled_prepare(c, rows, &x));
    *bytes = x ? sum(*bytes, dt_executable_host_bytes(x)) : *bytes;
    return NULL;
}

static dt_status *add_training(const run *r, dt_memory *m) {
    const dt_trainer *t = r->q->trainer;
    const bool ends_epoch =
        r->size.steps - r->at.step >= r->size.steps_per_epoch - r->at.epoch_step;
    const int64_t last = dt_dataset_spec_of(r->data)->last_batch == DT_LAST_DROP || !ends_epoch
                             ? 0
                             : r->size.examples % r->size.batch;
    DT_TRY(add_arena(t->train, r->size.batch, &m->step));
    DT_TRY(add_arena(t->accumulate, r->size.batch, &m->step));
    return add_arena(t->train, last, &m->step);
}

static int64_t validated(const run *r) {
    int64_t n = dt_dataset_count(r->data, DT_PART_VALIDATION), most;
    if (r->q->fit->validation_steps > 0 &&
        dt_mul_fits(r->q->fit->validation_steps, dt_dataset_batch_size(r->data), &most) && most < n)
        return most;
    return n;
}

static dt_status *add_evaluation(const run *r, dt_memory *m) {
    const dt_trainer *t = r->q->trainer;
    const int64_t n = validated(r), piece = t->evaluation_rows;
    /* If workers keep only parts of a weight, evaluation needs memory for the whole weight. */
    for (int i = 0; n > 0 && i < r->model->n_weights; i++) {
        const int64_t whole = dt_type_bytes(&r->model->weight[i]->type);
        m->evaluation =
            sum(m->evaluation, whole == dt_divided_bytes(r->model->weight[i]) ? 0 : whole);
    }
    DT_TRY(add_arena(t->evaluate, n >= piece ? piece : 0, &m->evaluation));
    return add_arena(t->evaluate, n % piece, &m->evaluation);
}

static int64_t bytes_of(dt_variable *const *v, int n) {
    int64_t bytes = 0;
    for (int i = 0; i < n; i++) bytes = sum(bytes, dt_divided_bytes(v[i]));
    return bytes;
}

static void add_state(const run *r, dt_memory *m) {
    int n;
    dt_variable *const *slot = dt_optimizer_variables(r->optimizer, r->arena, &n);
    m->state = sum(bytes_of(r->model->weight, r->model->n_weights), bytes_of(slot, n));
}

static void add_data(const run *r, const dt_data_bytes *held, dt_memory *m) {
    const dt_dataset_spec *spec = dt_dataset_spec_of(r->data);
    const dt_batch_options training = {.part = DT_PART_TRAIN,
                                       .batch = r->size.batch,
                                       .last = spec->last_batch,
                                       .epochs = r->size.epochs,
                                       .keeps = r->ahead.allowed},
                           validation = {.part = DT_PART_VALIDATION,
                                         .batch = r->q->trainer->evaluation_rows,
                                         .last = DT_LAST_PARTIAL};
    m->data = sum(sum(held->present, held->coming), dt_batches_bytes(r->data, &training));
    if (m->evaluation) m->data = sum(m->data, dt_batches_bytes(r->data, &validation));
}

dt_status *dt_run_count_memory(run *r) {
    dt_device *device = NULL;
    dt_memory *m = &r->memory;
    *m = (dt_memory){0};
    DT_TRY(add_training(r, m));
    DT_TRY(add_evaluation(r, m));
    const dt_data_bytes held = dt_dataset_bytes(r->data);
    add_state(r, m);
    add_data(r, &held, m);
    DT_TRY(dt_strategy_device_of(r->strategy, &device));
    const int64_t rest = dt_memory_resident() - m->state - held.present;
    const dt_device_facts facts = dt_device_facts_of(device);
    m->program = (rest > 0 ? rest : 0) + OF_A_RUN + OF_A_LANE * facts.threads + facts.held;
    m->all = sum(sum(sum(m->step, m->evaluation), sum(m->state, m->data)), m->program);
    return NULL;
}

/* Computes the bytes that the run needs with a batch of `rows` rows; INT64_MAX: unknown. remakes:
 * the step computes values again instead of keeping them. */
static dt_status *with(const run *r, int64_t rows, bool remakes, int64_t *bytes) {
    const dt_memory *m = &r->memory;
    const dt_trainer *t = r->q->trainer;
    const double part = (double)rows / (double)r->size.batch;
    const int64_t piece = t->evaluation_rows > rows && t->evaluation_rows <= r->size.batch
                              ? (int64_t)((double)m->evaluation * part)
                              : m->evaluation;
    int64_t step;
    DT_TRY(dt_trainer_step_bytes(t, rows, remakes, &step));
    *bytes = step ? sum(sum(sum(step, piece), sum(m->state, m->data)), m->program) : INT64_MAX;
    return NULL;
}

static dt_status *note_machine(dt_status *s, int64_t bytes) {
    return dt_note(s, "no smaller global batch would fit; the job needs at least %s",
                   dt_text_of_bytes((double)bytes).s);
}

/* Adds to the error that rematerialization would fit, if it would, and the first batch that fits of
 * batch / 2, batch / 4, ..., down to one row for each replica. If nothing fits, adds the memory
 * that the last of these needs. */
static dt_status *what_fits(run *r, int64_t limit, dt_status *s) {
    const int least = r->strategy->replicas;
    int64_t bytes;
    dt_status *bad = with(r, r->size.batch, true, &bytes);
    bool fits = !bad && bytes <= limit;
    if (fits) s = dt_note(s, "model: {rematerialize: full} would fit");
    bytes = r->memory.all;
    for (int64_t rows = r->size.batch / 2; !bad && rows >= least; rows /= 2) {
        bad = with(r, rows, false, &bytes);
        if (!bad && bytes <= limit) {
            s = dt_note(s, "a global batch of %lld instead of %lld would fit", (long long)rows,
                        (long long)r->size.batch);
            fits = true;
            break;
        }
    }
    if (!bad && !fits && bytes < INT64_MAX) s = note_machine(s, bytes);
    /* An error here only means that the changed step cannot be compiled. The change is then not
     * suggested. */
    dt_status_free(bad);
    return s;
}

/* Adds to the error the layer whose weights are the largest together. Weights of a layer are
 * adjacent in the model's list. */
static dt_status *name_weights(const run *r, dt_status *s) {
    const dt_model *m = r->model;
    const char *layer = "";
    int64_t most = 0;
    for (int i = 0, next; i < m->n_weights; i = next) {
        const char *path = m->weight[i]->path;
        const size_t n = strcspn(path, "/") + 1;
        int64_t bytes = 0;
        for (next = i; next < m->n_weights && strncmp(m->weight[next]->path, path, n) == 0; next++)
            bytes = sum(bytes, dt_divided_bytes(m->weight[next]));
        if (bytes <= most) continue;
        most = bytes;
        layer = path;
    }
    if (most == 0) return s;
    return dt_note(s, "layer '%.*s' has the largest weights, %s", (int)strcspn(layer, "/"), layer,
                   dt_text_of_bytes((double)most).s);
}

static dt_status *name_layer(run *r, dt_status *s) {
    dt_executable *x = NULL;
    int64_t bytes;
    dt_status *bad = dt_compiled_prepare(r->q->trainer->train, r->size.batch, &x);
    const char *layer = !bad && x ? dt_executable_largest_layer(x, r->arena, &bytes) : "";
    dt_status_free(bad); /* This cannot fail, because the executable exists already. */
    if (!*layer) return s;
    return dt_note(s, "layer '%s' takes the most of a step at its peak, %s", layer,
                   dt_text_of_bytes((double)bytes).s);
}

static void put_parts(const dt_memory *m, dt_str *out) {
    const struct {
        const char *of;
        int64_t bytes;
    } parts[] = {
        {"steps", m->step}, {"evaluation", m->evaluation}, {"weights and optimizer", m->state},
        {"data", m->data},  {"program", m->program},
    };
    const char *between = "";
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        /* A part of 0 bytes needs no memory, or its size is not known yet. */
        if (parts[i].bytes == 0) continue;
        dt_str_printf(out, "%s%s ", between, parts[i].of);
        dt_str_bytes(out, (double)parts[i].bytes);
        between = ", ";
    }
}

dt_status *dt_run_check_memory(run *r) {
    dt_memory_limit l;
    dt_local_str text = {0};
    if (!dt_memory_limit_find(&l) || r->memory.all <= l.bytes) return NULL;
    dt_str_puts(&text, "the run needs ");
    dt_str_bytes(&text, (double)r->memory.all);
    dt_str_puts(&text, " of memory (");
    put_parts(&r->memory, &text);
    dt_str_puts(&text, "), but there are only ");
    dt_memory_limit_print(&l, &text);
    dt_status *s = dt_fail(DT_E_DOES_NOT_FIT, NULL, "%s", dt_str_text(&text));
    return what_fits(r, l.bytes, name_weights(r, r->arena ? name_layer(r, s) : s));
}

/* Checks the memory of a run whose model has no memory yet. Parts of r that are not known yet are
 * 0, and r->arena is NULL. */
static dt_status *check_outline(run *r) {
    dt_memory *m = &r->memory;
    dt_arena *arena = dt_arena_create();
    int n;
    dt_variable *const *slot = dt_optimizer_variables(r->optimizer, arena, &n);
    m->state = sum(bytes_of(r->model->weight, r->model->n_weights), bytes_of(slot, n));
    dt_arena_destroy(arena);
    m->program = dt_memory_resident() + OF_A_RUN;
    m->all = sum(sum(m->step, m->state), m->program);
    return dt_run_check_memory(r);
}

dt_status *dt_trainer_check_memory(const dt_trainer *t, int shards) {
    /* This copy of the trainer is only traced and compiled. */
    dt_trainer other = *t;
    const dt_fit_request q = {.trainer = &other};
    run r = {.q = &q,
             .strategy = t->o.strategy,
             .model = t->o.model,
             .optimizer = t->o.optimizer,
             .size = {.batch = dt_trainer_full_batch(t)}};
    other.o.how.shards = shards;
    other.train = NULL;
    dt_status *s = dt_step_compile(&other, DT_STEP_TRAIN, &other.train);
    if (!s && dt_compiled_folded(other.train))
        s = dt_compiled_host_bytes(other.train, r.size.batch, &r.memory.step);
    if (!s) s = check_outline(&r);
    dt_compiled_destroy(other.train);
    return s;
}
