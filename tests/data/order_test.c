/* SPDX-License-Identifier: Apache-2.0 */
/* The order of examples in a job: every pass is a bijection, passes differ, any index can be asked
 * for at any time, and many at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "data/pipeline/build.h"
#include "order.h"

/* The data set of an epoch, over the numbers of n examples. */
static dt_dataset *chain_of(ordering o) {
    dt_dataset *d = NULL;
    assert_null(dt_dataset_range(&d, 0, o.n, 1));
    if (o.shuffle) assert_null(dt_dataset_add_shuffle(&d, d, o.seed, o.reshuffle));
    assert_null(dt_dataset_add_repeat(&d, d, o.repeat));
    return d;
}

static int64_t at(const dt_dataset *d, int64_t epoch, int64_t i) {
    dt_dataset_index(d, NULL, &(dt_indices){1, &i, &epoch});
    return i;
}

static void check_bijection(const dt_dataset *d, int64_t n, int64_t epoch, int64_t first) {
    char *seen = calloc(1, (size_t)n);
    assert_non_null(seen);
    for (int64_t i = 0; i < n; i++) {
        int64_t k = at(d, epoch, first + i);
        assert_in_range(k, 0, n - 1);
        assert_int_equal(seen[k]++, 0);
    }
    free(seen);
}

static void test_every_pass_is_a_bijection(void **state) {
    (void)state;
    static const int64_t sizes[] = {1, 2, 3, 5, 17, 64, 255, 256, 257, 1000, 10007};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        dt_dataset *d = chain_of((ordering){11, sizes[i], 2, true, true});
        for (int64_t epoch = 0; epoch < 3; epoch++) {
            check_bijection(d, sizes[i], epoch, 0);
            check_bijection(d, sizes[i], epoch, sizes[i]);
        }
        dt_dataset_unref(d);
    }
}

/* The positions of n examples, from `first` on, that differ in two epochs. */
typedef struct part {
    const dt_dataset *d;
    int64_t epoch, first;
} part;

static int64_t differences(part a, part b, int64_t n) {
    int64_t different = 0;
    for (int64_t i = 0; i < n; i++)
        different += at(a.d, a.epoch, a.first + i) != at(b.d, b.epoch, b.first + i);
    return different;
}

static void test_epochs_and_seeds_differ(void **state) {
    (void)state;
    dt_dataset *a = chain_of((ordering){1, 1000, 1, true, true}),
               *c = chain_of((ordering){2, 1000, 1, true, true});
    assert_in_range(differences((part){a, 0, 0}, (part){a, 1, 0}, 1000), 900, 1000);
    assert_in_range(differences((part){a, 0, 0}, (part){c, 0, 0}, 1000), 900, 1000);
    assert_int_equal(differences((part){a, 5, 0}, (part){a, 5, 0}, 1000), 0);
    dt_dataset_unref(a);
    dt_dataset_unref(c);
}

static void test_without_reshuffle_all_epochs_are_the_first(void **state) {
    (void)state;
    dt_dataset *a = chain_of((ordering){1, 1000, 2, true, false}),
               *b = chain_of((ordering){1, 1000, 1, true, true});
    assert_int_equal(differences((part){a, 7, 0}, (part){b, 0, 0}, 1000), 0);
    assert_int_equal(differences((part){a, 3, 0}, (part){a, 4, 1000}, 1000), 0);
    dt_dataset_unref(a);
    dt_dataset_unref(b);
}

static void test_without_shuffle_it_counts(void **state) {
    (void)state;
    dt_dataset *d = chain_of((ordering){1, 10, 3, false, true});
    for (int64_t i = 0; i < 30; i++) assert_int_equal(at(d, 2, i), i % 10);
    dt_dataset_unref(d);
}

/* Passes of `repeat` are numbered on through the epochs: none comes twice. */
static void test_repeated_passes_differ(void **state) {
    (void)state;
    dt_dataset *d = chain_of((ordering){1, 500, 2, true, true});
    assert_in_range(differences((part){d, 0, 0}, (part){d, 0, 500}, 500), 450, 500);
    assert_in_range(differences((part){d, 0, 500}, (part){d, 1, 0}, 500), 450, 500);
    dt_dataset_unref(d);
}

/* Any numbers at once, in any order, beside the definition. */
static void test_many_at_once(void **state) {
    (void)state;
    enum { N = 300, MANY = 2000 };
    int64_t example[MANY], pass[MANY];
    for (int k = 0; k < 4; k++) {
        const ordering o = {9, N, 2, k & 1, k & 2};
        dt_dataset *d = chain_of(o);
        for (int i = 0; i < MANY; i++) {
            example[i] = (int64_t)i * 389 % (2 * N);
            pass[i] = i * 7 % 3;
        }
        dt_dataset_index(d, NULL, &(dt_indices){MANY, example, pass});
        for (int i = 0; i < MANY; i++) {
            const int64_t position = (int64_t)i * 389 % (2 * N), epoch = i * 7 % 3;
            assert_int_equal(example[i], order_at(&o, epoch, position));
            assert_int_equal(pass[i], 2 * epoch + position / N);
        }
        dt_dataset_unref(d);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_pass_is_a_bijection),
        cmocka_unit_test(test_epochs_and_seeds_differ),
        cmocka_unit_test(test_without_reshuffle_all_epochs_are_the_first),
        cmocka_unit_test(test_without_shuffle_it_counts),
        cmocka_unit_test(test_repeated_passes_differ),
        cmocka_unit_test(test_many_at_once),
    };
    return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}
