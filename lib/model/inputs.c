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
 * A name with '/', such as encoder/state_h, denotes an output of a layer besides its first one; see
 * layer_output.c.
 */
#include <string.h>

#include "base/hash.h"
#include "model/read.h"

int dt_reader_find(const dt_model_reader *r, const char *name, int n) {
    int i = dt_hash_index_first(&r->names, dt_name_hash(name));
    while (i >= 0 && !(r->name[i] && strcmp(r->name[i], name) == 0))
        i = dt_hash_index_next(&r->names, i);
    return i < n ? i : -1;
}

/* Whether item i of the list, which has not been read yet, is {KIND: {name: NAME, ...}} with NAME
 * equal to `name`. */
static bool has_name(const dt_model_reader *r, int i, const char *name) {
    const dt_tree *item = r->list->item[i];
    const dt_tree *given = item->kind == DT_TREE_MAP && item->n == 1
                               ? dt_tree_get(item->entry[0].value, "name")
                               : NULL;
    return given && given->kind == DT_TREE_SCALAR && strcmp(given->text, name) == 0;
}

/* Returns the error for an input `name` of layer i that is not an earlier layer. Only the first
 * DT_MAX_ERRORS such errors look for the layer that was meant. */
static dt_status *no_layer(dt_model_reader *r, int i, const char *name, const dt_location *at) {
    if (strcmp(r->name[i], name) == 0)
        return dt_fail(DT_E_MODEL_INPUTS, at, "layer '%s' cannot be its own input", name);
    if (++r->missing > DT_MAX_ERRORS)
        return dt_fail(DT_E_MODEL_INPUTS, at, "layer '%s' uses '%.80s', which is unknown",
                       r->name[i], name);
    for (int k = i + 1; k < r->list->n; k++)
        if (has_name(r, k, name))
            return dt_suggest(dt_fail(DT_E_MODEL_INPUTS, at,
                                      "layer '%s' uses '%s', which is defined later", r->name[i],
                                      name),
                              "list inputs first");
    dt_status *s =
        dt_fail(DT_E_MODEL_INPUTS, at,
                "layer '%s' uses '%.80s', but no earlier layer has that name", r->name[i], name);
    return dt_suggest_nearest(s, name, r->name, i);
}

typedef struct adding {
    dt_arena *arena;
    int n, n_added;
    dt_tree **item;
    int *turn;
    /* names of the LayerOutput layers that were added so far, such as "encoder/state_h" */
    const char **added;
    dt_hash_index names;
} adding;

static int count_written(const dt_tree *t) { return t && t->kind == DT_TREE_LIST ? t->n : !!t; }

static dt_entry scalar_entry(dt_arena *arena, const char *key, const dt_location *at,
                             const char *text) {
    const dt_tree t = {.kind = DT_TREE_SCALAR, .at = *at, .text = text};
    return (dt_entry){key, *at, dt_arena_copy(arena, &t, sizeof t)};
}

static dt_tree *map_of(dt_arena *arena, const dt_location *at, const dt_entry *entry, int n) {
    const dt_tree t = {.kind = DT_TREE_MAP,
                       .at = *at,
                       .n = n,
                       .entry = dt_arena_copy(arena, entry, (size_t)n * sizeof *entry)};
    return dt_arena_copy(arena, &t, sizeof t);
}

/* For a name with '/', such as encoder/state_h, adds the layer {LayerOutput: {name:
 * encoder/state_h, inputs: encoder, output: state_h}}, unless it was added before. Other names, and
 * NULL, add nothing. */
static void add_output(adding *a, const char *name, const dt_location *at, int turn) {
    const char *slash = name ? strchr(name, '/') : NULL;
    const uint64_t hash = slash ? dt_name_hash(name) : 0;
    int same = slash ? dt_hash_index_first(&a->names, hash) : -1;
    while (same >= 0 && strcmp(a->added[same], name) != 0)
        same = dt_hash_index_next(&a->names, same);
    if (!slash || same >= 0) return;
    const char *layer = dt_arena_printf(a->arena, "%.*s", (int)(slash - name), name);
    const dt_entry args[] = {scalar_entry(a->arena, "name", at, name),
                             scalar_entry(a->arena, "inputs", at, layer),
                             scalar_entry(a->arena, "output", at, slash + 1)};
    const dt_entry item = {dt_layer_layer_output.kind.name, *at, map_of(a->arena, at, args, 3)};
    a->turn[a->n] = turn;
    a->item[a->n++] = map_of(a->arena, at, &item, 1);
    a->added[a->n_added++] = name;
    dt_hash_index_add(&a->names, hash);
}

