/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements what rendezvous.h declares. Each message is one part with a line of text:
 *
 *     to rank 0      meet RANK RANKS ADDRESS
 *     by rank 0      table ADDRESS ADDRESS ...       or: no REASON
 *     to others      rank RANK                       sent by the higher of the two ranks
 *
 * Messages of several parts belong to the time after the rendezvous. Some may arrive before this
 * rank knows that it is over.
 */
#include "net/rendezvous.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/str.h"
#include "net/address.h"

enum { REPORT_S = 5, LINE_MOST = 60, NO_PEER = -1 };
/* Limits on the messages of several parts that a worker may send before all are connected. Normally
 * a worker sends only its identity by then, less than a kilobyte. */
enum { EARLY_MOST = 64, EARLY_BYTES = 1 << 16 };

typedef struct gathering {
    const dt_rendezvous *how;
    dt_met *met;
    int host; /* number of the peer that is rank 0; in rank 0 itself NO_PEER */
    /* [ranks] the address on which each rank listens; NULL: it was not received yet */
    char *address[DT_RENDEZVOUS_RANKS];
    /* [ranks] whether the rank is connected and, if it is above this one, has sent its number */
    bool here[DT_RENDEZVOUS_RANKS];
    int early[DT_RENDEZVOUS_RANKS]; /* [ranks] number of the rank's messages in met->early */
    /* whether the table of addresses has been sent (in rank 0) or received (in other ranks) */
    bool told;
    int64_t since_ns, said_ns;
} gathering;

static dt_status *send_line(gathering *g, int peer, const char *line) {
    return dt_messenger_send(g->met->m, peer, &(dt_message_part){line, strlen(line)}, 1);
}

/* Returns a message of one part as text, which the caller frees. Returns NULL if the message is not
 * a text of 1 to `most` bytes. */
static char *line_of(const dt_message *x, size_t most) {
    const dt_message_part *p = &x->part[0];
    if (x->n != 1 || p->n == 0 || p->n > most || memchr(p->bytes, '\0', p->n)) return NULL;
    char *text = dt_alloc(p->n + 1);
    memcpy(text, p->bytes, p->n);
    return text;
}

static bool next_number(char **rest, int64_t *out) {
    const char *word = *rest ? strsep(rest, " ") : NULL;
    return word && dt_parse_int64(word, out);
}

static int rank_of(const gathering *g, int peer) {
    for (int r = 0; r < g->how->ranks; r++)
        if (g->met->peer[r] == peer) return r;
    return NO_PEER;
}

static void take_in(gathering *g, int rank, int peer) {
    g->met->peer[rank] = peer;
    g->here[rank] = true;
}

static dt_status *refuse(gathering *g, int peer, dt_status *s) {
    dt_local_str line = {0};
    dt_str_printf(&line, "no %s", dt_status_text(s));
    for (int r = 0; r < g->how->ranks; r++)
        if (g->met->peer[r] >= 0 && g->met->peer[r] != peer)
            dt_status_free(send_line(g, g->met->peer[r], dt_str_text(&line)));
    dt_status_free(send_line(g, peer, dt_str_text(&line)));
    return s;
}

static dt_status *welcome(gathering *g, int peer, char *words) {
    int64_t rank = NO_PEER, ranks = 0;
    dt_address at;
    const bool good = next_number(&words, &rank) && next_number(&words, &ranks) && words;
    dt_status *bad = good ? dt_address_read(&at, words) : NULL;
    if (!good || bad) {
        dt_status_free(bad);
        return NULL; /* The peer is not a worker of this version of dtrain, so it is ignored. */
    }
    if (ranks != g->how->ranks)
        return refuse(g, peer,
                      dt_fail(DT_E_LAUNCH, NULL,
                              "worker 0 expects %d workers, but worker %lld expects %lld",
                              g->how->ranks, (long long)rank, (long long)ranks));
    if (rank < 1 || rank >= ranks) return NULL;
    if (rank_of(g, peer) >= 0) return NULL; /* It has said its rank, and can have only one. */
    if (g->here[rank])
        return refuse(
            g, peer,
            dt_fail(
                DT_E_LAUNCH, NULL,
                "two processes say that they are worker %lld: one listens on %s, the other on %s",
                (long long)rank, g->address[rank], words));
    take_in(g, (int)rank, peer);
    g->address[rank] = dt_strdup(words);
    return NULL;
}

