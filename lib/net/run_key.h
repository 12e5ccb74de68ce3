/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys of a run, derived from its secret: only a process that knows the secret can compute
 * them. One pair is for processes that listen, the other for processes that connect. Each side
 * checks the other's key, so that messages can neither be read nor written without the secret.
 */
#ifndef DT_NET_RUN_KEY_H
#define DT_NET_RUN_KEY_H

#include <stdint.h>

#include "base/status.h"

enum { DT_KEY_BYTES = 32 };
enum {
    DT_SECRET_LEAST = 16, /* bytes */
    DT_SECRET_MOST = 4096,
    DT_SECRET_LEAST_DIFFERENT = 6,
    DT_SECRET_LEAST_UNFORESEEN = 10,
};
/* Secret keys of CURVE. */
typedef struct dt_run_key {
    uint8_t listens[DT_KEY_BYTES], connects[DT_KEY_BYTES];
} dt_run_key;

/* SECRET: too few or too many bytes, or one that can be guessed: fewer than DT_SECRET_LEAST bytes
 * before it repeats itself, fewer than DT_SECRET_LEAST_DIFFERENT different ones, or fewer than
 * DT_SECRET_LEAST_UNFORESEEN beside words such as "password", series such as "abc" or "a1b2c3",
 * rows of keys and repetitions. */
dt_status *dt_run_key_of(dt_run_key *out, const void *secret, size_t n) DT_MUST_USE;
/* Of the file's bytes, without the newline at their end. SECRET, also for a file that others may
 * read or write, and the errors of reading a file. */
dt_status *dt_run_key_read(dt_run_key *out, const char *path) DT_MUST_USE;

#endif
