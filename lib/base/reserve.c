/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what reserve.h declares. The block is never touched, so it uses address space but no
 * memory. */
#include "base/reserve.h"

#include <stdatomic.h>
#include <stdlib.h>

/* The reserve is as large as the usual blocks of a large arena (LAST_BLOCK in arena.c). To return
 * from a call and to report the error takes less. */
enum { BYTES = 4 << 20 };

static _Atomic(void *) reserve;

dt_status *dt_reserve_check(void) {
    void *none = NULL;
    if (atomic_load_explicit(&reserve, memory_order_relaxed)) return NULL;
    void *block = malloc(BYTES);
    if (!block) return dt_fail(DT_E_NO_MEMORY, NULL, "out of memory");
    if (!atomic_compare_exchange_strong(&reserve, &none, block))
        free(block); /* Another thread has set the reserve first. */
    return NULL;
}

bool dt_reserve_spend(void) {
    void *block = atomic_exchange(&reserve, NULL);
    free(block);
    return block != NULL;
}
