/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled programs kept in a folder, so that the next start does not compile them again. The name
 * of a file is a hash of all inputs of the compiler. Cached programs are code that will run, so
 * only the user may be able to write to the folder.
 */
#ifndef DT_PJRT_CACHE_H
#define DT_PJRT_CACHE_H

#include "base/hash.h"
#include "pjrt/client.h"
#include "pjrt/pjrt_impl.h"

#define DT_PJRT_CACHE_ENV "DTRAIN_PJRT_CACHE"

/* Creates the folder if it does not exist. Fails with BACKEND if other users may write to the
 * folder. */
dt_status *dt_pjrt_cache_open(const char *folder) DT_MUST_USE;

typedef struct dt_pjrt_cached {
    const dt_pjrt *plugin;
    void *client;
    const char *folder;
    dt_digest name; /* the result of dt_pjrt_cache_name */
} dt_pjrt_cached;
/* Computes the name in the cache of a program. about: the description of the plug-in that compiles
 * it. The devices are of the given kind. */
dt_digest dt_pjrt_cache_name(const dt_pjrt *p, const char *about, const char *kind,
                             const dt_pjrt_text *t, const dt_str *options);
/* Loads the program; NULL: it is missing or damaged, or the plug-in rejects it. */
void *dt_pjrt_cache_load(const dt_pjrt_cached *c);
/* Stores an executable (not a loaded one). If that fails, the next start compiles again. */
void dt_pjrt_cache_store(const dt_pjrt_cached *c, void *executable);

#endif
