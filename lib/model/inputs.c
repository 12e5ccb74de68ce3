/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inputs of layers. A layer of a functional model names its inputs, which must be earlier
 * layers, so that no cycle can arise. Without names it uses the layer before it, as all layers of a
 * sequential model do.
 *
 *     - Conv2D: {name: a, filters: 16, kernel_size: 3, padding: same}      from the layer before
 *     - Add:    {name: sum, inputs: [image, a]}                            from two
 *     - LSTM:   {units: 8, inputs: [answer, encoder/state_h, encoder/state_c]}
 *
 * A name with '/' denotes a further output of a layer; see layer_output.c.
 */
#include <string.h>

#include "base/hash.h"
#include "model/read.h"

/* ---- names ---- */

int dt_reader_find(const dt_model_reader *r, const char *name, int n) {
    int i = dt_hash_index_first(&r->names, dt_name_hash(name));
    while (i >= 0 && !(r->name[i] && strcmp(r->name[i], name) == 0))
        i = dt_hash_index_next(&r->names, i);
    return i < n ? i : -1;
}

/* The `name` of item i, which has not been read yet. */
static bool has_name(const dt_model_reader *r, int i, const char *name) {
    const dt_tree *item = r->list->item[i];
    const dt_tree *given = item->kind == DT_TREE_MAP && item->n == 1
                               ? dt_tree_get(item->entry[0].value, "name")
                               : NULL;
    return given && given->kind == DT_TREE_SCALAR && strcmp(given->text, name) == 0;
}

/* The error if layer i names an input that is not an earlier layer. The first such errors suggest a
 * layer; later ones are only counted. */
static dt_status *no_layer(dt_model_reader *r, int i, const dt_tree *t) {
    if (strcmp(r->name[i], t->text) == 0)
        return dt_fail(DT_E_MODEL_INPUTS, &t->at, "layer '%s' cannot be its own input", t->text);
    if (++r->missing > DT_MAX_ERRORS)
        return dt_fail(DT_E_MODEL_INPUTS, &t->at, "layer '%s' uses '%.80s', which is unknown",
                       r->name[i], t->text);
    for (int k = i + 1; k < r->list->n; k++)
        if (has_name(r, k, t->text))
            return dt_suggest(dt_fail(DT_E_MODEL_INPUTS, &t->at,
                                      "layer '%s' uses '%s', which is defined later", r->name[i],
                                      t->text),
                              "list inputs first");
    dt_status *s =
        dt_fail(DT_E_MODEL_INPUTS, &t->at,
                "layer '%s' uses '%.80s', but no earlier layer has that name", r->name[i], t->text);
    const char *near = dt_nearest(t->text, r->name, i);
    return near ? dt_suggest(s, "did you mean '%s'?", near) : s;
}

/* ---- further outputs of layers ---- */

typedef struct adding {
    dt_arena *arena;
    int n, n_added;
    dt_tree **item;
    int *turn;
    const char **added; /* names of outputs that were added */
    dt_hash_index names;
} adding;

/* Item k of the inputs as written. A single name is treated as a list of one. */
static const dt_tree *written(const dt_tree *t, int k) {
    return t->kind == DT_TREE_LIST ? t->item[k] : t;
}

static int count_written(const dt_tree *t) { return t && t->kind == DT_TREE_LIST ? t->n : !!t; }

static dt_entry scalar_entry(dt_arena *arena, const char *key, const dt_tree *at,
                             const char *text) {
    const dt_tree t = {.kind = DT_TREE_SCALAR, .at = at->at, .text = text};
    return (dt_entry){key, at->at, dt_arena_copy(arena, &t, sizeof t)};
}

static dt_tree *map_of(dt_arena *arena, const dt_tree *at, const dt_entry *entry, int n) {
    const dt_tree t = {.kind = DT_TREE_MAP,
                       .at = at->at,
                       .n = n,
                       .entry = dt_arena_copy(arena, entry, (size_t)n * sizeof *entry)};
    return dt_arena_copy(arena, &t, sizeof t);
}

/* Adds {LayerOutput: {name: encoder/state_h, inputs: encoder, output: state_h}}, once. */
static void add_output(adding *a, const dt_tree *name, int turn) {
    const char *slash = name->kind == DT_TREE_SCALAR ? strchr(name->text, '/') : NULL;
    const uint64_t hash = slash ? dt_name_hash(name->text) : 0;
    int same = slash ? dt_hash_index_first(&a->names, hash) : -1;
    while (same >= 0 && strcmp(a->added[same], name->text) != 0)
        same = dt_hash_index_next(&a->names, same);
    if (!slash || same >= 0) return;
    const char *layer = dt_arena_printf(a->arena, "%.*s", (int)(slash - name->text), name->text);
    const dt_entry args[] = {scalar_entry(a->arena, "name", name, name->text),
                             scalar_entry(a->arena, "inputs", name, layer),
                             scalar_entry(a->arena, "output", name, slash + 1)};
    const dt_entry item = {dt_layer_layer_output.kind.name, name->at,
                           map_of(a->arena, name, args, 3)};
    a->turn[a->n] = turn;
    a->item[a->n++] = map_of(a->arena, name, &item, 1);
    a->added[a->n_added++] = name->text;
    dt_hash_index_add(&a->names, hash);
}

