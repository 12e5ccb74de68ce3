/* SPDX-License-Identifier: Apache-2.0 */
/* Uniform random numbers by the thousand, of counters that follow each other. Integers alone: the
 * same bits on all processors. */
#include "exec/strip.h"

#include "base/simd/loops.h"
#include "base/simd/philox.h"

enum { SOME = 256 }; /* a multiple of the lanes there are */

static void uniform(float *d, uint64_t key, uint64_t stream, int64_t n) {
    lanes place = lanes_from(0);
    uint64_t word[SOME];
    for (int64_t done = 0; done < n; done += SOME) {
        int64_t some = n - done < SOME ? n - done : SOME;
        for (int64_t i = 0; i < some; i += LANES, place += LANES) {
            lanes block = philox_lanes(key, place, (lanes){0} + stream);
            memcpy(word + i, &block, sizeof block);
        }
        for (int64_t i = 0; i < some; i++)
            d[done + i] = (float)(int32_t)((uint32_t)word[i] >> 8) * 0x1p-24f;
    }
}

extern const dt_uniform_function JOIN(dt_uniform_, DT_ISA);
const dt_uniform_function JOIN(dt_uniform_, DT_ISA) = uniform;
