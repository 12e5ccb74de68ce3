/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled programs kept in a folder, so that the next start does not compile them again. A file is
 * named by a hash of all that the compiler was given. What is read is code that will run, so the
 * folder must be one that nobody else can write to.
 */
#ifndef DT_PJRT_CACHE_H
#define DT_PJRT_CACHE_H

#include "base/hash.h"
#include "pjrt/client.h"
#include "pjrt/pjrt_impl.h"

#define DT_PJRT_CACHE_ENV "DTRAIN_PJRT_CACHE"

/* Makes the folder where it is not there. BACKEND if others may write to it. */
dt_status *dt_pjrt_cache_open(const char *folder) DT_MUST_USE;

typedef struct dt_pjrt_cached {
    const dt_pjrt *plugin;
    void *client;
    const char *folder;
    dt_digest name; /* dt_pjrt_cache_name */
} dt_pjrt_cached;
/* Of a program for the plug-in that `about` describes, on devices of this kind. */
dt_digest dt_pjrt_cache_name(const dt_pjrt *p, const char *about, const char *kind,
                             const dt_pjrt_text *t, const dt_str *options);
/* The program; NULL: it is not there, is damaged, or the plug-in does not take it back. */
void *dt_pjrt_cache_load(const dt_pjrt_cached *c);
/* Keeps an executable (not a loaded one). Where that fails, the next start compiles again. */
void dt_pjrt_cache_store(const dt_pjrt_cached *c, void *executable);

#endif
