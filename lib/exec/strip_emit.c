/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The element compiler: turns passes of a strip program into loops of machine code.
 *
 *     r0 = g * s0;  r1 = r0 - m;  ...      for 8 elements at a time, and one by one at the end:
 *     load, compute in registers, store the results
 *
 * Values are in vector registers from their instruction to the last one that reads them. A value
 * that is read after the loop, or whose register is needed for another one, is stored in the memory
 * where loops in C would store it. Generated loops check no bounds, because the arrays that they
 * read and write were laid out before.
 */
#include <stdlib.h>
#include <string.h>

#include "exec/strip_program.h"

/* ---- registers and operands ---- */

/* The numbers of the vector registers: 0 .. VALUES - 1 for results of instructions; from TEMPORARY
 * on for the loaded inputs X, Y, Z; from SCRATCH on for the temporaries T, U, V. */
enum { VALUES = 10, TEMPORARY = 10, SCRATCH = 13 };
static const int stream_register[DT_PASS_STREAMS] = {8, 9, 10, 11, 12, 13, 14, 15, DT_RBX, DT_RBP};

typedef struct emitter {
    const dt_strip_program *p;
    const dt_strip_pass *pass;
    dt_code *c;
    bool one; /* whether the loop computes one element at a time, not eight */
    /* [results] the last instruction of this pass that reads the result; n_code: a sum reads it at
     * the end; -1: nothing in this pass reads it */
    int *last;
    int *vector; /* [results] the vector register that holds the result; -1: none does */
    /* [results] whether the result is stored in the memory that loops in C use */
    bool *is_home;
    bool *leaves; /* [results] whether the result is read after the pass that computes it */
    /* [registers] the result that the register holds; -1: the register is free */
    int holds[VALUES];
} emitter;

static dt_vex_operand vector(int v) { return (dt_vex_operand){.vector = v}; }

static dt_vex_operand strip_register(int reg, int scale) {
    return (dt_vex_operand){
        .vector = -1, .base = DT_RDX, .scale = scale, .at = reg * DT_STRIP * (int)sizeof(float)};
}

static dt_vex_operand stream_of(const emitter *e, int node, int scale) {
    int k = 0;
    while (e->pass->stream[k] != node) k++;
    return (dt_vex_operand){.vector = -1, .base = stream_register[k], .scale = scale};
}

static dt_strip_op load_of(const emitter *e, int in) {
    return in < 0 && e->p->operand[-1 - in].layout == DT_STRIP_WHOLE ? e->p->operand[-1 - in].load
                                                                     : DT_S_COPY;
}

static bool is_splat(const emitter *e, int in) {
    return in < 0 && e->p->operand[-1 - in].layout == DT_STRIP_SPLAT;
}

static dt_vex_operand operand_of(const emitter *e, int in) {
    int node = dt_strip_stream(e->p, in);
    if (in >= 0 && e->vector[in] >= 0) return vector(e->vector[in]);
    if (node >= 0) return stream_of(e, node, dt_strip_formats[load_of(e, in)].scale);
    return strip_register(in < 0 ? e->p->operand[-1 - in].reg : e->p->result[in].reg,
                          is_splat(e, in) ? -1 : 2);
}

/* ---- lines ---- */

static void emit_row(const emitter *e, const dt_strip_line *l, const dt_vex_operand name[NAMES]) {
    for (int i = 0; i < MOST_LINES && l[i].what != DT_VEX_NONE; i++) {
        dt_vex_operand number = {.vector = -1,
                                 .base = DT_RCX,
                                 .scale = -1,
                                 .at = (l[i].b - NAMES) * (int)sizeof *dt_strip_numbers};
        int imm = l[i].what == DT_VEX_CHOOSE ? name[l[i].imm].vector << 4 : l[i].imm;
        dt_code_vex(e->c, l[i].what, name[l[i].to].vector,
                    l[i].a == NONE ? -1 : name[l[i].a].vector,
                    l[i].b < NAMES ? &name[l[i].b] : &number, (uint8_t)imm);
    }
}

static void emit_rows(const emitter *e, const dt_strip_line *l, dt_vex_operand result,
                      dt_vex_operand x) {
    emit_row(e, l,
             (dt_vex_operand[NAMES]){
                 result, x, {0}, {0}, vector(SCRATCH), vector(SCRATCH + 1), vector(SCRATCH + 2)});
}

/* Loads an input as floats into vector register `to`: eight elements, or one element in the loop
 * for the rest. */
static void emit_load(const emitter *e, int in, int to) {
    dt_strip_op op = load_of(e, in);
    dt_vex_operand from = operand_of(e, in);
    if (from.vector < 0 && e->one) {
        dt_code_vex(e->c, dt_strip_formats[op].load_one, to,
                    dt_strip_formats[op].load_one == DT_VEX_LOAD_32 ? -1 : to, &from, 0);
        from = vector(to);
    }
    if (op != DT_S_COPY || from.vector != to) emit_rows(e, dt_strip_rows[op], vector(to), from);
}

