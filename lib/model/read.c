/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a model: the list of layers becomes a checked specification.
 *
 *     list ── repeat.c ──▶ list without Repeat
 *     list item ──▶ layer, name ──▶ its inputs (inputs.c) ──▶ shapes and weights, layer by layer
 *
 * Every item is read and named before any shape is looked at, so that independent faults of a job
 * are reported in one run. Shapes are inferred for the layers whose inputs could all be built,
 * since nothing is known after one that could not. A sequential model is the case in which no layer
 * names its inputs.
 */
#include <string.h>

#include "base/hash.h"
#include "model/read.h"

/* ---- names ---- */

/* Returns the location of layer i's name, or of the layer if the job gives it no name. */
static const dt_location *name_place(const dt_model_reader *r, int i) {
    const dt_tree *name = dt_tree_get(r->named[i].tree, "name");
    return name ? &name->at : &r->named[i].at;
}

/* Returns the class name from which Keras makes names of layers. It differs from the kind's name
 * for two kinds. */
static const char *class_of(const dt_kind *kind) {
    return kind == &dt_layer_input.kind                   ? "InputLayer"
           : kind == &dt_layer_group_query_attention.kind ? "GroupedQueryAttention"
                                                          : kind->name;
}

/* Returns Keras' name for a layer without one: "dense", "dense_1", ... */
static const char *next_name(dt_model_reader *r, const dt_kind *kind) {
    const char *base = dt_snake_case(r->arena, class_of(kind));
    int n, row = 0;
    const dt_kind *const *rows = dt_layers(&n);
    while (rows[row] != kind) row++;
    int number = r->unnamed[row]++;
    return number ? dt_arena_printf(r->arena, "%s_%d", base, number) : base;
}

/* Returns the given name of a layer, or else a generated one. A wrapped layer counts as one of its
 * class in generated names, as in Keras. */
static const char *name_of(dt_model_reader *r, const dt_named *n) {
    const char *given = ((const dt_layer_head *)n->args)->name;
    return given ? given : next_name(r, n->kind);
}

static bool has_control(const char *name) {
    for (const unsigned char *p = (const unsigned char *)name; *p; p++)
        if (*p < 0x20 || *p == 0x7f) return true;
    return false;
}

/* Checks a name, since names become parts of the paths of weights. */
static dt_status *check_text(const char *name, int i, const dt_location *at) {
    if (!*name) return dt_fail(DT_E_LAYER_NAME, at, "the name of layers[%d] is empty", i);
    if (has_control(name))
        return dt_fail(DT_E_LAYER_NAME, at, "layer name '%s' contains control characters", name);
    if (strchr(name, '/') || strstr(name, ".."))
        return dt_fail(DT_E_LAYER_NAME, at,
                       "layer name '%s' contains '/' or '..', which are not allowed", name);
    return NULL;
}

static dt_status *check_name(const dt_model_reader *r, int i) {
    const char *name = r->name[i];
    if (r->named[i].kind != &dt_layer_layer_output.kind)
        DT_TRY(check_text(name, i, name_place(r, i)));
    if (r->within_name[i]) DT_TRY(check_text(r->within_name[i], i, &r->within[i].at));
    const int first = dt_reader_find(r, name, i);
    return first < 0 ? NULL
                     : dt_fail(DT_E_LAYER_NAME, name_place(r, i),
                               "'%s' is already the name of layers[%d]", name, first);
}

/* ---- items ---- */

static dt_status *check_order(const dt_model_reader *r, int i) {
    bool is_input = dt_reader_is_input(r, i);
    const dt_location *at = &r->named[i].at;
    if (i > 0 && is_input && !r->functional)
        return dt_suggest(
            dt_fail(DT_E_MODEL_LAYERS, at,
                    "layers[%d] is an Input; a sequential model has one, as its first layer", i),
            "models of 'type: functional' may have several");
    if (i == 0 && !is_input)
        return dt_suggest(dt_fail(DT_E_MODEL_LAYERS, at, "the first layer must be an Input, got %s",
                                  r->named[i].kind->name),
                          "put '- Input: {shape: [...]}' before it");
    return NULL;
}

