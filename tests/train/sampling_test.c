/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling: the probabilities of tokens against those that NumPy recorded in
 * tests/train/sampling.json, and draws against the probabilities. */
#define HERE "build/tmp/sampling_test"
#include "golden_kit.h"
#include "train/generate.h"

enum { MOST = 64 };

static void check(const json_t *c, size_t number) {
    const json_t *scores = json_object_get(c, "score"), *shares = json_object_get(c, "share");
    const dt_sampling s = {.temperature = json_number_value(json_object_get(c, "temperature")),
                           .top_k = json_integer_value(json_object_get(c, "top_k")),
                           .top_p = json_number_value(json_object_get(c, "top_p"))};
    const int64_t n = (int64_t)json_array_size(scores);
    double score[MOST], share[MOST];
    int64_t best = 0;
    char id[32];
    snprintf(id, sizeof id, "case %zu", number);
    assert_in_range(n, 1, MOST);
    for (int64_t i = 0; i < n; i++) {
        const json_t *x = json_array_get(scores, (size_t)i);
        score[i] = json_is_string(x) ? -INFINITY : json_number_value(x);
        if (score[i] > score[best]) best = i;
    }
    dt_sampling_shares(&s, score, n, share);
    for (int64_t i = 0; i < n; i++) {
        near(id, "a probability", share[i], number_at(shares, i), 1e-12, 1e-300);
        assert_int_equal(share[i] > 0, number_at(shares, i) > 0);
    }
    near(id, "a log-probability", dt_sampling_log_probability(score, n, best),
         json_number_value(json_object_get(c, "log_probability")), 1e-12, 1e-12);
}

static void test_shares(void **state) {
    json_t *root = json_load_file("tests/train/sampling.json", 0, NULL), *c;
    size_t i;
    (void)state;
    assert_non_null(root);
    json_array_foreach(json_object_get(root, "cases"), i, c) check(c, i);
    assert_int_equal(i, 40);
    json_decref(root);
}

/* 100,000 draws of 5 tokens: 5 standard deviations are at most 0.8 %. */
static void test_draws(void **state) {
    enum { DRAWS = 100000, N = 5 };
    const double share[N] = {0.5, 0, 0.3, 0.2, 0};
    int64_t count[N] = {0};
    dt_random random = dt_random_stream(1, "test", 0);
    (void)state;
    for (int i = 0; i < DRAWS; i++) count[dt_sampling_draw(share, N, &random)]++;
    for (int i = 0; i < N; i++) {
        near("draws", "a frequency", (double)count[i] / DRAWS, share[i], 0, 0.008);
        assert_int_equal(count[i] > 0, share[i] > 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shares), cmocka_unit_test(test_draws)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
