/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maker: pieces of binary files, from standard input to standard output.
 *
 *     maker frame             a TFRecord: length, its checksum, the bytes, theirs
 *     maker frame length      the same with a wrong checksum of the length; maker frame data: of
 *                             the bytes
 *     maker claim N           the head of a TFRecord of N bytes, the checksum being right, and
 *                             nothing behind it
 *     maker field N           field N of a protobuf message: tag, length, the bytes
 *     maker flip N            the bytes with bit N flipped
 *     maker sized             their number as eight bytes, and the bytes
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char body[1 << 24];

/* CRC32C, bit by bit, masked as TFRecords have it. */
static uint32_t masked(const unsigned char *s, size_t n) {
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < n; i++) {
        crc ^= s[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (0x82f63b78u & -(crc & 1));
    }
    crc = ~crc;
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

/* Least byte first. */
static void put(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) putchar((int)(value >> 8 * i & 0xff));
}

static void put_head(uint64_t length, uint32_t wrong) {
    unsigned char text[8];
    for (int i = 0; i < 8; i++) text[i] = (unsigned char)(length >> 8 * i);
    put(length, 8);
    put(masked(text, 8) ^ wrong, 4);
}

static void put_varint(uint64_t value) {
    for (; value > 127; value >>= 7) putchar((int)(value & 127) | 128);
    putchar((int)value);
}

int main(int argc, char **argv) {
    const char *verb = argc > 1 ? argv[1] : "", *what = argc > 2 ? argv[2] : "";
    uint64_t number = strtoull(what, NULL, 10);
    size_t n = strcmp(verb, "claim") == 0 ? 0 : fread(body, 1, sizeof body, stdin);

    if (strcmp(verb, "frame") == 0) {
        put_head(n, strcmp(what, "length") == 0);
        fwrite(body, 1, n, stdout);
        put(masked(body, n) ^ (strcmp(what, "data") == 0), 4);
    } else if (strcmp(verb, "claim") == 0) {
        put_head(number, 0);
    } else if (strcmp(verb, "field") == 0) {
        put_varint(number << 3 | 2);
        put_varint(n);
        fwrite(body, 1, n, stdout);
    } else if (strcmp(verb, "sized") == 0) {
        put(n, 8);
        fwrite(body, 1, n, stdout);
    } else if (strcmp(verb, "flip") == 0 && number / 8 < n) {
        body[number / 8] ^= (unsigned char)(1 << number % 8);
        fwrite(body, 1, n, stdout);
    } else {
        return 64;
    }
    return ferror(stdout) || fflush(stdout) ? 74 : 0;
}
