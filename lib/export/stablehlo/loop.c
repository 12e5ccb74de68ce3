/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a repeat as a loop:
 *
 *     %9:5 = "stablehlo.while"(%zero, carries, items of the last block, stacks,
 *                              what all blocks read, numbers) ({ counter < n }, {
 *         x = row r[counter] of a stack                  for each list
 *         the first block's statements
 *         a stack with another row r[counter]            for each value that is needed later
 *     })
 *
 * Row numbers are computed from the counter if all but a few are evenly spaced; otherwise they are
 * looked up in a table. If each block overwrites the states that it reads, there is only one stack
 * for old and new values.
 */
#include <stdlib.h>
#include <string.h>

#include "export/stablehlo/blocks.h"

/* ---- the parts that all loops have ---- */

static void put_values(dt_hlo *h, const dt_hlo_value *v, int n) {
    for (int i = 0; i < n; i++) {
        dt_str_puts(h->out, i ? ", " : "");
        dt_hlo_print_value(v[i], h->out);
    }
}

static void put_types(dt_hlo *h, const dt_hlo_value *v, int n) {
    for (int i = 0; i < n; i++) {
        dt_str_puts(h->out, i ? ", " : "");
        dt_hlo_print_type(&v[i].type, h->out);
    }
}

/* Writes the head of a body: ^bb0(%7: T, %8: T): */
static void open_block(dt_hlo_frame *f) {
    dt_str_puts(f->hlo->out, "    ^bb0(");
    for (int i = 0; i < f->n; i++) {
        f->now[i] = (dt_hlo_value){.id = f->hlo->values++, .type = f->init[i].type};
        dt_str_printf(f->hlo->out, "%s%%%d: ", i ? ", " : "", f->now[i].id);
        dt_hlo_print_type(&f->now[i].type, f->hlo->out);
    }
    dt_str_puts(f->hlo->out, "):\n");
}

void dt_hlo_frame_open(dt_hlo_frame *f) {
    dt_hlo *h = f->hlo;
    f->id = h->values++;
    dt_str_printf(h->out, "    %%%d:%d = \"stablehlo.while\"(", f->id, f->n);
    put_values(h, f->init, f->n);
    dt_str_puts(h->out, ") ({\n");
    open_block(f);
    dt_hlo_value more = dt_hlo_compare(h, DT_LT, f->now[0], dt_hlo_like(h, f->now[0], f->times));
    dt_str_printf(h->out, "    \"stablehlo.return\"(%%%d) : (tensor<i1>) -> ()\n    }, {\n",
                  more.id);
    open_block(f);
    memcpy(f->next, f->now, (size_t)f->n * sizeof *f->next);
}

void dt_hlo_frame_close(dt_hlo_frame *f) {
    dt_hlo *h = f->hlo;
    f->next[0] = dt_hlo_binary(h, "add", f->now[0], dt_hlo_like(h, f->now[0], 1));
    dt_str_puts(h->out, "    \"stablehlo.return\"(");
    put_values(h, f->next, f->n);
    dt_str_puts(h->out, ") : (");
    put_types(h, f->init, f->n);
    dt_str_puts(h->out, ") -> ()\n    }) : (");
    put_types(h, f->init, f->n);
    dt_str_puts(h->out, ") -> (");
    put_types(h, f->init, f->n);
    dt_str_puts(h->out, ")\n");
}

dt_hlo_value dt_hlo_frame_result(const dt_hlo_frame *f, int i) {
    return (dt_hlo_value){.id = f->id, .part = 1 + i, .type = f->init[i].type};
}

/* ---- the loop of a repeat ---- */

