/* SPDX-License-Identifier: Apache-2.0 */
/* The table of events: a line that was written is read back with the same values, and a damaged one
 * as far as it makes sense. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/events.h"
#include "file/json_read.h"

static char *print(const dt_json_member *table, const dt_event_line *l) {
    dt_str out = {0};
    dt_json j = {.out = &out};
    dt_json_open(&j, NULL, '{');
    dt_json_members(&j, table, l);
    dt_json_close(&j, '}');
    return dt_str_take(&out);
}

/* A value for each member, and no two equal ones. */
static void fill(const dt_json_member *table, dt_event_line *l, int64_t *list) {
    static const char *const texts[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"};
    int n = 0, n_texts = 0;
    for (const dt_json_member *m = table; m->key || m->put; m++) {
        void *at = (char *)l + m->offset;
        if (m->put) continue;
        switch (m->kind) {
        case DT_JSON_INT: *(int *)at = ++n; break;
        case DT_JSON_INT64: *(int64_t *)at = ++n; break;
        case DT_JSON_UINT64: *(uint64_t *)at = UINT64_MAX - (uint64_t)++n; break;
        case DT_JSON_DOUBLE: *(double *)at = 0.5 + ++n; break;
        case DT_JSON_BOOL: *(bool *)at = ++n % 2; break;
        case DT_JSON_TEXT: *(const char **)at = texts[n_texts++]; break;
        case DT_JSON_INT64S:
            *(const int64_t **)at = list;
            *(int *)((char *)l + m->count) = m->most;
            for (int i = 0; i < m->most; i++) list[i] = ++n;
            break;
        case DT_JSON_DOUBLES: fail();
        }
    }
}

static void test_lines_of_the_record_come_back(void **state) {
    (void)state;
    for (int i = 0; i < DT_LINES; i++) {
        int64_t list[DT_STALENESS_BINS], read[DT_STALENESS_BINS];
        dt_event_line l = {0}, again = {.event.staleness = read};
        const dt_json_member *table = dt_event_rows[i].record;
        assert_non_null(dt_event_rows[i].name);
        if (!table) continue;
        fill(table, &l, list);
        char *text = print(table, &l);
        json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(object);
        dt_json_members_lend(object, table, &again);
        char *second = print(table, &again);
        assert_string_equal(text, second);
        assert_true(strlen(text) > strlen("{}"));
        free(text);
        free(second);
        json_decref(object);
    }
}

static void test_damaged_lines_are_read_as_far_as_possible(void **state) {
    (void)state;
    int64_t read[DT_STALENESS_BINS];
    dt_event_line l = {.event.staleness = read, .loss = 5};
    json_t *o = json_loads("{\"n\": -3, \"examples\": 4611686018427387904, \"loss\": null, "
                           "\"loss_min\": \"x\", \"seconds\": 2, \"step\": 1.5}",
                           0, NULL);
    dt_json_members_lend(o, dt_event_rows[DT_LINE_STEPS].record, &l);
    assert_int_equal(l.n, 0);
    assert_int_equal(l.event.examples, (int64_t)1 << 53);
    assert_true(isnan(l.loss) && isnan(l.loss_min) && isnan(l.loss_max));
    assert_true(l.seconds == 2);
    assert_int_equal(l.event.step, 0);
    json_decref(o);
    o = json_loads("{\"exit\": 99999999999, \"error\": 5, \"finished\": 1, \"time\": \"now\"}", 0,
                   NULL);
    dt_json_members_lend(o, dt_event_rows[DT_EVENT_END].record, &l);
    assert_int_equal(l.exit, INT32_MAX);
    assert_null(l.error);
    assert_false(l.finished);
    assert_string_equal(l.time, "now");
    json_decref(o);
    o = json_loads("{\"workers\": 2, \"staleness\": [1, -1, \"x\", 4]}", 0, NULL);
    dt_json_members_lend(o, dt_event_rows[DT_EVENT_WORKERS].record, &l);
    assert_int_equal(l.event.n_staleness, 4);
    assert_true(read[0] == 1 && read[1] == 0 && read[2] == 0 && read[3] == 4);
    json_decref(o);
}

/* A uint64 that is written without quotes. */
static void test_a_count_is_not_negative(void **state) {
    (void)state;
    typedef struct counted {
        uint64_t n;
    } counted;
    const dt_json_member table[] = {DT_JSON(counted, n), {0}};
    counted c = {5};
    dt_arena *arena = dt_arena_create();
    json_t *o = json_pack("{s:i}", "n", -3);
    assert_string_equal(dt_json_members_read(arena, o, table, &c), "'n' must be a count");
    dt_json_members_lend(o, table, &c);
    assert_true(c.n == 0);
    json_object_set_new(o, "n", json_integer(INT64_MAX));
    assert_null(dt_json_members_read(arena, o, table, &c));
    assert_true(c.n == INT64_MAX);
    json_decref(o);
    dt_arena_destroy(arena);
}

/* A list longer than the memory for it. */
static void test_lists_are_cut(void **state) {
    (void)state;
    int64_t read[DT_STALENESS_BINS + 1] = {0};
    dt_event_line l = {.event.staleness = read};
    json_t *o = json_object(), *list = json_array();
    for (int i = 0; i < 2 * DT_STALENESS_BINS; i++) json_array_append_new(list, json_integer(7));
    json_object_set_new(o, "staleness", list);
    dt_json_members_lend(o, dt_event_rows[DT_EVENT_WORKERS].record, &l);
    assert_int_equal(l.event.n_staleness, DT_STALENESS_BINS);
    assert_int_equal(read[DT_STALENESS_BINS - 1], 7);
    assert_int_equal(read[DT_STALENESS_BINS], 0);
    json_decref(o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_of_the_record_come_back),
        cmocka_unit_test(test_damaged_lines_are_read_as_far_as_possible),
        cmocka_unit_test(test_a_count_is_not_negative),
        cmocka_unit_test(test_lists_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
