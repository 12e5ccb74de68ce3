/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own convolutions bit for bit against the order of sums that they are defined by, written out
 * for one element at a time: drawn sizes, strides, padding, dilation, groups, one to three
 * dimensions, on every instruction set of this processor. DTRAIN_SEED: another seed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/random.h"
#include "base/size.h"
#include "exec/conv.h"
#include "exec/strip.h"

enum { CASES = 400, MOST_SUMS = 64, OUTSIDE = 16 };

/* ---- the definition ---- */

/* The sum of blocks as it grows: a stack of sums, as a binary counter carries. */
typedef struct counter {
    float sum[MOST_SUMS];
    int64_t n;
} counter;

static int waiting(const counter *c) { return __builtin_popcountll((unsigned long long)c->n); }

static void push(counter *c, float x) {
    int top = waiting(c);
    for (int64_t carry = c->n++; carry & 1; carry >>= 1) x = c->sum[--top] + x;
    c->sum[top] = x;
}

static float total(const counter *c) {
    int top = waiting(c) - 1;
    float x = c->sum[top];
    while (top > 0) x = c->sum[--top] + x;
    return x;
}

/* Products in order of k: chains of 256 within stretches. */
typedef struct summing {
    int64_t stretch, k;
    float chain;
    counter blocks, stretches;
} summing;

static void end_block(summing *s) { push(&s->blocks, s->chain), s->chain = 0; }

static void end_stretch(summing *s) {
    push(&s->stretches, total(&s->blocks));
    s->blocks = (counter){.n = 0};
}

static void add(summing *s, float a, float b) {
    s->chain = fmaf(a, b, s->chain);
    s->k++;
    if (s->k % s->stretch % 256 == 0 || s->k % s->stretch == 0) end_block(s);
    if (s->k % s->stretch == 0) end_stretch(s);
}

static float end_of(summing *s) {
    if (s->k % s->stretch % 256) end_block(s);
    if (s->k % s->stretch) end_stretch(s);
    return total(&s->stretches);
}

/* ---- a case ---- */

/* A convolution: c, and all sizes with a first dimension of 1 where there are fewer than three. */
typedef struct draw {
    dt_conv c;
    int64_t x[3], y[3], k[3], stride[3], dilation[3], low[3];
    int64_t taps, x_size, y_size, w_size;
} draw;

static int64_t between(dt_random *r, int64_t lo, int64_t hi) {
    return lo + (int64_t)dt_random_below(r, (uint64_t)(hi - lo + 1));
}

/* Mostly small, now and then as large as `most`. */
static int64_t size_of(dt_random *r, int64_t most) {
    return between(r, 0, 3) ? between(r, 1, dt_min(most, 9)) : between(r, 1, most);
}

static void draw_space(dt_random *r, draw *d, int i, int64_t most) {
    dt_conv *c = &d->c;
    c->x[i] = size_of(r, most);
    c->k[i] = between(r, 1, 4);
    c->stride[i] = between(r, 0, 1) ? 1 : between(r, 1, 3);
    c->dilation[i] = between(r, 0, 2) ? 1 : between(r, 1, 3);
    c->low[i] = between(r, -1, 4);
    c->y[i] = size_of(r, most);
    const int j = i + 3 - c->n;
    d->x[j] = c->x[i], d->y[j] = c->y[i], d->k[j] = c->k[i];
    d->stride[j] = c->stride[i], d->dilation[j] = c->dilation[i], d->low[j] = c->low[i];
}

static int64_t volume(const int64_t n[3]) { return n[0] * n[1] * n[2]; }