/* Reads the layer, and the layer that it wraps. */
static dt_status *read_layer(dt_model_reader *r, int i) {
    int n;
    const dt_kind *const *rows = dt_layers(&n);
    dt_named *layer = &r->named[i];
    dt_status *s = dt_named_read(r->arena, rows, n, "layer", r->list->item[i], layer);
    if (s) return s;
    const dt_layer *row = (const dt_layer *)layer->kind;
    return row->within ? row->within(r->arena, layer->args, &r->within[i]) : NULL;
}

static dt_status *read_item(dt_model_reader *r, int i) {
    dt_status *s = read_layer(r, i);
    if (s) {
        r->named[i].kind = NULL;
        r->is_one_faulty = true;
        return s;
    }
    r->name[i] = name_of(r, &r->named[i]);
    if (r->within[i].kind) r->within_name[i] = name_of(r, &r->within[i]);
    s = check_name(r, i);
    dt_status_append(&s, check_order(r, i));
    dt_status_append(&s, dt_read_inputs(r, i));
    return s;
}

/* Adds layer i to the index of names. Every layer has an entry; one without a name, or with the
 * name of an earlier layer, cannot be found. */
static void index_name(dt_model_reader *r, int i) {
    const char *name = r->name[i];
    const bool is_new = name && dt_reader_find(r, name, i) < 0;
    dt_hash_index_add(&r->names, is_new ? dt_name_hash(name) : 0);
}

/* ---- shapes and weights ---- */

static dt_status *check_example(const dt_layer_build *b) {
    double bytes = (double)dt_dtype_size(b->out.dtype);
    for (int i = 1; i < b->out.rank; i++) bytes *= (double)b->out.dim[i];
    if (bytes <= DT_MAX_EXAMPLE_BYTES) return NULL;
    return dt_fail(DT_E_MODEL_SIZE, &b->at,
                   "an example of shape %s needs %s; one may take at most 256 GiB",
                   dt_text_of_shape(&b->out).s, dt_text_of_bytes(bytes).s);
}

static dt_status *note_layer(dt_status *s, const dt_layer_build *b) {
    dt_local_str in = {0};
    for (int k = 0; k < b->n_in; k++) {
        dt_str_puts(&in, k ? ", " : " on ");
        dt_type_print(&b->ins[k], &in);
    }
    return dt_note(s, "in layer '%s'%s", b->name, dt_str_text(&in));
}

/* Sets the inputs of layer i to the outputs of layers that were built before. */
static void give_inputs(const dt_model_reader *r, int i, dt_layer_build *b) {
    const dt_sources *source = &r->source[i];
    dt_type *ins = dt_arena_array(r->arena, dt_type, source->n + 1);
    const char **from = dt_arena_array(r->arena, const char *, source->n + 1);
    bool *masks = dt_arena_array(r->arena, bool, source->n + 1);
    for (int k = 0; k < source->n; k++) {
        ins[k] = r->layer[source->from[k]].out;
        from[k] = r->name[source->from[k]];
        masks[k] = r->layer[source->from[k]].out_mask;
    }
    b->n_in = source->n;
    b->ins = ins;
    b->from = from;
    b->masks = masks;
    b->in = ins[0]; /* An Input has no inputs, so its input type is a scalar. */
}

/* Whether the weights of two layers agree in number, names, types and `trainable`. */
static bool same_weights(const dt_layer_build *b, const dt_layer_spec *other) {
    bool same = b->n_weights == other->n_weights;
    for (int k = 0; same && k < b->n_weights; k++)
        same = strcmp(b->weight[k].name, other->weight[k].name) == 0 &&
               dt_type_equal(&b->weight[k].type, &other->weight[k].type) &&
               b->weight[k].trainable == other->weight[k].trainable;
    return same;
}

