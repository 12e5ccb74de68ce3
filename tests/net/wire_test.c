/* SPDX-License-Identifier: Apache-2.0 */
/* Tags as they cross the network: every one comes back as it was, and of changed, cut and random
 * bytes only those are read that say one thing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "net/wire.h"

static const dt_tag tags[] = {
    {.number = 0},
    {.number = UINT32_MAX,
     .collective = DT_COLLECTIVES - 1,
     .round = INT32_MAX - 1,
     .dtype = DT_BFLOAT16,
     .elements = INT64_MAX,
     .step = INT64_MAX},
    {.number = 7,
     .collective = DT_ALL_REDUCE,
     .round = 3,
     .dtype = DT_FLOAT32,
     .elements = 1000,
     .step = 12,
     .of = "dense/kernel"},
    {.number = 8,
     .collective = DT_ALL_GATHER,
     .dtype = DT_UINT8,
     .elements = 1,
     .of = "a name that has as many bytes as it may"},
};

static void test_tags_come_back(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        unsigned char bytes[DT_WIRE_BYTES];
        dt_tag back;
        uint64_t n = 0;
        dt_wire_write(bytes, &tags[i], UINT64_MAX - i);
        assert_true(dt_wire_read(&back, &n, bytes, sizeof bytes));
        assert_true(n == UINT64_MAX - i);
        assert_true(dt_tag_same(&back, &tags[i]));
    }
}

/* What is read can be compared and printed, and is written as the same bytes: there is one way to
 * say it. */
static void read_any(const unsigned char *bytes, size_t n) {
    dt_tag tag;
    uint64_t size = 0;
    unsigned char again[DT_WIRE_BYTES];
    if (!dt_wire_read(&tag, &size, bytes, n)) return;
    assert_true((int)tag.collective < DT_COLLECTIVES && tag.dtype <= DT_BFLOAT16 &&
                tag.round >= 0 && tag.elements >= 0 && tag.step >= 0);
    assert_true(memchr(tag.of, '\0', sizeof tag.of) != NULL);
    dt_wire_write(again, &tag, size);
    assert_int_equal(n, DT_WIRE_BYTES);
    assert_memory_equal(again, bytes, DT_WIRE_BYTES);
}

static void test_changed_bytes(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        for (int at = 0; at < DT_WIRE_BYTES; at++)
            for (int value = 0; value < 256; value++) {
                unsigned char bytes[DT_WIRE_BYTES + 1] = {0};
                dt_wire_write(bytes, &tags[i], 4000);
                bytes[at] = (unsigned char)value;
                read_any(bytes, DT_WIRE_BYTES);
                dt_tag tag;
                uint64_t size;
                assert_false(dt_wire_read(&tag, &size, bytes, (size_t)at));
                assert_false(dt_wire_read(&tag, &size, bytes, DT_WIRE_BYTES + 1));
            }
}

static void test_random_bytes(void **state) {
    (void)state;
    uint64_t x = 1;
    for (int i = 0; i < 200000; i++) {
        unsigned char bytes[DT_WIRE_BYTES];
        for (size_t k = 0; k < sizeof bytes; k++) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            /* zeros, so that some are read */
            bytes[k] = x >> 33 & 3 ? 0 : (unsigned char)(x >> 40);
        }
        read_any(bytes, sizeof bytes);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tags_come_back),
        cmocka_unit_test(test_changed_bytes),
        cmocka_unit_test(test_random_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
