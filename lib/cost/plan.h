/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan: what a program needs of a slice, without running it. Bytes a device by kind, the time of
 * a step and its parts, traffic, what each layer is bound by.
 *
 *     dt_spmd, a topology -> dt_plan_create -> dt_plan
 *
 * All devices run one program, so one device is priced; collectives are priced on all links
 * together.
 */
#ifndef DT_COST_PLAN_H
#define DT_COST_PLAN_H

#include "base/hash_index.h"
#include "cost/cost.h"
#include "model/model.h"
#include "pass/spmd.h"

/* A chip whose links take `times` times as long as they should. */
typedef struct dt_slow_links {
    int at[3]; /* x, y, z */
    double times;
} dt_slow_links;

typedef struct dt_priced_program {
    const dt_spmd *program;
    const dt_topology *topology;
    /* positions of each replica's logical devices; NULL: core by core */
    const dt_assignment *assignment;
    const dt_slow_links *slow; /* [n_slow] */
    int n_slow;
    /* by node of the program's local graph, set by dt_plan_create: the dt_dtype for pricing; NULL:
     * the node's own */
    const int8_t *dtype;
    /* by node of the program's local graph: the value from which readers recompute it; -1: it is
     * stored; NULL: all are stored */
    const int *made_of;
} dt_priced_program;

/* Bytes of the device that holds most. Weights, gradients and slots without padding, which is
 * counted by itself. */
typedef struct dt_plan_bytes {
    int64_t weights, gradients, slots;
    /* other bytes at the peak: the batch, values between layers, working memory */
    int64_t activations;
    int64_t padding; /* bytes that tiles add to all of these */
    /* values at the peak, with padding, that lie in memory which gradients need later: counted
     * there, not among activations */
    int64_t shared;
    int64_t total, usable;
    const char *peak; /* the layer at whose kernel the peak is */
} dt_plan_bytes;

/* Seconds of a step's critical path; they add up to the step. */
typedef struct dt_plan_parts {
    double matrix, memory, vector, launch; /* seconds of kernels, by their bottleneck */
    double links, dcn;                     /* waiting for collectives that nothing hides */
    double host;                           /* waiting for values from the host's memory */
    double bubble;                         /* idle seconds in a pipeline of stages */
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
    const char *path; /* first part of the nodes' paths */
    double times;
    double seconds; /* kernels, and waiting for its collectives */
    double by[DT_BOUNDS];
    double flops;
    /* bytes of a device, with padding: of its weights with their gradients and slots, and of its
     * values at the step's peak of memory */
    double variables, values;
} dt_plan_layer;

/* The units that work side by side on the virtual clock. */
typedef enum dt_plan_unit {
    DT_UNIT_CHIP,
    DT_UNIT_LINKS,
    DT_UNIT_NETWORK,
    DT_UNIT_HOST, /* the bus to the host's memory */
    DT_UNITS
} dt_plan_unit;

/* A launch on a device's virtual clock. All devices do the same, except in a pipeline. */
typedef struct dt_plan_event {
    double start, end;
    /* the chip: a kernel, or a stage's work on a micro-batch; links or network: a collective */
    dt_plan_unit unit;
    int node;             /* node of the local graph; for a stage its first node */
    char stage;           /* 'F', 'B', 'U' (pass/timeline.h); 0: not part of a step */
    int device, micro;    /* for a stage: its logical device and its micro-batch */
    double bytes;         /* for collectives: bytes that a device contributes */
    const char *schedule; /* collectives: how */
    dt_cost work;         /* kernels */
} dt_plan_event;

typedef struct dt_plan {
    dt_arena *arena;
    const dt_chip *chip;
    int devices; /* number of devices that compute */
    dt_plan_bytes bytes;
    double seconds; /* seconds of a step */
    dt_plan_parts parts;
    double link_busy;    /* seconds of all collectives, including hidden ones */
    double infeed_bytes; /* bytes of a step's batch that a chip receives from the host */
    double infeed_s;     /* seconds that they take; 0: the rate between chip and host is unknown */
    double offloaded;    /* bytes that a device sends to the host's memory and reads again */
    double received;     /* bytes over links that a device receives in a step */
    /* over the busiest link along x, y, z in a step; [1]: towards larger coordinates */
    double link_bytes[3][2];
    double flops;       /* operations of matrix units per device, including recomputation */
    double model_flops; /* operations without recomputation */
    double peak_flops;  /* peak of a device in operations per second, bfloat16 */
    int n_layers;
    dt_plan_layer *layer;    /* layers in the order of the program */
    dt_hash_index layers_at; /* by path */
    int n_events;
    dt_plan_event *event; /* events in the order in which they start */
} dt_plan;

/* The program must outlive the plan. Free it with dt_plan_destroy. */
dt_plan *dt_plan_create(const dt_priced_program *r);
void dt_plan_destroy(dt_plan *p); /* accepts NULL */
double dt_plan_mfu(const dt_plan *p);

/* ---- layers.c ---- */

/* Layers whose names differ in numbers only are one: "decoder_*", how many, and their sums. In
 * `arena`, the longest first; *n of them take time. */
dt_plan_layer *dt_plan_layer_groups(const dt_plan *p, dt_arena *arena, int *n);
/* Adds "decoder_* x 32 12.0 GiB, embed 1.0 GiB", the layers that hold most: values at the peak, or
 * variables. At most three; nothing where none holds any. */
void dt_plan_put_largest(const dt_plan *p, bool values, dt_str *out);

/* The timeline of a program with places: stages, micro-batches, waiting, by 1F1B (which is priced)
 * and by GPipe; nothing for others. */
void dt_plan_print_stages(const dt_priced_program *r, dt_str *out);

#endif
