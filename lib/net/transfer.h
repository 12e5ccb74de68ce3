/* SPDX-License-Identifier: Apache-2.0 */
/* Sends and receives elements of several arrays as if they were one array. */
#ifndef DT_NET_TRANSFER_H
#define DT_NET_TRANSFER_H

#include "net/fabric.h"

/* Elements [begin, end) of all items, one after the other. */
typedef struct dt_stretch {
    int64_t begin, end;
} dt_stretch;

typedef struct dt_transfer {
    dt_member *m;
    const dt_tree_item *item; /* each of one node */
    int items;
    dt_dtype dtype;
    size_t size; /* of an element, in bytes */
    int64_t n;   /* elements of all items */
    char *packed, *scratch;
    dt_tag tag;
} dt_transfer;

/* Begins a new collective: sets size, n and the tag's number, dtype, elements, step and name.
 * SCHEDULE: the dtype cannot be summed. */
dt_status *dt_transfer_begin(dt_transfer *x, dt_collective collective) DT_MUST_USE;
/* Bytes that dt_transfer_use_room needs, of which the largest stretch that is received and added has
 * `most` elements. */
size_t dt_transfer_room(const dt_transfer *x, int64_t most);
void dt_transfer_use_room(dt_transfer *x, char *room);

/* summed: the elements are in the items' sums, not in their parts. The elements may not change until
 * dt_member_settle. */
dt_status *dt_transfer_send(dt_transfer *x, int peer, dt_stretch stretch, bool summed) DT_MUST_USE;
/* Into the items' sums. */
dt_status *dt_transfer_receive(dt_transfer *x, int peer, dt_stretch stretch) DT_MUST_USE;
/* sum = parts + received elements; summed: sum += received elements. */
dt_status *dt_transfer_add(dt_transfer *x, int peer, dt_stretch stretch, bool summed) DT_MUST_USE;

/* From an array of x->n elements that holds all items into their sums. */
void dt_transfer_unpack(const dt_transfer *x, dt_stretch stretch, const char *all);

#endif
