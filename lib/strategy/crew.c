/* SPDX-License-Identifier: Apache-2.0 */
/* See crew.h. */
#include "strategy/crew.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"

enum { LOST_IN_A_ROW = 8 };

typedef struct colleague {
    pid_t pid;
    bool there, busy, late;      /* late: its closure was given to another, and it has not answered since */
    int64_t given_ns;
} colleague;

/* A copy of the weights of one version. */
typedef struct edition {
    int64_t version;
    dt_shared *weights;
} edition;

struct dt_crew {
    dt_crew_spec spec;
    dt_nursery *nursery;
    dt_servers *servers;
    dt_closures closures;
    colleague *worker;           /* [how->workers] */
    dt_arrival *pushed;          /* [n] waiting to be applied */
    int n_pushed, cap_pushed;
    edition *edition;            /* [n] oldest first */
    int n_editions, cap_editions;
    int64_t lost;                /* workers */
    int64_t lost_in_a_row;       /* without a closure finished between them */
};

/* ---- workers ---- */

static dt_status *start_worker(dt_crew *c, int w)
{
    int link[DT_NURSERY_LINKS];
    pid_t pid = 0;
    DT_TRY(dt_nursery_start(c->nursery, w, c->spec.how->servers, link, &pid));
    dt_servers_add(c->servers, w, link);
    c->worker[w] = (colleague){ .pid = pid, .there = true };
    return NULL;
}

static int count_workers(const dt_crew *c, bool late)
{
    int n = 0;
    for (int w = 0; w < c->spec.how->workers; w++)
        n += c->worker[w].there && c->worker[w].late <= late;
    return n;
}

static void tell_lost(const dt_crew *c, int w, int closures, const char *how)
{
    dt_str text = { 0 };
    dt_str_printf(&text, "worker %d (process %lld) %s", w, (long long)c->worker[w].pid, how);
    if (closures)
        dt_str_printf(&text, "; its %s is given to another worker", c->spec.closure);
    dt_str_puts(&text, c->spec.how->elastic ? "; another one is started in its place" : "");
    c->spec.warn(c->spec.user, dt_str_text(&text));
    dt_str_release(&text);
}

static dt_status *lose_worker(dt_crew *c, int w)
{
    const int closures = dt_closures_lose(&c->closures, w);
    dt_servers_drop(c->servers, w);
    c->worker[w].there = c->worker[w].busy = false;
    c->lost++;
    tell_lost(c, w, closures, "was lost");
    if (++c->lost_in_a_row > LOST_IN_A_ROW * (int64_t)c->spec.how->workers)
        return dt_fail(DT_E_WORKER_GONE, NULL, "%lld workers were lost one after the other, and none of them computed anything", (long long)c->lost_in_a_row);
    if (c->spec.how->elastic)
        return start_worker(c, w);
    if (count_workers(c, true) > 0)
        return NULL;
    return dt_fail(DT_E_WORKER_GONE, NULL, "all %d workers are lost; elastic: true starts lost workers again", c->spec.how->workers);
}

/* Those that have not answered for long: others get their closures. */
static dt_status *look_for_late_ones(dt_crew *c)
{
    for (int w = 0; w < c->spec.how->workers; w++) {
        colleague *x = &c->worker[w];
        if (!x->there || !x->busy || x->late || dt_seconds_since(x->given_ns) < c->spec.how->timeout)
            continue;
        x->late = true;
        tell_lost(c, w, dt_closures_lose(&c->closures, w), "does not answer");
        if (c->spec.how->elastic) { /* one that is stopped would hold its place for ever */
            kill(x->pid, SIGKILL);
            x->late = false;
            x->given_ns = dt_now_ns();
        }
    }
    if (count_workers(c, false) > 0)
        return NULL;
    return dt_fail(DT_E_WORKER_LATE, NULL, "no worker has answered for %g s; see strategy.timeout", c->spec.how->timeout);
}

/* ---- weights ---- */

static void drop_editions(dt_crew *c, int64_t below)
{
    int kept = 0;
    for (int i = 0; i < c->n_editions; i++)
        if (c->edition[i].version < below)
            dt_shared_unref(c->edition[i].weights);
        else
            c->edition[kept++] = c->edition[i];
    c->n_editions = kept;
}

static dt_status *publish(dt_crew *c)
{
    dt_shared *weights = NULL;
    DT_TRY(dt_shared_new(&weights, c->spec.slices->bytes));
    DT_GROW(c->edition, c->cap_editions, c->n_editions + 1);
    c->edition[c->n_editions++] = (edition){ c->closures.version, weights };
    return c->spec.pack(c->spec.user, weights->data);
}

/* Of the version at hand they are copied when first asked for. */
static dt_status *find_edition(dt_crew *c, int64_t version, dt_shared **out)
{
    if (c->n_editions == 0 || c->edition[c->n_editions - 1].version < c->closures.version)
        DT_TRY(publish(c));
    for (int i = 0; i < c->n_editions; i++)
        if (c->edition[i].version == version)
            *out = c->edition[i].weights;
    return NULL;
}

void dt_crew_forget(dt_crew *c)
{
    drop_editions(c, INT64_MAX);
}

/* ---- closures ---- */

static dt_status *give_out(dt_crew *c)
{
    dt_closure x;
    dt_shared *weights = NULL;
    for (int w = 0; w < c->spec.how->workers; w++) {
        colleague *k = &c->worker[w];
        if (!k->there || k->busy || !dt_closures_give(&c->closures, w, &x))
            continue;
        DT_TRY(find_edition(c, x.version, &weights));
        dt_parcel m = { .kind = DT_PARCEL_WORK, .number = x.number, .version = x.version };
        const void *more = c->spec.describe ? c->spec.describe(c->spec.user, x.number, &m.more) : NULL;
        k->busy = true;
        k->given_ns = dt_now_ns();
        dt_servers_give(c->servers, w, &m, weights, more);
    }
    return NULL;
}

