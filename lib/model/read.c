/*
 * Reading a model: the list of layers becomes a checked specification.
 *
 *     list ── repeat.c ──▶ list without Repeat;  list item ──▶ layer, name ──▶ shapes and weights, layer by layer
 *
 * Every item is read and named before any shape is looked at, so that a job's faults come in one run; shapes are followed up to the
 * first layer that cannot be built, since nothing is known behind it.
 */
#include <string.h>

#include "model/model.h"

typedef struct reader {
    dt_arena *arena;
    const dt_tree *list;
    dt_named *named;      /* [n] kind NULL: faulty */
    const char **name;    /* [n] */
    int *unnamed;         /* [rows] layers of each kind that got Keras' name so far */
    dt_layer_spec *layer; /* [n] */
    int built;
} reader;

static const dt_layer_head *head_of(const reader *r, int i)
{
    return r->named[i].args;
}

/* ---- names ---- */

/* Where layer i's name stands. */
static const dt_place *name_place(const reader *r, int i)
{
    const dt_tree *name = dt_tree_get(r->named[i].tree, "name");
    return name ? &name->at : &r->named[i].at;
}

/* "dense", "dense_1", ...: what Keras calls layers without a name. */
static const char *next_name(reader *r, const dt_named *n)
{
    const char *class_name = n->kind == &dt_layer_input.kind ? "InputLayer" : n->kind->name;
    const char *base = dt_snake_case(r->arena, class_name);
    int number = r->unnamed[n->row]++;
    return number ? dt_arena_printf(r->arena, "%s_%d", base, number) : base;
}

static bool has_control(const char *name)
{
    for (const unsigned char *p = (const unsigned char *)name; *p; p++)
        if (*p < 0x20 || *p == 0x7f)
            return true;
    return false;
}

/* Names become parts of weight paths. */
static dt_status *check_name(const reader *r, int i)
{
    const char *name = r->name[i];
    if (!*name)
        return dt_fail(DT_E_LAYER_NAME, name_place(r, i), "the name of layers[%d] is empty", i);
    if (has_control(name))
        return dt_fail(DT_E_LAYER_NAME, name_place(r, i), "layer name '%s' contains control characters", name);
    if (strchr(name, '/') || strstr(name, ".."))
        return dt_fail(DT_E_LAYER_NAME, name_place(r, i), "layer name '%s' contains '/' or '..', which are not allowed", name);
    for (int k = 0; k < i; k++)
        if (r->named[k].kind && strcmp(r->name[k], name) == 0)
            return dt_fail(DT_E_LAYER_NAME, name_place(r, i), "'%s' is already the name of layers[%d]", name, k);
    return NULL;
}

/* ---- items ---- */

static dt_status *check_order(const reader *r, int i)
{
    bool is_input = r->named[i].kind == &dt_layer_input.kind;
    const dt_place *at = &r->named[i].at;
    if (i > 0 && is_input)
        return dt_fail(DT_E_MODEL_LAYERS, at, "layers[%d] is an Input; a sequential model has one, as its first layer", i);
    if (i == 0 && !is_input)
        return dt_suggest(dt_fail(DT_E_MODEL_LAYERS, at, "the first layer must be an Input, got %s", r->named[i].kind->name),
                          "put '- Input: {shape: [...]}' before it");
    return NULL;
}

static dt_status *read_item(reader *r, int i)
{
    int n;
    const dt_kind *const *rows = dt_layers(&n);
    dt_status *s = dt_named_read(r->arena, rows, n, "layer", r->list->item[i], &r->named[i]);
    if (s) {
        r->named[i].kind = NULL;
        return s;
    }
    const char *given = head_of(r, i)->name;
    r->name[i] = given ? given : next_name(r, &r->named[i]);
    s = check_name(r, i);
    dt_status_append(&s, check_order(r, i));
    return s;
}

/* ---- shapes ---- */

static dt_status *check_example(const dt_layer_build *b)
{
    double bytes = (double)dt_dtype_size(b->out.dtype);
    for (int i = 1; i < b->out.rank; i++)
        bytes *= (double)b->out.dim[i];
    if (bytes <= DT_MAX_EXAMPLE_BYTES)
        return NULL;
    dt_str shape = { 0 }, size = { 0 };
    dt_shape_print(&b->out, &shape);
    dt_str_bytes(&size, bytes);
    dt_status *s = dt_fail(DT_E_MODEL_SIZE, &b->at, "an example of shape %s needs %s; one may take at most 4 GiB", dt_str_text(&shape),
                           dt_str_text(&size));
    dt_str_release(&shape);
    dt_str_release(&size);
    return s;
}

