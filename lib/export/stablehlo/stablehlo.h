/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs as StableHLO text, the input of XLA's compilers. There are two kinds:
 *
 *   a graph of one replica    B is a number; replicas are XLA's
 *   a program over devices    what each device of a mesh does (pass/spmd.h); every device is one of
 *                             XLA's replicas, in the mesh's order, and collectives name groups of
 *                             them
 *
 * The function is @main. Its arguments are the step's arguments, then the variables; its results
 * are the step's results, then the new values of variables that change. A variable and its new
 * value share their memory (tf.aliasing_output).
 *
 * Repeated blocks, which repeat.c finds, become a loop. Corresponding variables of all blocks are
 * then stacked in one argument.
 */
#ifndef DT_STABLEHLO_STABLEHLO_H
#define DT_STABLEHLO_STABLEHLO_H

#include "pass/spmd.h"

/* Replaces ops for which has_form is false by the ops that define them, where their rows have a
 * `decompose`. */
dt_status *dt_decompose(const dt_graph *g, bool (*has_form)(const dt_op *op),
                        dt_graph **out) DT_MUST_USE;

/* States that are stored as a stack: [n] their numbers in the graph, by row. */
typedef struct dt_hlo_group {
    int n;
    const int *state;
} dt_hlo_group;

typedef struct dt_hlo_request {
    int64_t batch; /* value of B: rows of all replicas of the graph */
    /* replicas that run the program together; 0 for a program over devices, which has the number
     * itself */
    int replicas;
    /* repeated blocks become loops over stacked variables, which are arguments; false: blocks
     * are written one by one, and each variable is an argument */
    bool loops;
    /* variables have their layouts: only repeats that stack none become loops */
    bool settled;
    /* [segments + 1]: first rows of the segments of a folded graph; NULL: all segments have the
     * same number of rows */
    const int32_t *offsets;
    /* precision of the operands of float32 products, in StableHLO's terms: "HIGHEST" rounds none,
     * "HIGH" allows GPUs TensorFloat-32; NULL: the compiler's default, which rounds them on TPUs
     * and GPUs */
    const char *precision;
    /* bytes of a value inside a composite, such as attention's scores, up to which it is never
     * computed piece by piece; 0: DT_HLO_LARGE */
    int64_t large;
    /* least number of blocks that feed each other in the repeat that saves most text; with fewer
     * no loop is made */
    int fewest_blocks;
    /* the most float32 values that a sum adds one by one: longer ones are written in steps, and
     * values of 16 bits are added as float32; 0: any number */
    int64_t chain;
    /* with loops: [n_groups] stacks that exist already and must be used */
    const dt_hlo_group *group;
    int n_groups;
    bool names_layers; /* statements end in the path of their layer, as a comment */
} dt_hlo_request;

enum { DT_HLO_LARGE = 16 << 20 };
/* Sets large, fewest_blocks and chain for a platform ("cpu", "cuda", "tpu") whose devices have
 * `memory` bytes; 0: unknown. */
void dt_hlo_aim(dt_hlo_request *q, const char *platform, int64_t memory);

/* An argument or a result of @main. */
typedef struct dt_hlo_port {
    dt_type type; /* concrete; a stack's first dimension counts variables */
    const char *name;
    int node; /* an argument's or a result's number in the graph; -1: variables */
    int n;    /* number of variables in it */
    /* [n]: their numbers in the graph; row i of a stack is state[i]. A single variable's port has
     * the variable's own type. */
    const int *state;
    bool stacked;
    int alias; /* for arguments: the result that reuses the memory; -1: none */
} dt_hlo_port;
typedef struct dt_hlo_signature {
    dt_arena *arena;
    int n_in, n_out, loops; /* loops: repeats that were found */
    dt_hlo_port *in, *out;
} dt_hlo_signature;
void dt_hlo_signature_release(dt_hlo_signature *s);

/* Writes g as text. NO_STABLEHLO names the op that cannot be written. signature may be NULL;
 * otherwise release it. */
dt_status *dt_stablehlo_write(const dt_graph *g, const dt_hlo_request *request, dt_str *out,
                              dt_hlo_signature *signature) DT_MUST_USE;
/* Writes the program of each device. NO_STABLEHLO also for pipelines and for ops with
 * placements. States are those of s->whole. */
dt_status *dt_stablehlo_write_spmd(const dt_spmd *s, const dt_hlo_request *request, dt_str *out,
                                   dt_hlo_signature *signature) DT_MUST_USE;

#endif
