/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's side of parameter servers: see servers.h. */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/arena.h"
#include "fabric/parcels.h"
#include "fabric/servers.h"

static dt_status *gone(void)
{
    return dt_fail(DT_E_WORKER_GONE, NULL, "the coordinator, which has the weights, is gone");
}

static dt_status *take(int fd, void *to, int64_t n)
{
    for (int64_t done = 0; done < n;) {
        const ssize_t got = recv(fd, (char *)to + done, (size_t)(n - done), 0);
        if (got == 0 || (got < 0 && errno != EINTR))
            return gone();
        done += got > 0 ? got : 0;
    }
    return NULL;
}

static dt_status *put(int fd, const void *from, int64_t n)
{
    for (int64_t done = 0; done < n;) {
        const ssize_t sent = send(fd, (const char *)from + done, (size_t)(n - done), MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR)
            return gone();
        done += sent > 0 ? sent : 0;
    }
    return NULL;
}

static dt_status *take_part(int fd, const dt_extents *slices, int server, dt_parcel *m, void *weights)
{
    DT_TRY(take(fd, m, sizeof *m));
    if (!dt_parcel_is_sound(m))
        return dt_fail(DT_E_WORKERS_DISAGREE, NULL, "the coordinator sent an invalid message");
    for (int i = 0; dt_parcel_has_slices(m) && i < slices->n[server]; i++)
        DT_TRY(take(fd, (char *)weights + slices->slice[server][i].offset, slices->slice[server][i].bytes));
    return NULL;
}

dt_status *dt_link_pull(const int *link, const dt_extents *slices, dt_parcel *m, void *weights, char **more)
{
    *more = NULL;
    DT_TRY(take_part(link[0], slices, 0, m, weights));
    *more = dt_alloc((size_t)m->more + 1);
    DT_TRY(take(link[0], *more, m->more));
    for (int s = 1; dt_parcel_has_slices(m) && s < slices->servers; s++) {
        dt_parcel part;
        DT_TRY(take_part(link[s], slices, s, &part, weights));
        if (part.number != m->number || part.version != m->version)
            return dt_fail(DT_E_WORKERS_DISAGREE, NULL, "server %d sent closure %lld, version %lld, server 0 closure %lld, version %lld", s, (long long)part.number,
                           (long long)part.version, (long long)m->number, (long long)m->version);
    }
    return NULL;
}

static dt_status *put_part(int fd, const dt_extents *slices, int server, const dt_parcel *m, const void *gradients)
{
    DT_TRY(put(fd, m, sizeof *m));
    for (int i = 0; dt_parcel_has_slices(m) && i < slices->n[server]; i++)
        DT_TRY(put(fd, (const char *)gradients + slices->slice[server][i].offset, slices->slice[server][i].bytes));
    return NULL;
}

dt_status *dt_link_push(const int *link, const dt_extents *slices, const dt_parcel *m, const void *gradients, const void *more)
{
    dt_parcel head = *m;
    head.magic = DT_PARCEL_MAGIC;
    DT_TRY(put_part(link[0], slices, 0, &head, gradients));
    DT_TRY(put(link[0], more, head.more));
    head.more = 0;
    for (int s = 1; dt_parcel_has_slices(m) && s < slices->servers; s++)
        DT_TRY(put_part(link[s], slices, s, &head, gradients));
    return NULL;
}