/* Adds a LayerOutput for each name with '/' in `names`, a layer's `inputs` as written in the job.
 * NULL: the layer names no inputs. */
static void add_of_inputs(adding *a, const dt_tree *names, int turn) {
    for (int k = 0; k < count_written(names); k++) {
        const dt_tree *name = names->kind == DT_TREE_LIST ? names->item[k] : names;
        add_output(a, name->text, &name->at, turn);
    }
}

static const dt_tree *inputs_of(const dt_tree *item) {
    return item->kind == DT_TREE_MAP && item->n == 1 ? dt_tree_get(item->entry[0].value, "inputs")
                                                     : NULL;
}

void dt_layers_add_outputs(dt_arena *arena, const dt_texts *outputs, const dt_tree **layers,
                           const int **turn) {
    const dt_tree *old = *layers;
    size_t most = (size_t)(old->n + outputs->n);
    for (int i = 0; i < old->n; i++) most += (size_t)count_written(inputs_of(old->item[i]));
    adding a = {.arena = arena,
                .item = dt_arena_array(arena, dt_tree *, most + 1),
                .turn = dt_arena_array(arena, int, most + 1),
                .added = dt_arena_array(arena, const char *, most + 1)};
    for (int i = 0; i < old->n; i++) {
        add_of_inputs(&a, inputs_of(old->item[i]), (*turn)[i]);
        a.turn[a.n] = (*turn)[i];
        a.item[a.n++] = old->item[i];
    }
    for (int i = 0; i < outputs->n; i++) add_output(&a, outputs->v[i], &outputs->at[i], 0);
    dt_hash_index_release(&a.names);
    dt_tree *list = dt_arena_copy(arena, old, sizeof *old);
    list->n = a.n;
    list->item = a.item;
    *layers = list;
    *turn = a.turn;
}

static dt_status *find_inputs(dt_model_reader *r, int i, const dt_layer_head *head) {
    const dt_texts *inputs = &head->inputs;
    const int n = inputs->n;
    int *from = dt_arena_array(r->arena, int, n + 1);
    bool known = true;
    dt_status *faults = NULL;
    if (n == 0)
        return dt_fail(DT_E_MODEL_INPUTS, &head->inputs_at,
                       "layer '%s' has an empty list of inputs", r->name[i]);
    for (int k = 0; k < n; k++) {
        from[k] = dt_reader_find(r, inputs->v[k], i);
        known &= from[k] >= 0;
        if (from[k] < 0 && !r->is_one_faulty)
            dt_status_append(&faults, no_layer(r, i, inputs->v[k], &inputs->at[k]));
    }
    if (known) r->source[i] = (dt_sources){n, from};
    return faults;
}

static dt_status *check_number(const dt_model_reader *r, int i) {
    const dt_layer *row = (const dt_layer *)r->named[i].kind;
    int n = r->source[i].n, least = row->least ? row->least : 1, most = row->most ? row->most : 1;
    const dt_layer_head *head = dt_reader_head(r, i);
    const dt_location *at = head->inputs.v ? &head->inputs_at : &r->named[i].at;
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
    const dt_layer_head *head = dt_reader_head(r, i);
    const bool names = head->inputs.v != NULL;
    if (names && !r->functional)
        return dt_suggest(
            dt_fail(DT_E_MODEL_INPUTS, &head->inputs_at,
                    "layers of a sequential model have no 'inputs': each uses the layer before it"),
            "in a model of 'type: functional' layers name their inputs");
    dt_status *s = names ? find_inputs(r, i, head) : take_the_one_before(r, i);
    if (!s) s = check_number(r, i);
    if (s) r->source[i].n = 0;
    return s;
}

const dt_input_spec *dt_model_find_input(const dt_model_spec *m, const char *name) {
    for (int i = 0; i < m->n_inputs; i++)
        if (strcmp(m->input[i].name, name) == 0) return &m->input[i];
    return NULL;
}