static draw draw_case(dt_random *r) {
    draw d = {.c = {.kind = (dt_conv_kind)between(r, 0, 2), .n = (int)between(r, 1, 3)}};
    dt_conv *c = &d.c;
    for (int i = 0; i < 3; i++)
        d.x[i] = d.y[i] = d.k[i] = d.stride[i] = d.dilation[i] = 1, d.low[i] = 0;
    const bool dots = between(r, 0, 9) == 0; /* images of one place */
    for (int i = 0; i < c->n; i++)
        draw_space(r, &d, i, dots ? 1 : c->n == 1 ? 700 : c->n == 2 ? 24 : 9);
    const bool one_by_one = between(r, 0, 4) == 0;
    c->groups = one_by_one ? size_of(r, 70) : between(r, 0, 4) ? 1 : between(r, 1, 3);
    c->in = one_by_one ? 1 : size_of(r, between(r, 0, 3) ? 40 : 200);
    c->out = one_by_one ? 1 : size_of(r, 70);
    if (one_by_one && between(r, 0, 2) == 0) { /* more elements than fit into a mask or a block */
        c->k[c->n - 1] = d.k[2] = between(r, 5, c->n == 1 ? 1400 : 100);
        c->low[c->n - 1] = d.low[2] = between(r, 0, d.k[2]);
    }
    c->images = between(r, 1, 4);
    c->turned = c->kind == DT_CONV_DATA;
    /* DATA has inputs and outputs of the kernel exchanged in memory */
    const bool data = c->kind == DT_CONV_DATA;
    const int64_t rows = data ? c->out : c->in, columns = (data ? c->in : c->out) * c->groups;
    int64_t step = rows * columns;
    *(data ? &c->w_out : &c->w_in) = columns;
    *(data ? &c->w_in : &c->w_out) = 1;
    c->w_group = data ? c->in : c->out;
    for (int i = c->n - 1; i >= 0; step *= c->k[i--]) c->w_k[i] = step;
    d.taps = volume(d.k);
    d.x_size = c->images * volume(d.x) * c->groups * c->in;
    d.y_size = c->images * volume(d.y) * c->groups * c->out;
    d.w_size = step;
    return d;
}

/* One element of memory, as positions. */
typedef struct place {
    int64_t image, at[3], group, channel;
} place;

static place place_of(int64_t i, const int64_t size[3], int64_t groups, int64_t channels) {
    place p;
    p.channel = i % channels, i /= channels;
    p.group = i % groups, i /= groups;
    for (int d = 2; d >= 0; d--) p.at[d] = i % size[d], i /= size[d];
    p.image = i;
    return p;
}

static float element(const float *x, const place *p, const int64_t size[3], int64_t groups,
                     int64_t channels) {
    int64_t at = p->image;
    for (int d = 0; d < 3; d++) {
        if (p->at[d] < 0 || p->at[d] >= size[d]) return 0;
        at = at * size[d] + p->at[d];
    }
    return x[(at * groups + p->group) * channels + p->channel];
}

static void tap_of(int64_t i, const int64_t k[3], int64_t tap[3]) {
    for (int d = 2; d >= 0; d--) tap[d] = i % k[d], i /= k[d];
}

static int64_t whole_runs(int64_t rows, int64_t run) {
    return dt_max(1, 65536 / dt_min(rows, 64) / run) * run;
}

/* An element of y. */
static float forward(const draw *d, const float *x, const float *w, int64_t i) {
    const dt_conv *c = &d->c;
    place p = place_of(i, d->y, c->groups, c->out), from = p;
    summing s = {.stretch = whole_runs(64, c->in)};
    for (int64_t t = 0; t < d->taps; t++) {
        int64_t tap[3];
        tap_of(t, d->k, tap);
        for (int a = 0; a < 3; a++)
            from.at[a] = p.at[a] * d->stride[a] - d->low[a] + tap[a] * d->dilation[a];
        for (from.channel = 0; from.channel < c->in; from.channel++)
            add(&s, element(x, &from, d->x, c->groups, c->in),
                w[(t * c->in + from.channel) * c->groups * c->out + p.group * c->out + p.channel]);
    }
    return end_of(&s);
}

/* An element of the gradient of x, by the kernel with reversed dimensions. */
static float data(const draw *d, const float *y, const float *w, int64_t i) {
    const dt_conv *c = &d->c;
    place p = place_of(i, d->x, c->groups, c->in), from = p;
    summing s = {.stretch = whole_runs(64, c->out)};
    for (int64_t t = 0; t < d->taps; t++) {
        int64_t tap[3];
        bool hole = false;
        tap_of(t, d->k, tap);
        for (int a = 0; a < 3; a++) {
            const int64_t at = p.at[a] + d->low[a] - (d->k[a] - 1 - tap[a]) * d->dilation[a];
            hole |= at % d->stride[a] != 0;
            from.at[a] = at < 0 ? -1 : at / d->stride[a];
        }
        for (from.channel = 0; from.channel < c->out; from.channel++)
            add(&s, hole ? 0 : element(y, &from, d->y, c->groups, c->out),
                w[(t * c->out + from.channel) * c->groups * c->in + p.group * c->in + p.channel]);
    }
    return end_of(&s);
}

