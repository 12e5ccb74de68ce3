/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How arrays are stored in HBM. Two of the dimensions are stored in tiles of 8 sublanes by 128
 * lanes, and padded to whole tiles. The compiler chooses which two, and in which order, so that
 * padding is least. For example, the 100 columns of 1,024 rows are stored along the sublanes, where
 * padding adds 4 columns, and not along the lanes, where it would add 28. Tiles with few sublanes
 * are shorter: 1, 2 or 4. An array with one dimension has tiles of 1,024. A few numbers take the
 * next power of two, at least 512 bytes.
 *
 * tests/cost/layout_test.c compares the results with the sizes of arguments in libtpu 0.0.42.1.
 */
#include "cost/cost.h"

enum { LANES = 128, SUBLANES = 8, LINE = 1024, LEAST = 512 };

static int64_t up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/* Returns the number of sublanes of n numbers. Narrow numbers are packed until they fill 32
 * bits. */
static int64_t sublanes(int64_t n, int64_t size) {
    int64_t least = size >= 4 ? 1 : 4 / size;
    for (; least < SUBLANES; least *= 2)
        if (n <= least) return least;
    return up(n, SUBLANES);
}

static int64_t line_bytes(int64_t n, int64_t size) {
    int64_t bytes = LEAST;
    if (n > LINE / 2) return up(n, LINE) * size;
    while (bytes < n * size) bytes *= 2;
    return bytes;
}

int64_t dt_padded_bytes(const dt_type *t) {
    int64_t size = (int64_t)dt_dtype_size(t->dtype), all = dt_type_elements(t), least = INT64_MAX;
    if (all == 0) return 0;
    if (t->rank < 2) return line_bytes(all, size);
    for (int lane = 0; lane < t->rank; lane++)
        for (int row = 0; row < t->rank; row++) {
            int64_t filled = all / t->dim[lane] * up(t->dim[lane], LANES);
            if (row != lane && filled / t->dim[row] * sublanes(t->dim[row], size) < least)
                least = filled / t->dim[row] * sublanes(t->dim[row], size);
        }
    return least * size;
}
