/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of this room. */
#ifndef DT_COST_COST_IMPL_H
#define DT_COST_COST_IMPL_H

#include "cost/plan.h"

/* ---- a node as it is priced (node.c) ---- */

/* The concrete type of node i on one device, of the dtype that it is priced with. */
dt_type dt_priced_type(const dt_priced_program *r, int i);
/* The cost of the op by itself. */
dt_cost dt_priced_cost(const dt_priced_program *r, int i);
/* The node that has the memory which readers of i read, looking through reshapes and through
 * values that are computed where they are read. */
int dt_priced_source(const dt_priced_program *r, int i);
/* Whether i is read from memory. Constants, counters and sizes are computed where they are read. */
bool dt_priced_lies_there(const dt_priced_program *r, int i);
/* Parts of a variable brought together from other replicas, or of a value from a replica's other
 * devices: gathered once for the forward pass, once for the backward pass. */
bool dt_priced_is_gathered_twice(const dt_priced_program *r, int i);
/* By node: whether a result needs it; the rest is backward work and updates. In `arena`. */
bool *dt_priced_forward(const dt_priced_program *r, dt_arena *arena);
/* Whether i is as large as the output layer's result, belongs to it or to its loss, and is there in
 * pieces. */
bool dt_priced_is_piece(const dt_priced_program *r, int i);
/* Adds what 8-bit operands change in the cost of node i. */
void dt_priced_quantize(const dt_priced_program *r, int i, dt_cost *cost);

/* ---- mixed precision (mixed.c) ---- */

/* What each node of the local graph is kept in, under a policy of Keras like mixed_bfloat16: what
 * layers compute is `narrow`; variables, losses, updates and sums of gradients are float32. In
 * `arena`. */
int8_t *dt_mixed_dtypes(const dt_spmd *s, dt_dtype narrow, dt_arena *arena);

/* ---- values that readers recompute (duplicate.c) ---- */

/* Finds the values that readers recompute, for r->made_of, which it sets while it looks. The
 * result is in `arena`. */
int *dt_duplicated_values(dt_priced_program *r, dt_arena *arena);

/* A copy of r in `arena` that has dtypes and the values that readers recompute (plan.c). */
dt_priced_program dt_priced_prepared(const dt_priced_program *r, dt_arena *arena);

/* ---- kernels (fuse.c) ---- */

/* Whether element-wise ops that compute inputs of node i can be fused into its kernel. */
bool dt_launch_takes_producers(const dt_priced_program *r, int i);

typedef struct dt_kernel_launch {
    int at;   /* position in the program: the first node at which it can run */
    int head; /* the node that it is named after: the one with a product, else the last one */
    double times;
    double again; /* how many of `times` repeat work for the backward pass */
    /* in a pipeline: runs for all micro-batches over the number of devices, since only one
     * device has it; else 1 */
    double share;
    dt_cost work;
    dt_core_price price;
} dt_kernel_launch;

typedef struct dt_launches {
    int n;
    dt_kernel_launch *kernel; /* by place in the program */
    int *of;                  /* by node: its kernel, -1: it is in none */
    /* by node: computed by a kernel and read by another one, so that it needs HBM */
    bool *kept;
} dt_launches;

/* The launches of r, in `arena`. */
dt_launches dt_launches_create(const dt_priced_program *r, dt_arena *arena);

/* ---- memory (hbm.c) ---- */

void dt_plan_count_hbm(const dt_priced_program *r, const dt_launches *k, dt_plan *p);

/* ---- links (links.c) ---- */

typedef struct dt_link_price {
    double seconds;
    /* bytes over the busiest link along x, y, z; [1]: towards larger coordinates */
    double way[3][2];
    int ranks;
    const char *schedule; /* text in the arena of dt_links_create */
} dt_link_price;

/* Prices of a program's collectives, with those already computed. */
typedef struct dt_links dt_links;
dt_links *dt_links_create(const dt_priced_program *r, dt_arena *arena);
void dt_links_destroy(dt_links *l);
/* The price of node i, a collective to which each device contributes `bytes` bytes. */
dt_link_price dt_links_price(dt_links *l, int i, double bytes);

/* ---- layers (layers.c) ---- */

/* The row of the layer that a node's path belongs to; created if it does not exist. */
dt_plan_layer *dt_plan_layer_of(dt_plan *p, const char *path);

/* ---- pipelines (stages.c) ---- */

/* Whether ops are placed on stages, so that devices do different work. */
bool dt_plan_has_places(const dt_spmd *s);
/* Sets the shares of kernels, too. */
void dt_plan_run_stages(const dt_priced_program *r, dt_launches *k, dt_plan *p);

/* ---- the queue of a unit (ready_queue.c) ---- */

typedef struct dt_queued {
    double ready;
    int place, item;
} dt_queued;

typedef struct dt_queue_heap {
    int n, cap;
    bool by_time; /* ordered by time; false: by position */
    dt_queued *entry;
} dt_queue_heap;

/* Begins as {0}. */
typedef struct dt_ready_queue {
    dt_queue_heap later, due;
} dt_ready_queue;

void dt_ready_queue_add(dt_ready_queue *t, const dt_queued *entry);
/* The next launch when the unit is free at `now`, which never goes back; NULL: none waits. */
const dt_queued *dt_ready_queue_next(dt_ready_queue *t, double now);
/* Removes the launch that was found last. */
void dt_ready_queue_take(dt_ready_queue *t);
void dt_ready_queue_release(dt_ready_queue *t);

/* ---- time (clock.c) ---- */

void dt_plan_run_clock(const dt_priced_program *r, const dt_launches *k, dt_plan *p);

#endif
