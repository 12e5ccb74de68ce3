/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the command line of a call as shell words, so that the user can repeat it. */
#ifndef CMD_AGAIN_H
#define CMD_AGAIN_H

#include "base/str.h"
#include "verb.h"

/* Appends the command line: "dtrain fit job.yaml seed=7 --time 90s". It has the operands and the
 * options, but not options whose rows have `.once`, nor the options of all verbs. */
void put_again(dt_str *to, const struct call *call);

#endif
