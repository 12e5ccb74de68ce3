/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own convolutions beside oneDNN's, each called as a step calls it, on one thread: the result,
 * the gradient of the image and that of the kernel. Kernels are packed beforehand, as they are once
 * a step. Prints floating-point operations per clock cycle, and our rate in times of oneDNN's;
 * cycles.h says how time is taken.
 *
 *     convolutions [ROUNDS [SHAPE...]]       by scripts/bench.d/convolutions; shapes from 0
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "exec/conv.h"
#include "exec/instructions.h"

#include "cycles.h"

enum { CONTENDERS = 2, OWN = 0, KINDS = 3, ROUND_NS = 5000000 };

typedef struct shape {
    const char *name;
    int64_t images, size, in, out, groups, k, stride;
} shape;

static const shape shapes[] = {
    {"32x32x16 3x3", 16, 32, 16, 16, 1, 3, 1},       {"16x16x32 3x3", 16, 16, 32, 32, 1, 3, 1},
    {"8x8x64 3x3", 16, 8, 64, 64, 1, 3, 1},          {"28x28x1->32 3x3", 16, 28, 1, 32, 1, 3, 1},
    {"14x14x32->64 3x3", 16, 14, 32, 64, 1, 3, 1},   {"56x56x64 1x1", 2, 56, 64, 64, 1, 1, 1},
    {"depthwise 32x32x64", 16, 32, 1, 1, 64, 3, 1},  {"depthwise, 2 images", 2, 32, 1, 1, 64, 3, 1},
    {"32x32x16->32 3x3/2", 16, 32, 16, 32, 1, 3, 2}, {"depthwise/2", 4, 32, 1, 1, 64, 3, 2},
    {"14x14x64->384 1x1", 8, 14, 64, 384, 1, 1, 1},  {"14x14x384->64 1x1", 8, 14, 384, 64, 1, 1, 1},
    {"3x3x512, 1 image", 1, 3, 512, 512, 1, 3, 1},   {"6x6x256, 1 image", 1, 6, 256, 256, 1, 3, 1},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* ---- convolutions ---- */

typedef struct contender {
    const dt_conv_calls *calls;
    dt_conv_plan plan;
    void *packed, *scratch;
    double cycles; /* the least of a call */
} contender;

typedef struct arrays {
    float *a, *b, *c;
} arrays;

static void *room(size_t bytes) {
    void *p = NULL;
    if (posix_memalign(&p, 64, bytes + 64)) exit(1);
    memset(p, 0, bytes);
    return p;
}

static float *fill(int64_t n) {
    float *x = room((size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++) x[i] = (float)(i % 7) - 3;
    return x;
}

static dt_conv conv_of(const shape *s, dt_conv_kind kind) {
    const int64_t pad = (s->k - 1) / 2, places = (s->size + s->stride - 1) / s->stride;
    dt_conv c = {
        .kind = kind, .n = 2, .images = s->images, .groups = s->groups, .in = s->in, .out = s->out};
    for (int i = 0; i < 2; i++) {
        c.x[i] = s->size;
        c.y[i] = places;
        c.k[i] = s->k;
        c.stride[i] = s->stride;
        c.dilation[i] = 1;
        c.low[i] = pad;
    }
    c.w_group = s->out;
    c.w_out = 1;
    c.w_in = s->groups * s->out;
    c.w_k[1] = s->in * c.w_in;
    c.w_k[0] = s->k * c.w_k[1];
    return c;
}

/* As exec/conv_read.c describes the gradient of an image. */
static void turn(dt_conv *c) {
    const int64_t columns = c->groups * c->in;
    if (c->stride[0] == 1) { /* a convolution of its own */
        const int64_t in = c->in;
        c->kind = DT_CONV_FORWARD;
        c->in = c->out;
        c->out = in;
        for (int i = 0; i < 2; i++) c->low[i] = c->k[i] - 1 - c->low[i];
        c->w_group = in;
        c->w_out = 1;
        c->w_in = columns;
        c->w_k[1] = c->in * columns;
    } else {
        c->turned = true;
        c->w_group = c->in;
        c->w_in = 1;
        c->w_out = columns;
        c->w_k[1] = c->out * columns;
    }
    c->w_k[0] = c->k[1] * c->w_k[1];
}

static void call(const void *contender_, const void *arrays_) {
    const contender *c = contender_;
    const arrays *m = arrays_;
    c->calls->run(&c->plan, m->a, c->packed ? c->packed : m->b, m->c, c->scratch);
}

static bool prepare(const dt_gemm_library *l, const dt_conv *v, const float *w, contender *c) {
    c->calls = l->conv;
    if (!c->calls->plan(l, v, &c->plan)) return false;
    c->scratch = room(c->plan.scratch);
    if (v->kind == DT_CONV_WEIGHTS) return true;
    c->packed = room(c->plan.packed);
    c->calls->pack(&c->plan, w, c->packed, c->scratch);
    return true;
}

/* Prints a line; our rate in times of oneDNN's. 0: disturbed. */
static double compare(const dt_gemm_library *l, const shape *s, dt_conv_kind kind, int rounds) {
    static const char *const names[KINDS] = {"result", "image", "kernel"};
    dt_conv v = conv_of(s, kind);
    const int64_t x = s->images * v.x[0] * v.x[1] * s->groups * s->in,
                  y = s->images * v.y[0] * v.y[1] * s->groups * s->out,
                  w = v.k[0] * v.k[1] * s->in * s->out * s->groups;
    const double work = 2.0 * (double)(y * s->k * s->k * s->in);
    if (kind == DT_CONV_DATA) turn(&v);
    const int64_t n[KINDS][3] = {{x, w, y}, {y, w, x}, {x, y, w}};
    const arrays m = {fill(n[kind][0]), fill(n[kind][1]), fill(n[kind][2])};
    contender c[CONTENDERS] = {{0}};
    bool ok = true;
    for (int i = 0; i < CONTENDERS; i++) ok &= prepare(&l[i], &v, m.b, &c[i]);
    for (int r = 0; r < rounds && ok; r++)
        for (int i = 0; i < CONTENDERS; i++)
            sample(&(timed){call, &c[i], &m}, ROUND_NS, &c[i].cycles);
    const double ratio = c[OWN].cycles > 0 ? c[1].cycles / c[OWN].cycles : 0;
    printf("%-22s %-7s %6.1f %6.1f  %5.2f\n", s->name, names[kind], work / c[0].cycles,
           work / c[1].cycles, ratio);
    fflush(stdout);
    for (int i = 0; i < CONTENDERS; i++) {
        if (c[i].plan.state) c[i].calls->release(&c[i].plan);
        free(c[i].packed);
        free(c[i].scratch);
    }
    free(m.a);
    free(m.b);
    free(m.c);
    return ratio;
}

int main(int n, char **word) {
    dt_gemm_library l[CONTENDERS];
    const dt_simd *simd = NULL;
    double logs = 0;
    int compared = 0;
    require(dt_instructions_choose(NULL, &simd));
    dt_gemm_open_own(&l[OWN], simd);
    require(dt_gemm_open_onednn(&l[1]));
    for (int i = 0; i < CONTENDERS; i++) l[i].enter_thread(&l[i]);
    printf("own %s, oneDNN %s, %.2f GHz\n%-22s %-7s %6s %6s  own/oneDNN\n", simd->name, l[1].about,
           clock_ghz(), "", "", "own", "oneDNN");
    for (int i = 0; i < SHAPES; i++)
        for (int kind = 0; kind < KINDS && is_wanted(i, n, word); kind++) {
            if (kind == DT_CONV_DATA && shapes[i].in * shapes[i].groups == 1) continue;
            const double ratio =
                compare(l, &shapes[i], (dt_conv_kind)kind, n > 1 ? atoi(word[1]) : 5);
            if (ratio <= 0) continue;
            compared++;
            logs += log(ratio);
        }
    if (!compared) return 1;
    printf("own/oneDNN: geometric mean %.2f of %d\n", exp(logs / compared), compared);
    return 0;
}
