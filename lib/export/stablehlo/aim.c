/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program looks like for a platform: when large values are computed piece by piece, and when
 * equal blocks stand once, in a loop.
 *
 * On CPUs, pieces stay in a cache, and a loop costs nothing. A GPU has no work for its
 * multiprocessors in a small piece, and a loop is launched turn by turn where the rest of a step is
 * one graph of kernels. Compiled for an H100, a step of GPT-2 (124 million parameters, 12 blocks,
 * batches of 8 x 1024) has 14,269 kernels with the rules for CPUs, 1,612 if only the blocks are a
 * loop, 1,000 with neither.
 */
#include <string.h>
#include <strings.h>

#include "export/stablehlo/stablehlo.h"

static const struct {
    const char *platform;
    int fewest_blocks;
    /* of a device's memory, above which a value is large; 0: DT_HLO_LARGE is, whatever it has */
    int part;
} rows[] = {
    {"cuda", 48, 16},
    {"rocm", 48, 16},
    /* XLA on the CPU: steps of a transformer of 6 blocks take 10 to 13 % longer as a loop, of 16
     * as long as without */
    {NULL, 8, 0},
};

void dt_hlo_aim(dt_hlo_request *q, const char *platform, int64_t memory) {
    size_t i = 0;
    while (rows[i].platform && strcasecmp(rows[i].platform, platform) != 0) i++;
    q->fewest_blocks = rows[i].fewest_blocks;
    q->large = DT_HLO_LARGE;
    if (rows[i].part && memory / rows[i].part > q->large) q->large = memory / rows[i].part;
}
