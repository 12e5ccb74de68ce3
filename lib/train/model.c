/* SPDX-License-Identifier: Apache-2.0 */
/* Models as handles: creates them in the current strategy's scope, compiles, trains, evaluates,
 * saves and loads them. */
#include <string.h>

#include "base/memory.h"
#include "model/keras/keras.h"
#include "train/scoped.h"
#include "train/train.h"

/* Checks the machine's memory before any variable is allocated. Linux grants more memory than it
 * has, and later kills the process that uses it. */
static dt_status *check_room(const dt_model_spec *m) {
    int64_t all = 0, most = 0;
    const dt_weight_spec *largest = NULL;
    for (int i = 0; i < m->n_weights; i++) {
        const int64_t bytes = dt_type_bytes(&m->weight[i]->type);
        all = dt_add_fits(all, bytes, &all) ? all : INT64_MAX;
        largest = bytes > most ? m->weight[i] : largest;
        most = bytes > most ? bytes : most;
    }
    dt_status *s = dt_memory_check_room(all, "the weights need");
    if (!s || !largest) return s;
    return dt_note(s, "layer '%.*s' has the largest, %s: %s", (int)strcspn(largest->path, "/"),
                   largest->path, largest->path, dt_text_of_bytes((double)most).s);
}

static dt_status *make_weights(dt_model *m, bool outline) {
    if (!outline) DT_TRY(check_room(&m->spec));
    m->weight = dt_arena_array(m->arena, dt_variable *, m->spec.n_weights + 1);
    m->trainable.v = dt_arena_array(m->arena, dt_variable *, m->spec.n_weights + 1);
    for (int i = 0; i < m->spec.n_weights; i++) {
        const dt_weight_spec *w = m->spec.weight[i];
        if (outline) m->weight[i] = dt_variable_declare(w->path, &w->type, w->trainable);
        else DT_TRY(dt_variable_alloc(&m->weight[i], w->path, &w->type, w->trainable));
        m->n_weights++;
        dt_constrain(m->weight[i], &w->constraint);
        if (w->trainable) m->trainable.v[m->trainable.n++] = m->weight[i];
    }
    return NULL;
}

static void draw_weights(dt_model *m) {
    for (int i = 0; i < m->n_weights; i++)
        dt_initialize(&m->spec.weight[i]->initializer, m->seed, m->spec.weight[i]->n_inputs,
                      m->weight[i]);
}

static dt_status *finish_model(dt_model *m, dt_strategy *strategy, uint64_t seed) {
    m->strategy = dt_strategy_ref(strategy);
    m->seed = seed;
    m->digest = dt_arena_new(m->arena, dt_digest);
    DT_TRY(make_weights(m, false));
    draw_weights(m);
    return NULL;
}

static dt_model *empty_model(void) {
    dt_model *m = dt_alloc(sizeof *m);
    m->refs = 1;
    m->arena = dt_arena_create();
    return m;
}

static dt_status *give(dt_model **out, dt_model *m, dt_status *s) {
    if (s) {
        dt_model_unref(m);
        return s;
    }
    dt_model_unref(*out);
    *out = m;
    return NULL;
}

dt_status *dt_model_make(dt_model **out, const dt_model_spec *spec, dt_strategy *strategy,
                         uint64_t seed) {
    dt_model *m = empty_model();

    m->spec = *spec;
    return give(out, m, finish_model(m, strategy, seed));
}

dt_status *dt_model_outline(dt_model **out, const dt_model_spec *spec, dt_strategy *strategy) {
    dt_model *m = empty_model();

    m->spec = *spec;
    m->strategy = strategy ? dt_strategy_ref(strategy) : NULL;
    return give(out, m, make_weights(m, true));
}

