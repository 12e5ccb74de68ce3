/* SPDX-License-Identifier: Apache-2.0 */
/* Random changes of images against values recorded from Keras, and what is drawn for them. */
#define HERE "build/tmp/data-augment"
#include "files.h"
#include "mapped.h"

/* ---- recorded values ---- */

enum { MOST_OUTCOMES = 32, MOST_VALUES = 256 };

/* Whether the numbers are those recorded: within 1e-5 of the largest, and integers equal. */
static bool matches(const double *got, const double *y, int64_t n, dt_dtype dtype) {
    double largest = 1;
    for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(y[i]));
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(got[i] - y[i]) <= (dt_dtype_is_float(dtype) ? 1e-5 * largest : 0))) return false;
    return true;
}

typedef struct recorded {
    const char *id;
    dt_type from, to;
    int n, seen[MOST_OUTCOMES];
    double *outcome[MOST_OUTCOMES];
} recorded;

/* Runs the steps for one example; the result must be one of the outcomes. */
static void run_example(recorded *r, mapped *m, const void *stored, int64_t example) {
    const int64_t n = dt_type_elements(&r->to);
    double *got = malloc((size_t)n * sizeof *got);
    int k = 0;
    assert_non_null(got);
    assert_null(dt_map_run(m->plan, &(dt_map_at){.seed = 1, .example = example, .training = true},
                           stored, m->out, m->scratch));
    dt_cast(r->to.dtype, DT_FLOAT64, m->out, got, n);
    while (k < r->n && !matches(got, r->outcome[k], n, r->to.dtype)) k++;
    if (k == r->n) {
        for (int64_t i = 0; i < n; i++)
            if (!matches(&got[i], &r->outcome[0][i], 1, r->to.dtype))
                print_message("value %lld is %.9g, recorded %.9g\n", (long long)i, got[i],
                              r->outcome[0][i]);
        fail_msg("%s, example %lld: none of the outcomes", r->id, (long long)example);
    }
    r->seen[k]++;
    free(got);
}

static void check_case(const json_t *c) {
    const json_t *in = json_object_get(c, "in"), *out = json_object_get(c, "out");
    recorded r = {.id = json_string_value(json_object_get(c, "id")),
                  .n = (int)json_array_size(out)};
    double *x = read_tensor(json_object_get(in, "x"), &r.from);
    assert_in_range(r.n, 1, MOST_OUTCOMES);
    for (int k = 0; k < r.n; k++) r.outcome[k] = read_tensor(json_array_get(out, (size_t)k), &r.to);
    mapped m = open_map("x", json_string_value(json_object_get(in, "steps")), &r.from);
    if (!dt_type_equal(dt_map_plan_type(m.plan), &r.to)) fail_msg("%s: another type", r.id);
    void *stored = malloc((size_t)dt_type_bytes(&r.from));
    assert_non_null(stored);
    dt_cast(DT_FLOAT64, r.from.dtype, x, stored, dt_type_elements(&r.from));
    for (int64_t e = 0; e < 4 + 40 * (r.n - 1); e++) run_example(&r, &m, stored, e);
    for (int k = 0; k < r.n; k++) {
        /* a picture of one pixel is the same whichever way it was changed */
        bool twice = false;
        for (int j = 0; j < r.n; j++)
            twice |= j != k && r.seen[j] > 0 &&
                     matches(r.outcome[j], r.outcome[k], dt_type_elements(&r.to), DT_FLOAT32);
        if (r.seen[k] == 0 && !twice) fail_msg("%s: outcome %d never came", r.id, k);
    }
    for (int k = 0; k < r.n; k++) free(r.outcome[k]);
    close_map(&m);
    free(stored);
    free(x);
}