static bool same_rule(const dt_named *a, const dt_named *b) {
    return a->kind == b->kind &&
           (a->tree && b->tree ? dt_tree_same(a->tree, b->tree) : a->tree == b->tree);
}

/* Checks the regularizers and constraints of a layer that uses the weights of another. It may
 * repeat those of the other layer, which then apply once; different ones would be ignored and are
 * refused. */
static dt_status *check_rules(const dt_layer_build *b, const dt_layer_spec *other) {
    for (int k = 0; k < b->n_weights; k++) {
        const dt_weight_spec *w = &b->weight[k], *of = &other->weight[k];
        const bool penalty = w->regularizer.kind && !same_rule(&w->regularizer, &of->regularizer);
        if (penalty || (w->constraint.kind && !same_rule(&w->constraint, &of->constraint)))
            return dt_fail(DT_E_MODEL_LAYERS, penalty ? &w->regularizer.at : &w->constraint.at,
                           "'%s' uses the weights of '%.80s', where their %s belongs", b->name,
                           other->name, penalty ? "regularizer" : "constraint");
    }
    return NULL;
}

/* Sets *owner to the index of the layer whose weights layer i uses, by its key `weights_of`, and
 * then b->n_weights to 0; to i without the key, and if no layer has the name but one could not be
 * read. Fails with MODEL_INPUTS if that layer does not come before or was not built, with
 * MODEL_SHAPE if its kind or weights differ, and with MODEL_LAYERS if layer i has other
 * regularizers or constraints. */
static dt_status *find_owner(const dt_model_reader *r, int i, dt_layer_build *b, int *owner) {
    const dt_texts *of = &dt_reader_head(r, i)->weights_of;
    *owner = i;
    if (of->n == 0) return NULL;
    const char *name = of->v[0];
    const int k = dt_reader_find(r, name, i);
    if (k < 0 && r->is_one_faulty) return NULL; /* The faulty layer may have that name. */
    if (k < 0 || !r->built[k])
        return dt_fail(DT_E_MODEL_INPUTS, of->at, "no layer before '%s' has the name '%.80s'",
                       b->name, name);
    const dt_layer_spec *other = &r->layer[r->layer[k].owner];
    if (other->row != b->row || !same_weights(b, other))
        return dt_suggest(
            dt_fail(DT_E_MODEL_SHAPE, of->at,
                    "'%s' cannot use the weights of '%.80s': their kinds, shapes or `trainable` "
                    "differ",
                    b->name, name),
            "give both layers the same arguments");
    DT_TRY(check_rules(b, other));
    *owner = r->layer[k].owner;
    b->n_weights = 0;
    return NULL;
}

static dt_status *build_layer(dt_model_reader *r, int i) {
    const dt_layer *row = (const dt_layer *)r->named[i].kind;
    dt_layer_build build = {.arena = r->arena,
                            .row = row,
                            .args = r->named[i].args,
                            .name = r->name[i],
                            .at = r->named[i].at,
                            .within = r->within[i],
                            .within_name = r->within_name[i],
                            .n_earlier = i,
                            .earlier = r->layer},
                   *b = &build;
    give_inputs(r, i, b);
    b->out_mask = row->supports_masking && b->masks[0];
    dt_named activity;
    int owner = i;
    dt_status *s = dt_layer_build_row(b);
    if (!s) s = check_example(b);
    if (!s) s = find_owner(r, i, b, &owner);
    if (!s) s = dt_activity_read(r->arena, b->args, &activity);
    if (s) return note_layer(dt_at(s, &b->at), b);
    r->layer[i] = (dt_layer_spec){
        .row = row,
        .args = b->args,
        .name = b->name,
        .at = b->at,
        .n_in = b->n_in,
        .from = r->source[i].from,
        .in = b->in,
        .out = b->out,
        .out_mask = b->out_mask,
        .n_weights = b->n_weights,
        .weight = dt_arena_copy(r->arena, b->weight, sizeof *b->weight * (size_t)b->n_weights),
        .first_weight = i ? r->layer[i - 1].first_weight + r->layer[i - 1].n_weights : 0,
        .owner = owner,
        .n_borrowed = b->n_borrowed,
        .borrowed = dt_arena_copy(r->arena, b->borrowed, sizeof b->borrowed),
        .made = b->made,
        .n_further = b->n_further,
        .further = dt_arena_copy(r->arena, b->further, sizeof *b->further * (size_t)b->n_further),
        .taken = b->taken,
        .activity = activity,
        .turn = r->turn ? r->turn[i] : 0,
    };
    r->built[i] = true;
    return NULL;
}

