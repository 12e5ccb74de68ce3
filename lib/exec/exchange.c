/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exchanges between workers that overlap with computation. The gradients of a step are divided into
 * buckets, in the order in which the backward pass computes them. The exchange of a bucket begins
 * when the last task that computes a part of it has ended, and the exchange of the bucket before it
 * is done:
 *
 *     lanes      | gradients of layer 3 | of layer 2 | of layer 1 |         wait        | updates |
 *     thread                            [   bucket 0   ][   bucket 1   ][  bucket 2   ]
 *
 * The order depends only on sizes and the graph, which are the same on all workers. So all workers
 * make the same exchanges in the same order, even if some are late. A bucket is so large that the
 * cost of a message is small in comparison. With fewer than two buckets nothing overlaps: the lane
 * that reaches the exchange then runs it, and no other thread has to wake.
 *
 * The thread may write results before the segment of their nodes begins, so their memory is
 * reserved earlier (dt_exchanges_keep_memory).
 */
#include "exec/exchange.h"

#include <pthread.h>
#include <stdlib.h>

#include "exec/instructions.h"
#include "net/fabric.h"
#include "op/workers.h"

enum { TRACK_ROOM = 1 << 12 };

struct dt_exchanges {
    int n;
    dt_exchange *exchange; /* [n] the exchanges, in the order in which all workers make them */
    /* [nodes] index in `exchange` of the exchange that transfers the node's value; -1: it is not
     * exchanged */
    int *of;
    /* beside: a separate thread should run the exchanges; runs: that thread has been started */
    bool beside, runs;
    bool ends;
    pthread_t thread;
    /* counts the runs that the separate thread takes part in; dt_exchanges_close adds 1 to end the
     * thread */
    _Atomic uint32_t begun;
    _Atomic uint32_t fed; /* counts, over all runs, the exchanges whose inputs have been computed */
    /* number of exchanges that are done in this run; after a failure those that are skipped count,
     * too */
    _Atomic uint32_t done;
    dt_track *track;
    int wait_mark;
};

/* ---- the list of exchanges ---- */

/* Returns, for each node, the number of edges on the longest path to it from a node without inputs:
 * [nodes], in `scratch`. Unlike the number of its segment, this is the same on all workers. */
static int *find_distances(const dt_exec *x, dt_arena *scratch) {
    int *far = dt_arena_array(scratch, int, x->g->n_nodes + 1);
    for (int i = 0; i < x->g->n_nodes; i++)
        for (int k = 0; k < x->g->node[i].n_in; k++)
            far[i] = far[x->g->node[i].in[k]] >= far[i] ? far[x->g->node[i].in[k]] + 1 : far[i];
    return far;
}

typedef struct traveller {
    int node, far;
} traveller;

static int nearer_first(const void *a, const void *b) {
    const traveller *x = a, *y = b;
    return x->far != y->far ? x->far - y->far : x->node - y->node;
}

static int lower_first(const void *a, const void *b) {
    return ((const traveller *)a)->node - ((const traveller *)b)->node;
}

/* Lists node `first` and the later exchanged nodes of the same segment, op and stored dtype, whose
 * values can therefore be sent in the same exchange, in the order of the graph. Returns their
 * number. */
static int find_fellows(const dt_exec *x, int first, const int *far, traveller *out) {
    int n = 0;
    for (int i = first; i < x->g->n_nodes; i++)
        if (x->p->piece[i].segment == x->p->piece[first].segment &&
            dt_is_exchange(&x->g->node[i]) && x->g->node[i].op == x->g->node[first].op &&
            x->type[i].dtype == x->type[first].dtype)
            out[n++] = (traveller){i, far[i]};
    return n;
}

static void add_exchange(dt_exec *x, traveller *t, int n) {
    dt_exchanges *all = x->exchanges;
    dt_exchange *e = &all->exchange[all->n];
    qsort(t, (size_t)n, sizeof *t, lower_first);
    *e = (dt_exchange){.kernel = dt_kernel_find(x->g, t[0].node),
                       .n = n,
                       .node = dt_arena_array(x->arena, int, n)};
    e->item = dt_arena_array(x->arena, char, (int64_t)n *(int64_t)e->kernel->item_bytes);
    for (int i = 0; i < n; i++) {
        e->node[i] = t[i].node;
        all->of[t[i].node] = all->n;
    }
    all->n++;
}

/* Divides the nodes into buckets, each of which is an exchange. If their values do not fill at
 * least two buckets, they are one exchange. */
