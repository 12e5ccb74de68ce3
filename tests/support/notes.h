/* SPDX-License-Identifier: Apache-2.0 */
/* Notes of split, replicate and assign on random values of a step: what partitioners are tested
 * with. */
#ifndef TESTS_SUPPORT_NOTES_H
#define TESTS_SUPPORT_NOTES_H

#include "op/op.h"

/* g with notes on some of its values, drawn from the seed: cuts are even for `rows` rows. Owned by
 * the caller. */
dt_graph *notes_draw(const dt_graph *g, uint64_t seed, int64_t rows, int devices);
/* The same, most of them of values assigned to a device. */
dt_graph *notes_draw_places(const dt_graph *g, uint64_t seed, int64_t rows, int devices);

#endif