static int count_missing(const gathering *g) {
    int n = 0;
    for (int r = 0; r < g->how->ranks; r++) n += r != g->how->own && !g->here[r];
    return n;
}

static dt_status *send_table(gathering *g) {
    dt_local_str line = {0};
    dt_status *s = NULL;
    dt_str_puts(&line, "table");
    for (int r = 0; r < g->how->ranks; r++)
        dt_str_printf(&line, " %s", r ? g->address[r] : g->how->address[0]);
    for (int r = 1; r < g->how->ranks && !s; r++)
        s = send_line(g, g->met->peer[r], dt_str_text(&line));
    g->told = true;
    return s;
}

/* Writes the address at which other ranks reach this one. */
static dt_status *own_address(const gathering *g, char *out) {
    const dt_rendezvous *how = g->how;
    dt_address host, own;
    bool loopback;
    DT_TRY(dt_address_read(&own, dt_messenger_address(g->met->m)));
    if (how->interface) {
        snprintf(own.host, sizeof own.host, "%s", how->interface);
        DT_TRY(dt_address_resolve(&own, true, &loopback));
    } else if (how->addresses > 1) {
        DT_TRY(dt_address_read(&host, how->address[how->own]));
        memcpy(own.host, host.host, sizeof own.host);
    } else {
        DT_TRY(dt_address_read(&host, how->address[0]));
        DT_TRY(dt_address_toward(&host, own.host));
    }
    dt_address_text(&own, out);
    return NULL;
}

static dt_status *introduce(gathering *g) {
    char address[DT_ENDPOINT_MOST], line[DT_ENDPOINT_MOST + 40];
    DT_TRY(own_address(g, address));
    snprintf(line, sizeof line, "meet %d %d %s", g->how->own, g->how->ranks, address);
    return send_line(g, g->host, line);
}

/* Reads the table of addresses, and connects to the ranks below this one. */
static dt_status *read_table(gathering *g, char *words) {
    const int own = g->how->own;
    for (int r = 0; r < g->how->ranks; r++) {
        const char *word = words ? strsep(&words, " ") : NULL;
        if (!word)
            return dt_fail(DT_E_WORKERS_DISAGREE, NULL,
                           "worker 0 knows %d addresses, worker %d needs %d", r, own,
                           g->how->ranks);
        if (r > 0 && r < own && g->met->peer[r] < 0)
            DT_TRY(dt_messenger_connect(g->met->m, word, &g->met->peer[r]));
        free(g->address[r]);
        g->address[r] = dt_strdup(word);
    }
    g->told = true;
    return NULL;
}

static dt_status *hear_host(gathering *g, char *words) {
    const char *verb = strsep(&words, " ");
    if (strcmp(verb, "no") == 0)
        return dt_fail(DT_E_LAUNCH, NULL, "%s", words ? words : "worker 0 refuses");
    return strcmp(verb, "table") == 0 && !g->told ? read_table(g, words) : NULL;
}

/* Handles the number of a rank above this one, which has connected to it. */
static void hear_rank(gathering *g, int peer, char *words) {
    int64_t rank;
    if (next_number(&words, &rank) && rank > g->how->own && rank < g->how->ranks &&
        !g->here[rank] && rank_of(g, peer) < 0)
        take_in(g, (int)rank, peer);
}

static dt_status *hear(gathering *g, const dt_message *x) {
    char *line = line_of(x, (size_t)DT_RENDEZVOUS_RANKS * DT_ENDPOINT_MOST), *words = line;
    dt_status *s = NULL;
    if (!line) return NULL;
    if (x->peer == g->host) {
        s = hear_host(g, words);
    } else {
        const char *verb = strsep(&words, " ");
        if (strcmp(verb, "meet") == 0 && g->how->own == 0) s = welcome(g, x->peer, words);
        else if (strcmp(verb, "rank") == 0 && g->how->own > 0) hear_rank(g, x->peer, words);
    }
    free(line);
    return s;
}

