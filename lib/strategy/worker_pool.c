/* SPDX-License-Identifier: Apache-2.0 */
/* See worker_pool.h. */
#include "strategy/worker_pool.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "net/posts.h"
#include "net/servers.h"

enum { LOST_IN_A_ROW = 8, MOST_STARTS = 8 };

typedef struct peer {
    pid_t pid;
    /* late: its closure was given to another worker, and it has not answered since */
    bool there, busy, late;
    bool coming;   /* a program that was started, and has not said that it can compute */
    int starts;    /* of programs, one after the other, that ended before they could compute */
    bool told;     /* its silence was reported */
    bool answered; /* it has received the rows that it asked for */
    int64_t still; /* the pool's `still` at its last message with all values; 0: none yet */
    int64_t given_ns;
} peer;

/* A copy of the weights of one version. */
typedef struct weights_copy {
    int64_t version;
    bool all; /* with the values that never change */
    dt_shared *weights;
} weights_copy;

struct dt_worker_pool {
    dt_worker_pool_spec spec;
    dt_worker_launcher *launcher; /* NULL: workers are started separately */
    dt_carrier *carrier;
    dt_closures closures;
    peer *worker;       /* [how->workers] */
    dt_arrival *pushed; /* [n] waiting to be applied */
    int n_pushed, cap_pushed;
    weights_copy *copy; /* [n] oldest first */
    int n_copies, cap_copies;
    int64_t still; /* version of the values that never change; the owner may still set them */
    dt_shared *with_still; /* the last copy with them that was sent to a worker */
    bool set;              /* the owner may have set some of them */
    int64_t alone_ns;      /* when the last worker was lost, of those that may come again */
    bool failed;           /* no more closures can be computed */
    int64_t lost;          /* workers */
    int64_t lost_in_a_row; /* without a closure finished between them */
    double slowest_s; /* the longest time of an answer so far; reported silences do not count */
};

/* ---- workers ---- */

/* Whether a lost worker is replaced at once. */
static bool starts_again(const dt_worker_pool *c) { return c->spec.how->elastic && c->launcher; }

/* Workers that are started separately count from 1, as the ranks of their processes do. */
static void write_name(const dt_worker_pool *c, int w, dt_str *out) {
    if (c->launcher) dt_str_printf(out, "worker %d (process %lld)", w, (long long)c->worker[w].pid);
    else dt_str_printf(out, "worker %d", w + 1);
}

static dt_status *start_worker(dt_worker_pool *c, int w) {
    int link[DT_LAUNCHER_LINKS];
    pid_t pid = 0;
    DT_TRY(dt_worker_launcher_start(c->launcher, w, c->spec.how->servers, link, &pid));
    dt_servers_add(c->carrier, w, link);
    const bool program = c->spec.how->program;
    c->worker[w] = (peer){.pid = pid,
                          .there = true,
                          .coming = program,
                          .starts = c->worker[w].starts + program,
                          .given_ns = dt_now_ns()};
    return NULL;
}

static int count_workers(const dt_worker_pool *c, bool late) {
    int n = 0;
    for (int w = 0; w < c->spec.how->workers; w++)
        n += c->worker[w].there && c->worker[w].late <= late;
    return n;
}

static void tell_lost(const dt_worker_pool *c, int w, int closures, const char *how) {
    dt_str text = {0};
    write_name(c, w, &text);
    dt_str_printf(&text, " %s", how);
    if (closures) dt_str_printf(&text, "; its %s is given to another worker", c->spec.closure);
    if (starts_again(c)) dt_str_puts(&text, "; another one is started in its place");
    c->spec.warn(c->spec.user, dt_str_text(&text));
    dt_str_release(&text);
}

