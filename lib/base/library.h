/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries that are loaded at run time where they are there. */
#ifndef DT_BASE_LIBRARY_H
#define DT_BASE_LIBRARY_H

#include "base/status.h"

/*
 * *out: the first library of these names (the last is NULL), or NULL where none is installed; flags
 * are dlopen's. The status is NULL or NO_MEMORY: a library that is installed but for which memory
 * is missing is not a missing library, for a run without it would give other bits. *why (may be
 * NULL): the loader's words about the last name, lent until it is called again.
 */
dt_status *dt_library_open(void **out, const char *const *names, int flags,
                           const char **why) DT_MUST_USE;

#endif
