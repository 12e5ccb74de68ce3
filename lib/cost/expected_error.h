/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of the simulator's predictions for published rows, by kind and generation. Steps are
 * grouped by the kind of model. */
#ifndef DT_COST_EXPECTED_ERROR_H
#define DT_COST_EXPECTED_ERROR_H

#include "graph/graph.h"

typedef struct dt_expected_error {
    const char *kind, *generation; /* "compiler-estimate" or a family, "v5e" */
    int rows;
    double median, worst; /* shares: 0.02 is 2 % */
} dt_expected_error;

/* NULL: no published row of that kind and generation has been predicted. A generation of NULL: the
 * first that has rows of that kind. */
const dt_expected_error *dt_expected_error_of(const char *kind, const char *generation);
/* The group of published steps that a step is compared with: "decoders" (causal attention),
 * "encoders" (other attention), "convnets", "others". */
const char *dt_family_of(const dt_graph *step);

#endif
