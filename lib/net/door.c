/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See door.h. ZeroMQ cannot stop listening: zmq_unbind ends the connections that were accepted,
 * too. So the kernel is asked to drop every packet that arrives at the listening socket. A process
 * that connects meanwhile is not refused: it retries, and is accepted when the door is open again.
 */
#include "net/door.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* strangers: half of the descriptors, within these */
enum { MOST = 512, LEAST = 16, SHARE = 2, QUEUE = 100 };

static int most_strangers(void) {
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur / SHARE > MOST) return MOST;
    return files.rlim_cur / SHARE < LEAST ? LEAST : (int)(files.rlim_cur / SHARE);
}

static void keep_descriptors(dt_door *d) {
    while (d->reserved < DT_DOOR_RESERVE) {
        const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (fd < 0) return; /* the next file that is opened reports it */
        d->reserve[d->reserved++] = fd;
    }
}

static void free_descriptors(dt_door *d) {
    while (d->reserved > 0) close(d->reserve[--d->reserved]);
}

void dt_door_init(dt_door *d) {
    *d = (dt_door){.fd = -1, .most = most_strangers()};
    d->queue = d->most / 4 < QUEUE ? d->most / 4 : QUEUE;
    keep_descriptors(d);
}

void dt_door_release(dt_door *d) {
    free_descriptors(d);
    d->fd = -1;
}

/* A kernel without such filters leaves it as it was; then the time of a handshake is the only
 * limit. */
static bool set_filter(int fd, bool drops) {
    struct sock_filter nothing = {.code = BPF_RET | BPF_K, .k = 0};
    const struct sock_fprog program = {.len = 1, .filter = &nothing};
    const int unused = 0;
    return drops ? setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0
                 : setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof unused) == 0;
}

void dt_door_mind(dt_door *d, int strangers) {
    /* It opens again when half of them have left, not for each that leaves. */
    const bool many = strangers >= (d->is_shut ? d->most / 2 : d->most),
               shut = d->stays_shut || many;
    if (d->fd < 0 || shut == d->is_shut || !set_filter(d->fd, shut)) return;
    d->is_shut = shut;
    if (shut) free_descriptors(d);
    else keep_descriptors(d);
}
