/* SPDX-License-Identifier: Apache-2.0 */
/* Initialisers: the spread Keras' formulas give, pure functions of (seed, path, element), and
 * values that must not change. */
#include "rig.h"

typedef struct drawn {
    dt_variable *v;
    dt_arena *arena;
} drawn;

static drawn draw(const char *initializer, int rank, const int64_t *dim, uint64_t seed,
                  const char *path) {
    drawn d = {.arena = dt_arena_create()};
    dt_named named;
    dt_type type = dt_type_of(DT_FLOAT32, rank, dim);
    ok(dt_initializer_read(d.arena, parse(d.arena, "initializer", initializer), "zeros", &named));
    ok(dt_variable_alloc(&d.v, path, &type, true));
    dt_initialize(&named, seed, 0, d.v);
    return d;
}

static void release(drawn *d) {
    dt_variable_unref(d->v);
    dt_arena_destroy(d->arena);
}

static double value(const drawn *d, int64_t i) {
    return (double)((const float *)d->v->host_data)[i];
}

/* Mean, deviation and the largest size of all elements. */
static void measure(const drawn *d, double *mean, double *deviation, double *largest) {
    int64_t n = dt_type_elements(&d->v->type);
    double sum = 0, squares = 0;
    *largest = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += value(d, i);
        squares += value(d, i) * value(d, i);
        *largest = fmax(*largest, fabs(value(d, i)));
    }
    *mean = sum / (double)n;
    *deviation = sqrt(squares / (double)n - *mean * *mean);
}

/* Limits are kept by every draw; deviations are reached within six of their own errors. */
static void assert_formula(const json_t *c) {
    const json_t *in = json_object_get(c, "in"), *out = json_object_get(c, "out"),
                 *shape = json_object_get(in, "shape");
    int64_t dim[2] = {json_integer_value(json_array_get(shape, 0)),
                      json_integer_value(json_array_get(shape, 1))};
    drawn d = draw(text_of(in, "class"), 2, dim, 1, "dense/kernel");
    double mean, deviation, largest, n = (double)(dim[0] * dim[1]);
    measure(&d, &mean, &deviation, &largest);
    const json_t *limit = json_object_get(out, "limit");
    double bound = number_of(limit ? limit : json_object_get(out, "cut_at"));
    double target = limit ? bound / sqrt(3) : number_of(json_object_get(out, "target_stddev"));
    assert_true(largest <= bound * (1 + 1e-7));
    assert_true(largest > bound * (n > 10000 ? 0.999 : 0.8));
    assert_near(text_of(c, "id"), deviation, target, 6 / sqrt(2 * n), 0);
    assert_near(text_of(c, "id"), mean, 0, 0, 6 * target / sqrt(n));
    release(&d);
}

static void assert_values(const json_t *c) {
    const json_t *in = json_object_get(c, "in"),
                 *ought = json_object_get(json_object_get(c, "out"), "value");
    dt_view v = view_of(ought);
    drawn d = draw(text_of(in, "class"), v.type.rank, v.type.dim, 1, "x");
    dt_view is = {d.v->type, d.v->host_data};
    assert_view(text_of(c, "id"), &is, ought, 0, 0);
    free(v.data);
    release(&d);
}

static void test_initializers_are_those_recorded(void **state) {
    (void)state;
    int n;
    const dt_kind *const *rows = dt_initializers(&n);
    json_t *file, *cases = golden("initializers", &file), *c;
    tally t = {0};
    size_t i;
    json_array_foreach(cases, i, c) {
        const char *class_name = text_of(json_object_get(c, "in"), "class"), *op = text_of(c, "op");
        bool formula = strcmp(op, "initializer_formula") == 0;
        if (!is_known(rows, n, class_name) || strcmp(op, "initializer_defaults") == 0 ||
            json_object_get(c, "error")) {
            tally_skip(&t, class_name);
            continue;
        }
        if (formula) assert_formula(c);
        else assert_values(c);
        t.run++;
    }
    tally_end(&t, "initializers");
    json_decref(file);
}

static void test_both_spellings_and_arguments(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double first;
    } rows[] = {
        {"zeros", 0},
        {"Ones", 1},
        {"{Constant: {value: -2.5}}", -2.5},
        {"constant", 0},
        {"{RandomUniform: {minval: 3, maxval: 3}}", 3},
        {"{RandomNormal: {mean: 4, stddev: 0}}", 4},
    };
    int64_t dim[] = {3};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        drawn d = draw(rows[i].text, 1, dim, 0, "x");
        assert_true(value(&d, 0) == rows[i].first && value(&d, 2) == rows[i].first);
        release(&d);
    }
}

/* An element depends on (seed, path, element) alone: more elements, in other chunks, change
 * none. */
static void test_elements_do_not_depend_on_each_other(void **state) {
    (void)state;
    static const char *const names[] = {"random_uniform", "random_normal", "truncated_normal"};
    int64_t some[] = {5}, many[] = {5000};
    for (int k = 0; k < 3; k++) {
        drawn a = draw(names[k], 1, some, 7, "dense/kernel"),
              b = draw(names[k], 1, many, 7, "dense/kernel");
        drawn c = draw(names[k], 1, some, 8, "dense/kernel"),
              d = draw(names[k], 1, some, 7, "dense_1/kernel");
        for (int i = 0; i < 5; i++) {
            assert_true(value(&a, i) == value(&b, i));
            assert_true(value(&a, i) != value(&c, i));
            assert_true(value(&a, i) != value(&d, i));
        }
        drawn *all[] = {&a, &b, &c, &d};
        for (int i = 0; i < 4; i++) release(all[i]);
    }
}

