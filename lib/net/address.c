/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what address.h declares. */
#define _GNU_SOURCE
#include "net/address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/str.h"

enum { PORTS = 65535 };

static dt_status *no_address(const char *text) {
    return dt_suggest(dt_fail(DT_E_MESSAGES, NULL, "'%.100s' is not an address", text),
                      "write HOST:PORT, or [ADDRESS]:PORT for IPv6, with a port from 0 to %d",
                      PORTS);
}

dt_status *dt_address_read(dt_address *out, const char *text) {
    const bool bracket = text[0] == '[';
    const char *end = bracket ? strchr(text, ']') : strrchr(text, ':'),
               *colon = bracket && end ? end + 1 : end;
    const char *host = text + bracket;
    int64_t port = -1;
    *out = (dt_address){.port = 0};
    if (!end || end == host || end - host >= DT_ADDRESS_MOST || *colon != ':' ||
        !dt_parse_int64(colon + 1, &port) || port < 0 || port > PORTS)
        return no_address(text);
    memcpy(out->host, host, (size_t)(end - host));
    if (!bracket && strchr(out->host, ':')) return no_address(text);
    for (const char *c = out->host; *c; c++)
        if ((unsigned char)*c <= ' ' || (unsigned char)*c > '~' || strchr("[]/;,", *c))
            return no_address(text);
    out->port = (int)port;
    return NULL;
}

static bool is_loopback(const struct sockaddr *a) {
    if (a->sa_family == AF_INET)
        return (ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >> 24) == 127;
    const struct in6_addr *six = &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(six) || (IN6_IS_ADDR_V4MAPPED(six) && six->s6_addr[12] == 127);
}

static bool is_of_link(const struct sockaddr *a) {
    return a->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
}

static socklen_t size_of(const struct sockaddr *a) {
    return a->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

static void add_interface(dt_address *a, const struct sockaddr *from, bool *loopback) {
    getnameinfo(from, size_of(from), a->host, sizeof a->host, NULL, 0, NI_NUMERICHOST);
    *loopback = is_loopback(from);
}

/* Sets the address to the first IPv4 address of the interface a->host or, without one, to its first
 * IPv6 address that is not link-local, and *loopback to whether it is a loopback address. Returns
 * false if this machine has no such interface or address. */
static bool find_interface(dt_address *a, bool *loopback) {
    struct ifaddrs *all = NULL;
    const struct sockaddr *found = NULL;
    if (getifaddrs(&all) != 0) return false;
    for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
        const struct sockaddr *one = i->ifa_addr;
        if (!one || strcmp(i->ifa_name, a->host) != 0 ||
            (one->sa_family != AF_INET && one->sa_family != AF_INET6) || is_of_link(one))
            continue;
        if (!found || (found->sa_family == AF_INET6 && one->sa_family == AF_INET)) found = one;
    }
    if (found) add_interface(a, found, loopback);
    freeifaddrs(all);
    return found != NULL;
}

/* Looks up the host name. Sets *best to its first IPv4 address or, without one, to its first
 * address. The caller frees *all, which *best is part of. */
static dt_status *look_up(const dt_address *a, struct addrinfo **all,
                          const struct addrinfo **best) {
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM};
    char port[8];
    snprintf(port, sizeof port, "%d", a->port ? a->port : 1);
    const int bad = getaddrinfo(a->host, port, &hints, all);
    if (bad)
        return dt_fail(DT_E_MESSAGES, NULL, "cannot find the address of '%s': %s", a->host,
                       gai_strerror(bad));
    for (*best = *all; (*best)->ai_family != AF_INET && (*best)->ai_next;) *best = (*best)->ai_next;
    if ((*best)->ai_family != AF_INET) *best = *all;
    return NULL;
}

dt_status *dt_address_resolve(dt_address *a, bool here, bool *loopback) {
    struct addrinfo *all = NULL;
    const struct addrinfo *best = NULL;
    *loopback = false;
    if (here && (strcmp(a->host, "*") == 0 || find_interface(a, loopback))) return NULL;
    DT_TRY(look_up(a, &all, &best));
    add_interface(a, best->ai_addr, loopback);
    freeaddrinfo(all);
    return NULL;
}

/* Finds the local address by connecting a datagram socket, which sends nothing: the kernel then
 * reports the address from which packets to the other machine would come. */
dt_status *dt_address_toward(const dt_address *to, char *host) {
    struct addrinfo *all = NULL;
    const struct addrinfo *best = NULL;
    struct sockaddr_storage own = {0};
    socklen_t size = sizeof own;
    DT_TRY(look_up(to, &all, &best));
    const int fd = socket(best->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const bool good = fd >= 0 && connect(fd, best->ai_addr, best->ai_addrlen) == 0 &&
                      getsockname(fd, (struct sockaddr *)&own, &size) == 0 &&
                      getnameinfo((const struct sockaddr *)&own, size, host, DT_ADDRESS_MOST, NULL,
                                  0, NI_NUMERICHOST) == 0;
    if (fd >= 0) close(fd);
    freeaddrinfo(all);
    return good ? NULL
                : dt_fail(DT_E_MESSAGES, NULL, "there is no way to %s from this machine", to->host);
}

void dt_address_text(const dt_address *a, char *text) {
    const bool six = strchr(a->host, ':') != NULL;
    snprintf(text, DT_ENDPOINT_MOST, "%s%s%s:%d", six ? "[" : "", a->host, six ? "]" : "", a->port);
}

void dt_address_endpoint(const dt_address *a, char *text) {
    char host[DT_ENDPOINT_MOST];
    dt_address_text(a, host);
    if (a->port == 0) strcpy(strrchr(host, ':') + 1, "*");
    snprintf(text, DT_ENDPOINT_MOST, "tcp://%.*s", DT_ENDPOINT_MOST - 8, host);
}
