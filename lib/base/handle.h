/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles of the public API that have been released. A handle begins with its count, `int refs`.
 * Releasing the last reference frees what the handle owns and clears the handle itself, which is
 * kept for a while in a ring: a count of 0 in one of the last DT_RETIRED handles proves that the
 * caller has released it. Public functions begin with DT_LIVE(h), which sets the variable h to NULL
 * if its handle has been released, and returns h. So a handle in the ring is treated like NULL.
 *
 * The ring hides no use after free: with the address sanitizer only the first 16 bytes of a
 * released handle may be read, so code that uses one without DT_LIVE ends with a report.
 */
#ifndef DT_BASE_HANDLE_H
#define DT_BASE_HANDLE_H

#include <stddef.h>

enum { DT_RETIRED = 4096 };

static inline void *dt_live(const void *handle) {
    return handle && __atomic_load_n((const int *)handle, __ATOMIC_RELAXED) > 0 ? (void *)handle
                                                                                : NULL;
}
#define DT_LIVE(handle) ((handle) = dt_live(handle))

/* Gives up a reference. True: it was the last one, so the caller frees what the handle owns, and
 * then the handle itself by DT_RETIRE. */
#define DT_LAST(handle) (dt_live(handle) && --(handle)->refs == 0)
#define DT_RETIRE(handle) dt_retire((handle), sizeof *(handle))
void dt_retire(void *handle, size_t size);

#endif
