/* SPDX-License-Identifier: Apache-2.0 */
/* SipHash-2-4 against the values that its authors published: key 00 01 ... 0f, text 00 01 ... of
 * each length. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/siphash.h"

static const struct {
    size_t n;
    uint64_t hash;
} rows[] = {
    {0, 0x726fdb47dd0e0e31u}, {1, 0x74f839c593dc67fdu}, {2, 0x0d6c8009d9a94f5au},
    {7, 0xab0200f58b01d137u}, {8, 0x93f5f5799a932462u}, {15, 0xa129ca6149be45e5u},
};

static void test_published(void **state) {
    unsigned char bytes[16];
    dt_siphash_key key;
    (void)state;
    for (int i = 0; i < 16; i++) bytes[i] = (unsigned char)i;
    key = (dt_siphash_key){{0x0706050403020100u, 0x0f0e0d0c0b0a0908u}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (dt_siphash(&key, bytes, rows[i].n) != rows[i].hash)
            fail_msg("%zu bytes: %016llx", rows[i].n,
                     (unsigned long long)dt_siphash(&key, bytes, rows[i].n));
}

static void test_process(void **state) {
    const dt_siphash_key a = dt_siphash_process_key(), b = dt_siphash_process_key();
    (void)state;
    assert_int_equal(a.word[0], b.word[0]);
    assert_int_equal(a.word[1], b.word[1]);
    assert_true(a.word[0] != 0 || a.word[1] != 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_published),
                                       cmocka_unit_test(test_process)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