static dt_status *read_layers(dt_model *m, const char *format, va_list args) {
    dt_tree *tree = NULL;

    DT_TRY(dt_fragment_read(m->arena, "model", format, args, &tree));
    DT_TRY(dt_keras_import(m->arena, "", tree));
    m->tree = tree;
    return dt_model_read(m->arena, tree, &tree->at, &m->spec);
}

dt_status *dt_model_create(dt_model **out, const char *format, ...) {
    dt_model *m;
    va_list args;

    DT_REQUIRE({out, "place for the model"});
    m = empty_model();
    va_start(args, format);
    dt_status *s = read_layers(m, format, args);
    va_end(args);
    if (!s) s = finish_model(m, dt_get_strategy(), 0);
    return give(out, m, s);
}

void dt_model_unref(dt_model *m) {
    if (!DT_LAST(m)) return;
    for (int i = 0; i < m->n_weights; i++) dt_variable_unref(m->weight[i]);
    dt_optimizer_unref(m->optimizer);
    dt_strategy_unref(m->strategy);
    dt_arena_destroy(m->arena);
    DT_RETIRE(m);
}

dt_status *dt_model_seed(dt_model *m, uint64_t seed) {
    DT_REQUIRE({DT_LIVE(m), "model"});
    m->seed = seed;
    draw_weights(m);
    return NULL;
}

/* ---- parameters and weights ---- */

int64_t dt_model_parameters(const dt_model *m) { return DT_LIVE(m) ? m->spec.parameters : 0; }

const char *dt_model_weights_sha256(dt_model *m) {
    if (!DT_LIVE(m)) return NULL;
    dt_status *s = dt_weights_digest(m, m->digest);
    dt_status_free(s);
    return s ? NULL : m->digest->hex;
}

dt_status *dt_model_get_weight(dt_model *m, const char *path, dt_tensor **out) {
    DT_LIVE(m);
    dt_variable *v;

    DT_REQUIRE({m, "model"}, {path, "path"}, {out, "place for the tensor"});
    DT_TRY(dt_model_find_weight(m, path, &v));
    DT_TRY(dt_variable_fetch(v));
    return dt_tensor_create(out, v->type.dtype, v->type.rank, v->type.dim, dt_host_data(v));
}

dt_status *dt_model_set_weight(dt_model *m, const char *path, const dt_tensor *value) {
    DT_LIVE(m);
    DT_LIVE(value);
    dt_variable *v;
    bool same;

    DT_REQUIRE({m, "model"}, {path, "path"}, {value, "tensor"});
    DT_TRY(dt_model_find_weight(m, path, &v));
    same = dt_tensor_dtype(value) == v->type.dtype && dt_tensor_rank(value) == v->type.rank;
    for (int d = 0; same && d < v->type.rank; d++) same = dt_tensor_dim(value, d) == v->type.dim[d];
    if (!same)
        return dt_fail(DT_E_WEIGHT, NULL,
                       "weight '%s' has another dtype or shape than the tensor it is set to", path);
    memcpy(dt_host_edit(v), dt_tensor_data(value), (size_t)dt_type_bytes(&v->type));
    return NULL;
}

/* ---- in step functions ---- */

/* Checks that the current strategy may use the model. A model that was created outside of any scope
 * may be used within every strategy. */
static dt_status *check_use(const dt_model *m) {
    const dt_strategy *now = dt_get_strategy();

    DT_TRY(dt_want(m, "dt_model_call", "model"));
    if (m->strategy->row->is_default || m->strategy == now) return NULL;
    return dt_fail(DT_E_SCOPE, NULL,
                   "mixing different strategies: a model made in the scope of a %s strategy (%s) "
                   "is called where a %s strategy runs (%s)",
                   m->strategy->row->kind.name, m->strategy->what, now->row->kind.name, now->what);
}

/* Whether all values have a trace. A value without one comes from a call that failed, and that
 * error is known already. */
static bool are_values(const dt_value *inputs, int n) {
    bool are = inputs && n > 0;

    for (int i = 0; are && i < n; i++) are = dt_trace_has(inputs[i], "dt_model_call");
    return are;
}

