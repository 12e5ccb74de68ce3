/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of the simulator's predictions for published rows: of products by generation, of steps by
 * kind of plan. */
#ifndef DT_COST_EXPECTED_ERROR_H
#define DT_COST_EXPECTED_ERROR_H

#include "graph/graph.h"

/* What a plan has in common with the published steps that it is compared with. */
typedef struct dt_plan_kind {
    const char *family;    /* family of chips, as dt_family_of returns it */
    const char *precision; /* of products: "float32", "bfloat16", "float16", "int8", "fp8" */
    /* how a replica is divided: "data" (it is not), "tensor", "tensor in pieces" (with collective
     * products) or "pipeline" */
    const char *split;
    /* of rematerialization: "none", "full", "kept" (some values) or "offloaded" */
    const char *policy;
} dt_plan_kind;

typedef struct dt_expected_error {
    dt_plan_kind kind;      /* of products: the family "compiler-estimate" alone */
    const char *generation; /* "v5e"; "": rows of all generations */
    int rows;
    double median, worst; /* shares: 0.02 is 2 %. Of steps: each with its source left out */
} dt_expected_error;

/* NULL: no published row of that kind and generation has been predicted. */
const dt_expected_error *dt_expected_error_of(const dt_plan_kind *kind, const char *generation);
extern const dt_plan_kind dt_compiler_estimate;
/* The group of published steps that a step is compared with: "mixtures of experts", "decoders"
 * (causal attention), "windowed attention", of which none is published, "encoders" (other
 * attention), "convnets", "convnets with attention" (more convolutions than attention, as diffusion
 * U-Nets), "others". */
const char *dt_family_of(const dt_graph *step);

#endif
