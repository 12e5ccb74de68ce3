/* SPDX-License-Identifier: Apache-2.0 */
/* Forms of ops that create, rearrange, reduce and look up values: constants, slices, sums,
 * gathers. */
#include <string.h>

#include "export/onnx/forms.h"

/* Writes a constant: one number, which is repeated to fill the type. */
dt_status *dt_onnx_constant_form(const dt_onnx_call *c, dt_onnx_value *out) {
    const dt_constant_attr *a = c->node->attr;
    *out = (dt_onnx_value){.name = dt_onnx_scalar(c->onnx, a->type.dtype, a->value),
                           .type = c->node->type,
                           .held = dt_scalar_type(a->type.dtype)};
    return NULL;
}

/* Writes an iota as a tensor (n, 1, ..). Dimensions before and after the axis are added by
 * broadcasting. */
dt_status *dt_onnx_iota(const dt_onnx_call *c, dt_onnx_value *out) {
    dt_onnx *o = c->onnx;
    const dt_iota_attr *a = c->node->attr;
    const dt_type *t = &c->node->type;
    int64_t n = t->dim[a->axis];
    dt_type line = dt_type_of(t->dtype, 1, &n), held = line;
    held.rank = t->rank - (int)a->axis;
    for (int i = 1; i < held.rank; i++) held.dim[i] = 1;
    const char *name;
    if (n < 0) {
        const char *rows = dt_onnx_put2(o, "Squeeze", dt_onnx_rows(o, -n), dt_onnx_int(o, 0));
        dt_type counted = dt_type_of(DT_INT64, 1, &n);
        name = dt_onnx_put(o, &(dt_onnx_node){.op = c->name,
                                              .in = {dt_onnx_scalar(o, DT_INT64, 0), rows,
                                                     dt_onnx_scalar(o, DT_INT64, 1)}});
        dt_onnx_value x = dt_onnx_value_of(name, &counted);
        name = dt_onnx_cast(o, &x, t->dtype).name;
    } else {
        name = dt_onnx_count(o, t->dtype, n);
    }
    dt_onnx_value x = dt_onnx_value_of(name, &line);
    *out = (dt_onnx_value){.name = dt_onnx_reshape(o, &x, &held).name, .type = *t, .held = held};
    return NULL;
}

/* Returns the type without its leading dimensions of size 1. */
static dt_type without_ones(const dt_type *t) {
    int ones = 0;
    while (ones < t->rank && t->dim[ones] == 1) ones++;
    return dt_type_of(t->dtype, t->rank - ones, t->dim + ones);
}

static bool is_ordered(const dt_broadcast_attr *a, int rank) {
    for (int i = 1; i < rank; i++)
        if (a->dims[i] <= a->dims[i - 1]) return false;
    return true;
}

/* Writes a broadcast as a reshape that gives new dimensions size 1. The operators that read it
 * repeat the values. */
dt_status *dt_onnx_broadcast(const dt_onnx_call *c, dt_onnx_value *out) {
    const dt_broadcast_attr *a = c->node->attr;
    const dt_onnx_value *x = &c->in[0];
    dt_type wide = c->node->type;
    if (!is_ordered(a, x->type.rank))
        return dt_onnx_no_form(c->node, "its dimensions change places");
    for (int i = 0; i < wide.rank; i++) wide.dim[i] = 1;
    for (int i = 0, missing = x->type.rank - x->held.rank; i < x->held.rank; i++)
        wide.dim[a->dims[missing + i]] = x->held.dim[i];
    dt_type from = without_ones(&x->held), to = without_ones(&wide);
    dt_onnx_value held = {.name = x->name, .type = from, .held = from};
    *out = (dt_onnx_value){
        .name = dt_onnx_reshape(c->onnx, &held, &to).name, .type = c->node->type, .held = to};
    if (dt_type_equal(&from, &to)) out->held = x->held.rank <= out->type.rank ? x->held : to;
    return NULL;
}

dt_status *dt_onnx_reshape_form(const dt_onnx_call *c, dt_onnx_value *out) {
    *out = c->in[0];
    out->type = c->node->type;
    if (out->held.rank == 0) return NULL;
    dt_onnx_value x = dt_onnx_whole(c->onnx, &c->in[0]);
    *out = dt_onnx_reshape(c->onnx, &x, &c->node->type);
    return NULL;
}

dt_status *dt_onnx_transpose_form(const dt_onnx_call *c, dt_onnx_value *out) {
    const dt_transpose_attr *a = c->node->attr;
    dt_onnx_value x = dt_onnx_whole(c->onnx, &c->in[0]);
    *out = dt_onnx_transpose(c->onnx, &x, a->perm);
    return NULL;
}

dt_status *dt_onnx_reduce(const dt_onnx_call *c, dt_onnx_value *out) {
    static const char *const ops[] = {[DT_REDUCE_SUM] = "ReduceSum",
                                      [DT_REDUCE_MAX] = "ReduceMax",
                                      [DT_REDUCE_MIN] = "ReduceMin"};
    const dt_reduce_attr *a = c->node->attr;
    dt_onnx_value x = dt_onnx_whole(c->onnx, &c->in[0]);
    int64_t axes[DT_MAX_RANK];
    int n = 0;
    for (int i = 0; i < x.type.rank; i++)
        if (a->dims >> i & 1) axes[n++] = i;
    *out = x;
    if (n > 0)
        *out = dt_onnx_value_of(
            dt_onnx_put(c->onnx, &(dt_onnx_node){.op = ops[a->kind],
                                                 .in = {x.name, dt_onnx_ints(c->onnx, axes, n)},
                                                 .attribute = {DT_ONNX_NUMBER("keepdims", 0)}}),
            &c->node->type);
    return NULL;
}

