/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the labels that are passed to a step; see labels.c. */
#ifndef DT_STRATEGY_LABELS_H
#define DT_STRATEGY_LABELS_H

#include "strategy/strategy.h"

/* Fails with LABEL_RANGE if an argument is used as labels of a cross-entropy of g and contains a
 * number outside the classes. arg[k] is argument k of g with the rows of all replicas. */
dt_status *dt_check_labels(const dt_graph *g, const dt_view *arg) DT_MUST_USE;

#endif