static void add_exchanges(dt_exec *x, traveller *t, int n) {
    const int64_t bucket = x->engine->bucket_bytes;
    int64_t left = 0, bytes = 0;
    for (int i = 0; i < n; i++) left += dt_type_bytes(&x->type[t[i].node]);
    const bool several = left >= 2 * bucket && n > 1;
    if (several) qsort(t, (size_t)n, sizeof *t, nearer_first);
    for (int first = 0, i = 0; i < n; i++) {
        bytes += dt_type_bytes(&x->type[t[i].node]);
        left -= dt_type_bytes(&x->type[t[i].node]);
        if (i + 1 < n && (!several || bytes < bucket || left < bucket)) continue;
        x->exchanges->beside |= i + 1 < n;
        add_exchange(x, t + first, i + 1 - first);
        first = i + 1;
        bytes = 0;
    }
}

static int count(const dt_exec *x) {
    int n = 0;
    for (int i = 0; i < x->g->n_nodes; i++) n += dt_is_exchange(&x->g->node[i]);
    return n;
}

static void add_part(dt_exec *x, int group, int exchange) {
    dt_group *g = &x->group[group];
    if (g->n_feeds && g->feeds[g->n_feeds - 1] == exchange) return;
    if (!g->feeds) g->feeds = dt_arena_array(x->arena, int, x->exchanges->n);
    g->feeds[g->n_feeds++] = exchange;
    x->exchanges->exchange[exchange].parts += g->units;
}

static void find_parts(dt_exec *x) {
    for (int i = 0; i < x->exchanges->n; i++) {
        dt_exchange *e = &x->exchanges->exchange[i];
        for (int k = 0; k < e->n; k++) {
            const dt_node_division *in = &x->p->piece[x->g->node[e->node[k]].in[0]];
            if (in->segment < 0) continue;
            e->from = in->segment > e->from ? in->segment : e->from;
            add_part(x, in->group, i);
        }
    }
}

void dt_exchanges_list(dt_exec *x) {
    const int most = count(x);
    if (most == 0) return;
    dt_arena *scratch = dt_arena_create();
    const int *far = find_distances(x, scratch);
    traveller *t = dt_arena_array(scratch, traveller, most);
    x->exchanges = dt_arena_new(x->arena, dt_exchanges);
    *x->exchanges = (dt_exchanges){.exchange = dt_arena_array(x->arena, dt_exchange, most),
                                   .of = dt_arena_array(x->arena, int, x->g->n_nodes)};
    for (int i = 0; i < x->g->n_nodes; i++) x->exchanges->of[i] = -1;
    for (int s = 0; s < x->n_segments; s++)
        for (int i = 0; i < x->g->n_nodes; i++)
            if (x->p->piece[i].segment == s && dt_is_exchange(&x->g->node[i]) &&
                x->exchanges->of[i] < 0)
                add_exchanges(x, t, find_fellows(x, i, far, t));
    find_parts(x);
    dt_arena_destroy(scratch);
}

bool dt_exchanges_go_beside(const dt_exec *x) { return x->exchanges && x->exchanges->beside; }

/* ---- memory, and the order of tasks ---- */

/* Whether all results of exchanges are in the arena. One in a variable's memory cannot be written
 * early, since other nodes still read the variable. */
static bool lie_in_arena(const dt_exec *x) {
    for (int i = 0; i < x->g->n_nodes; i++)
        if (x->exchanges->of[i] >= 0 && (x->slot[i].home != DT_HOME_ARENA || x->slot[i].owner != i))
            return false;
    return true;
}

void dt_exchanges_keep_memory(dt_exec *x) {
    if (!x->exchanges) return;
    x->exchanges->beside = x->exchanges->beside && lie_in_arena(x);
    for (int i = 0; x->exchanges->beside && i < x->exchanges->n; i++) {
        const dt_exchange *e = &x->exchanges->exchange[i];
        for (int k = 0; k < e->n; k++)
            if (e->from < x->slot[e->node[k]].first) x->slot[e->node[k]].first = e->from;
    }
}

int dt_exchanges_turn(const dt_exec *x, const dt_group *group) {
    if (!dt_exchanges_go_beside(x)) return 0;
    return group->n_feeds ? group->feeds[0] : x->exchanges->n;
}

/* ---- carrying, recording and closing ---- */

static void carry(dt_exec *x, dt_exchange *e) {
    const int64_t since = dt_span_begin(x->exchanges->track);
    x->env->member->of = x->g->node[e->node[0]].path;
    x->failure = e->kernel->carry(x, e);
    x->env->member->of = NULL;
    dt_span_end(x->exchanges->track, e->mark, since, (dt_numbers){{e->n}});
}

static void announce(_Atomic uint32_t *word, uint32_t value) {
    atomic_store_explicit(word, value, memory_order_release);
    dt_futex_wake(word);
}

