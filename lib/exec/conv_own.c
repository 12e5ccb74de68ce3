/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions by our own loops (simd/conv.c), for `reproducible: {strict: true}`. Windows are read
 * where they lie in an image with its padding around it: a copy of one image at a time, or the
 * image itself if it needs no padding. A kernel's gradient has copies of the images of a stretch.
 *
 * The order of sums is that of im2col.c, whose columns are the k's. Runs of k are the features of a
 * window's element, or a row of places for a kernel's gradient. A stretch has as many whole runs as
 * fit into STRETCH, at least one:
 *
 *     stretches    added by the tree of exec/sums.h
 *     blocks       of DT_PRODUCT_BLOCK k's of a stretch, added by that tree
 *     k's          one chain from 0
 *
 * The gradient of an image of a convolution with strides skips the holes between the elements that
 * it reads. Their k's count, so that blocks end where they would with zeros in the holes. Places of
 * the result with the same remainders read the same elements of the kernel: they are a part.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/size.h"
#include "exec/conv.h"
#include "exec/conv_loops.h"
#include "exec/sums.h"

enum {
    SPACE = DT_CONV_SPACE,
    STRETCH = 1 << 16, /* k's times rows, of which FEW_ROWS count at most */
    FEW_ROWS = 64,
    WIDE = 128 /* columns from which on a gradient's B is packed */
};

/* One spatial dimension. A place of the result reads elements m * stride + tap of the image, where
 * m is the place divided by `base`. */
typedef struct axis {
    int64_t size, places, k;
    int64_t stride, dilation, low, base;
    int64_t before, padded; /* elements of padding before the image; with padding */
    int64_t pitch;          /* floats from an element to the next */
    int64_t w;              /* from an element of the kernel to the next */
} axis;

/* Places of the result that read the same elements of the kernel. */
typedef struct part {
    dt_conv_line *line;
    dt_conv_span *span;
    int64_t lines, each, spans, ldc;
} part;

typedef struct plan {
    dt_conv c;
    const dt_simd *simd;
    axis a[SPACE];
    int64_t in, out;     /* features of one group: of the image that is read, of the other matrix */
    int64_t wide;        /* features of all groups of the image that is read */
    int64_t others;      /* features of all groups of the result; WEIGHTS: of y */
    int64_t taps, image; /* elements of a kernel; floats of an image as it is read */
    bool pads, one_by_one, joined; /* one kernel for each channel; all images are one line */
    int n_parts;
    part *part;
    /* WEIGHTS: runs in all, of a stretch, of an image; copies of images; whether y is packed */
    int64_t runs, stretch, runs_each, copies;
    bool packs;
} plan;

/* ---- where blocks end ---- */

typedef struct spans {
    dt_conv_span *span;
    int64_t n;
    int64_t k, stretch, all; /* k's passed; of a stretch; of the sum */
    int64_t step;            /* floats from a k to the next */
} spans;

static int trailing_ones(int64_t n) { return __builtin_ctzll(~(unsigned long long)n); }

static int ones(int64_t n) { return __builtin_popcountll((unsigned long long)n); }

/* The k behind the present block. */
static int64_t end_of_block(const spans *s) {
    const int64_t begin = s->k / s->stretch * s->stretch,
                  block = begin + ((s->k - begin) / DT_PRODUCT_BLOCK + 1) * DT_PRODUCT_BLOCK;
    return dt_min(dt_min(block, begin + s->stretch), s->all);
}

/* The number of sums that are added where the block that ends at k does. */
static int joins_at(const spans *s, int64_t k) {
    const int64_t stretch = (k - 1) / s->stretch, begin = stretch * s->stretch,
                  block = (k - 1 - begin) / DT_PRODUCT_BLOCK;
    const bool ends = k == s->all;
    if (!ends && k - begin < s->stretch) return trailing_ones(block);
    return ones(block) + (ends ? ones(stretch) : trailing_ones(stretch));
}

static void push_span(spans *s, int64_t at, int64_t n) {
    dt_conv_span *last = s->n ? &s->span[s->n - 1] : NULL;
    if (last && last->joins < 0 && last->k + last->n == s->k && last->at + last->n * s->step == at)
        last->n += (int32_t)n;
    else s->span[s->n++] = (dt_conv_span){at, (int32_t)s->k, (int32_t)n, -1};
}

