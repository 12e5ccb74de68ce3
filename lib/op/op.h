/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The op table: one file per op in this folder (elementwise.c has several), its name in op/ops.h. A
 * row has the whole meaning of an op: shape rule, gradient, how it may be split, cost, and `eval`,
 * plain C that defines it.
 * Everything else (passes, kernels, back ends) is tested against `eval`.
 *
 * This header has what builds nodes. The public ones (dt_add, dt_matmul, ...) stand in dtrain.h;
 * those here broadcast nothing unless they say so.
 */
#ifndef DT_OP_OP_H
#define DT_OP_OP_H

#include "graph/graph.h"

#define DT_OP(name) extern const dt_op dt_op_##name;
#define DT_UNARY(name) DT_OP(name) dt_value dt_##name(dt_value x);
#define DT_BINARY(name) DT_OP(name) dt_value dt_##name(dt_value a, dt_value b);
#include "op/ops.h"

/* The cost of one application by itself, from its row. Reads types only. */
dt_cost dt_cost_of(const dt_call *c);

/* ---- attributes ---- */

/* all elements are equal; type may contain B */
typedef struct dt_constant_attr {
    dt_type type;
    double value;
} dt_constant_attr;
/* 0, 1, ... along axis */
typedef struct dt_iota_attr {
    dt_type type;
    int64_t axis;
} dt_iota_attr;
/* parameter, variable */
typedef struct dt_index_attr {
    dt_type type;
    int64_t index;
} dt_index_attr;
typedef struct dt_convert_attr {
    int64_t dtype;
} dt_convert_attr;
/* exponent_bits 0: as many as the dtype has */
typedef struct dt_precision_attr {
    int64_t mantissa_bits, exponent_bits;
} dt_precision_attr;
/* dims[i]: the dimension of the output that dimension i of the input becomes; -1 beyond its rank */
typedef struct dt_broadcast_attr {
    dt_type type;
    int8_t dims[DT_MAX_RANK];
} dt_broadcast_attr;
typedef struct dt_reshape_attr {
    dt_type type;
} dt_reshape_attr;
/* dimension i of the result is dimension perm[i] of the input */
typedef struct dt_transpose_attr {
    int8_t perm[DT_MAX_RANK];
} dt_transpose_attr;
typedef enum dt_reduce_kind { DT_REDUCE_SUM, DT_REDUCE_MAX, DT_REDUCE_MIN } dt_reduce_kind;
/* dims: bit i: dimension i is reduced and removed */
typedef struct dt_reduce_attr {
    int32_t kind;
    uint32_t dims;
} dt_reduce_attr;
typedef struct dt_dot_attr { /* as StableHLO's dot_dimension_numbers */
    int8_t n_batch, n_contract;
    int8_t lhs_batch[DT_MAX_RANK], rhs_batch[DT_MAX_RANK];
    int8_t lhs_contract[DT_MAX_RANK], rhs_contract[DT_MAX_RANK];
    int8_t in_order; /* bool: see the result */
} dt_dot_attr; /* result: batch dims, free dims of lhs, free dims of rhs; with in_order those of lhs
                * without contracted ones, in lhs' order, then free dims of rhs */
typedef struct dt_compare_attr {
    int64_t direction;
} dt_compare_attr;
/* argmax, get_dimension_size, concatenate */
typedef struct dt_axis_attr {
    int64_t axis;
} dt_axis_attr;
/* How a window moves along one dimension: window o covers the elements o * stride - low + k *
 * dilation, k = 0 .. size - 1, of the dimension after base_dilation - 1 holes were put between its
 * elements. Positions outside, and holes, count as padding. */
