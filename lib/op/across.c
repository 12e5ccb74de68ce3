/* SPDX-License-Identifier: Apache-2.0 */
/* Shared code of collectives over devices: see across.h. */
#include "op/across.h"

#include "op/cells.h"
#include "op/shapes.h"

dt_value dt_across(dt_value x, const dt_op *op, const dt_across_attr *attr) {
    return attr->axes ? dt_emit(x.trace, op, &x, 1, attr) : x;
}

int dt_across_rank(const dt_across_attr *a, int device) {
    return dt_mesh_rank(&a->mesh, device, a->axes);
}

int dt_across_peer(const dt_across_attr *a, int device, int rank) {
    return dt_mesh_peer(&a->mesh, device, a->axes, rank);
}

typedef struct pair {
    dt_walk walk;
    int64_t at, from;
} pair;

static pair walk_block(const dt_view *out, const dt_view *in, const dt_block *b) {
    int64_t to[DT_MAX_RANK], of[DT_MAX_RANK];
    pair p = {0};
    dt_strides(&out->type, to);
    dt_strides(&in->type, of);
    for (int d = 0; d < out->type.rank; d++) {
        dt_walk_add(&p.walk, b->size[d], to[d], of[d]);
        p.at += b->at[d] * to[d];
        p.from += b->from[d] * of[d];
    }
    return p;
}

void dt_copy_block(const dt_view *out, const dt_view *in, const dt_block *b) {
    pair p = walk_block(out, in, b);
    for (int64_t i = 0, n = dt_walk_count(&p.walk); i < n; i++, dt_walk_next(&p.walk))
        dt_cell_copy(out, p.at + p.walk.at[0], in, p.from + p.walk.at[1]);
}

static double joined(double a, double b, int kind) {
    return kind == DT_REDUCE_SUM   ? a + b
           : kind == DT_REDUCE_MAX ? dt_double_max(a, b)
                                   : dt_double_min(a, b);
}

static int64_t joined_ints(int64_t a, int64_t b, int kind) {
    return kind == DT_REDUCE_SUM ? dt_int_add(a, b) : (kind == DT_REDUCE_MAX) == (a > b) ? a : b;
}

void dt_join_block(const dt_view *out, const dt_view *in, const dt_block *b, int kind) {
    pair p = walk_block(out, in, b);
    bool is_float = dt_dtype_is_float(out->type.dtype);
    for (int64_t i = 0, n = dt_walk_count(&p.walk); i < n; i++, dt_walk_next(&p.walk)) {
        int64_t y = p.at + p.walk.at[0], x = p.from + p.walk.at[1];
        if (is_float)
            dt_cell_set_double(out, y, joined(dt_cell_double(out, y), dt_cell_double(in, x), kind));
        else dt_cell_set_int(out, y, joined_ints(dt_cell_int(out, y), dt_cell_int(in, x), kind));
    }
}

dt_block dt_whole_block(const dt_type *x) {
    dt_block b = {0};
    for (int d = 0; d < x->rank; d++) b.size[d] = x->dim[d];
    return b;
}

dt_value dt_part_of(dt_value x, int dim, int part, int parts) {
    dt_type t = dt_type_of_value(x);
    if (parts == 1) return x;
    if (!dt_is_batch(&t, dim))
        return dt_slice_axis(x, dim, part * (t.dim[dim] / parts), t.dim[dim] / parts, 1);
    dt_across_attr attr = {.dim = part, .to = parts};
    return dt_emit(x.trace, &dt_op_across_rows_part, &x, 1, &attr);
}

static dt_value join_rows(dt_value a, dt_value b) {
    dt_across_attr attr = {0};
    return dt_emit(a.trace, &dt_op_across_rows_join, (dt_value[]){a, b}, 2, &attr);
}

dt_value dt_join_parts(const dt_value *x, int n, int dim) {
    dt_type t = dt_type_of_value(x[0]);
    dt_value y = x[0];
    if (!dt_is_batch(&t, dim)) return dt_concatenate(x, n, dim);
    for (int i = 1; i < n; i++) y = join_rows(y, x[i]);
    return y;
}

dt_value dt_reduce_pair(dt_value a, dt_value b, int kind) {
    return kind == DT_REDUCE_SUM   ? dt_add(a, b)
           : kind == DT_REDUCE_MAX ? dt_maximum(a, b)
                                   : dt_minimum(a, b);
}

void dt_across_print(const void *attr, dt_str *out) {
    const dt_across_attr *a = attr;
    dt_str_puts(out, "over ");
    dt_mesh_print_axes(a->axes, out);
}

void dt_across_print_dim(const void *attr, dt_str *out) {
    dt_across_print(attr, out);
    dt_str_printf(out, " dim=%d", ((const dt_across_attr *)attr)->dim);
}

dt_status *dt_across_infer_part(dt_infer *q) {
    const dt_across_attr *a = q->attr;
    q->out = q->in[0];
    q->out.dim[a->dim] /= dt_mesh_parts(&a->mesh, a->axes);
    return NULL;
}

double dt_across_bytes_of_others(const dt_across_attr *a, const dt_type *in) {
    double n = dt_mesh_parts(&a->mesh, a->axes);
    return (double)dt_type_bytes(in) * (n - 1) / n;
}

double dt_across_bytes_none(const dt_across_attr *a, const dt_type *in) {
    (void)a, (void)in;
    return 0;
}
