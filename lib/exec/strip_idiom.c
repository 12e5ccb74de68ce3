/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Idioms: common instruction sequences of optimizers, executed in one pass over memory. Alone, each instruction of a strip program
 * loads two strips and stores one; Adam's thirteen become one loop that loads four and stores three. An idiom does the same operations
 * in the same order as the instructions that it stands for, so no bit changes.
 *
 * An idiom is matched from its last line backwards: an instruction matches a line if it is the same op and its inputs match the line's.
 * All of it then executes at the position of the last instruction. So other instructions may read its results only after that, and
 * must not overwrite in between what the idiom reads.
 */
#include <string.h>

#include "exec/strip_program.h"

enum { MOST_LINES = 13 };

typedef struct line {
    dt_strip_op op;
    int in[3];     /* as in dt_strip_code: >= 0 an earlier line, < 0 operand -1 - in */
} line;

typedef struct idiom {
    dt_idiom name;
    int n, n_in;
    unsigned splats; /* bit k: operand k is one value for all elements */
    unsigned leaves; /* bit l: the result of line l may be stored or read by others */
    line line[MOST_LINES];
} idiom;

/* Operands are numbered as the loops in simd/idiom.c take them. */
enum { G = -1, SCALE = -2, M = -3, V = -4, W = -5, SHARE_1 = -6, SHARE_2 = -7, ALPHA = -8, EPSILON = -9 };
enum { RATE = -3, W_SGD = -4, M_MOMENTUM = -5, MOMENTUM = -6 };

static const idiom idioms[] = {
    { DT_IDIOM_ADAM, 13, 9, 1u << 1 | 15u << 5, 1u << 4 | 1u << 7 | 1u << 12, {
        { DT_S_multiply, { G, SCALE } },   /* 0: g */
        { DT_S_multiply, { 0, 0 } },
        { DT_S_subtract, { 1, V } },
        { DT_S_multiply, { 2, SHARE_2 } },
        { DT_S_add, { V, 3 } },            /* 4: v */
        { DT_S_subtract, { 0, M } },
        { DT_S_multiply, { 5, SHARE_1 } },
        { DT_S_add, { M, 6 } },            /* 7: m */
        { DT_S_multiply, { 7, ALPHA } },
        { DT_S_sqrt, { 4 } },
        { DT_S_add, { 9, EPSILON } },
        { DT_S_divide, { 8, 10 } },
        { DT_S_subtract, { W, 11 } } } },
    { DT_IDIOM_MOMENTUM, 5, 6, 3u << 1 | 1u << 5, 1u << 3 | 1u << 4, {
        { DT_S_multiply, { G, SCALE } },
        { DT_S_multiply, { 0, RATE } },
        { DT_S_multiply, { M_MOMENTUM, MOMENTUM } },
        { DT_S_subtract, { 2, 1 } },       /* 3: m */
        { DT_S_add, { W_SGD, 3 } } } },
    { DT_IDIOM_SGD, 3, 4, 3u << 1, 1u << 2, {
        { DT_S_multiply, { G, SCALE } },
        { DT_S_multiply, { 0, RATE } },
        { DT_S_subtract, { W_SGD, 1 } } } },
    { DT_IDIOM_LERP, 3, 3, 1u << 2, 1u << 2, {
        { DT_S_subtract, { -2, -1 } },
        { DT_S_multiply, { 0, -3 } },
        { DT_S_add, { -1, 1 } } } },
};

typedef struct match {
    const dt_strip_program *p;
    const dt_graph *g;
    const idiom *of;
    int code[MOST_LINES]; /* the instruction of each line, -1: none yet */
    int in[DT_IDIOM_IN];
    bool bound[DT_IDIOM_IN];
} match;

/* ---- by form ---- */

static bool fits_operand(match *m, int k, int in)
{
    bool is_splat = in < 0 && m->p->operand[-1 - in].layout == DT_STRIP_SPLAT;

    if (m->bound[k])
        return m->in[k] == in;
    if (m->of->splats >> k & 1 && !is_splat)
        return false;
    m->bound[k] = true;
    m->in[k] = in;
    return true;
}

