/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers: the published vectors of Philox, the distributions, and that permutations are
 * bijections. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

enum { SEED = 42, DRAWS = 400000 };

/* Random123 1.14, tests/kat_vectors, philox4x32 with 10 rounds. */
static void test_philox_gives_the_published_vectors(void **state) {
    (void)state;
    const struct {
        uint64_t key, c0, c1;
        uint32_t word[4];
    } cases[] = {
        {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {UINT64_MAX, UINT64_MAX, UINT64_MAX, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {UINT64_C(0x299f31d0a4093822),
         UINT64_C(0x85a308d3243f6a88),
         UINT64_C(0x0370734413198a2e),
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t word[4];
        dt_philox(cases[i].key, cases[i].c0, cases[i].c1, word);
        assert_memory_equal(word, cases[i].word, sizeof word);
    }
}

/* Seeds are in job files and checkpoints: the numbers they stand for may never change. These here
 * and the order below were worked out by a second implementation, in another language. */
static void test_streams_are_stable_and_apart(void **state) {
    (void)state;
    dt_random r = dt_random_stream(42, "init/dense/kernel", 0);
    const uint32_t expected[6] = {0x2a1b7bdc, 0x5aa8a31b, 0xb2e89858,
                                  0xfd4eef00, 0xea965472, 0xe0800c53};
    uint32_t got[6];
    for (int i = 0; i < 6; i++) got[i] = dt_random_u32(&r);
    assert_memory_equal(got, expected, sizeof got);
    const struct {
        uint64_t seed;
        const char *purpose;
        uint64_t stream;
    } others[] = {
        {43, "init/dense/kernel", 0}, {42, "init/dense/bias", 0}, {42, "init/dense/kernel", 1}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        dt_random o = dt_random_stream(others[i].seed, others[i].purpose, others[i].stream);
        int same = 0;
        for (int k = 0; k < 6; k++) same += dt_random_u32(&o) == got[k];
        assert_int_equal(same, 0);
    }
}

static void test_uniform_fills_its_range(void **state) {
    (void)state;
    dt_random r = dt_random_stream(SEED, "uniform", 0);
    double sum = 0, squares = 0;
    for (int i = 0; i < DRAWS; i++) {
        double x = dt_random_uniform(&r);
        assert_true(x >= 0 && x < 1);
        sum += x;
        squares += x * x;
    }
    double mean = sum / DRAWS;
    assert_true(fabs(mean - 0.5) < 5 * sqrt(1.0 / 12 / DRAWS)); /* five standard errors */
    assert_true(fabs(squares / DRAWS - mean * mean - 1.0 / 12) < 1e-3);
    dt_random least = {.word = {0, 0}, .used = 0},
              most = {.word = {UINT32_MAX, UINT32_MAX}, .used = 0};
    assert_true(dt_random_uniform(&least) == 0);
    assert_true(dt_random_uniform(&most) == 1 - 0x1p-53);
}

static double normal_probability(double x) { return 0.5 * erfc(-x / sqrt(2)); }

/* What a word is turned into has the word's own probability: so the whole distribution is right,
 * the tails included. */
static void assert_quantile(uint32_t low, uint32_t high) {
    dt_random r = {.word = {low, high}, .used = 0};
    double p = ((double)((low | (uint64_t)high << 32) >> 12) + 0.5) * 0x1p-52,
           x = dt_random_normal(&r);
    double tail = p < 0.5 ? p : 1 - p;
    assert_true(fabs(normal_probability(p < 0.5 ? x : -x) / tail - 1) < 1e-13);
}

static void test_normal_has_the_right_distribution(void **state) {
    (void)state;
    for (int bit = 0; bit < 32; bit++) { /* from the middle to one part in 2^52 */
        assert_quantile(0, 1u << bit);
        assert_quantile(1u << bit, 0);
        assert_quantile(0, ~(1u << bit));
        assert_quantile(~0u, UINT32_MAX >> bit);
        assert_quantile(UINT32_MAX >> bit, ~0u);
    }
    dt_random r = dt_random_stream(SEED, "normal", 0);
    double sum[4] = {0};
    for (int i = 0; i < DRAWS; i++) {
        double x = dt_random_normal(&r), power = 1;
        for (int k = 0; k < 4; k++) sum[k] += power *= x;
    }
    const double moments[4] = {0, 1, 0, 3}, variances[4] = {1, 2, 15, 96};
    for (int k = 0; k < 4; k++)
        assert_true(fabs(sum[k] / DRAWS - moments[k]) < 5 * sqrt(variances[k] / DRAWS));
}

static void test_below_is_even(void **state) {
    (void)state;
    static const uint64_t limits[] = {1, 2, 3, 10, 1000};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        static int count[1000];
        memset(count, 0, sizeof count);
        uint64_t n = limits[i];
        dt_random r = dt_random_stream(SEED, "below", n);
        for (int k = 0; k < DRAWS; k++) {
            uint64_t x = dt_random_below(&r, n);
            assert_true(x < n);
            count[x]++;
        }
        double expected = (double)DRAWS / (double)n, chi = 0;
        for (uint64_t x = 0; x < n; x++)
            chi += (count[x] - expected) * (count[x] - expected) / expected;
        double freedom = (double)(n - 1);
        assert_true(chi <= freedom + 5 * sqrt(2 * freedom));
    }
    /* 2^63 + 1 rejects nearly half of all words: without rejection small values would come twice as
     * often. */
    dt_random r = dt_random_stream(SEED, "below", 0);
    int low = 0;
    for (int k = 0; k < 10000; k++)
        low += dt_random_below(&r, (UINT64_C(1) << 63) + 1) < UINT64_C(1) << 62;
    assert_in_range(low, 4750, 5250);
}

static void test_permutation_is_a_bijection_for_every_size(void **state) {
    (void)state;
    static unsigned char seen[4096];
    for (uint64_t n = 1; n <= 4096; n++) {
        dt_permutation p = dt_permutation_make(n, "shuffle", n % 5, n);
        memset(seen, 0, n);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t at = dt_permutation_at(&p, i);
            assert_true(at < n && !seen[at]);
            seen[at] = 1;
        }
    }
}

static void test_large_permutations_do_not_repeat(void **state) {
    (void)state;
    const uint64_t n = 1000003;
    unsigned char *seen = calloc(n, 1);
    dt_permutation p = dt_permutation_make(SEED, "shuffle", 7, n);
    for (uint64_t i = 0; i < n; i++) seen[dt_permutation_at(&p, i)]++;
    for (uint64_t i = 0; i < n; i++) assert_int_equal(seen[i], 1);
    free(seen);
    dt_permutation largest = dt_permutation_make(SEED, "shuffle", 7, UINT64_MAX);
    assert_true(dt_permutation_at(&largest, UINT64_MAX - 1) < UINT64_MAX);
}

static void test_permutations_are_stable(void **state) {
    (void)state;
    const struct {
        uint64_t epoch, n, expected[10];
    } cases[] = {
        {0, 10, {2, 0, 3, 4, 6, 1, 8, 5, 7, 9}},
        {3, 60000, {55519, 45096, 38805, 2054, 4992, 57283, 56929, 11649, 48978, 41146}},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        dt_permutation p = dt_permutation_make(42, "shuffle", cases[k].epoch, cases[k].n);
        for (uint64_t i = 0; i < 10; i++)
            assert_int_equal(dt_permutation_at(&p, i), cases[k].expected[i]);
    }
}

/* Where element 0 goes, over many keys, is even for small sizes too; and it changes with each part
 * of the key. */
static void test_permutations_are_even_over_keys(void **state) {
    (void)state;
    static const uint64_t sizes[] = {2, 3, 5, 16, 100};
    enum { KEYS = 20000 };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        uint64_t n = sizes[s];
        int count[100] = {0};
        for (uint64_t epoch = 0; epoch < KEYS; epoch++) {
            dt_permutation p = dt_permutation_make(SEED, "shuffle", epoch, n);
            count[dt_permutation_at(&p, 0)]++;
        }
        double expected = (double)KEYS / (double)n, chi = 0;
        for (uint64_t i = 0; i < n; i++)
            chi += (count[i] - expected) * (count[i] - expected) / expected;
        assert_true(chi <= (double)(n - 1) + 5 * sqrt(2 * (double)(n - 1)));
    }
}

