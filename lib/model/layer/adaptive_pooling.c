/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AdaptiveAveragePooling and AdaptiveMaxPooling: pool every spatial dimension to `output_size`
 * positions. Position i of n covers the elements from floor(i * size / n) up to, but without,
 * ceil((i + 1) * size / n), so windows may overlap and may differ in size by one element.
 *
 *     (B, ..., channels) to (B, output_size, channels)
 *
 * Equal maxima share the gradient equally; Keras on TensorFlow gives it to the first one.
 */
#include "model/layer/spatial.h"

struct adaptive {
    dt_layer_head head;
    dt_ints output_size;
    int data_format;
};

static const dt_field fields[] = {
    DT_SIZES(struct adaptive, output_size, .min = 1, .required = true,
             .help = "size of the output: a number, or one per dimension"),
    DT_DATA_FORMAT(struct adaptive), DT_LAYER_FIELDS(struct adaptive), DT_END};

static dt_status *build(dt_layer_build *b, const char *kind, int n) {
    const struct adaptive *p = b->args;
    int64_t size[DT_MAX_SPATIAL];
    DT_TRY(dt_wants_space(b, kind, n));
    DT_TRY(dt_sizes_of(b, "output_size", &p->output_size, n, NULL, size));
    b->out = b->in;
    b->out_mask = false;
    for (int i = 0; i < n; i++) b->out.dim[i + 1] = size[i];
    return NULL;
}

/* Emits int64 values (out, in). All values in row r are (r + more) * in / out, rounded down if `up`
 * is 0 and up if it is out - 1. */
static dt_value edge(dt_trace *t, const dt_type *type, int64_t more, int64_t up) {
    dt_value i = dt_iota(t, type, 0);
    dt_value at =
        dt_multiply(dt_add(i, dt_like(i, (double)more)), dt_like(i, (double)type->dim[1]));
    return dt_divide(dt_add(at, dt_like(at, (double)up)), dt_like(at, (double)type->dim[0]));
}

typedef struct windows {
    /* Two values (out, in): whether a window covers an element, as bools, and the window's size, as
     * int64. */
    dt_value sees, size;
} windows;

static windows windows_of(dt_trace *t, int64_t out, int64_t in) {
    const dt_type type = dt_type_of(DT_INT64, 2, (int64_t[]){out, in});
    dt_value begin = edge(t, &type, 0, 0), end = edge(t, &type, 1, out - 1),
             j = dt_iota(t, &type, 1);
    return (windows){dt_minimum(dt_compare(j, begin, DT_GE), dt_compare(j, end, DT_LT)),
                     dt_subtract(end, begin)};
}

/* Emits the mean over the windows of dimension d, as a product with the weights of the elements. */
static dt_value average(dt_value x, int d, int64_t out) {
    const dt_type t = dt_type_of_value(x);
    const windows w = windows_of(x.trace, out, t.dim[d]);
    const dt_dot_attr dot = {.n_contract = 1, .lhs_contract = {(int8_t)d}, .rhs_contract = {1}};
    dt_value share = dt_divide(dt_convert(w.sees, t.dtype), dt_convert(w.size, t.dtype));
    int perm[DT_MAX_RANK];
    for (int i = 0; i < t.rank; i++) perm[i] = i < d ? i : i == d ? t.rank - 1 : i - 1;
    return dt_transpose(dt_dot_general(x, share, &dot), perm);
}

/* Emits the maximum over windows of dimension d, which all have the same size and do not overlap:
 * the dimension is split into (windows, size), and the second is reduced. */
static dt_value even_maximum(dt_value x, int d, int64_t out) {
    const dt_type t = dt_type_of_value(x);
    dt_type two = t;
    for (int i = t.rank; i > d + 1; i--) two.dim[i] = t.dim[i - 1];
    two.rank++;
    two.dim[d] = out;
    two.dim[d + 1] = t.dim[d] / out;
    return dt_reduce(dt_reshape(x, two.rank, two.dim), DT_REDUCE_MAX, 1u << (d + 1));
}

/* Emits the maximum over windows of dimension d. If windows overlap or differ in size, x is
 * repeated for each window, and elements outside of the window are replaced by minus infinity. */
static dt_value maximum(dt_value x, int d, int64_t out) {
    const dt_type t = dt_type_of_value(x);
    if (t.dim[d] % out == 0) return even_maximum(x, d, out);
    const windows w = windows_of(x.trace, out, t.dim[d]);
    dt_type wide = t;
    int8_t dims[DT_MAX_RANK] = {0};
    wide.dim[wide.rank++] = 0;
    for (int i = 0; i < t.rank; i++) {
        dims[i] = (int8_t)(i < d ? i : i + 1);
        wide.dim[dims[i]] = t.dim[i];
    }
    wide.dim[d] = out;
    dt_value all = dt_broadcast_in_dim(x, &wide, dims);
    wide.dtype = DT_BOOL;
    dt_value sees = dt_broadcast_in_dim(w.sees, &wide, (int8_t[]){(int8_t)d, (int8_t)(d + 1)});
    return dt_reduce(dt_select(sees, all, dt_like(all, -INFINITY)), DT_REDUCE_MAX, 1u << (d + 1));
}

static dt_value pool(const dt_layer_call *c, dt_value (*over)(dt_value, int, int64_t)) {
    dt_value y = c->x;
    for (int d = 1; d < c->out->rank - 1 && y.trace; d++)
        if (dt_type_of_value(y).dim[d] != c->out->dim[d]) y = over(y, d, c->out->dim[d]);
    return y;
}

static dt_value call_average(const dt_layer_call *c) { return pool(c, average); }
static dt_value call_max(const dt_layer_call *c) { return pool(c, maximum); }

#define POOLING(n, kind_, name, about, call_)                                                      \
    DT_LAYER_OF_RANK_WITH(n, kind_, NULL, name, about, struct adaptive, fields, build, call_, false)
POOLING(1, "AdaptiveAveragePooling1D", adaptive_average_pooling1d,
        "means of steps, for a given number of places", call_average)
POOLING(2, "AdaptiveAveragePooling2D", adaptive_average_pooling2d,
        "means of images, for a given size", call_average)
POOLING(3, "AdaptiveAveragePooling3D", adaptive_average_pooling3d,
        "means of volumes, for a given size", call_average)
POOLING(1, "AdaptiveMaxPooling1D", adaptive_max_pooling1d,
        "largest values of steps, for a given number of places", call_max)
POOLING(2, "AdaptiveMaxPooling2D", adaptive_max_pooling2d,
        "largest values of images, for a given size", call_max)
POOLING(3, "AdaptiveMaxPooling3D", adaptive_max_pooling3d,
        "largest values of volumes, for a given size", call_max)