/* Passes n k's: those at `at`, or holes if that is negative. */
static void pass(spans *s, int64_t at, int64_t n) {
    while (n > 0) {
        const int64_t end = end_of_block(s), some = dt_min(n, end - s->k);
        const bool ends = s->k + some == end;
        if (at >= 0) push_span(s, at, some);
        else if (ends && (s->n == 0 || s->span[s->n - 1].joins >= 0)) push_span(s, 0, 0);
        s->k += some;
        if (ends) s->span[s->n - 1].joins = joins_at(s, end);
        if (at >= 0) at += some * s->step;
        n -= some;
    }
}

static int64_t most_spans(int64_t pieces, int64_t k, int64_t stretch) {
    return pieces + 2 * (k / DT_PRODUCT_BLOCK + k / stretch + 2);
}

/* Runs of a stretch, for `rows` rows and a run of n. */
static int64_t stretch_of(int64_t rows, int64_t n) {
    return dt_max(1, STRETCH / dt_min(rows, FEW_ROWS) / n);
}

/* ---- geometry ---- */

static int64_t floor_of(int64_t n, int64_t by) { return n >= 0 ? n / by : -((by - 1 - n) / by); }

/* Whether places p with p % base == rest read element t of the kernel, and from where. */
static bool reads(const axis *a, int64_t rest, int64_t t, int64_t *from) {
    const int64_t at = rest - a->low + t * a->dilation;
    *from = floor_of(at, a->base);
    return *from * a->base == at;
}

static int64_t count_of(const axis *a, int64_t rest) {
    return rest < a->places ? (a->places - rest + a->base - 1) / a->base : 0;
}

/* What lies around the image. */
static void find_padding(axis *a) {
    int64_t least = 0, most = 0, from;
    for (int64_t rest = 0; rest < dt_min(a->base, a->places); rest++)
        for (int64_t t = 0; t < a->k; t++) {
            if (!reads(a, rest, t, &from)) continue;
            least = dt_min(least, from);
            most = dt_max(most, (count_of(a, rest) - 1) * a->stride + from);
        }
    a->before = -least;
    a->padded = a->before + dt_max(a->size, most + 1);
}

static void read_axis(plan *p, int i, int j) {
    const dt_conv *c = &p->c;
    axis *a = &p->a[i];
    *a = (axis){.size = c->x[j],
                .places = c->y[j],
                .k = c->k[j],
                .stride = c->stride[j],
                .dilation = c->dilation[j],
                .low = c->low[j],
                .base = 1,
                .w = c->w_k[j]};
    if (c->kind != DT_CONV_DATA) return;
    a->size = c->y[j];
    a->places = c->x[j];
    a->stride = 1;
    a->low = (c->k[j] - 1) * c->dilation[j] - c->low[j];
    a->base = c->stride[j];
}

static void read_sizes(plan *p) {
    const dt_conv *c = &p->c;
    const bool data = c->kind == DT_CONV_DATA;
    p->in = data ? c->out : c->in;
    p->out = data ? c->in : c->out;
    p->wide = c->groups * p->in;
    p->others = c->groups * p->out;
    p->one_by_one = c->groups > 1 && c->in == 1 && c->out == 1;
    p->taps = 1;
    for (int i = 0; i < SPACE; i++) {
        p->a[i] = (axis){1, 1, 1, 1, 1, 0, 1, 0, 1, 0, 0};
        if (i >= SPACE - c->n) read_axis(p, i, i - (SPACE - c->n));
        p->taps *= p->a[i].k;
        find_padding(&p->a[i]);
        p->pads |= p->a[i].padded > p->a[i].size;
    }
    p->image = p->wide;
    for (int i = SPACE - 1; i >= 0; i--) {
        p->a[i].pitch = p->image;
        p->image *= p->a[i].padded;
    }
}

