/* SPDX-License-Identifier: Apache-2.0 */
/* The encoding of a tag on the network: DT_WIRE_BYTES bytes of fixed layout, little-endian, so
 * that received bytes can be checked before they are used. */
#ifndef DT_NET_WIRE_H
#define DT_NET_WIRE_H

#include "net/fabric.h"

enum { DT_WIRE_BYTES = 76 };

/* Encodes a tag. bytes: the number of bytes of the message that it belongs to. */
void dt_wire_write(unsigned char out[DT_WIRE_BYTES], const dt_tag *tag, uint64_t bytes);
/* Decodes a tag. Returns false if the n bytes are not a tag. A tag that was decoded is safe to
 * print and compare, whatever the bytes were. */
bool dt_wire_read(dt_tag *tag, uint64_t *bytes, const void *from, size_t n);

#endif
