/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops as vector instructions, one row for each op. They round as the op's loop in C does (op/ops.h,
 * simd/math.h): products and sums are not fused, and operations keep their order, so bits are the
 * same. An op without a row is run by its loop in C. Long ops, such as exp, would not become
 * faster. The second half of the file divides programs into passes.
 */
#include "exec/strip_program.h"

#include <math.h>

const uint32_t dt_strip_numbers[NUMBERS - NAMES][8] = {
#define EIGHT(x)                                                                                   \
    { x, x, x, x, x, x, x, x }
    EIGHT(0x3f800000), EIGHT(0xbf800000), EIGHT(0), EIGHT(0x80000000), EIGHT(0x7fffffff),
    EIGHT(0x7fff),     EIGHT(0xffff0000), EIGHT(1), EIGHT(0x00400000),
};

enum {
    EQUAL = 0x00,
    UNORDERED = 0x03,
    UNEQUAL = 0x04,
    LESS = 0x11,
    LESS_EQUAL = 0x12,
    GREATER_EQUAL = 0x1d,
    GREATER = 0x1e
};
#define COMPARED(how)                                                                              \
    {                                                                                              \
        {DT_VEX_COMPARE, T, X, Y, how}, { DT_VEX_AND, R, T, ONE, 0 }                               \
    }
#define EXTREME(what, zeros)                                                                       \
    {                                                                                              \
        {zeros, T, X, Y, 0}, {DT_VEX_COMPARE, U, X, Y, EQUAL}, {what, V, X, Y, 0},                 \
            {DT_VEX_CHOOSE, V, V, T, U}, {DT_VEX_COMPARE, U, X, Y, UNORDERED},                     \
            {DT_VEX_ADD, T, X, Y, 0}, {                                                            \
            DT_VEX_CHOOSE, R, V, T, U                                                              \
        }                                                                                          \
    }
/* Rounds to the upper 16 bits, ties to even. A NaN becomes a quiet NaN. */
#define ROUNDED                                                                                    \
    {                                                                                              \
        {DT_VEX_SHIFT_RIGHT, T, NONE, X, 16}, {DT_VEX_AND, T, T, INT_ONE, 0},                      \
            {DT_VEX_ADD_INT, T, T, HALF, 0}, {DT_VEX_ADD_INT, T, T, X, 0},                         \
            {DT_VEX_COMPARE, U, X, X, UNORDERED}, {DT_VEX_OR, V, X, QUIET, 0},                     \
            {DT_VEX_CHOOSE, T, T, V, U}, {                                                         \
            DT_VEX_AND, R, T, UPPER, 0                                                             \
        }                                                                                          \
    }

