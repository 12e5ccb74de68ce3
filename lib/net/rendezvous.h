/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How workers find each other if no launcher connects them. All others connect to worker 0, whose
 * address they know, and send it the address on which they listen. When all have connected, worker
 * 0 sends everyone the table of addresses, and each worker connects to those of lower rank. Missing
 * workers are reported during the wait.
 */
#ifndef DT_NET_RENDEZVOUS_H
#define DT_NET_RENDEZVOUS_H

#include "net/messages.h"

enum { DT_RENDEZVOUS_RANKS = 256 };

typedef struct dt_rendezvous {
    int ranks, own;
    /* [addresses] HOST:PORT of each rank, or only of rank 0; the texts are lent */
    const char *const *address;
    /* The number of addresses: one for each rank, or 1. With 1, other ranks listen on any free
     * port. */
    int addresses;
    /* Name or address to listen on. NULL: all interfaces if there is a key or `open` is set and the
     * address (of this rank or, if only one is known, of rank 0) is not loopback; otherwise that
     * address. */
    const char *interface;
    const dt_run_key *key; /* the run's key; NULL: messages are not encrypted */
    bool open;             /* without a key: whether interfaces other than loopback may be used */
    double patience_s;     /* seconds to wait for all ranks */
    /* seconds of silence after which a peer counts as gone, as in dt_messenger_spec */
    double silence_s;
    /* What a user writes before a worker's rank, such as "RANK=", for hints how to start a missing
     * worker. NULL: it is unknown. */
    const char *start;
    int first;                                  /* the rank that users write as 0 after `start` */
    void (*say)(void *user, const char *line);  /* receives reports of missing ranks; may be NULL */
    void (*warn)(void *user, const char *text); /* receives warnings, as in dt_messenger_spec */
    void *user;
} dt_rendezvous;

typedef struct dt_met {
    dt_messenger *m;
    int peer[DT_RENDEZVOUS_RANKS]; /* [ranks] each other rank's peer number in the messenger */
    /* A linked list of messages that arrived early and belong to the time after the rendezvous. */
    dt_message *early;
} dt_met;

/* Runs the rendezvous. The caller closes out->m and frees out->early, also after an error. Fails
 * with WORKER_LATE, naming the missing workers; LAUNCH if workers contradict each other;
 * WORKER_GONE if one leaves after the table of addresses was sent; WORKERS_DISAGREE if messages are
 * invalid or too many come early; NOT_YET if there are more than DT_RENDEZVOUS_RANKS; or with an
 * error of the messenger. */
dt_status *dt_rendezvous_hold(dt_met *out, const dt_rendezvous *how) DT_MUST_USE;

#endif
