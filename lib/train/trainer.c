/* SPDX-License-Identifier: Apache-2.0 */
/* Trainers: match the data set's elements with the model, compile the steps, and run batches. */
#include "op/op.h"
#include "train/trainer.h"
#include "train/run.h"
#include "export/stablehlo/stablehlo.h"
#include "pass/sparse.h"

#include <stdlib.h>
#include <string.h>

/* Records the step to use in estimates. In mixed precision, this is the step in float32; the
 * estimate then counts 16 bits for layers (cost/plan.c). Leaves *out unchanged if the step itself
 * can be estimated, if the trainer is an outline, whose model has the precision that the caller
 * wants to see, or if there is nothing to estimate. */
static dt_status *trace_priced(const dt_trainer *t, dt_step_kind kind, dt_graph **out) {
    dt_model *m = t->o.model;
    const dt_policy precision = m->precision;
    if (t->outlined || precision == DT_POLICY_FLOAT32 ||
        !dt_resolver_slice(t->o.strategy->resolver))
        return NULL;
    m->precision = DT_POLICY_FLOAT32;
    dt_status *s = dt_step_trace(t, kind, out);
    m->precision = precision;
    return s;
}

static void list_kept(const dt_rematerialize *r, dt_arena *arena, dt_layer_units *u) {
    dt_kept_value *kept = dt_arena_array(arena, dt_kept_value, DT_REMAT_PRODUCTS + 1);
    const unsigned all = r->save | r->offload;
    for (int k = 0; k < DT_REMAT_PRODUCTS; k++)
        if (all & dt_remat_products[k].value)
            kept[u->n_kept++] =
                (dt_kept_value){.weight = dt_remat_products[k].layer,
                                .on_host = (r->offload & dt_remat_products[k].value) != 0};
    if (all & DT_REMAT_CONTEXT)
        kept[u->n_kept++] = (dt_kept_value){.op = &dt_op_attention,
                                            .on_host = (r->offload & DT_REMAT_CONTEXT) != 0};
    u->kept = kept;
    u->inputs_on_host = (r->offload & DT_REMAT_LAYER_INPUT) != 0;
}

/* Returns the units of layers whose values rematerialization computes again, in the trainer's
 * arena: the iterations of Repeat layers, or each layer of a model without them. They keep the
 * values that the model's key rematerialize names. */
static dt_layer_units units_of(const dt_trainer *t) {
    const dt_model_spec *m = &t->o.model->spec;
    const char **layer = dt_arena_array(t->arena, const char *, m->n_layers);
    int *unit = dt_arena_array(t->arena, int, m->n_layers);
    dt_layer_units u = {.layer = layer, .unit = unit};
    bool repeats = false;

    for (int i = 0; i < m->n_layers; i++) repeats |= m->layer[i].turn > 0;
    for (int i = 0; i < m->n_layers; i++)
        if (m->layer[i].n_in > 0 && (!repeats || m->layer[i].turn > 0)) {
            layer[u.n] = m->layer[i].name;
            unit[u.n++] = repeats ? m->layer[i].turn : i;
        }
    list_kept(&m->rematerialize, t->arena, &u);
    return u;
}

/* Compiles a graph and takes ownership of it. */
static dt_status *compile_graph(const dt_trainer *t, dt_step_kind kind, dt_graph *g, bool remakes,
                                dt_compiled **out) {
    const dt_layer_units units = remakes ? units_of(t) : (dt_layer_units){0};
    dt_graph *priced = NULL;
    dt_status *s = trace_priced(t, kind, &priced);
    if (s) {
        dt_graph_destroy(g);
        return s;
    }
    return dt_compiled_create(
        out, t->o.strategy, g,
        &(dt_compile_options){.how = t->o.how,
                              .priced = priced,
                              .units = remakes ? &units : NULL,
                              .alone = kind == DT_STEP_EVALUATE || kind == DT_STEP_FORWARD,
                              .beside = dt_dataset_preparing(t->o.data)});
}

