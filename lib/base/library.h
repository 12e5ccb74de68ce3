/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries that are loaded at run time if they are installed. */
#ifndef DT_BASE_LIBRARY_H
#define DT_BASE_LIBRARY_H

#include <stddef.h>

#include "base/status.h"

/* Sets *out to the first library of these names that can be loaded, or to NULL if none can. NULL
 * ends the list of names. flags: those of dlopen. Fails with NO_MEMORY if an installed library
 * cannot be loaded for lack of memory: going on without it could change the bits of results. *why
 * (may be NULL): the loader's message about the last name that was tried, lent until this thread
 * uses the loader again; NULL: it was loaded. */
dt_status *dt_library_open(void **out, const char *const *names, int flags,
                           const char **why) DT_MUST_USE;

/* A function of a library, and where its address belongs in a struct of function pointers. */
typedef struct dt_library_function {
    const char *name;
    size_t offset;
} dt_library_function;
/* Sets n function pointers of the struct at `out`. Returns the name of the first function that the
 * library lacks; NULL: the library has all of them. */
const char *dt_library_bind(void *library, const dt_library_function *f, int n, void *out);

#endif
