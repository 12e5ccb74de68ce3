/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing messages. The length of a message stands before it and is known after it, so that a length always takes five bytes (a varint may have
 * leading zeros) which are filled in at the end.
 */
#include "onnx/proto.h"

#include <string.h>

enum { LENGTH_BYTES = 5 }; /* 35 bits: files have less than 2 GiB */

static void put_varint(dt_str *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        dt_str_putc(out, (char)(value | 0x80));
    dt_str_putc(out, (char)value);
}

/* Negative numbers as the ten bytes of their complement, as int64 fields have them. */
void dt_proto_int(dt_str *out, dt_proto field, int64_t value)
{
    put_varint(out, field);
    put_varint(out, (uint64_t)value);
}

void dt_proto_bytes(dt_str *out, dt_proto field, const void *bytes, size_t n)
{
    put_varint(out, field);
    put_varint(out, n);
    dt_str_add(out, bytes, n);
}

void dt_proto_text(dt_str *out, dt_proto field, const char *text)
{
    dt_proto_bytes(out, field, text, strlen(text));
}

size_t dt_proto_open(dt_str *out, dt_proto field)
{
    put_varint(out, field);
    for (int i = 0; i < LENGTH_BYTES; i++)
        dt_str_putc(out, 0);
    return out->size;
}

void dt_proto_close(dt_str *out, size_t mark)
{
    uint64_t length = out->size - mark;
    char *at = out->data + mark - LENGTH_BYTES;
    for (int i = 0; i < LENGTH_BYTES; i++, length >>= 7)
        at[i] = (char)((length & 0x7f) | (i + 1 < LENGTH_BYTES ? 0x80 : 0));
}
