/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packed weights: variables, or computed values without a batch dimension, that are the second
 * operand of products. They are packed by the first product that needs them and kept for the
 * others: those of other pieces, of later steps of a recurrent layer, and of later runs while a
 * variable has the same value. All executables of an engine share a packed variable. A variable may
 * be packed several times: as it is, for a layer's output; transposed, for the gradient of its
 * input; and, with AVX2, in panels of other widths for products of few rows. Computed values, such
 * as weights rounded to bfloat16, are packed anew in each run.
 *
 * A variable counts its changes: those by the host (dt_host_edit) and those by runs. A run compares
 * the count with that of the packed value when it begins.
 */
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "exec/exec_impl.h"
#include "op/shapes.h"

struct dt_packed {
    /* a product for which it is packed; trans_b, n, k, ldb and the type of B, together with
     * `width`, tell packed copies of one value apart */
    dt_gemm g;
    int64_t column; /* where the columns of g begin among those of the value */
    int width;
    /* the packed variable; NULL: the value of `node` in `exec` is packed */
    const dt_variable *variable;
    const dt_exec *exec;
    int node;
    dt_panels panels;
    /* number of the value that is packed here, even: raised by 2 at the start of each run in which
     * the value may have changed */
    uint32_t version;
    /* the variable's count of changes (dt_variable_written) when it was last compared */
    unsigned written;
    /* the variable's memory when it was last compared; NULL: it was never compared */
    const void *at;
    int users; /* number of executables that use it */
    /* the executable that counts its bytes (dt_packed_count); NULL: none */
    const dt_exec *counted_by;
    struct dt_packed *next;
};

static const dt_product_functions *functions(const dt_exec *x) { return x->engine->simd->product; }

static bool is_bf16(const dt_packed *p) { return p->g.in[1] == DT_GEMM_BF16; }

static int64_t bytes_of(const dt_exec *x, const dt_packed *p) {
    const int64_t floats = is_bf16(p) ? dt_product_panels(&p->g) : functions(x)->panels(&p->g);
    return floats * (int64_t)sizeof *p->panels.room;
}

static bool is_same(const dt_packed *p, const dt_packed *q) {
    return p->variable == q->variable && p->exec == q->exec && p->node == q->node &&
           p->column == q->column && p->g.n == q->g.n && p->g.k == q->g.k &&
           p->g.trans_b == q->g.trans_b && p->g.ldb == q->g.ldb && p->g.in[1] == q->g.in[1] &&
           p->width == q->width;
}

static dt_packed *find_packed(dt_engine *e, const dt_packed *wanted) {
    for (dt_packed *p = e->packed; p; p = p->next)
        if (is_same(p, wanted)) return p;
    dt_packed *p = dt_alloc(sizeof *p);
    *p = *wanted;
    p->next = e->packed;
    return e->packed = p;
}

/* Returns the index in g->state of the variable whose value a node has; -1: of none. */
static int state_of(const dt_graph *g, int node) {
    const int named = dt_named_by(g, node);
    for (int i = 0; i < g->n_states; i++)
        if (g->state[i].node == named) return i;
    return -1;
}

/* Whether products by B may share its panels: n and k are not 0, and the products are of float32 by
 * our own loops, or of bfloat16 that are packed (dt_product_packs). */
static bool may_share(const dt_exec *x, const dt_gemm *g) {
    const bool is_own = x->engine->gemm.plan == x->engine->own.plan,
               is_plain =
                   g->in[0] == DT_GEMM_F32 && g->in[1] == DT_GEMM_F32 && g->out == DT_GEMM_F32;
    return ((is_own && is_plain) || dt_product_packs(x->engine, g)) && g->n > 0 && g->k > 0;
}

/* Describes the packed matrix that products by the node's value share. s: the variable that the
 * node is; NULL: it is none. */
static dt_packed wanted_by(const dt_exec *x, int node, int64_t column, const dt_gemm *g,
                           const dt_state *s) {
    dt_packed p = {
        .g = *g, .column = column, .variable = s ? s->variable : NULL, .exec = s ? NULL : x};
    p.node = s ? -1 : dt_named_by(x->g, node);
    p.width = is_bf16(&p) ? 0 : functions(x)->width(g);
    return p;
}

