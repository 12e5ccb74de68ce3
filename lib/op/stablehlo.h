/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes ops as StableHLO text. A row of the op table has one of these functions for it, or both.
 * Arguments, variables and ops that never reach a StableHLO program have neither:
 *
 *   stablehlo   writes one or a few operations of StableHLO; dt_hlo_same for ops that have
 *               StableHLO's name and meaning. Returns the id -1 if StableHLO cannot express the
 *               node's attributes
 *   decompose   expresses a composite, which StableHLO lacks, in other ops of the table (called
 *               without axes)
 *
 * A row with both uses `decompose` for formats that lack the op.
 *
 * The text uses only the generic form ("stablehlo.add"(%1, %2) : (T, T) -> T), which parsers of all
 * versions read. Values are numbered in the order of their statements: %0, %1, ... A whole function
 * is written by lib/export/stablehlo.
 */
#ifndef DT_OP_STABLEHLO_H
#define DT_OP_STABLEHLO_H

#include "op/mesh.h"
#include "op/op.h"

/* A value of the function under construction; its type is concrete. */
typedef struct dt_hlo_value {
    int id;
    dt_type type;
    /* 1 + the index of the value among the results of its operation; 0: it is the only result */
    int part;
} dt_hlo_value;

typedef struct dt_hlo {
    dt_str *out;   /* the text so far */
    int values;    /* the id of the next value */
    int64_t batch; /* size of the batch on a device, which replaces B: dimension -k is k * batch */
    /* number of devices that run the function; their indices are those of the mesh. For XLA each is
     * a replica */
    int devices;
    /* for segments that are replicas: [segments + 1] the first example of each segment, and the
     * number of examples; NULL: these segments have equal sizes, as all others have */
    const int32_t *offsets;
    /* precision of products' operands: "HIGHEST", "HIGH"; NULL: the compiler's default */
    const char *precision;
    /* as dt_hlo_request.chain: sums of more values than this are written in steps where that is
     * possible, and those of 16-bit values in float32; not those of float64. 0: no limit */
    int64_t chain;
    bool names_layers; /* whether most statements end with a comment that names their layer */
    const char *layer; /* path of the layer that is being written; NULL: none */
} dt_hlo;

typedef struct dt_hlo_call {
    dt_hlo *hlo;
    const dt_node *node;
    dt_type type; /* type of the result, concrete */
    dt_hlo_value in[DT_MAX_IN];
    /* a uint64 scalar of the program that replaces the number at dt_op_attr.number in the node's
     * attributes, such as the key of `random`; NULL: the attribute is used */
    const dt_hlo_value *number;
} dt_hlo_call;

/* Writes "stablehlo.<name of the op>" with the inputs of the call. */
dt_hlo_value dt_hlo_same(const dt_hlo_call *c);

/* ---- statements ---- */

/* Writes one operation. `name` has the prefix of its dialect, such as "chlo.", only if that is not
 * "stablehlo.". The format yields its attributes; "": none. Example: dt_hlo_op(h, "iota", NULL, 0,
 * &t, "iota_dimension = 0 : i64"). */
dt_hlo_value dt_hlo_op(dt_hlo *h, const char *name, const dt_hlo_value *in, int n,
                       const dt_type *type, const char *attributes, ...) DT_PRINTF(6, 7);
/* Like dt_hlo_op, with a region that combines two scalars of the result's dtype: add, maximum or
 * minimum, by dt_reduce_kind. */
dt_hlo_value dt_hlo_joined(dt_hlo *h, const char *name, int kind, const dt_hlo_value *in, int n,
                           const dt_type *type, const char *attributes, ...) DT_PRINTF(7, 8);
dt_hlo_value dt_hlo_unary(dt_hlo *h, const char *name, dt_hlo_value x);
dt_hlo_value dt_hlo_binary(dt_hlo *h, const char *name, dt_hlo_value a, dt_hlo_value b);
dt_hlo_value dt_hlo_compare(dt_hlo *h, dt_direction direction, dt_hlo_value a, dt_hlo_value b);
dt_hlo_value dt_hlo_select(dt_hlo *h, dt_hlo_value pred, dt_hlo_value a, dt_hlo_value b);
dt_hlo_value dt_hlo_splat(dt_hlo *h, const dt_type *type, double value);
dt_hlo_value dt_hlo_like(dt_hlo *h, dt_hlo_value x, double value);
/* Writes a constant given by its bits, for integers that a double cannot represent. */
dt_hlo_value dt_hlo_word(dt_hlo *h, const dt_type *type, uint64_t value);
dt_hlo_value dt_hlo_convert(dt_hlo *h, dt_hlo_value x, dt_dtype dtype);
dt_hlo_value dt_hlo_reshape(dt_hlo *h, dt_hlo_value x, int rank, const int64_t *dim);
/* dims[i]: the dimension of the result that dimension i of x becomes. */
dt_hlo_value dt_hlo_broadcast(dt_hlo *h, dt_hlo_value x, const dt_type *type, const int8_t *dims);
/* Writes a slice: `size` elements of dimension d, from element `from` on. Returns x itself if that
 * is all of the dimension. */
