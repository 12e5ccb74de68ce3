/* SPDX-License-Identifier: Apache-2.0 */
/* Prints keys of a job file on a terminal: those of a layer, an optimizer, a loss, ..., or of a
 * section. */
#ifndef CMD_KINDS_H
#define CMD_KINDS_H

#include "base/str.h"

/* Writes the keys of all kinds that have this name or, if there are none, those of the section, or
 * the key in a section, that has this name. In names of kinds letter case and '_' are ignored:
 * EarlyStopping, early_stopping. Returns false, and writes nothing, if the name is unknown. */
bool kinds_put(dt_str *to, const char *name);
/* Returns the name of a layer, optimizer, ... that is most similar to this one; NULL: none is
 * similar. The caller frees it. */
char *kinds_nearest(const char *name);

#endif