static dt_status *greet(gathering *g, int peer) {
    char line[LINE_MOST];
    const int rank = rank_of(g, peer);
    if (rank >= 0) take_in(g, rank, peer);
    if (peer == g->host) return introduce(g);
    snprintf(line, sizeof line, "rank %d", g->how->own);
    return rank > 0 ? send_line(g, peer, line) : NULL;
}

/* Handles a peer that has left. Before the table of addresses is sent, its process may be started
 * again; later the loss is an error. */
static dt_status *miss(gathering *g, int peer) {
    const int rank = rank_of(g, peer);
    if (peer == g->host && !g->told) {
        DT_TRY(dt_messenger_connect(g->met->m, g->how->address[0], &g->host));
        g->met->peer[0] = g->host;
        g->here[0] = false;
        return NULL;
    }
    if (rank < 0) return NULL;
    if (g->told)
        return dt_fail(DT_E_WORKER_GONE, NULL, "worker %d left before all workers were connected",
                       rank);
    g->met->peer[rank] = NO_PEER;
    g->here[rank] = false;
    free(g->address[rank]);
    g->address[rank] = NULL;
    return NULL;
}

/* Keeps a message that belongs to the time after the rendezvous. Takes ownership of the message.
 * Frees it if the rank of its sender is unknown. Fails with WORKERS_DISAGREE if the message has
 * more than EARLY_BYTES bytes, or the rank has sent more than EARLY_MOST of them. */
static dt_status *store_message(gathering *g, dt_message *x) {
    const int rank = rank_of(g, x->peer);
    dt_message **last = &g->met->early;
    size_t bytes = 0;
    for (int i = 0; i < x->n; i++) bytes += x->part[i].n;
    if (rank < 0 || bytes > EARLY_BYTES || ++g->early[rank] > EARLY_MOST) {
        dt_message_free(x);
        return rank < 0 ? NULL
                        : dt_fail(DT_E_WORKERS_DISAGREE, NULL,
                                  "worker %d sent more than %d messages or %d bytes before all "
                                  "workers were connected",
                                  rank, EARLY_MOST, EARLY_BYTES);
    }
    while (*last) last = &(*last)->next;
    *last = x;
    return NULL;
}

static dt_status *handle_message(gathering *g, dt_message *x) {
    if (x->event == DT_PEER_MESSAGE && x->n > 1) return store_message(g, x);
    dt_status *s = x->event == DT_PEER_JOINED ? greet(g, x->peer)
                   : x->event == DT_PEER_GONE ? miss(g, x->peer)
                                              : hear(g, x);
    dt_message_free(x);
    return s;
}

/* ---- missing workers ---- */

/* Appends a list such as "workers 1, 3 and 2 others of 8". */
static void list_missing(const gathering *g, dt_str *out) {
    enum { SHOWN = 8 };
    const int n = count_missing(g);
    int k = 0;
    dt_str_printf(out, "%s", n == 1 ? "worker" : "workers");
    for (int r = 0; r < g->how->ranks && k < SHOWN; r++)
        if (r != g->how->own && !g->here[r]) {
            dt_str_printf(out, "%s%d", k == 0 ? " " : k == n - 1 ? " and " : ", ", r);
            k++;
        }
    if (n > k) dt_str_printf(out, " and %d others", n - k);
    dt_str_printf(out, " of %d", g->how->ranks);
}

static int first_missing(const gathering *g) {
    int r = 0;
    while (r < g->how->ranks && (r == g->how->own || g->here[r])) r++;
    return r;
}

