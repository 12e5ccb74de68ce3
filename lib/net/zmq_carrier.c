/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what zmq_carrier.h declares. */
#include "net/zmq_carrier.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/str.h"
#include "net/rendezvous.h"
#include "net/frame.h"

enum { NO_PEER = -1, REPORT_S = 5, FINGERPRINT_MOST = 1024 };

typedef struct zmq_carrier {
    dt_carrier carrier;
    dt_zmq_carrier_spec spec;
    dt_messenger *m;
    int workers;
    /* [workers] each worker's peer number in the messenger; NO_PEER: the worker is not connected */
    int *peer;
} zmq_carrier;

static zmq_carrier *of(dt_carrier *c) { return (zmq_carrier *)c; }

/* ---- messages ---- */

static dt_status *send_frame(dt_messenger *m, int peer, const dt_byte_ranges *e,
                             const dt_frame *head, const void *slices, const void *more) {
    dt_frame own = *head;
    own.magic = DT_FRAME_MAGIC;
    const dt_message_part part[] = {
        {&own, sizeof own}, {slices, (size_t)dt_frame_bytes(head, e)}, {more, (size_t)head->more}};
    return dt_messenger_send(m, peer, part, 3);
}

bool dt_frame_read(const dt_message *x, const dt_byte_ranges *e, dt_frame *out) {
    if (x->event != DT_PEER_MESSAGE || x->n != 3 || x->part[0].n != sizeof *out) return false;
    memcpy(out, x->part[0].bytes, sizeof *out);
    return dt_frame_is_sound(out) && x->part[1].n == (size_t)dt_frame_bytes(out, e) &&
           x->part[2].n == (size_t)out->more;
}

static char *copy_more(const dt_message *x) {
    char *more = dt_alloc(x->part[2].n + 1);
    if (x->part[2].n > 0) memcpy(more, x->part[2].bytes, x->part[2].n);
    return more;
}

/* ---- the side that listens ---- */

/* Sends a frame. Errors are dropped: if the peer is gone, ZeroMQ's next event reports that. */
static void send_or_drop(const zmq_carrier *p, int peer, const dt_frame *head, const void *slices,
                         const void *more) {
    dt_status_free(send_frame(p->m, peer, p->spec.slices, head, slices, more));
}

static void give(dt_carrier *c, int w, const dt_frame *m, dt_shared *weights, const void *more) {
    const zmq_carrier *p = of(c);
    if (p->peer[w] >= 0) send_or_drop(p, p->peer[w], m, weights ? weights->data : NULL, more);
}

/* Closes the listening socket to new processes while all expected ones are connected. */
static void update_admission(zmq_carrier *p) {
    bool missing = false;
    for (int w = 0; w < p->workers; w++) missing |= p->peer[w] < 0;
    dt_messenger_admit(p->m, missing);
}

static void drop(dt_carrier *c, int w) {
    zmq_carrier *p = of(c);
    p->peer[w] = NO_PEER;
    update_admission(p);
}

static int worker_of(const zmq_carrier *p, int peer) {
    for (int w = 0; w < p->workers; w++)
        if (p->peer[w] == peer) return w;
    return NO_PEER;
}

static void refuse(const zmq_carrier *p, int peer, dt_status *why) {
    dt_local_str text = {0};
    dt_failure_write(why, &text);
    send_or_drop(p, peer, &(dt_frame){.kind = DT_FRAME_FAILED, .more = (int64_t)text.size}, NULL,
                 dt_str_text(&text));
}

static void refuse_worker(dt_carrier *c, int w, dt_status *why) {
    const zmq_carrier *p = of(c);
    if (p->peer[w] >= 0) refuse(p, p->peer[w], why);
    else dt_status_free(why);
}

static dt_status *check_hello(const zmq_carrier *p, const dt_message *x, const dt_frame *m) {
    const size_t n = strlen(p->spec.fingerprint);
    if (m->more > FINGERPRINT_MOST || (size_t)m->more != n ||
        memcmp(x->part[2].bytes, p->spec.fingerprint, n) != 0)
        return dt_fail(DT_E_WORKERS_DISAGREE, NULL, "the coordinator has %s, %s has %.*s",
                       p->spec.fingerprint, dt_messenger_peer(p->m, x->peer),
                       m->more > FINGERPRINT_MOST ? 0 : (int)m->more,
                       m->more ? (const char *)x->part[2].bytes : "");
    if (m->number >= p->workers || m->number < 0)
        return dt_fail(
            DT_E_LAUNCH, NULL,
            "the coordinator has %d workers, from 1 on, but a process says that it is worker %lld",
            p->workers, (long long)m->number + 1);
    if (p->peer[m->number] >= 0 && p->spec.replaces && m->number == p->workers - 1)
        return dt_fail(DT_E_LAUNCH, NULL, "another coordinator uses this parameter server");
    if (p->peer[m->number] >= 0 && !p->spec.replaces)
        return dt_fail(DT_E_LAUNCH, NULL, "two processes say that they are worker %lld",
                       (long long)m->number + 1);
    return NULL;
}

