/* SPDX-License-Identifier: Apache-2.0 */
/* A tag as it crosses the network: DT_WIRE_BYTES of fixed layout, little-endian, so that received
 * bytes can be checked before they are used. */
#ifndef DT_NET_WIRE_H
#define DT_NET_WIRE_H

#include "net/fabric.h"

enum { DT_WIRE_BYTES = 76 };

/* bytes: the size of the message that it is the tag of. */
void dt_wire_write(unsigned char out[DT_WIRE_BYTES], const dt_tag *tag, uint64_t bytes);
/* False: the bytes are not a tag. For any n bytes the result can be printed and compared. */
bool dt_wire_read(dt_tag *tag, uint64_t *bytes, const void *from, size_t n);

#endif
