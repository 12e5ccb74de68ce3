/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random: numbers that are a pure function of (key, step, example, place): the numbers of a row do
 * not depend on the device that computes it, nor on the rows next to it.
 *
 *     step      int64 scalar     counts the draws of one generator
 *     example   (B) of integers  see example_id
 *     y         (B, ...)         uniform in [0, 1) with 24 bits, or normal: mean 0, deviation 1
 *
 * Element k of example i in step s is drawn from Philox's block (key; k, s * 2^32 + i). Numbers are
 * rounded to the dtype of y, so uniform 16-bit floats can be 1. No gradient flows.
 *
 * (C1) step is one int64, example of integers (B).
 * (C2) y holds floats; its dimension 0 is B.
 *
 * call: dt_value dt_stateless_uniform(dt_value x, dt_value counter, uint64_t seed)
 * computes: Floats in [0, 1); 16-bit floats are rounded, so they can be 1. They depend on the seed,
 * the counter, the example's number in the global batch and the place in the example, and so not on
 * the number of replicas. Increase `counter` from step to step, for example as a variable; with a
 * constant, each step has the same numbers.
 * shape: that of x, and its dtype
 * expects: x holds floats, and its first dimension is the batch; counter is an int64 scalar
 * gradient: none
 * stablehlo: integer ops (Philox)
 *
 * call: dt_value dt_stateless_normal(dt_value x, dt_value counter, uint64_t seed)
 * computes: Like dt_stateless_uniform, but normally distributed: mean 0, standard deviation 1.
 * shape: that of x, and its dtype
 * expects: as dt_stateless_uniform
 * gradient: none
 * stablehlo: integer ops (Philox)
 */
#include <math.h>

#include "base/random.h"
#include "op/cells.h"
#include "op/elementwise.h"
#include "op/shapes.h"
#include "op/stablehlo.h"

/*
 * random in StableHLO: the ten rounds of Philox 4x32 in integer operations, so the words are those
 * of `eval`. J. Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3 (2011).
 *
 * Normal numbers are sqrt(2) times the inverse of erf, by two polynomials that are good to single
 * precision: M. Giles, Approximating the erfinv function (2012). They differ from eval's in the
 * last digits.
 */

typedef struct words {
    dt_hlo *h;
    dt_type type; /* type of each 32-bit word: uint32, with the result's shape */
    dt_hlo_value word[4];
    uint64_t key;
    /* the low and the high word of the key, if the key is computed by the program */
    dt_hlo_value half[2];
    bool is_value;
} words;

static dt_hlo_value shifted(dt_hlo *h, dt_hlo_value x, uint64_t by) {
    return dt_hlo_binary(h, "shift_right_logical", x, dt_hlo_word(h, &x.type, by));
}

/* Emits the product of a word and a constant, of which it returns the low 32 bits and sets *high to
 * the high ones. */
static dt_hlo_value multiplied(const words *w, dt_hlo_value x, uint64_t by, dt_hlo_value *high) {
    dt_hlo_value wide = dt_hlo_convert(w->h, x, DT_UINT64);
    wide = dt_hlo_binary(w->h, "multiply", wide, dt_hlo_word(w->h, &wide.type, by));
    *high = dt_hlo_convert(w->h, shifted(w->h, wide, 32), DT_UINT32);
    return dt_hlo_convert(w->h, wide, DT_UINT32);
}

/* Emits word `half` (0 or 1) of a round's key for every element: that word of the first round's key
 * plus `added`. */
static dt_hlo_value key_of(const words *w, int half, uint32_t added) {
    const dt_type scalar = dt_scalar_type(DT_UINT32);
    if (!w->is_value) return dt_hlo_word(w->h, &w->type, (uint32_t)(w->key >> 32 * half) + added);
    return dt_hlo_broadcast(
        w->h, dt_hlo_binary(w->h, "add", w->half[half], dt_hlo_word(w->h, &scalar, added)),
        &w->type, NULL);
}

static dt_hlo_value mixed(const words *w, dt_hlo_value a, dt_hlo_value b, dt_hlo_value key) {
    return dt_hlo_binary(w->h, "xor", dt_hlo_binary(w->h, "xor", a, b), key);
}

