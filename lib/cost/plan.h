/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan: what a program needs on a slice, without running it. It has the bytes of a device by
 * kind, the time of a step and its parts, the traffic of links, and what limits the speed of each
 * layer.
 *
 *     dt_spmd, a topology -> dt_plan_create -> dt_plan
 *
 * Except in a pipeline (stages.c), all devices do the same work, so the cost of one device is
 * estimated. Collectives are estimated on all links together.
 */
#ifndef DT_COST_PLAN_H
#define DT_COST_PLAN_H

#include "base/hash_index.h"
#include "cost/cost.h"
#include "model/model.h"
#include "pass/spmd.h"

/* A chip whose links are slow: apart from latency, transfers over them take `times` times as long
 * as normal. */
typedef struct dt_slow_links {
    int at[3]; /* coordinates x, y and z of the chip in the slice */
    double times;
} dt_slow_links;

typedef struct dt_priced_program {
    const dt_spmd *program;
    const dt_topology *topology;
    /* the chips and cores of each replica's logical devices; NULL: devices follow the order of
     * cores */
    const dt_assignment *assignment;
    const dt_slow_links *slow; /* [n_slow] chips with slow links, assumed for this plan */
    int n_slow;
    /* [nodes of the local graph] the dt_dtype of the node for estimates, set in copies of this
     * struct; NULL: the node's own type */
    const int8_t *dtype;
    /* [nodes of the local graph] the value from which readers recompute the node; -1: the node is
     * stored; NULL: all nodes are */
    const int *made_of;
} dt_priced_program;

/* The bytes of the device that needs the most memory. Weights, gradients, slots and activations are
 * counted without padding, which is a separate member. */
typedef struct dt_plan_bytes {
    int64_t weights, gradients, slots;
    /* all other bytes at the peak of memory use: the batch, values between layers, working
     * memory */
    int64_t activations;
    int64_t padding; /* bytes by which tiles enlarge all of these */
    /* bytes of values at the peak, with padding, whose memory gradients use later. They count as
     * gradients, not as activations */
    int64_t shared;
    /* total: the sum of the members above, except `shared`; usable: the bytes of a device that
     * programs can use, which `total` may exceed */
    int64_t total, usable;
    /* The path of the node that runs when most memory is used or, if it has none, of the nearest
     * earlier node with a path, else of the nearest later one, such as "dense/kernel"; "" or NULL:
     * unknown. */
    const char *peak;
} dt_plan_bytes;

/* Seconds of the critical path of a step. The members add up to the time of the step. */
typedef struct dt_plan_parts {
    /* seconds of kernels, split by what limits each kernel */
    double matrix, memory, vector, launch;
    /* seconds of waiting for collectives on links (in a pipeline, mean seconds of all collectives
     * within stages), and on the network between slices */
    double links, dcn;
    /* seconds of waiting for values from the host's memory */
    double host;
    /* mean seconds in which a device of a pipeline waits for other stages or for transfers */
    double bubble;
} dt_plan_parts;

typedef enum dt_plan_bound {
    DT_BOUND_MATRIX,
    DT_BOUND_MEMORY,
    DT_BOUND_VECTOR,
    DT_BOUND_LAUNCH,
    DT_BOUND_LINKS,
    DT_BOUNDS
} dt_plan_bound;
const char *dt_plan_bound_name(dt_plan_bound b);

typedef struct dt_plan_layer {
    const char *path; /* the layer's name, with which the paths of its nodes begin */
    /* How often its kernels run in a step or, in a pipeline, for each micro-batch, by the kernel
     * that runs most often, at least 1; for a group of layers, the sum of these, which is usually
     * the number of layers. */
    double times;
    double seconds;       /* seconds of its kernels, and of waiting for its collectives */
    double by[DT_BOUNDS]; /* `seconds`, split by what limits the speed */
    double flops;         /* operations of products per device and step */
    /* bytes of a device, with padding: those of the layer's weights with gradients and slots, and
     * those of the layer's values at the peak */
    double variables, values;
} dt_plan_layer;

