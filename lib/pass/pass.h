/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes: functions that make a new graph from a graph. The results of analyses are arrays with an
 * entry for each node of a graph.
 *
 *     traced graph -> dt_fold -> dt_join_steps -> dt_shards (if reproducible) -> (pass/spmd.h)
 *                  -> dt_unannotate -> dt_upcast -> dt_split_sums -> dt_tile_batch -> dt_partition
 *                  -> program
 *
 * Most of these steps are optional. dt_simplify runs after several of them.
 */
#ifndef DT_PASS_PASS_H
#define DT_PASS_PASS_H

#include "graph/graph.h"
#include "op/op.h"

/* ---- rewriting ---- */

typedef struct dt_rewrite_call {
    dt_trace *trace;
    const dt_graph *graph;
    int node; /* index of the node to replace, which is neither an argument nor a variable */
    const dt_value *in; /* [n_in of the node] values of its inputs in the new graph */
    /* [nodes of the old graph] values in the new graph of all arguments, variables, and nodes
     * before this one; later entries have no trace */
    const dt_value *map;
    const void *user;
} dt_rewrite_call;
/* Emits the value that replaces a node in the new graph, and returns it. */
typedef dt_value dt_rewriter(const dt_rewrite_call *c);
/* Copies g, with each node except arguments and variables replaced by what the rewriter returns.
 * `user` is passed to the rewriter. Arguments, variables, results, updates and layer paths are
 * kept. *out belongs to the caller. */
dt_status *dt_rewrite(const dt_graph *g, dt_rewriter *rewriter, const void *user,
                      dt_graph **out) DT_MUST_USE;

/* ---- varying and uniform ---- */

/*
 * How a value is spread over the replicas of one memory space.
 *   UNIFORM  The same on all replicas: weights, constants, results of all_reduce. Computed and
 *            stored once.
 *   ROWS     (B, ...): every replica has its own rows. Folded: all rows stacked, and B counts them
 *            all.
 *   STACKED  Differs between replicas and has no batch dimension. Folded: (R, ...).
 */
typedef enum dt_replication { DT_UNIFORM, DT_ROWS, DT_STACKED } dt_replication;

/* Sets *out to an array [nodes] in `arena`: how every node is spread over replicas. distributed[i]:
 * argument i has one value per replica, as all arguments with a batch dimension do; NULL: all
 * arguments have. Fails with VARYING_UPDATE, which names the variable, if replicas would assign
 * different values to a variable that they share. */
dt_status *dt_replication_of(const dt_graph *g, const bool *distributed, dt_arena *arena,
                             dt_replication **out) DT_MUST_USE;

/* Gives each variable that allows it (may_diverge) a copy for each replica if g assigns values to
 * it that differ between replicas, which may be due to the copies of another variable. */
dt_status *dt_diverge_variables(const dt_graph *g, const bool *distributed,
                                int replicas) DT_MUST_USE;

/* ---- fold ---- */

typedef struct dt_folded {
    /* the folded graph. Arguments that are STACKED have a leading dimension R; ROWS and UNIFORM
     * ones have the same types as before */
    dt_graph *graph;
    /* how each argument and result is spread over replicas; arrays in graph->arena */
    dt_replication *arg, *result;
    int replicas;
} dt_folded;
/* Makes the program of all replicas of one memory space, over their stacked rows. out->graph
 * belongs to the caller. Fails with VARYING_UPDATE as dt_replication_of does, and with CANNOT_FOLD
 * if an op has no folded form, or a value has too many dimensions to add one; the caller must then
 * run the graph replica by replica. *out is all zeros after an error. */
dt_status *dt_fold(const dt_graph *g, const bool *distributed, int replicas,
                   dt_folded *out) DT_MUST_USE;

/* ---- decoding, a token at a time ---- */

/* The two graphs with which a language model continues a text, token by token (decode.c). */
typedef struct dt_decoding {
    /* results: scores (B, T, V), then the values that the step caches, in float32 with dimension 0
     * = B */
    dt_graph *whole;
    /* arguments: the token (B, 1), its position (int32 scalar), then the caches in the order of
     * whole's results, with any values from that position on; results: scores (B, 1, V), then a
     * row for each cache, of size 1 along the dimension that is T in the cache */
    dt_graph *step;
    /* index in g of the first node that mixes positions, or of the result if its dimension 1 does
     * not count positions; both graphs are then NULL. -1: there is no such node */
    int mixing;
} dt_decoding;
/* Makes both graphs from g, the forward pass of a language model with one argument, tokens (B, T),
 * and one result, scores (B, T, V). */
dt_status *dt_decode(const dt_graph *g, dt_decoding *out) DT_MUST_USE;

