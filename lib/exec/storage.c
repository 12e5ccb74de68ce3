/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the values that are stored in 16 bits, and places values in memory. The program computes
 * in float32; pass/upcast.c has inserted a reduce_precision wherever a float16 or bfloat16 is
 * computed. Storing a value in 16 bits loses nothing if it
 *
 *     has 16 bits anyway, because it is the result of a reduce_precision, or its elements are
 *     elements of such values (traits.exact); or
 *     is read only by reduce_precisions, for which it is then rounded already.
 *
 *     dot ─▶ %7 ─▶ reduce_precision ─▶ %8 ─▶ ...      the product writes 16 bits; %8 is another
 *                                                     name for them
 *
 * So bits do not depend on this choice, except for the order in which products are summed. At first
 * all such values are chosen; then kernels exclude those that they cannot read or write, until
 * nothing changes. The result is in x->type, which determines sizes and offsets.
 */
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "base/size.h"
#include "exec/exchange.h"
#include "exec/exec_impl.h"

typedef struct storage {
    dt_exec *x;
    /* [nodes] the 16-bit type that represents all elements of the node exactly; FLOAT32: none is
     * known */
    dt_dtype *exact;
    /* [nodes] the 16-bit type to which all readers round the node; FLOAT32: there is none */
    dt_dtype *wanted;
    bool *is_read;
} storage;

/* ---- what could be stored in 16 bits ---- */

static dt_dtype rounding_of(const dt_node *n) {
    const dt_precision_attr *a = dt_precision_of(n);
    if (!a || n->type.dtype != DT_FLOAT32) return DT_FLOAT32;
    return a->mantissa_bits == 7 && a->exponent_bits == 0    ? DT_BFLOAT16
           : a->mantissa_bits == 10 && a->exponent_bits == 5 ? DT_FLOAT16
                                                             : DT_FLOAT32;
}

static bool is_number_of(double value, dt_dtype d) {
    return value != value || value == (d == DT_BFLOAT16 ? dt_bfloat_to_double(dt_bfloat_of(value))
                                                        : dt_half_to_double(dt_half_of(value)));
}

/* Returns the narrow type that represents the float32 inputs of an exact op exactly. Constants must
 * be representable in the type of the others. FLOAT32: there is none. */
static dt_dtype exact_inputs(const storage *s, const dt_node *n) {
    const dt_graph *g = s->x->g;
    dt_dtype all = DT_BOOL;
    for (int k = 0; k < n->n_in; k++) {
        const dt_node *in = &g->node[n->in[k]];
        if (in->type.dtype != DT_FLOAT32 || in->op->role == DT_ROLE_CONSTANT) continue;
        if (all != DT_BOOL && all != s->exact[n->in[k]]) return DT_FLOAT32;
        all = s->exact[n->in[k]];
    }
    for (int k = 0; k < n->n_in && all != DT_BOOL; k++)
        if (g->node[n->in[k]].op->role == DT_ROLE_CONSTANT &&
            g->node[n->in[k]].type.dtype == DT_FLOAT32 &&
            !is_number_of(((const dt_constant_attr *)g->node[n->in[k]].attr)->value, all))
            return DT_FLOAT32;
    return all == DT_BOOL ? DT_FLOAT32 : all;
}

static void find_exact(storage *s) {
    const dt_graph *g = s->x->g;
    for (int i = 0; i < g->n_nodes; i++) {
        const dt_node *n = &g->node[i];
        s->exact[i] = rounding_of(n);
        if (n->type.dtype == DT_FLOAT32 && n->op->traits.exact && n->n_in > 0)
            s->exact[i] = exact_inputs(s, n);
        const dt_pad_attr *pad = dt_pad_of(n);
        if (pad && !is_number_of(pad->value, s->exact[i])) s->exact[i] = DT_FLOAT32;
    }
}

