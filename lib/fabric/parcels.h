/* SPDX-License-Identifier: Apache-2.0 */
/* What both sides of a link know of messages. */
#ifndef DT_FABRIC_PARCELS_H
#define DT_FABRIC_PARCELS_H

#include "fabric/servers.h"

#define DT_PARCEL_MAGIC 0x64747032u

static inline bool dt_parcel_is_sound(const dt_parcel *m) {
    return m->magic == DT_PARCEL_MAGIC && m->kind >= DT_PARCEL_WORK &&
           m->kind <= DT_PARCEL_WORK_ALL && m->more >= 0 && m->more <= DT_MOST_MORE;
}

static inline bool dt_parcel_has_slices(const dt_parcel *m) {
    return m->kind == DT_PARCEL_WORK || m->kind == DT_PARCEL_WORK_ALL || m->kind == DT_PARCEL_PUSH;
}

/* Slices that a server sends or receives with the message, and bytes of all servers' slices. */
static inline int dt_parcel_slices(const dt_parcel *m, const dt_extents *e, int server) {
    if (!dt_parcel_has_slices(m)) return 0;
    return e->n[server] - (e->n_still && m->kind != DT_PARCEL_WORK_ALL ? e->n_still[server] : 0);
}

static inline int64_t dt_parcel_bytes(const dt_parcel *m, const dt_extents *e) {
    if (!dt_parcel_has_slices(m)) return 0;
    return e->bytes - (m->kind == DT_PARCEL_WORK_ALL ? 0 : e->still_bytes);
}

#endif