typedef struct dt_window {
    int64_t stride, low, high, base_dilation, dilation;
} dt_window;
/* a window of a single element, which changes nothing */
#define DT_WINDOW_ONE ((dt_window){.stride = 1, .base_dilation = 1, .dilation = 1})
enum { DT_MAX_SPATIAL = 3 };
/* as StableHLO's conv: b01f x 01io -> b01f is Keras' order */
typedef struct dt_convolution_attr {
    int8_t n_spatial;
    int8_t lhs_batch, lhs_feature, rhs_in, rhs_out, out_batch, out_feature;
    int8_t lhs_spatial[DT_MAX_SPATIAL], rhs_spatial[DT_MAX_SPATIAL], out_spatial[DT_MAX_SPATIAL];
    int32_t feature_groups, batch_groups; /* 1: none; at most one of them is larger */
    dt_window window[DT_MAX_SPATIAL];     /* their sizes are those of rhs; unused ones are zero */
} dt_convolution_attr;
typedef struct
    dt_reduce_window_attr { /* used by select_and_scatter, too; unused dimensions are zero */
    int64_t kind, size[DT_MAX_RANK];
    dt_window window[DT_MAX_RANK];
} dt_reduce_window_attr;
typedef struct dt_pad_attr {
    double value;
    struct {
        int64_t low, high, interior;
    } dim[DT_MAX_RANK]; /* negative low or high: cuts off that many elements */
} dt_pad_attr;
/* size: that of the result; the batch cannot be sliced */
typedef struct dt_slice_attr {
    struct {
        int64_t start, size, stride;
    } dim[DT_MAX_RANK];
} dt_slice_attr;
typedef struct dt_reverse_attr {
    uint32_t dims;
} dt_reverse_attr;
/* The division of the batch that a segment op uses: by replicas, by the shards of
 * `reproducible`, or into equal pieces for threads (pass/tiles.c). */
typedef enum dt_cut { DT_CUT_REPLICAS, DT_CUT_SHARDS, DT_CUT_TILES } dt_cut;
/*
 * The segment ops appear in folded graphs, where the rows of all replicas are stacked and B counts
 * them all. A cut has S = count segments; env->offsets (replicas) or env->shards holds the S + 1
 * borders in examples (piece s of B begins at B s / S); a dimension k * B is cut at k times them.
 *   segment_reduce(x)           (B, ...) -> (S, ...): a reduce per segment over `dims`, which
 *                               contain dimension 0; an empty sum is 0
 *   segment_deviations(x)       (B, ...) -> (S, ...): a sum per segment of the squares of
 *                               differences from the segment's mean
 *   segment_dot_general(a, b)   -> (S, ...): a dot_general per segment, contracting dimension 0 of
 *                               both among others
 *   segment_convolution(a, b)   -> (S, ...): a convolution per segment, summing over dimension 0 of
 *                               both
 *   segment_broadcast(x)        (S, ...) -> `type` = (B, ...): every row gets the entry of its
 *                               segment
 *   segment_sizes()             -> int32 (S): examples in each segment
 *   tree_sum(x)                 (S, ...) -> (...): the fixed binary tree: node i of a level is node
 *                               2i plus node 2i + 1 below, a missing right one is left out
 */
typedef struct dt_segment_attr {
    int32_t cut, count;
    dt_reduce_attr reduce;           /* segment_reduce, segment_deviations */
    dt_dot_attr dot;                 /* segment_dot_general */
    dt_convolution_attr convolution; /* segment_convolution */
    dt_type type;                    /* segment_broadcast */
} dt_segment_attr;
typedef struct dt_rows_attr {
    int64_t rows;
} dt_rows_attr; /* scatter_add */
typedef enum dt_random_kind { DT_RANDOM_UNIFORM, DT_RANDOM_NORMAL } dt_random_kind;
/* dt_random_kind */
typedef struct dt_random_attr {
    dt_type type;
    int64_t kind;
    uint64_t key;
} dt_random_attr;
/* dt_reduce_op; merged: in a dt_merge_call, one value for all; call: its number where each replica
 * has a graph of its own, else 0 */
typedef struct dt_all_reduce_attr {
    int32_t op, merged, call;
} dt_all_reduce_attr;

typedef struct dt_attention_attr { /* `of`: for attention_grad, the input whose gradient it is */
    double scale;
    int64_t window,
        rounded; /* rounded: attention weights are multiplied as bfloat16 (pass/chip.c) */
    int32_t causal, of;
} dt_attention_attr;
typedef struct dt_norm_attr {
    double epsilon;
} dt_norm_attr; /* layer_norm, its gradients */
typedef struct dt_gelu_attr {
    int64_t approximate;
} dt_gelu_attr; /* by_tanh: the approximation */