typedef struct loop {
    dt_hlo_writer *w;
    int repeat;
    const dt_hlo_repeat *r;
    const struct dt_hlo_traffic *t;
    int n, cap;
    /* the values of each operand: before the loop, in an iteration, and for the next iteration */
    dt_hlo_value *init, *now, *next;
    /* indices of the first operand of each kind: carried values, stacks, values that all blocks
     * read, tables of numbers (number_of) */
    int carry, stack, same, number;
    /* [t->n_lasts] for each item in t->last: the index of the operand that holds it */
    int *last;
    int n_stacks, *stacks; /* indices of the stacks that are operands of the loop */
    dt_hlo_value counter;
    dt_hlo_value *list; /* [lists] the row that the current block reads */
    dt_hlo_value *made; /* [items of a block] the value of each item in the current iteration */
    int n_rows, cap_rows;
    /* [n_rows] row numbers of this iteration: `at` is row[block], or `scratch` where that is -1 */
    struct {
        const int *row;
        int scratch;
        dt_hlo_value at;
    } * rows;
} loop;

enum { MOST_EXCEPTIONS = 4 };
/* A rule for row numbers: block i uses row first + step * i, except the n blocks in `block`, whose
 * rows are looked up in the list of rows. */
typedef struct rule {
    int first, step, n, block[MOST_EXCEPTIONS];
} rule;

static dt_hlo *hlo_of(const loop *l) { return &l->w->hlo; }

static const dt_node *node_of(const loop *l, int item) {
    return &l->w->plan.o->g->node[l->w->plan.o->item[item].node];
}

/* ---- operands ---- */

static int add_operand(loop *l, dt_hlo_value init) {
    DT_GROW(l->init, l->cap, l->n + 1);
    l->init[l->n] = init;
    return l->n++;
}

static bool are_same_rows(const dt_hlo_repeat *r, const int *a, const int *b) {
    return memcmp(a, b, (size_t)r->n * sizeof *a) == 0;
}

int dt_hlo_read_from(const dt_hlo_plan *p, int repeat, const dt_hlo_rows *read) {
    const int updated = p->stack[read->stack].updated;
    const struct dt_hlo_traffic *t = &p->traffic[repeat];
    for (int i = 0; updated >= 0 && i < t->n_writes; i++)
        if (t->write[i].stack == updated &&
            are_same_rows(&p->repeats.repeat[repeat], t->write[i].row, read->row))
            return updated;
    return read->stack;
}

static int read_from(const loop *l, const dt_hlo_rows *read) {
    return dt_hlo_read_from(&l->w->plan, l->repeat, read);
}

static int operand_of(const loop *l, int stack) {
    for (int i = 0; i < l->n_stacks; i++)
        if (l->stacks[i] == stack) return l->stack + i;
    return -1;
}

static void add_stack(loop *l, int stack) {
    if (operand_of(l, stack) >= 0) return;
    l->stacks[l->n_stacks++] = stack;
    add_operand(l, dt_hlo_stack_now(l->w, stack));
}

/* Writes a constant array of integers, such as dense<[1, 2]>. */
static dt_hlo_value table(dt_hlo *h, dt_dtype dtype, const uint64_t *v, int n) {
    const dt_type t = dt_type_of(dtype, 1, (int64_t[]){n});
    dt_local_str text = {0};
    for (int i = 0; i < n; i++)
        dt_str_printf(&text, "%s%llu", i ? ", " : "", (unsigned long long)v[i]);
    return dt_hlo_op(h, "constant", NULL, 0, &t, "value = dense<[%s]> : tensor<%dx%s>",
                     dt_str_text(&text), n, dt_dtype_short(dtype));
}

/* Returns the 64-bit number in the attributes (dt_op_attr.number) of the node at this offset in
 * this block. It distinguishes nodes that are otherwise equal, such as streams of random
 * numbers. */
static uint64_t number_of(const loop *l, int offset, int block) {
    const dt_node *n = node_of(l, l->r->first + block * l->r->period + offset);
    uint64_t number;
    memcpy(&number, (const char *)n->attr + n->op->attr.number - 1, sizeof number);
    return number;
}

/* Whether the number of the node at this offset (number_of) increases by the same amount from each
 * block to the next. */
