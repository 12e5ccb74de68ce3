/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builders: functions that emit nodes, so that code reads like formulas. Those of dtrain.h do what
 * NumPy does (broadcasting, negative axes); those of op.h usually emit one node. A builder given
 * the value of a failed call, or inputs that do not fit, makes the trace fail and returns no value,
 * so callers need not check in between. (dt_positions, and dt_concatenate of no values, only return
 * no value: the op that reads it then fails.)
 *
 * Broadcasting is always a separate node (broadcast_in_dim), whose row has its gradient, so
 * element-wise ops have no rule for it.
 */
#include <string.h>

#include "op/op.h"
#include "op/shapes.h"

static const dt_value none = {0};

static dt_value emit1(const dt_op *op, dt_value x, const void *attr) {
    return dt_emit(x.trace, op, &x, 1, attr);
}

static dt_value emit2(const dt_op *op, dt_value a, dt_value b, const void *attr) {
    return dt_emit(a.trace ? a.trace : b.trace, op, (dt_value[]){a, b}, 2, attr);
}

static dt_value fail(dt_trace *t, dt_status *s) {
    dt_trace_fail(t, s);
    return none;
}

/* ---- sources ---- */

dt_value dt_splat(dt_trace *t, const dt_type *type, double value) {
    dt_constant_attr attr = {*type, value};
    return dt_emit(t, &dt_op_constant, NULL, 0, &attr);
}

dt_value dt_scalar(dt_trace *t, dt_dtype dtype, double value) {
    if (!dt_dtype_is_known(dtype))
        return fail(t, dt_fail(DT_E_MISUSE, NULL, "dt_scalar: unknown dtype %d", (int)dtype));
    dt_type type = dt_scalar_type(dtype);
    return dt_splat(t, &type, value);
}

dt_value dt_like(dt_value x, double value) {
    dt_type type = dt_type_of_value(x);
    return dt_splat(x.trace, &type, value);
}

dt_value dt_constant(dt_trace *t, double value) { return dt_scalar(t, DT_FLOAT32, value); }

dt_value dt_iota(dt_trace *t, const dt_type *type, int axis) {
    dt_iota_attr attr = {*type, axis};
    return dt_emit(t, &dt_op_iota, NULL, 0, &attr);
}

dt_value dt_num_replicas(dt_trace *t) { return dt_scalar(t, DT_INT32, dt_trace_replicas(t)); }

dt_value dt_replica_id(dt_trace *t) { return dt_emit(t, &dt_op_replica_id, NULL, 0, NULL); }

/* ---- dtypes, shapes and annotations ---- */

dt_value dt_convert(dt_value x, dt_dtype dtype) {
    if (dt_type_of_value(x).dtype == dtype) return x;
    dt_convert_attr attr = {dtype};
    return emit1(&dt_op_convert, x, &attr);
}

dt_value dt_broadcast_in_dim(dt_value x, const dt_type *type, const int8_t *dims) {
    dt_type from = dt_type_of_value(x);
    dt_broadcast_attr attr = {.type = *type};
    attr.type.dtype = from.dtype;
    for (int i = 0; i < DT_MAX_RANK; i++) attr.dims[i] = i < from.rank ? dims[i] : -1;
    return emit1(&dt_op_broadcast_in_dim, x, &attr);
}

/* Broadcasts x to `type`; the first dimension of x becomes dimension `first` of the type. */
static dt_value broadcast_at(dt_value x, const dt_type *type, int first) {
    dt_type from = dt_type_of_value(x);
    if (dt_type_same_shape(&from, type)) return x;
    int8_t dims[DT_MAX_RANK] = {0};
    for (int i = 0; i < from.rank; i++) dims[i] = (int8_t)(first + i);
    return dt_broadcast_in_dim(x, type, dims);
}

static dt_status *too_flat(const dt_type *from, const dt_type *to) {
    return dt_fail(DT_E_MODEL_SHAPE, NULL, "cannot broadcast %s to %s, which has fewer dimensions",
                   dt_text_of(from).s, dt_text_of(to).s);
}

dt_value dt_broadcast_to(dt_value x, const dt_type *type) {
    dt_type from = dt_type_of_value(x);
    if (from.rank > type->rank) return fail(x.trace, too_flat(&from, type));
    return broadcast_at(x, type, type->rank - from.rank);
}

dt_value dt_broadcast_rows(dt_value x, const dt_type *type) {
    dt_type from = dt_type_of_value(x);
    if (from.rank > type->rank) return fail(x.trace, too_flat(&from, type));
    return broadcast_at(x, type, 0);
}

