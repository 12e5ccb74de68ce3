/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How workers find each other if no launcher connects them. All connect to worker 0, whose address
 * they know, and send it the address on which they listen. When all have connected, worker 0 sends
 * everyone the table of addresses, and each worker connects to those of lower rank. Missing workers
 * are reported during the wait.
 */
#ifndef DT_NET_RENDEZVOUS_H
#define DT_NET_RENDEZVOUS_H

#include "net/messages.h"

enum { DT_RENDEZVOUS_RANKS = 256 };

typedef struct dt_rendezvous {
    int ranks, own;
    const char *const *address; /* HOST:PORT of each rank, or of rank 0 alone; texts are lent */
    int addresses;              /* equals ranks, or 1: then other ranks listen on any free port */
    /* Name or address to listen on. NULL: loopback if rank 0 is on the loopback interface,
     * otherwise all interfaces. */
    const char *interface;
    const dt_run_key *key; /* NULL: no encryption */
    bool open;             /* without a key: also allows interfaces other than loopback */
    double patience_s;     /* how long to wait for all ranks, in seconds */
    double silence_s;      /* as in dt_messenger_spec */
    /* How a user sets a worker's rank, "RANK=", for hints to start a missing worker. NULL:
     * unknown. */
    const char *start;
    int first;                                  /* the rank that gets number 0 after `start` */
    void (*say)(void *user, const char *line);  /* reports missing ranks; may be NULL */
    void (*warn)(void *user, const char *text); /* as in dt_messenger_spec */
    void *user;
} dt_rendezvous;

typedef struct dt_met {
    dt_messenger *m;
    int peer[DT_RENDEZVOUS_RANKS]; /* the peer of each rank */
    /* list of messages that arrived early and belong to the time after the rendezvous */
    dt_message *early;
} dt_met;

/* Runs the rendezvous. The caller closes out->m and frees out->early, also after an error. Fails
 * with WORKER_LATE, naming the missing workers; LAUNCH if workers contradict each other; NOT_YET
 * if there are more than DT_RENDEZVOUS_RANKS; or with an error of the messenger. */
dt_status *dt_rendezvous_hold(dt_met *out, const dt_rendezvous *how) DT_MUST_USE;

#endif
