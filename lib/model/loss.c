/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that losses and metrics share, and the public handle of a loss. */
#include <string.h>

#include "model/model.h"

dt_value dt_logits_of(dt_value prediction, const dt_op *activation) {
    const dt_node *n = dt_node_of(prediction);
    if (!n || (n->op != activation && n->op->role != DT_ROLE_NOTE)) return (dt_value){0};
    prediction.node = n->in[0];
    if (n->op == activation) return prediction;
    /* The logits get the layout that is noted for the probabilities. */
    dt_value logits = dt_logits_of(prediction, activation);
    return logits.trace ? dt_annotate(logits, n->attr) : logits;
}

dt_value dt_class_numbers(dt_value target) {
    dt_type type = dt_type_of_value(target);
    return dt_reshape(target, 1, type.dim);
}

dt_value dt_targets_like(dt_value target, dt_value prediction) {
    dt_type like = dt_type_of_value(prediction);
    return dt_reshape(dt_convert(target, like.dtype), like.rank, like.dim);
}

dt_value dt_sum_last(dt_value x) {
    int rank = dt_type_of_value(x).rank;
    return rank > 1 ? dt_reduce(x, DT_REDUCE_SUM, 1u << (rank - 1)) : x;
}

dt_value dt_mean_last(dt_value x) {
    dt_type type = dt_type_of_value(x);
    double count = type.rank > 1 ? (double)type.dim[type.rank - 1] : 1;
    dt_value sum = dt_sum_last(x);
    return count == 1 ? sum : dt_divide(sum, dt_like(sum, count));
}

dt_value dt_mean_per_example(dt_value x) {
    dt_type type = dt_type_of_value(x);
    uint32_t dims = (1u << type.rank) - 2; /* a set of all dimensions but dimension 0, the batch */
    double count = 1;
    for (int i = 1; i < type.rank; i++) count *= (double)type.dim[i];
    dt_value sum = dt_reduce(x, DT_REDUCE_SUM, dims);
    return count == 1 ? sum : dt_divide(sum, dt_like(sum, count));
}

/* maximum and minimum pass the gradient of a tie to their second input, so the gradient passes to x
 * at the limits. */
dt_value dt_clip_between(dt_value x, double low, double high) {
    return dt_minimum(dt_like(x, high), dt_maximum(dt_like(x, low), x));
}

dt_value dt_clip_probability(dt_value p) { return dt_clamp(p, 1e-7, 1 - 1e-7); }

dt_value dt_smooth_labels(dt_value target, double smoothing, double classes) {
    if (smoothing == 0) return target;
    return dt_add(dt_multiply(target, dt_like(target, 1 - smoothing)),
                  dt_like(target, smoothing / classes));
}

/* Returns the error LABELS, "FAULT: targets are (B), predictions (B, 10)", for these types. fix:
 * what it suggests; NULL: nothing. */
static dt_status *misfit(const dt_type *target, const dt_type *prediction, const char *fault,
                         const char *fix) {
    dt_status *s = dt_fail(DT_E_LABELS, NULL, "%s: targets are %s, predictions %s", fault,
                           dt_text_of(target).s, dt_text_of(prediction).s);
    return fix ? dt_suggest(s, "%s", fix) : s;
}

static bool is_column(const dt_type *t) { return t->rank == 1 || (t->rank == 2 && t->dim[1] == 1); }

static dt_status *check_classes(const dt_type *target, const dt_type *prediction) {
    if (prediction->rank >= 2 && dt_dtype_is_float(prediction->dtype)) return NULL;
    return misfit(target, prediction, "predictions must be one score per class, (B, ..., classes)",
                  NULL);
}

/* Whether targets are class numbers: they have the shape of the predictions without the classes, or
 * with size 1 in place of the classes. */
