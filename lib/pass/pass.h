/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes: graph in, new graph out. Analyses are arrays beside a graph, by node number.
 *
 *     traced graph -> dt_simplify -> dt_fold -> dt_join_steps -> dt_shards (if reproducible)
 *                  -> dt_simplify -> (pass/spmd.h) -> dt_partition -> program
 *
 * Each is tested against the reference interpreter on random graphs.
 */
#ifndef DT_PASS_PASS_H
#define DT_PASS_PASS_H

#include "graph/graph.h"
#include "op/op.h"

/* ---- rewriting ---- */

typedef struct dt_rewrite_call {
    dt_trace *trace;
    const dt_graph *graph;
    int node;            /* a node of graph that is neither an argument nor a variable */
    const dt_value *in;  /* its inputs in the new graph */
    const dt_value *map; /* by node before it: its value in the new graph */
    const void *user;
} dt_rewrite_call;
/* Emits the value that replaces a node in the new graph. */
typedef dt_value dt_rewriter(const dt_rewrite_call *c);
/* Copies g with each node replaced by what the rewriter returns; arguments, variables, results,
 * updates and layer paths stay. */
dt_status *dt_rewrite(const dt_graph *g, dt_rewriter *rewriter, const void *user,
                      dt_graph **out) DT_MUST_USE;

/* ---- varying and uniform ---- */

/*
 * How a value belongs to the replicas of one memory space.
 *   UNIFORM  the same on all: weights, constants, results of all_reduce. Computed and stored once.
 *   ROWS     (B, ...): every replica has its rows. Folded: all rows stacked, B counts them all.
 *   STACKED  differs between replicas and has no batch dimension. Folded: (R, ...).
 */
typedef enum dt_replication { DT_UNIFORM, DT_ROWS, DT_STACKED } dt_replication;

/* The spread of every node. distributed[i]: argument i has one value per replica (all with a batch
 * dimension do); NULL: all have. VARYING_UPDATE naming the variable when replicas would assign
 * different values to one that is uniform. */
dt_status *dt_replication_of(const dt_graph *g, const bool *distributed, dt_arena *arena,
                             dt_replication **out) DT_MUST_USE;

/* Gives variables that may diverge a copy for each replica where g assigns different values. */
dt_status *dt_diverge_variables(const dt_graph *g, const bool *distributed,
                                int replicas) DT_MUST_USE;

/* ---- fold ---- */

typedef struct dt_folded {
    /* arguments: ROWS ones as before, STACKED ones with a leading R, UNIFORM ones as before */
    dt_graph *graph;
    dt_replication *arg, *result; /* arrays in graph->arena */
    int replicas;
} dt_folded;
/* Makes the program of all replicas of one memory space, over their stacked rows. CANNOT_FOLD
 * (INTERNAL) when an op has no folded form: the caller then runs replica by replica. */
dt_status *dt_fold(const dt_graph *g, const bool *distributed, int replicas,
                   dt_folded *out) DT_MUST_USE;

/* ---- decoding, a token at a time ---- */

/* Graphs that continue a text: see decode.c. */
typedef struct dt_decoding {
    /* results: scores (B, T, V), then what the step caches, float32 with dimension 0 = B */
    dt_graph *whole;
    /* arguments: the token (B, 1), its position (int32 scalar), then the caches in the order of
     * whole's results, with any values from that position on; results: scores (B, 1, V), then a
     * row for each cache, of size 1 along the dimension that is T in the cache */
    dt_graph *step;
    int mixing; /* -1; or a node of g that mixes positions, so that both graphs are NULL */
} dt_decoding;
/* Makes both from the forward pass g of a language model: one argument, tokens (B, T), and one
 * result, scores (B, T, V). */
dt_status *dt_decode(const dt_graph *g, dt_decoding *out) DT_MUST_USE;

/* ---- reproducible shards ---- */

/* Replaces every sum over the batch by `shards` partial sums, added by one fixed tree, so that bits
 * do not depend on where rows are summed. */
dt_status *dt_shards(const dt_graph *folded, int shards, dt_graph **out) DT_MUST_USE;

/* ---- simplify ---- */

/* Computes constants and removes neutral operations and unused nodes. Bits of results do not
 * change. */
dt_status *dt_simplify(const dt_graph *g, dt_graph **out) DT_MUST_USE;

/* ---- steps of a sequence ---- */

/* Joins the gradients of a sequence's steps and the products of all steps: see steps.c. *out NULL:
 * the graph has no such steps. */
dt_status *dt_join_steps(const dt_graph *folded, dt_graph **out) DT_MUST_USE;

/* ---- rematerialisation ---- */

/* A kind of values that units keep for the backward pass: results of products with the weight
 * ".../WEIGHT/kernel", or else of an op, wherever they are in a unit. */
typedef struct dt_kept_value {
    const char *weight; /* NULL: of `op` */
    const dt_op *op;
    bool on_host; /* kept in the host's memory */
} dt_kept_value;

/* Layers grouped into units. The values that a unit needs for its gradient are computed a second
 * time. */
typedef struct dt_layer_units {
    int n;
    const char *const *layer; /* their names, which nodes' paths begin with */
    const int *unit;          /* [n] from 0 */
    int n_kept;
    const dt_kept_value *kept; /* kept values, besides the units' inputs */
    bool inputs_on_host;       /* the units' inputs are kept in the host's memory */
} dt_layer_units;
/* g, changed such that units store only their inputs and `kept` for the backward pass. */
dt_status *dt_remat(const dt_graph *g, const dt_layer_units *units, dt_graph **out) DT_MUST_USE;
/* Whether a node repeats work for the backward pass. It counts as work of the hardware but not
 * of the model. */
