/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and writes protocol buffers. When a message is written in place, its length precedes it but
 * is known only afterwards. So the length always takes five bytes, which is possible because a
 * varint may have leading zeros, and is filled in at the end.
 */
#include "file/protobuf.h"

#include <string.h>

enum { LENGTH_BYTES = 5 }; /* 35 bits are enough: files have less than 2 GiB */
enum { LONGEST_VARINT = 10 };
enum { DEEPEST_GROUP = 64 };

/* ---- reading ---- */

/* Reads a varint of up to ten bytes. The tenth byte has only one bit; other bits in it are dropped,
 * as protobuf's own parsers do. */
bool dt_pb_long_varint(dt_pb_span *s, uint64_t *out, const char **why) {
    *out = 0;
    for (int i = 0; i < LONGEST_VARINT && s->at < s->end; i++) {
        const unsigned char c = *s->at++;
        *out |= (uint64_t)(c & 127) << 7 * i;
        if (c < 128) return true;
    }
    if (s->at < s->end) *why = "varint too long";
    return false;
}

static bool split_span(dt_pb_span *s, uint64_t n, dt_pb_span *out) {
    if (n > (uint64_t)(s->end - s->at)) return false;
    *out = (dt_pb_span){s->at, s->at + n};
    s->at += n;
    return true;
}

static bool read_field(dt_pb_span *s, dt_pb_field *f, int depth, const char **why);

/* Reads a group up to the tag that ends it; *out: the bytes of its fields. Returns false if that
 * tag is missing or of another number, or if groups are nested deeper than DEEPEST_GROUP. */
static bool take_group(dt_pb_span *s, uint64_t number, int depth, dt_pb_span *out,
                       const char **why) {
    dt_pb_field inner;
    out->at = s->at;
    while (depth < DEEPEST_GROUP && s->at < s->end) {
        out->end = s->at;
        if (!read_field(s, &inner, depth + 1, why)) return false;
        if (inner.type == DT_PB_END_GROUP) return inner.number == number;
    }
    return false;
}

static bool read_field(dt_pb_span *s, dt_pb_field *f, int depth, const char **why) {
    uint64_t tag, n;
    if (!dt_pb_varint(s, &tag, why) || tag >> 3 == 0 || tag > UINT32_MAX) return false;
    *f = (dt_pb_field){.number = tag >> 3, .type = (dt_pb_type)(tag & 7)};
    switch (f->type) {
    case DT_PB_VARINT: return dt_pb_varint(s, &f->value, why);
    case DT_PB_FIXED64: return split_span(s, 8, &f->bytes);
    case DT_PB_BYTES: return dt_pb_varint(s, &n, why) && split_span(s, n, &f->bytes);
    case DT_PB_GROUP: return take_group(s, f->number, depth, &f->bytes, why);
    case DT_PB_END_GROUP: return depth > 0;
    case DT_PB_FIXED32: return split_span(s, 4, &f->bytes);
    default: return false;
    }
}

bool dt_pb_other_field(dt_pb_span *s, dt_pb_field *f, const char **why) {
    return read_field(s, f, 0, why);
}

/* ---- writing ---- */

void dt_pb_put_varint(dt_str *out, uint64_t x) {
    for (; x >= 128; x >>= 7) dt_str_putc(out, (char)(unsigned char)((x & 127) | 128));
    dt_str_putc(out, (char)x);
}

void dt_put_little(dt_str *out, uint64_t x, int bytes) {
    for (int i = 0; i < bytes; i++) dt_str_putc(out, (char)(unsigned char)(x >> 8 * i & 255));
}

void dt_pb_put_int(dt_str *out, int tag, int64_t x) {
    dt_pb_put_varint(out, (uint64_t)tag);
    dt_pb_put_varint(out, (uint64_t)x);
}

void dt_pb_put_double(dt_str *out, int tag, double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    dt_pb_put_varint(out, (uint64_t)tag);
    dt_put_little(out, bits, 8);
}

void dt_pb_put_bytes(dt_str *out, int tag, const void *bytes, size_t n) {
    dt_pb_put_varint(out, (uint64_t)tag);
    dt_pb_put_varint(out, n);
    dt_str_add(out, bytes, n);
}

void dt_pb_put_text(dt_str *out, int tag, const char *text) {
    dt_pb_put_bytes(out, tag, text, strlen(text));
}

void dt_pb_put_message(dt_str *out, int tag, dt_str *message) {
    dt_pb_put_bytes(out, tag, dt_str_text(message), message->size);
    dt_str_clear(message);
}

void dt_pb_move_message(dt_str *out, int tag, dt_str *message) {
    dt_pb_put_message(out, tag, message);
    dt_str_release(message);
}

size_t dt_pb_open(dt_str *out, int tag) {
    dt_pb_put_varint(out, (uint64_t)tag);
    for (int i = 0; i < LENGTH_BYTES; i++) dt_str_putc(out, 0);
    return out->size;
}

void dt_pb_close(dt_str *out, size_t mark) {
    uint64_t length = out->size - mark;
    char *at = out->data + mark - LENGTH_BYTES;
    for (int i = 0; i < LENGTH_BYTES; i++, length >>= 7)
        at[i] = (char)((length & 0x7f) | (i + 1 < LENGTH_BYTES ? 0x80 : 0));
}