/* An element of the gradient of the kernel. */
static float weights(const draw *d, const float *x, const float *y, int64_t i) {
    const dt_conv *c = &d->c;
    const int64_t out = i % c->out, group = i / c->out % c->groups,
                  in = i / (c->out * c->groups) % c->in, t = i / (c->out * c->groups * c->in),
                  places = c->images * volume(d->y);
    summing s = {.stretch = whole_runs(c->groups > 1 ? 64 : d->taps * c->in, d->y[2])};
    int64_t tap[3];
    tap_of(t, d->k, tap);
    for (int64_t k = 0; k < places; k++) {
        place of_y = place_of(k, d->y, 1, 1), of_x;
        of_y.group = group, of_y.channel = out;
        of_x = of_y;
        of_x.channel = in;
        for (int a = 0; a < 3; a++)
            of_x.at[a] = of_y.at[a] * d->stride[a] - d->low[a] + tap[a] * d->dilation[a];
        add(&s, element(x, &of_x, d->x, c->groups, c->in),
            element(y, &of_y, d->y, c->groups, c->out));
    }
    return end_of(&s);
}

static float defined(const draw *d, const float *a, const float *b, int64_t i) {
    return d->c.kind == DT_CONV_FORWARD ? forward(d, a, b, i)
           : d->c.kind == DT_CONV_DATA  ? data(d, a, b, i)
                                        : weights(d, a, b, i);
}

/* ---- running ---- */

/* n drawn numbers, behind them a guard. */
static float *numbers(dt_random *r, int64_t n) {
    float *x = dt_alloc((size_t)(n + OUTSIDE) * sizeof *x);
    for (int64_t i = 0; i < n; i++) x[i] = (float)dt_random_normal(r);
    for (int64_t i = n; i < n + OUTSIDE; i++) x[i] = NAN;
    return x;
}

static void run_plan(const dt_conv_calls *calls, const dt_conv_plan *p, const draw *d,
                     const float *a, const float *b, float *c) {
    void *packed = NULL, *scratch = NULL;
    assert_int_equal(posix_memalign(&packed, 64, p->packed + 64), 0);
    assert_int_equal(posix_memalign(&scratch, 64, p->scratch + 64), 0);
    memset(scratch, 0xff, p->scratch + 64);
    if (d->c.kind != DT_CONV_WEIGHTS) {
        calls->pack(p, b, packed, scratch);
        b = packed;
    }
    calls->run(p, a, b, c, scratch);
    for (int i = 0; i < 64; i++)
        assert_int_equal(((unsigned char *)scratch)[p->scratch + (size_t)i], 0xff);
    free(packed);
    free(scratch);
}

static void check_case(uint64_t seed, const dt_simd *simd) {
    dt_random r = dt_random_stream(seed, "convolution", 0);
    const draw d = draw_case(&r);
    const int64_t sizes[3][3] = {[DT_CONV_FORWARD] = {d.x_size, d.w_size, d.y_size},
                                 [DT_CONV_DATA] = {d.y_size, d.w_size, d.x_size},
                                 [DT_CONV_WEIGHTS] = {d.x_size, d.y_size, d.w_size}},
                  *size = sizes[d.c.kind];
    float *a = numbers(&r, size[0]), *b = numbers(&r, size[1]), *c = numbers(&r, size[2]);
    dt_gemm_library l;
    dt_conv_plan p;
    dt_gemm_open_own(&l, simd);
    if (!l.conv->plan(&l, &d.c, &p)) fail_msg("seed %llu: refused", (unsigned long long)seed);
    run_plan(l.conv, &p, &d, a, b, c);
    l.conv->release(&p);
    for (int64_t n = 0; n < dt_min(size[2], 200); n++) {
        const int64_t i = size[2] <= 200 ? n : between(&r, 0, size[2] - 1);
        const float is = c[i], ought = defined(&d, a, b, i);
        if (memcmp(&is, &ought, sizeof is) != 0)
            fail_msg("seed %llu, %s, kind %d: element %lld of %lld is %.9g, not %.9g",
                     (unsigned long long)seed, simd->name, (int)d.c.kind, (long long)i,
                     (long long)size[2], (double)is, (double)ought);
    }
    for (int i = 0; i < OUTSIDE; i++) assert_true(isnan(c[size[2] + i]));
    free(a);
    free(b);
    free(c);
}

static void test_order(void **state) {
    const dt_simd *list[DT_MAX_SIMD];
    const char *given = getenv("DTRAIN_SEED");
    const uint64_t first = given ? strtoull(given, NULL, 10) : 1;
    const int n = dt_simd_list(list);
    (void)state;
    print_message("seeds %llu to %llu\n", (unsigned long long)first,
                  (unsigned long long)first + CASES - 1);
    for (uint64_t seed = first; seed < first + CASES; seed++)
        for (int i = 0; i < n; i++) check_case(seed, list[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order)};
    return cmocka_run_group_tests_name("exec conv_own", tests, NULL, NULL);
}
