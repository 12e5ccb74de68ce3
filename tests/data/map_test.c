/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of `map`: what they compute, what type comes out, and that plans take the short way
 * only where it is the same. */
#define HERE "build/tmp/data-map"
#include "files.h"

#include <limits.h>
#include <math.h>

#include "file/cast.h"
#include "data/map.h"

/* ---- casts ---- */

/* Values that every type is asked to take, and what integers make of them. */
static void test_floats_are_cut_and_saturate(void **state) {
    (void)state;
    const double in[8] = {0.9, -0.9, 1.5, -1.5, 1e30, -1e30, NAN, 200.7};
    static const struct {
        dt_dtype to;
        int64_t expected[8];
    } cases[] = {
        {DT_BOOL, {1, 1, 1, 1, 1, 1, 1, 1}},
        {DT_UINT8, {0, 0, 1, 0, 255, 0, 0, 200}},
        {DT_INT8, {0, 0, 1, -1, 127, -128, 0, 127}},
        {DT_INT16, {0, 0, 1, -1, 32767, -32768, 0, 200}},
        {DT_INT32, {0, 0, 1, -1, INT32_MAX, INT32_MIN, 0, 200}},
        {DT_INT64, {0, 0, 1, -1, INT64_MAX, INT64_MIN, 0, 200}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t out[8], wide[8];
        dt_cast(DT_FLOAT64, cases[i].to, in, out, 8);
        dt_cast(cases[i].to, DT_INT64, out, wide, 8);
        for (int k = 0; k < 8; k++)
            if (wide[k] != cases[i].expected[k])
                fail_msg("%s of %g is %lld", dt_dtype_name(cases[i].to), in[k], (long long)wide[k]);
    }
}

static void test_integers_wrap(void **state) {
    (void)state;
    const int32_t in[3] = {256 + 7, -1, 1 << 20};
    uint8_t u8[3];
    int16_t i16[3];
    dt_cast(DT_INT32, DT_UINT8, in, u8, 3);
    dt_cast(DT_INT32, DT_INT16, in, i16, 3);
    assert_int_equal(u8[0], 7);
    assert_int_equal(u8[1], 255);
    assert_int_equal(i16[1], -1);
    assert_int_equal(i16[2], 0);
}

/* All pairs of types agree with going through double, for every length around the block's. */
static void test_all_pairs_and_lengths(void **state) {
    (void)state;
    for (int from = DT_BOOL; from <= DT_FLOAT64; from++)
        for (int to = DT_BOOL; to <= DT_FLOAT64; to++)
            for (int n = 0; n < 200; n += 1 + n / 3) {
                double start[200], direct[200], wide[200], back[200];
                char in[1600], out[1600];
                for (int i = 0; i < n; i++) start[i] = i % 2;
                dt_cast(DT_FLOAT64, (dt_dtype)from, start, in, n);
                dt_cast((dt_dtype)from, (dt_dtype)to, in, out, n);
                dt_cast((dt_dtype)to, DT_FLOAT64, out, direct, n);
                dt_cast((dt_dtype)from, DT_FLOAT64, in, wide, n);
                dt_cast(DT_FLOAT64, DT_FLOAT64, wide, back, n);
                assert_memory_equal(direct, start, sizeof *start * (size_t)n);
                assert_memory_equal(back, start, sizeof *start * (size_t)n);
            }
}

/* float32 arithmetic, product and sum rounded one after the other. */
static void test_rescale_rounds_twice(void **state) {
    (void)state;
    uint8_t in[256];
    float out[256];
    const float scale = 0.00392156862745098F, offset = -0.5F;
    for (int i = 0; i < 256; i++) in[i] = (uint8_t)i;
    dt_rescale(DT_UINT8, scale, offset, in, out, 256);
    for (int i = 0; i < 256; i++) {
        volatile float product = (float)i * scale;
        assert_true(out[i] == product + offset);
    }
}

/* ---- plans ---- */

typedef struct plan_case {
    const char *steps;
    dt_dtype in;
    const char *type; /* after the steps, of examples (3) */
    double expected[9];
} plan_case;

static const plan_case plans[] = {
    {"[]", DT_INT32, "i32[3]", {1, 0, 2}},
    {"[cast: float32]", DT_UINT8, "f32[3]", {1, 0, 2}},
    {"[cast: {dtype: int64}]", DT_UINT8, "i64[3]", {1, 0, 2}},
    {"[rescale]", DT_UINT8, "f32[3]", {1, 0, 2}},
    {"[rescale: {scale: 0.5}]", DT_UINT8, "f32[3]", {0.5, 0, 1}},
    {"[cast: float32, rescale: {scale: 0.5, offset: 1}]", DT_UINT8, "f32[3]", {1.5, 1, 2}},
    {"[cast: float64, rescale: {scale: 0.5, offset: 1}]", DT_INT16, "f32[3]", {1.5, 1, 2}},
    {"[cast: bool, rescale: {offset: -1}]", DT_INT8, "f32[3]", {0, -1, 0}},
    {"[rescale: {scale: 2}, cast: int8, cast: int32]", DT_FLOAT32, "i32[3]", {2, 0, 4}},
    {"[one_hot: 3]", DT_INT64, "f32[3,3]", {0, 1, 0, 1, 0, 0, 0, 0, 1}},
    {"[cast: uint8, one_hot: {num_classes: 3}, rescale: {scale: 2}]",
     DT_FLOAT64,
     "f32[3,3]",
     {0, 2, 0, 2, 0, 0, 0, 0, 2}},
};

static const dt_map_plan *make_plan(dt_arena *arena, const char *steps, const dt_type *in) {
    const char *names[1] = {"x"};
    const dt_map *m;
    const dt_map_plan *p;
    dt_tree *tree;
    dt_source *source = dt_arena_new(arena, dt_source);
    *source = (dt_source){.name = "map", .text = dt_arena_printf(arena, "{x: %s}", steps)};
    source->size = strlen(source->text);
    OK(dt_tree_parse(arena, source, &tree));
    OK(dt_map_read(arena, tree, &(dt_texts){.n = 1, .v = names}, &m));
    OK(dt_map_plan_make(
        arena,
        &(dt_map_request){.map = m,
                          .stored = &(dt_element_spec){.name = "x", .type = *in, .file = "x.npy"}},
        &p));
    return p;
}

static void test_plans(void **state) {
    (void)state;
    const double start[3] = {1, 0, 2};
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        const plan_case *c = &plans[i];
        dt_arena *arena = dt_arena_create();
        dt_type in = dt_type_of(c->in, 1, (int64_t[]){3});
        const dt_map_plan *p = make_plan(arena, c->steps, &in);
        const dt_type *t = dt_map_plan_type(p);
        dt_str text = {0};
        dt_type_print(t, &text);
        assert_string_equal(dt_str_text(&text), c->type);
        dt_str_release(&text);
        char from[24];
        void *out = dt_try_alloc(256), *scratch = dt_try_alloc((size_t)dt_map_plan_scratch(p) + 1);
        double got[9];
        dt_cast(DT_FLOAT64, c->in, start, from, 3);
        assert_null(dt_map_run(p, &(dt_map_at){0}, from, out, scratch));
        dt_cast(t->dtype, DT_FLOAT64, out, got, dt_type_elements(t));
        for (int k = 0; k < dt_type_elements(t); k++)
            if (got[k] != c->expected[k]) fail_msg("%s: value %d is %g", c->steps, k, got[k]);
        free(out);
        free(scratch);
        dt_arena_destroy(arena);
    }
}

