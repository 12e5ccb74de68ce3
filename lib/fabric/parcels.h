/* SPDX-License-Identifier: Apache-2.0 */
/* What both sides of a link know of messages. */
#ifndef DT_FABRIC_PARCELS_H
#define DT_FABRIC_PARCELS_H

#include "fabric/servers.h"

#define DT_PARCEL_MAGIC 0x64747032u

static inline bool dt_parcel_is_sound(const dt_parcel *m) {
    return m->magic == DT_PARCEL_MAGIC && m->kind >= DT_PARCEL_WORK && m->kind <= DT_PARCEL_WANT &&
           m->more >= 0 && m->more <= DT_MOST_MORE;
}

static inline bool dt_parcel_has_slices(const dt_parcel *m) {
    return m->kind == DT_PARCEL_WORK || m->kind == DT_PARCEL_PUSH;
}

#endif