/* Runs the steps for the first examples of a job with seed 1, each combined with its partner. */
static void check_drawn(const json_t *c) {
    const json_t *in = json_object_get(c, "in"), *out = json_object_get(c, "drawn"),
                 *x = json_object_get(in, "x"), *partner = json_object_get(in, "partner");
    const size_t n = json_array_size(x);
    void *stored[MOST_OUTCOMES];
    dt_type from, to;
    assert_in_range(n, 1, MOST_OUTCOMES);
    for (size_t k = 0; k < n; k++) {
        double *v = read_tensor(json_array_get(x, k), &from);
        stored[k] = malloc((size_t)dt_type_bytes(&from));
        assert_non_null(stored[k]);
        dt_cast(DT_FLOAT64, from.dtype, v, stored[k], dt_type_elements(&from));
        free(v);
    }
    mapped m = open_map(json_string_value(json_object_get(in, "element")),
                        json_string_value(json_object_get(in, "steps")), &from);
    assert_true(json_array_size(out) > 0);
    for (size_t k = 0; k < json_array_size(out); k++) {
        const json_int_t other = json_integer_value(json_array_get(partner, k));
        double *y = read_tensor(json_array_get(out, k), &to), got[MOST_VALUES];
        const int64_t values = dt_type_elements(&to);
        assert_in_range(values, 1, MOST_VALUES);
        assert_true(dt_type_equal(dt_map_plan_type(m.plan), &to));
        assert_null(dt_map_run(m.plan,
                               &(dt_map_at){.seed = 1,
                                            .example = (int64_t)k,
                                            .training = true,
                                            .other = partner ? stored[other] : NULL,
                                            .other_example = other},
                               stored[k % n], m.out, m.scratch));
        dt_cast(to.dtype, DT_FLOAT64, m.out, got, values);
        if (!matches(got, y, values, to.dtype))
            fail_msg("%s: example %zu differs", json_string_value(json_object_get(c, "id")), k);
        free(y);
    }
    for (size_t k = 0; k < n; k++) free(stored[k]);
    close_map(&m);
}

static void test_recorded(void **state) {
    (void)state;
    json_t *root = json_load_file("tests/data/augment.json", 0, NULL),
           *cases = json_object_get(root, "cases");
    assert_true(json_array_size(cases) > 200);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *c = json_array_get(cases, i);
        (json_object_get(c, "drawn") ? check_drawn : check_case)(c);
    }
    json_decref(root);
}

/* ---- what is drawn ---- */

enum { DRAWS = 4000 };

static void run_training(mapped *m, int64_t example, const float *x) {
    assert_null(dt_map_run(m->plan,
                           &(dt_map_at){.seed = 2, .pass = 1, .example = example, .training = true},
                           x, m->out, m->scratch));
}

/* Draws are even over the interval that Keras documents: its ends are almost reached, and the mean
 * is its middle within six deviations. */
static void test_factors_are_even(void **state) {
    (void)state;
    static const dt_type image = {.dtype = DT_FLOAT32, .rank = 3, .dim = {1, 3, 1}};
    static const float x[3] = {40, 50, 60};
    static const struct {
        const char *steps;
        double low, high, scale;
    } cases[] = {
        /* value 0 of the output: 40 + 255 f, and 50 - 10 (1 + f) */
        {"[random_brightness: 0.1]", -0.1, 0.1, 255},
        {"[random_brightness: [0.05, 0.2]]", 0.05, 0.2, 255},
        {"[random_brightness: [0.2, 0.05]]", 0.05, 0.2, 255},
        {"[random_contrast: 0.4]", -0.4, 0.4, -10},
        {"[random_contrast: [0.2, 0.9]]", -0.2, 0.9, -10},
        {"[random_contrast: [0.9, 0.2]]", -0.2, 0.9, -10},
        {"[random_color_jitter: {brightness_factor: 0.1}]", -0.1, 0.1, 255},
        /* the values grow by 10 from column to column, of which there are 3 */
        {"[random_translation: {height_factor: 0, width_factor: [-0.3, -0.1]}]", -0.3, -0.1, -30},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mapped m = open_map("x", cases[i].steps, &image);
        double low = INFINITY, high = -INFINITY, sum = 0;
        const double width = cases[i].high - cases[i].low;
        for (int64_t e = 0; e < DRAWS; e++) {
            run_training(&m, e, x);
            const double f = (((const float *)m.out)[0] - 40) / cases[i].scale;
            low = fmin(low, f);
            high = fmax(high, f);
            sum += f;
        }
        if (low < cases[i].low - 1e-5 || high > cases[i].high + 1e-5 ||
            low > cases[i].low + 0.01 * width || high < cases[i].high - 0.01 * width)
            fail_msg("%s: drawn from [%g, %g]", cases[i].steps, low, high);
        if (fabs(sum / DRAWS - (cases[i].low + cases[i].high) / 2) > 6 * width / sqrt(12.0 * DRAWS))
            fail_msg("%s: mean %g", cases[i].steps, sum / DRAWS);
        close_map(&m);
    }
}

/* The probability is drawn from [0, f], so half of f is erased; noise has Keras' mean and deviation
 * before it is clipped, and differs between values and examples. */