/* Lengths around what is drawn at once, and streams whose lower half runs over. */
static void test_many_at_a_time_are_those_drawn_one_by_one(void **state) {
    (void)state;
    static double many[3000];
    const dt_random r = dt_random_stream(SEED, "many", 0);
    const uint64_t first[] = {0, 7, UINT32_MAX - 500, UINT64_MAX - 100};
    const int n[] = {1, 2, 15, 16, 17, 1023, 1025, 3000};
    void (*const of_many[])(const dt_random *, uint64_t, int64_t, double *) = {dt_random_uniforms,
                                                                               dt_random_normals};
    double (*const of_one[])(dt_random *) = {dt_random_uniform, dt_random_normal};
    for (dt_isa isa = 0; isa < DT_ISAS; isa++) {
        if (!dt_isa_is_here(isa)) continue;
        assert_int_equal(setenv(DT_INSTRUCTIONS_ENV, dt_isa_name(isa), 1), 0);
        for (size_t k = 0; k < 2 * 4 * 8; k++) {
            uint64_t from = first[k / 8 % 4];
            of_many[k / 32](&r, from, n[k % 8], many);
            for (int i = 0; i < n[k % 8]; i++) {
                dt_random one = {.key = r.key, .counter = {0, from + (uint64_t)i}, .used = 4};
                double ought = of_one[k / 32](&one);
                assert_memory_equal(&many[i], &ought, sizeof ought);
            }
        }
    }
    unsetenv(DT_INSTRUCTIONS_ENV);
}

