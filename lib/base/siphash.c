/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what siphash.h declares. */
#include "base/siphash.h"

#include <string.h>
#include <sys/auxv.h>

static uint64_t turned(uint64_t x, int bits) { return x << bits | x >> (64 - bits); }

static void mix(uint64_t v[4], int rounds) {
    for (int i = 0; i < rounds; i++) {
        v[0] += v[1], v[2] += v[3];
        v[1] = turned(v[1], 13) ^ v[0], v[3] = turned(v[3], 16) ^ v[2];
        v[0] = turned(v[0], 32);
        v[2] += v[1], v[0] += v[3];
        v[1] = turned(v[1], 17) ^ v[2], v[3] = turned(v[3], 21) ^ v[0];
        v[2] = turned(v[2], 32);
    }
}

static void absorb(uint64_t v[4], uint64_t word) {
    v[3] ^= word;
    mix(v, 2);
    v[0] ^= word;
}

/* Reads up to 8 bytes as a little-endian integer. */
static uint64_t word_of(const unsigned char *p, size_t n) {
    uint64_t x = 0;
    for (size_t i = 0; i < n; i++) x |= (uint64_t)p[i] << 8 * i;
    return x;
}

uint64_t dt_siphash(const dt_siphash_key *key, const void *bytes, size_t n) {
    const uint64_t a = key->word[0], b = key->word[1];
    uint64_t v[4] = {a ^ 0x736f6d6570736575u, b ^ 0x646f72616e646f6du, a ^ 0x6c7967656e657261u,
                     b ^ 0x7465646279746573u};
    const unsigned char *p = bytes;
    size_t left = n;
    for (; left >= 8; p += 8, left -= 8) absorb(v, word_of(p, 8));
    absorb(v, word_of(p, left) | (uint64_t)n << 56);
    v[2] ^= 0xff;
    mix(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* Returns the key of this process, made of 16 random bytes that the kernel gives each process. On a
 * kernel without them, all processes share one key. */
dt_siphash_key dt_siphash_process_key(void) {
    dt_siphash_key key = {{0}};
    const void *bytes = (const void *)getauxval(AT_RANDOM);
    if (bytes) memcpy(key.word, bytes, sizeof key.word);
    return key;
}
