/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the program of a fused step, a strip program: nodes of one shape become instructions over
 * registers, which are arrays of DT_STRIP floats.
 *
 *     w (784, 128)   g (784, 128)   alpha ()   operands: whole float32 arrays are read in place,
 *          │              │            │       scalars and most vectors are laid out once a task,
 *          │              │            │       others once a strip
 *          ▼              ▼            ▼
 *     for each strip of the piece:   r0 = g * s0;  r1 = r0 - m;  ...;  w = w - r5
 *
 * Results that other steps read are written to their memory, most updates of variables directly to
 * the memory of the variable.
 */
#include <stdlib.h>
#include <string.h>

#include "exec/strip_program.h"
#include "exec/sums.h"
#include "op/segment.h"

/* ---- ops that strip programs can have ---- */

/* Returns the loop that computes a node, a dt_strip_op; -1: no loop does. */
static int loop_of(const dt_node *n) {
    static const struct {
        const dt_op *op;
        dt_strip_op loop;
    } loops[] = {
#define DT_LOOP(name, y) {&dt_op_##name, DT_S_##name},
#include "op/ops.h"
    };
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++)
        if (loops[i].op == n->op) {
            int variant = n->op->forms.loop ? n->op->forms.loop(n->attr) : 0;
            return variant < 0 ? -1 : (int)loops[i].loop + variant;
        }
    return -1;
}

static bool is_f32(const dt_graph *g, int node) { return g->node[node].type.dtype == DT_FLOAT32; }

/* Whether a broadcast keeps leading and trailing dimensions and adds those between them. Sets
 * *inner to the number of elements in the kept trailing dimensions, and *period to that in all
 * dimensions of the result after the kept leading ones. */
static bool layout_inside(const dt_type *from, const dt_type *to, const dt_broadcast_attr *a,
                          int64_t *period, int64_t *inner) {
    int kept = 0, gap = to->rank - from->rank;

    while (kept < from->rank && a->dims[kept] == kept && from->dim[kept] == to->dim[kept]) kept++;
    *period = *inner = 1;
    for (int d = kept; d < to->rank; d++) *period *= to->dim[d];
    for (int d = kept; d < from->rank; d++) {
        if (a->dims[d] != d + gap || from->dim[d] != to->dim[d + gap]) return false;
        *inner *= from->dim[d];
    }
    return kept > 0 && *inner > 0;
}

/* Finds the layout of a broadcast's operand. The operand may have the trailing dimensions of the
 * result (a vector for all rows), the leading ones (a value for each row), leading and trailing
 * ones, or none (a scalar). Returns false for other layouts. */
static bool layout_of(const dt_graph *g, const dt_node *n, dt_strip_layout *out, int64_t *period,
                      int64_t *inner) {
    const dt_broadcast_attr *a = n->attr;
    const dt_type *from = &g->node[n->in[0]].type, *to = &n->type;
    bool leading = true, trailing = true;

    for (int d = 0; d < from->rank; d++) {
        leading &= a->dims[d] == d && from->dim[d] == to->dim[d];
        trailing &= a->dims[d] == to->rank - from->rank + d && from->dim[d] == to->dim[a->dims[d]];
    }
    *period = *inner = 1;
    if (from->rank == 0 || (!dt_type_has_batch(from) && dt_type_elements(from) == 1)) {
        *out = DT_STRIP_SPLAT;
    } else if (trailing && !dt_type_has_batch(from)) {
        *out = DT_STRIP_REPEATED;
        *period = dt_type_elements(from);
    } else if (leading) {
        *out = DT_STRIP_PER_ROW;
        for (int d = from->rank; d < to->rank; d++) *period *= to->dim[d];
    } else {
        *out = DT_STRIP_INSIDE;
        return layout_inside(from, to, a, period, inner);
    }
    return true;
}

static bool can_convert(const dt_graph *g, const dt_node *n) {
    dt_dtype from = g->node[n->in[0]].type.dtype;
    return n->type.dtype == DT_FLOAT32
               ? from == DT_UINT8 || from == DT_INT32 || from == DT_BOOL || dt_dtype_is_narrow(from)
               : from == DT_FLOAT32 && dt_dtype_is_narrow(n->type.dtype);
}

/* Whether the node is a float32 sum over tiles of the batch (DT_CUT_TILES), over the leading
 * dimensions of a value that is not an argument, with at most DT_STRIP sums for each tile. */
