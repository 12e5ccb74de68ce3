/* SPDX-License-Identifier: Apache-2.0 */
/* Values of environment variables are replaced by what the user wrote. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/environment.h"

static void expect(const dt_pair *hidden, int n, const char *text, const char *shown) {
    char *got = dt_hidden_back(hidden, n, text);
    assert_string_equal(got, shown);
    free(got);
}

static void test_hidden_values(void **state) {
    (void)state;
    const dt_pair hidden[] = {{"${HOME}", "/home/me"}, {"${DATA}", "/home/me/data"}, {"${N}", "7"}};
    expect(hidden, 3, "/home/me/data/a, /home/me/b", "${DATA}/a, ${HOME}/b");
    expect(hidden, 3, "7 of 17", "${N} of 17");
    expect(hidden, 0, "/home/me", "/home/me");
    assert_null(dt_hidden_back(hidden, 3, NULL));
}

static void test_an_empty_value_is_nowhere(void **state) {
    (void)state;
    const dt_pair hidden[] = {{"${NONE}", ""}, {"${HOME}", "/home/me"}};
    expect(hidden, 2, "in /home/me - or not", "in ${HOME} - or not");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hidden_values),
        cmocka_unit_test(test_an_empty_value_is_nowhere),
    };
    return cmocka_run_group_tests_name("base/environment", tests, NULL, NULL);
}
