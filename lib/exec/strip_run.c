/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a strip program. For each strip of a piece, operands that are not read in place are copied
 * to registers, those that are the same for all strips only once. Then every pass runs over the
 * whole strip, and values that other steps read are written to memory. A pass is one generated loop
 * or, if an op has no vector instructions, or the engine's instruction set or the system does not
 * allow generated code, a loop in C for each instruction. What the next strip reads of large arrays
 * is prefetched.
 */
#include <string.h>

#include "exec/strip_program.h"
#include "exec/sums.h"

/* What the register of an operand contains: n elements of row `row` of the operand, the first of
 * which is element `within` of the row. n 0: unknown. */
typedef struct register_content {
    int64_t row, within, n;
} register_content;

typedef struct runner {
    const dt_kernel_call *c;
    const dt_strip_program *p;
    const dt_simd *simd;
    bool generated; /* whether the passes that can be generated loops run as such */
    /* the current strip: elements [from, from + n) of the program's shape, counted in memory
     * order */
    int64_t from, n;
    register_content *held; /* [operands] for PER_ROW and INSIDE: contents of the register */
    int64_t blocks;         /* number of blocks that have been passed to the trees of the sums */
} runner;

static float *reg(const runner *r, int i) { return (float *)r->c->scratch + (int64_t)i * DT_STRIP; }

static const char *memory_of(const runner *r, int node, int64_t element) {
    return (const char *)r->c->x->at[node] + element * dt_element_bytes(r->c->x, node);
}

static void load(const runner *r, const dt_strip_operand *o, float *to, int64_t element,
                 int64_t n) {
    r->simd->strip[o->load](to, memory_of(r, o->node, element), NULL, NULL, n);
}

/* Fills the registers of operands that are the same for all strips: single values, and vectors that
 * are repeated (unless strips break at rows). Called once for each task. */
static void lay_out_fixed(const runner *r) {
    for (int i = 0; i < r->p->n_operands; i++) {
        const dt_strip_operand *o = &r->p->operand[i];
        float one = o->value;
        if (o->layout == DT_STRIP_SPLAT) {
            if (o->node >= 0) load(r, o, &one, 0, 1);
            r->simd->fill(reg(r, o->reg), one, DT_STRIP);
        } else if (o->layout == DT_STRIP_REPEATED && !r->p->row_break) {
            for (int64_t at = 0; at < r->p->strip; at += o->period)
                load(r, o, reg(r, o->reg) + at, 0, o->period);
        }
    }
}

/* Fills the register of an operand: element i of the strip is element (from + i) / period of the
 * operand's array. */
static void lay_out_rows(const runner *r, const dt_strip_operand *o) {
    float *to = reg(r, o->reg), value;

    for (int64_t done = 0; done < r->n;) {
        int64_t row = (r->from + done) / o->period, end = (row + 1) * o->period - r->from;
        int64_t n = (end < r->n ? end : r->n) - done;
        load(r, o, &value, row, 1);
        r->simd->fill(to + done, value, n);
        done += n;
    }
}

/* Fills the register of an operand by repeating a vector or, if the vector is longer than a strip,
 * with a part of the vector. */
static void lay_out_repeated(const runner *r, const dt_strip_operand *o) {
    for (int64_t done = 0; done < r->n;) {
        int64_t at = (r->from + done) % o->period,
                n = o->period - at < r->n - done ? o->period - at : r->n - done;
        load(r, o, reg(r, o->reg) + done, at, n);
        done += n;
    }
}

/* Fills a register with elements that are repeated within a row. They are loaded once and then
 * copied within the strip, twice as many each time. */