/* Words with any number of leading zeros or ones: all sizes of p and of 1 - p, which drawing meets
 * seldom. */
static void test_loops_agree_in_the_tails(void **state) {
    (void)state;
    enum { WORDS = 64 * 2 * 200 };
    static uint64_t word[WORDS];
    static double got[WORDS];
    dt_random r = dt_random_stream(SEED, "tails", 0);
    for (int i = 0; i < WORDS; i++) {
        uint64_t x = (uint64_t)dt_random_u32(&r) << 32;
        x = (x | dt_random_u32(&r)) >> i % 64;
        word[i] = i / 64 % 2 ? ~x : x;
    }
    for (dt_isa isa = 0; isa < DT_ISAS; isa++) {
        if (!dt_isa_is_here(isa)) continue;
        dt_random_loops_of(isa)->normal(word, WORDS, got);
        for (int i = 0; i < WORDS; i++) {
            dt_random one = {.word = {(uint32_t)word[i], (uint32_t)(word[i] >> 32)}, .used = 0};
            double ought = dt_random_normal(&one);
            if (!dt_random_is_far(word[i])) assert_memory_equal(&got[i], &ought, sizeof ought);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_at_a_time_are_those_drawn_one_by_one),
        cmocka_unit_test(test_loops_agree_in_the_tails),
        cmocka_unit_test(test_philox_gives_the_published_vectors),
        cmocka_unit_test(test_streams_are_stable_and_apart),
        cmocka_unit_test(test_uniform_fills_its_range),
        cmocka_unit_test(test_normal_has_the_right_distribution),
        cmocka_unit_test(test_below_is_even),
        cmocka_unit_test(test_permutation_is_a_bijection_for_every_size),
        cmocka_unit_test(test_large_permutations_do_not_repeat),
        cmocka_unit_test(test_permutations_are_stable),
        cmocka_unit_test(test_permutations_are_even_over_keys),
    };
    return cmocka_run_group_tests_name("base/random", tests, NULL, NULL);
}