static void one_round(words *w, uint32_t i) {
    dt_hlo_value key0 = key_of(w, 0, i * 0x9E3779B9u), key1 = key_of(w, 1, i * 0xBB67AE85u);
    dt_hlo_value high0, high1, low0 = multiplied(w, w->word[0], 0xD2511F53, &high0),
                               low1 = multiplied(w, w->word[2], 0xCD9E8D57, &high1);
    w->word[0] = mixed(w, high1, w->word[1], key0);
    w->word[2] = mixed(w, high0, w->word[3], key1);
    w->word[1] = low1;
    w->word[3] = low0;
}

/* Emits the index of each element within its row, in the shape `type`, uint32. Rows are entries of
 * dimension 0. */
static dt_hlo_value places(dt_hlo *h, const dt_type *type) {
    dt_type row = dt_type_of(DT_UINT32, type->rank - 1, type->dim + 1),
            flat = {.dtype = DT_UINT32, .rank = 1, .dim = {dt_type_elements(&row)}};
    const int8_t dims[] = {1, 2, 3, 4, 5, 6, 7};
    dt_hlo_value place = dt_hlo_op(h, "iota", NULL, 0, &flat, "%s", "iota_dimension = 0 : i64");
    return dt_hlo_broadcast(h, dt_hlo_reshape(h, place, row.rank, row.dim), type, dims);
}

static words draw_words(const dt_hlo_call *c) {
    const dt_random_attr *a = c->node->attr;
    const int8_t rows[] = {0};
    words w = {.h = c->hlo, .type = c->type, .key = a->key, .is_value = c->number};
    w.type.dtype = DT_UINT32;
    if (c->number) {
        w.half[0] = dt_hlo_convert(w.h, *c->number, DT_UINT32);
        w.half[1] = dt_hlo_convert(w.h, shifted(w.h, *c->number, 32), DT_UINT32);
    }
    w.word[0] = places(w.h, &w.type);
    w.word[1] = dt_hlo_splat(w.h, &w.type, 0);
    w.word[2] = dt_hlo_broadcast(w.h, dt_hlo_convert(w.h, c->in[1], DT_UINT32), &w.type, rows);
    w.word[3] = dt_hlo_broadcast(w.h, dt_hlo_convert(w.h, c->in[0], DT_UINT32), &w.type, NULL);
    for (uint32_t i = 0; i < 10; i++) one_round(&w, i);
    return w;
}

/* Emits (the highest `bits` bits of `word` + half) / 2^bits as a float: a number from 0 to 1. */
static dt_hlo_value fraction(const words *w, dt_hlo_value word, int bits, double half,
                             dt_dtype dtype) {
    dt_hlo_value x = dt_hlo_convert(w->h, shifted(w->h, word, (uint64_t)(32 - bits)), dtype);
    x = half > 0 ? dt_hlo_binary(w->h, "add", x, dt_hlo_like(w->h, x, half)) : x;
    return dt_hlo_binary(w->h, "multiply", x, dt_hlo_like(w->h, x, ldexp(1, -bits)));
}

static dt_hlo_value polynomial(dt_hlo *h, const double c[9], dt_hlo_value x) {
    dt_hlo_value sum = dt_hlo_like(h, x, c[0]);
    for (int i = 1; i < 9; i++)
        sum =
            dt_hlo_binary(h, "add", dt_hlo_binary(h, "multiply", sum, x), dt_hlo_like(h, x, c[i]));
    return sum;
}

static dt_hlo_value inverse_erf(dt_hlo *h, dt_hlo_value x) {
    static const double middle[9] = {2.81022636e-08,  3.43273939e-07, -3.5233877e-06,
                                     -4.39150654e-06, 0.00021858087,  -0.00125372503,
                                     -0.00417768164,  0.246640727,    1.50140941};
    static const double tails[9] = {-0.000200214257, 0.000100950558, 0.00134934322,
                                    -0.00367342844,  0.00573950773,  -0.0076224613,
                                    0.00943887047,   1.00167406,     2.83297682};
    dt_hlo_value one = dt_hlo_like(h, x, 1),
                 product = dt_hlo_binary(h, "multiply", dt_hlo_binary(h, "subtract", one, x),
                                         dt_hlo_binary(h, "add", one, x));
    dt_hlo_value w = dt_hlo_unary(h, "negate", dt_hlo_unary(h, "log", product)),
                 is_middle = dt_hlo_compare(h, DT_LT, w, dt_hlo_like(h, w, 5));
    dt_hlo_value near_0 = dt_hlo_binary(h, "subtract", w, dt_hlo_like(h, w, 2.5));
    dt_hlo_value far =
        dt_hlo_binary(h, "subtract", dt_hlo_unary(h, "sqrt", w), dt_hlo_like(h, w, 3));
    return dt_hlo_binary(
        h, "multiply", x,
        dt_hlo_select(h, is_middle, polynomial(h, middle, near_0), polynomial(h, tails, far)));
}

