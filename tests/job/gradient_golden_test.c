/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients of the first step of jobs in float32 against those in float64. record_gradients.py
 * takes them from JAX and writes tests/golden/gradients.json. The optimizer is SGD with momentum,
 * whose momentum behind the first step is the gradient, negated. No value may be farther from
 * float64 than 4 times the largest error that JAX's float32 has in its tensor. In small tensors
 * that error may be near 0 by chance, so it counts as at least 2 units in the last place of the
 * tensor's largest value (2.4e-7 of it).
 */
#define HERE "build/tmp/job-gradients"
#include <float.h>
#include <jansson.h>
#include <math.h>
#include <unistd.h>

#include "kit.h"

#include "format/format.h"

enum { MOST_OVERRIDES = 24, TIMES = 4 };

static json_t *recorded;

static const char *text_at(const json_t *x, const char *key) {
    return json_string_value(json_object_get(x, key));
}

static void note_checkpoint(const dt_event *e, void *user) {
    if (e->kind == DT_EVENT_END && e->checkpoint) snprintf(user, 512, "%s", e->checkpoint);
}

/* Each job has one batch. */
static void train_one_step(const json_t *c, const char *strict, char *checkpoint) {
    const json_t *from = json_object_get(c, "overrides");
    const char *overrides[MOST_OVERRIDES + 2] = {"output.dir=run", strict};
    dt_job_source source = {.path = text_at(c, "job"), .directory = HERE, .overrides = overrides};
    const dt_run_options options = {
        .threads = 2, .resume = DT_RESUME_NEVER, .event = note_checkpoint, .user = checkpoint};
    dt_job *job = NULL;

    assert_true(json_array_size(from) <= MOST_OVERRIDES);
    source.n_overrides = strict ? 2 : 1;
    for (size_t i = 0; i < json_array_size(from); i++)
        overrides[source.n_overrides++] = json_string_value(json_array_get(from, i));
    ok(dt_job_open(&job, &source));
    ok(dt_job_fit(job, &options));
    dt_job_unref(job);
}

static int64_t elements_of(const json_t *t) {
    int64_t n = 1;
    for (size_t i = 0; i < json_array_size(json_object_get(t, "shape")); i++)
        n *= json_integer_value(json_array_get(json_object_get(t, "shape"), i));
    return n;
}

static dt_type type_of(const json_t *t) {
    const json_t *shape = json_object_get(t, "shape");
    int64_t dim[DT_MAX_RANK] = {0};
    assert_in_range(json_array_size(shape), 0, DT_MAX_RANK);
    for (size_t i = 0; i < json_array_size(shape); i++)
        dim[i] = json_integer_value(json_array_get(shape, i));
    return dt_type_of(DT_FLOAT32, (int)json_array_size(shape), dim);
}

static void expect_gradient(const char *job, const json_t *t, const float *momentum) {
    const json_t *at = json_object_get(t, "at"), *value = json_object_get(t, "value");
    const double jax = json_number_value(json_object_get(t, "jax"));
    const double least = 2 * (double)FLT_EPSILON * json_number_value(json_object_get(t, "max"));
    assert_true(json_array_size(at) > 0 && json_array_size(at) == json_array_size(value));
    for (size_t i = 0; i < json_array_size(at); i++) {
        const int64_t k = json_integer_value(json_array_get(at, i));
        const double is = -(double)momentum[k];
        const double wanted = json_number_value(json_array_get(value, i));
        if (!(fabs(is - wanted) <= TIMES * fmax(jax, least)))
            fail_msg("%s: gradient of %s, element %lld: %.9g, wanted %.9g; JAX is within %.2g", job,
                     text_at(t, "name"), (long long)k, is, wanted, jax);
    }
}

/* Reads these tensors of a file that holds others, too. */
static void read_some(const char *path, const dt_arrays *a) {
    dt_held_file f = {.path = path, .some = true};
    ok(dt_file_open(path, &f.fd, &f.size));
    ok(dt_safetensors_read_held(&f, a, NULL));
    close(f.fd);
}

static void check_job(const json_t *c, const char *strict) {
    const json_t *tensors = json_object_get(c, "tensors");
    const size_t n = json_array_size(tensors);
    dt_named_view *array = calloc(n + 1, sizeof *array);
    char checkpoint[512] = "", path[1024];

    assert_true(n > 0);
    train_one_step(c, strict, checkpoint);
    for (size_t i = 0; i < n; i++) {
        const json_t *t = json_array_get(tensors, i);
        float *data = calloc((size_t)elements_of(t) + 1, sizeof *data);
        array[i] = (dt_named_view){text_at(t, "name"), type_of(t), data};
    }
    snprintf(path, sizeof path, "%s/optimizer.safetensors", checkpoint);
    read_some(path, &(dt_arrays){(int)n, array});
    for (size_t i = 0; i < n; i++) {
        expect_gradient(text_at(c, "name"), json_array_get(tensors, i), array[i].data);
        free(array[i].data);
    }
    free(array);
}

static void check_all(const char *strict) {
    const json_t *cases = json_object_get(recorded, "cases");
    assert_true(json_array_size(cases) > 0);
    for (size_t i = 0; i < json_array_size(cases); i++) check_job(json_array_get(cases, i), strict);
}

static void test_gradients_are_as_near_as_those_of_jax(void **state) {
    (void)state;
    check_all(NULL);
}

static void test_strict_gradients_are_as_near(void **state) {
    (void)state;
    check_all("reproducible={strict: true}");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients_are_as_near_as_those_of_jax),
        cmocka_unit_test(test_strict_gradients_are_as_near),
    };
    json_error_t error;
    recorded = json_load_file("tests/golden/gradients.json", 0, &error);
    if (!recorded) {
        fprintf(stderr, "tests/golden/gradients.json:%d: %s\n", error.line, error.text);
        return 1;
    }
    const int failed = cmocka_run_group_tests(tests, make_here, NULL);
    json_decref(recorded);
    return failed;
}
