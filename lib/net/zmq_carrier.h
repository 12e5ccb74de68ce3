/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The carrier over ZeroMQ. It does what servers.h does over inherited links, but starts no threads
 * for servers: messages are handled in the thread that calls the carrier's functions. The process
 * that listens is a coordinator, to which workers on any machine connect, or a task of type ps, to
 * which workers and the coordinator connect. Each process that connects sends its number and its
 * fingerprint (the version and, with a job file, the job). If the fingerprint differs from that of
 * the process that listens, the latter refuses the connection and sends the reason.
 *
 *     a message:   dt_frame | weights or gradients, all slices | more
 *
 * Parts that are not needed are empty.
 */
#ifndef DT_NET_ZMQ_CARRIER_H
#define DT_NET_ZMQ_CARRIER_H

#include "net/messages.h"
#include "net/carrier.h"

typedef struct dt_zmq_carrier_spec {
    const char *address;   /* HOST:PORT of the process that listens */
    const char *host;      /* what messages call that process; NULL: "the coordinator" */
    const char *interface; /* the interface to listen on, as in dt_rendezvous */
    const dt_run_key *key; /* the run's key, as in dt_rendezvous */
    bool open;
    /* Whether a process that connects with the number of a connected one replaces it, because the
     * connected one must be lost. The coordinator, which has the last number, is never replaced. */
    bool replaces;
    double silence_s;
    const dt_byte_ranges *slices;
    /* A line of text that all processes must have in common; lent. */
    const char *fingerprint;
    void (*warn)(void *user, const char *text); /* receives warnings, as in dt_messenger_spec */
    void *user;
} dt_zmq_carrier_spec;

/* Reads the head of a received message. Returns false if it is not a valid frame. If it returns
 * true, parts 1 and 2 have the lengths that the head states. */
bool dt_frame_read(const dt_message *x, const dt_byte_ranges *e, dt_frame *out) DT_MUST_USE;

/* Checks that slices of that size can be sent in one message. Fails with RANGE if they cannot. */
dt_status *dt_zmq_fits(const dt_byte_ranges *e) DT_MUST_USE;
/* Listens for `workers` processes. They can connect as long as any of them is missing. Fails like
 * dt_messenger_listen_at and dt_zmq_fits. */
dt_status *dt_zmq_carrier_open(dt_carrier **out, const dt_zmq_carrier_spec *spec,
                               int workers) DT_MUST_USE;

/* Connects this process, and sends its number, `worker`, and fingerprint. Fails like
 * dt_messenger_open and dt_messenger_connect, or with WORKER_LATE if there is no answer within
 * wait->patience_s. Later waits for a message are reported when they exceed both 5 s and 3 times
 * the longest wait so far, and again whenever they have doubled. Close the link even after an
 * error. */
dt_status *dt_zmq_link_connect(dt_worker_link *out, const dt_zmq_carrier_spec *spec, int worker,
                               const dt_link_wait *wait) DT_MUST_USE;

#endif