static void test_erasing(void **state) {
    (void)state;
    enum { SIDE = 8, VALUES = SIDE * SIDE * 3 };
    static const dt_type image = {.dtype = DT_FLOAT32, .rank = 3, .dim = {SIDE, SIDE, 3}};
    float x[VALUES];
    int erased = 0, low = 0, equal = 0;
    for (int i = 0; i < VALUES; i++) x[i] = 7;
    mapped m =
        open_map("x", "[random_erasing: {factor: 0.8, scale: [1, 1], fill_value: 0}]", &image);
    for (int64_t e = 0; e < DRAWS; e++) {
        run_training(&m, e, x);
        erased += ((const float *)m.out)[0] == 0;
    }
    assert_true(abs(erased - DRAWS * 2 / 5) < 6 * 31);
    close_map(&m);
    m = open_map("x", "[random_erasing: {factor: [1, 1], scale: [1, 1]}]", &image);
    for (int64_t e = 0; e < 400; e++) {
        run_training(&m, e, x);
        const float *y = m.out;
        for (int i = 0; i < VALUES; i++) {
            assert_true(y[i] >= 0 && y[i] <= 255);
            low += y[i] == 0;
            equal += i > 0 && y[i] == y[i - 1] && y[i] > 0 && y[i] < 255;
        }
    }
    /* half of a normal distribution is below 0 */
    assert_true(abs(low - 400 * VALUES / 2) < 6 * 139);
    assert_true(equal < 10);
    close_map(&m);
}

static const char *const every[] = {
    "random_rotation: 0.2",
    "random_rotation: {factor: 0.2, interpolation: nearest, fill_mode: constant}",
    "random_zoom: [0.5, 0.5]",
    "random_translation: [0.5, 0.3]",
    "random_shear: [0.5, 0.3]",
    "random_brightness: 0.3",
    "random_contrast: 0.9",
    "random_saturation: 0.9",
    "random_hue: 0.9",
    "random_erasing",
    "rand_augment: {num_ops: 3, factor: 1}",
    "random_color_jitter: {brightness_factor: 0.1, saturation_factor: 0.8, hue_factor: 0.1}"};
enum { EVERY = sizeof every / sizeof *every };

static mapped open_step(const char *name, const char *step, const dt_type *type) {
    char steps[256];
    snprintf(steps, sizeof steps, "[%s]", step);
    return open_map(name, steps, type);
}

/* Outside of training values stay; in training they change. The same example is drawn the same
 * again, another pass is not. */
static void test_training_alone(void **state) {
    (void)state;
    static const dt_type image = {.dtype = DT_UINT8, .rank = 3, .dim = {5, 6, 3}};
    uint8_t x[90];
    double y[90], again[90];
    for (int i = 0; i < 90; i++) x[i] = (uint8_t)(i * 37);
    for (int k = 0; k < EVERY; k++) {
        mapped m = open_step("x", every[k], &image);
        const dt_type *type = dt_map_plan_type(m.plan);
        int changed = 0;
        for (int64_t e = 0; e < 20; e++) {
            dt_map_at at = {.seed = 3, .example = e};
            assert_null(dt_map_run(m.plan, &at, x, m.out, m.scratch));
            dt_cast(type->dtype, DT_FLOAT64, m.out, y, 90);
            for (int i = 0; i < 90; i++) assert_true(y[i] == x[i]);
            at.training = true;
            assert_null(dt_map_run(m.plan, &at, x, m.out, m.scratch));
            dt_cast(type->dtype, DT_FLOAT64, m.out, y, 90);
            assert_null(dt_map_run(m.plan, &at, x, m.out, m.scratch));
            dt_cast(type->dtype, DT_FLOAT64, m.out, again, 90);
            assert_memory_equal(y, again, sizeof y);
            at.pass = 1;
            assert_null(dt_map_run(m.plan, &at, x, m.out, m.scratch));
            dt_cast(type->dtype, DT_FLOAT64, m.out, again, 90);
            changed += memcmp(y, again, sizeof y) != 0;
        }
        if (changed < 8) fail_msg("%s: %d of 20 differ", every[k], changed);
        close_map(&m);
    }
}

/* The weight has the mean and the variance of Beta(a, a), and outside of training, where there is no
 * other example, values stay. Other steps run before and after, for both examples. */
