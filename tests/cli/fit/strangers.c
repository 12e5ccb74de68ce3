/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections that say nothing: strangers PORT N FILE LEAST. Keeps N of them until there is such a
 * file, for a minute at most; one that is closed is opened again. Prints "LEAST at a time" as soon
 * as that many are open together.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 900 };

static int knock(int port) {
    const struct sockaddr_in at = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&at, sizeof at) != 0 &&
        errno != EINPROGRESS) {
        close(fd);
        return -1;
    }
    return fd;
}

static int is_connected(int fd) {
    struct sockaddr_in peer;
    socklen_t n = sizeof peer;
    return getpeername(fd, (struct sockaddr *)&peer, &n) == 0;
}

int main(int argc, char **argv) {
    static struct pollfd all[MOST];
    if (argc != 5) return 64;
    const int port = atoi(argv[1]), n = atoi(argv[2]) < MOST ? atoi(argv[2]) : MOST;
    const time_t end = time(NULL) + 60;
    const int least = atoi(argv[4]);
    bool is_said = false;
    for (int i = 0; i < n; i++) all[i] = (struct pollfd){.fd = knock(port), .events = POLLIN};
    while (time(NULL) < end && access(argv[3], F_OK) != 0) {
        int open = 0;
        poll(all, (nfds_t)n, 100);
        for (int i = 0; i < n; i++) {
            char greeting[256];
            if (all[i].fd >= 0 && all[i].revents &&
                (all[i].revents & (POLLERR | POLLHUP) ||
                 read(all[i].fd, greeting, sizeof greeting) == 0)) {
                close(all[i].fd);
                all[i].fd = -1;
            }
            if (all[i].fd < 0) all[i].fd = knock(port);
            open += all[i].fd >= 0 && is_connected(all[i].fd);
        }
        if (open < least || is_said) continue;
        printf("%d at a time\n", least);
        fflush(stdout);
        is_said = true;
    }
    return 0;
}
