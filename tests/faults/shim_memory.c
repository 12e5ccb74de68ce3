/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that allocate: memory, mappings, threads; see shim.c. */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FAILS(number) shim_allocation_fails(number, __builtin_return_address(0))

/* dlsym itself may allocate, before main: it gets memory from here, which is never given back. */
enum { EARLY_BYTES = 65536 };
static _Alignas(64) char early[EARLY_BYTES];
static size_t early_used;
static _Thread_local bool looking_up;

static void *early_alloc(size_t n) {
    size_t at = early_used;
    if (n > EARLY_BYTES - 64 || at > EARLY_BYTES - 64 - n) return NULL;
    early_used = (at + n + 63) / 64 * 64;
    return early + at;
}

static bool is_early(const void *p) {
    return (const char *)p >= early && (const char *)p < early + EARLY_BYTES;
}

static void *look_up(const char *name) {
    looking_up = true;
    void *f = shim_next(name);
    looking_up = false;
    return f;
}

/* Of a function's own address, found once. */
#define REAL(name)                                                                                 \
    static _Atomic(__typeof__(&name)) real;                                                        \
    if (!real) real = (__typeof__(&name))(uintptr_t)look_up(#name)

void *malloc(size_t n) {
    if (looking_up) return early_alloc(n);
    REAL(malloc);
    return FAILS(ENOMEM) ? NULL : real(n);
}

void *calloc(size_t n, size_t size) {
    if (looking_up) return early_alloc(n * size); /* zeroed: each piece is handed out once */
    REAL(calloc);
    return FAILS(ENOMEM) ? NULL : real(n, size);
}

void *realloc(void *p, size_t n) {
    if (is_early(p)) {
        void *q = malloc(n);
        size_t most = (size_t)(early + EARLY_BYTES - (char *)p);
        return q ? memcpy(q, p, n < most ? n : most) : NULL;
    }
    REAL(realloc);
    return FAILS(ENOMEM) ? NULL : real(p, n);
}

void free(void *p) {
    if (is_early(p)) return;
    REAL(free);
    real(p);
}

void *aligned_alloc(size_t alignment, size_t n) {
    REAL(aligned_alloc);
    return FAILS(ENOMEM) ? NULL : real(alignment, n);
}

int posix_memalign(void **p, size_t alignment, size_t n) {
    REAL(posix_memalign);
    return FAILS(ENOMEM) ? ENOMEM : real(p, alignment, n);
}

void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset) {
    REAL(mmap);
    return flags & MAP_ANONYMOUS && FAILS(ENOMEM) ? MAP_FAILED
                                                  : real(at, n, protection, flags, fd, offset);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *argument) {
    REAL(pthread_create);
    return FAILS(EAGAIN) ? EAGAIN : real(thread, attributes, start, argument);
}