/* Whether layer i can be built: it was read, its inputs were built, and it is not an Input where
 * none may stand. If it cannot, the error was reported before. */
static bool can_build(const dt_model_reader *r, int i) {
    bool can = r->named[i].kind &&
               (dt_reader_is_input(r, i) ? i == 0 || r->functional : r->source[i].n > 0);
    for (int k = 0; can && k < r->source[i].n; k++) can = r->built[r->source[i].from[k]];
    return can;
}

static dt_status *build_layers(dt_model_reader *r) {
    dt_status *faults = NULL;
    for (int i = 0; i < r->list->n; i++)
        if (can_build(r, i)) dt_status_append(&faults, build_layer(r, i));
    return faults;
}

/* ---- the spec ---- */

static void list_weights(const dt_model_reader *r, dt_model_spec *out) {
    for (int i = 0; i < out->n_layers; i++) out->n_weights += out->layer[i].n_weights;
    const dt_weight_spec **weight =
        dt_arena_array(r->arena, const dt_weight_spec *, out->n_weights);
    out->weight = weight;
    for (int i = 0; i < out->n_layers; i++)
        for (int k = 0; k < out->layer[i].n_weights; k++) {
            *weight++ = &out->layer[i].weight[k];
            /* Integer weights are counters, not parameters of the model. */
            if (dt_dtype_is_float(out->layer[i].weight[k].type.dtype))
                out->parameters += dt_type_elements(&out->layer[i].weight[k].type);
        }
}

static dt_location shape_place(const dt_model_reader *r, int i) {
    const dt_tree *shape = dt_tree_get(r->named[i].tree, "shape");
    return shape ? shape->at : *name_place(r, i);
}

static void list_inputs(const dt_model_reader *r, dt_model_spec *out) {
    dt_input_spec *input = dt_arena_array(r->arena, dt_input_spec, out->n_layers);
    for (int i = 0; i < out->n_layers; i++)
        if (dt_reader_is_input(r, i))
            input[out->n_inputs++] = (dt_input_spec){.name = r->name[i],
                                                     .type = r->layer[i].out,
                                                     .at = *name_place(r, i),
                                                     .shape_at = shape_place(r, i)};
    out->input = input;
}

static void list_outputs(const dt_model_reader *r, int n, const int *layer, dt_model_spec *out) {
    dt_output_spec *output = dt_arena_array(r->arena, dt_output_spec, n);
    for (int i = 0; i < n; i++)
        output[i] = (dt_output_spec){
            .layer = layer[i], .name = r->name[layer[i]], .type = r->layer[layer[i]].out};
    out->n_outputs = n;
    out->output = output;
}

static dt_status *fill_spec(const dt_model_reader *r, int n_outputs, const int *outputs,
                            dt_model_spec *out) {
    *out = (dt_model_spec){.n_layers = r->list->n, .layer = r->layer};
    list_outputs(r, n_outputs, outputs, out);
    list_inputs(r, out);
    list_weights(r, out);
    if (out->n_inputs <= DT_MAX_INPUTS) return NULL;
    return dt_fail(DT_E_MODEL_LAYERS, &out->input[DT_MAX_INPUTS].at,
                   "the model has %d Inputs; at most %d are possible", out->n_inputs,
                   DT_MAX_INPUTS);
}

/* ---- the section ---- */