static dt_status *compile_step(const dt_trainer *t, dt_step_kind kind, bool remakes,
                               dt_compiled **out) {
    dt_graph *g = NULL;
    DT_TRY(dt_step_trace(t, kind, &g));
    return compile_graph(t, kind, g, remakes, out);
}

static bool rematerializes(const dt_trainer *t) { return t->o.model->spec.rematerialize.on; }

dt_status *dt_step_compile(const dt_trainer *t, dt_step_kind kind, dt_compiled **out) {
    return compile_step(t, kind, kind >= DT_STEP_TRAIN && rematerializes(t), out);
}

dt_status *dt_trainer_would_fit(const dt_trainer *t, int64_t rows, dt_status *s) {
    if (!s || dt_status_number(s) != DT_E_DOES_NOT_FIT || rematerializes(t)) return s;
    dt_compiled *other = NULL;
    dt_status *bad = compile_step(t, DT_STEP_TRAIN, true, &other);

    if (!bad && dt_compiled_fits(other, rows))
        s = dt_note(s, "model: {rematerialize: full} would fit");
    dt_status_free(bad);
    dt_compiled_destroy(other);
    return s;
}

dt_status *dt_trainer_step_bytes(const dt_trainer *t, int64_t rows, bool remakes, int64_t *bytes) {
    dt_compiled *other = NULL;
    *bytes = 0;
    if (!remakes || rematerializes(t))
        return t->train && dt_compiled_folded(t->train)
                   ? dt_compiled_host_bytes(t->train, rows, bytes)
                   : NULL;
    dt_status *s = compile_step(t, DT_STEP_TRAIN, true, &other);
    if (!s && dt_compiled_folded(other)) s = dt_compiled_host_bytes(other, rows, bytes);
    dt_compiled_destroy(other);
    return s;
}

int64_t dt_trainer_full_batch(const dt_trainer *t) {
    int64_t batch = dt_dataset_batch_size(t->o.data),
            n = dt_dataset_count(t->o.data, DT_PART_TRAIN);
    return n > 0 && n < batch ? n : batch;
}

void dt_trainer_set_batch(const dt_trainer *t) {
    int64_t each = dt_dataset_spec_of(t->o.data)->per_replica_batch_size;
    if (each > 0) dt_dataset_set_global_batch(t->o.data, each * t->o.strategy->replicas);
}

dt_status *dt_trainer_compile_update(dt_trainer *t, dt_graph *g, bool last, dt_compiled **out) {
    bool rows = false;
    for (int i = 0; i < g->n_args; i++) rows |= dt_type_has_batch(&g->node[g->arg[i].node].type);
    const bool *uniform = dt_arena_array(t->arena, bool, g->n_args + 1);
    DT_TRY(dt_compiled_create(out, t->o.strategy, g,
                              &(dt_compile_options){.distributed = uniform, .how = t->o.how}));
    dt_executable *x = NULL;
    DT_TRY(dt_compiled_prepare(*out, rows ? dt_trainer_full_batch(t) : 1, &x));
    if (x && last) t->peak_bytes += dt_executable_host_bytes(x);
    return NULL;
}

/* Compiles an update. tail: the graph that computes gradients from the parts that workers push;
 * NULL: workers push whole gradients. */
static dt_status *compile_update(dt_trainer *t, const dt_graph *gradients, const dt_graph *tail,
                                 bool last, dt_compiled **out) {
    dt_graph *g = NULL, *whole = NULL;

    DT_TRY(dt_update_trace(t, &t->o.model->trainable, gradients, last, &g));
    if (tail) {
        dt_status *s = dt_compose(tail, g, &whole);
        dt_graph_destroy(g);
        DT_TRY(s);
        g = whole;
    }
    return dt_trainer_compile_update(t, g, last, out);
}