/* Writes the op from its inputs step and example, as the comment at the top defines it. */
static dt_hlo_value stablehlo(const dt_hlo_call *c) {
    words w = draw_words(c);
    if (((const dt_random_attr *)c->node->attr)->kind == DT_RANDOM_UNIFORM)
        return fraction(&w, w.word[0], 24, 0, c->type.dtype);
    dt_hlo_value p = fraction(&w, w.word[1], 23, 0.5, c->type.dtype);
    dt_hlo_value x =
        dt_hlo_binary(w.h, "subtract", dt_hlo_binary(w.h, "add", p, p), dt_hlo_like(w.h, p, 1));
    return dt_hlo_binary(w.h, "multiply", inverse_erf(w.h, x), dt_hlo_like(w.h, x, M_SQRT2));
}

static dt_status *infer(dt_infer *q) {
    const dt_random_attr *a = q->attr;
    const dt_type *step = &q->in[0], *example = &q->in[1];
    bool numbers =
        !dt_dtype_is_float(example->dtype) && example->dtype != DT_BOOL && example->rank == 1;
    if (step->rank != 0 || step->dtype != DT_INT64 || !numbers)
        return dt_bad_shape(q, "(C1) expected one int64 and a vector of integers, got %s and %s",
                            dt_text_of(step).s, dt_text_of(example).s);
    q->out = a->type;
    DT_TRY(dt_check_result(q, 2));
    if (!dt_dtype_is_float(a->type.dtype) || a->type.rank < 1 || a->type.dim[0] != example->dim[0])
        return dt_bad_shape(q, "(C2) cannot draw %s for %s", dt_text_of(&a->type).s,
                            dt_text_of(example).s);
    return NULL;
}

static void rule(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule) {
    (void)in, (void)out, (void)attr;
    dt_rule_whole(rule);
    rule->in[1][0] = rule->out[0] = 0;
}

static double draw(const dt_random_attr *a, uint64_t place, uint64_t example) {
    dt_random r = {.key = a->key, .counter = {place, example}, .used = 4};
    return a->kind == DT_RANDOM_NORMAL ? dt_random_normal(&r)
                                       : (double)(dt_random_u32(&r) >> 8) * 0x1p-24;
}

static void eval(const dt_call *c) {
    const dt_random_attr *a = c->node->attr;
    int64_t rows = c->out.type.dim[0], width = rows ? dt_type_elements(&c->out.type) / rows : 0;
    uint64_t step = (uint64_t)dt_cell_int(&c->in[0], 0) << 32;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < width; k++)
            dt_cell_set_double(&c->out, i * width + k,
                               draw(a, (uint64_t)k, step + (uint64_t)dt_cell_int(&c->in[1], i)));
}

/* The cost of the generator in a TPU core, not of `eval`'s algorithm: one instruction fills a
 * register with random bits (jax's pltpu.prng_random_bits; XLA's RngBitGenerator by its default
 * algorithm). Three more instructions convert them to floats. */
static void cost(const dt_call *c, dt_cost *cost) {
    const dt_random_attr *a = c->node->attr;
    double bits = 1 + 3,
           shape = dt_op_log.operations + dt_op_sqrt.operations + dt_op_cosine.operations;
    *cost = dt_cost_vector(c, (bits + (a->kind == DT_RANDOM_NORMAL ? shape : 0)) *
                                  (double)dt_type_elements(&c->out.type));
}

static void print(const void *attr, dt_str *out) {
    const dt_random_attr *a = attr;
    dt_str_printf(out, "%s key=%llx", a->kind == DT_RANDOM_NORMAL ? "normal" : "uniform",
                  (unsigned long long)a->key);
}

const dt_op dt_op_random = {
    .name = "random",
    .n_in = 2,
    .attr = {.size = sizeof(dt_random_attr),
             .type = 1 + offsetof(dt_random_attr, type),
             .number = 1 + offsetof(dt_random_attr, key),
             .print = print},
    .infer = infer,
    .rule = rule,
    .cost = cost,
    .eval = eval,
    .forms.stablehlo = stablehlo,
};