/* The units of a device that work in parallel on the virtual clock. */
typedef enum dt_plan_unit {
    DT_UNIT_CHIP,
    DT_UNIT_LINKS,
    DT_UNIT_NETWORK,
    DT_UNIT_HOST, /* the bus between the device and the host's memory */
    DT_UNITS
} dt_plan_unit;

/* A launch on the virtual clock of a device. All devices have the same launches, except in a
 * pipeline. */
typedef struct dt_plan_event {
    double start, end;
    /* the unit that runs the launch. CHIP: a kernel, or a stage's work on a micro-batch; LINKS,
     * NETWORK: a collective; HOST: a copy to or from the host's memory */
    dt_plan_unit unit;
    /* index of the node in the local graph; for a stage, of its first node with a path or, if none
     * has one, of its last node */
    int node;
    /* for a stage: its kind 'F', 'B' or 'U' (pass/timeline.h); 0: the launch is not a stage */
    char stage;
    int device, micro; /* for a stage: index of its logical device and of its micro-batch */
    /* for collectives on links: bytes that a device contributes; between slices: these divided by
     * the number of devices that add up; for copies: bytes of the value */
    double bytes;
    /* For collectives: name of the algorithm, or "network" between slices; for copies: "to the
     * host" or "from the host". */
    const char *schedule;
    dt_cost work; /* for kernels: operations and bytes */
} dt_plan_event;

typedef struct dt_plan {
    dt_arena *arena;
    const dt_chip *chip;
    /* number of devices that compute the step, each counted once for each micro-batch */
    int devices;
    dt_plan_bytes bytes;
    double seconds; /* seconds of a step */
    dt_plan_parts parts;
    /* seconds of all collectives, on links and between slices, including those that overlap
     * kernels */
    double link_busy;
    double infeed_bytes; /* bytes of a step's batch that a chip receives from the host */
    /* seconds of receiving infeed_bytes; 0: the rate from the host is unknown */
    double infeed_s;
    double offloaded; /* bytes that a device sends to the host's memory and reads again */
    /* bytes that a device receives over links in a step, in a pipeline on average; a gather that is
     * repeated counts once */
    double received;
    /* bytes over the busiest link along x, y and z in a step; second index: 0 in the direction of
     * smaller, 1 of larger coordinates */
    double link_bytes[3][2];
    /* operations of products per device and step, with those that rematerialization repeats */
    double flops;
    double model_flops; /* operations of products per device and step, without repeated ones */
    double peak_flops;  /* peak rate of a device in bfloat16, in operations per second */
    int n_layers;
    dt_plan_layer *layer;    /* layers in the order of the program */
    dt_hash_index layers_at; /* finds an element of `layer` by the layer's name */
    int n_events;
    dt_plan_event *event; /* the launches, in the order in which they start */
} dt_plan;

/* Makes a plan. The program must outlive it. Free it with dt_plan_destroy. */
dt_plan *dt_plan_create(const dt_priced_program *r);
void dt_plan_destroy(dt_plan *p); /* p may be NULL */
/* Returns the model FLOPs utilization: model_flops / (seconds * peak_flops); 0 if a step takes no
 * time. */
double dt_plan_mfu(const dt_plan *p);

/* ---- layers, and pipelines ---- */

/* Combines layers whose names differ only in a number into one row, such as "decoder_*", with the
 * sums of their figures. The rows are in `arena`, the one with the longest time first. Sets *n to
 * the number of rows that take time. */
dt_plan_layer *dt_plan_layer_groups(const dt_plan *p, dt_arena *arena, int *n);
/* Appends the layers that need the most memory, at most three, for values at the peak or for
 * variables: "decoder_* x 32 12.0 GiB, embed 1.0 GiB". Appends nothing if no layer needs memory. */
void dt_plan_put_largest(const dt_plan *p, bool values, dt_str *out);

/* Appends the timeline of a pipeline to `out`: stages, micro-batches and waiting, with the schedule
 * 1F1B, on which the plan is based, and with GPipe. Appends nothing for other programs. */
void dt_plan_print_stages(const dt_priced_program *r, dt_str *out);

#endif
