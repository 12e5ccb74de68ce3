/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce in StableHLO. On the CPU, XLA adds the values one after the other: a sum of 50,000 has
 * four correct digits. If the request limits such chains (dt_hlo.chain), a long sum is written in
 * steps:
 *
 *     (64, 26, 26, 8) over the first three     (208, 208, 8)  sums of blocks  (208, 8)  sum  (8)
 *
 * A barrier after each step keeps the compiler from merging the steps. Values of 16 bits are added
 * as float32: 256 and 1 are 256 in bfloat16.
 */
#include "op/stablehlo.h"

#include <string.h>

/* A run of neighbouring dimensions that are reduced: first .. end - 1. */
typedef struct run {
    int first, end;
    int64_t n; /* the number of elements of these dimensions */
} run;

static bool is_reduced(unsigned dims, int d) { return dims >> d & 1; }

static dt_hlo_value reduce(dt_hlo *h, int kind, dt_hlo_value x, unsigned dims) {
    dt_type t = {.dtype = x.type.dtype};
    int8_t list[DT_MAX_RANK];
    int n = 0;
    for (int d = 0; d < x.type.rank; d++)
        if (is_reduced(dims, d)) list[n++] = (int8_t)d;
        else t.dim[t.rank++] = x.type.dim[d];
    dt_hlo_value in[] = {x, dt_hlo_nothing(h, kind, t.dtype)};
    return dt_hlo_joined(h, "reduce", kind, in, 2, &t, "dimensions = %s", dt_hlo_array(list, n).s);
}

static int64_t count_terms(const dt_type *t, unsigned dims) {
    int64_t n = 1;
    for (int d = 0; d < t->rank; d++) n *= is_reduced(dims, d) ? t->dim[d] : 1;
    return n;
}

static run longest_run(const dt_type *t, unsigned dims) {
    run longest = {0};
    for (int d = 0; d < t->rank;) {
        run r = {d, d, 1};
        for (; r.end < t->rank && is_reduced(dims, r.end); r.end++) r.n *= t->dim[r.end];
        if (r.end > r.first && r.n >= longest.n) longest = r;
        d = r.end + 1;
    }
    return longest;
}

/* The size of blocks for a sum of n values: the largest divisor of n that is not longer than a
 * chain. If the divisor is short, blocks are as long as a chain, and zeros fill the last one. */
static int64_t block_of(int64_t n, int64_t chain) {
    for (int64_t block = chain; block >= chain / 4; block--)
        if (n % block == 0) return block;
    return chain;
}

static dt_hlo_value with_zeros_behind(dt_hlo *h, dt_hlo_value x, int d, int64_t n) {
    const int64_t none[DT_MAX_RANK] = {0};
    const dt_type scalar = dt_scalar_type(x.type.dtype);
    int64_t high[DT_MAX_RANK] = {0};
    dt_type t = x.type;
    if (n == 0) return x;
    high[d] = n;
    t.dim[d] += n;
    return dt_hlo_op(h, "pad", (dt_hlo_value[]){x, dt_hlo_splat(h, &scalar, 0)}, 2, &t,
                     "edge_padding_low = %s, edge_padding_high = %s, interior_padding = %s",
                     dt_hlo_array64(none, t.rank).s, dt_hlo_array64(high, t.rank).s,
                     dt_hlo_array64(none, t.rank).s);
}

/* Reshapes (.., n, ..) to (.., blocks, block, ..), where the blocks are dimensions r.first and
 * r.first + 1. */
static dt_hlo_value in_blocks(dt_hlo *h, dt_hlo_value x, const run *r, int64_t block) {
    const int behind = x.type.rank - r->end;
    const int64_t blocks = (r->n + block - 1) / block;
    dt_type t = x.type;
    t.rank = r->first + 1 + behind;
    t.dim[r->first] = r->n;
    memcpy(t.dim + r->first + 1, x.type.dim + r->end, (size_t)behind * sizeof *t.dim);
    x = dt_hlo_reshape(h, x, t.rank, t.dim);
    x = with_zeros_behind(h, x, r->first, blocks * block - r->n);
    memmove(t.dim + r->first + 2, t.dim + r->first + 1, (size_t)behind * sizeof *t.dim);
    t.dim[r->first] = blocks;
    t.dim[r->first + 1] = block;
    return dt_hlo_reshape(h, x, t.rank + 1, t.dim);
}

/* Replaces dimensions first .. end - 1 in the set by `kept` dimensions, which are reduced, too. */
static unsigned replace_run(unsigned dims, const run *r, int kept) {
    const unsigned before = dims & ((1u << r->first) - 1), behind = dims >> r->end;
    return before | (kept ? 1u << r->first : 0) | behind << (r->first + kept);
}

/* Splits the longest run of dimensions into blocks, or sums it if it is short. */
static dt_hlo_value shorten(dt_hlo *h, dt_hlo_value x, unsigned *dims) {
    const run r = longest_run(&x.type, *dims);
    const bool fits = r.end - r.first > 1 || x.type.rank < DT_MAX_RANK;
    if (r.n > h->chain && fits) {
        x = in_blocks(h, x, &r, block_of(r.n, h->chain));
        x = reduce(h, DT_REDUCE_SUM, x, 2u << r.first);
        *dims = replace_run(*dims, &r, 1);
    } else {
        x = reduce(h, DT_REDUCE_SUM, x, (1u << r.end) - (1u << r.first));
        *dims = replace_run(*dims, &r, 0);
    }
    return dt_hlo_op(h, "optimization_barrier", &x, 1, &x.type, "%s", "");
}

dt_hlo_value dt_hlo_reduce(dt_hlo *h, int kind, dt_hlo_value x, unsigned dims) {
    const dt_dtype dtype = x.type.dtype;
    const bool rounds =
        h->chain && kind == DT_REDUCE_SUM && dt_dtype_is_float(dtype) && dtype != DT_FLOAT64;
    if (rounds) x = dt_hlo_convert(h, x, DT_FLOAT32);
    while (rounds && count_terms(&x.type, dims) > h->chain) x = shorten(h, x, &dims);
    return dt_hlo_convert(h, reduce(h, kind, x, dims), dtype);
}
