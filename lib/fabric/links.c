/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's side of parameter servers: passages that wait for their link; and errors in frames.
 * See servers.h. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/passage.h"
#include "fabric/servers.h"

void dt_failure_write(dt_status *why, dt_str *more) {
    const int32_t number = (int32_t)dt_status_number(why);
    dt_str_add(more, &number, sizeof number);
    dt_str_puts(more, dt_status_text(why));
    dt_status_free(why);
}

dt_status *dt_failure_read(const char *more, int64_t n, dt_error otherwise, const char *text) {
    int32_t number = 0;
    const int64_t bytes = n - (int64_t)sizeof number;
    if (bytes >= 0) memcpy(&number, more, sizeof number);
    const dt_error error = dt_error_find(number) ? (dt_error)number : otherwise;
    return bytes > 0 ? dt_fail(error, NULL, "%.*s", (int)bytes, more + sizeof number)
                     : dt_fail(error, NULL, "%s", text);
}

static dt_status *finish(dt_passage *p, int fd, const dt_extents *e, int server, char *slices,
                         bool sends) {
    int done;
    while ((done = sends ? dt_passage_send(p, fd, e, server, slices)
                         : dt_passage_receive(p, fd, e, server, slices)) == 0)
        poll(&(struct pollfd){.fd = fd, .events = sends ? POLLOUT : POLLIN}, 1, -1);
    return done < 0
               ? dt_fail(DT_E_WORKER_GONE, NULL, "the coordinator, which has the weights, is gone")
               : NULL;
}

static dt_status *take_part(int fd, const dt_extents *slices, int server, dt_frame *m,
                            void *weights, char **more) {
    dt_passage p = {.part = -1};
    dt_status *s = finish(&p, fd, slices, server, weights, false);
    if (server == 0) {
        *m = p.head;
        *more = p.more;
        return s;
    }
    free(p.more);
    if (s || (p.head.number == m->number && p.head.version == m->version)) return s;
    return dt_fail(DT_E_WORKERS_DISAGREE, NULL,
                   "server %d sent closure %lld, version %lld, server 0 closure %lld, version %lld",
                   server, (long long)p.head.number, (long long)p.head.version,
                   (long long)m->number, (long long)m->version);
}

static dt_status *pull(dt_worker_link *l, dt_frame *m, void *weights, char **more) {
    *more = NULL;
    DT_TRY(take_part(l->fd[0], l->slices, 0, m, weights, more));
    for (int s = 1; dt_frame_has_slices(m) && s < l->slices->servers; s++)
        DT_TRY(take_part(l->fd[s], l->slices, s, m, weights, more));
    return NULL;
}

static dt_status *push(dt_worker_link *l, const dt_frame *m, const void *gradients,
                       const void *more) {
    /* only read, as the gradients */
    dt_passage p = {.head = *m, .part = -1, .more = (char *)(uintptr_t)more};
    p.head.magic = DT_FRAME_MAGIC;
    DT_TRY(finish(&p, l->fd[0], l->slices, 0, (char *)(uintptr_t)gradients, true));
    for (int s = 1; dt_frame_has_slices(m) && s < l->slices->servers; s++) {
        p = (dt_passage){.head = p.head, .part = -1};
        p.head.more = 0;
        DT_TRY(finish(&p, l->fd[s], l->slices, s, (char *)(uintptr_t)gradients, true));
    }
    return NULL;
}

/* The process that has inherited the sockets closes them by its end. */
static void close_nothing(dt_worker_link *l) { l->fd = NULL; }

dt_worker_link dt_links_join(int worker, const int *fd, const dt_extents *slices) {
    static const dt_worker_link_row row = {pull, push, close_nothing};
    return (dt_worker_link){.row = &row, .worker = worker, .fd = fd, .slices = slices};
}