static void find_wanted(storage *s) {
    const dt_graph *g = s->x->g;
    for (int i = 0; i < g->n_nodes; i++) s->wanted[i] = DT_FLOAT32;
    for (int i = 0; i < g->n_nodes; i++)
        for (int k = 0; k < g->node[i].n_in; k++) {
            int in = g->node[i].in[k];
            dt_dtype to = rounding_of(&g->node[i]);
            s->wanted[in] = s->is_read[in] && s->wanted[in] != to ? DT_FLOAT32 : to;
            s->is_read[in] = true;
        }
}

/* Gives all computed float32 values of more than one element that are not absorbed the 16-bit type
 * that loses nothing (`exact`, else `wanted`), if there is one, and then takes it back for results
 * and updates, which must stay float32. */
static void list_candidates(storage *s) {
    const dt_exec *x = s->x;
    const dt_graph *g = x->g;
    for (int i = 0; i < g->n_nodes; i++) {
        dt_dtype to = s->exact[i] != DT_FLOAT32 ? s->exact[i] : s->wanted[i];
        bool is_value = x->p->piece[i].segment >= 0 && !x->p->piece[i].absorbed &&
                        g->node[i].type.dtype == DT_FLOAT32;
        if (is_value && dt_type_elements(&x->type[i]) > 1) x->type[i].dtype = to;
    }
    for (int i = 0; i < g->n_results; i++) dt_store_wide(s->x, g->result[i].node);
    for (int i = 0; i < g->n_states; i++)
        if (g->state[i].update >= 0) dt_store_wide(s->x, g->state[i].update);
}

/* ---- what is stored in 16 bits ---- */

bool dt_is_stored_narrow(const dt_exec *x, int node) {
    return dt_dtype_is_narrow(x->type[node].dtype) &&
           !dt_dtype_is_narrow(x->g->node[node].type.dtype);
}

void dt_store_wide(dt_exec *x, int node) {
    if (dt_is_stored_narrow(x, node)) x->type[node].dtype = DT_FLOAT32;
}

static bool touches_narrow(const dt_exec *x, int node) {
    bool any = dt_is_stored_narrow(x, node);
    for (int k = 0; k < x->g->node[node].n_in; k++)
        any |= dt_is_stored_narrow(x, x->g->node[node].in[k]);
    return any;
}

static void object(dt_exec *x, int node) {
    const dt_node *n = &x->g->node[node];
    const dt_kernel *kernel = dt_kernel_find(x->g, node);
    if (dt_is_fused_sum(x->g, node) || x->p->piece[node].absorbed) {
        dt_store_wide(x, node);
        for (int k = 0; k < n->n_in && x->p->piece[node].absorbed; k++) dt_store_wide(x, n->in[k]);
    } else if (dt_can_fuse(x->g, node)) {
        return;
    } else if (kernel->narrow) {
        kernel->narrow(x, node);
    } else {
        dt_store_wide(x, node);
        for (int k = 0; k < n->n_in; k++) dt_store_wide(x, n->in[k]);
    }
}

static int count_narrow(const dt_exec *x) {
    int n = 0;
    for (int i = 0; i < x->g->n_nodes; i++) n += dt_is_stored_narrow(x, i);
    return n;
}

static void object_until_stable(dt_exec *x) {
    for (int before = -1, now = count_narrow(x); now != before; before = now, now = count_narrow(x))
        for (int i = 0; i < x->g->n_nodes; i++)
            if (touches_narrow(x, i)) object(x, i);
}

/* Finds roundings that need no work, because the kernel that computes their input stores rounded
 * values. */
static void find_renamed(const storage *s) {
    const dt_exec *x = s->x;
    for (int i = 0; i < x->g->n_nodes; i++) {
        int in = x->g->node[i].n_in == 1 ? x->g->node[i].in[0] : -1;
        x->renamed[i] = in >= 0 && rounding_of(&x->g->node[i]) != DT_FLOAT32 &&
                        dt_is_stored_narrow(x, i) && dt_is_stored_narrow(x, in) &&
                        x->type[in].dtype == x->type[i].dtype && !dt_can_fuse(x->g, in) &&
                        x->p->piece[in].group == x->p->piece[i].group;
    }
}

