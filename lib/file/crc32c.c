/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CRC-32C. Processors with SSE 4.2 have an instruction for eight bytes, whose result is there three cycles later: three stretches are taken side
 * by side, and what the first two come to is moved on over the bytes behind them, which is linear, by tables. Others go by tables, eight bytes at a
 * time (slicing-by-8). The tables are the only state: made once, then read.
 */
#include <pthread.h>
#include <string.h>

#include "file/records.h"

#define POLYNOMIAL 0x82f63b78u /* 0x1edc6f41, bits reversed */
enum { LONG = 2048, SHORT = 128 }; /* bytes of a stretch */

/* table[k][b]: byte b, followed by k zero bytes. Byte k of a CRC, b, after so many zero bytes. */
static uint32_t table[8][256], moved_long[4][256], moved_short[4][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_moves(int stretch, uint32_t moved[4][256])
{
    for (int bit = 0; bit < 32; bit++) {
        uint32_t c = 1u << bit;
        for (int i = 0; i < stretch; i++)
            c = c >> 8 ^ table[0][c & 255];
        for (int b = 0; b < 256; b++)
            moved[bit / 8][b] ^= b >> bit % 8 & 1 ? c : 0;
    }
}

static void make_tables(void)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t c = b;
        for (int i = 0; i < 8; i++)
            c = c >> 1 ^ (c & 1 ? POLYNOMIAL : 0);
        table[0][b] = c;
    }
    for (int k = 1; k < 8; k++)
        for (int b = 0; b < 256; b++)
            table[k][b] = table[k - 1][b] >> 8 ^ table[0][table[k - 1][b] & 255];
    make_moves(LONG, moved_long);
    make_moves(SHORT, moved_short);
}

static uint32_t by_tables(uint32_t c, const unsigned char *p, size_t n)
{
    for (; n >= 8; n -= 8, p += 8) {
        c ^= (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
        c = table[7][c & 255] ^ table[6][c >> 8 & 255] ^ table[5][c >> 16 & 255] ^ table[4][c >> 24] ^ table[3][p[4]] ^
            table[2][p[5]] ^ table[1][p[6]] ^ table[0][p[7]];
    }
    for (; n > 0; n--)
        c = c >> 8 ^ table[0][(c ^ *p++) & 255];
    return c;
}

#ifdef __x86_64__
static uint64_t word(const unsigned char *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

static uint32_t move(uint32_t moved[4][256], uint64_t c)
{
    return moved[0][c & 255] ^ moved[1][c >> 8 & 255] ^ moved[2][c >> 16 & 255] ^ moved[3][c >> 24 & 255];
}

/* All of the triples of stretches that n bytes have; *p goes behind them. */
__attribute__((target("sse4.2"))) static uint64_t by_triples(uint64_t x, const unsigned char **p, size_t n, int stretch, uint32_t moved[4][256])
{
    const size_t three = 3 * (size_t)stretch;
    for (; n >= three; n -= three, *p += three) {
        uint64_t y = 0, z = 0;
        for (const unsigned char *q = *p; q < *p + stretch; q += 8) {
            x = __builtin_ia32_crc32di(x, word(q));
            y = __builtin_ia32_crc32di(y, word(q + stretch));
            z = __builtin_ia32_crc32di(z, word(q + 2 * stretch));
        }
        x = move(moved, x) ^ y;
        x = move(moved, x) ^ z;
    }
    return x;
}

__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t c, const unsigned char *p, size_t n)
{
    const unsigned char *end = p + n;
    uint64_t x = by_triples(c, &p, n, LONG, moved_long);
    x = by_triples(x, &p, (size_t)(end - p), SHORT, moved_short);
    for (; end - p >= 8; p += 8)
        x = __builtin_ia32_crc32di(x, word(p));
    return by_tables((uint32_t)x, p, (size_t)(end - p));
}
#endif

uint32_t dt_crc32c_more(uint32_t crc, const void *bytes, size_t n)
{
    pthread_once(&once, make_tables);
#ifdef __x86_64__
    if (__builtin_cpu_supports("sse4.2"))
        return ~by_instruction(~crc, bytes, n);
#endif
    return ~by_tables(~crc, bytes, n);
}

uint32_t dt_crc32c(const void *bytes, size_t n)
{
    return dt_crc32c_more(0, bytes, n);
}

uint32_t dt_crc32c_masked(const void *bytes, size_t n)
{
    return dt_crc32c_mask(dt_crc32c(bytes, n));
}

uint32_t dt_crc32c_mask(uint32_t c)
{
    return (c >> 15 | c << 17) + 0xa282ead8u;
}
