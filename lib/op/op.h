/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The op table: the ops of op/ops.h have rows in files of this folder, some of which, such as
 * elementwise.c, have several rows. A row has the whole meaning of an op: shape rule, gradient, how
 * it may be split, cost, and `eval`, plain C that defines it. Passes, kernels and back ends are
 * tested against `eval`.
 *
 * This header has what builds nodes, and the interpreter. The public functions (dt_add, dt_matmul,
 * ...) are declared in dtrain.h. The ones in this header do not broadcast unless their comments say
 * so.
 */
#ifndef DT_OP_OP_H
#define DT_OP_OP_H

#include "graph/graph.h"

#define DT_OP(name) extern const dt_op dt_op_##name;
#define DT_UNARY(name) DT_OP(name) dt_value dt_##name(dt_value x);
#define DT_BINARY(name) DT_OP(name) dt_value dt_##name(dt_value a, dt_value b);
#include "op/ops.h"

/* Returns the cost of one application by itself, computed as the row of its op defines. Reads the
 * node, its attributes and the types, but no values. */
dt_cost dt_cost_of(const dt_call *c);

/* ---- attributes ---- */

/* For constant: all elements have this value. The type may contain B. */
typedef struct dt_constant_attr {
    dt_type type;
    double value;
} dt_constant_attr;
/* For iota: the numbers 0, 1, ... along the axis. */
typedef struct dt_iota_attr {
    dt_type type;
    int64_t axis;
} dt_iota_attr;
/* For parameter and variable: the type, and the index of the argument or state in the graph. */
typedef struct dt_index_attr {
    dt_type type;
    int64_t index;
} dt_index_attr;
typedef struct dt_convert_attr {
    int64_t dtype;
} dt_convert_attr;
/* For reduce_precision. exponent_bits 0: as many bits as the dtype of the value has. */
typedef struct dt_precision_attr {
    int64_t mantissa_bits, exponent_bits;
} dt_precision_attr;
/* For broadcast_in_dim. dims[i] is the dimension of the output that dimension i of the input
 * becomes; -1 beyond the input's rank. */
typedef struct dt_broadcast_attr {
    dt_type type;
    int8_t dims[DT_MAX_RANK];
} dt_broadcast_attr;
typedef struct dt_reshape_attr {
    dt_type type;
} dt_reshape_attr;
/* For transpose: dimension i of the result is dimension perm[i] of the input. */
typedef struct dt_transpose_attr {
    int8_t perm[DT_MAX_RANK];
} dt_transpose_attr;
typedef enum dt_reduce_kind { DT_REDUCE_SUM, DT_REDUCE_MAX, DT_REDUCE_MIN } dt_reduce_kind;
/* For reduce. kind: a dt_reduce_kind. If bit i of `dims` is set, dimension i is reduced and
 * removed. */
typedef struct dt_reduce_attr {
    int32_t kind;
    uint32_t dims;
} dt_reduce_attr;
/* Like StableHLO's dot_dimension_numbers. The result has the batch dimensions, then the free ones
 * of lhs, then the free ones of rhs. With in_order it has all dimensions of lhs except contracted
 * ones, in the order of lhs, then the free ones of rhs. */
typedef struct dt_dot_attr {
    int8_t n_batch, n_contract;
    int8_t lhs_batch[DT_MAX_RANK], rhs_batch[DT_MAX_RANK];
    int8_t lhs_contract[DT_MAX_RANK], rhs_contract[DT_MAX_RANK];
    int8_t in_order; /* bool: whether the result's first dimensions are in the order of lhs */
} dt_dot_attr;
typedef struct dt_compare_attr {
    int64_t direction;
} dt_compare_attr;
/* For argmax, get_dimension_size and concatenate: the dimension that they work along. */
typedef struct dt_axis_attr {
    int64_t axis;
} dt_axis_attr;
/* How a window moves along one dimension: window o covers the elements o * stride - low + k *
 * dilation, k = 0 .. size - 1, of the dimension after base_dilation - 1 holes were put between its
 * elements. Positions outside, and holes, count as padding. */