/* Whether all elements of a kernel's group lie at distances of w_in, and outputs side by side. */
static bool is_plain(const plan *p) {
    const dt_conv *c = &p->c;
    const int64_t inner = c->kind == DT_CONV_DATA ? c->w_out : c->w_in,
                  columns = c->kind == DT_CONV_DATA ? c->w_in : c->w_out;
    int64_t step = inner * p->in;
    bool plain = c->x_is == DT_GEMM_F32 && c->y_is == DT_GEMM_F32 && c->w_is == DT_GEMM_F32 &&
                 p->in > 0 && p->out > 0 && p->taps > 0 && (columns == 1 || p->out == 1);
    for (int i = SPACE - 1; i >= 0; i--) {
        plain &= p->a[i].k == 1 || p->a[i].w == step;
        plain &= p->a[i].size > 0 && p->a[i].places > 0;
        step *= p->a[i].k;
    }
    return plain && step < INT32_MAX && p->taps * p->in < INT32_MAX / 2;
}

static int64_t inner_step(const plan *p) {
    return p->c.kind == DT_CONV_DATA ? p->c.w_out : p->c.w_in;
}

/* ---- lines ---- */

/* Makes one line of each `n` lines, if they lie so. */
static void join_lines(part *q, int64_t n, int64_t row_step) {
    bool ok = n > 1 && q->lines % n == 0;
    for (int64_t l = 0; l + 1 < q->lines && ok; l++)
        ok = l % n == n - 1 || (q->line[l + 1].a - q->line[l].a == q->each * row_step &&
                                q->line[l + 1].c - q->line[l].c == q->each * q->ldc);
    if (!ok) return;
    q->lines /= n;
    q->each *= n;
    for (int64_t l = 0; l < q->lines; l++) q->line[l] = q->line[l * n];
}

/* ---- the result of windows: FORWARD and DATA ---- */

/* The elements of the kernel that a part reads. */
static void find_spans(const plan *p, part *q, const int64_t rest[SPACE]) {
    const int64_t k = p->taps * p->in, stretch = stretch_of(FEW_ROWS, p->in) * p->in;
    const axis *a = p->a;
    int64_t from[SPACE], t[SPACE];
    q->span = dt_alloc((size_t)most_spans(p->taps, k, stretch) * sizeof *q->span);
    spans s = {.span = q->span, .stretch = stretch, .all = k, .step = 1};
    for (t[0] = 0; t[0] < a[0].k; t[0]++)
        for (t[1] = 0; t[1] < a[1].k; t[1]++)
            for (t[2] = 0; t[2] < a[2].k; t[2]++) {
                int64_t at = 0;
                bool there = true;
                for (int i = 0; i < SPACE; i++) {
                    there &= reads(&a[i], rest[i], t[i], &from[i]);
                    at += (from[i] + a[i].before) * a[i].pitch;
                }
                pass(&s, there ? at : -1, p->in);
            }
    q->spans = s.n;
}

static void find_lines(const plan *p, part *q, const int64_t rest[SPACE]) {
    const axis *a = p->a;
    const int64_t n[2] = {count_of(&a[0], rest[0]), count_of(&a[1], rest[1])};
    q->each = count_of(&a[2], rest[2]);
    q->ldc = a[2].base * p->others;
    q->line = dt_alloc((size_t)(n[0] * n[1] + 1) * sizeof *q->line);
    for (int64_t i = 0; i < n[0]; i++)
        for (int64_t j = 0; j < n[1]; j++) {
            const int64_t place = (i * a[0].base + rest[0]) * a[1].places + j * a[1].base + rest[1];
            q->line[q->lines++] =
                (dt_conv_line){i * a[0].stride * a[0].pitch + j * a[1].stride * a[1].pitch,
                               (place * a[2].places + rest[2]) * p->others};
        }
    join_lines(q, q->lines, a[2].stride * p->wide);
}

