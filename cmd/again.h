/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the command line of a call as shell words, so that the user can repeat it. */
#ifndef CMD_AGAIN_H
#define CMD_AGAIN_H

#include "base/str.h"
#include "verb.h"

/* "dtrain fit job.yaml seed=7 --time 90s": operands, and options except those whose rows have
 * `.once` and those that all verbs have. */
void put_again(dt_str *to, const struct call *call);

#endif
