/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes with their units: what is read, and what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/size.h"

static void test_sizes(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t bytes; /* 0: no size */
    } rows[] = {
        {"1", 1},
        {"1B", 1},
        {"17179869184", 17179869184},
        {"16GiB", 17179869184},
        {"1.5 MiB", 1572864},
        {"0.5KiB", 512},
        {"2TiB", 2199023255552},
        {"", 0},
        {"0", 0},
        {"0.5", 0},
        {"-1", 0},
        {"GiB", 0},
        {"1GB", 0},
        {"1gib", 0},
        {"1  KiB", 0},
        {"1 ", 0},
        {"1KiB ", 0},
        {"nan", 0},
        {"0x10", 0},
        {"1e3", 0},
        {"1.2.3", 0},
        {"4194304TiB", 0},
        {"99999999999999999999999999999999999999", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t bytes = 0;
        if (dt_parse_bytes(rows[i].text, &bytes) != (rows[i].bytes != 0) || bytes != rows[i].bytes)
            fail_msg("'%s': %lld, not %lld", rows[i].text, (long long)bytes,
                     (long long)rows[i].bytes);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sizes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