static void plan_windows(plan *p, dt_conv_plan *out) {
    const axis *a = p->a;
    const int64_t k = p->taps * p->in, step = a[2].stride * p->wide;
    int64_t rest[SPACE];
    p->part = dt_alloc((size_t)(a[0].base * a[1].base * a[2].base) * sizeof *p->part);
    for (rest[0] = 0; rest[0] < a[0].base; rest[0]++)
        for (rest[1] = 0; rest[1] < a[1].base; rest[1]++)
            for (rest[2] = 0; rest[2] < a[2].base; rest[2]++) {
                part *q = &p->part[p->n_parts++];
                *q = (part){0};
                find_lines(p, q, rest);
                find_spans(p, q, rest);
            }
    const part *q = p->part;
    p->joined = !p->pads && p->n_parts == 1 && q->lines == 1 && q->each * step == p->image;
    out->packed =
        (size_t)(p->one_by_one ? k * p->wide : p->c.groups * p->simd->conv->room(k, p->out)) *
        sizeof(float);
    out->scratch = p->pads ? (size_t)p->image * sizeof(float) : 0;
}

static dt_conv_product product_of(const plan *p, const part *q) {
    return (dt_conv_product){.line = q->line,
                             .span = q->span,
                             .lines = q->lines,
                             .each = q->each,
                             .spans = q->spans,
                             .row_step = p->a[2].stride * p->wide,
                             .k_step = 1,
                             .ldc = q->ldc,
                             .columns = p->out,
                             .k = p->taps * p->in};
}

static void pack(const dt_conv_plan *planned, const void *w, void *packed, void *scratch) {
    const plan *p = planned->state;
    const dt_conv *c = &p->c;
    const dt_conv_loops *loops = p->simd->conv;
    float *to = packed;
    (void)scratch;
    if (p->one_by_one) {
        for (int64_t t = 0; t < p->taps; t++)
            for (int64_t g = 0; g < p->wide; g++)
                *to++ = ((const float *)w)[t * inner_step(p) + g * c->w_group];
        return;
    }
    for (int64_t g = 0; g < c->groups; g++, to += loops->room(p->taps * p->in, p->out)) {
        const dt_conv_product b = {.b = (const float *)w + g * c->w_group,
                                   .k = p->taps * p->in,
                                   .columns = p->out,
                                   .ldb = inner_step(p)};
        loops->pack(&b, 1, to);
    }
}

/* Copies an image into the middle of one with padding. */
static void copy_image(const plan *p, const float *x, float *to) {
    const axis *a = p->a;
    const int64_t row = a[2].size * p->wide;
    for (int i = 0; i < SPACE; i++) to += a[i].before * a[i].pitch;
    for (int64_t i = 0; i < a[0].size; i++)
        for (int64_t j = 0; j < a[1].size; j++, x += row)
            memcpy(to + i * a[0].pitch + j * a[1].pitch, x, (size_t)row * sizeof *x);
}

static int64_t floats_of_image(const plan *p) {
    return p->a[0].size * p->a[1].size * p->a[2].size * p->wide;
}

/* All groups of a part, of one image or of all. */
static void run_part(const plan *p, dt_conv_product *m, const float *x, const float *w, float *y) {
    const dt_conv_loops *loops = p->simd->conv;
    if (p->one_by_one) {
        m->a = x, m->b = w, m->c = y;
        m->columns = m->ldb = p->wide;
        loops->depthwise(m);
        return;
    }
    for (int64_t g = 0; g < p->c.groups; g++, w += loops->room(m->k, m->columns)) {
        m->a = x + g * p->in, m->b = w, m->c = y + g * p->out;
        loops->run(m);
    }
}

static void run_windows(const plan *p, const float *x, const float *w, float *y, float *scratch) {
    const axis *a = p->a;
    const int64_t result = a[0].places * a[1].places * a[2].places * p->others;
    if (p->joined) {
        dt_conv_product m = product_of(p, p->part);
        m.each *= p->c.images;
        run_part(p, &m, x, w, y);
        return;
    }
    if (p->pads) memset(scratch, 0, (size_t)p->image * sizeof *scratch);
    for (int64_t i = 0; i < p->c.images; i++, x += floats_of_image(p), y += result) {
        if (p->pads) copy_image(p, x, scratch);
        for (int j = 0; j < p->n_parts; j++) {
            dt_conv_product m = product_of(p, &p->part[j]);
            run_part(p, &m, p->pads ? scratch : x, w, y);
        }
    }
}

/* ---- the gradient of a kernel ---- */

