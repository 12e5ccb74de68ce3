/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the shim share: shim.c decides which call fails, shim_writes.c and
 * shim_memory.c stand in the place of the C library's functions. */
#ifndef TESTS_FAULTS_SHIM_H
#define TESTS_FAULTS_SHIM_H

#include <stdbool.h>
#include <stddef.h>

enum { MOST_FILES = 1024 };

/* The C library's function of that name. */
#define NEXT(name) ((__typeof__(&name))(uintptr_t)shim_next(#name))
void *shim_next(const char *name);

/* Between the beginning of main and its end. */
bool shim_counts(void);
/* True where FAULT_LOG wants to know what the calls are about. */
bool shim_logs(void);
/* True: the call that writes fails, errno is set. *n, the size of a write, may be halved
 * instead. */
bool shim_write_fails(const char *call, const char *what, size_t *n);
/* True: the allocation fails, with that errno. `caller` is whose code wants it. */
bool shim_allocation_fails(int number, const void *caller);
/* Into the file of FAULT_RECORD: a line, and n bytes behind it. */
void shim_record(const char *line, const void *bytes, size_t n);
bool shim_records(void);

#endif