dt_hlo_value dt_hlo_slice(dt_hlo *h, dt_hlo_value x, int d, int64_t from, int64_t size);
dt_hlo_value dt_hlo_concatenate(dt_hlo *h, const dt_hlo_value *x, int n, int d);
/* Writes a slice of `size` elements of dimension d that begins at `from`, an int64 value that may
 * differ between devices. */
dt_hlo_value dt_hlo_dynamic_slice(dt_hlo *h, dt_hlo_value x, int d, dt_hlo_value from,
                                  int64_t size);
/* Returns the result of reducing no elements, by dt_reduce_kind: 0, the lowest or the highest
 * value. */
dt_hlo_value dt_hlo_nothing(dt_hlo *h, int kind, dt_dtype dtype);

/* Reduces x over the dimensions whose bits are set in `dims`; sets the type of the result
 * accordingly. If h->chain is not 0, sums of floats other than float64 are computed in float32, in
 * steps that add at most h->chain values each, unless such a step needs more than DT_MAX_RANK
 * dimensions. */
dt_hlo_value dt_hlo_reduce(dt_hlo *h, int kind, dt_hlo_value x, unsigned dims);

/* Returns the index along `axis` of the largest element, or of the first of equal ones; NaN counts
 * as the largest. type: that of the result, which lacks the axis. The program reduces pairs
 * (element, index), which reads x once. Comparing x with its maximum instead would be wrong if the
 * compiler computed x twice and rounded it differently. */
dt_hlo_value dt_hlo_argmax(dt_hlo *h, dt_hlo_value x, int axis, const dt_type *type);

/* Writes gather: rows of a table by their numbers. A number out of range selects the nearest
 * row. */
dt_hlo_value dt_hlo_gather(dt_hlo *h, dt_hlo_value table, dt_hlo_value index, const dt_type *type);
/* Writes select_and_scatter of {x, dy, zero}. It selects the first element e of a window for which
 * `e direction other` holds for all other elements. */
dt_hlo_value dt_hlo_chosen(dt_hlo *h, const char *direction, const dt_hlo_value in[3],
                           const dt_type *type, const char *attributes, ...) DT_PRINTF(5, 6);
/* Writes optimization_barrier. The result is x, but not before `after` has been computed. */
dt_hlo_value dt_hlo_barrier(dt_hlo *h, dt_hlo_value x, dt_hlo_value after);

/* ---- text ---- */

void dt_hlo_print_value(dt_hlo_value v, dt_str *out); /* prints "%3", "%3#1" */

/* A text that lives until the end of the full expression. */
typedef struct dt_hlo_text {
    char s[256];
} dt_hlo_text;
/* Returns a list of numbers as text: "array<i64: 0, 1>", or "array<i64>" for an empty list. */
dt_hlo_text dt_hlo_array(const int8_t *v, int n);
dt_hlo_text dt_hlo_array64(const int64_t *v, int n);
/* Returns the attribute that sets the precision of a product's operands; "" if no precision is
 * requested. */
dt_hlo_text dt_hlo_precision(const dt_hlo *h);
dt_hlo_text dt_hlo_list(const int8_t *v, int n); /* Returns a list of numbers as text: "[0, 1]". */
/* Windows along n dimensions. */
typedef struct dt_hlo_windows {
    dt_hlo_text stride, base, dilation,
        padding; /* attributes, such as "dense<[[0, 1]]> : tensor<1x2xi64>" */
} dt_hlo_windows;
dt_hlo_windows dt_hlo_windows_of(const dt_window *w, int n);
void dt_hlo_print_type(const dt_type *t, dt_str *out); /* prints "tensor<2x3xf32>" */

/* ---- devices ---- */

/* Emits the index, in the mesh's order, of the device that runs the function: an int64 scalar. */
dt_hlo_value dt_hlo_device(dt_hlo *h);
/* Emits the rank of the running device among the devices that differ from it in `axes` only. */
dt_hlo_value dt_hlo_rank(dt_hlo *h, const dt_mesh *m, dt_mesh_axes axes);
/* Returns the groups of devices that exchange values, in the order of ranks, as text: "dense<[[0,
 * 1], [2, 3]]> : tensor<2x2xi64>". The caller frees it. axes 0: each device by itself. */
char *dt_hlo_groups(const dt_mesh *m, dt_mesh_axes axes);

#endif