static void emit_store(const emitter *e, int from, dt_vex_operand to, dt_strip_op convert) {
    const dt_strip_format *f = &dt_strip_formats[convert];
    dt_code_vex(e->c, e->one ? f->store_one : f->store, from, -1, &to, 0);
}

/* Returns the operand by which an instruction reads its input: a register or, if the op takes one
 * instruction that can read the input there, memory. */
static dt_vex_operand emit_input(const emitter *e, const dt_strip_code *code, int k) {
    const dt_strip_line *l = dt_strip_row_of(e->p, code);
    dt_vex_operand at = operand_of(e, code->in[k]);
    bool in_place = l[1].what == DT_VEX_NONE && l[0].b == X + k &&
                    load_of(e, code->in[k]) == DT_S_COPY && (!e->one || is_splat(e, code->in[k]));
    if (at.vector >= 0 || in_place) return at;
    emit_load(e, code->in[k], TEMPORARY + k);
    return vector(TEMPORARY + k);
}

/* ---- values ---- */

static void go_home(emitter *e, int result) {
    if (!e->is_home[result])
        emit_store(e, e->vector[result], strip_register(e->p->result[result].reg, 2), DT_S_COPY);
    e->is_home[result] = true;
}

static void release(emitter *e, int result) {
    if (result >= 0 && e->vector[result] >= 0) {
        e->holds[e->vector[result]] = -1;
        e->vector[result] = -1;
    }
}

static bool reads(const dt_strip_code *c, int result) {
    for (int k = 0; k < c->n_in; k++)
        if (c->in[k] == result) return true;
    return false;
}

/* Returns a free vector register for the result of c. If there is none, frees the one whose value
 * is read latest of those that c does not read; that value is stored in its memory first. */
static int free_register(emitter *e, const dt_strip_code *c) {
    int latest = -1;
    for (int v = 0; v < VALUES; v++) {
        if (e->holds[v] < 0) return v;
        if (!reads(c, e->holds[v]) &&
            (latest < 0 || e->last[e->holds[v]] > e->last[e->holds[latest]]))
            latest = v;
    }
    go_home(e, e->holds[latest]);
    release(e, e->holds[latest]);
    return latest;
}

/* ---- instructions and loops ---- */

static void emit_result(emitter *e, int i) {
    const dt_strip_result *r = &e->p->result[i];
    int v = e->vector[i], packed = TEMPORARY;

    if (r->store >= 0 && r->convert == DT_S_COPY) {
        emit_store(e, v, stream_of(e, r->store, 2), DT_S_COPY);
        e->is_home[i] = true;
    } else if (r->store >= 0) {
        bool is_rounded = r->convert == DT_S_TO_BF16 && e->p->code[i].op == DT_S_reduce_precision;
        if (!is_rounded) emit_rows(e, dt_strip_rows[r->convert], vector(packed), vector(v));
        emit_rows(e, dt_strip_formats[r->convert].pack, vector(packed),
                  vector(is_rounded ? v : packed));
        emit_store(e, packed, stream_of(e, r->store, dt_strip_formats[r->convert].scale),
                   r->convert);
    }
    if (e->leaves[i]) go_home(e, i);
    if (e->last[i] < 0) release(e, i);
}

static void emit_instruction(emitter *e, int i) {
    const dt_strip_code *c = &e->p->code[i];
    dt_vex_operand name[NAMES] = {
        [T] = vector(SCRATCH), [U] = vector(SCRATCH + 1), [V] = vector(SCRATCH + 2)};

    for (int k = 0; k < c->n_in; k++) name[X + k] = emit_input(e, c, k);
    for (int k = 0; k < c->n_in; k++)
        if (c->in[k] >= 0 && e->last[c->in[k]] == i) release(e, c->in[k]);
    int v = free_register(e, c);
    e->vector[i] = v;
    e->holds[v] = i;
    name[R] = vector(v);
    emit_row(e, dt_strip_row_of(e->p, c), name);
    emit_result(e, i);
}

static void emit_sum(const emitter *e, const dt_strip_sum *s) {
    dt_vex_operand sums = strip_register(s->reg, 2), term = operand_of(e, s->in);
    int sum = TEMPORARY + 1;
    if (term.vector < 0) {
        emit_load(e, s->in, TEMPORARY);
        term = vector(TEMPORARY);
    }
    dt_code_vex(e->c, e->one ? DT_VEX_LOAD_32 : DT_VEX_LOAD, sum, -1, &sums, 0);
    dt_code_vex(e->c, DT_VEX_ADD, sum, sum, &term, 0);
    emit_store(e, sum, sums, DT_S_COPY);
}

/* Emits prefetches of the next strip of the pass' arrays that are too large for the cache
 * (operand.far), because processors do not prefetch beyond a page. */