/* These bits are part of every recorded run: a change here changes all trained weights. */
static void test_values_do_not_change(void **state) {
    (void)state;
    static const struct {
        const char *name;
        float first[3];
    } rows[] = {
        {"glorot_uniform", {0.0337733366f, -0.077705957f, -0.0347911641f}},
        {"he_normal", {0.0314723514f, -0.0272185914f, -0.0325271226f}},
    };
    int64_t dim[] = {784, 128};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        drawn d = draw(rows[k].name, 2, dim, 42, "dense/kernel");
        for (int i = 0; i < 3; i++)
            if (((const float *)d.v->host_data)[i] != rows[k].first[i])
                fail_msg("%s[%d] is %.9g", rows[k].name, i, value(&d, i));
        release(&d);
    }
}

static void test_convolution_kernels_count_their_field(void **state) {
    (void)state;
    int64_t dim[] = {3, 3, 16, 32}; /* fans 144 and 288 */
    drawn d = draw("glorot_uniform", 4, dim, 1, "conv2d/kernel");
    double mean, deviation, largest, limit = sqrt(6.0 / (144 + 288));
    measure(&d, &mean, &deviation, &largest);
    assert_true(largest <= limit && largest > 0.99 * limit);
    release(&d);
}

/* Rows or columns, whichever are fewer, are of length 1 and at right angles; more dimensions count
 * as rows. */
static void test_orthogonal(void **state) {
    (void)state;
    static const int64_t shapes[][3] = {{6, 1, 4}, {3, 1, 7}, {2, 3, 5}, {1, 1, 1}};
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        drawn d = draw("orthogonal", 3, shapes[k], 3, "x");
        int64_t columns = shapes[k][2], rows = shapes[k][0] * shapes[k][1];
        bool tall = rows >= columns;
        int64_t count = tall ? columns : rows, length = tall ? rows : columns;
        for (int64_t i = 0; i < count; i++)
            for (int64_t j = 0; j <= i; j++) {
                double product = 0;
                for (int64_t n = 0; n < length; n++)
                    product += value(&d, tall ? n * columns + i : i * columns + n) *
                               value(&d, tall ? n * columns + j : j * columns + n);
                assert_near("orthogonal", product, i == j, 0, 1e-6);
            }
        release(&d);
    }
}

static void test_bad_initializers_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *fault, *suggestion;
    } rows[] = {
        {"he_norml", "unknown initializer 'he_norml'", "did you mean 'he_normal'?"},
        {"{GlorotUniform: {seed: -3}}", "seed must be at least 0, got -3", NULL},
        {"{GlorotUniform: {input_axes: [0]}}",
         "key 'input_axes' in GlorotUniform is not implemented yet", "leave it out"},
        {"{RandomNormal: {stddev: -1}}", "stddev must be at least 0, got -1", NULL},
        {"{VarianceScaling: {scale: 0}}", "scale must be greater than 0, got 0", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_arena *arena = dt_arena_create();
        dt_named named;
        dt_status *s =
            dt_initializer_read(arena, parse(arena, "initializer", rows[i].text), "zeros", &named);
        assert_string_equal(dt_status_text(s), rows[i].fault);
        if (rows[i].suggestion) assert_string_equal(dt_status_suggestion(s), rows[i].suggestion);
        dt_status_free(s);
        dt_arena_destroy(arena);
    }
}

/* A seed of its own: neither the job's nor the weight's name counts. */
static void test_own_seed(void **state) {
    (void)state;
    static const char *const kinds[] = {"RandomNormal",    "RandomUniform", "TruncatedNormal",
                                        "VarianceScaling", "GlorotUniform", "he_normal",
                                        "Orthogonal"};
    const int64_t dim[] = {4, 3};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        char own[64], other[64];
        snprintf(own, sizeof own, "{%s: {seed: 3}}", kinds[k]);
        snprintf(other, sizeof other, "{%s: {seed: 4}}", kinds[k]);
        drawn a = draw(own, 2, dim, 1, "a/kernel"), b = draw(own, 2, dim, 2, "b/kernel"),
              c = draw(other, 2, dim, 1, "a/kernel");
        assert_memory_equal(a.v->host_data, b.v->host_data, sizeof(float[12]));
        assert_memory_not_equal(a.v->host_data, c.v->host_data, sizeof(float[12]));
        release(&a);
        release(&b);
        release(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_initializers_are_those_recorded),
        cmocka_unit_test(test_both_spellings_and_arguments),
        cmocka_unit_test(test_elements_do_not_depend_on_each_other),
        cmocka_unit_test(test_values_do_not_change),
        cmocka_unit_test(test_convolution_kernels_count_their_field),
        cmocka_unit_test(test_orthogonal),
        cmocka_unit_test(test_own_seed),
        cmocka_unit_test(test_bad_initializers_are_refused),
    };
    return cmocka_run_group_tests_name("initializer", tests, NULL, NULL);
}
