/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys of a run, derived from its secret, so that only a process that knows the secret can
 * compute them. Processes that listen use one pair of keys, processes that connect the other. Each
 * side checks the other's key, so only processes with the secret can read or write messages.
 */
#ifndef DT_NET_RUN_KEY_H
#define DT_NET_RUN_KEY_H

#include <stdint.h>

#include "base/status.h"

enum { DT_KEY_BYTES = 32 };
enum {
    DT_SECRET_LEAST = 16, /* the fewest bytes of a secret */
    DT_SECRET_MOST = 4096,
    DT_SECRET_LEAST_DIFFERENT = 6,
    DT_SECRET_LEAST_UNFORESEEN = 10,
};
/* Secret keys of CURVE, ZeroMQ's encryption. */
typedef struct dt_run_key {
    uint8_t listens[DT_KEY_BYTES], connects[DT_KEY_BYTES];
} dt_run_key;

/* Derives the keys. Fails with SECRET if the secret has too few or too many bytes, or can be
 * guessed: it has fewer than DT_SECRET_LEAST bytes before it repeats itself, fewer than
 * DT_SECRET_LEAST_DIFFERENT different bytes, or fewer than DT_SECRET_LEAST_UNFORESEEN bytes that
 * are not part of words such as "password", series such as "abc" or "a1b2c3", neighboring keys such
 * as "qwerty", or repetitions. */
dt_status *dt_run_key_of(dt_run_key *out, const void *secret, size_t n) DT_MUST_USE;
/* Derives the keys from the bytes of a file, without line ends at the end of it. Fails with SECRET,
 * also if the file's permissions let other users read or write it (check_permissions has the
 * details), or with an error of reading it. */
dt_status *dt_run_key_read(dt_run_key *out, const char *path) DT_MUST_USE;

#endif