static dt_status *compile_updates(dt_trainer *t, const dt_graph *gradients, const dt_graph *tail) {
    DT_TRY(compile_update(t, gradients, tail, true, &t->update));
    return dt_trainer_accumulates(t) ? compile_update(t, gradients, tail, false, &t->gather) : NULL;
}

static dt_status *compile_numbers(dt_trainer *t, const dt_graph *step) {
    dt_graph *numbers = NULL;
    DT_TRY(dt_row_numbers(step, dt_trainer_full_batch(t), t->arena, &numbers, &t->table));
    return numbers ? dt_compiled_create(&t->numbers, t->o.strategy, numbers,
                                        &(dt_compile_options){.how = t->o.how})
                   : NULL;
}

static dt_status *divide_step(const dt_trainer *t, const dt_graph *step, dt_graph **head,
                              dt_graph **tail) {
    const dt_variables *v = &t->o.model->trainable;
    const char **name = dt_arena_array(t->arena, const char *, v->n + 1);
    for (int i = 0; i < v->n; i++) name[i] = dt_gradient_name(t->arena, v->v[i]);
    return dt_divide_step(step, name, v->n, dt_trainer_full_batch(t), head, tail);
}

/* Compiles the two halves of a step with a parameter server: workers compute gradients, and the
 * coordinator or the tasks of type ps, which have the variables, update them. */
static dt_status *compile_halves(dt_trainer *t) {
    dt_graph *step = NULL, *head = NULL, *tail = NULL;
    DT_TRY(dt_step_trace(t, DT_STEP_GRADIENT, &step));
    dt_status *s = divide_step(t, step, &head, &tail);
    if (!s) s = compile_numbers(t, step);
    if (!s) s = compile_updates(t, step, tail);
    dt_graph_destroy(tail);
    if (head || s) {
        dt_graph_destroy(step);
        step = head;
    }
    if (!s) return compile_graph(t, DT_STEP_GRADIENT, step, rematerializes(t), &t->train);
    dt_graph_destroy(step);
    return s;
}

/* Compiles the training step, and prepares it for full batches and for the smaller last one, if
 * there is one. Sets the prices of both and the peak memory. */
static dt_status *prepare_training(dt_trainer *t) {
    int64_t batch = dt_trainer_full_batch(t), n = dt_dataset_count(t->o.data, DT_PART_TRAIN);
    dt_executable *x = NULL;

    t->o.optimizer->accumulates = dt_trainer_accumulates(t);
    if (t->o.fit && dt_callbacks_vary_rate(&t->o.fit->callbacks))
        DT_TRY(dt_optimizer_vary_rate(t->o.optimizer));
    DT_TRY(dt_optimizer_prepare(t->o.optimizer, &t->o.model->trainable));
    DT_TRY(t->o.strategy->servers.workers ? compile_halves(t)
                                          : dt_step_compile(t, DT_STEP_TRAIN, &t->train));
    if (dt_trainer_accumulates(t) && !t->update)
        DT_TRY(dt_step_compile(t, DT_STEP_ACCUMULATE, &t->accumulate));
    DT_TRY(dt_trainer_would_fit(t, batch, dt_compiled_prepare(t->train, batch, &x)));
    if (x) {
        t->price = *dt_executable_price(x);
        t->peak_bytes += dt_executable_host_bytes(x);
    }
    if (n % batch == 0 || dt_dataset_spec_of(t->o.data)->last_batch == DT_LAST_DROP) return NULL;
    DT_TRY(dt_compiled_prepare(t->train, n % batch, &x));
    if (x) t->last_price = *dt_executable_price(x);
    t->last_rows = n % batch;
    return NULL;
}

/* Sets t->key to the keys of the history: "loss", "accuracy", and for validation "val_loss",
 * "val_accuracy". */
