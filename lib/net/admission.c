/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See admission.h. ZeroMQ cannot stop listening: zmq_unbind ends accepted connections, too. So the
 * kernel is asked to drop every packet that arrives at the listening socket. A process that
 * connects meanwhile is not refused: it retries, and is accepted once others are admitted again.
 */
#include "net/admission.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* Limits on strangers, the connections that have not yet proved to be peers: 1 / SHARE of the
 * process's descriptors, but at least LEAST and at most MOST. QUEUE is the longest listen queue. */
enum { MOST = 512, LEAST = 16, SHARE = 2, QUEUE = 100 };

static int most_strangers(void) {
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur / SHARE > MOST) return MOST;
    return files.rlim_cur / SHARE < LEAST ? LEAST : (int)(files.rlim_cur / SHARE);
}

static void keep_descriptors(dt_admission *d) {
    while (d->reserved < DT_ADMISSION_RESERVE) {
        const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        /* too many files are open; the next function that opens one reports that */
        if (fd < 0) return;
        d->reserve[d->reserved++] = fd;
    }
}

static void free_descriptors(dt_admission *d) {
    while (d->reserved > 0) close(d->reserve[--d->reserved]);
}

void dt_admission_init(dt_admission *d) {
    *d = (dt_admission){.fd = -1, .most = most_strangers()};
    d->queue = d->most / 4 < QUEUE ? d->most / 4 : QUEUE;
    keep_descriptors(d);
}

void dt_admission_release(dt_admission *d) {
    free_descriptors(d);
    d->fd = -1;
}

/* Makes the kernel drop all packets to the listening socket, or pass them again. Returns false if
 * the kernel does not support such filters; then only the handshake timeout limits connections. */
static bool set_filter(int fd, bool drops) {
    struct sock_filter nothing = {.code = BPF_RET | BPF_K, .k = 0};
    const struct sock_fprog program = {.len = 1, .filter = &nothing};
    const int unused = 0;
    return drops ? setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0
                 : setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof unused) == 0;
}

void dt_admission_update(dt_admission *d, int strangers) {
    /* Once shut, reopen only when half of the strangers have left, so that the filter does not
     * change with every connection. */
    const bool many = strangers >= (d->is_shut ? d->most / 2 : d->most),
               shut = d->stays_shut || many;
    if (d->fd < 0 || shut == d->is_shut || !set_filter(d->fd, shut)) return;
    d->is_shut = shut;
    if (shut) free_descriptors(d);
    else keep_descriptors(d);
}
