/* SPDX-License-Identifier: Apache-2.0 */
/* An error that waits for the next call: one a thread, the first of several. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <string.h>

#include "base/status.h"

static void test_first_error_waits_until_it_is_taken(void **state) {
    (void)state;
    assert_null(dt_status_kept());
    dt_status_keep(NULL);
    assert_null(dt_status_kept());
    dt_status_keep(dt_fail(DT_E_SCOPE, NULL, "first"));
    dt_status_keep(dt_fail(DT_E_SCOPE, NULL, "second"));
    dt_status_keep(NULL);
    dt_status *s = dt_status_kept();
    assert_string_equal(dt_status_text(s), "first");
    dt_status_free(s);
    assert_null(dt_status_kept());
}

static void *take(void *user) {
    *(dt_status **)user = dt_status_kept();
    return NULL;
}

static void test_threads_have_errors_of_their_own(void **state) {
    (void)state;
    dt_status *elsewhere = NULL, *here;
    pthread_t thread;

    dt_status_keep(dt_fail(DT_E_SCOPE, NULL, "here"));
    assert_int_equal(pthread_create(&thread, NULL, take, &elsewhere), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    here = dt_status_kept();
    assert_null(elsewhere);
    assert_non_null(here);
    dt_status_free(here);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_error_waits_until_it_is_taken),
        cmocka_unit_test(test_threads_have_errors_of_their_own),
    };
    return cmocka_run_group_tests_name("kept", tests, NULL, NULL);
}