bool dt_is_fused_sum(const dt_graph *g, int node) {
    const dt_node *n = &g->node[node];
    const dt_type *in = n->n_in > 0 ? &g->node[n->in[0]].type : NULL;
    if (n->op->role != DT_ROLE_REDUCE || dt_cut_of(n) != DT_CUT_TILES ||
        n->type.dtype != DT_FLOAT32 || g->node[n->in[0]].op->role == DT_ROLE_ARGUMENT)
        return false;
    const dt_reduce_attr *a = &((const dt_segment_attr *)n->attr)->reduce;
    int gone = in->rank - (n->type.rank - 1);
    return a->kind == DT_REDUCE_SUM && a->dims == (1u << gone) - 1 &&
           dt_type_elements(&n->type) / dt_segment_count(n) <= DT_STRIP;
}

bool dt_can_fuse(const dt_graph *g, int node) {
    const dt_node *n = &g->node[node];
    dt_strip_layout l;
    int64_t period, inner;

    if (dt_is_fused_sum(g, node)) return true;
    if (n->op->role == DT_ROLE_REPEAT)
        return (is_f32(g, node) || n->type.dtype == DT_BOOL) &&
               layout_of(g, n, &l, &period, &inner);
    if (n->op->role == DT_ROLE_CONVERT) return can_convert(g, n);
    if (loop_of(n) < 0 || (n->type.dtype != DT_FLOAT32 && n->type.dtype != DT_BOOL)) return false;
    /* bools are read as floats (a condition), or written from floats (a comparison) */
    for (int k = 0; k < n->n_in; k++)
        if (!is_f32(g, n->in[k]) &&
            (n->type.dtype == DT_BOOL || g->node[n->in[k]].type.dtype != DT_BOOL))
            return false;
    return true;
}

/* ---- building ---- */

/* arrays of this size or more are assumed not to fit into the cache of a core */
enum { FAR_BYTES = 2 << 20 };

typedef struct builder {
    dt_exec *x;
    dt_strip_program *p;
    const dt_fused_list *list;
    /* [nodes] 1 + the index of the instruction of this program that computes the node; 0: the
     * program does not compute it */
    int *place;
    /* [nodes] whether the program computes the node although it belongs to another list
     * (dt_fused_list.again) */
    bool *again;
    /* the longest period of a repeated operand or of a sum, or row of an INSIDE operand that a
     * strip can hold, so far */
    int64_t longest;
} builder;

static bool same_operand(const dt_strip_operand *a, const dt_strip_operand *b) {
    return a->layout == b->layout && a->node == b->node && a->period == b->period &&
           a->inner == b->inner && a->load == b->load &&
           memcmp(&a->value, &b->value, sizeof a->value) == 0;
}

static int add_operand(builder *b, const dt_strip_operand *o) {
    for (int i = 0; i < b->p->n_operands; i++)
        if (same_operand(&b->p->operand[i], o)) return -1 - i;
    b->p->operand[b->p->n_operands] = *o;
    if (o->layout == DT_STRIP_REPEATED && o->period > b->longest) b->longest = o->period;
    /* counts as a period, so that a strip begins at the beginning of a row of the operand */
    if (o->layout == DT_STRIP_INSIDE && o->inner <= DT_STRIP && o->inner > b->longest)
        b->longest = o->inner;
    return -1 - b->p->n_operands++;
}

/* Returns the operand for a node that the program reads but does not compute: a whole array, or a
 * single number, which is a constant or a value of one element. */
static dt_strip_operand operand_for(const builder *b, int node) {
    const dt_graph *g = b->x->g;
    const dt_node *n = &g->node[node];
    dt_strip_operand o = {
        .layout = DT_STRIP_WHOLE, .node = node, .load = dt_strip_load(b->x->type[node].dtype)};

    if (n->op->role == DT_ROLE_CONSTANT)
        return (dt_strip_operand){.layout = DT_STRIP_SPLAT,
                                  .node = -1,
                                  .value = (float)((const dt_constant_attr *)n->attr)->value,
                                  .load = DT_S_COPY};
    if (dt_type_elements(&b->x->type[node]) == 1) o.layout = DT_STRIP_SPLAT;
    o.far = o.layout == DT_STRIP_WHOLE && (o.load == DT_S_COPY || o.load == DT_S_FROM_BF16) &&
            dt_type_bytes(&b->x->type[node]) >= FAR_BYTES;
    return o;
}

static dt_strip_operand operand_of_broadcast(const builder *b, const dt_node *n) {
    dt_strip_operand o = operand_for(b, n->in[0]);
    o.far = false;
    if (o.node >= 0) layout_of(b->x->g, n, &o.layout, &o.period, &o.inner);
    return o;
}

static void add_node(builder *b, int node);

/* Returns the number by which an instruction refers to its input `node`: the index of an earlier
 * instruction, or -1 - the index of an operand, which is added if it is new. */
