/*
 * Partition over devices: one program that every device of a mesh runs on its part of every value (SPMD), with collectives between
 * the parts. Design and words: essays in pass/spmd.
 *
 *     folded graph -> dt_spmd_create -> a local program, printed, priced -> dt_spmd_expand -> a graph for this machine
 *
 * Where values lie begins with notes in the graph (custom_call @Sharding, op/sharding.c) and is propagated to all others.
 */
#ifndef DT_PASS_SPMD_H
#define DT_PASS_SPMD_H

#include "op/partition.h"
#include "pass/pass.h"

typedef struct dt_spmd_options {
    int devices;     /* logical devices of a replica */
    int64_t batch;   /* B: rows of all replicas */
} dt_spmd_options;

typedef struct dt_spmd {
    dt_arena *arena;
    const dt_graph *whole; /* lent */
    dt_mesh mesh;
    int64_t batch;
    dt_graph *local;       /* args: those of `whole`, then its states; results: those of `whole`, then updates of states that have one */
    dt_layout *arg, *state, *result; /* of `whole`; a state's update lies as the state does */
    dt_layout *layout;     /* by node of local */
    const char **note;     /* by node of local: what is worth a word (a fall-back), or NULL */
} dt_spmd;

/* Keeps g, which must outlive it. Free it with dt_spmd_destroy. */
dt_status *dt_spmd_create(dt_spmd **out, const dt_graph *g, const dt_spmd_options *o) DT_MUST_USE;
void dt_spmd_destroy(dt_spmd *s); /* takes NULL */
/*
 * All devices' work as one graph for one memory space, with the arguments, states and results of the whole one. What devices compute alike is one
 * node, since a trace numbers values; collectives become slices, joins and sums.
 */
dt_status *dt_spmd_expand(const dt_spmd *s, dt_graph **out) DT_MUST_USE;
void dt_spmd_print(const dt_spmd *s, dt_str *out);
/* Whether g has notes that ask for several devices. */
bool dt_spmd_is_annotated(const dt_graph *g);

#endif