static bool fits_line(match *m, int l, int i)
{
    const line *want = &m->of->line[l];
    const dt_strip_code *c = &m->p->code[i];

    if (m->code[l] >= 0)
        return m->code[l] == i;
    if (c->n_out != 1 || c->idiom != DT_IDIOM_NONE || c->rounded || c->op != want->op)
        return false;
    m->code[l] = i;
    for (int k = 0; k < c->n_in; k++) {
        bool fits = want->in[k] < 0 ? fits_operand(m, -1 - want->in[k], c->in[k]) : c->in[k] >= 0 && fits_line(m, want->in[k], c->in[k]);
        if (!fits)
            return false;
    }
    return true;
}

/* ---- by who else reads and writes ---- */

static bool is_in_match(const match *m, int i)
{
    for (int l = 0; l < m->of->n; l++)
        if (m->code[l] == i)
            return true;
    return false;
}

/* Is result i read by an instruction outside the match, before instruction `end`? */
static bool is_read_before(const match *m, int i, int end)
{
    for (int j = i + 1; j < end; j++)
        for (int k = 0; k < m->p->code[j].n_in && m->p->code[j].n_out > 0; k++)
            if (m->p->code[j].in[k] == i && !is_in_match(m, j))
                return true;
    return false;
}

static bool may_leave(const match *m, int l)
{
    int i = m->code[l], last = m->code[m->of->n - 1];
    const dt_strip_result *r = &m->p->result[i];

    if (m->of->leaves >> l & 1)
        return r->convert == DT_S_COPY && !is_read_before(m, i, last);
    return r->store < 0 && !is_read_before(m, i, m->p->n_code);
}

/* The variable that is overwritten where node's value is stored; -1: none. */
static int overwritten(const dt_graph *g, int node)
{
    for (int s = 0; s < g->n_states; s++)
        if (g->state[s].update == node)
            return g->state[s].node;
    return -1;
}

static bool reads_memory_of(const match *m, int variable)
{
    for (int k = 0; k < m->of->n_in; k++)
        if (m->in[k] < 0 && m->p->operand[-1 - m->in[k]].node >= 0 && dt_named_by(m->g, m->p->operand[-1 - m->in[k]].node) == variable)
            return true;
    return false;
}

static bool is_disturbed(const match *m)
{
    int last = m->code[m->of->n - 1], first = last;

    for (int l = 0; l < m->of->n; l++)
        first = m->code[l] < first ? m->code[l] : first;
    for (int i = first; i < last; i++)
        for (int k = 0; k < m->p->code[i].n_out && !is_in_match(m, i); k++) {
            int store = m->p->result[m->p->code[i].out[k]].store;
            if (store >= 0 && reads_memory_of(m, overwritten(m->g, store)))
                return true;
        }
    return false;
}

/* a - a * rate with a = g * scale reads line 0 as w: its result would be gone. */
static bool reads_itself(const match *m)
{
    for (int k = 0; k < m->of->n_in; k++)
        if (m->bound[k] && m->in[k] >= 0 && is_in_match(m, m->in[k]))
            return true;
    return false;
}

static bool find(match *m, int last)
{
    memset(m->code, -1, sizeof m->code);
    memset(m->bound, 0, sizeof m->bound);
    if (!fits_line(m, m->of->n - 1, last) || reads_itself(m))
        return false;
    for (int l = 0; l < m->of->n; l++)
        if (!may_leave(m, l))
            return false;
    return !is_disturbed(m);
}

/* ---- rewriting ---- */

static void replace(dt_strip_program *p, const match *m)
{
    dt_strip_code *c = &p->code[m->code[m->of->n - 1]];

    for (int l = 0; l < m->of->n; l++)
        p->code[m->code[l]].n_out = 0;
    c->idiom = m->of->name;
    c->n_in = m->of->n_in;
    memcpy(c->in, m->in, sizeof c->in);
    for (int l = 0; l < m->of->n; l++)
        if (m->of->leaves >> l & 1)
            c->out[c->n_out++] = m->code[l];
}

static void drop_gone(dt_strip_program *p)
{
    int kept = 0;

    for (int i = 0; i < p->n_code; i++)
        if (p->code[i].n_out > 0)
            p->code[kept++] = p->code[i];
    p->n_code = kept;
}

void dt_find_idioms(dt_strip_program *p, const dt_graph *g)
{
    for (size_t k = 0; k < sizeof idioms / sizeof *idioms; k++)
        for (int i = 0; i < p->n_code; i++) {
            match m = { .p = p, .g = g, .of = &idioms[k] };
            if (find(&m, i))
                replace(p, &m);
        }
    drop_gone(p);
}