dt_value dt_model_call_inputs(dt_model *m, const dt_value *inputs, int n, bool training) {
    DT_LIVE(m);
    if (!are_values(inputs, n)) return (dt_value){0};
    dt_status *s = check_use(m);
    if (!s) return dt_model_emit_inputs(m, inputs, n, training);
    dt_trace_fail(inputs[0].trace, s);
    return (dt_value){0};
}

dt_value dt_model_call(dt_model *m, dt_value input, bool training) {
    DT_LIVE(m);
    return dt_model_call_inputs(m, &input, 1, training);
}

/* ---- scopes, compile, fit, evaluate ---- */

dt_scope dt_captured_scope(const dt_model *m) {
    return !m || m->strategy->row->is_default ? (dt_scope){NULL} : dt_scope_enter(m->strategy);
}

dt_part dt_evaluated_part(const dt_dataset *data) {
    return dt_dataset_count(data, DT_PART_VALIDATION) > 0 ? DT_PART_VALIDATION : DT_PART_TRAIN;
}

dt_status *dt_model_compile(dt_model *m, const char *format, ...) {
    DT_LIVE(m);
    IN_CAPTURED_SCOPE(m);
    dt_compile_spec compile;
    dt_tree *tree = NULL;
    va_list args;

    DT_REQUIRE({m, "model"});
    va_start(args, format);
    dt_status *s = dt_fragment_read(m->arena, "compile", format, args, &tree);
    va_end(args);
    if (!s) s = dt_compile_read(m->arena, tree, &tree->at, &m->spec, &compile);
    if (s) return s; /* If this compile fails, the previous one stays valid. */
    m->compile_tree = tree;
    m->compile = compile;
    m->precision = compile.precision;
    dt_optimizer_unref(m->optimizer);
    m->optimizer = dt_optimizer_compiled(&m->compile);
    m->compiled = true;
    return NULL;
}

/* Creates the trainer of a model. fit NULL: the trainer only evaluates. */
static dt_status *open_trainer(dt_model *m, dt_dataset *data, const dt_fit_spec *fit,
                               dt_trainer **out) {
    if (!m->compiled)
        return dt_fail(DT_E_WEIGHT, NULL, "the model is not compiled: call dt_model_compile first");
    return dt_trainer_create(out, &(dt_trainer_options){.strategy = m->strategy,
                                                        .model = m,
                                                        .compile = &m->compile,
                                                        .data = data,
                                                        .optimizer = fit ? m->optimizer : NULL,
                                                        .fit = fit});
}

/* Removes an entry from a mapping and returns its value. Returns NULL if the entry is missing, or
 * null, which means the same. */
static const dt_tree *take_entry(dt_tree *map, const char *key) {
    for (int i = 0; map->kind == DT_TREE_MAP && i < map->n; i++)
        if (strcmp(map->entry[i].key, key) == 0) {
            const dt_tree *value = map->entry[i].value;
            memmove(&map->entry[i], &map->entry[i + 1],
                    (size_t)(--map->n - i) * sizeof *map->entry);
            return value->kind == DT_TREE_NULL ? NULL : value;
        }
    return NULL;
}

/* Reads the fragment of fit. Besides fit's own keys it may have `seed`, for shuffling. */
static dt_status *read_fit(dt_model *m, const char *format, va_list args, dt_dataset *data,
                           dt_fit_spec *fit) {
    dt_status *faults = NULL;
    dt_tree *tree = NULL;
    int64_t seed;

    DT_TRY(dt_fragment_read(m->arena, "fit", format, args, &tree));
    const dt_tree *given = take_entry(tree, "seed");
    if (given) faults = dt_tree_int(given, "seed", 0, 9007199254740992.0, &seed);
    dt_status_append(&faults, dt_fit_read(m->arena, tree, &tree->at, fit));
    if (given && !faults) dt_dataset_set_seed(data, (uint64_t)seed);
    return faults;
}