static void test_weights(void **state) {
    (void)state;
    static const dt_type scalar = {.dtype = DT_FLOAT64};
    static const struct {
        const char *steps;
        double variance;
    } cases[] = {
        {"[mixup: 1]", 1.0 / 12},
        {"[rescale: {scale: 2}, cast: float64, mixup: 0.2, rescale: {scale: 0.5}]", 1 / (4 * 1.4)},
        {"[cutmix: [0.5, 0.5]]", 1.0 / 8}};
    const double x = 1, y = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mapped m = open_map("y", cases[i].steps, &scalar);
        double sum = 0, squares = 0;
        for (int64_t e = 0; e < DRAWS; e++) {
            dt_map_at at = {.seed = 2, .example = e, .training = true, .other = &y};
            assert_null(dt_map_run(m.plan, &at, &x, m.out, m.scratch));
            const double w = ((const float *)m.out)[0];
            assert_true(w >= 0 && w <= 1);
            sum += w;
            squares += (w - 0.5) * (w - 0.5);
        }
        if (fabs(sum / DRAWS - 0.5) > 6 * sqrt(cases[i].variance / DRAWS))
            fail_msg("%s: mean %g", cases[i].steps, sum / DRAWS);
        if (fabs(squares / DRAWS - cases[i].variance) > 0.05 * cases[i].variance)
            fail_msg("%s: variance %g", cases[i].steps, squares / DRAWS);
        assert_null(dt_map_run(m.plan, &(dt_map_at){0}, &x, m.out, m.scratch));
        assert_true(((const float *)m.out)[0] == 1);
        close_map(&m);
    }
}

/* A mask that is moved with its image: the same seed, and values of its own kind. */
static void test_masks_follow(void **state) {
    (void)state;
    static const dt_type image = {.dtype = DT_FLOAT32, .rank = 2, .dim = {9, 8}},
                         mask = {.dtype = DT_INT32, .rank = 2, .dim = {9, 8}};
    float x[72];
    int32_t labels[72];
    for (int i = 0; i < 72; i++) x[i] = (float)(labels[i] = i * 31 % 72);
    mapped a = open_step("image", "random_rotation: {factor: 0.5, seed: 4, interpolation: nearest}",
                         &image),
           b = open_step("mask", "random_rotation: {factor: 0.5, seed: 4, interpolation: nearest}",
                         &mask);
    for (int64_t e = 0; e < 50; e++) {
        const dt_map_at at = {.seed = (uint64_t)e, .example = e, .training = true};
        assert_null(dt_map_run(a.plan, &at, x, a.out, a.scratch));
        assert_null(dt_map_run(b.plan, &at, labels, b.out, b.scratch));
        for (int i = 0; i < 72; i++)
            assert_true(((const float *)a.out)[i] == (float)((const int32_t *)b.out)[i]);
    }
    close_map(&a);
    close_map(&b);
}

/* Every dtype and the smallest and most uneven sizes: numbers stay between the least and the
 * greatest of the image, or in the range, and nothing beyond the image is read or written. */
