/* SPDX-License-Identifier: Apache-2.0 */
/* What every program must keep, whatever it was cut from. */
#ifndef TESTS_SUPPORT_PROGRAM_CHECK_H
#define TESTS_SUPPORT_PROGRAM_CHECK_H

#include "pass/pass.h"

/*
 * Fails the test, naming `seed` and the node, unless
 *   - pieces of a node cover its rows in order, without gap or overlap;
 *   - groups lie in one segment and have one number of pieces;
 *   - what a node reads is made in an earlier segment, or by the same task before it;
 *   - a variable that is updated in place is read in earlier segments, or piece by piece by the
 *     task that updates it, before it does.
 */
void program_check(const dt_program *p, uint64_t seed);

#endif
