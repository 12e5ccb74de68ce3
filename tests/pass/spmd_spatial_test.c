/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows over split rows and columns: convolutions, pooling, pad and slice with their gradients,
 * cut over devices in one to three dimensions, against the reference interpreter of the whole step,
 * run both ways (tests/support/cut.h). Fed values are multiples of 1/4, so that sums are exact in
 * any order, and equals are frequent among the candidates of a maximum.
 *
 * Where devices' parts are in step (as many places each, the stride dividing the part) nothing is
 * gathered: halos are exchanged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "../support/cut.h"
#include "../support/feed.h"

typedef enum op_kind { CONVOLUTION, MAXIMUM, SUM, PAD, SLICE, N_KINDS } op_kind;

/* One op over x (B, size.., channels), cut into parts along its dimensions. */
typedef struct problem {
    char name[160];
    op_kind kind;
    int n_spatial;
    int64_t batch, size[3], kernel[3], stride[3], dilation[3], channels, filters, groups;
    bool same;
    int parts[5];
} problem;

/* ---- the op ---- */

static int64_t span_of(const problem *p, int i) { return (p->kernel[i] - 1) * p->dilation[i] + 1; }

static dt_window window_of(const problem *p, int i) {
    int64_t places = (p->size[i] + p->stride[i] - 1) / p->stride[i],
            room = (places - 1) * p->stride[i] + span_of(p, i) - p->size[i];
    int64_t padding = p->same && room > 0 ? room : 0;
    return (dt_window){.stride = p->stride[i],
                       .low = padding / 2,
                       .high = padding - padding / 2,
                       .base_dilation = 1,
                       .dilation = p->dilation[i]};
}

static int64_t places_of(const problem *p, int i) {
    dt_window w = window_of(p, i);
    int64_t room = p->size[i] + w.low + w.high - span_of(p, i);
    return room < 0 ? 0 : room / w.stride + 1;
}

static dt_type kernel_type(const problem *p) {
    dt_type t = {.dtype = DT_FLOAT32, .rank = p->n_spatial + 2};
    memcpy(t.dim, p->kernel, (size_t)p->n_spatial * sizeof *t.dim);
    t.dim[p->n_spatial] = p->channels / p->groups;
    t.dim[p->n_spatial + 1] = p->filters;
    return t;
}

static dt_type input_type(const problem *p, int64_t rows) {
    dt_type t = {.dtype = DT_FLOAT32, .rank = p->n_spatial + 2, .dim = {rows}};
    memcpy(t.dim + 1, p->size, (size_t)p->n_spatial * sizeof *t.dim);
    t.dim[p->n_spatial + 1] = p->channels;
    return t;
}

static dt_value convolve(const problem *p, dt_value x, dt_value w) {
    dt_convolution_attr a = dt_convolution_channels_last(p->n_spatial);
    a.feature_groups = (int32_t)p->groups;
    for (int i = 0; i < p->n_spatial; i++) a.window[i] = window_of(p, i);
    return dt_convolution(x, w, &a);
}

static dt_value pool(const problem *p, dt_value x) {
    dt_reduce_window_attr a =
        dt_windows_of_one(p->kind == SUM ? DT_REDUCE_SUM : DT_REDUCE_MAX, p->n_spatial + 2);
    for (int i = 0; i < p->n_spatial; i++) {
        a.size[i + 1] = p->kernel[i];
        a.window[i + 1] = window_of(p, i);
    }
    return dt_reduce_window(x, &a);
}

/* kernel - dilation elements before, dilation behind, stride - 1 between. */
static dt_value pad(const problem *p, dt_value x) {
    dt_pad_attr a = {.value = 0.5};
    for (int i = 0; i < p->n_spatial; i++) {
        a.dim[i + 1].low = p->kernel[i] - p->dilation[i];
        a.dim[i + 1].high = p->dilation[i];
        a.dim[i + 1].interior = p->stride[i] - 1;
    }
    return dt_pad(x, &a);
}

/* From kernel - 1 on, all that is there, or what makes an even count. */
static int64_t slice_size(const problem *p, int i) {
    int64_t n = (p->size[i] - p->kernel[i]) / p->stride[i] + 1, parts = p->parts[i + 1];
    return p->same && n >= parts ? n - n % parts : n;
}

static dt_value slice(const problem *p, dt_value x) {
    for (int i = 0; i < p->n_spatial; i++)
        x = dt_slice_axis(x, i + 1, p->kernel[i] - 1, slice_size(p, i), p->stride[i]);
    return x;
}

static dt_value apply(const problem *p, dt_value x, dt_value w) {
    switch (p->kind) {
    case CONVOLUTION: return convolve(p, x, w);
    case PAD: return pad(p, x);
    case SLICE: return slice(p, x);
    default: return pool(p, x);
    }
}

/* ---- a step with it: y, and the gradients of the sum of squares ---- */

