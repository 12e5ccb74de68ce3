/* SPDX-License-Identifier: Apache-2.0 */
/* Starts workers of a pool, detects lost and late ones, and replaces them. */
#include <signal.h>

#include "net/servers.h"
#include "strategy/worker_pool_impl.h"

enum { LOST_IN_A_ROW = 8 };

/* Whether lost workers are replaced. */
static bool starts_again(const dt_worker_pool *c) { return c->spec.how->elastic && c->launcher; }

/* Appends the worker's name. Workers that were started separately are numbered from 1, like the
 * ranks of their processes. */
static void write_name(const dt_worker_pool *c, int w, dt_str *out) {
    if (c->launcher) dt_str_printf(out, "worker %d (process %lld)", w, (long long)c->worker[w].pid);
    else dt_str_printf(out, "worker %d", w + 1);
}

dt_status *dt_worker_pool_start(dt_worker_pool *c, int w) {
    int link[DT_LAUNCHER_LINKS];
    pid_t pid = 0;
    DT_TRY(dt_worker_launcher_start(c->launcher, w, c->spec.how->servers, link, &pid));
    dt_servers_add(c->carrier, w, link);
    const bool program = c->spec.how->program;
    c->worker[w] = (dt_pool_peer){.pid = pid,
                                  .there = true,
                                  .coming = program,
                                  .starts = c->worker[w].starts + program,
                                  .given_ns = dt_now_ns()};
    return NULL;
}

int dt_worker_pool_count(const dt_worker_pool *c, bool late) {
    int n = 0;
    for (int w = 0; w < c->spec.how->workers; w++)
        n += c->worker[w].there && c->worker[w].late <= late;
    return n;
}

static void report_lost(const dt_worker_pool *c, int w, int closures, const char *how) {
    dt_local_str text = {0};
    write_name(c, w, &text);
    dt_str_printf(&text, " %s", how);
    if (closures) dt_str_printf(&text, "; its %s is given to another worker", c->spec.closure);
    if (starts_again(c)) dt_str_puts(&text, "; another one is started in its place");
    c->spec.warn(c->spec.user, dt_str_text(&text));
}

dt_status *dt_worker_pool_lose(dt_worker_pool *c, int w, const char *how) {
    const int closures = dt_closures_lose(&c->closures, w);
    dt_carrier_drop(c->carrier, w);
    c->worker[w].there = c->worker[w].busy = c->worker[w].coming = false;
    c->lost++;
    report_lost(c, w, closures, how);
    if (++c->lost_in_a_row > LOST_IN_A_ROW * (int64_t)c->spec.how->workers)
        return dt_fail(
            DT_E_WORKER_GONE, NULL,
            "%lld workers were lost one after the other, and none of them computed anything",
            (long long)c->lost_in_a_row);
    if (starts_again(c) && c->worker[w].starts < DT_POOL_STARTS) return dt_worker_pool_start(c, w);
    if (dt_worker_pool_count(c, true) > 0 || (c->spec.how->elastic && !c->launcher)) {
        c->alone_ns = dt_now_ns();
        return NULL;
    }
    if (starts_again(c))
        return dt_fail(DT_E_WORKER_GONE, NULL,
                       "all %d workers are lost, and those started in their place cannot compute",
                       c->spec.how->workers);
    return dt_fail(DT_E_WORKER_GONE, NULL,
                   "all %d workers are lost; elastic: true starts lost workers again",
                   c->spec.how->workers);
}

/* Reports a worker that takes much longer than any answer so far; at most once per closure. */
static void report_silent(dt_worker_pool *c, int w, double silent_s) {
    enum { TELL_S = 5, TIMES = 3 };
    dt_pool_peer *x = &c->worker[w];
    dt_local_str line = {0};
    if (x->reported || !c->spec.say || silent_s < TELL_S || silent_s < TIMES * c->slowest_s) return;
    x->reported = true;
    write_name(c, w, &line);
    dt_str_printf(&line,
                  " has not answered for %.0f s; another one gets its %s after %g s "
                  "(strategy.timeout)",
                  silent_s, c->spec.closure, c->spec.how->timeout);
    c->spec.say(c->spec.user, dt_str_text(&line));
}

dt_status *dt_worker_pool_check_late(dt_worker_pool *c) {
    for (int w = 0; w < c->spec.how->workers; w++) {
        dt_pool_peer *x = &c->worker[w];
        if (x->coming && dt_seconds_since(x->given_ns) > c->spec.how->start_timeout)
            kill(x->pid, SIGKILL);
        if (!x->there || !x->busy || x->late) continue;
        const double silent_s = dt_seconds_since(x->given_ns);
        if (silent_s < c->spec.how->timeout) {
            report_silent(c, w, silent_s);
            continue;
        }
        x->late = true;
        report_lost(c, w, dt_closures_lose(&c->closures, w), "does not answer");
        /* a stopped process is ended, because otherwise no other worker could replace it */
        if (starts_again(c)) {
            kill(x->pid, SIGKILL);
            x->late = false;
            x->given_ns = dt_now_ns();
        }
    }
    if (dt_worker_pool_count(c, false) > 0) return NULL;
    /* all workers are lost, but those that are started separately may connect again */
    if (dt_worker_pool_count(c, true) == 0)
        return dt_seconds_since(c->alone_ns) < c->spec.how->start_timeout
                   ? NULL
                   : dt_fail(DT_E_WORKER_GONE, NULL,
                             "all %d workers are lost, and none has come back for %g s",
                             c->spec.how->workers, c->spec.how->start_timeout);
    return dt_fail(DT_E_WORKER_LATE, NULL, "no worker has answered for %g s; see strategy.timeout",
                   c->spec.how->timeout);
}
