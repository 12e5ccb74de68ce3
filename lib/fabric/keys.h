/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys and values that several processes share: one of them keeps the store, on a thread of its
 * own, and all ask it over messages.h. For programs that span processes, whose compilers find each
 * other in this way (dt_pjrt_store of pjrt/client.h).
 */
#ifndef DT_FABRIC_KEYS_H
#define DT_FABRIC_KEYS_H

#include "base/str.h"
#include "fabric/messages.h"

enum { DT_KEY_MOST = 4096, DT_VALUE_MOST = 1 << 26, DT_KEYS_MOST = 1 << 16 };

typedef struct dt_keys dt_keys;
typedef struct dt_keys_spec {
    const char *address;   /* where the store listens: HOST:PORT */
    int process;           /* this one; 0 keeps the store */
    const dt_run_key *key; /* as of dt_messenger_spec, both */
    bool open;
    double patience_s; /* for the store to come up, and for its answers */
} dt_keys_spec;

/* WORKER_LATE: no store has answered; errors of the messenger. */
dt_status *dt_keys_open(dt_keys **out, const dt_keys_spec *spec) DT_MUST_USE;
void dt_keys_close(dt_keys *k); /* process 0: no other one may need it any more. Takes NULL */
/* Both may be called by any thread. A key that is put again has its new value. RANGE: longer than
 * DT_KEY_MOST or DT_VALUE_MOST, or more than DT_KEYS_MOST keys; WORKER_GONE and WORKER_LATE of the
 * store. */
dt_status *dt_keys_put(dt_keys *k, const void *key, size_t n, const void *value,
                       size_t size) DT_MUST_USE;
/* Waits until somebody has put the key, at most so long: WORKER_LATE. Adds the value to *value. */
dt_status *dt_keys_get(dt_keys *k, const void *key, size_t n, double seconds,
                       dt_str *value) DT_MUST_USE;

#endif
