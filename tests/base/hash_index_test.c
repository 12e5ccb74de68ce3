/* SPDX-License-Identifier: Apache-2.0 */
/* Places against a list that is gone through, hashes that collide included. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/hash_index.h"

static void test_finds_what_a_walk_finds(void **state) {
    enum { N = 3000, VALUES = 700 };
    int value[N];
    dt_hash_index p = {0};
    (void)state;
    assert_int_equal(dt_hash_index_first(&p, 5), -1);
    for (int i = 0; i < N; i++) {
        value[i] = (int)((unsigned)i * 2654435761u % VALUES);
        dt_hash_index_add(&p, (uint64_t)value[i] % 300 << 40);
    }
    for (int v = 0; v < VALUES; v++) {
        int last = N;
        for (int i = dt_hash_index_first(&p, (uint64_t)v % 300 << 40); i >= 0;
             i = dt_hash_index_next(&p, i)) {
            assert_true(i < last && value[i] % 300 == v % 300);
            for (int k = i + 1; k < last; k++) assert_true(value[k] % 300 != v % 300);
            last = i;
        }
        for (int k = 0; k < last; k++) assert_true(value[k] % 300 != v % 300);
    }
    dt_hash_index_release(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_finds_what_a_walk_finds)};
    return cmocka_run_group_tests_name("base/places", tests, NULL, NULL);
}