/* A cast before a rescale is left out only when it changes nothing. */
static void test_narrowing_cast_before_rescale_counts(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    dt_type in = dt_type_of(DT_FLOAT32, 1, (int64_t[]){2});
    const dt_map_plan *p = make_plan(arena, "[cast: uint8, rescale: {scale: 2}]", &in);
    const float x[2] = {1.75F, 300};
    float out[2];
    void *scratch = dt_try_alloc((size_t)dt_map_plan_scratch(p));
    assert_null(dt_map_run(p, &(dt_map_at){0}, x, out, scratch));
    assert_true(out[0] == 2 && out[1] == 510);
    free(scratch);
    dt_arena_destroy(arena);
}

static void test_limits_of_one_hot(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    dt_type in = dt_scalar_type(DT_FLOAT32);
    const dt_map_limit *limits;
    const dt_map_plan *p = make_plan(arena, "[cast: int32, one_hot: 7, rescale: {scale: 2}]", &in);
    assert_int_equal(dt_map_plan_limits(p, &limits), 1);
    assert_int_equal(limits[0].classes, 7);
    assert_int_equal(dt_map_plan_type(limits[0].before)->dtype, DT_INT32);
    dt_arena_destroy(arena);
}

static void test_too_many_dimensions(void **state) {
    (void)state;
    dt_dataset *d = NULL;
    write_idx("x.idx", 8, (uint32_t[]){2, 1, 1, 1, 1, 1, 1, 1});
    expect_fault("rank",
                 dt_dataset_open(&d, "{format: idx, train: {x: " HERE
                                     "/x.idx}, map: {x: [one_hot: 2]}, global_batch_size: 2}"),
                 DT_E_DATA_SHAPE, 65,
                 "one_hot produces 8 dimensions plus the batch; at most 8 in all");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floats_are_cut_and_saturate),
        cmocka_unit_test(test_integers_wrap),
        cmocka_unit_test(test_all_pairs_and_lengths),
        cmocka_unit_test(test_rescale_rounds_twice),
        cmocka_unit_test(test_plans),
        cmocka_unit_test(test_narrowing_cast_before_rescale_counts),
        cmocka_unit_test(test_limits_of_one_hot),
        cmocka_unit_test(test_too_many_dimensions),
    };
    return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