static bool are_numbers(const dt_type *target, const dt_type *prediction) {
    bool same = target->rank == prediction->rank - 1 ||
                (target->rank == prediction->rank && target->dim[target->rank - 1] == 1);
    for (int i = 0; same && i < prediction->rank - 1; i++)
        same = target->dim[i] == prediction->dim[i];
    return same;
}

dt_status *dt_check_sparse(const void *args, const dt_type *target, const dt_type *prediction) {
    (void)args;
    DT_TRY(check_classes(target, prediction));
    bool numbers = are_numbers(target, prediction);
    if (dt_type_same_shape(target, prediction) && !numbers)
        return misfit(target, prediction,
                      "labels are one-hot; expected class indices, with 1 dimension less",
                      "use the form without 'Sparse' in its name");
    if (!numbers)
        return misfit(
            target, prediction,
            "labels must be one class index per example, with 1 dimension less than predictions",
            NULL);
    if (target->dtype == DT_BOOL)
        return misfit(target, prediction, "labels must be numbers",
                      "cast them: 'cast: int32' in the map of their element");
    return NULL;
}

dt_status *dt_check_one_hot(const void *args, const dt_type *target, const dt_type *prediction) {
    (void)args;
    DT_TRY(check_classes(target, prediction));
    if (dt_type_same_shape(target, prediction)) return NULL;
    if (are_numbers(target, prediction))
        return misfit(target, prediction, "labels are class indices; expected one-hot vectors",
                      "use the form with 'Sparse' in its name, or 'one_hot: CLASSES' in the map of "
                      "their element");
    return misfit(target, prediction, "labels must have the predictions' shape", NULL);
}

dt_status *dt_check_same_shape(const void *args, const dt_type *target, const dt_type *prediction) {
    (void)args;
    if (!dt_dtype_is_float(prediction->dtype))
        return misfit(target, prediction, "predictions must be floats", NULL);
    if (dt_type_same_shape(target, prediction) || (is_column(target) && is_column(prediction)))
        return NULL;
    return misfit(target, prediction, "targets must have the predictions' shape",
                  are_numbers(target, prediction) && !dt_dtype_is_float(target->dtype)
                      ? "of class indices, 'one_hot: CLASSES' in the map of their element makes "
                        "vectors; sparse_categorical_crossentropy takes them as they are"
                      : NULL);
}

bool dt_loss_is_whole(const dt_named *named, const dt_type *prediction) {
    const dt_loss_row *row = (const dt_loss_row *)named->kind;
    return row && row->summed && (row->summed(named->args, prediction) & 1);
}

bool dt_loss_takes_logits(const dt_named *named) {
    for (const dt_field *f = named->kind ? named->kind->fields : NULL; f && f->kind != DT_FIELD_END;
         f++)
        if (strcmp(f->name, "from_logits") == 0)
            return *(const bool *)((const char *)named->args + f->offset);
    return false;
}

dt_status *dt_loss_read(dt_arena *arena, const dt_tree *t, dt_named *out) {
    int n;
    const dt_kind *const *rows = dt_losses(&n);
    return dt_named_read(arena, rows, n, "loss", t, out);
}

static dt_status *read_handle(dt_loss *l, const char *format, va_list args) {
    dt_tree *tree;
    DT_TRY(dt_fragment_read(l->arena, "loss", format, args, &tree));
    return dt_loss_read(l->arena, tree, &l->named);
}

dt_status *dt_loss_create(dt_loss **out, const char *format, ...) {
    DT_REQUIRE({out, "place for the loss"});
    dt_loss *l = dt_alloc(sizeof *l);
    *l = (dt_loss){.refs = 1, .arena = dt_arena_create()};
    va_list args;
    va_start(args, format);
    dt_status *s = read_handle(l, format, args);
    va_end(args);
    if (s) {
        dt_loss_unref(l);
        return s;
    }
    dt_loss_unref(*out);
    *out = l;
    return NULL;
}

void dt_loss_unref(dt_loss *l) {
    if (!DT_LAST(l)) return;
    dt_arena_destroy(l->arena);
    DT_RETIRE(l);
}
