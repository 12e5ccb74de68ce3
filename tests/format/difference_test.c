/* SPDX-License-Identifier: Apache-2.0 */
/* Which changes of a job a resume allows, and how it names the others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kit.h"

#define JOB(seed, rate, units, strategy, dir)                                                      \
    "{\"version\": 1, \"name\": \"a\", \"seed\": " seed ", \"strategy\": " strategy                \
    ", \"model\": {\"layers\": [{\"Flatten\": {}}, "                                               \
    "{\"Dense\": {\"units\": " units                                                               \
    "}}]}, \"compile\": {\"optimizer\": {\"SGD\": {\"learning_rate\": " rate "}}}, "               \
    "\"output\": {\"dir\": \"" dir "\"}}"

static const char saved[] = JOB("42", "0.1", "128", "{\"type\": \"mirrored\"}", "runs/a");

static void test_the_first_difference_is_named(void **state) {
    (void)state;
    static const struct {
        const char *saved, *now, *key;
    } rows[] = {
        {saved, saved, NULL},
        {saved, JOB("42", "0.1", "128", "{\"type\": \"tpu\", \"x\": [1]}", "runs/b"), NULL},
        {saved, JOB("42.0", "1e-1", "128.0", "null", "runs/a"), NULL},
        {saved, JOB("43", "0.1", "128", "{\"type\": \"mirrored\"}", "runs/a"), "seed"},
        {saved, JOB("42", "0.2", "128", "{\"type\": \"mirrored\"}", "runs/a"),
         "compile.optimizer.SGD.learning_rate"},
        {saved, JOB("42", "0.1", "64", "{\"type\": \"mirrored\"}", "runs/a"),
         "model.layers[1].Dense.units"},
        {saved, JOB("42", "\"0.1\"", "128", "{\"type\": \"mirrored\"}", "runs/a"),
         "compile.optimizer.SGD.learning_rate"},
        {"{\"fit\": 1, \"backend\": 2, \"name\": 1, \"checkpoint\": 1, \"partition\": 4}",
         "{\"fit\": 2, \"name\": 3}", NULL},
        {"{\"let\": {\"r\": 1}, \"a\": 1}", "{\"let\": {\"r\": 2}, \"a\": 2}", "a"},
        {"{\"let\": {\"r\": 1}}", "{}", NULL},
        {"{\"a\": {\"fit\": 1}}", "{\"a\": {\"fit\": 2}}", "a.fit"}, /* free at the top only */
        {"{\"a\": 1}", "{\"a\": 1, \"b\": 2}", "b"},
        {"{\"a\": 1, \"b\": 2}", "{\"a\": 1}", "b"},
        {"{\"a\": 1, \"b\": null}", "{\"a\": 1, \"c\": null}", NULL},
        {"{\"a\": [1, 2]}", "{\"a\": [1, 2, 3]}", "a"},
        {"{\"a\": [1, [2]]}", "{\"a\": [1, [3]]}", "a[1][0]"},
        {"{\"a\": true}", "{\"a\": false}", "a"},
        {"{\"a\": {}}", "{\"a\": []}", "a"},
        {"{\"a\": 9007199254740993}", "{\"a\": 9007199254740992}", "a"},
        {"{\"b\": 1, \"a\": 1}", "{\"a\": 1, \"b\": 1}", NULL},
        {"{\"a\": 1", "{\"a\": 1}", "job"},
        {"{\"a\": 1}", "[]", "job"},
        {NULL, "{}", "job"},
    };
    dt_arena *arena = dt_arena_create();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *key = dt_job_difference(arena, rows[i].saved, rows[i].now);
        if (!key || !rows[i].key) assert_ptr_equal(key, rows[i].key);
        else assert_string_equal(key, rows[i].key);
    }
    dt_arena_destroy(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_first_difference_is_named)};
    return cmocka_run_group_tests_name("format/difference", tests, NULL, NULL);
}