dt_value dt_reshape(dt_value x, int rank, const int64_t *dim) {
    if (rank < 0 || rank > DT_MAX_RANK || (!dim && rank > 0))
        return fail(x.trace,
                    dt_fail(DT_E_MODEL_SHAPE, NULL, "dt_reshape needs 0 to %d sizes, got %d%s",
                            DT_MAX_RANK, rank, dim ? "" : " and no array"));
    dt_type from = dt_type_of_value(x);
    dt_reshape_attr attr = {dt_type_of(from.dtype, rank, dim)};
    return dt_type_equal(&from, &attr.type) ? x : emit1(&dt_op_reshape, x, &attr);
}

dt_value dt_annotate(dt_value x, const dt_sharding_attr *attr) {
    const dt_node *n = dt_node_of(x);
    bool is_noted = n && n->op->role == DT_ROLE_NOTE && memcmp(n->attr, attr, sizeof *attr) == 0;
    return is_noted ? x : emit1(&dt_op_sharding, x, attr);
}

dt_value dt_transpose(dt_value x, const int *perm) {
    dt_transpose_attr attr = {.perm = {0}};
    bool moves = false;
    const int rank = dt_type_of_value(x).rank;
    if (!perm && rank > 0) return fail(x.trace, dt_want(NULL, "dt_transpose", "permutation"));
    for (int i = 0; i < rank; i++) {
        attr.perm[i] = (int8_t)(perm[i] >= 0 && perm[i] < rank ? perm[i] : -1);
        moves |= perm[i] != i;
    }
    return moves ? emit1(&dt_op_transpose, x, &attr) : x;
}

/* Returns the axis counted from the front. If x does not have that axis, makes the trace fail and
 * returns -1. */
static int value_axis(dt_value x, int axis) {
    dt_type type = dt_type_of_value(x);
    int found = axis < 0 ? axis + type.rank : axis;
    if (found >= 0 && found < type.rank) return found;
    dt_trace_fail(x.trace,
                  dt_fail(DT_E_MODEL_SHAPE, NULL, "axis %d is out of range for a value of type %s",
                          axis, dt_text_of(&type).s));
    return -1;
}

int64_t dt_dim(dt_value x, int axis) {
    int found = value_axis(x, axis);
    if (found < 0) return 0;
    int64_t size = dt_type_of_value(x).dim[found];
    return size < 0 ? -1 : size;
}

dt_value dt_dim_value(dt_value x, int axis) {
    int found = value_axis(x, axis);
    if (found < 0) return none;
    int64_t size = dt_type_of_value(x).dim[found];
    if (size >= 0) return dt_scalar(x.trace, DT_INT32, (double)size);
    dt_axis_attr attr = {found};
    return emit1(&dt_op_get_dimension_size, x, &attr);
}

/* ---- element by element ---- */

/* Joins two sizes by NumPy's rule: they are equal, or one of them is 1. Returns false for other
 * sizes. */
static bool join_sizes(int64_t a, int64_t b, int64_t *out) {
    *out = a == 1 ? b : a;
    return a == b || a == 1 || b == 1;
}

/* Sets *out to the shape that a and b are broadcast to. Returns false if they cannot be broadcast
 * to one shape. */
static bool join_shapes(const dt_type *a, const dt_type *b, dt_type *out) {
    *out = (dt_type){.dtype = a->dtype, .rank = a->rank > b->rank ? a->rank : b->rank};
    for (int i = 1; i <= out->rank; i++) {
        int64_t from_a = i <= a->rank ? a->dim[a->rank - i] : 1;
        int64_t from_b = i <= b->rank ? b->dim[b->rank - i] : 1;
        if (!join_sizes(from_a, from_b, &out->dim[out->rank - i])) return false;
    }
    return true;
}

static dt_status *cannot_join(const char *op, const dt_type *a, const dt_type *b) {
    const char *why =
        a->dtype != b->dtype ? "different dtypes; convert one" : "shapes that do not broadcast";
    return dt_fail(DT_E_MODEL_SHAPE, NULL, "%s cannot combine %s and %s: %s", op, dt_text_of(a).s,
                   dt_text_of(b).s, why);
}

static dt_value broadcast2(const dt_op *op, dt_value a, dt_value b, const void *attr) {
    dt_type left = dt_type_of_value(a), right = dt_type_of_value(b), type;
    if (!a.trace || !b.trace || a.trace != b.trace)
        /* dt_emit reports values that are missing or belong to different traces */
        return emit2(op, a, b, attr);
    if (left.dtype != right.dtype || !join_shapes(&left, &right, &type))
        return fail(a.trace, cannot_join(op->name, &left, &right));
    return emit2(op, dt_broadcast_to(a, &type), dt_broadcast_to(b, &type), attr);
}

