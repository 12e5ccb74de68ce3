/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of a compiled step, shared by the folded form (compiled.c) and the one that runs
 * replica by replica (unfolded.c).
 */
#ifndef DT_STRATEGY_COMPILED_H
#define DT_STRATEGY_COMPILED_H

#include "strategy/strategy.h"

enum { DT_SIZES = 16 }; /* executables kept */

/* What this process computes of a batch of `rows`: shards of `reproducible`, and their rows, of
 * which a worker may have none. */
typedef struct dt_share {
    int64_t first, rows;
    int shards;
    int32_t *border; /* [shards + 1] rows from `first` on; NULL: there are no shards; owned */
} dt_share;

/* The step for one number of rows. */
typedef struct dt_sized {
    int64_t rows;
    bool even; /* all replicas have the same number of rows, and all are in this process */
    dt_share share;
    dt_graph *own; /* the program of this worker, of several; NULL: all rows are computed here */
    /* the step partitioned over logical devices; NULL: each replica computes as one device */
    dt_spmd *spmd;
    dt_graph *unrolled; /* the work of all devices of `spmd` in one graph */
    dt_spmd *priced;    /* the program of each device of each replica; NULL: not needed */
    /* graph of `over` without annotations of logical devices; NULL: they are kept, or there are
     * none */
    dt_graph *bare;
    /* the program of each of the back end's devices; NULL: it has one, or rows do not divide */
    dt_spmd *over;
    dt_executable *executable;
} dt_sized;

/* What each device of each replica does, for one number of rows. */
typedef struct dt_priced {
    int64_t rows;
    dt_spmd *spmd;
} dt_priced;

struct dt_compiled {
    dt_strategy *strategy;
    dt_arena *arena;
    dt_graph *step;      /* one replica's, simplified */
    dt_folded folded;    /* its graph is NULL if the step has no folded form */
    dt_graph *unsharded; /* the folded graph before it was cut into shards; NULL: it was not */
    dt_graph *alone;     /* the graph that runs replica by replica; NULL: `step` */
    bool annotated;      /* the folded graph places values on logical devices */
    const dt_replication *arg, *result; /* by argument and result */
    unsigned *revision; /* [states] of the step: the variable's, when it was compiled */
    dt_compute_spec how;
    const _Atomic uint32_t *beside; /* as dt_env has it */
    /* the workers that share each batch; NULL: this process computes all of it */
    const struct dt_cluster *cluster;
    dt_view *own_arg;       /* [args] with this worker's rows of the current run */
    int own_replicas;       /* replicas of each worker, whose rows it computes; 0: by shards */
    const int32_t *offsets; /* offsets of the current run, for own_replicas */
    int32_t *own_offsets;   /* [own_replicas + 1] */
    void **gathered;        /* [results] rows of all workers, owned; NULL: none */
    int n_parts;            /* states of which this worker keeps a part (divided.h) */
    struct dt_divided **part;
    int shards;  /* of how.shards; at least one for each worker; 0: none */
    int n, next; /* number of sizes compiled; the size to be replaced next */
    dt_sized size[DT_SIZES];
    int n_priced;
    dt_priced priced[DT_SIZES]; /* asked for by dt_compiled_priced */
    void **joined;              /* unfolded: [results] of the last run, owned */
};

/* Whether sums and products round as on the slice's chip (numerics: chip). */
bool dt_compiled_is_chip(const dt_compiled *c);
/* Cuts a step that has a folded form for a batch of `rows`: fills *z except `executable` and
 * `priced`. */
dt_status *dt_compiled_cut(const dt_compiled *c, int64_t rows, dt_sized *z) DT_MUST_USE;
void dt_sized_release(dt_sized *z); /* z may be zeroed */
/* The request for a back end; lends from both arguments. */
dt_compile_request dt_compiled_request(const dt_compiled *c, const dt_sized *z);
/* For a back end with several devices: sets z->over to the program of each. It stays NULL where the
 * rows do not divide; then each device computes all rows. */
dt_status *dt_compiled_cut_over(const dt_compiled *c, int devices, dt_sized *z) DT_MUST_USE;
/* Whether logical devices compute on their own: placement is not meaning, under `reproducible` they
 * do not. */
bool dt_compiled_uses_logical_devices(const dt_compiled *c);
/* The requested number, or the next smaller one that divides the rows of every replica. */
int dt_compiled_micro_batches(const dt_compiled *c, int64_t rows);
/* Of a step that does not fit the slice's memory: notes of what would, each tried. Returns s. */
dt_status *dt_compiled_what_fits(const dt_compiled *c, int64_t rows, const dt_device *d,
                                 dt_status *s) DT_MUST_USE;
dt_status *dt_compiled_cut_for_pricing(const dt_compiled *c, int64_t rows,
                                       dt_spmd **out) DT_MUST_USE;

/* One step through the interpreter, arguments and results as dt_compiled_run has them. */
dt_status *dt_unfolded_run(dt_compiled *c, const int32_t *offsets, const dt_view *arg,
                           dt_view *result) DT_MUST_USE;

#endif
