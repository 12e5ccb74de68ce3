/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses as users write them, HOST:PORT: a name, an IPv4 address, an IPv6 address in brackets,
 * or an interface of this machine. */
#ifndef DT_NET_ADDRESS_H
#define DT_NET_ADDRESS_H

#include <stdbool.h>

#include "base/status.h"

enum { DT_ADDRESS_MOST = 300 };
typedef struct dt_address {
    char host[DT_ADDRESS_MOST]; /* without brackets; "*": all of this machine's */
    int port;                   /* 0: any free one */
} dt_address;

/* MESSAGES: the text is not an address. */
dt_status *dt_address_read(dt_address *out, const char *text) DT_MUST_USE;
/* The same address with a number for its host: of a name with both the IPv4 address; of an
 * interface (here: this machine) the first one that is not link-local. *loopback: only this machine
 * can reach it. MESSAGES: the name is unknown. */
dt_status *dt_address_resolve(dt_address *a, bool here, bool *loopback) DT_MUST_USE;
/* The address of this machine that is used to reach another, as a number, into
 * host[DT_ADDRESS_MOST]. Sends nothing. MESSAGES: there is no way to it. */
dt_status *dt_address_toward(const dt_address *to, char *host) DT_MUST_USE;
/* "tcp://[::1]:2222", as ZeroMQ takes it; text has DT_ADDRESS_MOST + 20 bytes. */
enum { DT_ENDPOINT_MOST = DT_ADDRESS_MOST + 20 };
void dt_address_endpoint(const dt_address *a, char *text);
/* "HOST:PORT", with brackets where they are needed; likewise. */
void dt_address_text(const dt_address *a, char *text);

#endif
