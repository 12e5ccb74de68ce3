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

/* Which variables are divided among the replicas, instead of a copy on each: none, the optimizer's
 * slots, or also the weights. Known as ZeRO and FSDP. */
typedef enum dt_over_replicas { DT_OVER_NONE, DT_OVER_OPTIMIZER, DT_OVER_WEIGHTS } dt_over_replicas;
/* The names of dt_over_replicas in job files; a NULL ends the list. */
extern const char *const dt_over_replicas_names[];

/*
 * Settings for computing the steps of a job, besides its strategy and its model. lib/job fills in
 * this struct, trainers and compiled steps copy it, and the code that implements a setting reads
 * it. So a new key needs a row and a reader in lib/job, a member here, and the code that uses it.
 */
typedef struct dt_compute_spec {
    /* number of shards of the batch for `reproducible`; 0: the order of sums is not fixed */
    int shards;
    dt_over_replicas over_replicas; /* the key over_replicas of `partition` */
    /* the key micro_batches of `partition`: number of parts of a batch in a pipeline; 0 means 1 */
    int micro_batches;

    /* ---- settings for estimates only; they do not change what a step computes ---- */

    /* whether layers keep values in 16 bits. The step that is estimated was traced in float32 */
    bool mixed;
    /* how products with weights are quantized, except those of `output` */
    dt_quantization quantization;
    const char *output; /* path of the output layer; NULL: there is none */
    /* the model whose Repeat layers are run as loops over blocks, forward and backward; NULL:
     * blocks are separate */
    const dt_model_spec *scanned;
    /* number of pieces in which the output layer, its loss and its gradient are computed, one piece
     * after the other; the output layer's product is then computed twice. 0 means 1 */
    int pieces;
    /* all-gathers and reduce-scatters between the devices of a replica are divided into pieces that
     * overlap the products beside them */
    bool collective_products;
    /* number of slices joined by a network, each with a part of the batch; 0 means 1 */
    int slices;
} dt_compute_spec;

typedef struct dt_spmd_options {
    int devices;   /* number of logical devices over which a replica is divided */
    int64_t batch; /* rows of the batches of all replicas together, which replace B */
    /* The number of replicas, which become further axes of the mesh, so that the program of one
     * core can be printed and its cost estimated. 0 or 1: there are no such axes, as for a job that
     * runs on this machine. */
    int replicas;
    /* [4]: the grid that replicas form on their slice, the axis that varies slowest first; the
     * product of the sizes is `replicas`. Variables that cannot be divided evenly by all replicas
     * are divided along some of its axes. NULL: the replicas form one axis. */
    const int *grid;
    /* [arguments] how each argument is spread over several replicas; NULL: all arguments with rows
     * are divided */
    const dt_replication *arg;
    dt_compute_spec how;
    /* true: each op runs on one device, or on all devices (op/placement.h); false: all ops run on
     * all devices (SPMD) */
    bool places;
    /* requested number of micro-batches, 0 means 1. If the batch cannot be divided evenly by it and
     * by replicas and annotations, the next smaller number by which it can is used */
    int micro;
} dt_spmd_options;

/* The bytes of the device that needs the most memory. */
typedef struct dt_spmd_bytes {
    int64_t weights, slots; /* bytes of variables: slots of the optimizer; weights: all others */
    int64_t values; /* bytes of arguments, activations and gradients when memory use is highest */
    int peak;       /* index of the node of `local` during which memory use is highest */
} dt_spmd_bytes;

typedef struct dt_spmd {
    dt_arena *arena;
    const dt_graph *whole; /* the whole graph, which is divided; owned by the caller */
    dt_compute_spec how;
    dt_mesh mesh;
    int64_t batch;
    /* The program of a device. It has the arguments, states and results of `whole`, in the same
     * order. Its variables have the types of a device's parts, and no memory. */
    dt_graph *local;
    /* layouts of the arguments, states and results of `whole`; an update has the layout of its
     * state */
    dt_layout *arg, *state, *result;
    /* [nodes of local] layout of each node; kind DT_INSIDE: an intermediate value that corresponds
     * to no value of `whole` */
    dt_layout *layout;
    /* [nodes of local] a remark for printing, such as why a value is not divided, or NULL */
    const char **note;
    /* variables that over_replicas asks to divide, but whose sizes the number of replicas does not
     * divide evenly */
    struct {
        /* n: number of such variables; state: index in whole->state of the one with the most of
         * `bytes`, -1 if n is 0 */
        int n, state;
        int64_t bytes; /* bytes of these variables on a device that exceed an equal share */
    } undivided;
    /* [nodes of local] number of the launch that sends the node's collective; collectives with
     * equal numbers are sent together (spmd/emit.c); -1: the node sends nothing */
    int *bucket;
} dt_spmd;

/* Whether a node belongs to the optimizer's update of a variable: its path begins with
 * "optimizer/". */
bool dt_is_of_optimizer(const dt_node *n);
/* Divides g over devices. g must outlive *out. Free *out with dt_spmd_destroy. */
dt_status *dt_spmd_create(dt_spmd **out, const dt_graph *g, const dt_spmd_options *o) DT_MUST_USE;
void dt_spmd_destroy(dt_spmd *s); /* s may be NULL */
/*
 * Makes a graph for one memory space that does the work of all devices, with the arguments, states
 * and results of the whole graph. Equal computations of several devices are one node, since a
 * trace numbers values; collectives become slices, joins and sums.
 */
dt_status *dt_spmd_expand(const dt_spmd *s, dt_graph **out) DT_MUST_USE;
dt_spmd_bytes dt_spmd_count_bytes(const dt_spmd *s);
/* Returns the bytes that a device receives over links in node i of local, which must be a
 * collective; 0 if it has no input, or is only over micro-batches. */
double dt_spmd_received(const dt_spmd *s, int i);
/* Functions that estimate, for one micro-batch, the seconds of an op of `local` on a device, and of
 * a collective on links. */
typedef struct dt_stage_prices {
    double (*node)(const void *user, const dt_spmd *s, int i);
    double (*link)(const void *user, const dt_spmd *s, int i);
    const void *user;
} dt_stage_prices;
/* Returns the pipeline that the program forms, in `arena`. */
dt_pipeline dt_spmd_stages(const dt_spmd *s, const dt_stage_prices *prices, dt_arena *arena);
void dt_spmd_print(const dt_spmd *s, dt_str *out);
/* Whether g has nodes that annotate how values are divided over devices. */
bool dt_spmd_is_annotated(const dt_graph *g);

#endif