static void add_outputs(adding *a, const dt_tree *names, int turn) {
    for (int k = 0; k < count_written(names); k++) add_output(a, written(names, k), turn);
}

static const dt_tree *inputs_of(const dt_tree *item) {
    return item->kind == DT_TREE_MAP && item->n == 1 ? dt_tree_get(item->entry[0].value, "inputs")
                                                     : NULL;
}

void dt_layers_add_outputs(dt_arena *arena, const dt_tree *outputs, const dt_tree **layers,
                           const int **turn) {
    const dt_tree *old = *layers;
    size_t most = (size_t)old->n + (size_t)count_written(outputs);
    for (int i = 0; i < old->n; i++) most += (size_t)count_written(inputs_of(old->item[i]));
    adding a = {.arena = arena,
                .item = dt_arena_array(arena, dt_tree *, most + 1),
                .turn = dt_arena_array(arena, int, most + 1),
                .added = dt_arena_array(arena, const char *, most + 1)};
    for (int i = 0; i < old->n; i++) {
        add_outputs(&a, inputs_of(old->item[i]), (*turn)[i]);
        a.turn[a.n] = (*turn)[i];
        a.item[a.n++] = old->item[i];
    }
    add_outputs(&a, outputs, 0);
    dt_hash_index_release(&a.names);
    dt_tree *list = dt_arena_copy(arena, old, sizeof *old);
    list->n = a.n;
    list->item = a.item;
    *layers = list;
    *turn = a.turn;
}

/* ---- one layer ---- */

static dt_status *find_input(dt_model_reader *r, int i, const dt_tree *t, int *out) {
    const char *name;
    DT_TRY(dt_tree_text(t, "inputs", &name));
    *out = dt_reader_find(r, name, i);
    return *out < 0 && !r->is_one_faulty ? no_layer(r, i, t) : NULL;
}

static dt_status *find_inputs(dt_model_reader *r, int i, const dt_tree *t) {
    int n = t->kind == DT_TREE_LIST ? t->n : 1, *from = dt_arena_array(r->arena, int, n + 1);
    bool known = true;
    dt_status *faults = NULL;
    if (n == 0)
        return dt_fail(DT_E_MODEL_INPUTS, &t->at, "layer '%s' has an empty list of inputs",
                       r->name[i]);
    for (int k = 0; k < n; k++) {
        from[k] = -1;
        dt_status_append(&faults, find_input(r, i, written(t, k), &from[k]));
        known &= from[k] >= 0;
    }
    if (known) r->source[i] = (dt_sources){n, from};
    return faults;
}

static dt_status *check_number(const dt_model_reader *r, int i) {
    const dt_layer *row = (const dt_layer *)r->named[i].kind;
    int n = r->source[i].n, least = row->least ? row->least : 1, most = row->most ? row->most : 1;
    const dt_tree *given = dt_reader_head(r, i)->inputs;
    const dt_location *at = given ? &given->at : &r->named[i].at;
    if (n == 0 || (n >= least && n <= most)) return NULL;
    if (most == 1)
        return dt_suggest(
            dt_fail(DT_E_MODEL_INPUTS, at, "%s takes one input, got %d", row->kind.name, n),
            "combine layers with Add, Concatenate or another merging layer");
    if (n > most && least < most)
        return dt_fail(DT_E_MODEL_INPUTS, at, "%s takes at most %d inputs, got %d", row->kind.name,
                       most, n);
    dt_status *s = dt_fail(DT_E_MODEL_INPUTS, at, "%s needs %s%d inputs, got %d", row->kind.name,
                           least < most ? "at least " : "", least, n);
    return dt_suggest(s, r->functional
                             ? "inputs: [FIRST, SECOND] names them"
                             : "in a model of 'type: functional' layers name their inputs");
}

static dt_status *take_the_one_before(dt_model_reader *r, int i) {
    int *from = dt_arena_array(r->arena, int, 1);
    *from = i - 1;
    if (i > 0) r->source[i] = (dt_sources){1, from};
    return NULL;
}

dt_status *dt_read_inputs(dt_model_reader *r, int i) {
    if (dt_reader_is_input(r, i)) return NULL;
    const dt_tree *t = dt_reader_head(r, i)->inputs;
    if (t && !r->functional)
        return dt_suggest(
            dt_fail(DT_E_MODEL_INPUTS, &t->at,
                    "layers of a sequential model have no 'inputs': each uses the layer before it"),
            "in a model of 'type: functional' layers name their inputs");
    dt_status *s = t ? find_inputs(r, i, t) : take_the_one_before(r, i);
    if (!s) s = check_number(r, i);
    if (s) r->source[i].n = 0;
    return s;
}

const dt_input_spec *dt_model_find_input(const dt_model_spec *m, const char *name) {
    for (int i = 0; i < m->n_inputs; i++)
        if (strcmp(m->input[i].name, name) == 0) return &m->input[i];
    return NULL;
}
