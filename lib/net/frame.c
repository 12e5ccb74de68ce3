/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what frame.h declares. Also the reference-counted copies of the weights
 * (dt_shared). */
#include "net/frame.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/arena.h"

dt_status *dt_shared_new(dt_shared **out, int64_t bytes) {
    *out = dt_try_alloc(sizeof(dt_shared) + (size_t)bytes);
    if (!*out)
        return dt_fail(DT_E_NO_MEMORY, NULL, "out of memory for a copy of the weights (%lld bytes)",
                       (long long)bytes);
    atomic_init(&(*out)->refs, 1);
    return NULL;
}

dt_shared *dt_shared_ref(dt_shared *s) {
    atomic_fetch_add(&s->refs, 1);
    return s;
}

void dt_shared_unref(dt_shared *s) {
    if (s && atomic_fetch_sub(&s->refs, 1) == 1) free(s);
}

/* The part of a frame that is being sent or received: its address and number of bytes. */
typedef struct part {
    char *at;
    int64_t bytes;
} part;

static part part_of(dt_frame_io *p, const dt_byte_ranges *e, int server, char *slices) {
    if (p->part < 0) return (part){(char *)&p->head, (int64_t)sizeof p->head};
    if (p->part < dt_frame_slices(&p->head, e, server))
        return (part){slices + e->slice[server][p->part].offset, e->slice[server][p->part].bytes};
    return (part){p->more, p->head.more};
}

static bool is_whole(const dt_frame_io *p, const dt_byte_ranges *e, int server) {
    return p->part > dt_frame_slices(&p->head, e, server);
}

static void go_on(dt_frame_io *p) {
    p->part++;
    p->done = 0;
}

/* Interprets the result of a system call. Returns 1 if bytes were moved or a signal interrupted the
 * call, 0 to try again later, -1 if the link is closed or has failed. */
static int outcome(dt_frame_io *p, ssize_t n) {
    if (n < 0 && errno != EINTR) return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -1;
    p->done += n > 0 ? n : 0;
    return 1;
}

int dt_frame_send(dt_frame_io *p, int fd, const dt_byte_ranges *e, int server, const char *slices) {
    for (; !is_whole(p, e, server); go_on(p)) {
        /* The cast drops const, but sending only reads through the pointer. */
        const part x = part_of(p, e, server, (char *)(uintptr_t)slices);
        while (p->done < x.bytes) {
            const int moved = outcome(p, send(fd, x.at + p->done, (size_t)(x.bytes - p->done),
                                              MSG_NOSIGNAL | MSG_DONTWAIT));
            if (moved <= 0) return moved;
        }
    }
    return 1;
}

/* Checks the head that has been received, and allocates memory for the `more` bytes. Returns false
 * if the head is invalid. slices NULL: a frame with slices is invalid, because the worker was given
 * no work, or there is no memory for slices. */
static bool take_head(dt_frame_io *p, const char *slices) {
    if (!dt_frame_is_sound(&p->head) || (dt_frame_has_slices(&p->head) && !slices)) return false;
    p->more = dt_alloc((size_t)p->head.more + 1);
    return true;
}

int dt_frame_receive(dt_frame_io *p, int fd, const dt_byte_ranges *e, int server, char *slices) {
    for (; !is_whole(p, e, server); go_on(p)) {
        const part x = part_of(p, e, server, slices);
        while (p->done < x.bytes) {
            const ssize_t n = recv(fd, x.at + p->done, (size_t)(x.bytes - p->done), MSG_DONTWAIT);
            const int moved = n == 0 ? -1 : outcome(p, n);
            if (moved <= 0) return moved;
        }
        if (p->part < 0 && !take_head(p, slices)) return -1;
    }
    return 1;
}
