/* SPDX-License-Identifier: Apache-2.0 */
/* Sends and receives elements of several arrays as if they were one array. */
#ifndef DT_NET_TRANSFER_H
#define DT_NET_TRANSFER_H

#include "net/fabric.h"

/* Elements [begin, end) of all items, numbered as if the items were one array. */
typedef struct dt_stretch {
    int64_t begin, end;
} dt_stretch;

typedef struct dt_transfer {
    dt_member *m;
    /* [items] the values; their `parts` may be sent or added only if they have a single node of the
     * summation tree */
    const dt_tree_item *item;
    int items;
    dt_dtype dtype;
    size_t size; /* number of bytes of an element */
    int64_t n;   /* number of elements of all items together */
    char *packed, *scratch;
    dt_tag tag;
} dt_transfer;

/* Begins a new collective: sets `size`, `n`, and the tag's number, dtype, elements, step and name.
 * Fails with SCHEDULE if values of the dtype cannot be summed. */
dt_status *dt_transfer_begin(dt_transfer *x, dt_collective collective) DT_MUST_USE;
/* Returns how many bytes of room dt_transfer_use_room needs. most: the number of elements of the
 * largest stretch that dt_transfer_add receives. */
size_t dt_transfer_room(const dt_transfer *x, int64_t most);
void dt_transfer_use_room(dt_transfer *x, char *room);

/* Sends a stretch. summed: takes the elements from the items' sums, not from their parts. The
 * elements must not change before dt_member_settle. */
dt_status *dt_transfer_send(dt_transfer *x, int peer, dt_stretch stretch, bool summed) DT_MUST_USE;
/* Receives a stretch into the items' sums. */
dt_status *dt_transfer_receive(dt_transfer *x, int peer, dt_stretch stretch) DT_MUST_USE;
/* Receives a stretch and adds it: sum = parts + received, or sum += received if summed. */
dt_status *dt_transfer_add(dt_transfer *x, int peer, dt_stretch stretch, bool summed) DT_MUST_USE;

/* Copies a stretch of `all`, an array of x->n elements, into the items' sums. */
void dt_transfer_unpack(const dt_transfer *x, dt_stretch stretch, const char *all);

#endif
