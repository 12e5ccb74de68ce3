/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of a job file for a terminal: those of a layer, an optimizer, a loss, ..., or of a
 * section. */
#ifndef CMD_KINDS_H
#define CMD_KINDS_H

#include "base/str.h"

/* The page of everything with that name; letter case and '_' are ignored: EarlyStopping,
 * early_stopping. False: nothing has it, nothing was put. */
bool kinds_put(dt_str *to, const char *name);
/* The name of a layer, optimizer, ... nearest to this one; NULL: none is similar. The caller
 * frees it. */
char *kinds_nearest(const char *name);

#endif
