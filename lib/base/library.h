/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries that are loaded at run time if they are installed. */
#ifndef DT_BASE_LIBRARY_H
#define DT_BASE_LIBRARY_H

#include "base/status.h"

/*
 * *out: the first library of these names (the last is NULL), or NULL where none is installed;
 * flags are dlopen's. NO_MEMORY if an installed library cannot be loaded for lack of memory: going
 * on without it could change the bits of results. *why (may be NULL): the loader's message about
 * the last name, lent until the next call.
 */
dt_status *dt_library_open(void **out, const char *const *names, int flags,
                           const char **why) DT_MUST_USE;

#endif