enum { SEQUENTIAL, FUNCTIONAL };
enum { MOST_LAYERS = 1 << 14 };
struct model {
    int type, policy;
    int64_t vocabulary_tiling, flash_from; /* flash_from: flash_attention, if it is a number */
    bool flash_attention, scan_layers;
    dt_remat_lists kept;
    const dt_tree *layers;
    dt_texts outputs;
    dt_location outputs_at;
    bool has_outputs, faulty_outputs;
    /* Never set in a job that is read here: the layers of Keras' file have replaced the key. */
    const char *keras_config;
    dt_init_from init_from;
};
static const char *const types[] = {"sequential", "functional", NULL};
#define REMAT_VALUES                                                                               \
    DT_FORMS(DT_LIST_AS(                                                                           \
        int, DT_FORM(DT_FIELD_ENUM, .choices = dt_remat_value_names, .noun = "value of a block")))
static const dt_field kept_fields[] = {
    DT_FIELD(ONE_OF, dt_remat_lists, save, .forms = REMAT_VALUES,
             .help = "values of each block that stay on the device: decoder_layer_input, "
                     "query_proj, key_proj, value_proj, qkv_proj, context, out_proj, mlpwi_0, "
                     "mlpwi_1, mlpwi, mlpwo"),
    DT_FIELD(ONE_OF, dt_remat_lists, offload, .forms = REMAT_VALUES,
             .help = "values of each block that a simulated slice keeps in its host's memory; the "
                     "same names"),
    DT_END};
static const dt_field fields[] = {
    DT_ENUM(struct model, type, types, .noun = "type of model",
            .help = "sequential, or functional (layers name their inputs)"),
    DT_TREE(struct model, layers, .forms = DT_LAYER_LIST,
            .help = "list of layers; the first is an Input"),
    DT_FIELD(ONE_OF, struct model, outputs, .forms = DT_NAME_OR_NAMES,
             DT_AT(struct model, outputs_at), DT_SET(struct model, has_outputs),
             .help = "for functional models: the output layer, or a list of layers; default: the "
                     "last layer"),
    DT_ONE_OF(
        rematerialize,
        DT_FORMS(DT_ENUM(struct model, policy, dt_rematerialize_names, .noun = "rematerialisation"),
                 DT_TABLE(struct model, kept, kept_fields, DT_SET(struct model, kept.given))),
        .help = "save memory by recomputing activations in the backward pass. full: only the "
                "inputs of each Repeat block (or layer) are kept; other policies, MaxText's, also "
                "keep results of a block's products; {save: [...], offload: [...]} names them"),
    DT_INT(struct model, vocabulary_tiling, .min = 1, .max = 65536, .preset = "1",
           .help =
               "number of pieces in which a simulated slice computes the output layer, its loss "
               "and their gradient; runs on this machine compute them in one"),
    DT_ONE_OF(
        flash_attention,
        DT_FORMS(DT_INT(struct model, flash_from, .min = 1, .max = INT32_MAX),
                 DT_PLAIN(BOOL, struct model, flash_attention)),
        .expected = "true, false or a number of steps", .preset = "true",
        .help = "false: attention stores its scores, (B, heads, steps, steps), for the gradient; a "
                "number: attention with fewer steps or keys does, as MaxDiffusion's "
                "flash_min_seq_length"),
    DT_FLAG(struct model, scan_layers, .preset = "false",
            .help =
                "true: a plan counts the blocks of a Repeat as loops, as jax.lax.scan makes them; "
                "with rematerialize: none they store all that the backward pass reads"),
    DT_ONE_OF(keras_config, DT_FORMS(DT_PLAIN(TEXT, struct model, keras_config)),
              .help =
                  "file of model.to_json() or model.save(), instead of type, layers and outputs"),
    DT_ONE_OF(
        init_from,
        DT_FORMS(DT_PLAIN(TEXT, struct model, init_from.path),
                 DT_TABLE(struct model, init_from, dt_init_from_fields)),
        DT_AT(struct model, init_from.at),
        .help =
            "initial weights: a checkpoint, a run or a file, relative to the working directory; "
            "a mapping says whose names it has, and what is skipped or frozen"),
    DT_END};