typedef struct dt_window {
    int64_t stride, low, high, base_dilation, dilation;
} dt_window;
/* A window that covers a single element, so that it changes nothing. */
#define DT_WINDOW_ONE ((dt_window){.stride = 1, .base_dilation = 1, .dilation = 1})
enum { DT_MAX_SPATIAL = 3 };
/* Dimension numbers as in StableHLO's convolution. In Keras' order they are b01f x 01io -> b01f. */
typedef struct dt_convolution_attr {
    int8_t n_spatial;
    int8_t lhs_batch, lhs_feature, rhs_in, rhs_out, out_batch, out_feature;
    int8_t lhs_spatial[DT_MAX_SPATIAL], rhs_spatial[DT_MAX_SPATIAL], out_spatial[DT_MAX_SPATIAL];
    int32_t feature_groups, batch_groups; /* 1: no groups; at most one of the two is larger */
    /* one window for each spatial dimension, with the sizes of rhs; the others are all zeros */
    dt_window window[DT_MAX_SPATIAL];
} dt_convolution_attr;
/* For reduce_window and select_and_scatter. kind: a dt_reduce_kind; size: elements of a window
 * along each dimension; beyond the rank, all are zeros. */
typedef struct dt_reduce_window_attr {
    int64_t kind, size[DT_MAX_RANK];
    dt_window window[DT_MAX_RANK];
} dt_reduce_window_attr;
typedef struct dt_pad_attr {
    double value;
    struct {
        int64_t low, high, interior;
    } dim[DT_MAX_RANK]; /* a negative low or high removes that many elements */
} dt_pad_attr;
/* For slice. `size` is the size of the result. The batch dimension cannot be sliced. */
typedef struct dt_slice_attr {
    struct {
        int64_t start, size, stride;
    } dim[DT_MAX_RANK];
} dt_slice_attr;
typedef struct dt_reverse_attr {
    uint32_t dims;
} dt_reverse_attr;
/* How the batch of a segment op is divided: into the replicas' parts, into the shards of
 * `reproducible`, or into small tiles, chosen for a core's cache (pass/tiles.c), whose numbers of
 * examples differ by at most 1. */
typedef enum dt_cut { DT_CUT_REPLICAS, DT_CUT_SHARDS, DT_CUT_TILES } dt_cut;
/*
 * The segment ops appear in folded graphs, where the rows of all replicas are stacked and B counts
 * them all. A cut has S = count segments; env->offsets (replicas) or env->shards holds the S + 1
 * borders in examples (tile s of B begins at B s / S); a dimension k * B is cut at k times these
 * borders.
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
    union {                    /* the attributes of the op that is applied to each segment */
        dt_reduce_attr reduce; /* also for segment_deviations */
        dt_dot_attr dot;
        dt_convolution_attr convolution;
        dt_type type; /* for segment_broadcast: the type of the result */
    };
} dt_segment_attr;
typedef struct dt_rows_attr {
    int64_t rows;
} dt_rows_attr; /* for scatter_add: the number of rows of the result */
typedef enum dt_random_kind { DT_RANDOM_UNIFORM, DT_RANDOM_NORMAL } dt_random_kind;
/* For random. type: that of the result. kind: a dt_random_kind. key: the seed, from which all
 * numbers follow together with the inputs of the op. */
typedef struct dt_random_attr {
    dt_type type;
    int64_t kind;
    uint64_t key;
} dt_random_attr;
/* op: a dt_reduce_op. merged: the op is in a function called by dt_merge_call, where all replicas
 * have one value. call: the number of the call if each replica has a graph of its own, else 0 */
typedef struct dt_all_reduce_attr {
    int32_t op, merged, call;
} dt_all_reduce_attr;

/* For attention and attention_grad. scale, causal, window, sinks: see dt_attention_how. rounded:
 * operands of products that the op computes itself, such as attention weights, are rounded to
 * bfloat16. `of`: in attention_grad, the index of the input whose gradient is computed. */
typedef struct dt_attention_attr {
    double scale;
    int64_t window, sinks, rounded;
    int32_t causal, of;
} dt_attention_attr;
typedef struct dt_norm_attr {
    double epsilon;
} dt_norm_attr; /* for layer_norm and its gradients */
typedef struct dt_gelu_attr {
    int64_t approximate;
} dt_gelu_attr; /* approximate: 1 for the approximation by tanh, 0 for erf */

/* custom_call @Sharding. Kind OTHER has the number of parts for each dimension, MAXIMAL has the
 * device; members that a kind does not use are 0. The gradient of a value has the layout of the
 * value (for MAXIMAL see op/sharding.c). With `opposite`, the gradient of a divided value (OTHER)
 * is whole, and that of a whole value (REPLICATED) is divided into `parts`. */
