/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameter servers for workers on other machines: what servers.h does over inherited links is done
 * here by messages of ZeroMQ, in the coordinator's own thread. Workers may connect at any time.
 * Each sends its number and its fingerprint (version, job). If the fingerprint differs from the
 * coordinator's, the worker is refused and receives the reason.
 *
 *     a message:   dt_frame | weights or gradients, all slices | more          parts that are not there are empty
 */
#ifndef DT_FABRIC_POSTS_H
#define DT_FABRIC_POSTS_H

#include "fabric/messages.h"
#include "fabric/servers.h"

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

typedef struct dt_posts dt_posts;
/* Processes can connect while one of the workers or guests is missing. Errors of the messenger. */
dt_status *dt_posts_open(dt_posts **out, const dt_posts_spec *spec, int workers,
                         int guests) DT_MUST_USE;
void dt_posts_give(dt_posts *p, int worker, const dt_frame *message, const dt_shared *weights,
                   const void *more);
/* As dt_servers_next; out->came: a worker has connected. */
bool dt_posts_next(dt_posts *p, int64_t deadline_ns, dt_arrival *out);
/* The number of connected processes that only wait for the end. */
int dt_posts_guests(const dt_posts *p);
/* Ignores the worker's messages until it connects again. */
void dt_posts_drop(dt_posts *p, int worker);
/* Sends the worker the error, which it ends with. Takes the error. */
void dt_posts_refuse(const dt_posts *p, int worker, dt_status *why);
/* well: sends END to all; otherwise they see that the coordinator is gone. Takes NULL. */
void dt_posts_close(dt_posts *p, bool well);

/* ---- the worker's side ---- */

typedef struct dt_post_wait {
    double patience_s;
    void (*say)(void *user, const char *line); /* every few seconds; NULL: no reports */
    void *user;
} dt_post_wait;
typedef struct dt_post_link {
    dt_messenger *m;
    int peer, worker;
    const dt_extents *slices;
    dt_post_wait wait;
    const char *address; /* of the coordinator; lent */
    double silence_s;    /* silence after which the coordinator counts as lost */
    double longest_s;    /* the longest wait for an answer so far */
} dt_post_link;
/* Connects and sends the worker's number and fingerprint. WORKER_LATE: no answer. */
dt_status *dt_post_connect(dt_post_link *out, const dt_posts_spec *spec, int worker,
                           const dt_post_wait *wait) DT_MUST_USE;
/* As dt_link_pull and dt_link_push. A refusal is its error. When a wait exceeds 5 s and 3 times the
 * longest wait so far, it is reported, and again each time that it has doubled. */
dt_status *dt_post_pull(dt_post_link *l, dt_frame *m, void *weights, char **more) DT_MUST_USE;
dt_status *dt_post_push(dt_post_link *l, const dt_frame *m, const void *gradients,
                        const void *more) DT_MUST_USE;
void dt_post_close(dt_post_link *l);

#endif