dt_status *dt_model_fit(dt_model *m, dt_dataset *data, dt_history **history, const char *format,
                        ...) {
    DT_LIVE(m);
    DT_LIVE(data);
    IN_CAPTURED_SCOPE(m);
    dt_trainer *trainer = NULL;
    dt_history *h = dt_history_create();
    const dt_run_options run = {0};
    dt_fit_spec fit;
    dt_status *s = NULL;
    va_list args;

    va_start(args, format);
    DT_GO(s, dt_status_kept());
    DT_GO(s, dt_want(m, "dt_model_fit", "model"));
    DT_GO(s, dt_want(data, "dt_model_fit", "data set"));
    DT_GO(s, dt_launched_alone());
    DT_GO(s, read_fit(m, format, args, data, &fit));
    DT_GO(s, open_trainer(m, data, &fit, &trainer));
    DT_GO(s, dt_fit(&(dt_fit_request){
                 .trainer = trainer, .fit = &fit, .name = "model", .run = &run, .history = h}));
    if (history) {
        dt_history_unref(*history);
        *history = h;
        h = NULL;
    }
out:
    va_end(args);
    dt_trainer_destroy(trainer);
    dt_history_unref(h);
    return s;
}

dt_status *dt_model_evaluate(dt_model *m, dt_dataset *data, dt_history **history) {
    DT_LIVE(m);
    DT_LIVE(data);
    IN_CAPTURED_SCOPE(m);
    dt_metric metrics[DT_MAX_KEYS];
    dt_trainer *trainer = NULL;
    dt_sums sums = {0};

    DT_REQUIRE({m, "model"}, {data, "data set"});
    DT_TRY(open_trainer(m, data, NULL, &trainer));
    dt_status *s = dt_trainer_evaluate(trainer, dt_evaluated_part(data), 0, NULL, &sums);
    if (!s && history) {
        dt_history_unref(*history);
        *history = dt_history_create();
        dt_history_add(*history, metrics, dt_trainer_metrics(trainer, &sums, false, metrics));
    }
    dt_sums_release(&sums);
    dt_trainer_destroy(trainer);
    return s;
}

/*
 * Saved models: a model in a checkpoint of its own.
 *
 *     PATH/model.safetensors       weights
 *     PATH/optimizer.safetensors   iteration and slots; nothing when the model is not compiled
 *     PATH/state.json              checksums, and as its "job" {"model": {"layers": [...]},
 *                                  "compile": {...}}
 *
 * This is the form of a run's checkpoint, with a model in place of a whole job. So `dtrain evaluate
 * --ckpt PATH` accepts a saved model, and dt_model_load accepts the checkpoint of a run.
 */

/* ---- describing and saving ---- */

const char *dt_model_describe(const dt_model *m, bool compiled, dt_arena *arena) {
    dt_entry layers = {.key = "layers", .value = (dt_tree *)m->tree};
    dt_tree list = {.kind = DT_TREE_MAP, .n = 1, .entry = &layers};
    dt_tree *model = m->tree->kind == DT_TREE_LIST ? &list : (dt_tree *)m->tree;
    dt_entry parts[] = {{.key = "model", .value = model},
                        {.key = "compile", .value = (dt_tree *)m->compile_tree}};
    const dt_tree whole = {.kind = DT_TREE_MAP, .n = compiled ? 2 : 1, .entry = parts};
    dt_str text = {0};

    dt_tree_print(&whole, &text);
    return dt_arena_take(arena, &text);
}

static dt_status *check_finite(const char *path, const dt_arrays *a) {
    return dt_check_finite(a, DT_E_CHECKPOINT_NOT_FINITE, "%s: not written", path);
}

/* Lists a compiled model's optimizer state, after giving the optimizer all its slots, so that a
 * saved model always has them. *out is empty if the model is not compiled. */
