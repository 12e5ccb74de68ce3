/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the labels that are passed to a step; see labels.c. */
#ifndef DT_STRATEGY_LABELS_H
#define DT_STRATEGY_LABELS_H

#include "strategy/strategy.h"

/* LABEL_RANGE when an argument holds class numbers that a cross-entropy of g has no place for;
 * arg[k]: all rows of argument k. */
dt_status *dt_check_labels(const dt_graph *g, const dt_view *arg) DT_MUST_USE;

#endif
