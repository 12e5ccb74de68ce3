/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs as StableHLO text, the input of XLA's compilers. There are two kinds:
 *
 *   a graph of one replica    B is a number; replicas are XLA's
 *   a program over devices    what each device of a mesh does (pass/spmd.h); every device is one of
 *                             XLA's replicas, in the mesh's order, and collectives name groups of
 *                             them
 *
 * The function is @main. It takes the step's arguments, then the variables, and gives the step's
 * results, then the new values of those variables that have one. A variable and its new value share
 * their memory (tf.aliasing_output).
 *
 * Repeated blocks stand once, in a loop (repeat.c finds them). Then the variables of all blocks
 * that play the same part lie one behind the other in one argument.
 */
#ifndef DT_STABLEHLO_STABLEHLO_H
#define DT_STABLEHLO_STABLEHLO_H

#include "pass/spmd.h"

/* Ops without a form (has_form) in the ops that they are made of, as far as their rows say
 * (`decompose`). */
dt_status *dt_decompose(const dt_graph *g, bool (*has_form)(const dt_op *op),
                        dt_graph **out) DT_MUST_USE;

/* States that lie in a stack already: [n] their numbers in the graph, by row. */
typedef struct dt_hlo_group {
    int n;
    const int *state;
} dt_hlo_group;

typedef struct dt_hlo_request {
    int64_t batch; /* rows of all that a graph sees: B */
    int replicas;  /* that run it together; a program over devices knows both itself: 0 */
    /* repeated blocks stand once, over stacks of variables, which are arguments; else every
     * block stands there, and every variable is one */
    bool loops;
    /* [segments + 1] first rows of the segments that a folded graph's rows are of; NULL: all
     * have as many */
    const int32_t *offsets;
    /* of the operands of float32 products, in StableHLO's words: "HIGHEST" rounds none, "HIGH"
     * leaves GPUs TensorFloat-32; NULL: as the compiler likes, which rounds them on TPUs and
     * GPUs */
    const char *precision;
    /* bytes of a value inside a composite, such as attention's scores, up to which it is never
     * computed piece by piece; 0: DT_HLO_LARGE */
    int64_t large;
    /* of the repeat that saves most text, of those whose blocks feed each other; with fewer
     * nothing is a loop */
    int fewest_blocks;
    /* the most float32 values that a sum adds one by one: longer ones are written in steps, and
     * values of 16 bits are added as float32; 0: any number */
    int64_t chain;
    const dt_hlo_group *group; /* with loops: [n_groups] stacks that are to be taken as they are */
    int n_groups;
    bool names_layers; /* statements end in the path of their layer, as a comment */
} dt_hlo_request;

enum { DT_HLO_LARGE = 16 << 20 };
/* Sets large, fewest_blocks and chain for a platform ("cpu", "cuda", "tpu") whose devices have this
 * memory in bytes; 0: not known. */
void dt_hlo_aim(dt_hlo_request *q, const char *platform, int64_t memory);

/* A value that @main takes or gives. */
typedef struct dt_hlo_port {
    dt_type type; /* concrete; a stack's first dimension counts variables */
    const char *name;
    int node; /* an argument's or a result's number in the graph; -1: variables */
    int n;    /* variables in it, and */
    /* [n] their numbers in the graph: row i of a stack is state[i]; of one alone the port has
     * the variable's own type */
    const int *state;
    bool stacked;
    int alias; /* of what it takes: which result has the same memory, -1: none */
} dt_hlo_port;
typedef struct dt_hlo_signature {
    dt_arena *arena;
    int n_in, n_out, loops; /* loops: repeats that were found */
    dt_hlo_port *in, *out;
} dt_hlo_signature;
void dt_hlo_signature_release(dt_hlo_signature *s);

/* g as text. NO_STABLEHLO names the op that has no form. signature may be NULL; else it is to be
 * released. */
dt_status *dt_stablehlo_write(const dt_graph *g, const dt_hlo_request *request, dt_str *out,
                              dt_hlo_signature *signature) DT_MUST_USE;
/* What each device does. NO_STABLEHLO for pipelines and ops with places, too. States are those of
 * s->whole. */
dt_status *dt_stablehlo_write_spmd(const dt_spmd *s, const dt_hlo_request *request, dt_str *out,
                                   dt_hlo_signature *signature) DT_MUST_USE;

#endif
