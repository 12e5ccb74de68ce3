/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what peers.h declares. Looks up the processes of this machine in /proc, to report
 * killed and stopped ones by name, long before the deadline. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "net/peers.h"

typedef struct identity {
    char host[64];
    /* number of the process's PID namespace; processes in other containers have another one */
    uint64_t space;
    int64_t pid;
} identity;

/* Returns the state letter of a process on this machine; 0: there is no such process. */
static char state_of(int64_t pid) {
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    FILE *f = fopen(path, "re");
    if (!f) return 0;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    /* The program's name may contain ')' itself, so its end is the last one. */
    const char *end = strrchr(text, ')');
    return end && end[1] == ' ' ? end[2] : 0;
}

static bool is_dead(char state) { return !state || strchr("ZXx", state); }

static bool is_stopped(char state) { return state && strchr("Tt", state); }

static bool is_here(const dt_peers *p, const dt_member *m, int r) {
    return p->identity && p->identity[r].space == p->identity[m->rank].space &&
           strcmp(p->identity[r].host, p->identity[m->rank].host) == 0;
}

/* Returns the first other rank on this machine whose process is in a state for which `is` returns
 * true; -1: there is no such rank. */
static int find(const dt_peers *p, const dt_member *m, bool (*is)(char state)) {
    for (int r = 0; r < m->group->ranks; r++)
        if (r != m->rank && is_here(p, m, r) && is(state_of(p->identity[r].pid))) return r;
    return -1;
}

bool dt_peers_have_cores(const dt_peers *p, const dt_member *m) {
    int here = 0;
    for (int r = 0; r < m->group->ranks; r++) here += is_here(p, m, r);
    return here <= sysconf(_SC_NPROCESSORS_ONLN);
}

static dt_status *with_process(const dt_peers *p, int rank, const char *more, dt_status *s) {
    return p->identity ? dt_note(s, "rank %d is process %lld on %s%s", rank,
                                 (long long)p->identity[rank].pid, p->identity[rank].host, more)
                       : s;
}

dt_status *dt_peers_gone(const dt_peers *p, const dt_member *m, int peer, const dt_tag *tag,
                         size_t n) {
    return with_process(p, peer, "", dt_message_missing(m, peer, tag, n, false));
}

enum { LOOK_NS = 100000000, TELL_S = 5 };

static dt_status *check_peers(const dt_peers *p, const dt_member *m, const dt_awaited *a) {
    const int dead = find(p, m, is_dead);
    if (dead < 0) return NULL;
    dt_status *s = dt_peers_gone(p, m, dead, a->tag, a->n);
    return a->peer == dead
               ? s
               : dt_note(s, "rank %d waited for rank %d, which waits too", m->rank, a->peer);
}

static dt_status *late(const dt_peers *p, const dt_member *m, const dt_awaited *a) {
    const int stopped = find(p, m, is_stopped), who = stopped >= 0 ? stopped : a->peer;
    return with_process(p, who, stopped >= 0 ? ", which is stopped" : "",
                        dt_message_missing(m, who, a->tag, a->n, true));
}

/* Reports a long wait: names a rank on this machine that is stopped or, without one, the awaited
 * rank `peer`, which may be computing or waiting for a third rank. */
static void report_late(const dt_peers *p, const dt_member *m, int peer, double waited_s) {
    const int stopped = find(p, m, is_stopped), who = stopped >= 0 ? stopped : peer;
    dt_local_str line = {0};
    dt_str_printf(&line, "rank %d has waited %.0f s for rank %d", m->rank, waited_s, who);
    if (p->identity)
        dt_str_printf(&line, ", process %lld on %s", (long long)p->identity[who].pid,
                      p->identity[who].host);
    dt_str_printf(&line, ", which %s; it counts as lost after %g s (strategy.timeout)",
                  stopped >= 0 ? "is stopped" : "is silent", m->patience_s);
    m->say(m->user, dt_str_text(&line));
}

dt_status *dt_peers_wait(dt_peers *p, const dt_member *m, const dt_awaited *a) {
    const int64_t now = dt_now_ns();
    const double waited_s = (double)(now - a->since_ns) * 1e-9;
    if (waited_s > m->patience_s) return late(p, m, a);
    if (now - p->looked_ns < LOOK_NS) return NULL;
    p->looked_ns = now;
    DT_TRY(check_peers(p, m, a));
    if (waited_s < TELL_S) p->told_s = 0;
    if (!m->say || waited_s < (p->told_s > 0 ? 2 * p->told_s : TELL_S)) return NULL;
    p->told_s = waited_s;
    report_late(p, m, a->peer, waited_s);
    return NULL;
}

dt_status *dt_peers_meet(dt_peers *p, dt_member *m) {
    identity own = {.pid = getpid()};
    struct stat space;
    gethostname(own.host, sizeof own.host - 1);
    own.space = stat("/proc/self/ns/pid", &space) == 0 ? (uint64_t)space.st_ino : (uint64_t)m->rank;
    identity *all = dt_alloc((size_t)m->group->ranks * sizeof *all);
    m->of = "names of hosts";
    dt_status *s = dt_member_gather(m, &own, sizeof own, all);
    m->of = NULL;
    for (int r = 0; r < m->group->ranks; r++) all[r].host[sizeof all[r].host - 1] = '\0';
    p->identity = all;
    return s;
}

void dt_peers_release(dt_peers *p) {
    free(p->identity);
    p->identity = NULL;
}

void dt_peers_part(dt_peers *p, dt_member *m) {
    const char bye = 0;
    DT_LOCAL char *all = dt_alloc((size_t)m->group->ranks);
    if (!m->group->broken && p->identity) dt_status_free(dt_member_gather(m, &bye, 1, all));
    dt_peers_release(p);
}