#define DT_UNARY(name)                                                                             \
    dt_value dt_##name(dt_value x) { return emit1(&dt_op_##name, x, NULL); }
#define DT_BINARY(name)                                                                            \
    dt_value dt_##name(dt_value a, dt_value b) { return broadcast2(&dt_op_##name, a, b, NULL); }
#include "op/ops.h"

dt_value dt_compare(dt_value a, dt_value b, dt_direction direction) {
    dt_compare_attr attr = {direction};
    return broadcast2(&dt_op_compare, a, b, &attr);
}

dt_value dt_select(dt_value pred, dt_value a, dt_value b) {
    dt_value in[] = {pred, a, b};
    dt_trace *t = pred.trace ? pred.trace : a.trace ? a.trace : b.trace;
    const dt_type p = dt_type_of_value(pred), left = dt_type_of_value(a),
                  right = dt_type_of_value(b);
    dt_type joined, type;
    if (pred.trace == t && a.trace == t && b.trace == t && join_shapes(&left, &right, &joined) &&
        join_shapes(&joined, &p, &type))
        for (int i = 0; i < 3; i++) in[i] = dt_broadcast_to(in[i], &type);
    /* if the values could not be broadcast, dt_emit makes the trace fail with the op's error */
    return dt_emit(t, &dt_op_select, in, 3, NULL);
}

dt_value dt_clamp(dt_value x, double low, double high) {
    return dt_minimum(dt_maximum(x, dt_like(x, low)), dt_like(x, high));
}

/* ---- products, reductions and others ---- */

dt_value dt_dot_general(dt_value a, dt_value b, const dt_dot_attr *attr) {
    return emit2(&dt_op_dot_general, a, b, attr);
}

static dt_status *cannot_multiply(const dt_type *a, const dt_type *b) {
    return dt_fail(DT_E_MODEL_SHAPE, NULL, "matmul takes (..., m, k) and (k, n), got %s and %s",
                   dt_text_of(a).s, dt_text_of(b).s);
}

dt_value dt_matmul(dt_value a, dt_value b) {
    /* a is (..., m, k) and b is (k, n) */
    dt_type left = dt_type_of_value(a), right = dt_type_of_value(b);
    if (a.trace && b.trace &&
        (left.rank < 2 || right.rank != 2 || left.dim[left.rank - 1] != right.dim[0]))
        return fail(a.trace, cannot_multiply(&left, &right));
    dt_dot_attr attr = {
        .n_contract = 1, .lhs_contract = {(int8_t)(left.rank - 1)}, .rhs_contract = {0}};
    return dt_dot_general(a, b, &attr);
}

dt_value dt_reduce(dt_value x, dt_reduce_kind kind, uint32_t dims) {
    dt_reduce_attr attr = {kind, dims};
    return dims ? emit1(&dt_op_reduce, x, &attr) : x;
}

/* Finds the dimensions that `axis` selects: all for DT_NO_AXIS. Returns false if the axis is out of
 * range. */
static bool find_dims(dt_value x, int axis, uint32_t *dims) {
    int found = axis == DT_NO_AXIS ? 0 : value_axis(x, axis);
    *dims =
        axis == DT_NO_AXIS ? (1u << dt_type_of_value(x).rank) - 1 : 1u << (found < 0 ? 0 : found);
    return found >= 0;
}

static dt_value reduce_along(dt_value x, dt_reduce_kind kind, int axis) {
    uint32_t dims;
    return find_dims(x, axis, &dims) ? dt_reduce(x, kind, dims) : none;
}

dt_value dt_reduce_sum(dt_value x, int axis) { return reduce_along(x, DT_REDUCE_SUM, axis); }

dt_value dt_as_float(dt_value x) {
    dt_dtype d = dt_type_of_value(x).dtype;
    if (dt_dtype_is_float(d) || d == DT_BOOL) return x;
    return dt_convert(x, dt_dtype_size(d) < 4 ? DT_FLOAT32 : DT_FLOAT64);
}

/* Emits the number of elements of x that a reduction over `dims` joins, as a scalar of x's dtype:
 * the product of the sizes, of which those that depend on the batch are read when the step runs. */
