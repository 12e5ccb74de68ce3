/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Partition over devices: one program that every device of a mesh runs on its part of every value
 * (SPMD), with collectives between the parts. The files in pass/spmd describe the design.
 *
 *     folded graph -> dt_spmd_create -> a local program, printed, priced
 *                  -> dt_spmd_expand -> a graph for this machine
 *
 * Layouts start from annotations in the graph (custom_call @Sharding, op/sharding.c) and are
 * propagated to all other values.
 */
#ifndef DT_PASS_SPMD_H
#define DT_PASS_SPMD_H

#include "model/model.h"
#include "op/partition.h"
#include "pass/pass.h"
#include "pass/timeline.h"

enum { DT_INSIDE = -1 };

/* How state is divided among the replicas instead of each having a copy: known as ZeRO and FSDP. */
typedef enum dt_over_replicas { DT_OVER_NONE, DT_OVER_OPTIMIZER, DT_OVER_WEIGHTS } dt_over_replicas;
/* Their names in job files, ending in NULL. */
extern const char *const dt_over_replicas_names[];

/*
 * How the steps of a job are to be computed, besides what its strategy and its model say. `job`
 * fills it, trainers and compiled steps carry it whole, and the code that implements a member
 * reads it here. So a new key needs a row and a reader in `job`, a member here, and the code that
 * uses it.
 */
typedef struct dt_compute_spec {
    int shards;                     /* `reproducible`; 0: none */
    dt_over_replicas over_replicas; /* `partition` */
    int micro_batches; /* of `partition`: micro-batches per batch, for a pipeline; 0 means 1 */

    /* ---- for prices alone: a step with them computes the same ---- */

    /* layers keep values in 16 bits, though the step that is priced is traced in float32 */
    bool mixed;
    /* quantization of products with weights, except those of `output` */
    dt_quantization quantization;
    const char *output; /* the path of the output layer; NULL: there is none */
    /* the model whose layers in a Repeat are a loop over blocks, forward and backward; NULL: blocks
     * are written out */
    const dt_model_spec *scanned;
    /* in which the output layer, its loss and its gradient are computed, one after the other; the
     * output layer's product twice: 0 is 1 */
    int pieces;
    bool collective_products; /* collectives overlap the products that they feed, in pieces */
    int slices;               /* joined by a network, each with a share of the batch; 0 is 1 */
} dt_compute_spec;

typedef struct dt_spmd_options {
    int devices;   /* logical devices of a replica */
    int64_t batch; /* B: rows of all replicas */
    /* The number of replicas, which become one more axis, so that the work of one core can be
     * printed and priced; 0 or 1: no such axis, as when a job runs on this machine. */
    int replicas;
    /* [4]: the grid that replicas form on their slice, the slowest axis first; its product is
     * `replicas`. Variables that cannot be divided evenly by all replicas are divided along some of
     * its axes. NULL: one axis. */
    const int *grid;
    /* by argument, for several replicas; NULL: all arguments that have rows are divided */
    const dt_replication *arg;
    dt_compute_spec how;
    /* every op has a place: one device, or all (op/placement.h); false: all ops run on all
     * devices (SPMD) */
    bool places;
    /* requested micro-batches; the next smaller number that divides the batch is used; 0 means 1 */
    int micro;
} dt_spmd_options;

/* Bytes that one device holds. */
typedef struct dt_spmd_bytes {
    int64_t weights, slots; /* variables; those of the optimizer */
    int64_t values;         /* bytes of values at the peak: arguments, activations, gradients */
    int peak;               /* the node of `local` at which memory use is highest */
} dt_spmd_bytes;

typedef struct dt_spmd {
    dt_arena *arena;
    const dt_graph *whole; /* lent */
    dt_compute_spec how;
    dt_mesh mesh;
    int64_t batch;
    /* Arguments, states and results are those of `whole`, in the same order. Variables are
     * outlines of a device's parts. */
    dt_graph *local;
    dt_layout *arg, *state, *result; /* layouts of `whole`; an update has the layout of its state */
    /* by node of local; DT_INSIDE: an intermediate value that corresponds to no value of the
     * whole */
    dt_layout *layout;
    const char **note; /* by node of local: a remark for printing, such as a fall-back, or NULL */
    /* variables that over_replicas should divide but whose sizes replicas cannot divide evenly */
    struct {
        int n, state;  /* n: how many; state: the largest, as index in whole->state, -1: none */
        int64_t bytes; /* on one device, beyond its share */
    } undivided;
    /* by node of local: collectives with equal numbers are sent in one launch (spmd/emit.c); -1:
     * the node sends nothing */
    int *bucket;
} dt_spmd;

/* Whether a node is part of an optimizer's update of a variable. */
bool dt_is_of_optimizer(const dt_node *n);
/* Keeps g, which must outlive it. Free it with dt_spmd_destroy. */
dt_status *dt_spmd_create(dt_spmd **out, const dt_graph *g, const dt_spmd_options *o) DT_MUST_USE;
void dt_spmd_destroy(dt_spmd *s); /* takes NULL */
/*
 * Makes a graph for one memory space that does the work of all devices, with the arguments, states
 * and results of the whole graph. Equal computations of several devices are one node, since a
 * trace numbers values; collectives become slices, joins and sums.
 */
dt_status *dt_spmd_expand(const dt_spmd *s, dt_graph **out) DT_MUST_USE;
dt_spmd_bytes dt_spmd_count_bytes(const dt_spmd *s);
/* Bytes that a device receives in node i of local, if it is a collective. */
double dt_spmd_received(const dt_spmd *s, int i);
/* Prices of one op of local on a device, and of one collective on links, for one micro-batch. */
typedef struct dt_stage_prices {
    double (*node)(const void *user, const dt_spmd *s, int i);
    double (*link)(const void *user, const dt_spmd *s, int i);
    const void *user;
} dt_stage_prices;
/* The pipeline that the program forms, in `arena`. */
dt_pipeline dt_spmd_stages(const dt_spmd *s, const dt_stage_prices *prices, dt_arena *arena);
void dt_spmd_print(const dt_spmd *s, dt_str *out);
/* Whether g has nodes that annotate how values are divided over devices. */
bool dt_spmd_is_annotated(const dt_graph *g);

#endif
