/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Partition over devices: one program that every device of a mesh runs on its part of every value
 * (SPMD), with collectives between the parts. The files in pass/spmd describe the design.
 *
 *     folded graph -> dt_spmd_create -> a local program, printed, priced -> dt_spmd_expand -> a graph for this machine
 *
 * Layouts start from annotations in the graph (custom_call @Sharding, op/sharding.c) and are
 * propagated to all other values.
 */
#ifndef DT_PASS_SPMD_H
#define DT_PASS_SPMD_H

#include "op/partition.h"
#include "pass/pass.h"
#include "pass/timeline.h"

enum { DT_INSIDE = -1 };

/* State that is divided among the replicas instead of each having all of it, known as ZeRO and
 * FSDP. */
typedef enum dt_over_replicas { DT_OVER_NONE, DT_OVER_OPTIMIZER, DT_OVER_WEIGHTS } dt_over_replicas;
/* Their names in job files, ending in NULL. */
extern const char *const dt_over_replicas_names[];

/*
 * How the steps of a job are to be computed, besides what its strategy and its model say. `job`
 * fills it, trainers and compiled steps carry it whole, and who acts on a member reads it here: a
 * new key needs its row and its reader in `job`, a member, and that one.
 */
typedef struct dt_compute_spec {
    int shards;                     /* `reproducible`; 0: none */
    dt_over_replicas over_replicas; /* `partition` */
    int micro_batches; /* `partition`: that a batch passes through a pipeline in; 0 is 1 */
} dt_compute_spec;

typedef struct dt_spmd_options {
    int devices;   /* logical devices of a replica */
    int64_t batch; /* B: rows of all replicas */
    /* The number of replicas, which become one more axis, so that the work of one core can be
     * printed and priced; 0 or 1: no such axis, as when a job runs on this machine. */
    int replicas;
    /* [4]: the grid that replicas form on their slice, the slowest axis first; its product is
     * `replicas`. Variables that all replicas together do not divide are divided along parts of
     * its axes. NULL: a row. */
    const int *grid;
    /* by argument, for several replicas; NULL: all arguments that have rows are divided */
    const dt_replication *arg;
    dt_compute_spec how;
    /* every op has a place: one device, or all (op/placement.h); false: all ops run on all
     * devices (SPMD) */
    bool places;
    /* micro-batches that the batch is cut into, or the next smaller number that divides it; 0 is
     * 1 */
    int micro;
} dt_spmd_options;

/* Bytes that one device holds. */
typedef struct dt_spmd_bytes {
    int64_t weights, slots; /* variables; those of the optimizer */
    int64_t values;         /* bytes of values at the peak: arguments, activations, gradients */
    int peak;               /* the node of local behind which that is */
} dt_spmd_bytes;

/* Variables that over_replicas is to divide and that replicas do not divide evenly. */
typedef struct dt_spmd_undivided {
    int n, state;  /* their number; index in whole->state of the one with most bytes, -1: none */
    int64_t bytes; /* on one device, beyond its share */
} dt_spmd_undivided;

typedef struct dt_spmd {
    dt_arena *arena;
    const dt_graph *whole; /* lent */
    dt_mesh mesh;
    int64_t batch;
    /* Arguments, states and results are those of `whole`, in the same order. Variables are
     * outlines of a device's parts. */
    dt_graph *local;
    dt_layout *arg, *state, *result; /* of `whole`; the update of a state has the state's layout */
    /* by node of local; DT_INSIDE: an intermediate value that corresponds to no value of the
     * whole */
    dt_layout *layout;
    const char **note; /* by node of local: a remark for printing, such as a fall-back, or NULL */
    dt_spmd_undivided undivided;
    /* by node of local: collectives of one number are one launch (spmd/emit.c); -1: nothing
     * travels */
    int *bucket;
} dt_spmd;

/* Keeps g, which must outlive it. Free it with dt_spmd_destroy. */
dt_status *dt_spmd_create(dt_spmd **out, const dt_graph *g, const dt_spmd_options *o) DT_MUST_USE;
void dt_spmd_destroy(dt_spmd *s); /* takes NULL */
/*
 * All devices' work as one graph for one memory space, with the arguments, states and results of
 * the whole one. What devices compute alike is one node, since a trace numbers values; collectives
 * become slices, joins and sums.
 */
dt_status *dt_spmd_expand(const dt_spmd *s, dt_graph **out) DT_MUST_USE;
dt_spmd_bytes dt_spmd_count_bytes(const dt_spmd *s);
/* Bytes that a device receives in node i of local, a collective. */
double dt_spmd_received(const dt_spmd *s, int i);
/* Prices of one op of local on a device, and of one collective on links, for one micro-batch. */
typedef struct dt_stage_prices {
    double (*node)(const void *user, const dt_spmd *s, int i);
    double (*link)(const void *user, const dt_spmd *s, int i);
    const void *user;
} dt_stage_prices;
/* The pipeline that the program is, in `arena`. */
dt_pipeline dt_spmd_stages(const dt_spmd *s, const dt_stage_prices *prices, dt_arena *arena);
void dt_spmd_print(const dt_spmd *s, dt_str *out);
/* Whether g has nodes that annotate how values are divided over devices. */
bool dt_spmd_is_annotated(const dt_graph *g);

#endif
