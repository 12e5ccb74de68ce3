/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameter servers for workers on other machines: what servers.h does over inherited links is done
 * here by messages of ZeroMQ, in the coordinator's own thread. Workers may connect at any time.
 * Each sends its number and its fingerprint (version, job). If the fingerprint differs from the
 * coordinator's, the worker is refused and receives the reason.
 *
 *     a message:   dt_frame | weights or gradients, all slices | more          parts that are not there are empty
 */
#ifndef DT_NET_POSTS_H
#define DT_NET_POSTS_H

#include "net/messages.h"
#include "net/carrier.h"

enum { DT_POST_GUEST = -1 }; /* the number of a process that only waits for the end */

typedef struct dt_posts_spec {
    const char *address;   /* of the coordinator, HOST:PORT */
    const char *interface; /* as of dt_rendezvous */
    const dt_run_key *key; /* likewise */
    bool open;
    double silence_s;
    const dt_extents *slices;
    const char *fingerprint;                    /* lent; a line */
    void (*warn)(void *user, const char *text); /* of dt_messenger_spec */
    void *user;
} dt_posts_spec;

/* Reads the head of any received message. False: it is not a message of this layer. If true, parts
 * 1 and 2 have the lengths that the head states. */
bool dt_frame_read(const dt_message *x, const dt_extents *e, dt_frame *out) DT_MUST_USE;

/* Processes can connect while one of the workers or guests is missing. Errors of the messenger. */
dt_status *dt_posts_open(dt_carrier **out, const dt_posts_spec *spec, int workers,
                         int guests) DT_MUST_USE;
/* The number of connected processes that only wait for the end. */
int dt_posts_guests(const dt_carrier *posts);

/* The worker's side: connects and sends the worker's number and fingerprint. WORKER_LATE: no answer.
 * When a wait for the next message exceeds 5 s and 3 times the longest wait so far, it is reported,
 * and again each time that it has doubled. Close the link in any case. */
dt_status *dt_post_connect(dt_worker_link *out, const dt_posts_spec *spec, int worker,
                           const dt_link_wait *wait) DT_MUST_USE;

#endif