void dt_choose_storage(dt_exec *x) {
    size_t n = (size_t)x->g->n_nodes + 1;
    storage s = {.x = x,
                 .exact = dt_alloc(n * sizeof *s.exact),
                 .wanted = dt_alloc(n * sizeof *s.wanted),
                 .is_read = dt_alloc(n)};
    find_exact(&s);
    find_wanted(&s);
    list_candidates(&s);
    object_until_stable(x);
    find_renamed(&s);
    free(s.exact);
    free(s.wanted);
    free(s.is_read);
}

/* Whether a node needs no work because it shares the memory of its first input. */
static bool is_renamed(const dt_exec *x, int node) {
    return dt_is_name(&x->g->node[node]) || x->renamed[node];
}

/* ---- conversions ---- */

dt_strip_op dt_strip_load(dt_dtype d) {
    switch (d) {
    case DT_FLOAT32: return DT_S_COPY;
    case DT_INT32: return DT_S_FROM_I32;
    case DT_BFLOAT16: return DT_S_FROM_BF16;
    case DT_FLOAT16: return DT_S_FROM_F16;
    default: return DT_S_FROM_U8; /* a bool is a byte with the value 0 or 1 */
    }
}

dt_strip_op dt_strip_store(dt_dtype d) {
    return d == DT_BOOL       ? DT_S_TO_BOOL
           : d == DT_BFLOAT16 ? DT_S_TO_BF16
           : d == DT_FLOAT16  ? DT_S_TO_F16
                              : DT_S_COPY;
}

dt_gemm_float dt_gemm_float_of(dt_dtype d) {
    return d == DT_BFLOAT16 ? DT_GEMM_BF16 : d == DT_FLOAT16 ? DT_GEMM_F16 : DT_GEMM_F32;
}

void dt_fetch_floats(const dt_exec *x, int node, int64_t from, int64_t n, float *to) {
    const char *at = (const char *)x->at[node] + from * dt_element_bytes(x, node);
    if (at != (const char *)to)
        x->engine->simd->strip[dt_strip_load(x->type[node].dtype)](to, at, NULL, NULL, n);
}

void dt_store_floats(const dt_exec *x, int node, int64_t to, int64_t n, const float *from) {
    char *at = (char *)x->at[node] + to * dt_element_bytes(x, node);
    if (at != (const char *)from)
        x->engine->simd->strip[dt_strip_store(x->type[node].dtype)](at, from, NULL, NULL, n);
}

/* ---- homes and lifetimes ---- */

/*
 * Sets where the memory of each value is: in an argument, in a variable, in the arena for stored
 * values, or nowhere. A renamed value shares the memory of its input. (Lifetimes, below, are
 * counted in segments, since the pieces of a segment run in any order.)
 */

static void find_homes(dt_exec *x) {
    const dt_graph *g = x->g;

    for (int i = 0; i < g->n_nodes; i++) {
        dt_value_slot *s = &x->slot[i];
        s->owner = i;
        s->home = s->stored ? DT_HOME_ARENA : DT_HOME_NONE;
        s->bytes = dt_aligned(dt_type_bytes(&x->type[i]));
    }
    for (int i = 0; i < g->n_args; i++)
        x->slot[g->arg[i].node] =
            (dt_value_slot){.home = DT_HOME_ARG, .index = i, .owner = g->arg[i].node};
    for (int i = 0; i < g->n_states; i++) {
        const dt_state *s = &g->state[i];
        x->slot[s->node] = (dt_value_slot){.home = DT_HOME_VARIABLE, .index = i, .owner = s->node};
        if (s->update >= 0 && !x->p->copy_back[i])
            x->slot[s->update] = (dt_value_slot){
                .home = DT_HOME_VARIABLE, .index = i, .owner = s->node, .stored = true};
    }
    for (int i = 0; i < g->n_nodes; i++)
        if (is_renamed(x, i) && x->slot[i].home == DT_HOME_ARENA)
            x->slot[i].owner = x->slot[g->node[i].in[0]].owner;
}

