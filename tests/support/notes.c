/* SPDX-License-Identifier: Apache-2.0 */
/* Random notes: see notes.h. */
#include "notes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/random.h"
#include "op/placement.h"

/* A random way to cut a value of that type over the devices evenly; false: this draw found none. */
static bool draw_parts(dt_random *r, const dt_type *t, int64_t rows, int devices,
                       dt_sharding_attr *a) {
    *a = (dt_sharding_attr){.kind = DT_SHARDING_OTHER, .rank = t->rank};
    for (int d = 0; d < t->rank; d++) a->parts[d] = 1;
    for (int left = devices, p = 2; left > 1; p = left % p ? p + 1 : p) {
        if (left % p) continue;
        int d = t->rank > 0 ? (int)dt_random_below(r, (uint64_t)t->rank) : 0;
        int64_t size = t->rank == 0 ? 1 : t->dim[d] < 0 ? rows : t->dim[d];
        if (t->rank == 0 || size % (a->parts[d] * p)) return false;
        a->parts[d] *= p;
        left /= p;
    }
    return true;
}

typedef struct notes {
    dt_random random;
    int64_t rows;
    int devices;
} notes;

static dt_value annotate(notes *n, dt_value v) {
    dt_random *r = &n->random;
    dt_type t = dt_type_of_value(v);
    dt_sharding_attr a = {.kind = DT_SHARDING_REPLICATED};
    if (dt_random_below(r, 8) == 0) return dt_annotate(v, &a);
    if (dt_random_below(r, 3) == 0 && draw_parts(r, &t, n->rows, n->devices, &a))
        return dt_annotate(v, &a);
    return v;
}

static dt_value annotate_places(notes *n, dt_value v) {
    if (dt_random_below(&n->random, 4) == 0)
        return dt_move_to(v, (int)dt_random_below(&n->random, (uint64_t)n->devices));
    return dt_random_below(&n->random, 8) == 0 ? annotate(n, v) : v;
}

static dt_graph *draw(const dt_graph *g, uint64_t seed, notes n,
                      dt_value (*note)(notes *n, dt_value v)) {
    dt_trace *t = dt_trace_create(g->name);
    dt_value *map = calloc((size_t)g->n_nodes + 1, sizeof *map);
    dt_graph *out = NULL;
    dt_trace_import(t, g, map);
    for (int i = 0; i < g->n_nodes; i++) {
        dt_value in[DT_MAX_IN];
        for (int k = 0; k < g->node[i].n_in; k++) in[k] = map[g->node[i].in[k]];
        map[i] = note(&n, map[i].trace ? map[i] : dt_emit_like(t, g, i, in));
    }
    dt_trace_export(t, g, map);
    dt_status *bad = dt_trace_end(t, &out);
    if (bad) fail_msg("seed %llu: %s", (unsigned long long)seed, dt_status_text(bad));
    free(map);
    return out;
}

dt_graph *notes_draw(const dt_graph *g, uint64_t seed, int64_t rows, int devices) {
    return draw(g, seed, (notes){dt_random_stream(seed, "notes", 0), rows, devices}, annotate);
}

dt_graph *notes_draw_places(const dt_graph *g, uint64_t seed, int64_t rows, int devices) {
    return draw(g, seed, (notes){dt_random_stream(seed, "places", 0), rows, devices},
                annotate_places);
}