static void emit_prefetches(const emitter *e) {
    for (int o = 0; o < e->p->n_operands; o++)
        for (int k = 0; k < e->pass->n_streams && e->p->operand[o].far; k++)
            if (e->pass->stream[k] == e->p->operand[o].node) {
                dt_vex_operand at = operand_of(e, -1 - o);
                at.at = (int32_t)e->p->strip << at.scale;
                dt_code_prefetch(e->c, &at);
            }
}

static void emit_elements(emitter *e, bool one) {
    e->one = one;
    memset(e->holds, -1, sizeof e->holds);
    for (int i = 0; i < e->p->n_code; i++) {
        e->vector[i] = -1;
        e->is_home[i] = i < e->pass->from;
    }
    if (!one) emit_prefetches(e);
    for (int i = e->pass->from; i < e->pass->to; i++) emit_instruction(e, i);
    for (int i = 0; i < e->p->n_sums && e->pass->sums; i++) emit_sum(e, &e->p->sum[i]);
}

/* Emits a loop: while (rax < rsi) { elements; rax += step; } */
static void emit_loop(emitter *e, bool one) {
    dt_code *c = e->c;
    int start = c->n;
    dt_code_bytes(c, "\x48\x39\xf0\x0f\x8d\0\0\0\0", 9); /* machine code: cmp rax, rsi; jge */
    int out = c->n - 4;
    emit_elements(e, one);
    /* machine code: add rax, step; jmp */
    dt_code_bytes(c, one ? "\x48\x83\xc0\x01\xe9\0\0\0\0" : "\x48\x83\xc0\x08\xe9\0\0\0\0", 9);
    dt_code_land(c, c->n - 4, start);
    dt_code_land(c, out, c->n);
}

/* Emits a function void f(void *const *stream, int64_t n, char *registers, const void *numbers),
 * which dt_run_loop calls. */
static void emit_pass(emitter *e) {
    dt_code *c = e->c;
    /* machine code: push rbx, rbp, r12 .. r15 */
    dt_code_bytes(c, "\x53\x55\x41\x54\x41\x55\x41\x56\x41\x57", 10);
    for (int k = 0; k < e->pass->n_streams; k++) dt_code_load_word(c, stream_register[k], k);
    dt_code_bytes(c, "\x31\xc0\x48\x83\xee\x07", 6); /* machine code: xor eax, eax; sub rsi, 7 */
    emit_loop(e, false);
    dt_code_bytes(c, "\x48\x83\xc6\x07", 4); /* machine code: add rsi, 7 */
    emit_loop(e, true);
    /* machine code: vzeroupper; pop r15 .. r12, rbp, rbx; ret */
    dt_code_bytes(c, "\xc5\xf8\x77\x41\x5f\x41\x5e\x41\x5d\x41\x5c\x5d\x5b\xc3", 14);
}

/* ---- readers of values, and all passes ---- */

static void note_reading(emitter *e, int in, int reader, bool here) {
    if (in < 0) return;
    if (here) e->last[in] = reader;
    else e->leaves[in] = true;
}

static void note_readers(emitter *e) {
    const dt_strip_program *p = e->p;
    for (int i = 0; i < p->n_code; i++) {
        e->last[i] = -1;
        e->leaves[i] = false;
    }
    for (int i = 0; i < p->n_code; i++)
        for (int k = 0; k < p->code[i].n_in; k++)
            note_reading(e, p->code[i].in[k], i, i >= e->pass->from && i < e->pass->to);
    for (int i = 0; i < p->n_sums; i++) note_reading(e, p->sum[i].in, p->n_code, e->pass->sums);
}

void dt_emit_loops(dt_strip_program *p, dt_code *c) {
    size_t n = (size_t)p->n_code + 1;
    emitter e = {.p = p,
                 .c = c,
                 .last = dt_alloc(n * sizeof(int)),
                 .vector = dt_alloc(n * sizeof(int)),
                 .is_home = dt_alloc(n),
                 .leaves = dt_alloc(n)};

    dt_find_passes(p);
    for (int i = 0; i < p->n_passes && c; i++) {
        e.pass = &p->pass[i];
        p->pass[i].at = c->n;
        note_readers(&e);
        if (p->pass[i].loop) emit_pass(&e);
    }
    free(e.last);
    free(e.vector);
    free(e.is_home);
    free(e.leaves);
}

void dt_run_loop(const dt_strip_pass *pass, const dt_code *c, void *const *stream, int64_t n,
                 char *registers) {
    void (*loop)(void *const *stream, int64_t n, char *registers, const void *numbers);
    const uint8_t *at = c->base + pass->at;
    /* copies the bytes, because ISO C has no cast from data pointers to function pointers */
    memcpy(&loop, &at, sizeof loop);
    loop(stream, n, registers, dt_strip_numbers);
}