typedef struct dt_sharding_attr {
    int32_t kind; /* a dt_sharding_kind */
    int32_t rank; /* for OTHER, or with `opposite`: the number of entries in `parts` */
    int64_t parts[DT_MAX_RANK];
    int64_t device;
    int64_t opposite;
} dt_sharding_attr;

/* Return the attributes of a node if it has the op, else NULL; dt_is_add returns whether it has the
 * op. */
const dt_reduce_attr *dt_reduce_of(const dt_node *n);
const dt_dot_attr *dt_dot_of(const dt_node *n);
const dt_convolution_attr *dt_convolution_of(const dt_node *n);
const dt_precision_attr *dt_precision_of(const dt_node *n);
const dt_pad_attr *dt_pad_of(const dt_node *n);
const dt_slice_attr *dt_slice_of(const dt_node *n);
const dt_axis_attr *dt_concatenate_of(const dt_node *n);
bool dt_is_add(const dt_node *n);
/* Returns the dt_reduce_kind that combines partial results of the node: sum, unless it is a reduce
 * (or a reduce for each segment) of another kind. */
int dt_reduce_kind_of(const dt_node *n);

/* ---- builders ---- */

dt_value dt_splat(dt_trace *t, const dt_type *type, double value);
/* Returns a constant of the type of x, whose elements all are `value`. */
dt_value dt_like(dt_value x, double value);
dt_value dt_iota(dt_trace *t, const dt_type *type, int axis);
dt_value dt_broadcast_in_dim(dt_value x, const dt_type *type, const int8_t *dims);
/* Broadcasts by NumPy's rule: dimensions are aligned at the last one, and sizes of 1 are
 * stretched. */
dt_value dt_broadcast_to(dt_value x, const dt_type *type);
/* Broadcasts with dimensions aligned at the first one: (B) to (B, 10). */
dt_value dt_broadcast_rows(dt_value x, const dt_type *type);
dt_value dt_reduce(dt_value x, dt_reduce_kind kind, uint32_t dims);
dt_value dt_dot_general(dt_value a, dt_value b, const dt_dot_attr *attr);
/* Converts integers to the float type that TensorFlow's reductions over replicas use, so that a
 * MEAN of integers is not truncated: float32 for 1 or 2 bytes, else float64. Returns floats and
 * bools unchanged. */
dt_value dt_as_float(dt_value x);
/* Emits all_reduce over replicas. `merged`: the op is in a function called by dt_merge_call. */
dt_value dt_reduce_replicas(dt_reduce_op op, dt_value x, bool merged);
/* For dt_all_gather along axis 0: returns the index in the result of each row of x, int32 (rows of
 * x). Sets *rows to the number of rows of the result; in a step that is compiled for the largest
 * batch, this can be more than all replicas have together. Fails with NEEDS_ROWS if dimension 0 of
 * x is B and the trace does not know its size, or if it is another multiple of B, unless replicas
 * are traced one by one. */
dt_value dt_gather_places(dt_value x, int64_t *rows);
/* Adds the rows of x, (i..., ...), to a value of zeros, (rows, ...): row j of x is added to row
 * index[j], or to none if that is outside of 0 .. rows - 1. index: (i...) */
dt_value dt_scatter_add(dt_value x, dt_value index, int64_t rows);
/* Returns the index of each example in the global batch, (B) of int32. */
dt_value dt_example_id(dt_trace *t);
/* Emits random floats (B, ...) that do not depend on how the batch is divided: see op/random.c.
 * step is an int64 scalar; attr->type is the type of the result. */
dt_value dt_random_numbers(dt_value step, const dt_random_attr *attr);
/* Emits one loss for each row of the logits z, (B, C): (B), -sum of y log softmax(z) for the target
 * y. The target is (B) of an integer dtype, or (B, C) of the logits' dtype. */
dt_value dt_softmax_cross_entropy(dt_value logits, dt_value target);

/* ---- builders of composites (build.c) ---- */

/* Returns the positions of queries (.., T, N, H) if the caller gives none: 0, 1, ..., as (.., T) of
 * int32; no value if `query` has fewer than 3 dimensions. */