/* Handles the first message of a peer, which says which worker it is. Returns true if *out is the
 * arrival of a worker. */
static bool welcome(zmq_carrier *p, const dt_message *x, dt_arrival *out) {
    dt_frame m;
    if (!dt_frame_read(x, p->spec.slices, &m) || m.kind != DT_FRAME_HELLO)
        return false; /* The peer is not a worker of this version of dtrain. */
    dt_status *bad = check_hello(p, x, &m);
    if (bad) {
        refuse(p, x->peer, bad);
        return false;
    }
    p->peer[m.number] = x->peer;
    update_admission(p);
    *out = (dt_arrival){.worker = (int)m.number, .came = true};
    return true;
}

/* Whether a message of this kind is sent to the process that listens: by a worker, or by a
 * coordinator to a task of type ps. */
static bool is_sent_to_host(uint32_t kind) {
    return kind == DT_FRAME_PUSH || kind == DT_FRAME_ANSWER || kind == DT_FRAME_FAILED ||
           kind == DT_FRAME_WANT || kind == DT_FRAME_END || kind == DT_FRAME_SET ||
           kind == DT_FRAME_GET || kind == DT_FRAME_APPLY || kind == DT_FRAME_PROGRAMS;
}

/* Copies a message to *out. Returns false if the message is invalid or there is no memory; the
 * caller then treats the sender as gone. */
static bool take_push(const zmq_carrier *p, const dt_message *x, dt_arrival *out) {
    dt_frame m;
    if (!dt_frame_read(x, p->spec.slices, &m) || !is_sent_to_host(m.kind)) return false;
    out->message = m;
    if (dt_frame_has_slices(&m)) {
        out->slices = dt_try_alloc(x->part[1].n + 1);
        if (!out->slices) return false;
        memcpy(out->slices, x->part[1].bytes, x->part[1].n);
    }
    out->more = copy_more(x);
    return true;
}

/* Handles an event of the messenger. Returns true if *out is an arrival for the caller. */
static bool handle_event(zmq_carrier *p, const dt_message *x, dt_arrival *out) {
    const int w = worker_of(p, x->peer);
    if (w < 0) return x->event == DT_PEER_MESSAGE && welcome(p, x, out);
    *out = (dt_arrival){.worker = w, .gone = true};
    if (x->event == DT_PEER_MESSAGE) out->gone = !take_push(p, x, out);
    return x->event != DT_PEER_JOINED;
}

static bool next(dt_carrier *c, int64_t deadline_ns, dt_arrival *out) {
    zmq_carrier *p = of(c);
    for (bool found = false;;) {
        dt_message *x = NULL;
        const double left = (double)(deadline_ns - dt_now_ns()) / 1e9;
        dt_status *s = dt_messenger_wait(p->m, left > 0 ? left : 0, &x);
        if (s || !x) {
            dt_status_free(s); /* The error concerns a process that tries to connect. */
            if (!s || left <= 0) return false;
            continue;
        }
        found = handle_event(p, x, out);
        dt_message_free(x);
        if (found) return true;
    }
}

static void recycle(dt_carrier *c, void *slices) {
    (void)c;
    free(slices);
}

static void close_all(dt_carrier *c, bool well) {
    zmq_carrier *p = of(c);
    for (int w = 0; well && w < p->workers; w++)
        if (p->peer[w] >= 0)
            send_or_drop(p, p->peer[w], &(dt_frame){.kind = DT_FRAME_END}, NULL, NULL);
    dt_messenger_close(p->m);
    free(p->peer);
    free(p);
}

dt_status *dt_zmq_fits(const dt_byte_ranges *e) {
    if (e->bytes <= DT_MOST_PART) return NULL;
    return dt_suggest(dt_fail(DT_E_RANGE, NULL,
                              "variables of %lld bytes in one process are sent in one message, "
                              "which may have %d",
                              (long long)e->bytes, DT_MOST_PART),
                      "give the variables to more tasks of type ps");
}

dt_status *dt_zmq_carrier_open(dt_carrier **out, const dt_zmq_carrier_spec *spec, int workers) {
    static const dt_carrier_row row = {give, next, recycle, drop, refuse_worker, close_all};
    DT_TRY(dt_zmq_fits(spec->slices));
    zmq_carrier *p = dt_alloc(sizeof *p);
    *p = (zmq_carrier){.carrier = {&row}, .spec = *spec, .workers = workers};
    p->peer = dt_alloc((size_t)workers * sizeof *p->peer);
    for (int w = 0; w < workers; w++) p->peer[w] = NO_PEER;
    dt_status *s = dt_messenger_open(&p->m, &(dt_messenger_spec){.key = spec->key,
                                                                 .open = spec->open,
                                                                 .name = "coordinator",
                                                                 .silence_s = spec->silence_s,
                                                                 .warn = spec->warn,
                                                                 .user = spec->user});
    if (!s)
        s = dt_messenger_listen_at(p->m, spec->address, spec->interface, spec->key || spec->open);
    if (s) close_all(&p->carrier, false);
    else *out = &p->carrier;
    return s;
}

/* ---- the side that connects ---- */

