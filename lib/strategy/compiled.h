/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of a compiled step. Most steps are folded: made one graph that computes all replicas
 * (compiled.c). The others run replica by replica (unfolded.c).
 */
#ifndef DT_STRATEGY_COMPILED_H
#define DT_STRATEGY_COMPILED_H

#include "strategy/strategy.h"

enum { DT_SIZES = 16 }; /* number of batch sizes for which executables are kept */

/* The part of a batch that this process computes: `rows` rows from `first` on (possibly none). They
 * are divided into shards if the job's `reproducible` asks for that, or if several workers share
 * the batch. */
typedef struct dt_share {
    int64_t first, rows;
    int shards;
    /* [shards + 1] first row of each shard, counted from `first`; NULL: there are no shards;
     * owned */
    int32_t *border;
} dt_share;

/* The step compiled for one number of rows. */
typedef struct dt_sized {
    int64_t rows;
    bool even; /* whether all replicas have the same number of rows, and all are in this process */
    dt_share share;
    /* The program that computes only this worker's rows. NULL: this process computes all rows. */
    dt_graph *own;
    /* The step partitioned over logical devices, if these compute separately. NULL: each replica
     * computes as one device. */
    dt_spmd *spmd;
    dt_graph *unrolled; /* one graph with the work of all devices of `spmd` */
    /* the program of each device of each replica, for estimates; NULL: not needed */
    dt_spmd *priced;
    /* The graph from which `over` was made: that of all replicas, without annotations of logical
     * devices. NULL: `over` was made from folded.graph itself. */
    dt_graph *bare;
    /* The program for each device of the back end. NULL: each device computes all rows
     * (dt_compiled_cut_over). */
    dt_spmd *over;
    dt_executable *executable;
} dt_sized;

/* The program of each device of each replica, for one number of rows. Only for estimates. */
typedef struct dt_priced {
    int64_t rows;
    dt_spmd *spmd;
} dt_priced;

struct dt_compiled {
    dt_strategy *strategy;
    dt_arena *arena;
    dt_graph *step; /* the step of one replica after simplification */
    /* one graph that computes all replicas; folded.graph NULL: the step runs replica by replica */
    dt_folded folded;
    /* the graph of all replicas before the batch was divided into shards; NULL: it was not
     * divided */
    dt_graph *unsharded;
    /* The graph of all replicas before dt_join_steps combined the operations of a sequence's time
     * steps. Estimates need them apart. NULL: nothing was combined. */
    dt_graph *apart;
    /* The graph that is run once for each replica if no graph computes them all. NULL: `step` is
     * run. */
    dt_graph *alone;
    /* The compiled step whose cost stands for this one's in estimates. NULL: this step's own
     * cost. */
    dt_compiled *stands_for;
    bool annotated;                     /* whether the step places values on logical devices */
    const dt_replication *arg, *result; /* how each argument and result is spread over replicas */
    /* [states of the step] the revision that each variable had when the step was compiled */
    unsigned *revision;
    dt_compute_spec how;
    /* number of other threads that are busy beside those of the step; lent; may be NULL */
    const _Atomic uint32_t *beside;
    /* the workers that share each batch; NULL: this process computes all of it */
    const struct dt_cluster *cluster;
    /* [args] views of the current run's arguments; those with a batch dimension have only the rows
     * that this worker computes */
    dt_view *own_arg;
    /* number of replicas whose rows this worker computes; 0: this process is alone, or rows are
     * divided by shards, not by replicas */
    int own_replicas;
    /* For the current run, if own_replicas > 0: the caller's offsets. */
    const int32_t *offsets;
    /* [own_replicas + 1] first row of each of this worker's replicas, counted from its first row */
    int32_t *own_offsets;
    /* [results] memory for results that are collected from all workers; owned; NULL: not needed */
    void **gathered;
    /* Number of entries of `part`, the variables of which this worker keeps only a part
     * (divided.h). */
    int n_parts;
    struct dt_divided **part;
    /* number of shards of a batch: how.shards or, if that is 0, one for each worker; 0: batches
     * have no shards */
    int shards;
    /* n: number of sizes in use; next: counter that chooses which size is replaced when all are
     * used */
    int n, next;
    dt_sized size[DT_SIZES];
    int n_priced;
    /* [n_priced] the programs that dt_compiled_priced has made, each for another number of rows;
     * when the list is full, its last entry is replaced */
    dt_priced priced[DT_SIZES];
    /* For a step that runs replica by replica: [results] memory of the last run's results;
     * owned. */
    void **joined;
};

/* Whether sums and products round as on the slice's chip (numerics: chip). */
bool dt_compiled_is_chip(const dt_compiled *c);
/* Builds the graphs for a batch of `rows`. The step must not be one that runs replica by replica.
 * Fills *z except `even`, `bare`, `over`, `priced` and `executable`. */
dt_status *dt_compiled_cut(const dt_compiled *c, int64_t rows, dt_sized *z) DT_MUST_USE;
void dt_sized_release(dt_sized *z); /* releases a size, which may be all zeros */
/* Returns the request to compile z. It points into c and z. */
dt_compile_request dt_compiled_request(const dt_compiled *c, const dt_sized *z);
/* For a back end with several devices: sets z->over to the programs of all devices. z->over stays
 * NULL, and each device computes all rows, if there is one device, if rows cannot be divided
 * evenly, in a process that is one of several workers, and with numerics: chip. */
dt_status *dt_compiled_cut_over(const dt_compiled *c, int devices, dt_sized *z) DT_MUST_USE;
/* Whether the program models each logical device separately. It does not if no value is placed on
 * them, if a replica has only one, or if the batch is divided into shards (`reproducible`). */
bool dt_compiled_uses_logical_devices(const dt_compiled *c);
/* Returns the number of micro-batches: the requested one, or the next smaller one that divides the
 * rows of every replica; 1 if replicas have different numbers of rows. */
int dt_compiled_micro_batches(const dt_compiled *c, int64_t rows);
/* For a step that does not fit the slice's memory: adds notes to s about changes that would make
 * it fit, each of which was tried. Returns s. */
dt_status *dt_compiled_what_fits(const dt_compiled *c, int64_t rows, const dt_device *d,
                                 dt_status *s) DT_MUST_USE;
dt_status *dt_compiled_cut_for_pricing(const dt_compiled *c, int64_t rows,
                                       dt_spmd **out) DT_MUST_USE;

/* Runs one step in the interpreter. Arguments and results are as in dt_compiled_run. */
dt_status *dt_unfolded_run(dt_compiled *c, const int32_t *offsets, const dt_view *arg,
                           dt_view *result) DT_MUST_USE;

#endif
