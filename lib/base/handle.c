/* SPDX-License-Identifier: Apache-2.0 */
/* The ring of released handles. A newly released handle takes the slot of the oldest one, whose
 * memory is freed. */
#include "base/handle.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/sanitizer.h"

#if DT_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, n) ((void)0)
#endif

/* The slots of the ring. Handles are released in any thread, so the ring belongs to the process. A
 * slot is exchanged atomically, so no lock is needed. */
static void *_Atomic retired[DT_RETIRED];
static _Atomic unsigned next;

/* The number of bytes of a released handle that may still be read: the count of a handle, or the
 * length and the items of a list, which are 0 and NULL. */
enum { HEAD = 16 };

void dt_retire(void *handle, size_t size) {
    memset(handle, 0, size);
    if (size > HEAD) ASAN_POISON_MEMORY_REGION((char *)handle + HEAD, size - HEAD);
    void *oldest = atomic_exchange(&retired[atomic_fetch_add(&next, 1) % DT_RETIRED], handle);
    free(oldest);
}