dt_status *dt_onnx_pad_form(const dt_onnx_call *c, dt_onnx_value *out) {
    const dt_pad_attr *a = c->node->attr;
    int64_t low[DT_MAX_RANK] = {0}, high[DT_MAX_RANK] = {0};
    *out = dt_onnx_whole(c->onnx, &c->in[0]);
    for (int i = 0; i < c->node->type.rank; i++) {
        if (a->dim[i].interior && c->node->type.rank == DT_MAX_RANK)
            return dt_onnx_no_form(c->node, "%d dimensions are too many to pad between elements",
                                   DT_MAX_RANK);
        *out = dt_onnx_spread(c->onnx, out, i, a->dim[i].interior, a->value);
        low[i] = a->dim[i].low;
        high[i] = a->dim[i].high;
    }
    *out = dt_onnx_pad(c->onnx, out, low, high, a->value);
    return NULL;
}

dt_status *dt_onnx_slice_form(const dt_onnx_call *c, dt_onnx_value *out) {
    const dt_slice_attr *a = c->node->attr;
    dt_onnx_value x = dt_onnx_whole(c->onnx, &c->in[0]);
    const char *name = x.name;
    for (int i = 0; i < x.type.rank; i++) {
        int64_t start = a->dim[i].start, size = a->dim[i].size, stride = a->dim[i].stride;
        if (size != x.type.dim[i])
            name = dt_onnx_slice(c->onnx, name, i, start,
                                 size > 0 ? start + (size - 1) * stride + 1 : start, stride);
    }
    *out = dt_onnx_value_of(name, &c->node->type);
    return NULL;
}

dt_status *dt_onnx_concatenate(const dt_onnx_call *c, dt_onnx_value *out) {
    const dt_axis_attr *a = c->node->attr;
    dt_onnx_node n = {.op = c->name, .attribute = {DT_ONNX_NUMBER("axis", a->axis)}};
    for (int i = 0; i < c->node->n_in; i++) n.in[i] = dt_onnx_whole(c->onnx, &c->in[i]).name;
    *out = dt_onnx_value_of(dt_onnx_put(c->onnx, &n), &c->node->type);
    return NULL;
}

dt_status *dt_onnx_reverse(const dt_onnx_call *c, dt_onnx_value *out) {
    const dt_reverse_attr *a = c->node->attr;
    *out = dt_onnx_whole(c->onnx, &c->in[0]);
    for (int i = 0; i < out->type.rank; i++)
        if (a->dims >> i & 1) out->name = dt_onnx_slice(c->onnx, out->name, i, -1, INT64_MIN, -1);
    return NULL;
}

dt_status *dt_onnx_dimension_size(const dt_onnx_call *c, dt_onnx_value *out) {
    const dt_axis_attr *a = c->node->attr;
    int64_t n = c->in[0].type.dim[a->axis];
    dt_type one = dt_scalar_type(DT_INT64);
    dt_onnx_value x =
        dt_onnx_value_of(n < 0 ? NULL : dt_onnx_scalar(c->onnx, DT_INT64, (double)n), &one);
    if (n < 0)
        x.name =
            dt_onnx_put2(c->onnx, "Squeeze", dt_onnx_rows(c->onnx, -n), dt_onnx_int(c->onnx, 0));
    *out = dt_onnx_cast(c->onnx, &x, c->node->type.dtype);
    return NULL;
}

/* ---- rows by their numbers ---- */

/* Returns input i, the row numbers of a gather, as int32 or int64. ONNX's Gather counts
 * negative numbers from the last row; in dtrain they are out of range. */
static dt_onnx_value row_numbers(const dt_onnx_call *c, int i) {
    dt_onnx_value x = dt_onnx_whole(c->onnx, &c->in[i]);
    bool known = x.type.dtype == DT_INT32 || x.type.dtype == DT_INT64;
    return known ? x : dt_onnx_cast(c->onnx, &x, DT_INT64);
}

dt_status *dt_onnx_gather(const dt_onnx_call *c, dt_onnx_value *out) {
    dt_onnx_value table = dt_onnx_whole(c->onnx, &c->in[0]), index = row_numbers(c, 1);
    const char *y = dt_onnx_put(c->onnx, &(dt_onnx_node){.op = c->name,
                                                         .in = {table.name, index.name},
                                                         .attribute = {DT_ONNX_NUMBER("axis", 0)}});
    *out = dt_onnx_value_of(y, &c->node->type);
    return NULL;
}

/* Writes a scatter_add: each row is added to a tensor of zeros. Row numbers have the shape (..,
 * 1). */
dt_status *dt_onnx_scatter_add(const dt_onnx_call *c, dt_onnx_value *out) {
    dt_onnx *o = c->onnx;
    dt_type t = c->node->type;
    dt_onnx_value x = dt_onnx_whole(o, &c->in[0]), index = dt_onnx_whole(o, &c->in[1]);
    dt_onnx_value zeros = {
        .name = dt_onnx_scalar(o, t.dtype, 0), .type = t, .held = dt_scalar_type(t.dtype)};
    index = dt_onnx_cast(o, &index, DT_INT64);
    const char *numbers = dt_onnx_put2(o, "Unsqueeze", index.name, dt_onnx_int(o, -1));
    zeros = dt_onnx_whole(o, &zeros);
    *out = dt_onnx_value_of(
        dt_onnx_put(o, &(dt_onnx_node){.op = c->name,
                                       .in = {zeros.name, numbers, x.name},
                                       .attribute = {DT_ONNX_TEXT("reduction", "add")}}),
        &t);
    return NULL;
}