/* Called for a node that is read at the end of the run. If its value is the old value of a variable
 * that the run overwrites, reserves memory for a copy (slot.kept). */
static void keep_old_value(dt_exec *x, int node) {
    int source = dt_named_by(x->g, node);
    dt_value_slot *s = &x->slot[source];

    if (x->g->node[source].op->role != DT_ROLE_STATE || x->g->state[s->index].update < 0) return;
    s->kept = true;
    s->first = 0;
    s->last = x->n_segments;
    s->bytes = dt_aligned(dt_type_bytes(&x->type[source]));
}

static void keep_old_values(dt_exec *x) {
    for (int i = 0; i < x->g->n_results; i++) keep_old_value(x, x->g->result[i].node);
    for (int i = 0; i < x->g->n_states; i++)
        if (x->g->state[i].update >= 0 && x->p->copy_back[i])
            keep_old_value(x, x->g->state[i].update);
}

static void read_until(dt_exec *x, int node, int segment) {
    dt_value_slot *owner = &x->slot[x->slot[node].owner];
    if (segment > owner->last) owner->last = segment;
}

/* Extends the lifetimes of a node's inputs to a segment that reads them: the node's own or, if a
 * reader absorbs the node, that reader's. */
static void note_reading(dt_exec *x, int node, int segment) {
    for (int k = 0; k < x->g->node[node].n_in; k++) {
        int in = x->g->node[node].in[k];
        read_until(x, in, segment);
        if (x->p->piece[in].absorbed) note_reading(x, in, segment);
    }
}

static void find_lifetimes(dt_exec *x) {
    const dt_graph *g = x->g;

    for (int i = 0; i < g->n_nodes; i++) {
        int segment = x->p->piece[i].segment;
        dt_value_slot *s = &x->slot[i];
        if (s->owner == i) s->first = s->last = segment < 0 ? 0 : segment;
        if (g->node[i].op->role == DT_ROLE_CONSTANT)
            /* a constant is written once, before the first run, so its memory is used to the end */
            s->last = x->n_segments;
    }
    for (int i = 0; i < g->n_nodes; i++)
        if (x->p->piece[i].segment >= 0) note_reading(x, i, x->p->piece[i].segment);
    for (int i = 0; i < x->n_groups; i++)
        for (int k = 0; k < x->group[i].n_steps; k++)
            if (x->group[i].step[k].kernel == &dt_kernel_fused)
                dt_fused_reads(x, &x->group[i].step[k], read_until, x->group[i].segment);
    for (int i = 0; i < g->n_results; i++)
        x->slot[x->slot[g->result[i].node].owner].last = x->n_segments;
    for (int i = 0; i < g->n_states; i++)
        if (g->state[i].update >= 0 && x->p->copy_back[i])
            x->slot[x->slot[g->state[i].update].owner].last = x->n_segments;
}

/* ---- offsets ---- */

int64_t dt_memory_sum(int64_t a, int64_t b) {
    int64_t c;
    return dt_add_fits(a, b, &c) ? c : INT64_MAX;
}

static int larger_first(const void *a, const void *b) {
    const dt_taken *x = a, *y = b;
    return x->bytes != y->bytes ? (x->bytes < y->bytes ? 1 : -1) : x->node - y->node;
}

/* Returns the lowest offset at which s fits between the blocks in use at the same time. placed[n]
 * is ordered by offset. */
