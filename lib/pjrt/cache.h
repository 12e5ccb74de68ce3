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

/* Creates the folder if it does not exist. BACKEND if other users may write to it. */
dt_status *dt_pjrt_cache_open(const char *folder) DT_MUST_USE;

typedef struct dt_pjrt_cached {
    const dt_pjrt *plugin;
    void *client;
    const char *folder;
    dt_digest name; /* dt_pjrt_cache_name */
} dt_pjrt_cached;
/* The name in the cache of a program for the plug-in that `about` describes, on devices of this
 * kind. */
dt_digest dt_pjrt_cache_name(const dt_pjrt *p, const char *about, const char *kind,
                             const dt_pjrt_text *t, const dt_str *options);
/* The program; NULL: it is missing or damaged, or the plug-in rejects it. */
void *dt_pjrt_cache_load(const dt_pjrt_cached *c);
/* Stores an executable (not a loaded one). If that fails, the next start compiles again. */
void dt_pjrt_cache_store(const dt_pjrt_cached *c, void *executable);

#endif