static int reference(builder *b, int node) {
    if (b->again[node] && !b->place[node]) add_node(b, node);
    if (b->place[node]) return b->place[node] - 1;
    dt_strip_operand o = operand_for(b, node);
    return add_operand(b, &o);
}

static void add_instruction(builder *b, int node, dt_strip_code i) {
    dt_strip_result r = {.reg = -1, .store = -1, .convert = DT_S_COPY};

    if (b->x->slot[node].stored && !b->again[node]) {
        r.store = b->x->overwrites[node] >= 0 ? b->x->overwrites[node] : node;
        r.convert = dt_strip_store(b->x->type[node].dtype);
    }
    b->p->result[b->p->n_code] = r;
    b->p->code[b->p->n_code++] = i;
    b->place[node] = b->p->n_code;
}

static void add_node(builder *b, int node) {
    const dt_node *n = &b->x->g->node[node];
    dt_strip_code i = {.op = DT_S_COPY, .n_in = n->n_in};

    if (n->op->role == DT_ROLE_REPEAT) {
        dt_strip_operand o = operand_of_broadcast(b, n);
        i.in[0] = add_operand(b, &o);
    } else { /* a conversion to float is a copy, since its operand is converted when it is loaded */
        i.op = n->type.dtype == DT_BFLOAT16  ? DT_S_reduce_precision
               : n->type.dtype == DT_FLOAT16 ? DT_S_float16_precision
               : loop_of(n) < 0              ? DT_S_COPY
                                             : (dt_strip_op)loop_of(n);
        for (int k = 0; k < n->n_in; k++) i.in[k] = reference(b, n->in[k]);
    }
    add_instruction(b, node, i);
}

static void add_sum(builder *b, int node) {
    const dt_node *n = &b->x->g->node[node];
    int64_t period = dt_row_elements(b->x, node);
    b->p->sum[b->p->n_sums++] =
        (dt_strip_sum){.in = reference(b, n->in[0]), .node = node, .period = period};
    b->longest = period > b->longest ? period : b->longest;
}

/* Removes copies whose results are not stored. Their readers read the input of the copy instead. */
static void forward_copies(dt_strip_program *p) {
    int *to = dt_alloc((size_t)(p->n_code + 1) * sizeof *to), kept = 0;

    for (int i = 0; i < p->n_code; i++) {
        dt_strip_code c = p->code[i];
        for (int k = 0; k < c.n_in; k++) c.in[k] = c.in[k] >= 0 ? to[c.in[k]] : c.in[k];
        to[i] = c.op == DT_S_COPY && p->result[i].store < 0 ? c.in[0] : kept;
        if (to[i] == kept) {
            p->result[kept] = p->result[i];
            p->code[kept++] = c;
        }
    }
    for (int i = 0; i < p->n_sums; i++)
        p->sum[i].in = p->sum[i].in >= 0 ? to[p->sum[i].in] : p->sum[i].in;
    p->n_code = kept;
    free(to);
}

/* ---- registers, strips and the step ---- */

static int take_register(dt_strip_program *p, bool *busy) {
    for (int r = 0; r < p->n_regs; r++)
        if (!busy[r]) {
            busy[r] = true;
            return r;
        }
    busy[p->n_regs] = true;
    return p->n_regs++;
}

static void free_register(const dt_strip_program *p, int result, bool *busy) {
    if (p->result[result].reg >= 0) busy[p->result[result].reg] = false;
}

/* Returns, for each result, the last instruction that reads it: [results], to be freed. -1: no
 * instruction of this program; n_code: sums read it, at the end. */
static int *last_readings(const dt_strip_program *p) {
    int *last = dt_alloc((size_t)(p->n_code + 1) * sizeof *last);

    for (int i = 0; i < p->n_code; i++) last[i] = -1;
    for (int i = 0; i < p->n_code; i++)
        for (int k = 0; k < p->code[i].n_in; k++)
            if (p->code[i].in[k] >= 0) last[p->code[i].in[k]] = i;
    for (int i = 0; i < p->n_sums; i++)
        if (p->sum[i].in >= 0) last[p->sum[i].in] = p->n_code;
    return last;
}

/* Assigns registers. An operand that is not read in place (whole arrays of float32 are) has a
 * register throughout the task. A result releases its register after its last reader. */
