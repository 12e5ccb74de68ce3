/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32C by tables, eight bytes at a time (slicing-by-8). The tables are the only state: made once, then read. */
#include <pthread.h>
#include <string.h>

#include "file/records.h"

#define POLYNOMIAL 0x82f63b78u /* 0x1edc6f41, bits reversed */

/* table[k][b]: byte b, followed by k zero bytes. */
static uint32_t table[8][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

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
}

uint32_t dt_crc32c(const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    uint32_t c = ~0u;
    pthread_once(&once, make_tables);
    for (; n >= 8; n -= 8, p += 8) {
        c ^= (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
        c = table[7][c & 255] ^ table[6][c >> 8 & 255] ^ table[5][c >> 16 & 255] ^ table[4][c >> 24] ^ table[3][p[4]] ^
            table[2][p[5]] ^ table[1][p[6]] ^ table[0][p[7]];
    }
    for (; n > 0; n--)
        c = c >> 8 ^ table[0][(c ^ *p++) & 255];
    return ~c;
}

uint32_t dt_crc32c_masked(const void *bytes, size_t n)
{
    uint32_t c = dt_crc32c(bytes, n);
    return (c >> 15 | c << 17) + 0xa282ead8u;
}