static int64_t lowest_gap(const dt_value_slot *s, dt_value_slot *const *placed, int n) {
    int64_t at = 0;

    for (int i = 0; i < n; i++) {
        if (placed[i]->first > s->last || s->first > placed[i]->last) continue;
        if (placed[i]->offset - at >= s->bytes) break;
        at = dt_max(at, dt_memory_sum(placed[i]->offset, placed[i]->bytes));
    }
    return at;
}

/* Inserts s into the array of n placed blocks, which stays ordered by offset. */
static void insert(dt_value_slot **placed, int n, dt_value_slot *s) {
    for (; n > 0 && placed[n - 1]->offset > s->offset; n--) placed[n] = placed[n - 1];
    placed[n] = s;
}

int64_t dt_place_blocks(dt_exec *x, dt_taken *blocks, int n) {
    int64_t bytes = 0;
    dt_value_slot **placed = dt_alloc((size_t)(n + 1) * sizeof *placed);

    qsort(blocks, (size_t)n, sizeof *blocks, larger_first);
    for (int i = 0; i < n; i++) {
        dt_value_slot *s = &x->slot[blocks[i].node];
        s->offset = lowest_gap(s, placed, i);
        insert(placed, i, s);
        bytes = dt_max(bytes, dt_memory_sum(s->offset, s->bytes));
    }
    free(placed);
    return bytes;
}

void dt_plan_memory(dt_exec *x) {
    dt_taken *blocks = dt_alloc((size_t)(x->g->n_nodes + 1) * sizeof *blocks);
    int n = 0;

    find_homes(x);
    find_lifetimes(x);
    dt_exchanges_keep_memory(x);
    keep_old_values(x);
    dt_plan_task_memory(x);
    for (int i = 0; i < x->g->n_nodes; i++)
        if (x->slot[i].kept || (x->slot[i].home == DT_HOME_ARENA && x->slot[i].owner == i))
            blocks[n++] = (dt_taken){i, x->slot[i].bytes};
    x->arena_bytes = dt_place_blocks(x, blocks, n);
    free(blocks);
}

/* ---- the layer that needs the most memory ---- */

static int64_t takes(const dt_exec *x, int node, int segment) {
    const dt_value_slot *s = &x->slot[node];
    if (s->home == DT_HOME_TASK) return dt_task_memory_in(x, node, segment);
    return (s->kept || (s->home == DT_HOME_ARENA && s->owner == node)) && s->first <= segment &&
                   segment <= s->last
               ? s->bytes
               : 0;
}

static int fullest_segment(const dt_exec *x) {
    int64_t most = -1;
    int at = 0;
    for (int i = 0; i < x->n_segments; i++) {
        int64_t bytes = 0;
        for (int n = 0; n < x->g->n_nodes; n++) bytes = dt_memory_sum(bytes, takes(x, n, i));
        at = bytes > most ? i : at;
        most = dt_max(most, bytes);
    }
    return at;
}

static bool is_of(const char *path, const char *layer, size_t n) {
    return strncmp(path, layer, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

const char *dt_exec_largest_layer(const dt_exec *x, dt_arena *arena, int64_t *bytes) {
    const int segment = fullest_segment(x), n_nodes = x->g->n_nodes;
    bool *counted = dt_arena_array(arena, bool, n_nodes + 1);
    const char *largest = "";
    *bytes = 0;
    for (int i = 0; i < n_nodes; i++) {
        const char *path = x->g->node[i].path;
        const size_t n = strcspn(path, "/");
        int64_t all = 0;
        if (n == 0 || counted[i]) continue;
        for (int k = i; k < n_nodes; k++)
            if (takes(x, k, segment) && is_of(x->g->node[k].path, path, n)) {
                all = dt_memory_sum(all, takes(x, k, segment));
                counted[k] = true;
            }
        if (all > *bytes) {
            *bytes = all;
            largest = dt_arena_printf(arena, "%.*s", (int)n, path);
        }
    }
    return largest;
}