static void assign_registers(dt_strip_program *p) {
    bool *busy = dt_alloc((size_t)(p->n_operands + p->n_code + p->n_sums + 1) * sizeof *busy);
    int *last = last_readings(p);

    for (int o = 0; o < p->n_operands; o++)
        p->operand[o].reg =
            p->operand[o].layout == DT_STRIP_WHOLE && p->operand[o].load == DT_S_COPY
                ? -1
                : take_register(p, busy);
    for (int i = 0; i < p->n_sums; i++) p->sum[i].reg = take_register(p, busy);
    for (int i = 0; i < p->n_code; i++) {
        const dt_strip_code *c = &p->code[i];
        if (p->result[i].store < 0 || p->result[i].convert != DT_S_COPY)
            p->result[i].reg = take_register(p, busy);
        for (int k = 0; k < c->n_in; k++)
            if (c->in[k] >= 0 && last[c->in[k]] == i) free_register(p, c->in[k], busy);
        /* Nothing in this program reads the result again, so its register is free. */
        if (last[i] < 0) free_register(p, i, busy);
    }
    free(busy);
    free(last);
}

/* Sets p->strip to the largest multiple of `longest` that is at most DT_STRIP; longest 0: to
 * DT_STRIP. Periods are products of the last dimensions of one shape, so each divides the longer
 * ones. If `longest` exceeds DT_STRIP or does not divide `row`, the elements of a row, sets
 * p->row_break to it, and p->strip to a multiple of the longest period of a sum instead. */
static void choose_strip(dt_strip_program *p, int64_t longest, int64_t row) {
    const bool breaks = longest > DT_STRIP || (longest > 0 && row % longest != 0);
    int64_t period = breaks ? 1 : longest;

    if (breaks) p->row_break = longest;
    for (int i = 0; i < p->n_sums && p->row_break; i++)
        period = p->sum[i].period > period ? p->sum[i].period : period;
    p->strip = period > 1 ? DT_STRIP / period * period : DT_STRIP;
}

static void add_all(builder *b) {
    for (int i = 0; i < b->list->again.n; i++) b->again[b->list->again.v[i]] = true;
    for (int i = 0; i < b->list->node.n; i++)
        (dt_is_fused_sum(b->x->g, b->list->node.v[i]) ? add_sum : add_node)(b, b->list->node.v[i]);
}

/* Returns the number of elements of the largest piece of the node. */
static int64_t largest_piece(const dt_exec *x, int node) {
    int64_t most = 0, lo, hi;
    for (int u = 0; u < x->p->piece[node].units; u++) {
        dt_piece_rows(x->p, node, u, &lo, &hi);
        most = hi - lo > most ? hi - lo : most;
    }
    return most * dt_piece_elements(x, node);
}

/* Assigns registers, after the others, to the buffers of the sums' trees (dt_strip_sum.level) and
 * returns their number. With row_break, each multiple of it may end in a shorter strip. */
static int add_levels(const dt_exec *x, dt_strip_program *p) {
    const int64_t shortest = p->row_break ? (p->strip + 1) / 2 : p->strip;
    const int64_t strips = p->n_sums ? largest_piece(x, p->rows_of) / shortest + 1 : 0;
    const int levels = dt_sum_levels(strips / DT_STRIP_BLOCK + 1);

    for (int i = 0; i < p->n_sums; i++) p->sum[i].level = p->n_regs + i * levels;
    return p->n_sums * levels;
}

dt_status *dt_fused_step(dt_exec *x, const dt_fused_list *list, dt_step *step) {
    dt_strip_program *p = dt_arena_new(x->arena, dt_strip_program);
    int nodes = x->g->n_nodes + 1, n = list->node.n + list->again.n;
    builder b = {.x = x,
                 .p = p,
                 .list = list,
                 .place = dt_alloc((size_t)nodes * sizeof(int)),
                 .again = dt_alloc((size_t)nodes)};

    p->rows_of = list->shape;
    p->operand = dt_arena_array(x->arena, dt_strip_operand, 3 * n + 1);
    p->code = dt_arena_array(x->arena, dt_strip_code, n + 1);
    p->result = dt_arena_array(x->arena, dt_strip_result, n + 1);
    p->pass = dt_arena_array(x->arena, dt_strip_pass, n + 1);
    p->sum = dt_arena_array(x->arena, dt_strip_sum, n + 1);
    add_all(&b);
    forward_copies(p);
    assign_registers(p);
    choose_strip(p, b.longest, dt_piece_elements(x, p->rows_of));
    dt_emit_loops(p, x->engine->simd->generates ? &x->code : NULL);
    free(b.place);
    free(b.again);
    *step = (dt_step){.kernel = &dt_kernel_fused,
                      .node = list->node.v[list->node.n - 1],
                      .pieces_of = list->shape,
                      .state = p,
                      .scratch = (size_t)(p->n_regs + add_levels(x, p)) * DT_STRIP * sizeof(float)};
    return NULL;
}

void dt_fused_reads(dt_exec *x, const dt_step *step, dt_reader *read, int number) {
    const dt_strip_program *p = step->state;
    for (int i = 0; i < p->n_operands; i++)
        if (p->operand[i].node >= 0) read(x, p->operand[i].node, number);
}
