/* SPDX-License-Identifier: Apache-2.0 */
/* A call as words that a shell reads, to be given again. */
#ifndef CMD_AGAIN_H
#define CMD_AGAIN_H

#include "base/str.h"
#include "verb.h"

/* "dtrain fit job.yaml seed=7 --time 90s": operands and options but those of rows that say `.once`,
 * and those that all verbs have. */
void put_again(dt_str *to, const struct call *call);

#endif
