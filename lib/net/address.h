/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses as users write them, HOST:PORT: a name, an IPv4 address, an IPv6 address in brackets,
 * or an interface of this machine. */
#ifndef DT_NET_ADDRESS_H
#define DT_NET_ADDRESS_H

#include <stdbool.h>

#include "base/status.h"

enum { DT_ADDRESS_MOST = 300 };
typedef struct dt_address {
    char host[DT_ADDRESS_MOST]; /* the host without brackets; "*": all interfaces of this machine */
    int port;                   /* the port number; 0: any free port */
} dt_address;

/* Reads an address. Fails with MESSAGES if the text is not an address. */
dt_status *dt_address_read(dt_address *out, const char *text) DT_MUST_USE;
/* Replaces the host by a numeric address. A host name becomes its IPv4 address if it has one. If
 * `here` is set, the host may be an interface of this machine, which becomes its first IPv4 address
 * or, without one, its first IPv6 address that is not link-local; "*" stays. Sets *loopback to
 * whether only this machine can reach the address. Fails with MESSAGES if the name is unknown. */
dt_status *dt_address_resolve(dt_address *a, bool here, bool *loopback) DT_MUST_USE;
/* Writes to host[DT_ADDRESS_MOST] the numeric address of this machine that the other machine `to`
 * would see. Sends that machine nothing. Fails with MESSAGES if the name of `to` is unknown or
 * there is no route. */
dt_status *dt_address_toward(const dt_address *to, char *host) DT_MUST_USE;
/* Writes the address as ZeroMQ takes it, "tcp://[::1]:2222", to text[DT_ENDPOINT_MOST]. */
enum { DT_ENDPOINT_MOST = DT_ADDRESS_MOST + 20 };
void dt_address_endpoint(const dt_address *a, char *text);
/* Writes "HOST:PORT" to text[DT_ENDPOINT_MOST], with brackets around an IPv6 address. */
void dt_address_text(const dt_address *a, char *text);

#endif