/* ---- reproducible shards ---- */

/* Replaces every sum over the batch by `shards` partial sums, added by one fixed tree, so that the
 * bits of the sum do not depend on which worker or thread adds which rows. */
dt_status *dt_shards(const dt_graph *folded, int shards, dt_graph **out) DT_MUST_USE;

/* ---- simplify ---- */

/* Computes constants and removes neutral operations and unused nodes. Bits of results do not
 * change. */
dt_status *dt_simplify(const dt_graph *g, dt_graph **out) DT_MUST_USE;

/* ---- steps of a sequence ---- */

/* Joins the gradients of a sequence's steps and the products of all steps (steps.c). Sets *out to
 * NULL if the graph has no such steps. */
dt_status *dt_join_steps(const dt_graph *folded, dt_graph **out) DT_MUST_USE;

/* ---- rematerialisation ---- */

/* A kind of values that units keep for the backward pass: the results of all products with a weight
 * ".../WEIGHT/kernel", or the results of all ops of one kind. */
typedef struct dt_kept_value {
    /* name of the weight whose product is kept; NULL: all results of `op` are kept */
    const char *weight;
    const dt_op *op;
    bool on_host; /* whether the values are kept in the host's memory, not on the device */
} dt_kept_value;

/* How layers are grouped into units for rematerialization. A unit's intermediate values are
 * computed a second time for its gradient. */
typedef struct dt_layer_units {
    int n;
    /* [n] names of the layers; a node belongs to the layer with which its path begins */
    const char *const *layer;
    const int *unit; /* [n] index of the unit of each layer */
    int n_kept;
    const dt_kept_value *kept; /* [n_kept] values to keep in addition to the inputs of units */
    /* whether inputs of units that are computed from examples are kept in the host's memory */
    bool inputs_on_host;
} dt_layer_units;
/* Sets *out to a copy of g in which units compute values with rows again for the backward pass,
 * except their inputs and outputs, `kept`, and results of collectives (remat.c). */
dt_status *dt_remat(const dt_graph *g, const dt_layer_units *units, dt_graph **out) DT_MUST_USE;
/* Whether a node repeats work of the forward pass for the backward pass. The hardware does such
 * work, but it is not counted as work of the model. */
bool dt_is_rematerialized(const dt_node *n);
/* Whether a node is a value that is fetched from the host's memory. Such a node is another name for
 * its first input, which is sent there once the forward pass has read it. Its second input is the
 * gradient with which the unit's backward pass begins. */
bool dt_is_from_host(const dt_node *n);

/* ---- pieces of a batch ---- */

/* Returns the number of pieces into which values with rows are divided, except images
 * (dt_is_image). */
int dt_row_units(const dt_graph *g, int64_t batch);
/* Returns the number of pieces if time steps of examples are divided, too, because a batch has
 * fewer examples than it should have pieces; 0: values are divided by rows only (dt_row_units).
 * *steps is the number of time steps of an example. */
int dt_time_units(const dt_graph *g, int64_t batch, int64_t *steps);
/* Returns the largest power of two that is at most x, but at least 1 and at most 16. */
int dt_tiles_below(double x);
/* Returns the number of pieces into which images are divided, at most `rows`, the batch's rows. */
int dt_image_units(const dt_graph *g, int64_t rows);
bool dt_is_image(const dt_node *n);
/*
 * Replaces sums over a batch of `rows` images, and gradients of kernels, by sums over pieces and a
 * sum of these, if they are in float32 and not too large (tiles.c). Sets *out to NULL if g has none
 * of these, or no convolution of rows, if batch_parts is not 1, or if the batch has a single piece.
 * replicas: the number of replicas, if they have equally many rows, so that sums of single replicas
 * are divided, too; 0: they may have different numbers of rows.
 */
dt_status *dt_tile_batch(const dt_graph *g, int64_t rows, int replicas, dt_graph **out) DT_MUST_USE;

/* ---- partition over the threads of one memory space ---- */

/*
 * How work is divided among threads: activations are divided into blocks of rows, and values
 * without rows (weight gradients) along their first dimension. A thread continues with its piece as
 * long as the next op needs no other piece. A segment is the work between two points where all
 * threads join. The division depends on sizes, not on the number of threads, so that any number of
 * threads makes the same calls and gets the same bits.
 *
 * A state's update is made in the variable's own memory unless copy_back says that it is copied
 * there at the end. If its old value is a result, or another state's update, the back end must keep
 * a copy: the partition does not wait for it.
 */