bool dt_is_rematerialized(const dt_node *n);
/* Whether a node is a value that comes back from the host's memory. Such a node is another name for
 * its first input, which is sent there once the forward pass has read it. Its second input is the
 * gradient with which the unit's backward pass begins. */
bool dt_is_from_host(const dt_node *n);

/* ---- pieces of images ---- */

/* The number of pieces of a batch: for values in general, and (dt_image_units) in graphs with
 * convolutions for values whose rows are large (images). */
int dt_row_units(const dt_graph *g, int64_t batch);
/* The number of pieces where a batch has fewer examples than it should have pieces, so that they
 * divide the *steps of each example, too; 0: by rows, dt_row_units. */
int dt_time_units(const dt_graph *g, int64_t batch, int64_t *steps);
/* The largest power of two that is at most x, in [1, 16]. */
int dt_tiles_below(double x);
int dt_image_units(const dt_graph *g, int64_t rows);
bool dt_is_image(const dt_node *n);
/*
 * For `rows` rows: replaces sums over a batch of images by sums over pieces and a sum of these.
 * *out NULL: there are none. replicas: the number of replicas, which have equally many rows and
 * whose own sums are divided, too; 0: they may have any numbers of rows.
 */
dt_status *dt_tile_batch(const dt_graph *g, int64_t rows, int replicas, dt_graph **out) DT_MUST_USE;

/* ---- partition over the threads of one memory space ---- */

/*
 * Owner computes: rows of activations are cut into blocks, uniform values (weight gradients) along
 * their first dimension. The thread that computes a piece goes on with it while the next op needs
 * no other piece. A segment is the work between two joins. Cuts depend on sizes only and not on
 * the number of threads, so any number of threads makes the same calls and gets the same bits.
 *
 * A state's update is made in the variable's own memory unless copy_back says that it is copied
 * there at the end. If its old value is a result, or another state's update, the back end must
 * keep a copy: the partition does not wait for it.
 */
/* What the pieces of a value with rows divide. */
typedef enum dt_division {
    DT_BY_ROWS = 1, /* dimension 0 */
    DT_BY_TIME = 2, /* dimensions 0 and 1, as one: the steps of all examples */
    DT_BY_HEADS = 4 /* the heads of keys of all examples, in attention */
} dt_division;

typedef struct dt_node_division {
    int units; /* pieces; 1: whole */
    dt_division by;
    int segment; /* -1: no work (argument, variable, constant) */
    int group;   /* nodes of a group run piece by piece, one after the other */
    /* computed by its only reader, without a value in memory: a segment op that a tree_sum reads,
     * a concatenation that another one reads */
    bool absorbed;
} dt_node_division;

typedef struct dt_program {
    dt_graph *graph;
    int64_t batch; /* the number of rows that the program is cut for */
    /* [cuts + 1]: rows of the batch at which it is cut, under `reproducible`; NULL: in equal
     * pieces */
    const int32_t *cut;
    int cuts;
    dt_node_division *piece; /* by node */
    /* by state: the update is copied at the end, because a later node reads the old value */
    bool *copy_back;
    int n_segments, n_groups;
} dt_program;

typedef struct dt_partition_options {
    int64_t batch;
    const int32_t *cut; /* [cuts + 1]: the borders of shards, 0 first; NULL: pieces by sizes */
    int cuts;
    /* Whether the back end can compute a node's result in pieces by rows, time or heads; NULL: by
     * rows, wherever the op's rule allows it. */
    bool (*can_split)(const dt_graph *g, int node, dt_division by);
} dt_partition_options;
/* The program keeps `graph` (not owned) and lives in `arena`. */
dt_program *dt_partition(dt_graph *graph, const dt_partition_options *options, dt_arena *arena);
/* Rows [*lo, *hi) of piece `unit` for a dimension 0 of `size` (k * B: cut at multiples of k); by
 * time and by heads those of all examples. */
void dt_piece_rows(const dt_program *p, int node, int unit, int64_t *lo, int64_t *hi);
/* dt_piece_rows for a division into `units` pieces. */
void dt_part_rows(const dt_program *p, int node, int unit, int units, int64_t *lo, int64_t *hi);
/* Whether a node does no work and its result has the memory of its first input: a reshape, a
 * barrier. */
bool dt_is_name(const dt_node *n);
/* The node whose memory `node` is. */
int dt_named_by(const dt_graph *g, int node);
/* The number of key heads of an attention node, or of a node of its gradient. */
int64_t dt_heads_of(const dt_graph *g, int node);
void dt_program_print(const dt_program *p, dt_str *out);

/* ---- products as chips make them ---- */

/* Rounds the operands of products, and of those inside attention, to bfloat16: see chip.c. The last
 * pass before dt_partition. */
dt_status *dt_chip_products(const dt_graph *g, dt_graph **out) DT_MUST_USE;

/* ---- few digits ---- */

/* Computes float16 and bfloat16 in float32 and rounds results: see upcast.c; *out NULL if g has
 * none. */
dt_status *dt_upcast(const dt_graph *g, dt_graph **out) DT_MUST_USE;

/* ---- removing annotations ---- */

/* Removes annotations of logical devices from g; *out NULL if it has none. */
dt_status *dt_unannotate(const dt_graph *g, dt_graph **out) DT_MUST_USE;

#endif
