/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives over the devices of a mesh: the ops that a partitioned program has besides those of
 * op/ops.h. One file each in op/across, one row in op/acrosses.h. All have `eval`; those with a
 * dt_across_row also `plain`, which must agree with it, and `bytes`:
 *
 *   eval    for the interpreter, which runs all devices in lockstep: in[d] is the value on device
 *           d (without the trait `collective`, in[k] is input k on the device itself),
 *           env->replica the device whose result is computed
 *   plain   for one memory space, where the values of all devices can be read: slices, joins and
 *           sums (pass/spmd/expand.c)
 *   bytes   the most bytes that a device receives over links
 */
#ifndef DT_OP_ACROSS_H
#define DT_OP_ACROSS_H

#include "op/mesh.h"
#include "op/op.h"
#include "op/shapes.h"

#define DT_ACROSS(name) extern const dt_op dt_op_across_##name;
#include "op/acrosses.h"
#undef DT_ACROSS

/* The attributes of all these ops. Each op uses some of the members. */
typedef struct dt_across_attr {
    dt_mesh mesh;
    /* the axes along which devices form groups: devices of a group have equal coordinates on all
     * other axes */
    dt_mesh_axes axes;
    int32_t kind; /* for sums, maxima and minima: a dt_reduce_kind */
    /* indices of dimensions; in some ops each is a device, a part or a count, as the comment at the
     * top of the op's file says */
    int32_t dim, to;
    /* always 0, so that the struct has no padding and attributes can be compared byte by byte */
    int32_t unused;
    /* for collective_permute: the number of elements from lower and from higher neighbours; `low`
     * has another meaning in own_start and gather_part, as the comments at the top of their files
     * say */
    int64_t low, high;
    /* for collective_permute: what is added to the distance from the beginning of one device's
     * range to that of the next, which without it is the number of elements that a device holds */
    int64_t drift;
    /* for collective_permute: the value of elements that lie before the first device's part or
     * after the last device's */
    double fill;
} dt_across_attr;
_Static_assert(sizeof(dt_across_attr) == sizeof(dt_mesh) + sizeof(dt_mesh_axes) +
                                             4 * sizeof(int32_t) + 3 * sizeof(int64_t) +
                                             sizeof(double),
               "gaps");

/* The inputs of a collective as values of a single trace that computes all devices, to emit the
 * result of one device. */
typedef struct dt_plain_call {
    dt_trace *trace;
    const dt_node *node;
    /* [devices] the value of the op's input on each device; NULL if the op has no input */
    const dt_value *in;
    int device;
} dt_plain_call;

/* The kind of exchange, which selects rows in tables of costs and of compilers' names. The kinds
 * from DT_ACROSS_KINDS on have no rows there. */
typedef enum dt_across_kind {
    DT_ACROSS_ALL_REDUCE,
    DT_ACROSS_ALL_GATHER,
    DT_ACROSS_REDUCE_SCATTER,
    DT_ACROSS_ALL_TO_ALL,
    DT_ACROSS_COLLECTIVE_PERMUTE,
    DT_ACROSS_KINDS,
    DT_ACROSS_TRANSFER = DT_ACROSS_KINDS,
    DT_ACROSS_NOTHING
} dt_across_kind;

/* The members that only rows of ops over devices have. */
struct dt_across_row {
    dt_across_kind kind;
    dt_value (*plain)(const dt_plain_call *c);
    /* Returns the most bytes that a device receives if its input has the concrete type `in`. */
    double (*bytes)(const dt_across_attr *a, const dt_type *in);
};

/* Returns the kind of exchange of a node; DT_ACROSS_NOTHING if its op sends nothing, or has no
 * dt_across_row. */
static inline dt_across_kind dt_across_kind_of(const dt_node *n) {
    return n->op->across ? n->op->across->kind : DT_ACROSS_NOTHING;
}
/* Whether the op reduces values over devices, by a sum, a maximum or a minimum. */
static inline bool dt_across_sums(const dt_node *n) {
    return dt_across_kind_of(n) == DT_ACROSS_ALL_REDUCE ||
           dt_across_kind_of(n) == DT_ACROSS_REDUCE_SCATTER;
}

/* Emits the op with these attributes, or returns x if attr->axes is empty. */
dt_value dt_across(dt_value x, const dt_op *op, const dt_across_attr *attr);

/* dt_across_rank returns the rank of `device` in its group of devices along the axes; the other
 * function returns the device that has a given rank in that group. */
int dt_across_rank(const dt_across_attr *a, int device);
int dt_across_peer(const dt_across_attr *a, int device, int rank);
/* A range of cells in each dimension: dt_copy_block copies `size` cells, out[at ..] = in[from
 * ..]. */
typedef struct dt_block {
    int64_t at[DT_MAX_RANK], from[DT_MAX_RANK], size[DT_MAX_RANK];
} dt_block;
void dt_copy_block(const dt_view *out, const dt_view *in, const dt_block *b);
/* Returns the block that covers all of x, with `at` and `from` 0. */
dt_block dt_whole_block(const dt_type *x);
/* Combines a block of cells with those that `out` has: out[at ..] = kind(out[at ..], in[from ..]),
 * where `kind` is a dt_reduce_kind. */
void dt_join_block(const dt_view *out, const dt_view *in, const dt_block *b, int kind);
/* Print the attributes as text: only the axes, or the axes and `dim`. */
void dt_across_print(const void *attr, dt_str *out);
void dt_across_print_dim(const void *attr, dt_str *out);
/* For `infer`: the result is one device's part of the input along `dim`. */
dt_status *dt_across_infer_part(dt_infer *q) DT_MUST_USE;
/* Functions for `bytes`, for n devices in a group: of ops in which a device receives (n - 1) / n of
 * the bytes of its input, a part from each other device; and of ops in which it receives
 * nothing. */
double dt_across_bytes_of_others(const dt_across_attr *a, const dt_type *in);
double dt_across_bytes_none(const dt_across_attr *a, const dt_type *in);

/* Returns part `part`, from 0, of `parts` equal parts of x along dimension `dim`, which may be the
 * batch. */
dt_value dt_part_of(dt_value x, int dim, int part, int parts);
/* Concatenates n values along `dim`, which may be the batch. */
dt_value dt_join_parts(const dt_value *x, int n, int dim);
dt_value dt_reduce_pair(dt_value a, dt_value b, int kind);

#endif
