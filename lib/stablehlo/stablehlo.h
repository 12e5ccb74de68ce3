/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs as StableHLO text, the input of XLA's compilers. There are two kinds:
 *
 *   a graph of one replica    B is a number; replicas are XLA's
 *   a program over devices    what each device of a mesh does (pass/spmd.h); every device is one of XLA's replicas, in the mesh's order,
 *                             and collectives name groups of them
 *
 * The function is @main. Its arguments are the step's, then the variables; its results the step's, then the new values of those variables that
 * have one. A variable and its new value share their memory (tf.aliasing_output).
 */
#ifndef DT_STABLEHLO_STABLEHLO_H
#define DT_STABLEHLO_STABLEHLO_H

#include "pass/spmd.h"

/* Ops without a form (has_form) in the ops that they are made of, as far as their rows say (`decompose`). */
dt_status *dt_decompose(const dt_graph *g, bool (*has_form)(const dt_op *op), dt_graph **out) DT_MUST_USE;

/* A graph for batches of `batch` rows, run by `replicas` of them together. NO_STABLEHLO names the op that has no form. */
dt_status *dt_stablehlo_write(const dt_graph *g, int64_t batch, int replicas, dt_str *out) DT_MUST_USE;
/* What each device does. NO_STABLEHLO for pipelines and ops with places, too. */
dt_status *dt_stablehlo_write_spmd(const dt_spmd *s, dt_str *out) DT_MUST_USE;

#endif
