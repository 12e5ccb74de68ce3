/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CRC-32C. The CRC is the remainder of the bytes, taken as a polynomial over GF(2). On x86
 * processors with carry-less multiplication, a block of bytes is multiplied so that it can be added
 * to a later block: four blocks in parallel, of 64 bytes each with AVX-512, else of 16. The four
 * blocks are reduced to 16 bytes. The CRC of these, of the bytes that fill no block, and of short
 * inputs is computed with the CRC instruction of SSE 4.2. Processors that have only this
 * instruction, or that of ARM (since ARMv8.1), use it for all bytes. Other processors use tables,
 * eight bytes at a time (slicing-by-8). The tables are made once and then only read.
 */
#include <pthread.h>
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include "file/records.h"

#define POLYNOMIAL 0x82f63b78u /* the polynomial 0x1edc6f41 with its bits reversed */

/* table[k][b]: CRC of byte b, followed by k zero bytes */
static uint32_t table[8][256];
/* Factors for the first and the second eight bytes of a block, which move it by 16, 64 or 256
 * bytes. */
static uint64_t over16[2], over64[2], over256[2];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Returns the remainder of x^n, bit-reversed: bit 31 is x^0. */
static uint32_t power(int n) {
    uint32_t c = 0x80000000u;
    for (; n > 0; n--) c = c >> 1 ^ (c & 1 ? POLYNOMIAL : 0);
    return c;
}

/* Computes the factors that move a block by `bytes`. The exponents are corrected by 33: the product
 * of two reversed numbers has a factor x too much, and a 32-bit remainder in the low half of 64
 * bits a factor x^32. */
static void make_move(int bytes, uint64_t out[2]) {
    out[0] = power(8 * bytes + 64 - 33);
    out[1] = power(8 * bytes - 33);
}

static void make_tables(void) {
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t c = b;
        for (int i = 0; i < 8; i++) c = c >> 1 ^ (c & 1 ? POLYNOMIAL : 0);
        table[0][b] = c;
    }
    for (int k = 1; k < 8; k++)
        for (int b = 0; b < 256; b++)
            table[k][b] = table[k - 1][b] >> 8 ^ table[0][table[k - 1][b] & 255];
    make_move(16, over16);
    make_move(64, over64);
    make_move(256, over256);
}

static uint32_t by_tables(uint32_t c, const unsigned char *p, size_t n) {
    for (; n >= 8; n -= 8, p += 8) {
        c ^= (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
        c = table[7][c & 255] ^ table[6][c >> 8 & 255] ^ table[5][c >> 16 & 255] ^
            table[4][c >> 24] ^ table[3][p[4]] ^ table[2][p[5]] ^ table[1][p[6]] ^ table[0][p[7]];
    }
    for (; n > 0; n--) c = c >> 8 ^ table[0][(c ^ *p++) & 255];
    return c;
}

#if defined(__x86_64__) || (defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
static uint64_t word(const unsigned char *p) {
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return x;
}
#endif

#ifdef __x86_64__
#define PRODUCTS __attribute__((target("sse4.2,pclmul")))
#define WIDE_PRODUCTS __attribute__((target("sse4.2,pclmul,avx512f,avx512dq,vpclmulqdq")))

PRODUCTS static __m128i move(__m128i x, __m128i k) {
    return _mm_xor_si128(_mm_clmulepi64_si128(x, k, 0x00), _mm_clmulepi64_si128(x, k, 0x11));
}

/* Reduces four blocks to 16 bytes and these to a CRC. The first block already includes the CRC of
 * the bytes before it. */
PRODUCTS static uint64_t join(const __m128i x[4]) {
    const __m128i k = _mm_loadu_si128((const __m128i *)over16);
    __m128i y = x[0];
    for (int i = 1; i < 4; i++) y = _mm_xor_si128(move(y, k), x[i]);
    return _mm_crc32_u64(_mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(y)),
                         (uint64_t)_mm_extract_epi64(y, 1));
}

/* Continues `crc` over all whole blocks of 64 bytes in the n bytes, at least one, and moves *p
 * behind them. */
