/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of the simulator's estimates: of products, against the compiler's own estimates, by
 * generation of chips; of steps, against published figures, by kind of plan and by generation. */
#ifndef DT_COST_EXPECTED_ERROR_H
#define DT_COST_EXPECTED_ERROR_H

#include "graph/graph.h"

/* The properties by which a plan is compared with published steps. */
typedef struct dt_plan_kind {
    const char *family; /* family of models, as dt_family_of returns it */
    /* precision of products: "float32", "bfloat16", "float16", "int8" or "fp8" */
    const char *precision;
    /* how a replica is divided: "data" (not at all), "tensor", "tensor in pieces" (with collective
     * products) or "pipeline" */
    const char *split;
    /* policy of rematerialization: "none", "full", "kept" (some values) or "offloaded" */
    const char *policy;
} dt_plan_kind;

typedef struct dt_expected_error {
    dt_plan_kind kind;      /* for products, only the family is set: "compiler-estimate" */
    const char *generation; /* generation of chips, such as "v5e"; "": all generations together */
    /* number of estimates from whose errors `median` and `worst` are computed */
    int rows;
    /* relative errors: 0.02 is 2 %; for steps, each estimate was made without using the step's own
     * source */
    double median, worst;
} dt_expected_error;

/* Returns the errors of plans of one kind on one generation of chips; NULL: none of these was
 * compared. */
const dt_expected_error *dt_expected_error_of(const dt_plan_kind *kind, const char *generation);
/* The kind of the errors for products of matrices, which are compared with the compiler's own
 * estimates; only its family is set. */
extern const dt_plan_kind dt_compiler_estimate;
/* Returns the group of published steps that a step is compared with, the first that applies of
 * "mixtures of experts" (has weights of experts), "windowed attention" (of which no step is
 * published), "encoders with decoders" (fused attention without a causal mask, and a causal mask),
 * "decoders" (causal attention), "convnets with attention" (attention, but more convolutions, as
 * in diffusion U-Nets), "convnets" (convolutions, no attention), "encoders" (other attention) and
 * "others". The text is static. */
const char *dt_family_of(const dt_graph *step);

#endif