static void name_metrics(dt_trainer *t) {
    const char *key[DT_MAX_KEYS];
    int n = dt_compile_keys(t->o.compile, key);

    for (int v = 0; v < 2; v++) {
        t->key[v] = dt_arena_array(t->arena, const char *, n);
        for (int i = 0; i < n; i++)
            t->key[v][i] = dt_arena_printf(t->arena, "%s%s", v ? "val_" : "", key[i]);
    }
}

/* Sets t->class_name: for keys such as "f1_score_0" the name of the class, if the classes have
 * names; for others NULL. Metrics come last in the order of dt_compile_keys. */
static void name_classes(dt_trainer *t) {
    const dt_compile_spec *c = t->o.compile;
    const char *key[DT_MAX_KEYS];
    dt_class_names names;
    int at = dt_compile_keys(c, key);

    t->class_name = dt_arena_array(t->arena, const char *, at);
    dt_class_names_of(t->o.data, c, &t->match, &names);
    for (int i = c->n_metrics - 1; i >= 0; i--) {
        const dt_texts *of = &names.of[c->metric[i].output];
        at -= c->metric[i].n;
        for (int k = 0;
             c->metric[i].row->by_class && c->metric[i].n == of->n && k < of->n && of->n > 1; k++)
            t->class_name[at + k] = of->v[k];
    }
}

/* Lays out the sums for the results of the steps. Training and evaluation return the same sums,
 * though training may return more divisors. */
static void lay_out(dt_trainer *t) {
    const dt_compile_spec *c = t->o.compile;
    const dt_graph *evaluate = dt_compiled_step(t->evaluate);

    dt_sum_layout_make(&t->layout, t->arena, c, evaluate);
    dt_trainer_plan_evaluation(t);
    dt_tally_make(&t->evaluation, t->arena, &t->layout, c, evaluate);
    for (int k = 0; k < 2; k++)
        t->flight[k].result = dt_arena_array(
            t->arena, dt_view,
            evaluate->n_results + (t->train ? dt_compiled_step(t->train)->n_results : 0) + 1);
    if (t->train) dt_tally_make(&t->training, t->arena, &t->layout, c, dt_compiled_step(t->train));
}

dt_status *dt_trainer_create(dt_trainer **out, const dt_trainer_options *o) {
    dt_trainer *t = dt_alloc(sizeof *t);
    dt_status *s;

    *t = (dt_trainer){.arena = dt_arena_create(), .o = *o};
    t->offsets = dt_arena_array(t->arena, int32_t, o->strategy->replicas + 1);
    dt_trainer_set_batch(t);
    name_metrics(t);
    if (o->fit) t->class_weight = o->fit->class_weight;
    s = dt_match_data(o->data, &o->model->spec, o->compile, &t->match);
    if (!s && o->optimizer)
        s = dt_match_class_weight(o->data, &o->model->spec, o->compile, &t->match,
                                  dt_trainer_class_weight(t));
    if (!s && o->optimizer) s = dt_trainer_balance(t);
    if (!s && o->optimizer)
        s = dt_match_counts(o->data, o->compile, &t->match, dt_trainer_class_weight(t));
    if (!s && o->optimizer) s = prepare_training(t);
    if (!s) s = dt_step_compile(t, DT_STEP_EVALUATE, &t->evaluate);
    if (s) {
        dt_trainer_destroy(t);
        return s;
    }
    name_classes(t);
    lay_out(t);
    *out = t;
    return NULL;
}

void dt_trainer_destroy(dt_trainer *t) {
    if (!t) return;
    dt_compiled_destroy(t->train);
    dt_compiled_destroy(t->accumulate);
    dt_compiled_destroy(t->update);
    dt_compiled_destroy(t->gather);
    dt_compiled_destroy(t->numbers);
    dt_compiled_destroy(t->evaluate);
    dt_arena_destroy(t->arena);
    free(t);
}

void dt_trainer_clear(const dt_trainer *t, dt_sums *s) {
    s->examples = 0;
    s->n = t->layout.n;
    if (!s->v) s->v = dt_alloc((size_t)s->n * sizeof *s->v);
    memset(s->v, 0, (size_t)s->n * sizeof *s->v);
}

