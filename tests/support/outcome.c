/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing outcomes: see outcome.h. */
#include "outcome.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

dt_interpretation oracle_run(const random_graph *g, const feed *f) {
    dt_interpretation out;
    dt_status *s = dt_interpret(g->graph, NULL, f->replicas, f->batch, f->arg, &out);
    if (s) fail_msg("seed %llu: %s", (unsigned long long)g->seed, dt_status_text(s));
    return out;
}

static void note(difference *d, double size, const char *format, const char *name, int replica) {
    if (size <= d->size) return;
    d->size = size;
    snprintf(d->what, sizeof d->what, format, name, replica);
}

static void compare_results(const random_graph *g, const feed *f, const dt_interpretation *oracle,
                            const outcome *o, difference *d) {
    for (int i = 0; i < g->graph->n_results; i++)
        for (int r = 0; r < f->replicas; r++) {
            dt_view part = folded_part(f, &o->result[i], o->spread[i], r);
            double size = views_difference(&part, &oracle->result[r * g->graph->n_results + i]);
            note(d, size, "result '%s' of replica %d", g->graph->result[i].name, r);
        }
}

difference outcome_difference(const random_graph *g, const feed *f, const dt_interpretation *oracle,
                              const outcome *o) {
    difference d = {0};
    compare_results(g, f, oracle, o, &d);
    for (int i = 0; i < g->graph->n_states; i++)
        if (oracle->update[i].data)
            note(&d,
                 o->update[i].data ? views_difference(&o->update[i], &oracle->update[i]) : INFINITY,
                 "update of '%s' (state %d)", g->graph->state[i].variable->path, i);
    return d;
}

/* How much the oracle's own outcome changes when it is fed `by` times as much. */
static double change(const random_graph *g, const feed *f, const dt_interpretation *oracle,
                     double by) {
    feed other = feed_deal(g, f, f->replicas, f->batch);
    for (int r = 0; r < f->replicas; r++)
        for (int i = 0; i < f->n_args; i++)
            if (dt_type_bytes(&f->arg[r * f->n_args + i].type) > 0)
                memcpy(other.arg[r * f->n_args + i].data, f->arg[r * f->n_args + i].data,
                       (size_t)dt_type_bytes(&f->arg[r * f->n_args + i].type));
    feed_scale(&other, by);
    dt_interpretation out = oracle_run(g, &other);
    double most = 0;
    for (int i = 0; i < f->replicas * g->graph->n_results; i++)
        most = fmax(most, views_difference(&out.result[i], &oracle->result[i]));
    for (int i = 0; i < g->graph->n_states; i++)
        if (out.update[i].data)
            most = fmax(most, views_difference(&out.update[i], &oracle->update[i]));
    dt_interpretation_release(&out);
    feed_release(&other);
    return most;
}

bool expect_outcome(const random_graph *g, const feed *f, const dt_interpretation *oracle,
                    const outcome *o, double tolerance) {
    difference d = outcome_difference(g, f, oracle, o);
    if (d.size <= tolerance) return true;
    double own = fmax(change(g, f, oracle, 1 + 1e-5), change(g, f, oracle, 1 - 1e-5));
    if (d.size > own)
        fail_msg("seed %llu, %d replicas, %lld rows: %s differs by %g", (unsigned long long)g->seed,
                 f->replicas, (long long)f->total, d.what, d.size);
    return false;
}
