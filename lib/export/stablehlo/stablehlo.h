/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs as StableHLO text, the input of XLA's compilers. There are two kinds of programs:
 *
 *   a graph                   what each of XLA's replicas does: the work of one replica, or, with a
 *                             folded graph, of several; B is replaced by a number
 *   a program over devices    what each device of a mesh does (pass/spmd.h); every device is one of
 *                             XLA's replicas, in the mesh's order, and collectives name groups of
 *                             them
 *
 * The function is @main. Its arguments are the step's arguments, then the variables; its results
 * are the step's results, then the new values of variables that change. A variable and its new
 * value share their memory (tf.aliasing_output).
 *
 * With dt_hlo_request.loops, repeated blocks, which repeat.c finds, become loops or statements over
 * whole stacks. Corresponding variables of all blocks are then stacked in one argument.
 */
#ifndef DT_STABLEHLO_STABLEHLO_H
#define DT_STABLEHLO_STABLEHLO_H

#include "pass/spmd.h"

/* Sets *out to g in which ops without a form, for which has_form returns false, are replaced by the
 * ops that their rows' `decompose` makes. Ops whose row has none are left as they are. */
dt_status *dt_decompose(const dt_graph *g, bool (*has_form)(const dt_op *op),
                        dt_graph **out) DT_MUST_USE;

/* States of a graph that are stored as one stack. state: [n] the index of the state in each row. */
typedef struct dt_hlo_group {
    int n;
    const int *state;
} dt_hlo_group;

typedef struct dt_hlo_request {
    /* the value of B, a number of examples: see dt_graph.batch_parts. Ignored for a program over
     * devices, which has its own number */
    int64_t batch;
    /* number of XLA's replicas, which run the program together; ignored for a program over devices
     * (dt_stablehlo_write_spmd), whose mesh has that number */
    int replicas;
    /* write repeated blocks as loops, or once over whole stacks, with stacked variables as
     * arguments; false: write each block, with an argument for each variable */
    bool loops;
    /* whether variables have layouts already, without stacks. Repeats whose blocks read different
     * variables, which would need stacks of these, then do not become loops */
    bool settled;
    /* [segments + 1]: first rows of the segments of a folded graph; NULL: all segments have the
     * same number of rows */
    const int32_t *offsets;
    /* precision of the operands of float32 products, in StableHLO's terms: "HIGHEST" does not
     * round, "HIGH" lets GPUs round to TensorFloat-32; NULL: the compiler's default, which rounds
     * on TPUs and GPUs */
    const char *precision;
    /* a composite is computed piece by piece only if a value inside it, such as attention's scores,
     * has more than four times as many bytes as this and as the largest input or result; 0:
     * DT_HLO_LARGE */
    int64_t large;
    /* no loops are made if the repeat that saves most text, among those whose blocks feed each
     * other, has fewer blocks than this (0 if there is no such repeat) */
    int fewest_blocks;
    /* the most values that a sum, or a product of float32 with a vector, adds one after the other.
     * Longer ones are written in several steps where that is possible, and sums of 16-bit values
     * are computed in float32; sums of float64 are not limited. 0: no limit */
    int64_t chain;
    /* with loops: [n_groups] stacks that exist already and must be used */
    const dt_hlo_group *group;
    int n_groups;
    /* whether gradients of attention compute its scores again, as a fused kernel does; otherwise a
     * compiler may keep the scores of the forward pass */
    bool scores_again;
    /* whether most statements of layers end with a comment: the path of the layer */
    bool names_layers;
} dt_hlo_request;

enum { DT_HLO_LARGE = 16 << 20 };
/* Sets large, fewest_blocks and chain for a platform ("cpu", "cuda", "tpu") whose devices have
 * `memory` bytes; memory 0: unknown. */
void dt_hlo_aim(dt_hlo_request *q, const char *platform, int64_t memory);

/* An argument or a result of @main. */
typedef struct dt_hlo_port {
    /* type with numbers in place of B; the first dimension of a stack counts variables */
    dt_type type;
    const char *name;
    int node; /* index of the argument or result in the graph; -1: the port has variables */
    int n;    /* number of variables that are stored in this argument or result */
    /* [n] indices of the states that have these variables; row i of a stack is state[i]. A single
     * variable's port has the variable's own type. */
    const int *state;
    bool stacked;
    int alias; /* for an argument: index of the result that overwrites its memory; -1: none does */
} dt_hlo_port;
typedef struct dt_hlo_signature {
    dt_arena *arena;
    /* `loops` is the number of repeats that were written as loops or over whole stacks */
    int n_in, n_out, loops;
    dt_hlo_port *in, *out;
} dt_hlo_signature;
void dt_hlo_signature_release(dt_hlo_signature *s);

/* Appends g as text to *out. Fails with NO_STABLEHLO if an op cannot be written; the message names
 * it. signature may be NULL; otherwise the caller must release it. */
dt_status *dt_stablehlo_write(const dt_graph *g, const dt_hlo_request *request, dt_str *out,
                              dt_hlo_signature *signature) DT_MUST_USE;
/* Writes the program of each device. Fails with NO_STABLEHLO also if the program is a pipeline or
 * has ops with placements. States are those of s->whole. */
dt_status *dt_stablehlo_write_spmd(const dt_spmd *s, const dt_hlo_request *request, dt_str *out,
                                   dt_hlo_signature *signature) DT_MUST_USE;

#endif
