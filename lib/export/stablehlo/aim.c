/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the form of a program for a platform: when large values are computed piece by piece, when
 * equal blocks become a loop, and how sums are written.
 *
 * On CPUs a piece stays in the cache, and a loop costs little. On a GPU a small piece does not
 * keep all multiprocessors busy, and each iteration of a loop is launched separately, whereas the
 * rest of a step is launched as one graph of kernels. Compiled for an H100, a step of GPT-2 (124
 * million parameters, 12 blocks, batches of 8 x 1024) has 14,269 kernels with the rules for CPUs,
 * 1,612 if only the blocks are a loop, 1,000 with neither.
 *
 * XLA on the CPU adds in the order of the text, one value after the other. If long sums are divided
 * into steps, they lose fewer digits there and are faster: training steps of CNNs with
 * BatchNormalization take 0.75 to 0.9 of the time. Other compilers choose an order that suits the
 * device.
 */
#include <string.h>
#include <strings.h>

#include "export/stablehlo/stablehlo.h"

static const struct {
    const char *platform;
    int fewest_blocks;
    /* dt_hlo_request.large is 1 / part of a device's memory, or DT_HLO_LARGE if that is more; part
     * 0: it is DT_HLO_LARGE */
    int part;
    int64_t chain; /* dt_hlo_request.chain */
} rows[] = {
    {"cuda", 48, 16, 0},
    {"rocm", 48, 16, 0},
    /* measured with XLA on the CPU: as a loop, a step of a transformer takes 10 to 13 % longer with
     * 6 blocks, and the same time with 16 */
    {"cpu", 8, 0, 512},
    {NULL, 8, 0, 0},
};

void dt_hlo_aim(dt_hlo_request *q, const char *platform, int64_t memory) {
    size_t i = 0;
    while (rows[i].platform && strcasecmp(rows[i].platform, platform) != 0) i++;
    q->fewest_blocks = rows[i].fewest_blocks;
    q->chain = rows[i].chain;
    q->large = DT_HLO_LARGE;
    if (rows[i].part && memory / rows[i].part > q->large) q->large = memory / rows[i].part;
}