static void describe_wait(const gathering *g, dt_str *out) {
    const dt_rendezvous *how = g->how;
    if (how->own > 0 && !g->told) {
        const int refusals = dt_messenger_refusals(g->met->m, g->host);
        dt_str_printf(out, "worker 0 at %s", how->address[0]);
        if (refusals)
            dt_str_puts(out, ", where another program answers, or one without this run's secret");
        else if (!dt_messenger_reached(g->met->m, g->host))
            dt_str_puts(out, ", which does not answer: it has not started, or its workers are all "
                             "there and it takes no more");
        else dt_str_puts(out, " to connect all workers");
        return;
    }
    list_missing(g, out);
    const int r = first_missing(g);
    const int64_t strangers = dt_messenger_turned_away(g->met->m);
    if (how->key && strangers > 0)
        dt_str_printf(out, "; connections refused, which did not have this run's secret: %lld",
                      (long long)strangers);
    if (how->own == 0 && how->start)
        dt_str_printf(out, "; start worker %d%s%s by the same command with %s%d", r,
                      how->addresses > 1 ? " at " : "", how->addresses > 1 ? how->address[r] : "",
                      how->start, r - how->first);
}

static void report_wait(gathering *g) {
    dt_local_str line = {0};
    if (!g->how->say || dt_seconds_since(g->said_ns) < REPORT_S) return;
    g->said_ns = dt_now_ns();
    dt_str_puts(&line, "waiting for ");
    describe_wait(g, &line);
    g->how->say(g->how->user, dt_str_text(&line));
}

static dt_status *late(gathering *g) {
    dt_local_str who = {0};
    describe_wait(g, &who);
    return dt_fail(DT_E_WORKER_LATE, NULL, "worker %d has waited %g s for %s", g->how->own,
                   g->how->patience_s, dt_str_text(&who));
}

/* ---- the rendezvous ---- */

static dt_status *listen_here(gathering *g) {
    const dt_rendezvous *how = g->how;
    dt_address at;
    char text[DT_ENDPOINT_MOST];
    const bool own = how->own == 0 || how->addresses > 1;
    DT_TRY(dt_address_read(&at, how->address[own ? how->own : 0]));
    if (!own) at.port = 0;
    dt_address_text(&at, text);
    return dt_messenger_listen_at(g->met->m, text, how->interface, how->key || how->open);
}

static dt_status *begin(gathering *g) {
    const dt_rendezvous *how = g->how;
    char name[DT_PEER_NAME];
    if (how->ranks > DT_RENDEZVOUS_RANKS)
        return dt_fail(DT_E_NOT_YET, NULL,
                       "%d workers: more than %d are not connected without MPI yet", how->ranks,
                       DT_RENDEZVOUS_RANKS);
    snprintf(name, sizeof name, "worker %d", how->own);
    DT_TRY(dt_messenger_open(&g->met->m, &(dt_messenger_spec){.key = how->key,
                                                              .open = how->open,
                                                              .name = name,
                                                              .silence_s = how->silence_s,
                                                              .warn = how->warn,
                                                              .user = how->user}));
    DT_TRY(listen_here(g));
    if (how->own == 0) return NULL;
    DT_TRY(dt_messenger_connect(g->met->m, how->address[0], &g->host));
    g->met->peer[0] = g->host;
    return NULL;
}

static bool is_over(const gathering *g) {
    return (g->how->own == 0 || g->told) && count_missing(g) == 0;
}

static dt_status *wait(gathering *g) {
    while (!is_over(g)) {
        dt_message *x = NULL;
        report_wait(g);
        DT_TRY(dt_messenger_wait(g->met->m, 0.5, &x));
        if (x) DT_TRY(handle_message(g, x));
        if (!is_over(g) && dt_seconds_since(g->since_ns) > g->how->patience_s) return late(g);
    }
    dt_messenger_admit(g->met->m, false);
    return g->how->own == 0 ? send_table(g) : NULL;
}

dt_status *dt_rendezvous_hold(dt_met *out, const dt_rendezvous *how) {
    gathering g = {
        .how = how, .met = out, .host = NO_PEER, .since_ns = dt_now_ns(), .said_ns = dt_now_ns()};
    *out = (dt_met){.m = NULL};
    for (int r = 0; r < DT_RENDEZVOUS_RANKS; r++) out->peer[r] = NO_PEER;
    dt_status *s = begin(&g);
    if (!s) s = wait(&g);
    for (int r = 0; r < DT_RENDEZVOUS_RANKS; r++) free(g.address[r]);
    return s;
}