static void wait_for_parts(dt_exchanges *all, const dt_exchange *e) {
    for (;;) {
        const uint32_t fed = atomic_load_explicit(&all->fed, memory_order_acquire);
        if (atomic_load_explicit(&e->missing, memory_order_acquire) == 0) return;
        dt_futex_wait(&all->fed, fed);
    }
}

static void *carry_all(void *user) {
    dt_exec *x = user;
    dt_exchanges *all = x->exchanges;
    uint32_t run = 0;
    dt_instructions_flush();
    for (;;) {
        while (atomic_load_explicit(&all->begun, memory_order_acquire) == run)
            dt_futex_wait(&all->begun, run);
        run = atomic_load_explicit(&all->begun, memory_order_acquire);
        if (all->ends) return NULL;
        for (int i = 0, done = 0; done < all->n; i++) {
            wait_for_parts(all, &all->exchange[i]);
            carry(x, &all->exchange[i]);
            /* after a failure all exchanges are marked as done, so that no lane waits for one that
             * will not come */
            done = x->failure ? all->n : i + 1;
            /* announcing the last exchange allows the run to end, and the next run to change x, so
             * x is not read after this line */
            announce(&all->done, (uint32_t)done);
        }
    }
}

static void start(dt_exec *x) {
    x->exchanges->runs = dt_thread_start(&x->exchanges->thread, carry_all, x) == 0;
    /* if the system cannot start a thread, lanes run the exchanges */
    x->exchanges->beside = x->exchanges->runs;
}

void dt_exchanges_begin(dt_exec *x) {
    dt_exchanges *all = x->exchanges;
    if (!all) return;
    if (all->beside && !all->runs) start(x);
    for (int i = 0; i < all->n; i++)
        atomic_store_explicit(&all->exchange[i].missing, all->exchange[i].parts,
                              memory_order_relaxed);
    atomic_store_explicit(&all->done, 0, memory_order_relaxed);
    if (all->runs)
        announce(&all->begun, atomic_load_explicit(&all->begun, memory_order_relaxed) + 1);
}

static void wait_for(const dt_exec *x, uint32_t n, int lane) {
    dt_exchanges *all = x->exchanges;
    dt_track *track = x->track ? x->track[lane] : NULL;
    const int64_t since = dt_span_begin(track);
    uint32_t done = atomic_load_explicit(&all->done, memory_order_acquire);
    if (done >= n) return;
    for (; done < n; done = atomic_load_explicit(&all->done, memory_order_acquire))
        dt_futex_wait(&all->done, done);
    dt_span_end(track, all->wait_mark, since, (dt_numbers){{n - 1}});
}

void dt_exchanges_reach(dt_exec *x, int node, int lane) {
    dt_exchanges *all = x->exchanges;
    const uint32_t end = (uint32_t)all->of[node] + 1;
    if (all->runs) {
        wait_for(x, end, lane);
        return;
    }
    for (uint32_t i = atomic_load_explicit(&all->done, memory_order_relaxed); i < end; i++) {
        if (!x->failure) carry(x, &all->exchange[i]);
        atomic_store_explicit(&all->done, i + 1, memory_order_relaxed);
    }
}

void dt_exchanges_feed(dt_exec *x, const dt_group *group) {
    dt_exchanges *all = x->exchanges;
    if (!all->runs) return;
    for (int i = 0; i < group->n_feeds; i++)
        if (atomic_fetch_sub_explicit(&all->exchange[group->feeds[i]].missing, 1,
                                      memory_order_acq_rel) == 1) {
            atomic_fetch_add_explicit(&all->fed, 1, memory_order_release);
            dt_futex_wake(&all->fed);
        }
}

void dt_exchanges_end(dt_exec *x) {
    if (x->exchanges && x->exchanges->runs) wait_for(x, (uint32_t)x->exchanges->n, 0);
}

void dt_exchanges_mark(dt_exec *x) {
    dt_exchanges *all = x->exchanges;
    dt_recorder *r = x->engine->recorder;
    if (!all || !all->beside) return;
    all->track = dt_recorder_track(r, "exchanges", TRACK_ROOM);
    all->wait_mark = dt_recorder_mark(
        r,
        &(dt_mark){.name = "wait for other workers", .kind = "wait", .number = {"for exchange"}});
    for (int i = 0; i < all->n; i++)
        all->exchange[i].mark =
            dt_recorder_mark(r, &(dt_mark){.name = x->g->node[all->exchange[i].node[0]].op->name,
                                           .kind = "op",
                                           .number = {"values"}});
}

void dt_exchanges_close(dt_exec *x) {
    if (!x->exchanges || !x->exchanges->runs) return;
    x->exchanges->ends = true;
    announce(&x->exchanges->begun,
             atomic_load_explicit(&x->exchanges->begun, memory_order_relaxed) + 1);
    pthread_join(x->exchanges->thread, NULL);
}