static dt_value cut_input(const problem *p, dt_value x) {
    dt_sharding_attr a = {.kind = DT_SHARDING_OTHER, .rank = p->n_spatial + 2};
    for (int d = 0; d < a.rank; d++) a.parts[d] = p->parts[d];
    return dt_annotate(x, &a);
}

static dt_graph *step_of(const problem *p) {
    dt_trace *t = dt_trace_create("spatial");
    dt_type in = input_type(p, DT_BATCH), kernel = kernel_type(p);
    dt_value x = cut_input(p, dt_trace_declare(t, "x", &in)), w = dt_trace_declare(t, "w", &kernel),
             g[2];
    dt_value y = apply(p, x, w),
             loss = dt_multiply(dt_constant(t, 0.5), dt_reduce_sum(dt_multiply(y, y), DT_NO_AXIS));
    dt_graph *out = NULL;
    dt_gradients_of(loss, (dt_value[]){x, w}, 2, g);
    dt_return(t, "y", y);
    dt_return(t, "loss", loss);
    if (g[0].trace) dt_return(t, "dx", g[0]);
    if (g[1].trace) dt_return(t, "dw", g[1]);
    dt_status *bad = dt_trace_end(t, &out);
    if (bad) fail_msg("%s: %s", p->name, dt_status_text(bad));
    return out;
}

static dt_view feed_of(const problem *p, dt_type type, const char *what) {
    dt_random r = dt_random_stream(7, what, (uint64_t)p->size[0]);
    dt_view v = {type, malloc((size_t)dt_type_bytes(&type))};
    for (int64_t i = 0; i < dt_type_elements(&type); i++)
        ((float *)v.data)[i] = ((float)dt_random_below(&r, 9) - 4) / 4;
    return v;
}

/* ---- what is expected of it ---- */

static int devices_of(const problem *p) {
    int n = 1;
    for (int d = 0; d < 5; d++) n *= p->parts[d];
    return n;
}

static int64_t size_of_result(const problem *p, int i) {
    if (p->kind == PAD) return (p->size[i] - 1) * p->stride[i] + 1 + p->kernel[i];
    return p->kind == SLICE ? slice_size(p, i) : places_of(p, i);
}

static bool is_dimension_in_step(const problem *p, int i) {
    int64_t parts = p->parts[i + 1], places = size_of_result(p, i);
    bool divides =
        p->size[i] % parts == 0 && places % parts == 0 && p->size[i] / parts % p->stride[i] == 0;
    return parts == 1 || (divides && (p->kind != PAD || p->stride[i] == 1));
}

/* Whether the parts of every dimension are in step, forwards and backwards. */
static bool is_in_step(const problem *p) {
    bool good = p->batch % p->parts[0] == 0 && p->parts[p->n_spatial + 1] == 1;
    for (int i = 0; i < p->n_spatial; i++) good = good && is_dimension_in_step(p, i);
    return good;
}

typedef struct tally {
    int problems, in_step, permutes;
} tally;

static void expect_halos(const problem *p, const cut *c, tally *t) {
    int gathers = cut_count(c, &dt_op_across_all_gather) + cut_count(c, &dt_op_across_all_to_all);
    t->problems++;
    t->permutes += cut_count(c, &dt_op_across_collective_permute);
    if (!is_in_step(p)) return;
    t->in_step++;
    if (gathers == 0) return;
    dt_str text = {0};
    dt_spmd_print(c->spmd, &text);
    fail_msg("%s: %d gathered\n%s", p->name, gathers, dt_str_text(&text));
}

static void name(problem *p) {
    static const char *const kinds[] = {"convolution", "maximum", "sum", "pad", "slice"};
    int n = snprintf(p->name, sizeof p->name, "%s %s groups %d", kinds[p->kind],
                     p->same ? "same" : "valid", (int)p->groups);
    for (int i = 0; i < p->n_spatial; i++)
        n += snprintf(p->name + n, sizeof p->name - (size_t)n, ", %d taps / %d * %d over %d",
                      (int)p->kernel[i], (int)p->stride[i], (int)p->dilation[i], (int)p->size[i]);
    for (int d = 0; d < p->n_spatial + 2; d++)
        n += snprintf(p->name + n, sizeof p->name - (size_t)n, "%s%d", d ? "," : ", parts ",
                      p->parts[d]);
}

static bool has_places(const problem *p) {
    for (int i = 0; i < p->n_spatial; i++)
        if (places_of(p, i) < 1 || (p->kind == PAD && p->kernel[i] < p->dilation[i]) ||
            (p->kind == SLICE && p->kernel[i] > p->size[i]))
            return false;
    return true;
}

