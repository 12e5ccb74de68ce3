/* SPDX-License-Identifier: Apache-2.0 */
/* The ring of released handles: each takes the place of the oldest, whose memory the system gets
 * back. */
#include "base/handle.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Of the process, since handles are released in any thread; a place is changed in one step, so that
 * no lock is needed. */
static void *_Atomic retired[DT_RETIRED];
static _Atomic unsigned next;

void dt_retire(void *handle, size_t size) {
    memset(handle, 0, size);
    void *oldest = atomic_exchange(&retired[atomic_fetch_add(&next, 1) % DT_RETIRED], handle);
    free(oldest);
}