static void release_arrival(dt_crew *c, const dt_arrival *a)
{
    dt_servers_recycle(c->servers, a->slices);
    free(a->more);
}

dt_status *dt_crew_failure(const dt_arrival *a, const char *closure)
{
    int32_t number = DT_E_INTERNAL;
    if (a->message.more >= (int64_t)sizeof number)
        memcpy(&number, a->more, sizeof number);
    dt_status *s = dt_fail((dt_error)number, NULL, "%s", a->message.more > (int64_t)sizeof number ? a->more + sizeof number : "a worker failed");
    return dt_note(s, "worker %d, %s %lld", a->worker, closure, (long long)a->message.number + 1);
}

static dt_status *take_push(dt_crew *c, const dt_arrival *a)
{
    const bool failed = a->message.kind == DT_PARCEL_FAILED;
    dt_status *s = NULL;
    if ((failed || c->spec.is_whole(c->spec.user, a)) && dt_closures_push(&c->closures, a->worker, a->message.number)) {
        if (!failed) {
            DT_GROW(c->pushed, c->cap_pushed, c->n_pushed + 1);
            c->pushed[c->n_pushed++] = *a;
            return NULL;
        }
        dt_closures_drop(&c->closures, a->message.number);
        s = c->spec.failed(c->spec.user, a);
    }
    release_arrival(c, a);
    return s;
}

static dt_status *take_arrival(dt_crew *c, const dt_arrival *a)
{
    if (a->gone)
        return c->worker[a->worker].there ? lose_worker(c, a->worker) : NULL;
    c->worker[a->worker].busy = c->worker[a->worker].late = false;
    return take_push(c, a);
}

dt_closures *dt_crew_closures(dt_crew *c)
{
    return &c->closures;
}

dt_status *dt_crew_wait(dt_crew *c, int64_t deadline_ns, bool *came)
{
    dt_arrival a;
    DT_TRY(give_out(c));
    *came = dt_servers_next(c->servers, deadline_ns, &a);
    return *came ? take_arrival(c, &a) : look_for_late_ones(c); /* what came is applied before its worker pulls again: less is stale */
}

bool dt_crew_ready(dt_crew *c, dt_arrival *out)
{
    const dt_closure *x = dt_closures_ready(&c->closures);
    for (int i = 0; x && i < c->n_pushed; i++)
        if (c->pushed[i].message.number == x->number) {
            *out = c->pushed[i];
            c->pushed[i] = c->pushed[--c->n_pushed];
            return true;
        }
    return false;
}

dt_status *dt_crew_finish(dt_crew *c, const dt_arrival *a, bool updated, int64_t *stale)
{
    int64_t own = 0;
    if (updated)
        own = dt_closures_applied(&c->closures, a->message.number);
    else
        dt_closures_drop(&c->closures, a->message.number);
    if (stale)
        *stale = own;
    c->lost_in_a_row = 0;
    release_arrival(c, a);
    drop_editions(c, dt_closures_oldest(&c->closures));
    return updated && c->spec.how->in_order ? publish(c) : NULL;
}

int dt_crew_workers(const dt_crew *c)
{
    return count_workers(c, true);
}

int64_t dt_crew_lost(const dt_crew *c)
{
    return c->lost;
}

/* ---- opening ---- */

static dt_status *start_all(dt_crew *c)
{
    const dt_crew_spec *q = &c->spec;
    DT_TRY(dt_nursery_open(&c->nursery, q->body, q->body_user, q->last_words));
    DT_TRY(dt_servers_open(&c->servers, q->slices, q->how->workers));
    for (int w = 0; w < q->how->workers; w++)
        DT_TRY(start_worker(c, w));
    return NULL;
}

dt_status *dt_crew_open(dt_crew **out, const dt_crew_spec *spec)
{
    dt_crew *c = dt_alloc(sizeof *c);
    *c = (dt_crew){ .spec = *spec, .closures = { .staleness = spec->how->staleness, .in_order = spec->how->in_order } };
    c->worker = dt_alloc((size_t)spec->how->workers * sizeof *c->worker);
    dt_status *s = start_all(c);
    if (s)
        dt_crew_close(c);
    else
        *out = c;
    return s;
}

void dt_crew_close(dt_crew *c)
{
    if (!c)
        return;
    for (int i = 0; i < c->n_pushed; i++)
        release_arrival(c, &c->pushed[i]);
    drop_editions(c, INT64_MAX);
    dt_servers_close(c->servers);
    dt_nursery_close(c->nursery);
    dt_closures_release(&c->closures);
    free(c->pushed);
    free(c->edition);
    free(c->worker);
    free(c);
}

/* ---- the worker's side ---- */

dt_status *dt_link_push_failure(const int *link, const dt_extents *slices, const dt_parcel *work, dt_status *bad)
{
    dt_str text = { 0 };
    const int32_t number = (int32_t)dt_status_number(bad);
    dt_str_printf(&text, "    %s", dt_status_text(bad));
    char *more = dt_str_take(&text);
    memcpy(more, &number, sizeof number);
    dt_status_free(bad);
    bad = dt_link_push(link, slices, &(dt_parcel){ .kind = DT_PARCEL_FAILED, .number = work->number, .more = (int64_t)strlen(more + 4) + 4 }, NULL, more);
    free(more);
    return bad;
}