static bool are_even(const loop *l, int offset) {
    const uint64_t first = number_of(l, offset, 0), step = number_of(l, offset, 1) - first;
    for (int b = 2; b < l->r->n; b++)
        if (number_of(l, offset, b) != first + step * (uint64_t)b) return false;
    return true;
}

/* Writes a constant with the number of the node at this offset (number_of) in each block, [blocks]
 * uint64, and returns it. */
static dt_hlo_value numbers_at(const loop *l, int offset) {
    DT_LOCAL uint64_t *v = dt_alloc(dt_size_mul((size_t)l->r->n, sizeof *v));
    for (int b = 0; b < l->r->n; b++) v[b] = number_of(l, offset, b);
    return table(hlo_of(l), DT_UINT64, v, l->r->n);
}

static int carry_of(const loop *l, int offset) {
    for (int i = 0; i < l->r->n_carries; i++)
        if (l->r->carry[i].offset == offset) return i;
    return -1;
}

static void list_operands(loop *l) {
    dt_hlo_writer *w = l->w;
    const dt_type count = dt_scalar_type(DT_INT32);
    add_operand(l, dt_hlo_splat(&w->hlo, &count, 0));
    l->carry = l->n;
    for (int i = 0; i < l->r->n_carries; i++)
        add_operand(l, dt_hlo_value_of(w, l->r->carry[i].init));
    for (int i = 0; i < l->t->n_lasts; i++) {
        dt_type t = dt_hlo_type_of(&w->plan, l->r->first + l->t->last[i]);
        int carry = carry_of(l, l->t->last[i]);
        l->last[i] = carry >= 0 ? l->carry + carry : add_operand(l, dt_hlo_zeros(&w->hlo, &t));
    }
    l->stack = l->n;
    l->stacks = dt_alloc(((size_t)w->plan.n_stacks + 1) * sizeof *l->stacks);
    for (int i = 0; i < l->t->n_writes; i++) add_stack(l, l->t->write[i].stack);
    for (int i = 0; i < l->r->n_lists; i++) add_stack(l, read_from(l, &l->t->read[i]));
    l->same = l->n;
    for (int i = 0; i < l->r->n_same; i++) add_operand(l, dt_hlo_value_of(w, l->r->same[i]));
    l->number = l->n;
    for (int j = 0; j < l->r->period; j++)
        if (l->r->numbered[j] && !are_even(l, j)) add_operand(l, numbers_at(l, j));
}

/* ---- rows ---- */

/* Finds a rule with a few exceptions, such as the first block, that gives all row numbers. With a
 * rule the text does not grow with the number of blocks. Returns false if the rows need a table. */
static bool find_exceptions(const uint64_t *v, int n, rule *out) {
    const int middle = n / 2;
    *out = (rule){.step = (int)v[middle] - (int)v[middle - 1]};
    out->first = (int)v[middle] - out->step * middle;
    for (int b = 0; b < n; b++) {
        if ((int)v[b] == out->first + out->step * b) continue;
        if (out->n == MOST_EXCEPTIONS) return false;
        out->block[out->n++] = b;
    }
    return true;
}

static dt_hlo_value look_up(const loop *l, const uint64_t *v) {
    dt_hlo *h = hlo_of(l);
    return dt_hlo_get_row(h, table(h, DT_INT32, v, l->r->n), l->counter);
}

/* Writes first + step * counter. */
static dt_hlo_value even_row(const loop *l, int first, int step) {
    dt_hlo *h = hlo_of(l);
    dt_hlo_value x = l->counter;
    if (step == 0) return dt_hlo_like(h, x, first);
    if (step == -1) return dt_hlo_binary(h, "subtract", dt_hlo_like(h, x, first), x);
    x = step == 1 ? x : dt_hlo_binary(h, "multiply", x, dt_hlo_like(h, x, step));
    return first == 0 ? x : dt_hlo_binary(h, "add", x, dt_hlo_like(h, x, first));
}