static dt_status *lose_worker(dt_worker_pool *c, int w, const char *how) {
    const int closures = dt_closures_lose(&c->closures, w);
    dt_carrier_drop(c->carrier, w);
    c->worker[w].there = c->worker[w].busy = c->worker[w].coming = false;
    c->lost++;
    tell_lost(c, w, closures, how);
    if (++c->lost_in_a_row > LOST_IN_A_ROW * (int64_t)c->spec.how->workers)
        return dt_fail(
            DT_E_WORKER_GONE, NULL,
            "%lld workers were lost one after the other, and none of them computed anything",
            (long long)c->lost_in_a_row);
    if (starts_again(c) && c->worker[w].starts < MOST_STARTS) return start_worker(c, w);
    if (count_workers(c, true) > 0 || (c->spec.how->elastic && !c->launcher)) {
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

/* Reports a worker that takes longer than any has taken so far, once for each closure. */
static void tell_silent(dt_worker_pool *c, int w, double silent_s) {
    enum { TELL_S = 5, TIMES = 3 };
    peer *x = &c->worker[w];
    dt_str line = {0};
    if (x->told || !c->spec.say || silent_s < TELL_S || silent_s < TIMES * c->slowest_s) return;
    x->told = true;
    write_name(c, w, &line);
    dt_str_printf(&line,
                  " has not answered for %.0f s; another one gets its %s after %g s "
                  "(strategy.timeout)",
                  silent_s, c->spec.closure, c->spec.how->timeout);
    c->spec.say(c->spec.user, dt_str_text(&line));
    dt_str_release(&line);
}

/* Gives the closures of workers that have not answered for long to others. */
static dt_status *look_for_late_ones(dt_worker_pool *c) {
    for (int w = 0; w < c->spec.how->workers; w++) {
        peer *x = &c->worker[w];
        if (x->coming && dt_seconds_since(x->given_ns) > c->spec.how->start_timeout)
            kill(x->pid, SIGKILL);
        if (!x->there || !x->busy || x->late) continue;
        const double silent_s = dt_seconds_since(x->given_ns);
        if (silent_s < c->spec.how->timeout) {
            tell_silent(c, w, silent_s);
            continue;
        }
        x->late = true;
        tell_lost(c, w, dt_closures_lose(&c->closures, w), "does not answer");
        /* a stopped process would keep its place for ever */
        if (starts_again(c)) {
            kill(x->pid, SIGKILL);
            x->late = false;
            x->given_ns = dt_now_ns();
        }
    }
    if (count_workers(c, false) > 0) return NULL;
    if (count_workers(c, true) == 0) /* they may connect again */
        return dt_seconds_since(c->alone_ns) < c->spec.how->start_timeout
                   ? NULL
                   : dt_fail(DT_E_WORKER_GONE, NULL,
                             "all %d workers are lost, and none has come back for %g s",
                             c->spec.how->workers, c->spec.how->start_timeout);
    return dt_fail(DT_E_WORKER_LATE, NULL, "no worker has answered for %g s; see strategy.timeout",
                   c->spec.how->timeout);
}

/* ---- weights ---- */

static void drop_copies(dt_worker_pool *c, int64_t below) {
    int kept = 0;
    for (int i = 0; i < c->n_copies; i++)
        if (c->copy[i].version < below) dt_shared_unref(c->copy[i].weights);
        else c->copy[kept++] = c->copy[i];
    c->n_copies = kept;
}

static dt_status *publish(dt_worker_pool *c, bool all) {
    dt_shared *weights = NULL;
    const bool in_order = c->spec.how->in_order;
    const dt_packed_variables *p = c->spec.packed;
    DT_TRY(dt_shared_new(&weights, in_order ? p->all : p->slices.bytes));
    DT_GROW(c->copy, c->cap_copies, c->n_copies + 1);
    c->copy[c->n_copies++] = (weights_copy){c->closures.version, all, weights};
    return dt_packed_write(p,
                           in_order ? DT_SENT_BY_ROWS
                           : all    ? DT_SENT_ONCE
                                    : DT_SENT_EACH_TIME,
                           weights->data);
}

static dt_shared *copy_of(const dt_worker_pool *c, int64_t version, bool all) {
    for (int i = 0; i < c->n_copies; i++)
        if (c->copy[i].version == version && c->copy[i].all >= all) return c->copy[i].weights;
    return NULL;
}

/* Records that the worker gets this copy with the values that never change. If they differ from the
 * last ones, the other workers need them again. */
static void remember_still(dt_worker_pool *c, int w, dt_shared *copy) {
    if (c->with_still == copy) return;
    if (c->with_still && dt_packed_differs(c->spec.packed, c->with_still->data))
        c->worker[w].still = ++c->still;
    dt_shared_unref(c->with_still);
    c->with_still = dt_shared_ref(copy);
}

/* Finds the copy of the weights that the worker gets. The current version is copied when first
 * needed. */
static dt_status *find_copy(dt_worker_pool *c, int w, int64_t version, bool all, dt_shared **out) {
    if (!(*out = copy_of(c, version, all))) DT_TRY(publish(c, all || c->spec.how->in_order));
    *out = copy_of(c, version, all);
    if (all) remember_still(c, w, *out);
    return NULL;
}

/* Whether the worker lacks values that never change. */
static bool lacks_still(dt_worker_pool *c, int w) {
    if (c->spec.packed->slices.still_bytes == 0) return false;
    if (c->set && (!c->with_still || dt_packed_differs(c->spec.packed, c->with_still->data)))
        c->still++;
    c->set = false;
    const bool lacks = c->worker[w].still != c->still;
    c->worker[w].still = c->still;
    return lacks;
}

void dt_worker_pool_forget(dt_worker_pool *c) {
    drop_copies(c, INT64_MAX);
    c->set = true;
}

/* ---- closures ---- */

static dt_status *give_one(dt_worker_pool *c, int w, const dt_closure *x) {
    const bool asks = c->spec.asks(c->spec.user, x->number), all = !asks && lacks_still(c, w);
    peer *k = &c->worker[w];
    dt_shared *weights = NULL;
    dt_frame m = {.kind = asks  ? DT_FRAME_ASSIGN
                          : all ? DT_FRAME_WORK_ALL
                                : DT_FRAME_WORK,
                  .number = x->number,
                  .version = x->version};
    if (!asks) DT_TRY(find_copy(c, w, x->version, all, &weights));
    const void *more = c->spec.describe ? c->spec.describe(c->spec.user, x->number, &m.more) : NULL;
    k->busy = true;
    k->told = false;
    k->answered = !asks;
    k->given_ns = dt_now_ns();
    dt_carrier_give(c->carrier, w, &m, weights, more);
    return NULL;
}

static bool is_idle(const peer *x) { return x->there && !x->busy && !x->coming; }

static dt_status *give_out(dt_worker_pool *c) {
    dt_closure x;
    for (int w = 0; w < c->spec.how->workers; w++)
        if (is_idle(&c->worker[w]) && dt_closures_give(&c->closures, w, &x))
            DT_TRY(give_one(c, w, &x));
    return NULL;
}

static void release_arrival(dt_worker_pool *c, const dt_arrival *a) {
    dt_carrier_recycle(c->carrier, a->slices);
    free(a->more);
}

dt_status *dt_worker_pool_failure(const dt_arrival *a, const char *closure) {
    dt_status *s =
        dt_failure_read(a->more, a->message.more, DT_E_WORKERS_DISAGREE, "a worker failed");
    return dt_note(s, "worker %d, %s %lld", a->worker, closure, (long long)a->message.number + 1);
}

static dt_status *give_rows(dt_worker_pool *c, const dt_arrival *a, int64_t version, dt_str *rows) {
    const bool all = lacks_still(c, a->worker);
    dt_shared *weights = NULL;
    DT_TRY(find_copy(c, a->worker, version, all, &weights));
    DT_TRY(dt_rows_answer(c->spec.packed, c->spec.how->in_order ? weights->data : NULL, a->more,
                          a->message.more, rows));
    c->worker[a->worker].answered = true;
    c->worker[a->worker].given_ns = dt_now_ns();
    dt_carrier_give(c->carrier, a->worker,
                    &(dt_frame){.kind = all ? DT_FRAME_WORK_ALL : DT_FRAME_WORK,
                                .number = a->message.number,
                                .version = version,
                                .more = (int64_t)rows->size},
                    weights, dt_str_text(rows));
    return NULL;
}

/* Drops the worker, and sends it the reason if it was started separately. Takes the error. */
static dt_status *refuse_worker(dt_worker_pool *c, int w, dt_status *why) {
    dt_str how = {0};
    dt_str_printf(&how, "was refused: %s", dt_status_text(why));
    dt_carrier_refuse(c->carrier, w, why);
    dt_status *s = lose_worker(c, w, dt_str_text(&how));
    dt_str_release(&how);
    return s;
}

/* A worker is dropped if its answer is not the result of its closure. */
static dt_status *take_push(dt_worker_pool *c, const dt_arrival *a) {
    const bool failed = a->message.kind == DT_FRAME_FAILED,
               whole = failed || c->spec.is_whole(c->spec.user, a);
    int64_t version;
    dt_status *s = NULL;
    if (whole && dt_closures_push(&c->closures, a->worker, a->message.number)) {
        if (!failed) {
            DT_GROW(c->pushed, c->cap_pushed, c->n_pushed + 1);
            c->pushed[c->n_pushed++] = *a;
            return NULL;
        }
        dt_closures_drop(&c->closures, a->message.number);
        s = c->spec.failed(c->spec.user, a);
    } else if (!whole && dt_closures_pull(&c->closures, a->worker, a->message.number, &version))
        s = refuse_worker(
            c, a->worker,
            dt_fail(DT_E_WORKERS_DISAGREE, NULL, "what it sent is not what it was to compute"));
    release_arrival(c, a);
    return s;
}

static dt_status *answer_request(dt_worker_pool *c, const dt_arrival *a) {
    dt_str rows = {0};
    int64_t version = 0;
    dt_status *s = NULL;
    if (c->worker[a->worker].answered)
        s = dt_fail(DT_E_WORKERS_DISAGREE, NULL, "it asks for rows that it does not need");
    else if (dt_closures_pull(&c->closures, a->worker, a->message.number, &version))
        s = give_rows(c, a, version, &rows);
    else c->worker[a->worker].busy = false; /* another worker has received its closure */
    dt_str_release(&rows);
    free(a->more);
    return s && dt_status_number(s) == DT_E_WORKERS_DISAGREE ? refuse_worker(c, a->worker, s) : s;
}

/* A program that the pool has started can compute now. The job may have changed since this one
 * began. */
static dt_status *welcome(dt_worker_pool *c, const dt_arrival *a) {
    peer *x = &c->worker[a->worker];
    const char *own = c->spec.how->fingerprint;
    const bool same = own && x->coming && a->message.more == (int64_t)strlen(own) &&
                      memcmp(a->more, own, strlen(own)) == 0;
    dt_status *s = NULL;
    if (same) {
        x->coming = false;
        x->starts = 0;
    } else {
        x->starts = MOST_STARTS; /* the next one would have the same job */
        s = refuse_worker(c, a->worker,
                          dt_fail(DT_E_WORKERS_DISAGREE, NULL,
                                  "the coordinator has %s, it has %.200s", own ? own : "no job",
                                  a->more));
    }
    free(a->more);
    return s;
}

static dt_status *take_arrival(dt_worker_pool *c, const dt_arrival *a) {
    if (a->came) {
        c->worker[a->worker] = (peer){.there = true};
        return NULL;
    }
    if (a->gone) return c->worker[a->worker].there ? lose_worker(c, a->worker, "was lost") : NULL;
    peer *x = &c->worker[a->worker];
    if (a->message.kind == DT_FRAME_HELLO) return welcome(c, a);
    if (a->message.kind == DT_FRAME_WANT) {
        x->late = false;
        return answer_request(c, a);
    }
    const double took_s = dt_seconds_since(x->given_ns);
    if (!x->told && took_s > c->slowest_s) c->slowest_s = took_s;
    x->busy = x->late = false;
    return take_push(c, a);
}

dt_closures *dt_worker_pool_closures(dt_worker_pool *c) { return &c->closures; }

dt_status *dt_worker_pool_wait(dt_worker_pool *c, int64_t deadline_ns, bool *came) {
    dt_arrival a;
    dt_status *s = give_out(c);
    *came = !s && dt_carrier_next(c->carrier, deadline_ns, &a);
    /* an arrival is applied before its worker pulls again, which keeps weights less stale */
    if (*came) s = take_arrival(c, &a);
    if (!s) s = look_for_late_ones(c); /* also if the others answer without a pause */
    c->failed |= s != NULL;
    return s;
}

bool dt_worker_pool_ready(dt_worker_pool *c, dt_arrival *out) {
    const dt_closure *x = dt_closures_ready(&c->closures);
    for (int i = 0; x && i < c->n_pushed; i++)
        if (c->pushed[i].message.number == x->number) {
            *out = c->pushed[i];
            c->pushed[i] = c->pushed[--c->n_pushed];
            return true;
        }
    return false;
}

dt_status *dt_worker_pool_finish(dt_worker_pool *c, const dt_arrival *a, bool updated,
                                 int64_t *stale) {
    int64_t own = 0;
    if (updated) own = dt_closures_applied(&c->closures, a->message.number);
    else dt_closures_drop(&c->closures, a->message.number);
    if (stale) *stale = own;
    c->lost_in_a_row = 0;
    release_arrival(c, a);
    drop_copies(c, dt_closures_oldest(&c->closures));
    return updated && c->spec.how->in_order ? publish(c, true) : NULL;
}

int dt_worker_pool_workers(const dt_worker_pool *c) { return count_workers(c, true); }

int64_t dt_worker_pool_lost(const dt_worker_pool *c) { return c->lost; }

/* ---- opening ---- */

/* The main function of a worker that the pool started. The launcher reports that the coordinator is
 * gone. */
static int worker_main(int worker, const int *fd, void *user) {
    const dt_worker_pool *c = user;
    dt_worker_link link = dt_links_join(worker, fd, &c->spec.packed->slices);
    dt_status *s = dt_worker_serve(&link, c->spec.packed, &c->spec.body);
    const int code = s ? dt_status_code(s) : 0;
    if (s && dt_status_number(s) != DT_E_WORKER_GONE)
        fprintf(stderr, "worker %d: %s\n", worker, dt_status_text(s));
    dt_status_free(s);
    return code;
}

/* The address and the settings with which coordinator and workers meet. key: memory for the key. */
static dt_status *place_of(const dt_worker_pool_spec *q, dt_run_key *key, dt_posts_spec *out) {
    const dt_launch *l = &q->how->launch;
    bool has_key = false, open = false;
    if (!l->address) return dt_launch_no_address(l, "processes", "the coordinator");
    DT_TRY(dt_launch_secret(l, key, &has_key, &open));
    *out = (dt_posts_spec){.address = l->address[0],
                           .interface = dt_launch_interface(),
                           .key = has_key ? key : NULL,
                           .open = open,
                           .silence_s = 2 * q->how->timeout,
                           .slices = &q->packed->slices,
                           .fingerprint = q->how->fingerprint ? q->how->fingerprint : "",
                           .warn = q->warn,
                           .user = q->user};
    return NULL;
}

/* Whether the run waits for this worker before it begins. */
static bool is_missing(const dt_worker_pool *c, int w) {
    return c->launcher ? c->worker[w].coming : !c->worker[w].there;
}

static int count_missing(const dt_worker_pool *c) {
    int n = 0;
    for (int w = 0; w < c->spec.how->workers; w++) n += is_missing(c, w);
    return n;
}

/* "workers 1 and 3 of 4; start worker 1 at node1:2222 by the same command with --rank 1" */
static void describe_missing(const dt_worker_pool *c, dt_str *out) {
    const dt_launch *l = &c->spec.how->launch;
    const int n = count_missing(c), from = !c->launcher;
    int k = 0, first = -1;
    if (n == 0) {
        dt_str_printf(out, "tasks of type ps, of which %d of %d are there",
                      dt_posts_guests(c->carrier), l->ps);
        return;
    }
    dt_str_puts(out, n == 1 ? "worker" : "workers");
    for (int w = 0; w < c->spec.how->workers; w++)
        if (is_missing(c, w)) {
            dt_str_printf(out, "%s%d", k == 0 ? " " : k == n - 1 ? " and " : ", ", w + from);
            first = first < 0 ? w + from : first;
            k++;
        }
    dt_str_printf(out, " of %d", c->spec.how->workers);
    if (c->launcher) {
        dt_str_puts(out, ", which read the job and its data");
        return;
    }
    dt_str_printf(out, "; start worker %d", first);
    if (l->addresses > 1) dt_str_printf(out, " at %s", l->address[first]);
    dt_str_printf(out, " by the same command with %s%d", l->start, first - l->first);
}

/* Includes the processes that only wait for the end: one that connects after it would wait in
 * vain. */
static bool all_are_there(const dt_worker_pool *c) {
    return count_missing(c) == 0 &&
           (c->launcher || dt_posts_guests(c->carrier) >= c->spec.how->launch.ps);
}

static dt_status *wait_for_workers(dt_worker_pool *c) {
    enum { LOOK_NS = 500000000, REPORT_S = 5 };
    const int64_t since = dt_now_ns();
    int64_t said = since;
    while (!all_are_there(c)) {
        dt_str who = {0};
        dt_arrival a;
        dt_status *s = NULL;
        if (dt_carrier_next(c->carrier, dt_now_ns() + LOOK_NS, &a)) s = take_arrival(c, &a);
        const bool late = dt_seconds_since(since) > c->spec.how->start_timeout;
        if (s || (!late && dt_seconds_since(said) < REPORT_S) || all_are_there(c)) {
            DT_TRY(s);
            continue;
        }
        said = dt_now_ns();
        dt_str_puts(&who, "waiting for ");
        describe_missing(c, &who);
        if (late)
            s = dt_fail(DT_E_WORKER_LATE, NULL, "the coordinator has waited %g s for %s",
                        c->spec.how->start_timeout, dt_str_text(&who) + strlen("waiting for "));
        else if (c->spec.say) c->spec.say(c->spec.user, dt_str_text(&who));
        dt_str_release(&who);
        DT_TRY(s);
    }
    return NULL;
}

static dt_status *start_all(dt_worker_pool *c) {
    const dt_worker_pool_spec *q = &c->spec;
    DT_TRY(dt_worker_launcher_open(&c->launcher,
                                   &(dt_worker_launcher_spec){.program = q->how->program,
                                                              .input = q->how->input,
                                                              .workers = q->how->workers,
                                                              .body = worker_main,
                                                              .user = c,
                                                              .last_words = q->last_words}));
    DT_TRY(dt_servers_open(&c->carrier, &q->packed->slices, q->how->workers));
    for (int w = 0; w < q->how->workers; w++) DT_TRY(start_worker(c, w));
    return q->how->program ? wait_for_workers(c) : NULL;
}

static dt_status *meet_all(dt_worker_pool *c) {
    dt_run_key key;
    dt_posts_spec at;
    DT_TRY(place_of(&c->spec, &key, &at));
    DT_TRY(dt_posts_open(&c->carrier, &at, c->spec.how->workers, c->spec.how->launch.ps));
    return wait_for_workers(c);
}

dt_status *dt_worker_pool_open(dt_worker_pool **out, const dt_worker_pool_spec *spec) {
    dt_worker_pool *c = dt_alloc(sizeof *c);
    *c = (dt_worker_pool){
        .spec = *spec,
        .set = true,
        .closures = {.staleness = spec->how->staleness, .in_order = spec->how->in_order}};
    c->worker = dt_alloc((size_t)spec->how->workers * sizeof *c->worker);
    dt_status *s = spec->how->launch.workers ? meet_all(c) : start_all(c);
    c->failed = s != NULL;
    if (s) dt_worker_pool_close(c);
    else *out = c;
    return s;
}

void dt_worker_pool_close(dt_worker_pool *c) {
    if (!c) return;
    for (int i = 0; i < c->n_pushed; i++) release_arrival(c, &c->pushed[i]);
    drop_copies(c, INT64_MAX);
    dt_shared_unref(c->with_still);
    dt_carrier_close(c->carrier, !c->failed);
    dt_worker_launcher_close(c->launcher);
    dt_closures_release(&c->closures);
    free(c->pushed);
    free(c->copy);
    free(c->worker);
    free(c);
}

/* ---- the worker's side ---- */

/* A worker that the pool has started: its links are there, and it says that it can compute. Its
 * standard error is the coordinator's, so one of them reports for all. */
static dt_status *join_inherited(const dt_worker_pool_spec *q, dt_worker_link *link) {
    const dt_inherited *x = &q->how->launch.inherited;
    const char *fingerprint = q->how->fingerprint;
    if (x->links != q->how->servers)
        return dt_fail(DT_E_WORKERS_DISAGREE, NULL,
                       "the coordinator has %d parameter servers, and this job %d", x->links,
                       q->how->servers);
    *link = dt_links_join(x->worker, x->link, &q->packed->slices);
    if (x->worker == 0) link->wait = (dt_link_wait){.say = q->say, .user = q->user};
    dt_inherited_serve(x);
    return dt_link_push(link,
                        &(dt_frame){.kind = DT_FRAME_HELLO, .more = (int64_t)strlen(fingerprint)},
                        NULL, fingerprint);
}

static dt_status *join_post(const dt_worker_pool_spec *q, dt_worker_link *link) {
    const dt_launch *l = &q->how->launch;
    dt_run_key key;
    dt_posts_spec at;
    DT_TRY(place_of(q, &key, &at));
    return dt_post_connect(link, &at, l->task == DT_TASK_PS ? DT_POST_GUEST : l->rank - 1,
                           &(dt_link_wait){q->how->start_timeout, q->say, q->user});
}

dt_status *dt_worker_pool_serve(const dt_worker_pool_spec *q) {
    dt_worker_link link = {0};
    dt_status *s =
        q->how->launch.inherited.workers ? join_inherited(q, &link) : join_post(q, &link);
    if (!s) s = dt_worker_serve(&link, q->packed, &q->body);
    dt_link_close(&link);
    return s;
}
