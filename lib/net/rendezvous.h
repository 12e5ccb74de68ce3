/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How workers without a launcher that connects them find each other. All connect to worker 0, whose
 * address they know, and send it the address on which they listen. When all have connected, worker
 * 0 sends all addresses to each, and each connects to the workers of lower rank. Missing workers
 * are reported during the wait.
 */
#ifndef DT_NET_RENDEZVOUS_H
#define DT_NET_RENDEZVOUS_H

#include "net/messages.h"

enum { DT_RENDEZVOUS_RANKS = 256 };

typedef struct dt_rendezvous {
    int ranks, own;
    const char *const *address; /* HOST:PORT of each rank, or of rank 0 alone; texts are lent */
    int addresses;              /* ranks, or 1: the others listen on any free port */
    /* name or address to listen on; NULL: the loopback interface where rank 0 is on it,
     * otherwise all */
    const char *interface;
    const dt_run_key *key; /* NULL: none */
    bool open;             /* without a key, other interfaces than loopback, too */
    double patience_s;     /* until all are there */
    double silence_s;      /* of dt_messenger_spec */
    /* what sets a worker's rank, "RANK=", for the hint to start a missing one; NULL: unknown */
    const char *start;
    int first;                                  /* the rank whose number is 0 in `start` */
    void (*say)(void *user, const char *line);  /* names missing ranks; may be NULL */
    void (*warn)(void *user, const char *text); /* of dt_messenger_spec */
    void *user;
} dt_rendezvous;

typedef struct dt_met {
    dt_messenger *m;
    int peer[DT_RENDEZVOUS_RANKS]; /* of each rank */
    dt_message *early; /* received messages that belong to the time after the rendezvous; a list */
} dt_met;

/* The caller closes and frees what *out has, also after an error. WORKER_LATE with the missing
 * workers; LAUNCH where workers contradict each other; errors of the messenger; NOT_YET: more than
 * DT_RENDEZVOUS_RANKS. */
dt_status *dt_rendezvous_hold(dt_met *out, const dt_rendezvous *how) DT_MUST_USE;

#endif
