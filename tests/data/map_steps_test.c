/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of `map` against values recorded from Keras and tf.image, and the rules that random ones
 * keep. */
#define HERE "build/tmp/data-map-steps"
#include "files.h"

#include "mapped.h"

/* ---- recorded values ---- */

/* Integers are equal, but for grey, where TensorFlow's sum of three products may be cut one lower;
 * floats are to a few units in the last place. */
static double tolerance(const char *id, dt_dtype d, double value) {
    return dt_dtype_is_float(d) ? 2e-6 * (1 + fabs(value)) : strstr(id, "grayscale") ? 1 : 0;
}

static void check_case(const json_t *c) {
    const char *id = json_string_value(json_object_get(c, "id"));
    const json_t *in = json_object_get(c, "in");
    dt_type from, to;
    double *x = read_tensor(json_object_get(in, "x"), &from),
           *y = read_tensor(json_object_get(json_object_get(c, "out"), "y"), &to);
    mapped m = open_map("x", json_string_value(json_object_get(in, "steps")), &from);
    int64_t n = dt_type_elements(&to);
    double *got = malloc((size_t)n * sizeof *got);
    void *stored = malloc((size_t)dt_type_bytes(&from));
    assert_true(got && stored);
    if (!dt_type_equal(dt_map_plan_type(m.plan), &to)) fail_msg("%s: another type", id);
    dt_cast(DT_FLOAT64, from.dtype, x, stored, dt_type_elements(&from));
    assert_null(dt_map_run(m.plan, &(dt_map_at){0}, stored, m.out, m.scratch));
    dt_cast(to.dtype, DT_FLOAT64, m.out, got, n);
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(got[i] - y[i]) <= tolerance(id, to.dtype, y[i])))
            fail_msg("%s: value %lld is %.9g, recorded %.9g", id, (long long)i, got[i], y[i]);
    close_map(&m);
    free(stored);
    free(got);
    free(x);
    free(y);
}

static void test_recorded(void **state) {
    (void)state;
    json_t *root = json_load_file("tests/data/map.json", 0, NULL),
           *cases = json_object_get(root, "cases");
    assert_true(json_array_size(cases) > 30);
    for (size_t i = 0; i < json_array_size(cases); i++) check_case(json_array_get(cases, i));
    json_decref(root);
}

/* ---- random steps ---- */

enum { ROWS = 6, COLUMNS = 5, CHANNELS = 3, PIXELS = ROWS * COLUMNS };
static const dt_type image = {.dtype = DT_UINT8, .rank = 3, .dim = {ROWS, COLUMNS, CHANNELS}};

static void fill_image(uint8_t x[PIXELS * CHANNELS]) {
    for (int i = 0; i < PIXELS * CHANNELS; i++) x[i] = (uint8_t)i;
}

static uint8_t *run_at(mapped *m, const dt_map_at *at) {
    uint8_t x[PIXELS * CHANNELS];
    fill_image(x);
    assert_null(dt_map_run(m->plan, at, x, m->out, m->scratch));
    return m->out;
}

/* Which way an image was mirrored: bit 0 across, bit 1 down. Its bytes must be that. */
static int flipped(const uint8_t *y) {
    int across = y[0] % (COLUMNS * CHANNELS) != 0, down = y[0] >= COLUMNS * CHANNELS;
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++)
            for (int k = 0; k < CHANNELS; k++) {
                int from = ((down ? ROWS - 1 - r : r) * COLUMNS + (across ? COLUMNS - 1 - c : c)) *
                               CHANNELS +
                           k;
                assert_int_equal(y[(r * COLUMNS + c) * CHANNELS + k], from);
            }
    return across | down << 1;
}