/* custom_call @Sharding: parts by dimension for OTHER, the device for MAXIMAL; members that a kind
 * does not use are 0. The gradient of a value has the layout of the value. With `opposite`, the
 * gradient of a divided value (OTHER) is whole, and that of a whole value (REPLICATED) is divided
 * into `parts`. */
typedef struct dt_sharding_attr {
    int32_t kind; /* dt_sharding_kind */
    int32_t rank; /* OTHER, or opposite: numbers in parts */
    int64_t parts[DT_MAX_RANK];
    int64_t device;
    int64_t opposite;
} dt_sharding_attr;

/* The attributes of a node if it has that op, else NULL. */
const dt_reduce_attr *dt_reduce_of(const dt_node *n);
const dt_dot_attr *dt_dot_of(const dt_node *n);
const dt_convolution_attr *dt_convolution_of(const dt_node *n);
const dt_precision_attr *dt_precision_of(const dt_node *n);
const dt_pad_attr *dt_pad_of(const dt_node *n);
const dt_slice_attr *dt_slice_of(const dt_node *n);
const dt_axis_attr *dt_concatenate_of(const dt_node *n);
bool dt_is_add(const dt_node *n);
/* The dt_reduce_kind that combines partial results of the node: sum, unless it is a reduce (or a
 * reduce for each segment) of another kind. */
int dt_reduce_kind_of(const dt_node *n);

/* ---- builders ---- */

/* The axis counted from the front, or -1 when x has none of that number and its trace has
 * failed. */
int dt_value_axis(dt_value x, int axis);
dt_value dt_splat(dt_trace *t, const dt_type *type, double value);
dt_value dt_like(dt_value x, double value); /* a constant of x's type */
dt_value dt_iota(dt_trace *t, const dt_type *type, int axis);
dt_value dt_broadcast_in_dim(dt_value x, const dt_type *type, const int8_t *dims);
/* NumPy's rule: aligned at the last dimension; sizes 1 stretch */
dt_value dt_broadcast_to(dt_value x, const dt_type *type);
/* aligned at the first dimension: (B) to (B, 10) */
dt_value dt_broadcast_rows(dt_value x, const dt_type *type);
dt_value dt_reduce(dt_value x, dt_reduce_kind kind, uint32_t dims);
dt_value dt_dot_general(dt_value a, dt_value b, const dt_dot_attr *attr);
/* MEAN divides without truncation: integers are converted to the float type that TensorFlow's
 * reductions over replicas use. */
dt_value dt_as_float(dt_value x);
/* all_reduce; works in a function called by dt_merge_call, too */
dt_value dt_reduce_replicas(dt_reduce_op op, dt_value x, bool merged);
/* Where dt_all_gather puts x's rows along axis 0: (rows of x) of int32; *rows: how many rows its
 * result has, which is more than replicas have if a step is compiled for the largest batch. */
dt_value dt_gather_places(dt_value x, int64_t *rows);
/* adds x, (i..., ...), to the rows of zeros (rows, ...) that index, (i...), names */
dt_value dt_scatter_add(dt_value x, dt_value index, int64_t rows);
dt_value dt_example_id(dt_trace *t); /* (B) of int32: the examples' numbers in the global batch */
/* Floats (B, ...) that do not depend on the division of the batch: see op/random.c. step: int64
 * scalar; attr->type is the type of the result. */
dt_value dt_random_numbers(dt_value step, const dt_random_attr *attr);
/* (B, C) logits; target (B) of an integer dtype, or (B, C) of the logits' dtype: one loss per row
 * (B), -sum of y log softmax(z). */
dt_value dt_softmax_cross_entropy(dt_value logits, dt_value target);

/* ---- builders of composites (build_composite.c) ---- */

