/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The settings of `compile` for each output: its loss, the loss's weight, and the data elements
 * that hold its targets and sample weights. In a model of one output each of these may be a single
 * value. For several outputs they are mappings by output, or lists in the outputs' order. A single
 * loss or sample_weight applies to all outputs; a loss of null means that the output has none.
 *
 *     loss: {kind: SparseCategoricalCrossentropy, age: {Huber: {delta: 2}}}
 *     loss_weights: {age: 0.1}
 *     target: {kind: label}                   the target of age is the element `age`
 *     sample_weight: {kind: certainty}        sample weights for the loss of kind
 */
#include <string.h>
#include <strings.h>

#include "model/compile.h"

static int find_output(const dt_outputs *o, const char *name) {
    for (int i = 0; i < o->n; i++)
        if (strcmp(o->v[i].name, name) == 0) return i;
    return -1;
}

static bool is_kind(const dt_kind *const *rows, int n, const char *name) {
    bool is = false;
    for (int i = 0; i < n; i++) {
        is |= strcmp(rows[i]->name, name) == 0;
        for (const char *const *a = rows[i]->aliases; a && *a; a++) is |= strcmp(*a, name) == 0;
    }
    return is;
}

bool dt_is_by_output(const dt_outputs *o, const dt_tree *t, const dt_kind *const *rows, int n) {
    if (t->kind != DT_TREE_MAP) return false;
    return t->n != 1 || find_output(o, t->entry[0].key) >= 0 ||
           (o->n > 1 && !is_kind(rows, n, t->entry[0].key));
}

/* Returns the error UNKNOWN_NAME for an output that does not exist. The error suggests names. */
static dt_status *no_output(const dt_outputs *o, const dt_location *at, const char *name) {
    const char *names[DT_MAX_OUTPUTS];
    for (int i = 0; i < o->n; i++) names[i] = o->v[i].name;
    return dt_suggest_names(dt_fail(DT_E_UNKNOWN_NAME, at, "the model has no output '%.80s'", name),
                            dt_nearest(name, names, o->n), names, o->n, "it has");
}

static dt_status *take_map(const dt_outputs *o, const dt_tree *t, const dt_tree **of) {
    dt_status *faults = NULL;
    for (int i = 0; i < t->n; i++) {
        int k = find_output(o, t->entry[i].key);
        if (k < 0) dt_status_append(&faults, no_output(o, &t->entry[i].key_at, t->entry[i].key));
        else of[k] = t->entry[i].value;
    }
    return faults;
}

dt_status *dt_by_output(const dt_outputs *o, const dt_tree *t, const char *what,
                        const dt_tree **of) {
    memset(of, 0, (size_t)o->n * sizeof *of);
    if (t->kind == DT_TREE_MAP) return take_map(o, t, of);
    if (t->kind != DT_TREE_LIST)
        return dt_fail(DT_E_WRONG_TYPE, &t->at,
                       "%s of a model of %d outputs: expected {OUTPUT: ...} or a list, got '%.80s'",
                       what, o->n, t->text);
    if (t->n != o->n)
        return dt_suggest(
            dt_fail(DT_E_RANGE, &t->at, "%s has %d entries, but the model has %d output%s", what,
                    t->n, o->n, o->n == 1 ? "" : "s"),
            "list one per output, in the order of model.outputs, or map them by output name");
    for (int i = 0; i < o->n; i++) of[i] = t->item[i];
    return NULL;
}

/* Fails with NOT_YET for a loss with the reduction `sum` or `none`, because fit supports only means
 * over examples. Such losses can be used in custom loops. */
static dt_status *check_loss(const dt_named *loss) {
    int reduction = ((const dt_loss_head *)loss->args)->reduction;
    if (reduction == DT_REDUCTION_SUM || reduction == DT_REDUCTION_NONE)
        return dt_suggest(
            dt_fail(
                DT_E_NOT_YET, &loss->at,
                "fit averages over examples: reduction '%s' works only in custom training loops",
                dt_loss_reductions[reduction]),
            "leave it out");
    return NULL;
}

const char *const dt_fitting_losses[] = {"crossentropy", "ce", NULL};
static const dt_fitting crossentropies = {
    dt_loss_read, "BinaryCrossentropy", "CategoricalCrossentropy", "SparseCategoricalCrossentropy"};

static bool is_fitting(const dt_tree *t) {
    bool is = false;
    for (int i = 0; t->kind == DT_TREE_SCALAR && dt_fitting_losses[i]; i++)
        is |= strcasecmp(t->text, dt_fitting_losses[i]) == 0;
    return is;
}

/* Reads the loss of one output. type: the type of the output; NULL: the model has errors. */
static dt_status *read_loss(dt_arena *arena, const dt_tree *t, const dt_type *type,
                            dt_output_use *out) {
    out->loss = (dt_named){.at = t->at};
    if (is_fitting(t))
        return dt_read_fitting(arena, &crossentropies, type, &out->loss, &out->if_sparse);
    DT_TRY(dt_loss_read(arena, t, &out->loss));
    return check_loss(&out->loss);
}

static const dt_type *type_of(const dt_outputs *o, int i) { return o->n ? &o->v[i].type : NULL; }