const dt_strip_row dt_strip_rows[DT_S_COUNT] = {
    [DT_S_COPY] = {{DT_VEX_LOAD, R, NONE, X, 0}},
    [DT_S_add] = {{DT_VEX_ADD, R, X, Y, 0}},
    [DT_S_subtract] = {{DT_VEX_SUB, R, X, Y, 0}},
    [DT_S_multiply] = {{DT_VEX_MUL, R, X, Y, 0}},
    [DT_S_divide] = {{DT_VEX_DIV, R, X, Y, 0}},
    [DT_S_maximum] = EXTREME(DT_VEX_MAX, DT_VEX_AND),
    [DT_S_minimum] = EXTREME(DT_VEX_MIN, DT_VEX_OR),
    [DT_S_negate] = {{DT_VEX_XOR, R, X, SIGN, 0}},
    [DT_S_abs] = {{DT_VEX_AND, R, X, SIZE, 0}},
    [DT_S_sqrt] = {{DT_VEX_SQRT, R, NONE, X, 0}},
    [DT_S_rsqrt] = {{DT_VEX_SQRT, T, NONE, X, 0},
                    {DT_VEX_LOAD, U, NONE, ONE, 0},
                    {DT_VEX_DIV, R, U, T, 0}},
    [DT_S_sign] = {{DT_VEX_COMPARE, T, X, ZERO, GREATER},
                   {DT_VEX_COMPARE, U, X, ZERO, LESS},
                   {DT_VEX_CHOOSE, R, X, ONE, T},
                   {DT_VEX_CHOOSE, R, R, MINUS_ONE, U}},
    [DT_S_compare] = COMPARED(EQUAL),
    [DT_S_unequal] = COMPARED(UNEQUAL),
    [DT_S_less] = COMPARED(LESS),
    [DT_S_less_equal] = COMPARED(LESS_EQUAL),
    [DT_S_greater] = COMPARED(GREATER),
    [DT_S_greater_equal] = COMPARED(GREATER_EQUAL),
    [DT_S_select] = {{DT_VEX_COMPARE, T, X, ZERO, UNEQUAL}, {DT_VEX_CHOOSE, R, Z, Y, T}},
    [DT_S_reduce_precision] = ROUNDED,
    [DT_S_float16_precision] = {{DT_VEX_TO_HALF, X, NONE, T, 0}, {DT_VEX_FROM_HALF, R, NONE, T, 0}},
    /* These load eight elements from memory as floats, or convert the lowest elements of a
     * register. */
    [DT_S_FROM_U8] = {{DT_VEX_WIDEN_8, R, NONE, X, 0}, {DT_VEX_FROM_INT, R, NONE, R, 0}},
    [DT_S_FROM_I32] = {{DT_VEX_FROM_INT, R, NONE, X, 0}},
    [DT_S_FROM_BF16] = {{DT_VEX_WIDEN_16, R, NONE, X, 0}, {DT_VEX_SHIFT_LEFT, R, NONE, R, 16}},
    [DT_S_FROM_F16] = {{DT_VEX_FROM_HALF, R, NONE, X, 0}},
    /* These convert floats. DT_S_TO_F16 makes eight adjacent elements of 16 bits. The others leave
     * one result in each 32 bits; the lines `pack` of their formats make the results adjacent. */
    [DT_S_TO_BF16] = ROUNDED,
    [DT_S_TO_F16] = {{DT_VEX_TO_HALF, X, NONE, R, 0}},
    [DT_S_TO_BOOL] = {{DT_VEX_COMPARE, T, X, ZERO, UNEQUAL}, {DT_VEX_AND, R, T, INT_ONE, 0}},
};

/* Faster rows for a maximum or minimum whose second input is a constant, but neither NaN nor -0.
 * The processor's instruction returns its second operand, X, if one is NaN or both are zeros, so X
 * is put second. The maximum with 0 clears the sign, since -0 and 0 have the maximum 0. */
static const dt_strip_row most_by_number = {{DT_VEX_MAX, R, Y, X, 0}},
                          least_by_number = {{DT_VEX_MIN, R, Y, X, 0}};
static const dt_strip_row most_by_zero = {{DT_VEX_MAX, T, Y, X, 0}, {DT_VEX_AND, R, T, SIZE, 0}};

const dt_strip_line *dt_strip_row_of(const dt_strip_program *p, const dt_strip_code *c) {
    const dt_strip_operand *o = c->n_in == 2 && c->in[1] < 0 ? &p->operand[-1 - c->in[1]] : NULL;
    bool by_number = o && o->layout == DT_STRIP_SPLAT && o->node < 0 && o->value == o->value &&
                     (o->value != 0 || !signbit(o->value));
    if (by_number && c->op == DT_S_maximum) return o->value == 0 ? most_by_zero : most_by_number;
    return by_number && c->op == DT_S_minimum ? least_by_number : dt_strip_rows[c->op];
}

const dt_strip_format dt_strip_formats[DT_S_COUNT] = {
    [DT_S_COPY] = {2, DT_VEX_LOAD_32, DT_VEX_STORE, DT_VEX_STORE_32, {{0}}},
    [DT_S_FROM_I32] = {.scale = 2, .load_one = DT_VEX_LOAD_32},
    [DT_S_FROM_U8] = {.scale = 0, .load_one = DT_VEX_LOAD_8},
    [DT_S_FROM_BF16] = {.scale = 1, .load_one = DT_VEX_LOAD_16},
    [DT_S_FROM_F16] = {.scale = 1, .load_one = DT_VEX_LOAD_16},
    [DT_S_TO_F16] = {1, 0, DT_VEX_STORE_128, DT_VEX_STORE_16, {{0}}},
    [DT_S_TO_BF16] = {1,
                      0,
                      DT_VEX_STORE_128,
                      DT_VEX_STORE_16,
                      {{DT_VEX_SHIFT_RIGHT, R, NONE, X, 16},
                       {DT_VEX_UPPER_128, R, NONE, T, 1},
                       {DT_VEX_PACK_32_128, R, R, T, 0}}},
    [DT_S_TO_BOOL] = {0,
                      0,
                      DT_VEX_STORE_64,
                      DT_VEX_STORE_8,
                      {{DT_VEX_UPPER_128, X, NONE, T, 1},
                       {DT_VEX_PACK_32_128, R, X, T, 0},
                       {DT_VEX_PACK_16_128, R, R, R, 0}}},
};