static dt_status *collect_optimizer(const dt_model *m, dt_arena *arena, dt_arrays *out) {
    *out = (dt_arrays){0};
    if (!m->compiled) return NULL;
    DT_TRY(dt_optimizer_prepare(m->optimizer, &m->trainable));
    return dt_optimizer_arrays(m->optimizer, arena, out);
}

static dt_status *save(const dt_model *m, const char *path, dt_arena *arena) {
    dt_arrays model, optimizer;
    const char *job = dt_model_describe(m, m->compiled, arena);
    dt_digest digest = dt_sha256_of(job, strlen(job)), weights;
    int64_t steps = 0;

    DT_TRY(dt_model_arrays(m, arena, &model));
    DT_TRY(collect_optimizer(m, arena, &optimizer));
    DT_TRY(check_finite(path, &model));
    DT_TRY(check_finite(path, &optimizer));
    if (m->compiled) DT_TRY(dt_optimizer_steps(m->optimizer, &steps));
    const dt_state_file state = {.step = steps,
                                 .seed = m->seed,
                                 .job = job,
                                 .job_sha256 = digest.hex,
                                 .weights_sha256 = weights.hex,
                                 .weights = &weights,
                                 .kernels = "",
                                 .finished = true};
    return dt_saved_write(path, &state, &model, &optimizer);
}

dt_status *dt_model_save(dt_model *m, const char *path) {
    DT_LIVE(m);
    IN_CAPTURED_SCOPE(m);

    DT_REQUIRE({m, "model"});
    if (!path || !*path)
        return dt_fail(DT_E_CANT_CREATE, NULL, "no path given to save the model to");
    dt_local_arena arena = dt_arena_create();
    return save(m, path, arena);
}

/* ---- loading ---- */

static char *print_part(const dt_tree *t, dt_arena *arena) {
    dt_str text = {0};

    dt_tree_print(t, &text);
    return dt_arena_take(arena, &text);
}

/* Creates the model that state.json describes, in the current scope. */
static dt_status *rebuild(const dt_saved *c, dt_model **out) {
    dt_source source = {.name = c->path, .text = c->state.job, .size = strlen(c->state.job)};
    dt_tree *job = NULL;

    DT_TRY(dt_tree_parse(c->arena, &source, &job));
    const dt_tree *model = dt_tree_get(job, "model"), *compile = dt_tree_get(job, "compile");
    if (!dt_tree_get(model, "layers"))
        return dt_fail(DT_E_CHECKPOINT, NULL, "%s: does not contain the layers of its model",
                       c->path);
    DT_TRY(dt_model_create(out, "%s", print_part(model, c->arena)));
    (*out)->seed = c->state.seed;
    return compile ? dt_model_compile(*out, "%s", print_part(compile, c->arena)) : NULL;
}

static dt_status *load(const dt_saved *c, dt_model **out) {
    dt_arrays model, optimizer;

    dt_status *s = rebuild(c, out);
    if (s) return dt_note(s, "in the model saved as %s", c->path);
    DT_TRY(collect_optimizer(*out, c->arena, &optimizer));
    model = dt_model_arrays_to_fill(*out, c->arena);
    DT_TRY(dt_saved_load(c, &model, (*out)->compiled ? &optimizer : NULL));
    return dt_saved_check_weights(c);
}

dt_status *dt_model_load(dt_model **out, const char *path) {
    dt_model *m = NULL;
    dt_saved c;

    DT_REQUIRE({out, "place for the model"});
    if (!path || !*path) return dt_fail(DT_E_NO_INPUT, NULL, "no path given to load a model from");
    DT_TRY(dt_saved_open(&c, path));
    dt_status *s = load(&c, &m);
    dt_saved_release(&c);
    if (s) {
        dt_model_unref(m);
        return s;
    }
    dt_model_unref(*out);
    *out = m;
    return NULL;
}