/* Returns the loss of a batch of `rows` rows, whose step had these results. */
static double loss_of(const dt_trainer *t, const dt_tally *tally, const dt_view *result,
                      int64_t rows) {
    double sum[2 * DT_MAX_OUTPUTS + 1] = {0};

    dt_tally_add(tally, result, rows, t->layout.n_losses, sum);
    return dt_sum_layout_loss(&t->layout, t->o.compile, sum, (double)rows);
}

dt_status *dt_trainer_start_batch(dt_trainer *t, dt_compiled *c, const dt_example *batch) {
    const dt_graph *step = dt_compiled_step(c);
    dt_step_flight *f = &t->flight[(t->oldest + t->n_flying) % 2];
    int64_t full = c == t->evaluate ? t->evaluation_rows : dt_dataset_batch_size(t->o.data);
    dt_view arg[DT_MAX_INPUTS + 2 * DT_MAX_OUTPUTS];

    f->tally = c == t->evaluate ? &t->evaluation : &t->training;
    f->rows = batch->rows;
    dt_match_views(t->o.data, batch, step, arg);
    if (!batch->offsets) dt_cut_rows(batch->rows, full, t->o.strategy->replicas, t->offsets);
    const int32_t *offsets = batch->offsets ? (const int32_t *)batch->offsets->data : t->offsets;
    DT_TRY(dt_compiled_start(c, offsets, arg, f->result, &f->executable));
    t->n_flying++;
    return NULL;
}

dt_status *dt_trainer_finish(dt_trainer *t, dt_sums *s, double *loss) {
    const dt_step_flight *f = &t->flight[t->oldest];

    t->oldest = (t->oldest + 1) % 2;
    t->n_flying--;
    if (f->executable) DT_TRY(dt_executable_finish(f->executable));
    if (!s) return NULL;
    dt_tally_add(f->tally, f->result, f->rows, s->n, s->v);
    s->examples += (double)f->rows;
    if (loss) *loss = loss_of(t, f->tally, f->result, f->rows);
    return dt_sum_layout_check(&t->layout, t->o.compile, s->v);
}

dt_status *dt_trainer_find_rows(const dt_trainer *t, const dt_example *batch, dt_view *result) {
    const dt_graph *g = dt_compiled_step(t->numbers);
    const int32_t offsets[] = {0, (int32_t)batch->rows};
    dt_view arg[DT_MAX_INPUTS + 2 * DT_MAX_OUTPUTS];
    dt_match_views(t->o.data, batch, g, arg);
    return dt_compiled_run(t->numbers, offsets, arg, result);
}

const dt_view *dt_trainer_results(const dt_trainer *t) {
    return t->flight[(t->oldest + 1) % 2].result;
}

dt_status *dt_trainer_start(dt_trainer *t, const dt_example *batch, bool updates) {
    return dt_trainer_start_batch(t, updates || !t->accumulate ? t->train : t->accumulate, batch);
}

dt_status *dt_trainer_step(dt_trainer *t, const dt_example *batch, bool updates, dt_sums *s,
                           double *loss) {
    DT_TRY(dt_trainer_start(t, batch, updates));
    return dt_trainer_finish(t, s, loss);
}

bool dt_trainer_runs_ahead(const dt_trainer *t) { return dt_compiled_runs_ahead(t->train); }

void dt_trainer_record(dt_trainer *t, dt_recorder *r) { t->recorder = r; }

int dt_trainer_metrics(const dt_trainer *t, const dt_sums *s, bool validation, dt_metric *metrics) {
    double value[DT_MAX_KEYS];
    int n = dt_sum_layout_values(&t->layout, t->o.compile, s, value);

    for (int i = 0; i < n; i++)
        metrics[i] = (dt_metric){t->key[validation][i], value[i], t->class_name[i]};
    return n;
}

