/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries that are loaded at run time where they are there. */
#ifndef DT_BASE_LIBRARY_H
#define DT_BASE_LIBRARY_H

/*
 * The first library of these names (the last is NULL), or NULL where none is there; flags are dlopen's. One that is there but for which memory is
 * missing is not one that is not there, for a run would go on without it to other bits: the program ends as in dt_alloc. *why (may be NULL): the
 * loader's words about the last name, lent until it is called again.
 */
void *dt_library_open(const char *const *names, int flags, const char **why);

#endif