static void test_flips_are_even_and_independent(void **state) {
    (void)state;
    static const struct {
        const char *steps;
        int kinds;
    } cases[] = {{"[random_flip]", 4},
                 {"[random_flip: horizontal]", 2},
                 {"[random_flip: {mode: vertical}]", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mapped m = open_map("image", cases[i].steps, &image);
        int seen[4] = {0}, kinds = 0;
        for (int64_t e = 0; e < 4000; e++)
            seen[flipped(run_at(
                &m,
                &(dt_map_at){.seed = 11, .pass = e % 7, .example = e / 7, .training = true}))]++;
        for (int k = 0; k < 4; k++) {
            kinds += seen[k] > 0;
            /* six deviations */
            assert_true(seen[k] == 0 || abs(seen[k] - 4000 / cases[i].kinds) < 200);
        }
        assert_int_equal(kinds, cases[i].kinds);
        close_map(&m);
    }
}

static void test_crops_come_from_everywhere(void **state) {
    (void)state;
    mapped m = open_map("image", "[random_crop: [4, 2]]", &image);
    int seen[3 * 4] = {0};
    for (int64_t e = 0; e < 6000; e++) {
        const uint8_t *y = run_at(&m, &(dt_map_at){.seed = 3, .example = e, .training = true});
        int place = y[0] / CHANNELS, row = place / COLUMNS, column = place % COLUMNS;
        assert_true(row < 3 && column < 4);
        for (int r = 0; r < 4; r++)
            for (int c = 0; c < 2 * CHANNELS; c++)
                assert_int_equal(y[r * 2 * CHANNELS + c],
                                 ((row + r) * COLUMNS + column) * CHANNELS + c);
        seen[row * 4 + column]++;
    }
    for (int i = 0; i < 12; i++) assert_true(abs(seen[i] - 500) < 130);
    close_map(&m);
}

/* Outside of training nothing is drawn: the middle, and no flip. */
static void test_what_is_done_outside_of_training(void **state) {
    (void)state;
    mapped random = open_map("image", "[random_crop: [3, 2], random_flip]", &image),
           center = open_map("image", "[center_crop: [3, 2]]", &image);
    for (int64_t e = 0; e < 20; e++)
        assert_memory_equal(run_at(&random, &(dt_map_at){.seed = 4, .pass = e, .example = e}),
                            run_at(&center, &(dt_map_at){0}), 3 * 2 * CHANNELS);
    close_map(&random);
    close_map(&center);
}

/* How many of 64 draws differ. */
static int differences(mapped *a, mapped *b, dt_map_at at, dt_map_at other) {
    int n = 0;
    for (int64_t e = 0; e < 64; e++) {
        at.example = e;
        other.example = e;
        n += memcmp(run_at(a, &at), run_at(b, &other), 4 * 2 * CHANNELS) != 0;
    }
    return n;
}

static void test_what_a_draw_depends_on(void **state) {
    (void)state;
    const dt_map_at at = {.seed = 5, .pass = 2, .training = true};
    mapped a = open_map("image", "[random_crop: [4, 2]]", &image),
           same = open_map("image", "[random_crop: [4, 2]]", &image);
    mapped mask = open_map("mask", "[random_crop: [4, 2]]", &image),
           behind = open_map("image", "[random_flip: {seed: 1}, random_crop: [4, 2]]", &image);
    mapped own = open_map("image", "[random_crop: {height: 4, width: 2, seed: 9}]", &image);
    mapped own_mask = open_map("mask", "[random_crop: {height: 4, width: 2, seed: 9}]", &image);
    assert_int_equal(differences(&a, &same, at, at), 0);
    assert_true(differences(&a, &same, at, (dt_map_at){.seed = 6, .pass = 2, .training = true}) >
                40);
    assert_true(differences(&a, &same, at, (dt_map_at){.seed = 5, .pass = 3, .training = true}) >
                40);
    assert_true(differences(&a, &mask, at, at) > 40);
    assert_true(differences(&a, &behind, at, at) > 40);
    assert_true(differences(&a, &own, at, at) > 40);
    assert_int_equal(
        differences(&own, &own_mask, at, (dt_map_at){.seed = 6, .pass = 2, .training = true}), 0);
    mapped *all[] = {&a, &same, &mask, &behind, &own, &own_mask};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) close_map(all[i]);
}

