/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of rows: each block of rows is added as one chain per column, and blocks are added by a tree
 * (sums.h). */
#include "exec/sums.h"
#include "base/size.h"

#include <string.h>

/* Returns the number of rows that are added side by side: the largest power of two with which these
 * rows have at most DT_SUM_WIDE floats, at least 1. */
static int64_t rows_abreast(int64_t stride) {
    int64_t n = 1;
    while (2 * n * stride <= DT_SUM_WIDE) n *= 2;
    return n;
}

/* The current block of rows. abreast: number of rows that are added side by side. */
typedef struct block {
    const dt_simd *simd;
    const float *a, *mean; /* the mean is repeated for each of the rows that form a wide row */
    int64_t rows, n, stride, abreast;
} block;

static void add_chains(const block *b, const float *a, int64_t rows, int64_t n, float *to) {
    b->simd->sum_block(
        &(dt_sum_block){
            .a = a, .mean = b->mean, .rows = rows, .n = n, .stride = b->abreast * b->stride},
        to);
}

/* Sums a block into `to`, (abreast, n). Chain c adds rows c, c + abreast, and so on. */
static void sum_block(const block *b, float *to) {
    const int64_t full = b->rows / b->abreast, rest = b->rows % b->abreast;
    const bool whole = b->n == b->stride; /* adjacent rows are treated as one wide row */
    const int64_t wide = whole ? b->abreast : 1, rest_wide = whole ? rest : 1;
    float last[DT_SUM_WIDE];

    for (int64_t c = 0; c < b->abreast; c += wide)
        add_chains(b, b->a + c * b->stride, full, wide * b->n, to + c * b->n);
    for (int64_t c = 0; c < rest; c += rest_wide) {
        add_chains(b, b->a + (full * b->abreast + c) * b->stride, 1, rest_wide * b->n, last);
        b->simd->strip[DT_S_add](to + c * b->n, to + c * b->n, last, NULL, rest_wide * b->n);
    }
}

/* Sets b->a and b->stride to rows row .. row + b->rows - 1 as floats: in place, or converted into
 * contiguous rows in `room`. */
static void load_rows(const dt_simd *simd, const dt_sum_source *s, int64_t row, block *b,
                      float *room) {
    const int64_t bytes = s->load == DT_S_COPY ? sizeof(float) : sizeof(uint16_t);
    const char *from = (const char *)s->at + row * s->stride * bytes;

    b->a = (const float *)(const void *)from;
    b->stride = s->stride;
    if (s->load == DT_S_COPY) return;
    for (int64_t i = 0; i < b->rows; i++)
        simd->strip[s->load](room + i * b->n, from + i * s->stride * bytes, NULL, NULL, b->n);
    b->a = room;
    b->stride = b->n;
}

/* Computes the sums of s->n columns. With the rows that are added side by side, they are at most
 * DT_SUM_WIDE floats. `level` and `room` are not larger than a sum of this kind needs, because
 * stacks of threads may be small. */
static void sum_columns(const dt_simd *simd, const dt_sum_source *s, float *to) {
    const int64_t abreast = rows_abreast(s->stride),
                  blocks = (s->rows - 1) / (DT_SUM_ROWS * abreast) + 1;
    float level[dt_sum_levels(blocks) * DT_SUM_WIDE], mean[DT_SUM_WIDE];
    float room[s->load == DT_S_COPY ? 1 : DT_SUM_ROWS * DT_SUM_WIDE];
    block b = {.simd = simd, .n = s->n, .abreast = abreast, .mean = s->mean ? mean : NULL};
    dt_sum_tree t = {
        .level = level, .stride = DT_SUM_WIDE, .n = abreast * s->n, .add = simd->strip[DT_S_add]};

    for (int64_t c = 0; s->mean && c < abreast; c++)
        memcpy(mean + c * s->n, s->mean, (size_t)s->n * sizeof *mean);
    for (int64_t row = 0; row < s->rows; row += b.rows) {
        b.rows = dt_min(s->rows - row, DT_SUM_ROWS * abreast);
        load_rows(simd, s, row, &b, room);
        sum_block(&b, dt_sum_next(&t));
        dt_sum_push(&t);
    }
    dt_sum_end(&t);
    for (int64_t half = abreast / 2; half > 0; half /= 2)
        t.add(level, level, level + half * s->n, NULL, half * s->n);
    memcpy(to, level, (size_t)s->n * sizeof *to);
}

void dt_sum_rows(const dt_simd *simd, const dt_sum_source *s, float *to) {
    if (s->rows <= 0) {
        simd->fill(to, 0, s->n);
        return;
    }
    dt_sum_source some = *s;
    for (int64_t j = 0; j < s->n; j += some.n) {
        some.n = dt_min(s->n - j, DT_SUM_WIDE);
        some.at = (const char *)s->at +
                  j * (s->load == DT_S_COPY ? (int64_t)sizeof(float) : (int64_t)sizeof(uint16_t));
        some.mean = s->mean ? s->mean + j : NULL;
        sum_columns(simd, &some, to + j);
    }
}