static dt_value count_reduced(dt_value x, uint32_t dims) {
    dt_type type = dt_type_of_value(x);
    dt_value count = none;
    double known = 1;
    for (int i = 0; i < type.rank; i++) {
        if (!(dims >> i & 1)) continue;
        if (type.dim[i] >= 0) {
            known *= (double)type.dim[i];
        } else {
            dt_value size = dt_convert(dt_dim_value(x, i), type.dtype);
            count = count.trace ? dt_multiply(count, size) : size;
        }
    }
    if (count.trace && known == 1) return count;
    dt_value constant = dt_scalar(x.trace, type.dtype, known);
    return count.trace ? dt_multiply(count, constant) : constant;
}

dt_value dt_reduce_mean(dt_value x, int axis) {
    uint32_t dims;
    x = dt_as_float(x);
    if (!find_dims(x, axis, &dims)) return none;
    return dt_divide(dt_reduce(x, DT_REDUCE_SUM, dims), count_reduced(x, dims));
}

dt_value dt_reduce_max(dt_value x, int axis) { return reduce_along(x, DT_REDUCE_MAX, axis); }

dt_value dt_reduce_min(dt_value x, int axis) { return reduce_along(x, DT_REDUCE_MIN, axis); }

dt_value dt_argmax(dt_value x, int axis) {
    int found = value_axis(x, axis);
    if (found < 0) return none;
    dt_axis_attr attr = {found};
    return emit1(&dt_op_argmax, x, &attr);
}

dt_value dt_gather(dt_value table, dt_value index) {
    return emit2(&dt_op_gather, table, index, NULL);
}

dt_value dt_one_hot(dt_value index, int64_t depth, dt_dtype dtype) {
    const dt_type type = dt_type_of_value(index);
    int64_t dim[DT_MAX_RANK + 1];
    if (depth < 1 || depth > INT32_MAX || type.rank >= DT_MAX_RANK ||
        dt_dtype_is_float(type.dtype) || type.dtype == DT_BOOL)
        return fail(index.trace,
                    dt_fail(DT_E_MODEL_SHAPE, NULL,
                            "dt_one_hot needs integers and a depth of at least 1, got %s and %lld",
                            dt_text_of(&type).s, (long long)depth));
    memcpy(dim, type.dim, sizeof type.dim);
    dim[type.rank] = 1;
    const dt_type line = dt_type_of(type.dtype, 1, &depth);
    /* the index, reshaped to (..., 1), is compared with the numbers 0 to depth - 1 */
    const dt_value column = dt_reshape(index, type.rank + 1, dim);
    return dt_convert(dt_compare(column, dt_iota(index.trace, &line, 0), DT_EQ), dtype);
}

dt_value dt_scatter_add(dt_value x, dt_value index, int64_t rows) {
    dt_rows_attr attr = {rows};
    return emit2(&dt_op_scatter_add, x, index, &attr);
}

dt_value dt_example_id(dt_trace *t) { return dt_emit(t, &dt_op_example_id, NULL, 0, NULL); }

dt_value dt_random_numbers(dt_value step, const dt_random_attr *attr) {
    return emit2(&dt_op_random, step, dt_example_id(step.trace), attr);
}

static dt_value random_like(dt_value x, dt_value counter, uint64_t seed, dt_random_kind kind) {
    const dt_type like = dt_type_of_value(x), count = dt_type_of_value(counter);
    if (!dt_dtype_is_float(like.dtype) || !dt_type_has_batch(&like) || count.rank != 0 ||
        count.dtype != DT_INT64)
        return fail(x.trace, dt_fail(DT_E_MODEL_SHAPE, NULL,
                                     "random numbers need floats with a batch and a counter that "
                                     "is an int64 scalar, got %s and %s",
                                     dt_text_of(&like).s, dt_text_of(&count).s));
    const dt_random_attr attr = {.type = like, .kind = kind, .key = seed};
    return dt_random_numbers(counter, &attr);
}

dt_value dt_stateless_uniform(dt_value x, dt_value counter, uint64_t seed) {
    return random_like(x, counter, seed, DT_RANDOM_UNIFORM);
}

dt_value dt_stateless_normal(dt_value x, dt_value counter, uint64_t seed) {
    return random_like(x, counter, seed, DT_RANDOM_NORMAL);
}

dt_value dt_softmax_cross_entropy(dt_value logits, dt_value target) {
    return emit2(&dt_op_softmax_cross_entropy, logits, target, NULL);
}

/* ---- composites ---- */

dt_value dt_positions(dt_value query) {
    dt_type t = dt_type_of_value(query);
    if (t.rank < 3) return (dt_value){0};
    dt_type one = dt_type_of(DT_INT32, t.rank - 2, t.dim);
    return dt_iota(query.trace, &one, t.rank - 3);
}