/* ---- passes, and a program as text ---- */

int dt_strip_stream(const dt_strip_program *p, int in) {
    if (in >= 0) return p->result[in].reg < 0 ? p->result[in].store : -1;
    return p->operand[-1 - in].layout == DT_STRIP_WHOLE ? p->operand[-1 - in].node : -1;
}

static bool add_stream(dt_strip_pass *pass, int node) {
    for (int k = 0; k < pass->n_streams; k++)
        if (pass->stream[k] == node) return true;
    if (node >= 0 && pass->n_streams < DT_PASS_STREAMS) pass->stream[pass->n_streams++] = node;
    else if (node >= 0) return false;
    return true;
}

/* Extends the pass by instruction i. If the loop would then use more than DT_PASS_STREAMS arrays,
 * returns false and changes nothing. */
static bool extend(const dt_strip_program *p, dt_strip_pass *pass, int i) {
    dt_strip_pass wider = *pass;
    bool fits = true;
    for (int k = 0; k < p->code[i].n_in; k++)
        fits &= add_stream(&wider, dt_strip_stream(p, p->code[i].in[k]));
    fits &= add_stream(&wider, p->result[i].store);
    wider.to = i + 1;
    if (fits) *pass = wider;
    return fits;
}

/*
 * Divides a strip program into passes over memory. Consecutive instructions that all have vector
 * instructions become one loop, if there are enough registers for the addresses of its arrays. Each
 * of the other instructions has its own loop in C.
 */
static void find_passes(dt_strip_program *p) {
    for (int i = 0; i < p->n_code; i++) {
        bool loop = dt_strip_rows[p->code[i].op][0].what != DT_VEX_NONE;
        dt_strip_pass *last = p->n_passes > 0 ? &p->pass[p->n_passes - 1] : NULL;
        if (last && last->loop == loop && extend(p, last, i)) continue;
        p->pass[p->n_passes] = (dt_strip_pass){.from = i, .to = i, .loop = loop};
        extend(p, &p->pass[p->n_passes++], i);
    }
    dt_strip_pass wider = p->n_passes > 0 ? p->pass[p->n_passes - 1] : (dt_strip_pass){0};
    wider.sums = wider.loop;
    for (int i = 0; i < p->n_sums; i++)
        wider.sums &= add_stream(&wider, dt_strip_stream(p, p->sum[i].in));
    if (wider.sums) p->pass[p->n_passes - 1] = wider;
}

static void lay_out(dt_strip_program *p, int in) {
    if (in < 0) p->operand[-1 - in].laid_out = true;
}

/* Marks the operands that loops in C read. If they have a register, they are loaded into it. */
static void find_laid_out(dt_strip_program *p) {
    bool sums = false;
    for (int i = 0; i < p->n_passes; i++) {
        sums |= p->pass[i].sums;
        for (int k = p->pass[i].from; k < p->pass[i].to && !p->pass[i].loop; k++)
            for (int n = 0; n < p->code[k].n_in; n++) lay_out(p, p->code[k].in[n]);
    }
    for (int i = 0; i < p->n_sums && !sums; i++) lay_out(p, p->sum[i].in);
}

void dt_find_passes(dt_strip_program *p) {
    find_passes(p);
    find_laid_out(p);
}

void dt_fused_print(const dt_step *step, dt_str *out) {
    static const char *const names[DT_S_LOOPS] = {
#define DT_LOOP(name, y) [DT_S_##name] = #name,
#define DT_VARIANT DT_LOOP
#include "op/ops.h"
    };
    const dt_strip_program *p = step->state;

    dt_str_puts(out, p->n_passes > 0 ? ":" : ": sums");
    for (int i = 0; i < p->n_passes; i++) {
        const dt_strip_pass *pass = &p->pass[i];
        if (pass->loop)
            dt_str_printf(out, "%s loop of %d", i > 0 ? "," : "", pass->to - pass->from);
        for (int k = pass->from; k < pass->to && !pass->loop; k++)
            dt_str_printf(out, "%s %s", k > 0 ? "," : "", names[p->code[k].op]);
    }
}