/* A line is an element of the kernel, or several. */
static void find_elements(const plan *p, part *q) {
    const axis *a = p->a;
    int64_t t[SPACE];
    q->each = p->one_by_one ? 1 : p->in;
    q->ldc = p->c.w_in;
    q->line = dt_alloc((size_t)p->taps * sizeof *q->line);
    for (t[0] = 0; t[0] < a[0].k; t[0]++)
        for (t[1] = 0; t[1] < a[1].k; t[1]++)
            for (t[2] = 0; t[2] < a[2].k; t[2]++) {
                dt_conv_line *l = &q->line[q->lines++];
                *l = (dt_conv_line){0};
                for (int i = 0; i < SPACE; i++) {
                    l->a += (t[i] * a[i].dilation - a[i].low + a[i].before) * a[i].pitch;
                    l->c += t[i] * a[i].w;
                }
            }
    if (p->one_by_one) return;
    join_lines(q, a[2].k, 1);
    join_lines(q, q->lines, 1);
}

static int64_t elements_of(const plan *p) { return p->taps * p->in * p->others; }

/* k's of a stretch. */
static int64_t k_of(const plan *p) { return dt_min(p->stretch, p->runs) * p->a[2].places; }

static int64_t room_of_y(const plan *p) {
    return p->packs ? p->simd->conv->room(k_of(p), p->out) : 0;
}

static int64_t stretches_of(const plan *p) { return (p->runs + p->stretch - 1) / p->stretch; }

static int64_t floats_of_gradient(const plan *p) {
    const int64_t levels = stretches_of(p) > 1 ? dt_sum_levels(stretches_of(p)) : 0;
    return (p->pads ? p->copies * p->image : 0) + room_of_y(p) + levels * elements_of(p);
}

/* Bytes of n floats, so that what follows is aligned. */
static size_t aligned(int64_t n) { return ((size_t)n * sizeof(float) + 63) / 64 * 64; }

static void plan_gradient(plan *p, dt_conv_plan *out) {
    const axis *a = p->a;
    const int64_t rows = p->c.groups > 1 ? FEW_ROWS : p->taps * p->in;
    p->part = dt_alloc(sizeof *p->part);
    *p->part = (part){0};
    p->n_parts = 1;
    find_elements(p, p->part);
    p->runs_each = a[0].places * a[1].places;
    p->runs = p->c.images * p->runs_each;
    p->stretch = stretch_of(rows, a[2].places);
    p->copies = dt_min(p->c.images, p->stretch / p->runs_each + 2);
    p->packs = !p->one_by_one &&
               (p->others > WIDE || p->simd->conv->room(k_of(p), p->out) != k_of(p) * p->out);
    out->scratch =
        aligned(floats_of_gradient(p)) +
        (size_t)most_spans(dt_min(p->stretch, p->runs), k_of(p), k_of(p)) * sizeof(dt_conv_span);
}

/* Working memory, and what it holds. */
typedef struct gradient {
    const plan *p;
    const float *x, *y;
    float *copies, *packed, *levels;
    dt_conv_span *span;
    int64_t copied; /* images */
} gradient;

static gradient begin(const plan *p, const float *x, const float *y, char *scratch) {
    gradient g = {.p = p, .x = x, .y = y, .copies = (float *)(void *)scratch};
    g.packed = g.copies + (p->pads ? p->copies * p->image : 0);
    g.levels = g.packed + room_of_y(p);
    g.span = (dt_conv_span *)(void *)(scratch + aligned(floats_of_gradient(p)));
    if (p->pads) memset(g.copies, 0, (size_t)(p->copies * p->image) * sizeof(float));
    return g;
}

/* Spans of the places of some runs; copies of the images that they are in. */
static int64_t find_places(gradient *g, int64_t first, int64_t end) {
    const plan *p = g->p;
    const axis *a = p->a;
    const int64_t k = (end - first) * a[2].places;
    spans s = {.span = g->span, .stretch = k, .all = k, .step = a[2].stride * p->wide};
    for (int64_t r = first; r < end; r++) {
        const int64_t i = r / p->runs_each, place = r % p->runs_each,
                      slot = p->pads ? i % p->copies : i,
                      at = place / a[1].places * a[0].stride * a[0].pitch +
                           place % a[1].places * a[1].stride * a[1].pitch;
        for (; p->pads && g->copied <= i; g->copied++)
            copy_image(p, g->x + g->copied * floats_of_image(p),
                       g->copies + g->copied % p->copies * p->image);
        pass(&s, slot * p->image + at, a[2].places);
    }
    return s.n;
}

