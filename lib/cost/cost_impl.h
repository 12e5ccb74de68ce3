/* SPDX-License-Identifier: Apache-2.0 */
/* Internal declarations of the estimates. */
#ifndef DT_COST_COST_IMPL_H
#define DT_COST_COST_IMPL_H

#include "cost/plan.h"

/* ---- what estimates need of a node (node.c) ---- */

/* Returns the type of node i on one device, with sizes in place of B and with the dtype that is
 * used for estimates. */
dt_type dt_priced_type(const dt_priced_program *r, int i);
/* Returns the cost of the node's op alone, without other ops of its kernel. */
dt_cost dt_priced_cost(const dt_priced_program *r, int i);
/* Returns the node whose memory the readers of i read. Reshapes, and values that are computed where
 * they are read, have no memory of their own. */
int dt_priced_source(const dt_priced_program *r, int i);
/* Whether node i is read from memory. Constants, counters and sizes are computed where they are
 * read. */
bool dt_priced_lies_there(const dt_priced_program *r, int i);
/* Whether i gathers parts of a variable from other replicas, or parts of a value from a replica's
 * other devices. Such values are gathered once for the forward pass, and again for the backward
 * pass. */
bool dt_priced_is_gathered_twice(const dt_priced_program *r, int i);
/* Returns [nodes], in `arena`: whether results need the node. All other nodes are backward work and
 * updates. */
bool *dt_priced_forward(const dt_priced_program *r, dt_arena *arena);
/* Whether node i is computed in pieces. These are products of the output layer, and values that the
 * loss and metrics compute from values with a batch dimension, if they have a batch dimension
 * themselves and at least one more. False for all nodes unless the job asks for pieces (how.pieces
 * > 1) and has an output layer (how.output). */
bool dt_priced_is_piece(const dt_priced_program *r, int i);
/* If the operands of node i, a product, are quantized to 8 bits, sets the rate of the product, and
 * adds to *cost the vector operations and bytes that quantizing them takes. */
void dt_priced_quantize(const dt_priced_program *r, int i, dt_cost *cost);

/* ---- values that readers recompute (duplicate.c) ---- */

/* Finds the values that readers recompute. Sets r->made_of, and returns the same array, which is in
 * `arena`. in_memory: values that wait for a sum over devices may be recomputed, too. */
int *dt_duplicated_values(dt_priced_program *r, bool in_memory, dt_arena *arena);

/* [nodes] Whether a block of a loop over blocks (`model.scan_layers`) computes the node. The array
 * is in `arena`. */
bool *dt_priced_looped(const dt_priced_program *r, dt_arena *arena);

/* Returns a copy of r, in `arena`, with `dtype` and `made_of` set (plan.c). */
dt_priced_program dt_priced_prepared(const dt_priced_program *r, dt_arena *arena);

/* ---- kernels (fuse.c) ---- */

/* Whether element-wise ops that compute inputs of node i can be fused into its kernel. */
bool dt_launch_takes_producers(const dt_priced_program *r, int i);

typedef struct dt_kernel_launch {
    /* position of the kernel in the program: the index of its root, the node to which its other
     * nodes were joined */
    int at;
    /* the node by which the kernel is named: its last product, else its root */
    int head;
    double times; /* the number of its runs in a step or, in a pipeline, for each micro-batch */
    double again; /* the number of its `times` runs that repeat work for the backward pass */
    /* in a pipeline: the kernel's runs for all micro-batches divided by the number of devices,
     * since only one device runs it; otherwise 1 */
    double share;
    dt_cost work;
    dt_core_price price;
} dt_kernel_launch;

typedef struct dt_launches {
    int n;
    dt_kernel_launch *kernel; /* [n] kernels in the order of their places in the program */
    int *of;                  /* [nodes] index of the kernel that computes the node; -1: none */
    /* [nodes] whether a kernel computes the node, and it needs memory: another kernel or a
     * collective reads it, or it is a result or an update */
    bool *kept;
} dt_launches;

/* Divides r into launches, in `arena`. */
dt_launches dt_launches_create(const dt_priced_program *r, dt_arena *arena);

/* ---- memory (stored.c, hbm.c) ---- */

/* Returns a copy of r, in `arena`, with the dtypes in which a compiler stores values, and the
 * values that it does not store. */
dt_priced_program dt_priced_stored(const dt_priced_program *r, const dt_launches *k,
                                   dt_arena *arena);

/* [nodes] Marks nodes, except arguments, whose shape is that of examples (with a batch dimension)
 * that a convolution reads or writes: the values between convolutions, such as activations, keep
 * the layout that the convolutions need. The array is in `arena`. */
bool *dt_priced_images(const dt_priced_program *r, dt_arena *arena);
/* Returns the bytes of node i's value in HBM, with the padding of the chip's tiles. image: the
 * result of dt_priced_images. */
int64_t dt_priced_stored_bytes(const dt_priced_program *r, const bool *image, int i);

/* Sets p->bytes, and adds to `variables` and `values` of the layers. */
void dt_plan_count_hbm(const dt_priced_program *r, const dt_launches *k, dt_plan *p);

/* ---- links (links.c) ---- */

typedef struct dt_link_price {
    double seconds;
    /* bytes over the busiest link along x, y and z; second index: 0 in the direction of smaller, 1
     * of larger coordinates */
    double way[3][2];
    int ranks;
    const char *schedule; /* name of the algorithm, in the arena of dt_links_create */
} dt_link_price;

/* The costs of a program's collectives. Costs that were computed before are kept. */
typedef struct dt_links dt_links;
dt_links *dt_links_create(const dt_priced_program *r, dt_arena *arena);
void dt_links_destroy(dt_links *l);
/* Estimates the cost of node i, a collective to which each device contributes `bytes` bytes. */
dt_link_price dt_links_price(dt_links *l, int i, double bytes);

/* ---- layers (plan.c) ---- */

/* Returns the plan's entry of the layer that a node's path belongs to. Creates it if it does not
 * exist. */
dt_plan_layer *dt_plan_layer_of(dt_plan *p, const char *path);

/* ---- pipelines (stages.c) ---- */

/* Whether ops are placed on stages, so that devices do different work. */
bool dt_plan_has_places(const dt_spmd *s);
/* Schedules a pipeline of stages. Sets `share` of its kernels, and of the plan the seconds, the
 * events, the traffic of links, and the parts `bubble` and `links`. */
void dt_plan_run_stages(const dt_priced_program *r, dt_launches *k, dt_plan *p);

/* ---- time (clock.c) ---- */

/* Runs the virtual clock over the kernels and collectives of a program without stages. Sets the
 * plan's seconds and events, and adds to its waiting times, to link_busy and offloaded, and to the
 * traffic of links. */
void dt_plan_run_clock(const dt_priced_program *r, const dt_launches *k, dt_plan *p);

#endif