static void test_odd_sizes(void **state) {
    (void)state;
    static const int64_t sizes[][3] = {{1, 1, 3}, {1, 7, 3}, {7, 1, 3}, {2, 2, 3},
                                       {0, 3, 3}, {3, 0, 3}, {1, 64, 3}};
    for (int d = 0; d <= DT_FLOAT64; d++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (int k = 0; k < EVERY; k++) {
                const dt_type type = dt_type_of((dt_dtype)d, 3, sizes[i]);
                mapped m = open_step("x", every[k], &type);
                const int64_t n = dt_type_elements(&type);
                char *x = malloc((size_t)dt_type_bytes(&type) + 1);
                double v = 100, y[200];
                assert_non_null(x);
                for (int64_t j = 0; j < n; j++)
                    dt_cast(DT_FLOAT64, type.dtype, &v, x + j * (int64_t)dt_dtype_size(type.dtype),
                            1);
                for (int64_t e = 0; e < 10; e++) {
                    assert_null(dt_map_run(m.plan, &(dt_map_at){.example = e, .training = true}, x,
                                           m.out, m.scratch));
                    dt_cast(dt_map_plan_type(m.plan)->dtype, DT_FLOAT64, m.out, y, n);
                    for (int64_t j = 0; j < n; j++)
                        if (!(y[j] >= -1e-3 && y[j] <= 255.001))
                            fail_msg("%s of %s: %g", every[k], dt_dtype_name(type.dtype), y[j]);
                }
                free(x);
                close_map(&m);
            }
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
        {"[random_rotation]", {.rank = 2, .dim = {6, 5}}, DT_E_MISSING_KEY, 78, "factor"},
        {"[random_rotation: 1.5]", {.rank = 2, .dim = {6, 5}}, DT_E_RANGE, 78, "factor"},
        {"[random_rotation: [0.1]]",
         {.rank = 2, .dim = {6, 5}},
         DT_E_DATASET_KEYS,
         78,
         "a factor is a number, or the two between which it is drawn, got 1 "
         "number"},
        {"[random_rotation: [0, 0.1, 0.2]]",
         {.rank = 2, .dim = {6, 5}},
         DT_E_DATASET_KEYS,
         78,
         "got 3 numbers"},
        {"[random_rotation: []]", {.rank = 2, .dim = {6, 5}}, DT_E_RANGE, 78, "must not be empty"},
        {"[random_rotation: {factor: 0.1, fill_mode: mirror}]",
         {.rank = 2, .dim = {6, 5}},
         DT_E_UNKNOWN_NAME,
         78,
         "mirror"},
        {"[random_rotation: 0.1]",
         {.rank = 1, .dim = {6}},
         DT_E_DATA_SHAPE,
         65,
         "random_rotation needs images"},
        {"[random_zoom: -1]", {.rank = 2, .dim = {6, 5}}, DT_E_RANGE, 78, "height_factor"},
        {"[random_zoom: [0.1, -1]]", {.rank = 2, .dim = {6, 5}}, DT_E_RANGE, 78, "width_factor"},
        {"[random_shear: -0.1]", {.rank = 2, .dim = {6, 5}}, DT_E_RANGE, 78, "x_factor"},
        {"[random_hue: -0.1]", {.rank = 3, .dim = {6, 5, 3}}, DT_E_RANGE, 78, "factor"},
        {"[random_hue: 0.1]",
         {.rank = 3, .dim = {6, 5, 1}},
         DT_E_DATA_SHAPE,
         65,
         "random_hue needs images of 3 channels"},
        {"[random_saturation: 0.1]",
         {.rank = 2, .dim = {6, 5}},
         DT_E_DATA_SHAPE,
         65,
         "random_saturation needs images of 3 channels"},
        {"[random_color_jitter: {hue_factor: 0.1}]",
         {.rank = 2, .dim = {6, 5}},
         DT_E_DATA_SHAPE,
         65,
         "random_color_jitter needs images of 3 channels"},
        {"[random_brightness: {factor: 0.1, value_range: [1, 1]}]",
         {.rank = 2, .dim = {6, 5}},
         DT_E_DATASET_KEYS,
         78,
         "value_range is the lowest and the highest value"},
        {"[random_brightness: {factor: 0.1, value_range: 1}]",
         {.rank = 2, .dim = {6, 5}},
         DT_E_DATASET_KEYS,
         78,
         "value_range is the lowest and the highest value"},
        {"[random_hue: {factor: 0.1, value_range: [0, 1.0e-50]}]",
         {.rank = 3, .dim = {6, 5, 3}},
         DT_E_DATASET_KEYS,
         78,
         "value_range is the lowest and the highest value"},
        {"[random_brightness: {factor: 0.1, value_range: [-3.0e38, 3.0e38]}]",
         {.rank = 2, .dim = {6, 5}},
         DT_E_DATASET_KEYS,
         78,
         "value_range is the lowest and the highest value"},
        {"[random_erasing: {fill_value: [1, 2]}]",
         {.rank = 3, .dim = {6, 5, 3}},
         DT_E_DATA_SHAPE,
         65,
         "'fill_value' has 2 numbers, images have 3"},
        {"[rand_augment: {num_ops: 0}]",
         {.rank = 3, .dim = {6, 5, 3}},
         DT_E_RANGE,
         78,
         "num_ops must be in [1, 64]"},
        {"[rand_augment]",
         {.rank = 2, .dim = {6, 5}},
         DT_E_DATA_SHAPE,
         65,
         "rand_augment needs images of 3 channels"},
        {"[cutmix]", {.rank = 4, .dim = {6, 5, 3, 2}}, DT_E_DATA_SHAPE, 65, "cutmix needs images"},
        {"[cutmix: 1.5]", {.rank = 2, .dim = {6, 5}}, DT_E_RANGE, 78, "factor"},
        {"[mixup]", {.rank = 0, .dtype = DT_INT32}, DT_E_DATA_TYPE, 65, "cannot be mixed"},
        {"[mixup, cutmix]",
         {.rank = 2, .dim = {6, 5}},
         DT_E_DATASET_KEYS,
         78,
         "two steps that combine the examples of a batch: mixup and cutmix"},
        {"[random_contrast: .nan]", {.rank = 2, .dim = {6, 5}}, DT_E_RANGE, 78, "factor"},
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
        cmocka_unit_test(test_recorded),  cmocka_unit_test(test_factors_are_even),
        cmocka_unit_test(test_erasing),   cmocka_unit_test(test_training_alone),
        cmocka_unit_test(test_weights),   cmocka_unit_test(test_masks_follow),
        cmocka_unit_test(test_odd_sizes), cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests_name("augment", tests, NULL, NULL);
}
