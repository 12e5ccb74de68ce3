/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what spread.h declares. A float32 becomes a 32-bit integer that sorts like it. The
 * leading 20 bits of the integer are the index of its bucket. */
#include "train/spread.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

enum { MOST_EXACT = 1 << 20, BUCKET_BITS = 20, FIRST_ROOM = 1024 };
#define SIGN UINT32_C(0x80000000)

static uint32_t ordered(double value) {
    /* Adding 0 turns -0 into 0, so that both count as the same number. */
    const float x = (float)value + 0.0F;
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits & SIGN ? ~bits : bits | SIGN;
}

static double restored(uint32_t key) {
    const uint32_t bits = key & SIGN ? key & ~SIGN : ~key;
    float x;
    memcpy(&x, &bits, sizeof x);
    return (double)x;
}

static dt_status *no_memory(size_t bytes) {
    return dt_fail(DT_E_NO_MEMORY, NULL, "out of memory for %zu bytes of scores", bytes);
}

static void count(dt_spread *s, uint64_t key) {
    s->bucket[(key >> 1) >> (32 - BUCKET_BITS)][key & 1]++;
}

/* Moves the numbers that are kept one by one into buckets, and frees the list. */
static dt_status *count_all(dt_spread *s) {
    const size_t bytes = sizeof *s->bucket << BUCKET_BITS;
    s->bucket = dt_try_alloc(bytes);
    if (!s->bucket) return no_memory(bytes);
    memset(s->bucket, 0, bytes);
    for (int64_t i = 0; i < s->n; i++) count(s, s->key[i]);
    free(s->key);
    s->key = NULL;
    return NULL;
}

static dt_status *grow(dt_spread *s) {
    const int64_t room = s->room ? 2 * s->room : FIRST_ROOM;
    const size_t bytes = (size_t)room * sizeof *s->key;
    uint64_t *key = dt_try_alloc(bytes);
    if (!key) return no_memory(bytes);
    if (s->n > 0) memcpy(key, s->key, (size_t)s->n * sizeof *key);
    free(s->key);
    s->key = key;
    s->room = room;
    return NULL;
}

dt_status *dt_spread_add(dt_spread *s, double value, bool bit) {
    const uint64_t key = (uint64_t)ordered(value) << 1 | bit;
    if (s->n == MOST_EXACT && !s->bucket) DT_TRY(count_all(s));
    if (!s->bucket && s->n == s->room) DT_TRY(grow(s));
    if (s->bucket) count(s, key);
    else s->key[s->n] = key;
    s->n++;
    return NULL;
}

static int by_key(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int64_t group_numbers(const dt_spread *s, dt_spread_group *out) {
    int64_t n = 0;
    for (int64_t i = 0; i < s->n; i++) {
        if (i == 0 || s->key[i] >> 1 != s->key[i - 1] >> 1)
            out[n++] = (dt_spread_group){.value = restored((uint32_t)(s->key[i] >> 1))};
        out[n - 1].count[s->key[i] & 1]++;
    }
    return n;
}

/* Makes groups of the buckets. The value of a group is the middle of its bucket. */
static int64_t group_buckets(const dt_spread *s, dt_spread_group *out) {
    const uint32_t middle = UINT32_C(1) << (31 - BUCKET_BITS);
    int64_t n = 0;
    for (uint32_t i = 0; i < UINT32_C(1) << BUCKET_BITS; i++)
        if (s->bucket[i][0] + s->bucket[i][1] > 0)
            out[n++] = (dt_spread_group){.value = restored((i << (32 - BUCKET_BITS)) | middle),
                                         .count = {s->bucket[i][0], s->bucket[i][1]}};
    return n;
}

dt_status *dt_spread_groups(dt_spread *s, dt_spread_group **out, int64_t *n) {
    const int64_t most = s->bucket ? INT64_C(1) << BUCKET_BITS : s->n;
    const size_t bytes = (size_t)(most + 1) * sizeof **out;
    *out = dt_try_alloc(bytes);
    *n = 0;
    if (!*out) return no_memory(bytes);
    if (s->key) qsort(s->key, (size_t)s->n, sizeof *s->key, by_key);
    *n = s->bucket ? group_buckets(s, *out) : group_numbers(s, *out);
    return NULL;
}

double dt_spread_quantile(const dt_spread_group *g, int64_t n, double p) {
    int64_t all = 0, before = 0;
    for (int64_t i = 0; i < n; i++) all += g[i].count[0] + g[i].count[1];
    if (all == 0) return NAN;
    const double at = (double)(all - 1) * p;
    const int64_t low = (int64_t)floor(at);
    for (int64_t i = 0; i < n; before += g[i].count[0] + g[i].count[1], i++) {
        const int64_t after = before + g[i].count[0] + g[i].count[1];
        if (low >= after) continue;
        const double next = low + 1 < after || i + 1 == n ? g[i].value : g[i + 1].value;
        return g[i].value + (at - (double)low) * (next - g[i].value);
    }
    return g[n - 1].value;
}

void dt_spread_release(dt_spread *s) {
    free(s->key);
    free(s->bucket);
    *s = (dt_spread){0};
}