/* Reads one loss for all outputs, and reports its errors only once. */
static dt_status *share_loss(dt_arena *arena, const dt_tree *t, const dt_outputs *o,
                             dt_compile_spec *out) {
    dt_status *s = NULL;
    for (int i = 0; !s && i < out->n_outputs; i++)
        s = read_loss(arena, t, type_of(o, i), &out->output[i]);
    out->loss_at = out->output[0].loss.at;
    return s;
}

static bool has_loss(const dt_compile_spec *c) {
    bool has = false;
    for (int i = 0; i < c->n_outputs; i++) has |= c->output[i].loss.kind != NULL;
    return has;
}

static dt_status *read_each_loss(dt_arena *arena, const dt_tree *t, const dt_outputs *o,
                                 dt_compile_spec *out) {
    const dt_tree *of[DT_MAX_OUTPUTS];
    dt_status *faults = dt_by_output(o, t, "loss", of);
    if (faults) return faults;
    for (int i = 0; i < o->n; i++)
        if (dt_given(of[i]))
            dt_status_append(&faults, read_loss(arena, of[i], type_of(o, i), &out->output[i]));
        else if (!of[i])
            dt_status_append(
                &faults,
                dt_suggest(
                    dt_fail(DT_E_MISSING_KEY, &t->at, "no loss for output '%s'", o->v[i].name),
                    "add one, or write '%s: null' to leave the output out of the loss",
                    o->v[i].name));
    if (!faults && !has_loss(out))
        return dt_fail(DT_E_RANGE, &t->at, "no output has a loss: there is nothing to train");
    return faults;
}

static dt_status *read_losses(dt_arena *arena, const dt_tree *t, const dt_outputs *o,
                              dt_compile_spec *out) {
    int n;
    const dt_kind *const *rows = dt_losses(&n);
    bool each = t->kind == DT_TREE_LIST || dt_is_by_output(o, t, rows, n);
    out->loss_at = t->at;
    if (!each) return share_loss(arena, t, o, out);
    /* The names of outputs of a model with errors are unknown. */
    return o->n ? read_each_loss(arena, t, o, out) : NULL;
}

/* If several outputs have losses, names each loss in the history after its output, as Keras does:
 * "<output>_loss". */
static void name_losses(dt_arena *arena, const dt_outputs *o, dt_compile_spec *out) {
    int n = 0;
    for (int i = 0; i < o->n; i++) n += out->output[i].loss.kind != NULL;
    for (int i = 0; n > 1 && i < o->n; i++)
        if (out->output[i].loss.kind)
            out->output[i].loss_key = dt_arena_printf(arena, "%s_loss", o->v[i].name);
}

static dt_status *read_loss_weight(const dt_tree *t, dt_output_use *out) {
    DT_TRY(dt_tree_real(t, "loss_weights", &out->loss_weight));
    return out->loss_weight >= 0
               ? NULL
               : dt_fail(DT_E_RANGE, &t->at, "loss_weights must not be negative, got %s", t->text);
}

static dt_status *read_target(const dt_tree *t, dt_output_use *out) {
    out->target_at = t->at;
    return dt_tree_text(t, "target", &out->target);
}

static dt_status *read_sample_weight(const dt_tree *t, dt_output_use *out) {
    out->sample_weight_at = t->at;
    return dt_tree_text(t, "sample_weight", &out->sample_weight);
}

typedef struct output_key {
    const char *name;
    dt_status *(*read)(const dt_tree *t, dt_output_use *out);
    bool shared; /* whether one value in the job may apply to all outputs */
} output_key;

static dt_status *read_key(const output_key *k, const dt_tree *t, const dt_outputs *o,
                           dt_compile_spec *out) {
    const dt_tree *of[DT_MAX_OUTPUTS];
    const bool one = t->kind == DT_TREE_SCALAR && (out->n_outputs == 1 || k->shared);
    dt_status *faults = NULL;
    if (o->n == 0 && !one) return NULL;
    if (!one) faults = dt_by_output(o, t, k->name, of);
    for (int i = 0; !faults && i < out->n_outputs; i++)
        if (one || dt_given(of[i]))
            dt_status_append(&faults, k->read(one ? t : of[i], &out->output[i]));
    return faults;
}

dt_status *dt_compile_read_losses(dt_arena *arena, const dt_compile_trees *t, const dt_outputs *o,
                                  dt_compile_spec *out) {
    static const output_key keys[] = {{"loss_weights", read_loss_weight, false},
                                      {"target", read_target, false},
                                      {"sample_weight", read_sample_weight, true}};
    const dt_tree *tree[] = {t->loss_weights, t->target, t->sample_weight};
    dt_status *faults = NULL;
    out->n_outputs = o->n ? o->n : 1;
    out->output = dt_arena_array(arena, dt_output_use, out->n_outputs);
    for (int i = 0; i < out->n_outputs; i++)
        out->output[i] = (dt_output_use){.name = o->n ? o->v[i].name : NULL, .loss_weight = 1};
    if (dt_given(t->loss)) faults = read_losses(arena, t->loss, o, out);
    name_losses(arena, o, out);
    for (int i = 0; i < 3; i++)
        if (dt_given(tree[i])) dt_status_append(&faults, read_key(&keys[i], tree[i], o, out));
    return faults;
}