static void run_stretch(gradient *g, int64_t first, int64_t end, float *w) {
    const plan *p = g->p;
    const dt_conv_loops *loops = p->simd->conv;
    const float *y = g->y + first * p->a[2].places * p->others;
    dt_conv_product m = product_of(p, p->part);
    m.span = g->span;
    m.spans = find_places(g, first, end);
    m.k = (end - first) * p->a[2].places;
    m.k_step = m.row_step;
    m.row_step = 1;
    m.a = p->pads ? g->copies : g->x;
    m.b = y, m.c = w, m.ldb = p->others;
    if (p->one_by_one) {
        m.columns = p->wide;
        loops->depthwise_gradient(&m);
        return;
    }
    for (int64_t i = 0; i < p->c.groups; i++, m.a += p->in, m.c += p->c.w_group) {
        m.b = y + i * p->out, m.ldb = p->others;
        if (p->packs) {
            loops->pack(&m, 1, g->packed);
            m.b = g->packed, m.ldb = 0;
        }
        loops->run(&m);
    }
}

static void run_gradient(const plan *p, const float *x, const float *y, float *w, char *scratch) {
    gradient g = begin(p, x, y, scratch);
    const int64_t n = elements_of(p);
    const bool one = stretches_of(p) == 1;
    dt_sum_tree t = {.level = g.levels, .stride = n, .n = n, .add = p->simd->strip[DT_S_add]};
    for (int64_t r = 0; r < p->runs; r += p->stretch) {
        run_stretch(&g, r, dt_min(p->runs, r + p->stretch), one ? w : dt_sum_next(&t));
        if (!one) dt_sum_push(&t);
    }
    if (one) return;
    dt_sum_end(&t);
    memcpy(w, t.level, (size_t)n * sizeof *w);
}

/* ---- plans ---- */

static void release(dt_conv_plan *planned) {
    plan *p = planned->state;
    for (int i = 0; p && i < p->n_parts; i++) {
        free(p->part[i].line);
        free(p->part[i].span);
    }
    if (p) free(p->part);
    free(p);
    planned->state = NULL;
}

/* Whether the sums that wait fit on the stack. */
static bool has_levels(const plan *p) {
    const bool of_kernel = p->c.kind == DT_CONV_WEIGHTS;
    const int64_t run = of_kernel ? p->a[2].places : p->in, k = of_kernel ? run : p->taps * p->in,
                  stretch = dt_max(run, of_kernel ? STRETCH : STRETCH / FEW_ROWS);
    return dt_sum_levels(stretch / DT_PRODUCT_BLOCK + 1) + dt_sum_levels(2 * (k / stretch + 1)) <=
           DT_CONV_LEVELS;
}

static bool make_plan(const dt_gemm_library *l, const dt_conv *c, dt_conv_plan *out) {
    plan *p = dt_alloc(sizeof *p);
    *p = (plan){.c = *c, .simd = l->state};
    read_sizes(p);
    *out = (dt_conv_plan){.state = p};
    if (c->images <= 0 || !is_plain(p) || !has_levels(p) ||
        (p->one_by_one && p->taps > DT_PRODUCT_BLOCK)) {
        release(out);
        return false;
    }
    if (c->kind == DT_CONV_WEIGHTS) plan_gradient(p, out);
    else plan_windows(p, out);
    return true;
}

static void run(const dt_conv_plan *planned, const void *a, const void *b, void *c, void *scratch) {
    const plan *p = planned->state;
    if (p->c.kind == DT_CONV_WEIGHTS) run_gradient(p, a, b, c, scratch);
    else run_windows(p, a, b, c, scratch);
}

const dt_conv_calls dt_conv_own = {
    .plan = make_plan, .pack = pack, .run = run, .release = release, .in_order = true};