static void lay_out_inside(const runner *r, const dt_strip_operand *o) {
    for (int64_t done = 0; done < r->n;) {
        const int64_t at = r->from + done, row = at / o->period, within = at % o->inner;
        const int64_t left = (row + 1) * o->period - at,
                      n = left < r->n - done ? left : r->n - done;
        const int64_t once = o->inner < n ? o->inner : n,
                      head = o->inner - within < once ? o->inner - within : once;
        float *to = reg(r, o->reg) + done;

        load(r, o, to, row * o->inner + within, head);
        if (once > head) load(r, o, to + head, row * o->inner, once - head);
        for (int64_t have = once; have < n; have *= 2)
            memcpy(to + have, to, (size_t)(have < n - have ? have : n - have) * sizeof *to);
        done += n;
    }
}

/* Whether the operand's register contains the elements of this strip already. A row of a large
 * image has many strips that read the same elements. */
static bool is_held(const runner *r, int operand) {
    const dt_strip_operand *o = &r->p->operand[operand];
    const int64_t row = r->from / o->period, last = (r->from + r->n - 1) / o->period,
                  within = r->from % o->inner;
    register_content *h = &r->held[operand];

    if (h->n >= r->n && h->row == row && h->within == within && last == row) return true;
    *h = (register_content){.row = row, .within = within, .n = last == row ? r->n : 0};
    return false;
}

static void lay_out_strip(const runner *r) {
    for (int i = 0; i < r->p->n_operands; i++) {
        const dt_strip_operand *o = &r->p->operand[i];
        const bool of_row = o->layout == DT_STRIP_PER_ROW || o->layout == DT_STRIP_INSIDE;
        if (of_row && is_held(r, i)) continue;
        if (o->layout == DT_STRIP_PER_ROW) lay_out_rows(r, o);
        else if (o->layout == DT_STRIP_INSIDE) lay_out_inside(r, o);
        else if (o->layout == DT_STRIP_REPEATED && r->p->row_break) lay_out_repeated(r, o);
        else if (o->layout == DT_STRIP_WHOLE && o->reg >= 0 && (o->laid_out || !r->generated))
            load(r, o, reg(r, o->reg), r->from, r->n);
    }
}

static void *destination(const runner *r, int result) {
    const dt_strip_result *to = &r->p->result[result];
    return to->reg >= 0 ? (void *)reg(r, to->reg) : (void *)memory_of(r, to->store, r->from);
}

static const void *source(const runner *r, int in) {
    if (in < 0) {
        const dt_strip_operand *o = &r->p->operand[-1 - in];
        return o->reg >= 0 ? (const void *)reg(r, o->reg) : memory_of(r, o->node, r->from);
    }
    return destination(r, in);
}

static void run_op(const runner *r, int i) {
    const dt_strip_code *c = &r->p->code[i];
    const dt_strip_result *result = &r->p->result[i];
    const void *in[3] = {NULL, NULL, NULL};
    void *to = destination(r, i);

    for (int k = 0; k < c->n_in; k++) in[k] = source(r, c->in[k]);
    r->simd->strip[c->op](to, in[0], in[1], in[2], r->n);
    if (result->convert != DT_S_COPY)
        r->simd->strip[result->convert]((void *)memory_of(r, result->store, r->from), to, NULL,
                                        NULL, r->n);
}

/* Prefetches a part (`part` of `parts` equal ones) of the next strip of each far operand, since
 * processors do not prefetch beyond a page. A strip of DT_STRIP floats has the size of a page. */
static void fetch_ahead(const runner *r, int part, int parts) {
    int64_t line = 64;
    for (int i = 0; i < r->p->n_operands; i++) {
        const dt_strip_operand *o = &r->p->operand[i];
        if (!o->far) continue;
        const char *next = memory_of(r, o->node, r->from + r->n);
        int64_t bytes = r->n * dt_element_bytes(r->c->x, o->node);
        for (int64_t at = bytes * part / parts / line * line; at < bytes * (part + 1) / parts;
             at += line)
            __builtin_prefetch(next + at, 0, 2);
    }
}