/* The dimension along which a value is divided into pieces. */
typedef enum dt_division {
    DT_BY_ROWS = 1,   /* dimension 0: rows of the batch, or of a value without a batch dimension */
    DT_BY_TIME = 2,   /* dimensions 0 and 1 as one: the time steps of all examples */
    DT_BY_HEADS = 4,  /* in attention: the key heads of all examples */
    DT_BY_COLUMNS = 8 /* in products of few rows by weights: blocks of columns of the weights */
} dt_division;

/* Pieces by columns begin at multiples of this number: the most columns of a panel of our own
 * products. */
enum { DT_COLUMN_BLOCK = 64 };

typedef struct dt_node_division {
    int units; /* number of pieces; 1: the value is not divided */
    dt_division by;
    /* index of the segment that computes the node; -1: an argument, variable or constant, which
     * needs no work, or a node that its reader computes (`absorbed`) */
    int segment;
    /* index of its group, -1 if `segment` is -1; a task computes one piece of all nodes of a group,
     * one after the other */
    int group;
    /* whether the node's only reader computes it, so that it needs no memory: a segment op that a
     * tree_sum or tree_part reads, or a concatenation that another concatenation reads */
    bool absorbed;
} dt_node_division;

typedef struct dt_program {
    dt_graph *graph;
    int64_t batch; /* the value of B: rows of the batch, divided by graph->batch_parts */
    /* [cuts + 1] first row of each shard that is not empty, and the number of rows, if
     * `reproducible` asks for shards; NULL: pieces are about equal */
    const int32_t *cut;
    int cuts;
    dt_node_division *piece; /* [nodes] how each node is divided */
    /* [states] whether the update is computed in other memory and copied to the variable at the
     * end, for one of the reasons in partition_updates.c */
    bool *copy_back;
    int n_segments, n_groups;
} dt_program;

typedef struct dt_partition_options {
    int64_t batch; /* rows of the batch */
    /* [cuts + 1] the first row of each shard, and the number of rows; ignored if graph->batch_parts
     * is not 1. NULL: the number of pieces follows from sizes */
    const int32_t *cut;
    int cuts;
    /* Whether the back end can compute a node's result in pieces by rows, time or heads. NULL: it
     * can by rows only. By rows or by time, the op's rule must allow it, too, except for sums over
     * segments. */
    bool (*can_split)(const dt_graph *g, int node, dt_division by);
} dt_partition_options;
/* Divides the graph into a program, which refers to `graph` and lives in `arena`. */
dt_program *dt_partition(dt_graph *graph, const dt_partition_options *options, dt_arena *arena);
/* Sets [*lo, *hi) to the rows of piece `unit` of a node's result. A dimension 0 of k * B is divided
 * at multiples of k. If the result is divided by time or by heads, these are the steps or heads of
 * all examples. */
void dt_piece_rows(const dt_program *p, int node, int unit, int64_t *lo, int64_t *hi);
/* Returns the number of columns of a dot_general's result: the product of the sizes of the second
 * operand's free dimensions. */
int64_t dt_dot_columns(const dt_graph *g, int node);
/* Like dt_piece_rows, for a node that is divided into `units` pieces instead of its own number. */
void dt_part_rows(const dt_program *p, int node, int unit, int units, int64_t *lo, int64_t *hi);
/* Whether a node needs no work, because its result is the memory of its first input: a reshape or a
 * barrier. */
bool dt_is_name(const dt_node *n);
/* Returns the node that owns the memory of `node`: itself or, for a name such as a reshape, the
 * node that it names. */
int dt_named_by(const dt_graph *g, int node);
/* Returns the number of key heads of an attention node, or of a node of its gradient. */
int64_t dt_heads_of(const dt_graph *g, int node);
void dt_program_print(const dt_program *p, dt_str *out);

/* ---- products as chips compute them ---- */

/* Rounds the operands of products, also of products inside attention, to bfloat16 (chip.c). In
 * programs for this machine it is the last pass before dt_partition. */
dt_status *dt_chip_products(const dt_graph *g, dt_graph **out) DT_MUST_USE;

/* ---- mixed precision ---- */

/* Computes float16 and bfloat16 in float32 and rounds the results (upcast.c). Sets *out to NULL if
 * g has no such values. */
dt_status *dt_upcast(const dt_graph *g, dt_graph **out) DT_MUST_USE;

/* ---- sums of weights ---- */

/* Divides sums of all elements of large values without a batch dimension, such as norms of
 * gradients: first over all dimensions but the first one, so that threads share the rows. Sets *out
 * to NULL if g has none. */
dt_status *dt_split_sums(const dt_graph *g, dt_graph **out) DT_MUST_USE;

/* ---- removing annotations ---- */

/* Removes the annotations of logical devices from g. Sets *out to NULL if g has none. */
dt_status *dt_unannotate(const dt_graph *g, dt_graph **out) DT_MUST_USE;

#endif
