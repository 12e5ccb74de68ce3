/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of links: the rules that both ends share, sending and receiving piece by piece, and
 * reports of long waits. */
#ifndef DT_NET_FRAME_H
#define DT_NET_FRAME_H

#include "net/carrier.h"

#define DT_FRAME_MAGIC 0x64747032u

static inline bool dt_frame_is_sound(const dt_frame *m) {
    return m->magic == DT_FRAME_MAGIC && m->kind >= DT_FRAME_WORK && m->kind <= DT_FRAME_PROGRAMS &&
           m->more >= 0 && m->more <= DT_MOST_MORE;
}

static inline bool dt_frame_has_slices(const dt_frame *m) {
    return m->kind == DT_FRAME_WORK || m->kind == DT_FRAME_WORK_ALL || m->kind == DT_FRAME_PUSH;
}

/* Returns how many slices server `server` sends or receives with this message. dt_frame_bytes
 * returns the bytes of the buffer that contains the slices of all servers. */
static inline int dt_frame_slices(const dt_frame *m, const dt_byte_ranges *e, int server) {
    if (!dt_frame_has_slices(m)) return 0;
    return e->n[server] - (e->n_still && m->kind != DT_FRAME_WORK_ALL ? e->n_still[server] : 0);
}

static inline int64_t dt_frame_bytes(const dt_frame *m, const dt_byte_ranges *e) {
    if (!dt_frame_has_slices(m)) return 0;
    return e->bytes - (m->kind == DT_FRAME_WORK_ALL ? 0 : e->still_bytes);
}

/* For reports of a worker's long wait (links.c) for its coordinator, which sends nothing while it
 * validates, saves or is stopped. dt_link_say_at returns the seconds after which the first report
 * of a wait is due. dt_link_waited reports a wait that has reached *say_at seconds, and sets
 * *say_at to twice the wait. */
double dt_link_say_at(const dt_worker_link *l);
void dt_link_waited(const dt_worker_link *l, double waited_s, double *say_at);

/* A frame that is being sent or received on a non-blocking link. */
typedef struct dt_frame_io {
    dt_frame head;
    /* which part is in progress: -1: the head; 0 to n - 1: a slice; n: the `more` bytes */
    int part;
    int64_t done; /* number of bytes of this part that were sent or received */
    /* The `more` bytes. The caller sets them for sending; for receiving they are allocated when the
     * head has arrived. */
    char *more;
} dt_frame_io;

/* Send or receive as many bytes as the socket accepts or has. Return 1: the frame is complete; 0:
 * call again later; -1: the frame cannot be completed. slices: the memory that holds the slices at
 * their offsets. */
int dt_frame_send(dt_frame_io *p, int fd, const dt_byte_ranges *e, int server, const char *slices);
int dt_frame_receive(dt_frame_io *p, int fd, const dt_byte_ranges *e, int server, char *slices);

#endif
