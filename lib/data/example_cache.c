/* SPDX-License-Identifier: Apache-2.0 */
/* See parts.h. A byte per example has its state. Memory that is never filled is never touched, so
 * the system provides none for it. */
#include "data/parts.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/arena.h"

enum { EMPTY, CLAIMED, FILLED };

struct dt_example_cache {
    int n;
    int64_t *bytes; /* [n] bytes of each element in one example */
    /* [n] the examples of each element, one after the other; NULL if the element is in memory
     * anyway */
    char **data;
    _Atomic uint8_t *state; /* [rows] the state of each example */
};

static bool fits(int64_t rows, int n, const int64_t *bytes, int64_t limit) {
    int64_t all = 0, of_one;
    for (int e = 0; e < n; e++)
        if (!dt_mul_fits(rows, bytes[e], &of_one) || !dt_add_fits(all, of_one, &all) || all > limit)
            return false;
    return true;
}

dt_example_cache *dt_example_cache_create(int64_t rows, int n, const int64_t *bytes,
                                          int64_t limit) {
    if (!fits(rows, n, bytes, limit)) return NULL;
    dt_example_cache *k = dt_alloc(sizeof *k);
    *k = (dt_example_cache){.n = n,
                            .bytes = dt_alloc((size_t)n * sizeof *k->bytes),
                            .data = dt_alloc((size_t)n * sizeof *k->data),
                            .state = calloc((size_t)rows, 1)};
    bool ok = k->state != NULL;
    for (int e = 0; e < n; e++) {
        k->bytes[e] = bytes[e];
        k->data[e] = ok && bytes[e] ? dt_try_alloc((size_t)(rows * bytes[e])) : NULL;
        ok = ok && (k->data[e] || bytes[e] == 0);
    }
    if (ok) return k;
    dt_example_cache_destroy(k);
    return NULL;
}

void dt_example_cache_destroy(dt_example_cache *k) {
    if (!k) return;
    for (int e = 0; e < k->n; e++) free(k->data[e]);
    free(k->data);
    free(k->bytes);
    free(k->state);
    free(k);
}

int64_t dt_example_cache_bytes(const dt_example_cache *k, int64_t rows) {
    int64_t all = 0;
    for (int e = 0; e < k->n; e++) all += k->data[e] ? rows * k->bytes[e] : 0;
    return all;
}

void *dt_example_cache_place(const dt_example_cache *k, int e, int64_t row) {
    return k->data[e] ? k->data[e] + row * k->bytes[e] : NULL;
}

bool dt_example_cache_has(dt_example_cache *k, int64_t row) {
    return atomic_load_explicit(&k->state[row], memory_order_acquire) == FILLED;
}

bool dt_example_cache_claim(dt_example_cache *k, int64_t row) {
    uint8_t empty = EMPTY;
    return atomic_compare_exchange_strong(&k->state[row], &empty, CLAIMED);
}

void dt_example_cache_filled(dt_example_cache *k, int64_t row, bool right) {
    atomic_store_explicit(&k->state[row], right ? FILLED : EMPTY, memory_order_release);
}
