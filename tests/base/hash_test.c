/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes against published values: SHA-256 from FIPS 180-2's examples, FNV-1a from its authors'
 * page; and the clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/hash.h"

static void test_sha256_of_published_messages(void **state) {
    (void)state;
    const struct {
        const char *text, *hex;
    } cases[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(dt_sha256_of(cases[i].text, strlen(cases[i].text)).hex, cases[i].hex);
}

static void test_sha256_in_pieces(void **state) {
    (void)state;
    char block[1000];
    memset(block, 'a', sizeof block);
    dt_sha256 *h = dt_sha256_create();
    for (int i = 0; i < 1000; i++) dt_sha256_add(h, block, sizeof block);
    dt_sha256_add(h, NULL, 0);
    assert_string_equal(dt_sha256_end(h).hex,
                        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void test_name_hash(void **state) {
    (void)state;
    assert_true(dt_name_hash("") == UINT64_C(0xcbf29ce484222325));
    assert_true(dt_name_hash("a") == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(dt_name_hash("foobar") == UINT64_C(0x85944171f73967e8));
}

static void test_clock_counts_nanoseconds(void **state) {
    (void)state;
    int64_t start = dt_now_ns();
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    assert_true(dt_now_ns() - start >= 2000000);
    assert_true(dt_seconds_since(start) >= 0.002);
    assert_true(dt_seconds_since(start) < 60);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sha256_of_published_messages),
        cmocka_unit_test(test_sha256_in_pieces),
        cmocka_unit_test(test_name_hash),
        cmocka_unit_test(test_clock_counts_nanoseconds),
    };
    return cmocka_run_group_tests_name("base/hash", tests, NULL, NULL);
}
