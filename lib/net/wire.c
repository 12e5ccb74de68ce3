/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what wire.h declares. */
#include "net/wire.h"

#include <string.h>

enum {
    COLLECTIVE = 4,
    DTYPE = 5,
    FLAGS = 6,
    ZERO = 7,
    ROUND = 8,
    ELEMENTS = 12,
    STEP = 20,
    BYTES = 28,
    OF = 36
};
_Static_assert(OF + sizeof(((dt_tag *)0)->of) == DT_WIRE_BYTES, "the name is the end");

static void put(unsigned char *out, uint64_t x, int n) {
    for (int i = 0; i < n; i++) out[i] = (unsigned char)(x >> 8 * i);
}

static uint64_t get(const unsigned char *in, int n) {
    uint64_t x = 0;
    for (int i = 0; i < n; i++) x |= (uint64_t)in[i] << 8 * i;
    return x;
}

void dt_wire_write(unsigned char out[DT_WIRE_BYTES], const dt_tag *tag, uint64_t bytes) {
    memset(out, 0, DT_WIRE_BYTES);
    put(out, tag->number, 4);
    out[COLLECTIVE] = (unsigned char)tag->collective;
    out[DTYPE] = (unsigned char)tag->dtype;
    out[FLAGS] = (unsigned char)tag->flags;
    put(out + ROUND, (uint32_t)tag->round, 4);
    put(out + ELEMENTS, (uint64_t)tag->elements, 8);
    put(out + STEP, (uint64_t)tag->step, 8);
    put(out + BYTES, bytes, 8);
    memcpy(out + OF, tag->of, strnlen(tag->of, sizeof tag->of - 1));
}

bool dt_wire_read(dt_tag *tag, uint64_t *bytes, const void *from, size_t n) {
    const unsigned char *in = from;
    if (n != DT_WIRE_BYTES || in[COLLECTIVE] >= DT_COLLECTIVES || in[DTYPE] > DT_BFLOAT16 ||
        in[ZERO] || in[DT_WIRE_BYTES - 1])
        return false;
    *tag = (dt_tag){.number = (uint32_t)get(in, 4),
                    .collective = (dt_collective)in[COLLECTIVE],
                    .dtype = (dt_dtype)in[DTYPE],
                    .elements = (int64_t)get(in + ELEMENTS, 8),
                    .step = (int64_t)get(in + STEP, 8),
                    .flags = in[FLAGS]};
    const uint64_t round = get(in + ROUND, 4);
    *bytes = get(in + BYTES, 8);
    if (round >= INT32_MAX || tag->elements < 0 || tag->step < 0) return false;
    tag->round = (int)round;
    memcpy(tag->of, in + OF, sizeof tag->of);
    const size_t named = strlen(tag->of);
    /* All bytes after the name must be 0, so that a tag has exactly one encoding. */
    for (size_t i = named; i < sizeof tag->of; i++)
        if (tag->of[i]) return false;
    return true;
}
