/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON writer: golden text, and jansson as the judge of whether it is JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <float.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/json.h"

static void test_nested_values(void **state) {
    (void)state;
    dt_str out = {0};
    dt_json j = {.out = &out};
    dt_json_open(&j, NULL, '{');
    dt_json_string(&j, "event", "epoch");
    dt_json_open(&j, "shape", '[');
    dt_json_int(&j, NULL, 28);
    dt_json_int(&j, NULL, -1);
    dt_json_open(&j, NULL, '[');
    dt_json_close(&j, ']');
    dt_json_close(&j, ']');
    dt_json_open(&j, "none", '{');
    dt_json_close(&j, '}');
    dt_json_double(&j, "loss", 0.1);
    dt_json_float(&j, "rate", 0.1f);
    dt_json_bool(&j, "ok", true);
    dt_json_bool(&j, "failed", false);
    dt_json_null(&j, "checkpoint");
    dt_json_string(&j, "dir", NULL);
    dt_json_close(&j, '}');
    assert_string_equal(out.data,
                        "{\"event\": \"epoch\", \"shape\": [28, -1, []], \"none\": {}, \"loss\": "
                        "0.1, \"rate\": 0.1, "
                        "\"ok\": true, \"failed\": false, \"checkpoint\": null, \"dir\": null}");
    dt_str_release(&out);
}

static void test_strings_survive_a_reader(void **state) {
    (void)state;
    char every[128];
    for (int i = 1; i < 128; i++) every[i - 1] = (char)i;
    every[127] = '\0';
    const char *const texts[] = {every, "", "\"\\/",
                                 "gr\xc3\xb6\xc3\x9f"
                                 "er \xf0\x9f\x98\x80",
                                 "line\nline"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        dt_str out = {0};
        dt_json j = {.out = &out};
        dt_json_open(&j, NULL, '{');
        dt_json_string(&j, texts[i], texts[i]);
        dt_json_close(&j, '}');
        json_t *read = json_loads(out.data, 0, NULL);
        assert_non_null(read);
        assert_string_equal(json_string_value(json_object_get(read, texts[i])), texts[i]);
        json_decref(read);
        dt_str_release(&out);
    }
}

static void test_bytes_that_are_not_text_become_valid_json(void **state) {
    (void)state;
    dt_str out = {0};
    dt_json j = {.out = &out};
    dt_json_string(&j, NULL,
                   "a\xff"
                   "b\xc3");
    assert_string_equal(out.data, "\"a\\ufffdb\\ufffd\"");
    dt_str_release(&out);
}

static void test_numbers_that_json_lacks_are_null(void **state) {
    (void)state;
    dt_str out = {0};
    dt_json j = {.out = &out};
    dt_json_open(&j, NULL, '[');
    dt_json_double(&j, NULL, (double)NAN);
    dt_json_double(&j, NULL, -(double)INFINITY);
    dt_json_float(&j, NULL, INFINITY);
    dt_json_double(&j, NULL, DBL_MAX);
    dt_json_double(&j, NULL, -0.0);
    dt_json_float(&j, NULL, -0.0F);
    dt_json_int(&j, NULL, INT64_MIN);
    dt_json_close(&j, ']');
    assert_string_equal(
        out.data, "[null, null, null, 1.7976931348623157e+308, -0.0, -0.0, -9223372036854775808]");
    dt_str_release(&out);
}

typedef struct members {
    int small;
    int64_t large;
    uint64_t seed;
    double seconds, none;
    const char *text, *missing;
    bool yes;
    double *list;
    const int64_t *counts;
    int n_list, n_counts;
} members;

static void put_twice(dt_json *j, const void *of) {
    const members *m = of;
    dt_json_int(j, "twice", 2 * m->large);
}

static void test_members_are_written_by_their_table(void **state) {
    (void)state;
    static const dt_json_member table[] = {
        DT_JSON(members, small),
        DT_JSON(members, large),
        DT_JSON_MORE(put_twice, "twice"),
        DT_JSON(members, seed),
        DT_JSON_AS("ms", members, seconds, .ticks = 1e6, .per = 1e3),
        DT_JSON(members, none),
        DT_JSON_AS("no number", members, none, .if_set = true),
        DT_JSON(members, text, .if_set = true),
        DT_JSON(members, missing),
        DT_JSON(members, yes),
        DT_JSON_AS("quoted", members, seed, .quoted = true),
        DT_JSON(members, list, .count = offsetof(members, n_list)),
        DT_JSON(members, counts, .count = offsetof(members, n_counts)),
        DT_JSON_AS("no text", members, missing, .if_set = true),
        {0},
    };
    double list[] = {0.5, (double)NAN};
    const int64_t counts[] = {7, 0, INT64_MAX};
    const members m = {-1,   INT64_MIN / 2, UINT64_MAX, 0.1234567891, 0, "a\"",
                       NULL, true,          list,       counts,       2, 3};
    for (int compact = 0; compact < 2; compact++) {
        dt_str out = {0};
        dt_json j = {.out = &out, .compact = compact};
        dt_json_open(&j, NULL, '{');
        dt_json_members(&j, table, &m);
        dt_json_close(&j, '}');
        assert_string_equal(
            dt_str_text(&out),
            compact ? "{\"small\":-1,\"large\":-4611686018427387904,\"twice\":-9223372036854775808,"
                      "\"seed\":18446744073709551615,\"ms\":123.457,\"none\":0,"
                      "\"text\":\"a\\\"\",\"missing\":null,\"yes\":true,"
                      "\"quoted\":\"18446744073709551615\",\"list\":[0.5,null],"
                      "\"counts\":[7,0,9223372036854775807]}"
                    : "{\"small\": -1, \"large\": -4611686018427387904, "
                      "\"twice\": -9223372036854775808, \"seed\": 18446744073709551615, "
                      "\"ms\": 123.457, \"none\": 0, \"text\": \"a\\\"\", \"missing\": null, "
                      "\"yes\": true, \"quoted\": \"18446744073709551615\", "
                      "\"list\": [0.5, null], \"counts\": [7, 0, 9223372036854775807]}");
        dt_str_release(&out);
    }
}

/* --json has always had these forms. */
static void test_compact_numbers_have_the_fewest_digits(void **state) {
    (void)state;
    static const struct {
        double x;
        const char *text;
    } rows[] = {{100000, "1e+05"},
                {0.1, "0.1"},
                {100, "1e+02"},
                {123456, "123456"},
                {1e-7, "1e-07"},
                {-0.0, "-0.0"},
                {1.0 / 3, "0.3333333333333333"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_str out = {0};
        dt_json j = {.out = &out, .compact = true};
        dt_json_double(&j, NULL, rows[i].x);
        assert_string_equal(dt_str_text(&out), rows[i].text);
        dt_str_release(&out);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nested_values),
        cmocka_unit_test(test_strings_survive_a_reader),
        cmocka_unit_test(test_bytes_that_are_not_text_become_valid_json),
        cmocka_unit_test(test_numbers_that_json_lacks_are_null),
        cmocka_unit_test(test_members_are_written_by_their_table),
        cmocka_unit_test(test_compact_numbers_have_the_fewest_digits),
    };
    return cmocka_run_group_tests_name("base/json", tests, NULL, NULL);
}