/* The positions of the queries (.., T, N, H) if none are given, 0, 1, ...: (.., T) of int32. */
dt_value dt_positions(dt_value query);
typedef struct dt_attention_how {
    double scale;   /* factor of the scores, usually 1 / sqrt(H) */
    bool causal;    /* queries do not attend to keys behind their position */
    int64_t window; /* queries do not attend to keys at this distance or further; 0: no limit */
    /* (.., T) of integers: positions of queries among the keys; no value: dt_positions */
    dt_value position;
} dt_attention_how;
/* query (.., T, N, H), key (.., S, K, H), value (.., S, K, V): (.., T, N, V), K divides N; see
 * op/attention.c. */
dt_value dt_attention(dt_value query, dt_value key, dt_value value, const dt_attention_how *how);
/* over the last dimension */
dt_value dt_layer_norm(dt_value x, dt_value gamma, dt_value beta, double epsilon);
dt_value dt_gelu(dt_value x, bool approximate);

/* ---- builders of spatial ops (build_spatial.c) ---- */

/* Adds elements of `value` at both ends and between neighbours of every dimension; x itself when
 * attr adds none. */
dt_value dt_pad(dt_value x, const dt_pad_attr *attr);
dt_value dt_reverse(dt_value x, uint32_t dims); /* x itself when dims is empty */
dt_value dt_convolution(dt_value lhs, dt_value rhs, const dt_convolution_attr *attr);
/* The attributes of Keras' order of dimensions without padding, dilation and groups, for the caller
 * to change. */
dt_convolution_attr dt_convolution_channels_last(int n_spatial);
dt_value dt_reduce_window(dt_value x, const dt_reduce_window_attr *attr);
/* Windows over single elements, for the caller to change. */
dt_reduce_window_attr dt_windows_of_one(dt_reduce_kind kind, int rank);

dt_value dt_annotate(dt_value x, const dt_sharding_attr *attr);
/* Annotates a variable. From now on, steps whose replicas have as many logical devices as attr
 * divides over (REPLICATED: any number) read the variable through that annotation; NULL removes
 * it. */
void dt_variable_annotate(dt_variable *v, const dt_sharding_attr *attr);

/* The gradient of `loss` (of its sum, if it has a shape) with respect to n values: out[i], trace
 * NULL where it does not depend on x[i]. Emits into the trace of loss. Declared here with the
 * gradient rules; the pass that lowers whole jobs calls it. */
void dt_gradients_of(dt_value loss, const dt_value *x, int n, dt_value *out);

/* ---- the reference interpreter ---- */

/* Per-replica inputs and results of a graph. arg[r * n_args + i]: concrete views; results are
 * allocated by the interpreter: result[r * n_results + i].data is freed with
 * dt_interpretation_release. */
typedef struct dt_interpretation {
    int replicas;
    dt_view *result; /* [replicas][n_results] */
    /* [n_states] of replica 0, all replicas' (R, ...) where the variable has a stack; data NULL
     * where unchanged */
    dt_view *update;
    int n_results, n_states;
    /* for dt_interpret_each: a state without a stack to which replicas assign different values;
     * -1: none */
    int differs;
} dt_interpretation;

/*
 * Runs g with each op's eval, node by node, replicas one after the other (all_reduce sums in
 * replica order). batch[r]: rows of replica r. Variables are read, not written: updates come back.
 * env carries offsets and shards for folded graphs (replicas = 1 then). The oracle for every pass
 * and back end.
 */
dt_status *dt_interpret(const dt_graph *g, const dt_env *env, int replicas, const int64_t *batch,
                        const dt_view *arg, dt_interpretation *out) DT_MUST_USE;
/* dt_interpret with a graph for each replica. Shapes may differ between graphs; arguments, results,
 * variables and collectives are the same ones in the same order. REDUCE_TYPE if replicas reach
 * different collectives, or one with different shapes. */
dt_status *dt_interpret_each(const dt_graph *const *g, const dt_env *env, int replicas,
                             const int64_t *batch, const dt_view *arg,
                             dt_interpretation *out) DT_MUST_USE;
void dt_interpretation_release(dt_interpretation *r);
/* Changes attr, a copy of the attributes of a node with 16-bit floats, to the attributes of the op
 * on float32 that defines it. */
void dt_op_widen(const dt_node *n, void *attr);

#endif
