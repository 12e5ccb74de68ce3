/* SPDX-License-Identifier: Apache-2.0 */
/* Layers built from other layers: see parts.h. */
#include <assert.h>
#include <string.h>

#include "model/layer/parts.h"

const dt_tree *dt_part_word(const dt_layer_build *b, const char *value) {
    dt_tree *t = dt_arena_new(b->arena, dt_tree);
    *t = (dt_tree){.kind = DT_TREE_SCALAR, .at = b->at, .text = value};
    return t;
}

const dt_tree *dt_part_int(const dt_layer_build *b, int64_t value) {
    return dt_part_word(b, dt_arena_printf(b->arena, "%lld", (long long)value));
}

const dt_tree *dt_part_real(const dt_layer_build *b, double value) {
    dt_str text = {0};
    dt_str_double(&text, value);
    return dt_part_word(b, dt_arena_take(b->arena, &text));
}

static dt_tree *mapping_of_one(const dt_layer_build *b, const char *key, const dt_tree *value) {
    dt_tree *t = dt_arena_new(b->arena, dt_tree);
    *t = (dt_tree){
        .kind = DT_TREE_MAP, .at = b->at, .n = 1, .entry = dt_arena_array(b->arena, dt_entry, 1)};
    t->entry[0] = (dt_entry){key, b->at, (dt_tree *)value};
    return t;
}

const dt_tree *dt_part_kind(const dt_layer_build *b, const char *kind, const char *argument,
                            const dt_tree *value) {
    return mapping_of_one(b, kind, mapping_of_one(b, argument, value));
}

/* Returns the arguments as the mapping that a user would write in a job. */
static const dt_tree *arguments_of(const dt_layer_build *b, const dt_part_request *q) {
    dt_tree *t = dt_arena_new(b->arena, dt_tree);
    *t = (dt_tree){.kind = DT_TREE_MAP,
                   .at = b->at,
                   .entry = dt_arena_array(b->arena, dt_entry, DT_PART_ARGS)};
    for (int i = 0; i < DT_PART_ARGS && q->arg[i].name; i++)
        if (q->arg[i].value)
            t->entry[t->n++] = (dt_entry){q->arg[i].name, b->at, (dt_tree *)q->arg[i].value};
    return t;
}

static dt_status *read_args(const dt_layer_build *b, const dt_part_request *q, void **out) {
    const dt_kind *k = &q->row->kind;
    *out = dt_arena_alloc(b->arena, k->size);
    DT_TRY(dt_fields_read(b->arena, k->fields, arguments_of(b, q), &b->at, k->name, *out));
    ((dt_layer_head *)*out)->trainable &= ((const dt_layer_head *)b->args)->trainable;
    return NULL;
}

/* Builds the part, whose arguments were read before. */
static dt_status *build_part(dt_layer_build *b, dt_layer_build *one, dt_layer_part *out) {
    one->arena = b->arena;
    one->at = b->at;
    one->masks = b->masks;
    DT_TRY(dt_layer_build_row(one));
    assert(b->n_weights + one->n_weights <= DT_MAX_WEIGHTS);
    memcpy(b->weight + b->n_weights, one->weight, (size_t)one->n_weights * sizeof *one->weight);
    *out = (dt_layer_part){.row = one->row,
                           .args = one->args,
                           .made = one->made,
                           .name = one->name,
                           .out = one->out,
                           .first = b->n_weights,
                           .n_weights = one->n_weights};
    b->n_weights += one->n_weights;
    return NULL;
}

dt_status *dt_part_build(dt_layer_build *b, const dt_part_request *q, dt_layer_part *out) {
    dt_layer_build one = {.row = q->row, .in = q->in};
    void *args;
    DT_TRY(read_args(b, q, &args));
    one.args = args;
    one.name = dt_arena_printf(b->arena, "%s/%s", b->name, q->name);
    return build_part(b, &one, out);
}

dt_status *dt_part_within(dt_arena *arena, const char *who, const dt_tree *layer, dt_named *out) {
    int n;
    const dt_kind *const *rows = dt_layers(&n);
    DT_TRY(dt_named_read(arena, rows, n, "layer", layer, out));
    const dt_layer *row = (const dt_layer *)out->kind;
    const dt_layer_head *head = out->args;
    if (head->inputs.v)
        return dt_fail(DT_E_MODEL_INPUTS, &head->inputs_at,
                       "the layer inside %s has no 'inputs': set them on %s", who, who);
    if (row->within || row->least > 1 || row == &dt_layer_input)
        return dt_fail(DT_E_MODEL_LAYERS, &out->at,
                       "%s cannot be inside %s: expected a layer of one input that holds no other",
                       row->kind.name, who);
    return NULL;
}

/* Refuses properties that only layers of the model's own list can have. */
static dt_status *check_wrapped(const dt_layer_build *b, const dt_layer_build *one) {
    const dt_layer_head *head = one->args;
    dt_named activity = {0};
    DT_TRY(dt_activity_read(b->arena, head, &activity));
    if (one->n_further > 0)
        return dt_fail(DT_E_MODEL_LAYERS, &b->within.at,
                       "%s inside %s has one output: leave out return_state and "
                       "return_attention_scores",
                       one->row->kind.name, b->row->kind.name);
    if (activity.kind)
        return dt_fail(DT_E_MODEL_LAYERS, &b->within.at,
                       "activity_regularizer inside %s is not supported", b->row->kind.name);
    return NULL;
}

dt_status *dt_part_wrap(dt_layer_build *b, const dt_type *in, dt_layer_part *out) {
    static const bool unmasked[1];
    const dt_layer *row = (const dt_layer *)b->within.kind;
    dt_layer_head *args = dt_arena_copy(b->arena, b->within.args, row->kind.size);
    dt_layer_build one = {.row = row, .args = args, .in = *in, .ins = in, .n_in = 1};
    const bool *masks = b->masks;
    one.from = b->from;
    one.name = dt_arena_printf(b->arena, "%s/%s", b->name, b->within_name);
    b->masks = unmasked;
    dt_status *s = build_part(b, &one, out);
    b->masks = masks;
    if (!s) s = check_wrapped(b, &one);
    for (int i = out->first; !s && i < b->n_weights; i++)
        b->weight[i].trainable &= ((const dt_layer_head *)b->args)->trainable;
    return s;
}

const char *dt_part_state(const dt_weight_spec *weight, const dt_layer_part *p) {
    for (int i = p->first; i < p->first + p->n_weights; i++)
        if (weight[i].fixed && dt_layer_role(weight[i].name) < 0) return weight[i].name;
    return NULL;
}

dt_value dt_part_call(const dt_layer_call *c, const dt_layer_part *p, dt_value x) {
    dt_layer_call one = *c;
    const char *before = dt_trace_path(c->trace, p->name);
    one.args = p->args;
    one.made = p->made;
    one.name = p->name;
    one.x = x;
    one.xs = &x;
    one.n_in = 1;
    one.weight += p->first;
    one.variable += p->first;
    one.out = &p->out;
    dt_value y = dt_layer_value(&one, p->name, dt_layer_apply(p->row, &one, p->n_weights));
    dt_trace_path(c->trace, before);
    return y;
}