static dt_hlo_value row_of_rule(const loop *l, const rule *r, const uint64_t *v) {
    dt_hlo *h = hlo_of(l);
    dt_hlo_value at = even_row(l, r->first, r->step);
    for (int i = 0; i < r->n; i++) {
        const dt_hlo_value block = dt_hlo_like(h, l->counter, r->block[i]);
        at = dt_hlo_select(h, dt_hlo_compare(h, DT_EQ, l->counter, block),
                           dt_hlo_like(h, at, (double)v[r->block[i]]), at);
    }
    return at;
}

static bool lacks_rows(const loop *l, const int *row) {
    for (int b = 0; b < l->r->n; b++)
        if (row[b] < 0) return true;
    return false;
}

/* Returns row[b] for the current block b, or `scratch` if row[b] is -1. */
static dt_hlo_value row_number(loop *l, const int *row, int scratch) {
    const int n = l->r->n, missing = lacks_rows(l, row) ? scratch : -1;
    rule even;
    for (int i = 0; i < l->n_rows; i++)
        if (l->rows[i].scratch == missing && are_same_rows(l->r, l->rows[i].row, row))
            return l->rows[i].at;
    uint64_t *v = dt_alloc(dt_size_mul((size_t)n, sizeof *v));
    for (int b = 0; b < n; b++) v[b] = (uint64_t)(row[b] < 0 ? scratch : row[b]);
    dt_hlo_value at = find_exceptions(v, n, &even) ? row_of_rule(l, &even, v) : look_up(l, v);
    free(v);
    DT_GROW(l->rows, l->cap_rows, l->n_rows + 1);
    l->rows[l->n_rows].row = row;
    l->rows[l->n_rows].scratch = missing;
    l->rows[l->n_rows++].at = at;
    return at;
}

static void read_rows(loop *l) {
    for (int i = 0; i < l->r->n_lists; i++) {
        const dt_hlo_rows *read = &l->t->read[i];
        l->list[i] = dt_hlo_get_row(hlo_of(l), l->now[operand_of(l, read_from(l, read))],
                                    row_number(l, read->row, 0));
    }
}

/* Writes rows of stacks: with `incoming` the values that a block received, before its statements;
 * else its results, after them. */
static void write_rows(loop *l, bool incoming) {
    for (int i = 0; i < l->t->n_writes; i++) {
        const dt_hlo_rows *write = &l->t->write[i];
        int to = operand_of(l, write->stack);
        if ((write->carry >= 0) != incoming) continue;
        dt_hlo_value v = incoming ? l->now[l->carry + write->carry] : l->made[write->offset];
        l->next[to] = dt_hlo_set_row(hlo_of(l), l->next[to], v,
                                     row_number(l, write->row, l->w->plan.stack[write->stack].n));
    }
}

/* ---- the body, and writing the loop ---- */

static dt_hlo_value input_of(const loop *l, int offset, int k) {
    const dt_hlo_bind *b = &l->r->bind[offset][k];
    switch (b->from) {
    case DT_HLO_INSIDE: return l->made[b->at];
    case DT_HLO_CARRIED: return l->now[l->carry + b->at];
    case DT_HLO_EACH: return l->list[b->at];
    case DT_HLO_SAME: break;
    }
    return dt_hlo_value_of(l->w, b->at);
}

/* Writes and returns the number of the node at this offset (number_of) in the current iteration:
 * first + counter * step if the numbers are evenly spaced, else row `counter` of the loop's operand
 * *operand, which is then advanced. */
static dt_hlo_value block_number(const loop *l, int offset, int *operand) {
    dt_hlo *h = hlo_of(l);
    if (!are_even(l, offset)) return dt_hlo_get_row(h, l->now[(*operand)++], l->counter);
    const dt_hlo_value at = dt_hlo_convert(h, l->counter, DT_UINT64);
    const uint64_t first = number_of(l, offset, 0), step = number_of(l, offset, 1) - first;
    return dt_hlo_binary(h, "add", dt_hlo_word(h, &at.type, first),
                         dt_hlo_binary(h, "multiply", at, dt_hlo_word(h, &at.type, step)));
}