static void run_loop(const runner *r, const dt_strip_pass *pass) {
    void *stream[DT_PASS_STREAMS];
    for (int k = 0; k < pass->n_streams; k++)
        stream[k] = (void *)memory_of(r, pass->stream[k], r->from);
    dt_run_loop(pass, &r->c->x->code, stream, r->n, r->c->scratch);
}

static void run_ops(const runner *r, const dt_strip_pass *pass) {
    for (int i = pass->from; i < pass->to; i++) {
        fetch_ahead(r, i, r->p->n_code);
        run_op(r, i);
    }
}

static void run_sums(const runner *r) {
    for (int i = 0; i < r->p->n_sums; i++) {
        float *sums = reg(r, r->p->sum[i].reg);
        r->simd->strip[DT_S_add](sums, sums, source(r, r->p->sum[i].in), NULL, r->n);
    }
}

static void run_strip(const runner *r) {
    bool summed = false;
    lay_out_strip(r);
    for (int i = 0; i < r->p->n_passes; i++) {
        const dt_strip_pass *pass = &r->p->pass[i];
        bool loop = r->generated && pass->loop;
        (loop ? run_loop : run_ops)(r, pass);
        summed |= loop && pass->sums;
    }
    if (!summed) run_sums(r);
}

/* Sets the registers of sums to 0 at the start of a block. The block's first strip begins at a
 * multiple of the period, as every strip does. */
static void begin_block(const runner *r) {
    for (int i = 0; i < r->p->n_sums; i++) r->simd->fill(reg(r, r->p->sum[i].reg), 0, DT_STRIP);
}

static dt_sum_tree tree_of(const runner *r, const dt_strip_sum *s) {
    return (dt_sum_tree){.level = reg(r, s->level),
                         .stride = DT_STRIP,
                         .n = DT_STRIP,
                         .blocks = r->blocks,
                         .add = r->simd->strip[DT_S_add]};
}

static void end_block(runner *r) {
    for (int i = 0; i < r->p->n_sums; i++) {
        dt_sum_tree t = tree_of(r, &r->p->sum[i]);
        memcpy(dt_sum_next(&t), reg(r, r->p->sum[i].reg), DT_STRIP * sizeof(float));
        dt_sum_push(&t);
    }
    r->blocks++;
}

static void end_sums(const runner *r) {
    for (int i = 0; i < r->p->n_sums; i++) {
        const dt_strip_sum *s = &r->p->sum[i];
        const dt_sum_tree t = tree_of(r, s);
        const dt_sum_source all = {.at = t.level,
                                   .load = DT_S_COPY,
                                   .rows = r->p->strip / s->period,
                                   .n = s->period,
                                   .stride = s->period};
        dt_sum_end(&t);
        dt_sum_rows(r->simd, &all, dt_floats(r->c->x, s->node) + r->c->unit * s->period);
    }
}

static void run(const dt_kernel_call *c) {
    const dt_strip_program *p = c->step->state;
    register_content held[p->n_operands + 1];
    runner r = {.c = c,
                .held = memset(held, 0, sizeof held),
                .p = p,
                .simd = c->x->engine->simd,
                .generated = c->x->code.base != NULL};
    int64_t row = dt_piece_elements(c->x, r.p->rows_of), end = c->hi * row;
    /* number of strips that have been added to the registers of sums in the current block */
    int strips = 0;

    begin_block(&r);
    if (c->hi > c->lo) lay_out_fixed(&r);
    for (r.from = c->lo * row; r.from < end; r.from += r.n) {
        if (strips == DT_STRIP_BLOCK) {
            end_block(&r);
            begin_block(&r);
            strips = 0;
        }
        r.n = end - r.from < r.p->strip ? end - r.from : r.p->strip;
        if (r.p->row_break && r.p->row_break - r.from % r.p->row_break < r.n)
            r.n = r.p->row_break - r.from % r.p->row_break;
        run_strip(&r);
        strips++;
    }
    end_block(&r);
    end_sums(&r);
}

const dt_kernel dt_kernel_fused = {.name = "fused", .splits = true, .run = run};