dt_panels *dt_packed_for(dt_exec *x, int node, int64_t column, const dt_gemm *g, int64_t products) {
    const int state = state_of(x->g, node);
    const dt_state *s = state < 0 ? NULL : &x->g->state[state];
    if (!may_share(x, g) || (!s && dt_type_has_batch(&x->g->node[node].type))) return NULL;
    const dt_packed wanted = wanted_by(x, node, column, g, s);
    dt_packed *p = find_packed(x->engine, &wanted);
    int i = 0;
    while (i < x->n_packed && x->packed[i].of != p) i++;
    if (i == x->n_packed) {
        DT_GROW(x->packed, x->cap_packed, i + 1);
        x->packed[x->n_packed++] = (dt_packed_use){.of = p, .is_updated = !s || s->update >= 0};
        p->users++;
    }
    x->packed[i].products += products;
    x->packed[i].rows += products * g->m;
    return &p->panels;
}

void dt_packed_release(dt_exec *x) {
    for (int i = 0; i < x->n_packed; i++) {
        dt_packed *p = x->packed[i].of, **at = &x->engine->packed;
        if (p->counted_by == x) p->counted_by = NULL;
        if (--p->users > 0) continue;
        while (*at != p) at = &(*at)->next;
        *at = p->next;
        free(p->panels.room);
        free(p);
    }
    free(x->packed);
}

/* A shared panel is written to memory, whereas one that a product packs for itself stays in the
 * cache. So a value that each run changes is shared only if it has at least this many products. */
enum { LEAST_PRODUCTS = 4 };

/* Whether packing pays within a single run: a value that each run changes must have LEAST_PRODUCTS
 * products; and float32 needs enough rows for the instruction set (pays). */
static bool pays_at_once(const dt_exec *x, const dt_packed_use *u) {
    return (!u->is_updated || u->products >= LEAST_PRODUCTS) &&
           (is_bf16(u->of) || functions(x)->pays(&u->of->g, u->rows));
}

void dt_packed_count(const dt_exec *x) {
    for (int i = 0; i < x->n_packed; i++) {
        dt_packed *p = x->packed[i].of;
        if (!p->counted_by && (!x->packed[i].is_updated || pays_at_once(x, &x->packed[i])))
            p->counted_by = x;
    }
}

int64_t dt_packed_bytes(const dt_exec *x) {
    int64_t bytes = 0;
    for (int i = 0; i < x->n_packed; i++)
        if (x->packed[i].of->counted_by == x)
            bytes = dt_memory_sum(bytes, bytes_of(x, x->packed[i].of));
    return bytes;
}

static dt_status *make_room(const dt_exec *x, dt_packed *p) {
    p->panels.room = dt_try_alloc_dense((size_t)bytes_of(x, p));
    if (!p->panels.room)
        return dt_fail(DT_E_NO_MEMORY, NULL, "no memory to pack weights%s%s: %lld bytes",
                       p->variable ? " of the variable " : "", p->variable ? p->variable->path : "",
                       (long long)bytes_of(x, p));
    memset(p->panels.room, 0, (size_t)bytes_of(x, p));
    return NULL;
}

/* Whether p is a variable that has the same value as in the previous call. Remembers its count of
 * changes and its memory for the next call. */
static bool is_same_value(dt_packed *p) {
    if (!p->variable) return false;
    const unsigned written = dt_variable_written(p->variable);
    const void *at = p->variable->host_data;
    const bool is_same = p->at == at && p->written == written;
    p->at = at;
    p->written = written;
    return is_same;
}

/* If the products of a run have too few rows for packing to pay, the values are packed from the
 * second run with the same values on. */
dt_status *dt_packed_begin(const dt_exec *x) {
    for (int i = 0; i < x->n_packed; i++) {
        dt_packed *p = x->packed[i].of;
        const bool is_same = is_same_value(p);
        if (!is_same) p->version += 2;
        if (p->version == 0) p->version = 2;
        p->panels.version = is_same || pays_at_once(x, &x->packed[i]) ? p->version : 0;
        if (p->panels.version && !p->panels.room) DT_TRY(make_room(x, p));
    }
    return NULL;
}

void dt_packed_end(const dt_exec *x) {
    for (int i = 0; i < x->g->n_states; i++)
        if (x->g->state[i].update >= 0) dt_host_edit(x->g->state[i].variable);
}