/* ---- refusals ---- */

static void test_refusals(void **state) {
    (void)state;
    static const struct {
        const char *steps;
        dt_type in;
        int number, code;
        const char *text;
    } cases[] = {
        {"[resize: [3, 3]]",
         {.dtype = DT_UINT8, .rank = 1, .dim = {9}},
         DT_E_DATA_SHAPE,
         65,
         "x.npy: resize needs images, (rows, columns) or (rows, columns, channels), but examples "
         "have 1 dimension"},
        {"[random_crop: [7, 5]]",
         {.dtype = DT_UINT8, .rank = 3, .dim = {6, 5, 3}},
         DT_E_DATA_SHAPE,
         65,
         "random_crop to 7 x 5 of images of 6 x 5"},
        {"[resize: {height: 3}]", {.rank = 2, .dim = {6, 5}}, DT_E_MISSING_KEY, 78, "width"},
        {"[resize: [3, 3, 3]]", {.rank = 2, .dim = {6, 5}}, DT_E_WRONG_TYPE, 78, "resize"},
        {"[resize: [3, 3]]",
         {.dtype = DT_INT64, .rank = 2, .dim = {6, 5}},
         DT_E_DATA_TYPE,
         65,
         "resize needs integers of up to 32 bits or float32, got int64"},
        {"[grayscale]",
         {.dtype = DT_UINT8, .rank = 3, .dim = {6, 5, 4}},
         DT_E_DATA_SHAPE,
         65,
         "images of 3 channels"},
        {"[normalize: {mean: [1, 2], variance: 1}]",
         {.rank = 2, .dim = {6, 5}},
         DT_E_DATA_SHAPE,
         65,
         "'mean' has 2 numbers, examples have 5 features"},
        {"[normalize: {mean: 1}]",
         {.rank = 2, .dim = {6, 5}},
         DT_E_DATASET_KEYS,
         78,
         "either 'variance' or 'std'"},
        {"[normalize: {mean: 1, variance: 1, std: 1}]",
         {.rank = 2, .dim = {6, 5}},
         DT_E_DATASET_KEYS,
         78,
         "either 'variance' or 'std'"},
        {"[normalize: {mean: 1, variance: -1}]",
         {.rank = 2, .dim = {6, 5}},
         DT_E_RANGE,
         78,
         "variance"},
        {"[zero_padding: 1048576, zero_padding: 1048576]",
         {.dtype = DT_UINT8, .rank = 2, .dim = {6, 5}},
         DT_E_DATA_SHAPE,
         65,
         "zero_padding makes examples of more than 4294967296 bytes"},
        {"[zero_padding: [1, 2, 3]]",
         {.dtype = DT_UINT8, .rank = 2, .dim = {6, 5}},
         DT_E_DATASET_KEYS,
         78,
         "got 3 numbers"},
        {"[random_flp]",
         {.dtype = DT_UINT8, .rank = 2, .dim = {6, 5}},
         DT_E_UNKNOWN_NAME,
         78,
         "random_flp"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_arena *arena = dt_arena_create();
        const dt_map_plan *p;
        expect_fault(cases[i].steps, make_plan(arena, "x", cases[i].steps, &cases[i].in, &p),
                     cases[i].number, cases[i].code, cases[i].text);
        dt_arena_destroy(arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded),
        cmocka_unit_test(test_flips_are_even_and_independent),
        cmocka_unit_test(test_crops_come_from_everywhere),
        cmocka_unit_test(test_what_is_done_outside_of_training),
        cmocka_unit_test(test_what_a_draw_depends_on),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests_name("map_steps", tests, NULL, NULL);
}