PRODUCTS static uint64_t by_products(uint64_t crc, const unsigned char **p, size_t n) {
    const __m128i k = _mm_loadu_si128((const __m128i *)over64);
    __m128i x[4];
    for (int i = 0; i < 4; i++) x[i] = _mm_loadu_si128((const __m128i *)*p + i);
    x[0] = _mm_xor_si128(x[0], _mm_cvtsi64_si128((long long)crc));
    for (*p += 64; n >= 128; n -= 64, *p += 64)
        for (int i = 0; i < 4; i++)
            x[i] = _mm_xor_si128(move(x[i], k), _mm_loadu_si128((const __m128i *)*p + i));
    return join(x);
}

WIDE_PRODUCTS static __m512i move_wide(__m512i x, __m512i k, __m512i onto) {
    /* the XOR of all three operands */
    return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(x, k, 0x00),
                                     _mm512_clmulepi64_epi128(x, k, 0x11), onto, 0x96);
}

/* Continues `crc` over all whole blocks of 256 bytes in the n bytes, at least one, and moves *p
 * behind them. */
WIDE_PRODUCTS static uint64_t by_wide_products(uint64_t crc, const unsigned char **p, size_t n) {
    const __m512i k = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)over256));
    const __m512i k64 = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)over64));
    __m512i x[4];
    __m128i last[4];
    for (int i = 0; i < 4; i++) x[i] = _mm512_loadu_si512(*p + 64 * i);
    x[0] = _mm512_xor_si512(x[0], _mm512_zextsi128_si512(_mm_cvtsi64_si128((long long)crc)));
    for (*p += 256; n >= 512; n -= 256, *p += 256)
        for (int i = 0; i < 4; i++) x[i] = move_wide(x[i], k, _mm512_loadu_si512(*p + 64 * i));
    for (int i = 1; i < 4; i++) x[i] = move_wide(x[i - 1], k64, x[i]);
    _mm512_storeu_si512(last, x[3]);
    return join(last);
}

__attribute__((target("sse4.2"))) static uint32_t
by_instruction(uint64_t crc, const unsigned char *p, const unsigned char *end) {
    for (; end - p >= 8; p += 8) crc = _mm_crc32_u64(crc, word(p));
    for (; p < end; p++) crc = _mm_crc32_u8((uint32_t)crc, *p);
    return (uint32_t)crc;
}

static uint32_t by_x86(uint32_t crc, const unsigned char *p, size_t n) {
    const unsigned char *end = p + n;
    uint64_t c = crc;
    if (n >= 256 && __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx512dq"))
        c = by_wide_products(c, &p, n);
    if (end - p >= 64 && __builtin_cpu_supports("pclmul"))
        c = by_products(c, &p, (size_t)(end - p));
    return by_instruction(c, p, end);
}
#elif defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
/* arm_acle.h declares this instruction only in files that are compiled for processors that have
 * it. */
#define CRC32C(width, crc, x) __asm__(".arch_extension crc\n\tcrc32c" width : "+r"(crc) : "r"(x))

static uint32_t by_arm(uint32_t crc, const unsigned char *p, size_t n) {
    for (; n >= 8; n -= 8, p += 8) CRC32C("x %w0, %w0, %x1", crc, word(p));
    for (; n > 0; n--) CRC32C("b %w0, %w0, %w1", crc, (uint32_t)*p++);
    return crc;
}

static bool arm_has_crc(void) {
    enum { HAS_CRC32 = 1 << 7 }; /* the bit HWCAP_CRC32 in Linux */
    return getauxval(AT_HWCAP) & HAS_CRC32;
}
#endif

uint32_t dt_crc32c_more(uint32_t crc, const void *bytes, size_t n) {
    pthread_once(&once, make_tables);
#ifdef __x86_64__
    if (__builtin_cpu_supports("sse4.2")) return ~by_x86(~crc, bytes, n);
#elif defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (arm_has_crc()) return ~by_arm(~crc, bytes, n);
#endif
    return ~by_tables(~crc, bytes, n);
}

uint32_t dt_crc32c(const void *bytes, size_t n) { return dt_crc32c_more(0, bytes, n); }

uint32_t dt_crc32c_masked(const void *bytes, size_t n) {
    return dt_crc32c_mask(dt_crc32c(bytes, n));
}

uint32_t dt_crc32c_mask(uint32_t c) { return (c >> 15 | c << 17) + 0xa282ead8u; }