static dt_status *note_layer(dt_status *s, const dt_layer_build *b)
{
    dt_str in = { 0 };
    dt_type_print(&b->in, &in);
    s = b->in.rank ? dt_note(s, "in layer '%s' on %s", b->name, dt_str_text(&in)) : dt_note(s, "in layer '%s'", b->name);
    dt_str_release(&in);
    return s;
}

/* Layer i, whose input is of type `in` (of rank 0 for the Input, which has none). */
static dt_status *build_layer(reader *r, int i, const dt_type *in)
{
    const dt_layer *row = (const dt_layer *)r->named[i].kind;
    dt_layer_build *b = dt_arena_new(r->arena, dt_layer_build);
    *b = (dt_layer_build){ .arena = r->arena, .args = r->named[i].args, .name = r->name[i], .at = r->named[i].at, .in = *in,
                           .n_earlier = r->built, .earlier = r->layer };
    dt_status *s = row->build(b);
    if (!s)
        s = check_example(b);
    if (s)
        return note_layer(dt_at(s, &b->at), b);
    r->layer[i] = (dt_layer_spec){
        .row = row, .args = b->args, .name = b->name, .at = b->at,
        .in = b->in, .out = b->out, .n_weights = b->n_weights, .weight = b->weight, .n_borrowed = b->n_borrowed, .borrowed = b->borrowed,
        .made = b->made,
    };
    r->built++;
    return NULL;
}

static dt_status *build_layers(reader *r)
{
    dt_type in = { 0 };
    for (int i = 0; i < r->list->n; i++) {
        bool follows = r->named[i].kind && (r->named[i].kind == &dt_layer_input.kind) == (i == 0);
        if (!follows)
            return NULL; /* said already */
        DT_TRY(build_layer(r, i, &in));
        in = r->layer[i].out;
    }
    return NULL;
}

/* ---- the whole ---- */

static void list_weights(const reader *r, dt_model_spec *out)
{
    for (int i = 0; i < out->n_layers; i++)
        out->n_weights += out->layer[i].n_weights;
    const dt_weight_spec **weight = dt_arena_array(r->arena, const dt_weight_spec *, out->n_weights);
    out->weight = weight;
    for (int i = 0; i < out->n_layers; i++)
        for (int k = 0; k < out->layer[i].n_weights; k++) {
            *weight++ = &out->layer[i].weight[k];
            if (dt_dtype_is_float(out->layer[i].weight[k].type.dtype)) /* else it counts steps */
                out->parameters += dt_type_elements(&out->layer[i].weight[k].type);
        }
}

static void fill_spec(const reader *r, dt_model_spec *out)
{
    *out = (dt_model_spec){ .n_layers = r->built, .layer = r->layer };
    const dt_layer_spec *first = &r->layer[0];
    const dt_tree *name = dt_tree_get(r->named[0].tree, "name");
    out->input = (dt_input_spec){ .name = first->name, .type = first->out, .at = name ? name->at : first->at };
    out->output = r->layer[r->built - 1].out;
    list_weights(r, out);
}

static reader make_reader(dt_arena *arena, const dt_tree *list)
{
    int rows;
    dt_layers(&rows);
    return (reader){
        .arena = arena, .list = list,
        .named = dt_arena_array(arena, dt_named, list->n),
        .name = dt_arena_array(arena, const char *, list->n),
        .unnamed = dt_arena_array(arena, int, rows),
        .layer = dt_arena_array(arena, dt_layer_spec, list->n),
    };
}

dt_status *dt_model_read(dt_arena *arena, const dt_tree *layers, const dt_place *at, dt_model_spec *out)
{
    if (!layers || layers->kind == DT_TREE_NULL || (layers->kind == DT_TREE_LIST && layers->n == 0))
        return dt_suggest(dt_fail(DT_E_MODEL_LAYERS, layers ? &layers->at : at, "the model has no layers"), "the first one is an Input");
    DT_TRY(dt_tree_expect(layers, DT_TREE_LIST, "layers"));
    DT_TRY(dt_layers_expand(arena, layers, &layers));
    reader r = make_reader(arena, layers);
    dt_status *s = NULL;
    for (int i = 0; i < layers->n; i++)
        dt_status_append(&s, read_item(&r, i));
    dt_status_append(&s, build_layers(&r));
    if (!s)
        fill_spec(&r, out);
    return s;
}
