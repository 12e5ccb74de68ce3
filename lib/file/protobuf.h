/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and writes protocol buffers. A message is a sequence of fields. A field is a tag, which
 * consists of the field's number and wire type, and a value. Integers are varints: base 128, low
 * digits first; the highest bit of a byte is set if more bytes follow.
 *
 * There is no generated code: the messages here have few fields with fixed numbers, and generated
 * structs would copy all weights. Input is not trusted: lengths are checked before they are used,
 * and reading allocates nothing.
 */
#ifndef DT_FILE_PROTOBUF_H
#define DT_FILE_PROTOBUF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

typedef enum dt_pb_type {
    DT_PB_VARINT,
    DT_PB_FIXED64,
    DT_PB_BYTES,
    DT_PB_GROUP,
    DT_PB_END_GROUP,
    DT_PB_FIXED32
} dt_pb_type;
/* The tag of field `number`. */
#define DT_PB_TAG(number, type) ((number) << 3 | (type))

/* ---- reading ---- */

typedef struct dt_pb_span {
    const unsigned char *at, *end;
} dt_pb_span;

typedef struct dt_pb_field {
    uint64_t number;
    dt_pb_type type;
    uint64_t value;   /* the integer, if the wire type is DT_PB_VARINT */
    dt_pb_span bytes; /* for all other types: the bytes of the value; for a group, of its fields */
} dt_pb_field;

/*
 * dt_pb_varint reads a varint and dt_pb_next a field from the front of s, which must not be empty
 * for dt_pb_next. If they return false, *why is "varint too long" or unchanged. They handle the
 * common cases inline. For others they pass copies to the functions below, so that the caller's
 * variables, whose addresses are then not taken, stay in registers.
 */
bool dt_pb_long_varint(dt_pb_span *s, uint64_t *out, const char **why);
bool dt_pb_other_field(dt_pb_span *s, dt_pb_field *f, const char **why);

static inline bool dt_pb_varint(dt_pb_span *s, uint64_t *out, const char **why) {
    const unsigned char *p = s->at;
    if (s->end - p >= 2 && (p[0] & p[1]) < 128) { /* the common case of one or two bytes */
        const bool two = p[0] >= 128;
        *out = two ? (uint64_t)(p[0] & 127) | (uint64_t)p[1] << 7 : p[0];
        s->at = p + 1 + two;
        return true;
    }
    dt_pb_span rest = *s;
    uint64_t x;
    const bool ok = dt_pb_long_varint(&rest, &x, why);
    s->at = rest.at;
    *out = x;
    return ok;
}

static inline bool dt_pb_next(dt_pb_span *s, dt_pb_field *f, const char **why) {
    const unsigned tag = *s->at;
    dt_pb_span rest = {s->at + 1, s->end};
    uint64_t n;
    if (tag < 128 && tag >> 3 > 0 && (tag & 7) == DT_PB_BYTES && dt_pb_varint(&rest, &n, why) &&
        n <= (uint64_t)(rest.end - rest.at)) {
        f->number = tag >> 3;
        f->type = DT_PB_BYTES;
        f->bytes.at = rest.at;
        f->bytes.end = s->at = rest.at + n;
        return true;
    }
    dt_pb_span whole = *s;
    dt_pb_field other;
    const bool ok = dt_pb_other_field(&whole, &other, why);
    s->at = whole.at;
    *f = other;
    return ok;
}

/* ---- writing ---- */

/* Appends a varint without a tag, as packed lists require. */
void dt_pb_put_varint(dt_str *out, uint64_t x);
/* A negative number takes ten bytes, those of its two's complement, as in fields of type int64. */
void dt_pb_put_int(dt_str *out, int tag, int64_t x);
void dt_pb_put_double(dt_str *out, int tag, double x);
void dt_pb_put_bytes(dt_str *out, int tag, const void *bytes, size_t n);
void dt_pb_put_text(dt_str *out, int tag, const char *text);
/* Adds a message as a field, and empties it. dt_pb_put_message keeps the message's memory for
 * reuse; dt_pb_move_message frees it. */
void dt_pb_put_message(dt_str *out, int tag, dt_str *message);
void dt_pb_move_message(dt_str *out, int tag, dt_str *message);
/* Begin and end a message that is written in place; dt_pb_close takes the mark that dt_pb_open
 * returned. */
size_t dt_pb_open(dt_str *out, int tag);
void dt_pb_close(dt_str *out, size_t mark);

/* Appends the lowest `bytes` bytes of x, lowest first. */
void dt_put_little(dt_str *out, uint64_t x, int bytes);

#endif