static void solve(problem *p, tally *t) {
    if (!has_places(p)) return;
    name(p);
    dt_graph *g = step_of(p);
    dt_view arg[2] = {feed_of(p, input_type(p, p->batch), "x"), feed_of(p, kernel_type(p), "w")};
    cut c = cut_make(g, &(dt_spmd_options){.devices = devices_of(p), .batch = p->batch}, p->name);
    dt_interpretation oracle, is;
    dt_status *bad = dt_interpret(g, NULL, 1, &p->batch, arg, &oracle);
    bad = bad ? bad : dt_interpret(c.expanded, NULL, 1, &p->batch, arg, &is);
    if (bad) fail_msg("%s: %s", p->name, dt_status_text(bad));
    for (int i = 0; i < g->n_results; i++)
        if (views_difference(&is.result[i], &oracle.result[i]) > 1e-6)
            fail_msg("%s: %s is wrong", p->name, g->result[i].name);
    cut_expect_lockstep(&c, NULL, arg, oracle.result, oracle.update, 1e-6);
    expect_halos(p, &c, t);
    dt_interpretation_release(&oracle);
    dt_interpretation_release(&is);
    cut_release(&c);
    free(arg[0].data);
    free(arg[1].data);
    dt_graph_destroy(g);
}

static void expect_tally(const tally *t, int problems, int in_step, int permutes) {
    print_message("%d problems, %d with halos alone, %d permutations\n", t->problems, t->in_step,
                  t->permutes);
    assert_true(t->problems >= problems && t->in_step >= in_step && t->permutes >= permutes);
}

/* ---- one dimension: everything ---- */

static void vary(problem p, tally *t) {
    for (int k = 1; k <= 7; k++)
        for (int s = 1; s <= 4; s++)
            for (int d = 1; d <= 3; d++)
                for (int same = 0; same <= 1; same++) {
                    p.kernel[0] = k;
                    p.stride[0] = s;
                    p.dilation[0] = d;
                    p.same = same;
                    solve(&p, t);
                }
}

static void test_lines(void **state) {
    (void)state;
    static const struct {
        int64_t size;
        int parts;
    } lines[] = {{24, 2}, {24, 3}, {24, 6}, {24, 12}, {13, 2}, {14, 2}, {16, 16}, {12, 4}};
    tally t = {0};
    for (int kind = 0; kind < N_KINDS; kind++)
        for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
            problem p = {.kind = (op_kind)kind,
                         .n_spatial = 1,
                         .batch = 1,
                         .size = {lines[i].size},
                         .channels = 1,
                         .filters = 2,
                         .groups = 1,
                         .parts = {1, lines[i].parts, 1, 1, 1}};
            vary(p, &t);
        }
    expect_tally(&t, 6000, 1300, 3000);
}

/* ---- more dimensions, batches, groups: drawn ---- */

static int64_t below(dt_random *r, int n) { return (int64_t)dt_random_below(r, (uint64_t)n); }

static void draw_space(dt_random *r, problem *p) {
    static const int64_t sizes[] = {4, 6, 8, 12, 12, 8, 5, 9};
    static const int parts[] = {1, 2, 3, 4, 2};
    for (int i = 0; i < p->n_spatial; i++) {
        p->size[i] = sizes[below(r, p->n_spatial == 3 ? 3 : 8)];
        p->kernel[i] = 1 + below(r, p->n_spatial == 3 ? 3 : 5);
        p->stride[i] = 1 + below(r, 2) * below(r, 4);
        p->dilation[i] = 1 + below(r, 4) / 3;
        p->parts[i + 1] = parts[below(r, 5)];
        if (p->size[i] % p->parts[i + 1]) p->parts[i + 1] = 1;
    }
}

static problem draw(uint64_t seed) {
    dt_random r = dt_random_stream(seed, "spatial", 0);
    problem p = {.kind = (op_kind)below(&r, N_KINDS),
                 .n_spatial = 2 + (int)(below(&r, 5) / 4),
                 .parts = {1, 1, 1, 1, 1}};
    p.groups = 1 + below(&r, 2);
    p.channels = p.filters = p.groups * (1 + below(&r, 2));
    p.same = below(&r, 4) > 0;
    p.parts[0] = 1 + (int)(below(&r, 4) / 3);
    p.batch = 2;
    draw_space(&r, &p);
    if (below(&r, 6) == 0 && p.channels % 2 == 0) p.parts[p.n_spatial + 1] = 2;
    return p;
}

static void test_planes_and_bodies(void **state) {
    (void)state;
    uint64_t first = 100, n = 500;
    tally t = {0};
    if (getenv("SPMD_SEED")) {
        first = strtoull(getenv("SPMD_SEED"), NULL, 10);
        n = 1;
    }
    for (uint64_t seed = first; seed < first + n; seed++) {
        problem p = draw(seed);
        if (devices_of(&p) <= 16 && devices_of(&p) > 1) solve(&p, &t);
    }
    if (n > 1) expect_tally(&t, 300, 100, 500);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_planes_and_bodies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
