/* SPDX-License-Identifier: Apache-2.0 */
/* See repair.h. */
#include "repair.h"

#include <string.h>
#include <zlib.h>

#include "base/hash.h"
#include "file/records.h"

static uint32_t little(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void put_little(uint8_t *p, uint32_t x) {
    for (int i = 0; i < 4; i++) p[i] = (uint8_t)(x >> 8 * i);
}

static void put_big(uint8_t *p, uint32_t x) {
    for (int i = 0; i < 4; i++) p[i] = (uint8_t)(x >> (24 - 8 * i));
}

/* Lengths that reach too far stay: the reader must find them. */
void repair_tfrecord(uint8_t *data, size_t size) {
    size_t frame = DT_TFRECORD_HEADER + DT_TFRECORD_FOOTER;
    for (size_t at = 0; size - at >= frame;) {
        uint8_t *p = data + at;
        uint32_t length = little(p);
        put_little(p + 8, dt_crc32c_masked(p, 8));
        if (little(p + 4) != 0 || length > size - at - frame) return;
        put_little(p + DT_TFRECORD_HEADER + length,
                   dt_crc32c_masked(p + DT_TFRECORD_HEADER, length));
        at += frame + length;
    }
}

void repair_records(uint8_t *data, size_t size) {
    if (size > 0 && data[0] % 4 == 0) repair_tfrecord(data + 1, size - 1);
}

/* Signature, then chunks: length, type, data, CRC of type and data. */
static void repair_png(uint8_t *data, size_t size) {
    enum { SIGNATURE = 8, FRAME = 12 };
    for (size_t at = SIGNATURE; at <= size && size - at >= FRAME;) {
        uint8_t *p = data + at;
        uint32_t length = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
        if (length > size - at - FRAME) return;
        put_big(p + 8 + length, (uint32_t)crc32(0, p + 4, length + 4));
        at += FRAME + length;
    }
}

void repair_picture(uint8_t *data, size_t size) {
    if (size > 0) repair_png(data + 1, size - 1);
}

/* ---- state.json ---- */

void repair_state(uint8_t *data, size_t size) {
    static const char key[] = ", \"sha256\": \"";
    for (size_t at = size; at-- > 0;)
        if (size - at >= sizeof key - 1 + 64 && memcmp(data + at, key, sizeof key - 1) == 0) {
            memcpy(data + at + sizeof key - 1, dt_sha256_of(data, at).hex, 64);
            return;
        }
}

/* ---- ZIP ---- */

enum { LOCAL_SIZE = 30, ENTRY_SIZE = 46, STORED = 0, DEFLATED = 8, MOST_UNPACKED = 1 << 16 };

/* The CRC of what unpacks from there; *size: how much. False: it does not. */
static bool unpacked_crc(const uint8_t *data, size_t n, uint32_t *crc, uint32_t *size) {
    static uint8_t out[MOST_UNPACKED];
    z_stream z = {.next_in = (Bytef *)(uintptr_t)data,
                  .avail_in = (uInt)n,
                  .next_out = out,
                  .avail_out = sizeof out};
    if (inflateInit2(&z, -15) != Z_OK) return false;
    bool ok = inflate(&z, Z_FINISH) == Z_STREAM_END;
    *crc = (uint32_t)crc32(0, out, (uInt)z.total_out);
    *size = (uint32_t)z.total_out;
    inflateEnd(&z);
    return ok;
}

static void repair_member(uint8_t *data, size_t size, uint8_t *entry) {
    uint32_t crc, unpacked = little(entry + 24), packed = little(entry + 20),
                  header = little(entry + 42);
    if (header > size || size - header < LOCAL_SIZE) return;
    uint8_t *local = data + header;
    size_t begin = header + LOCAL_SIZE + (size_t)(local[26] | local[27] << 8) +
                   (size_t)(local[28] | local[29] << 8);
    if (begin > size || packed > size - begin) return;
    if (entry[10] == STORED) crc = (uint32_t)crc32(0, data + begin, packed);
    else if (entry[10] != DEFLATED || !unpacked_crc(data + begin, packed, &crc, &unpacked)) return;
    put_little(entry + 16, crc);
    put_little(entry + 24, unpacked);
    memmove(local + 14, entry + 16, 12); /* in what is no archive they may lie in one another */
}

void repair_zip(uint8_t *data, size_t size) {
    for (size_t at = 0; size >= ENTRY_SIZE && at <= size - ENTRY_SIZE; at++)
        if (memcmp(data + at, "PK\1\2", 4) == 0) repair_member(data, size, data + at);
}

void repair_any(uint8_t *data, size_t size) {
    repair_zip(data, size);
    if (size > 0 && data[0] < 128) repair_tfrecord(data, size);
}