dt_value dt_attention(dt_value query, dt_value key, dt_value value, const dt_attention_how *how) {
    dt_attention_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.scale = how->scale;
    attr.window = how->window;
    attr.sinks = how->sinks;
    attr.causal = how->causal;
    dt_value position = how->position.trace ? how->position : dt_positions(query);
    return dt_emit(query.trace, &dt_op_attention, (dt_value[]){query, key, value, position}, 4,
                   &attr);
}

dt_value dt_layer_norm(dt_value x, dt_value gamma, dt_value beta, double epsilon) {
    return dt_emit(x.trace, &dt_op_layer_norm, (dt_value[]){x, gamma, beta}, 3,
                   &(dt_norm_attr){epsilon});
}

dt_value dt_gelu(dt_value x, bool approximate) {
    return dt_emit(x.trace, &dt_op_gelu, &x, 1, &(dt_gelu_attr){approximate});
}

/* ---- spatial ops, and moves of elements ---- */

dt_value dt_pad(dt_value x, const dt_pad_attr *attr) {
    bool pads = false;
    for (int d = 0; d < DT_MAX_RANK; d++)
        pads |= attr->dim[d].low || attr->dim[d].high || attr->dim[d].interior;
    return pads ? dt_emit(x.trace, &dt_op_pad, &x, 1, attr) : x;
}

dt_value dt_slice_axis(dt_value x, int axis, int64_t start, int64_t size, int64_t stride) {
    dt_type type = dt_type_of_value(x);
    dt_slice_attr a;
    const int along = value_axis(x, axis);
    if (along < 0) return (dt_value){0};
    memset(&a, 0, sizeof a);
    for (int d = 0; d < type.rank; d++) {
        bool is_axis = d == along;
        a.dim[d].start = is_axis ? start : 0;
        a.dim[d].size = is_axis ? size : type.dim[d];
        a.dim[d].stride = is_axis ? stride : 1;
    }
    return dt_emit(x.trace, &dt_op_slice, &x, 1, &a);
}

/* Concatenates n values by halves, so that each value is copied about log2(n) times instead of up
 * to n times. */
static dt_value join(const dt_value *x, int n, int axis) {
    dt_axis_attr a = {axis};
    if (n == 1) return x[0];
    dt_value in[2] = {join(x, n / 2, axis), join(x + n / 2, n - n / 2, axis)};
    return dt_emit(in[0].trace ? in[0].trace : in[1].trace, &dt_op_concatenate, in, 2, &a);
}

dt_value dt_concatenate(const dt_value *x, int n, int axis) {
    const int along = x && n > 0 ? value_axis(x[0], axis) : -1;
    return along < 0 ? (dt_value){0} : join(x, n, along);
}

dt_value dt_reverse(dt_value x, uint32_t dims) {
    dt_reverse_attr a = {dims};
    return dims ? dt_emit(x.trace, &dt_op_reverse, &x, 1, &a) : x;
}

dt_value dt_convolution(dt_value lhs, dt_value rhs, const dt_convolution_attr *attr) {
    return dt_emit(lhs.trace ? lhs.trace : rhs.trace, &dt_op_convolution, (dt_value[]){lhs, rhs}, 2,
                   attr);
}

dt_convolution_attr dt_convolution_channels_last(int n_spatial) {
    dt_convolution_attr a;
    memset(&a, 0, sizeof a);
    a.n_spatial = (int8_t)n_spatial;
    a.lhs_feature = a.out_feature = a.rhs_out = (int8_t)(n_spatial + 1);
    a.rhs_in = (int8_t)n_spatial;
    a.feature_groups = a.batch_groups = 1;
    for (int i = 0; i < n_spatial; i++) {
        a.lhs_spatial[i] = a.out_spatial[i] = (int8_t)(i + 1);
        a.rhs_spatial[i] = (int8_t)i;
        a.window[i] = DT_WINDOW_ONE;
    }
    return a;
}

dt_value dt_reduce_window(dt_value x, const dt_reduce_window_attr *attr) {
    return dt_emit(x.trace, &dt_op_reduce_window, &x, 1, attr);
}

dt_reduce_window_attr dt_windows_of_one(dt_reduce_kind kind, int rank) {
    dt_reduce_window_attr a;
    memset(&a, 0, sizeof a);
    a.kind = kind;
    for (int d = 0; d < rank; d++) {
        a.size[d] = 1;
        a.window[d] = DT_WINDOW_ONE;
    }
    return a;
}