static dt_model_reader make_reader(dt_arena *arena, const struct model *m, const dt_tree *list) {
    int rows, n = list->n;
    dt_layers(&rows);
    return (dt_model_reader){
        .arena = arena,
        .list = list,
        .functional = m->type == FUNCTIONAL,
        .outputs = m->outputs,
        .outputs_at = m->outputs_at,
        .named = dt_arena_array(arena, dt_named, n),
        .name = dt_arena_array(arena, const char *, n),
        .within = dt_arena_array(arena, dt_named, n),
        .within_name = dt_arena_array(arena, const char *, n),
        .unnamed = dt_arena_array(arena, int, rows),
        .source = dt_arena_array(arena, dt_sources, n),
        .layer = dt_arena_array(arena, dt_layer_spec, n),
        .built = dt_arena_array(arena, bool, n),
    };
}

static dt_status *read_all(dt_model_reader *r, const struct model *m, dt_model_spec *out) {
    int n_outputs = 0, outputs[DT_MAX_OUTPUTS];
    dt_status *s = NULL;
    for (int i = 0; i < r->list->n; i++) {
        dt_status_append(&s, read_item(r, i));
        index_name(r, i);
    }
    if (!s && !m->faulty_outputs) s = dt_read_outputs(r, &n_outputs, outputs);
    dt_status_append(&s, dt_init_from_freeze(&m->init_from, r->name, r->named, r->list->n));
    dt_status_append(&s, build_layers(r));
    if (s || m->faulty_outputs) return s;
    return fill_spec(r, n_outputs, outputs, out);
}

static dt_status *read_layers(dt_arena *arena, const struct model *m, const dt_location *at,
                              dt_model_spec *out) {
    const dt_tree *list = m->layers;
    const int *turn = NULL;
    if (list && list->kind != DT_TREE_NULL) {
        DT_TRY(dt_tree_expect(list, DT_TREE_LIST, "layers"));
        DT_TRY(dt_layers_expand(arena, list, &list, &turn));
        if (m->type == FUNCTIONAL) dt_layers_add_outputs(arena, &m->outputs, &list, &turn);
    }
    if (!list || list->n == 0)
        return dt_suggest(
            dt_fail(DT_E_MODEL_LAYERS, list ? &list->at : at, "the model has no layers"),
            "the first one is an Input");
    if (list->n > MOST_LAYERS)
        return dt_fail(DT_E_JOB_LIMIT, &list->at, "the model has more than %d layers", MOST_LAYERS);
    dt_model_reader r = make_reader(arena, m, list);
    r.turn = turn;
    dt_status *s = read_all(&r, m, out);
    dt_hash_index_release(&r.names);
    DT_TRY(s);
    out->rematerialize = dt_rematerialize_of(&m->kept, m->policy);
    out->vocabulary_tiling = (int)m->vocabulary_tiling;
    out->scores_below = m->flash_from > 0 ? m->flash_from : m->flash_attention ? 0 : INT64_MAX;
    out->scan_layers = m->scan_layers;
    return s;
}

dt_status *dt_model_read(dt_arena *arena, const dt_tree *model, const dt_location *at,
                         dt_model_spec *out) {
    struct model m = {.layers = model, .vocabulary_tiling = 1, .flash_attention = true};
    dt_status *faults = NULL;
    if (model && model->kind == DT_TREE_MAP) {
        at = &model->at;
        faults = dt_fields_read(arena, fields, model, at, "model", &m);
        dt_status_append(&faults, dt_init_from_check(&m.init_from));
        const dt_tree *outputs = dt_tree_get(model, "outputs");
        m.faulty_outputs =
            m.has_outputs && m.outputs.n < (outputs->kind == DT_TREE_LIST ? outputs->n : 1);
    }
    if (!faults || m.layers) dt_status_append(&faults, read_layers(arena, &m, at, out));
    out->init_from = m.init_from;
    return faults;
}

const dt_field *dt_model_fields(void) { return fields; }