static dt_status *put_statements(loop *l) {
    int number = l->number;
    for (int j = 0; j < l->r->period; j++) {
        int item = l->r->first + j;
        dt_hlo_value in[DT_MAX_IN], own;
        for (int k = 0; k < node_of(l, item)->n_in; k++) in[k] = input_of(l, j, k);
        if (l->r->numbered[j]) own = block_number(l, j, &number);
        DT_TRY(dt_hlo_write_item(l->w, item, in, l->r->numbered[j] ? &own : NULL));
        l->made[j] = l->w->value[item];
    }
    return NULL;
}

static dt_status *put_body(loop *l) {
    l->counter = l->now[0];
    for (int i = 0; i < l->r->n_same; i++)
        dt_hlo_set_value(l->w, l->r->same[i], l->now[l->same + i]);
    read_rows(l);
    write_rows(l, true);
    DT_TRY(put_statements(l));
    write_rows(l, false);
    for (int i = 0; i < l->r->n_carries; i++)
        l->next[l->carry + i] = l->made[l->r->carry[i].offset];
    for (int i = 0; i < l->t->n_lasts; i++) l->next[l->last[i]] = l->made[l->t->last[i]];
    return NULL;
}

static void forget_body(dt_hlo_writer *w) {
    while (w->n_undo > 0) {
        w->n_undo--;
        w->value[w->undo[w->n_undo].item] = w->undo[w->n_undo].before;
    }
    w->in_body = false;
}

static void keep_results(const loop *l, const dt_hlo_frame *f) {
    dt_hlo_writer *w = l->w;
    for (int i = 0; i < l->t->n_lasts; i++) {
        int item = l->r->first + (l->r->n - 1) * l->r->period + l->t->last[i];
        dt_hlo_set_value(w, item, dt_hlo_frame_result(f, l->last[i]));
    }
    for (int i = 0; i < l->t->n_writes; i++) {
        int stack = l->t->write[i].stack;
        w->plan.stack[stack].value = dt_hlo_frame_result(f, operand_of(l, stack));
    }
    for (int i = 0; i < l->t->n_lasts; i++)
        dt_hlo_put_row(w, l->r->first + (l->r->n - 1) * l->r->period + l->t->last[i]);
}

static dt_status *put_loop(loop *l) {
    list_operands(l);
    l->now = dt_alloc(dt_size_mul((size_t)l->n, sizeof *l->now));
    l->next = dt_alloc(dt_size_mul((size_t)l->n, sizeof *l->next));
    dt_hlo_frame f = {.hlo = hlo_of(l),
                      .n = l->n,
                      .times = l->r->n,
                      .init = l->init,
                      .now = l->now,
                      .next = l->next};
    dt_hlo_frame_open(&f);
    l->w->in_body = true;
    dt_status *bad = put_body(l);
    dt_hlo_frame_close(&f);
    forget_body(l->w);
    if (!bad) keep_results(l, &f);
    return bad;
}

dt_status *dt_hlo_write_loop(dt_hlo_writer *w, int repeat) {
    const dt_hlo_repeat *r = &w->plan.repeats.repeat[repeat];
    loop l = {.w = w, .repeat = repeat, .r = r, .t = &w->plan.traffic[repeat]};
    l.list = dt_alloc(dt_size_mul((size_t)r->n_lists + 1, sizeof *l.list));
    l.last = dt_alloc(dt_size_mul((size_t)l.t->n_lasts + 1, sizeof *l.last));
    l.made = dt_alloc(dt_size_mul((size_t)r->period, sizeof *l.made));
    dt_status *bad = put_loop(&l);
    free(l.init);
    free(l.now);
    free(l.next);
    free(l.stacks);
    free(l.last);
    free(l.list);
    free(l.made);
    free(l.rows);
    return bad;
}