static void describe_wait(const dt_worker_link *l, const dt_zmq_carrier_spec *spec, dt_str *out) {
    dt_str_printf(out, "%s at %s", l->host, spec->address);
    if (dt_messenger_refusals(l->m, l->peer))
        dt_str_puts(out, ", where another program answers, or one without this run's secret");
    else if (!dt_messenger_reached(l->m, l->peer))
        dt_str_puts(out, ", which does not answer: it has not started, or its workers are all "
                         "there and it takes no more");
}

static void report_wait(const dt_worker_link *l, const dt_zmq_carrier_spec *spec,
                        const dt_link_wait *wait) {
    dt_local_str line = {0};
    dt_str_puts(&line, "waiting for ");
    describe_wait(l, spec, &line);
    wait->say(wait->user, dt_str_text(&line));
}

static dt_status *wait_for_host(dt_worker_link *l, const dt_zmq_carrier_spec *spec,
                                const dt_link_wait *wait) {
    const int64_t since = dt_now_ns();
    int64_t said = since;
    for (bool joined = false; !joined;) {
        dt_message *x = NULL;
        DT_TRY(dt_messenger_wait(l->m, 0.5, &x));
        joined = x && x->event == DT_PEER_JOINED;
        dt_message_free(x);
        if (!joined && dt_seconds_since(since) > wait->patience_s) {
            dt_local_str who = {0};
            describe_wait(l, spec, &who);
            return dt_fail(DT_E_WORKER_LATE, NULL, "this %s has waited %g s for %s",
                           spec->host ? "process" : "worker", wait->patience_s, dt_str_text(&who));
        }
        if (!joined && wait->say && dt_seconds_since(said) >= REPORT_S) {
            said = dt_now_ns();
            report_wait(l, spec, wait);
        }
    }
    return NULL;
}

static dt_status *take_work(const dt_worker_link *l, const dt_message *x, dt_frame *m,
                            void *weights, char **more) {
    if (x->event == DT_PEER_GONE)
        return dt_fail(DT_E_WORKER_GONE, NULL, "%s, which has the weights, is gone", l->host);
    if (!dt_frame_read(x, l->slices, m) ||
        (m->kind != DT_FRAME_WORK && m->kind != DT_FRAME_WORK_ALL && m->kind != DT_FRAME_ASSIGN &&
         m->kind != DT_FRAME_END && m->kind != DT_FRAME_FAILED && m->kind != DT_FRAME_ANSWER))
        return dt_fail(DT_E_WORKERS_DISAGREE, NULL, "%s sent an invalid message", l->host);
    if (m->kind == DT_FRAME_FAILED)
        return dt_failure_read(x->part[2].bytes, m->more, DT_E_WORKER_GONE, "");
    if (x->part[1].n > 0) memcpy(weights, x->part[1].bytes, x->part[1].n);
    *more = copy_more(x);
    return NULL;
}

static dt_status *pull(dt_worker_link *l, dt_frame *m, void *weights, char **more) {
    const int64_t since = dt_now_ns();
    double say_at = dt_link_say_at(l);
    *more = NULL;
    for (;;) {
        dt_message *x = NULL;
        DT_TRY(dt_messenger_wait(l->m, 1, &x));
        const double waited_s = dt_seconds_since(since);
        if (!x || x->event == DT_PEER_JOINED) {
            dt_message_free(x);
            dt_link_waited(l, waited_s, &say_at);
            continue;
        }
        l->longest_s = fmax(l->longest_s, waited_s);
        dt_status *s = take_work(l, x, m, weights, more);
        dt_message_free(x);
        return s;
    }
}

static dt_status *push(dt_worker_link *l, const dt_frame *m, const void *gradients,
                       const void *more) {
    return send_frame(l->m, l->peer, l->slices, m, gradients, more);
}

static void disconnect(dt_worker_link *l) {
    dt_messenger_close(l->m);
    l->m = NULL;
}

dt_status *dt_zmq_link_connect(dt_worker_link *out, const dt_zmq_carrier_spec *spec, int worker,
                               const dt_link_wait *wait) {
    static const dt_worker_link_row row = {pull, push, disconnect};
    char name[DT_PEER_NAME];
    *out = (dt_worker_link){.row = &row,
                            .slices = spec->slices,
                            .worker = worker,
                            .wait = *wait,
                            .address = spec->address,
                            .host = spec->host ? spec->host : "the coordinator",
                            .silence_s = spec->silence_s};
    snprintf(name, sizeof name, "worker %d", worker + 1);
    DT_TRY(dt_messenger_open(&out->m, &(dt_messenger_spec){.key = spec->key,
                                                           .open = spec->open,
                                                           .name = name,
                                                           .silence_s = spec->silence_s}));
    DT_TRY(dt_messenger_connect(out->m, spec->address, &out->peer));
    DT_TRY(wait_for_host(out, spec, wait));
    return send_frame(out->m, out->peer, spec->slices,
                      &(dt_frame){.kind = DT_FRAME_HELLO,
                                  .number = worker,
                                  .more = (int64_t)strlen(spec->fingerprint)},
                      NULL, spec->fingerprint);
}