const char *dt_trainer_class_names(const dt_trainer *t, dt_arena *arena) {
    dt_class_names names;
    dt_class_names_of(t->o.data, t->o.compile, &t->match, &names);
    return dt_class_names_print(&names, &t->o.model->spec, arena);
}

const char *dt_trainer_class_of(const dt_trainer *t, int key) { return t->class_name[key]; }

const dt_compiled *dt_trainer_training_step(const dt_trainer *t) { return t->train; }

const dt_compile_spec *dt_trainer_compiled_with(const dt_trainer *t) { return t->o.compile; }

int64_t dt_trainer_peak_bytes(const dt_trainer *t) { return t->peak_bytes; }

const dt_price *dt_trainer_price(const dt_trainer *t, int64_t rows) {
    return rows > 0 && rows == t->last_rows ? &t->last_price : &t->price;
}

static dt_status *print_traced(const dt_trainer *t, dt_step_kind kind, dt_str *out) {
    dt_graph *g = NULL;

    DT_TRY(dt_step_trace(t, kind, &g));
    dt_graph_print(g, out);
    dt_graph_destroy(g);
    return NULL;
}

/* Prints the program of one core in a training step as StableHLO. */
static dt_status *print_stablehlo(dt_trainer *t, dt_str *out) {
    dt_outlined steps[DT_MOST_OUTLINED];
    const dt_spmd *program = NULL;

    dt_trainer_outlined(t, steps);
    DT_TRY(dt_trainer_priced(t, &steps[0], &program));
    return dt_stablehlo_write_spmd(program, &(dt_hlo_request){.loops = true}, out, NULL);
}

/* Prints one replica's training step as StableHLO, for ceil(full batch / replicas) rows, the most
 * that a replica has. */
static dt_status *print_stablehlo_gradient(const dt_trainer *t, dt_str *out) {
    int replicas = t->o.strategy->replicas;
    dt_graph *g = NULL;

    DT_TRY(dt_step_trace(t, DT_STEP_TRAIN, &g));
    const dt_hlo_request request = {.batch = (dt_trainer_full_batch(t) + replicas - 1) / replicas,
                                    .replicas = replicas,
                                    .loops = true};
    dt_status *s = dt_stablehlo_write(g, &request, out, NULL);
    dt_graph_destroy(g);
    return s;
}

static dt_status *check_stage(const char *stage) {
    static const char *const stages[] = {
        "graph", "gradient", "folded", "program", "executable", "stablehlo", "stablehlo-gradient"};

    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        if (strcmp(stage, stages[i]) == 0) return NULL;
    return dt_fail(DT_E_MISUSE, NULL, "unknown stage '%s'", stage);
}

dt_status *dt_trainer_lower(dt_trainer *t, const char *stage, dt_str *out) {
    DT_TRY(check_stage(stage));
    if (strcmp(stage, "graph") == 0) return print_traced(t, DT_STEP_FORWARD, out);
    if (strcmp(stage, "gradient") == 0) return print_traced(t, DT_STEP_TRAIN, out);
    if (strcmp(stage, "stablehlo") == 0) return print_stablehlo(t, out);
    if (strcmp(stage, "stablehlo-gradient") == 0) return print_stablehlo_gradient(t, out);
    if (!t->train) DT_TRY(dt_step_compile(t, DT_STEP_TRAIN, &t->train));
    if (strcmp(stage, "folded") == 0 && dt_compiled_folded(t->train)) {
        dt_graph_print(dt_compiled_folded(t->train), out);
        return NULL;
    }
    return dt_compiled_lower(t->train, stage, dt_trainer_full_batch(t), out);
}

void dt_trainer_parts(const dt_trainer *t, dt_strategy **strategy, dt_model **model,
                      dt_optimizer **optimizer, dt_dataset **data) {
    *strategy = t->o.strategy;
    *model = t->o.model;
    *optimizer = t->o.optimizer;
    *data = t->o.data;
}
