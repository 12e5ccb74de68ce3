/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's end of the parameter server's links: blocking sends and receives of frames. Also
 * writes errors as bytes of a frame, and reads them. See servers.h. */
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/frame.h"
#include "net/servers.h"

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

enum { LOOK_MS = 1000, REPORT_S = 5, TIMES = 3 };

double dt_link_say_at(const dt_worker_link *l) { return fmax(REPORT_S, TIMES * l->longest_s); }

/* Reports a long wait. Workers that were started separately are numbered from 1 in such reports,
 * like the ranks of their processes. */
void dt_link_waited(const dt_worker_link *l, double waited_s, double *say_at) {
    dt_local_str line = {0};
    if (!l->wait.say || l->worker < 0 || waited_s < *say_at) return;
    *say_at = 2 * waited_s;
    dt_str_printf(&line, "worker %d has waited %.0f s for the coordinator",
                  l->worker + (l->address != NULL), waited_s);
    if (l->address) dt_str_printf(&line, " at %s", l->address);
    dt_str_puts(&line, ", which validates, saves or is stopped");
    if (l->silence_s > 0)
        dt_str_printf(&line, "; it counts as lost after %g s of silence (twice strategy.timeout)",
                      l->silence_s);
    l->wait.say(l->wait.user, dt_str_text(&line));
}

static dt_status *gone(void) {
    return dt_fail(DT_E_WORKER_GONE, NULL, "the coordinator, which has the weights, is gone");
}

/* Whether the links are closed because the coordinator ends its workers, as opposed to having died.
 * In the first case the coordinator still lives, waits for its workers to end, and reports errors
 * itself. The kernel closes the links of a killed coordinator a moment before its children get
 * another parent, so this keeps checking for 0.2 s. False if the coordinator's process id is
 * unknown. */
static bool is_ended(const dt_worker_link *l) {
    enum { LOOKS = 50, LOOK_NS = 4000000 };
    for (int i = 0; l->coordinator && i < LOOKS; i++) {
        if (getppid() != l->coordinator) return false;
        nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
    }
    return l->coordinator != 0;
}

/* Frees the error and returns NULL if the coordinator ends its workers (is_ended), since it reports
 * errors itself. Else returns the error. */
static dt_status *unless_ended(const dt_worker_link *l, dt_status *s) {
    if (!s || dt_status_number(s) != DT_E_WORKER_GONE || !is_ended(l)) return s;
    dt_status_free(s);
    return NULL;
}

static dt_status *finish_sending(const dt_worker_link *l, dt_frame_io *p, int server,
                                 char *slices) {
    const int fd = l->fd[server];
    int done;
    while ((done = dt_frame_send(p, fd, l->slices, server, slices)) == 0)
        poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
    return done < 0 ? gone() : NULL;
}

static dt_status *finish_receiving(dt_worker_link *l, dt_frame_io *p, int server, char *slices) {
    const int fd = l->fd[server];
    const int64_t since = dt_now_ns();
    double say_at = dt_link_say_at(l);
    int done;
    while ((done = dt_frame_receive(p, fd, l->slices, server, slices)) == 0)
        if (poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, LOOK_MS) == 0)
            dt_link_waited(l, dt_seconds_since(since), &say_at);
    l->longest_s = fmax(l->longest_s, dt_seconds_since(since));
    return done < 0 ? gone() : NULL;
}

static dt_status *take_part(dt_worker_link *l, int server, dt_frame *m, void *weights,
                            char **more) {
    dt_frame_io p = {.part = -1};
    dt_status *s = finish_receiving(l, &p, server, weights);
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

static dt_status *receive(dt_worker_link *l, dt_frame *m, void *weights, char **more) {
    DT_TRY(take_part(l, 0, m, weights, more));
    for (int s = 1; dt_frame_has_slices(m) && s < l->slices->servers; s++)
        DT_TRY(take_part(l, s, m, weights, more));
    return NULL;
}

static dt_status *pull(dt_worker_link *l, dt_frame *m, void *weights, char **more) {
    *more = NULL;
    dt_status *s = receive(l, m, weights, more);
    if (!s) return NULL;
    *m = (dt_frame){.magic = DT_FRAME_MAGIC, .kind = DT_FRAME_END};
    return unless_ended(l, s);
}

static dt_status *send_all(const dt_worker_link *l, const dt_frame *m, const void *gradients,
                           const void *more) {
    /* The cast drops const, but `more` and the gradients are only read. */
    dt_frame_io p = {.head = *m, .part = -1, .more = (char *)(uintptr_t)more};
    p.head.magic = DT_FRAME_MAGIC;
    DT_TRY(finish_sending(l, &p, 0, (char *)(uintptr_t)gradients));
    for (int s = 1; dt_frame_has_slices(m) && s < l->slices->servers; s++) {
        p = (dt_frame_io){.head = p.head, .part = -1};
        p.head.more = 0;
        DT_TRY(finish_sending(l, &p, s, (char *)(uintptr_t)gradients));
    }
    return NULL;
}

/* Sends a frame. If the coordinator ends its workers, push succeeds, and the next pull returns
 * END. */
static dt_status *push(dt_worker_link *l, const dt_frame *m, const void *gradients,
                       const void *more) {
    return unless_ended(l, send_all(l, m, gradients, more));
}

/* Closes nothing: the sockets are closed when the process that inherited them exits. */
static void close_nothing(dt_worker_link *l) { l->fd = NULL; }

dt_worker_link dt_links_join(int worker, const int *fd, const dt_byte_ranges *slices) {
    static const dt_worker_link_row row = {pull, push, close_nothing};
    return (dt_worker_link){.row = &row, .worker = worker, .fd = fd, .slices = slices};
}