dt_value dt_positions(dt_value query);
typedef struct dt_attention_how {
    double scale; /* factor of the scores, usually 1 / sqrt(H) */
    bool causal;  /* whether queries ignore keys at later positions, except `sinks` */
    /* queries ignore keys that are this many positions away or more, except `sinks`; 0: no
     * limit */
    int64_t window;
    int64_t sinks; /* number of first keys that all queries attend to */
    /* positions of queries among the keys, (.., T) of integers; without a trace: dt_positions */
    dt_value position;
} dt_attention_how;
/* Emits the attention of query (.., T, N, H), key (.., S, K, H) and value (.., S, K, V), where K
 * divides N. The result is (.., T, N, V). See op/attention.c. */
dt_value dt_attention(dt_value query, dt_value key, dt_value value, const dt_attention_how *how);
/* Normalizes over the last dimension. */
dt_value dt_layer_norm(dt_value x, dt_value gamma, dt_value beta, double epsilon);
dt_value dt_gelu(dt_value x, bool approximate);

/* ---- builders of spatial ops and annotations, and gradients ---- */

/* Along each dimension, adds elements of `value` at both ends and between neighbours, or removes
 * elements at an end if the count is negative. Returns x if all counts are 0. */
dt_value dt_pad(dt_value x, const dt_pad_attr *attr);
/* Reverses x along each dimension in `dims`. Returns x itself if `dims` is empty. */
dt_value dt_reverse(dt_value x, uint32_t dims);
dt_value dt_convolution(dt_value lhs, dt_value rhs, const dt_convolution_attr *attr);
/* Returns attributes for Keras' order of dimensions, b01f x 01io -> b01f, without strides, padding,
 * dilation and groups, which the caller may change. */
dt_convolution_attr dt_convolution_channels_last(int n_spatial);
dt_value dt_reduce_window(dt_value x, const dt_reduce_window_attr *attr);
/* Returns attributes of windows that cover single elements, for the caller to change. */
dt_reduce_window_attr dt_windows_of_one(dt_reduce_kind kind, int rank);

dt_value dt_annotate(dt_value x, const dt_sharding_attr *attr);
/* Annotates a variable. From now on, steps read the variable through that annotation if their
 * replicas have several logical devices, as many as attr has parts or including the one that it
 * names (REPLICATED: any number). NULL removes the annotation. */
void dt_variable_annotate(dt_variable *v, const dt_sharding_attr *attr);

/* Computes the gradient of `loss`, or of the sum of its elements if it is not a scalar, with
 * respect to n values. out[i] belongs to x[i]; its trace is NULL if the loss does not depend on
 * x[i] through ops that have a gradient, or if the trace has failed. Emits into the trace of
 * loss. */
void dt_gradients_of(dt_value loss, const dt_value *x, int n, dt_value *out);

/* ---- the reference interpreter ---- */

/* What the interpreter computes. It allocates the arrays and their data, which the caller frees
 * with dt_interpretation_release. */
typedef struct dt_interpretation {
    int replicas;
    dt_view *result; /* [replicas][n_results] the results */
    /* [n_states] the values that replica 0 assigns; for a variable with a stack those of all
     * replicas, (R, ...). data NULL: unchanged */
    dt_view *update;
    int n_results, n_states;
    /* from dt_interpret_each: index of a state without a stack to which replicas assign different
     * values; -1: none */
    int differs;
} dt_interpretation;

/*
 * Runs g with each op's eval, node by node, replicas one after the other (all_reduce sums in
 * replica order). batch[r]: number of examples of replica r. arg: [replicas][arguments] concrete
 * views. Variables are read, not written: their new values are in `update`. For folded graphs,
 * replicas is 1, and env has offsets and shards. Tests compare passes and back ends with this
 * function.
 */
dt_status *dt_interpret(const dt_graph *g, const dt_env *env, int replicas, const int64_t *batch,
                        const dt_view *arg, dt_interpretation *out) DT_MUST_USE;
/* dt_interpret with a graph for each replica. Shapes may differ between graphs; arguments, results,
 * variables and collectives are the same ones in the same order. Error REDUCE_TYPE if replicas
 * reach different collectives, or one with different shapes. */
dt_status *dt_interpret_each(const dt_graph *const *g, const dt_env *env, int replicas,
                             const int64_t *batch, const dt_view *arg,
                             dt_interpretation *out) DT_MUST_USE;
void dt_interpretation_release(dt_interpretation *r);
/* Changes attr, a copy of the attributes of a node on 16-bit floats, to those of the op on float32
 * that defines it: a type of 16-bit floats in them becomes float32, and for bfloat16 the operands
 * of products inside the op are rounded. */
void dt_op_widen(const dt_node *n, void *attr);

#endif
