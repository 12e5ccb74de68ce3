/* SPDX-License-Identifier: Apache-2.0 */
/* The elements that a checkpoint keeps: what is read is what was printed; what could not have been
 * is refused. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "train/train.h"

static dt_status *read(dt_arena *arena, const char *text, dt_dataset_spec *out) {
    const dt_saved c = {.path = (char *)(uintptr_t) "checkpoint", .state.elements = text};
    *out = (dt_dataset_spec){0};
    return dt_stored_read(&c, arena, out);
}

static void test_reads_what_is_printed(void **state) {
    static const char text[] =
        "{\"x\": {\"dtype\": \"uint8\", \"shape\": [3, 3, 1]}, \"kind\": {\"dtype\": \"int32\", "
        "\"shape\": [], \"vocabulary\": [\"iris\", \"\"]}, \"note\": {\"dtype\": \"string\", "
        "\"max_bytes\": 9}}";
    dt_arena *arena = dt_arena_create();
    dt_dataset_spec spec;
    (void)state;
    assert_null(read(arena, text, &spec));
    assert_int_equal(spec.n_stored, 3);
    const dt_element_spec *x = spec.stored;
    assert_string_equal(x[0].name, "x");
    assert_true(dt_type_equal(&x[0].type, &(dt_type){DT_UINT8, 3, {3, 3, 1}}));
    assert_true(dt_type_equal(&x[1].type, &(dt_type){DT_INT32, 0, {0}}));
    assert_int_equal(x[1].vocabulary.n, 2);
    assert_string_equal(x[1].vocabulary.v[0], "iris");
    assert_int_equal(x[1].numbers, 2);
    assert_true(x[2].text && x[2].type.dim[0] == 10);
    assert_null(read(arena, NULL, &spec)); /* of an older checkpoint */
    assert_int_equal(spec.n_stored, 0);
    dt_arena_destroy(arena);
}

static void test_refuses(void **state) {
    static const char *const texts[] = {
        "",
        "[]",
        "{\"x\": 1}",
        "{\"x\": {}}",
        "{\"x\": {\"dtype\": \"float32\"}}",
        "{\"x\": {\"dtype\": \"float16\", \"shape\": []}}",
        "{\"x\": {\"dtype\": \"int32\", \"shape\": 3}}",
        "{\"x\": {\"dtype\": \"int32\", \"shape\": [0]}}",
        "{\"x\": {\"dtype\": \"int32\", \"shape\": [-1]}}",
        "{\"x\": {\"dtype\": \"int32\", \"shape\": [1.5]}}",
        "{\"x\": {\"dtype\": \"int32\", \"shape\": [9999999999, 9999999999]}}",
        "{\"x\": {\"dtype\": \"int32\", \"shape\": [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]}}",
        "{\"x\": {\"dtype\": \"int32\", \"shape\": [], \"vocabulary\": [1]}}",
        "{\"x\": {\"dtype\": \"int32\", \"shape\": [], \"vocabulary\": \"a\"}}",
        "{\"x\": {\"dtype\": \"string\"}}",
        "{\"x\": {\"dtype\": \"string\", \"max_bytes\": 0}}",
        "{\"x\": {\"dtype\": \"string\", \"max_bytes\": 9999999999}}"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        dt_arena *arena = dt_arena_create();
        dt_dataset_spec spec;
        dt_status *s = read(arena, texts[i], &spec);
        if (dt_status_number(s) != DT_E_CHECKPOINT) fail_msg("%s is taken", texts[i]);
        assert_int_equal(dt_status_code(s), 65);
        dt_status_free(s);
        dt_arena_destroy(arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reads_what_is_printed),
                                       cmocka_unit_test(test_refuses)};
    return cmocka_run_group_tests_name("stored state", tests, NULL, NULL);
}
