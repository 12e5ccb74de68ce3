/* SPDX-License-Identifier: Apache-2.0 */
/* Overrides: `key.path=value` on a tree, and what fits no tree. */
#include "sample_job.h"

static dt_tree *sample(dt_arena *arena) {
    dt_source *source = dt_arena_new(arena, dt_source);
    *source = source_of(sample_text);
    dt_tree *tree;
    assert_null(dt_tree_parse(arena, source, &tree));
    return tree;
}

static void test_overrides_change_the_tree(void **state) {
    (void)state;
    static const struct {
        const char *assignment, *key, *json; /* what stands at the top-level key after it */
    } cases[] = {
        {"fit.epochs=7", "fit", "{\"epochs\": 7}"},
        {"seed=", "seed", "null"},
        {"seed=null", "seed", "null"},
        {"seed= ~ ", "seed", "null"},
        {"seed=  ", "seed", "null"},
        {"name=a b", "name", "\"a b\""},
        {"name='42'", "name", "\"42\""},
        {"name=x=y", "name", "\"x=y\""},
        {"strategy={type: tpu, cluster_resolver: {tpu: sim:v3-8}}", "strategy",
         "{\"cluster_resolver\": {\"tpu\": \"sim:v3-8\"}, \"type\": \"tpu\"}"},
        {"strategy.devices=[\"CPU:0\", CPU:1]", "strategy",
         "{\"devices\": [\"CPU:0\", \"CPU:1\"], \"replicas\": 2, \"type\": \"mirrored\"}"},
        {"model.layers.1.Dense.units=64", "model",
         "{\"layers\": [\"Flatten\", {\"Dense\": {\"activation\": \"softmax\", \"units\": 64}}]}"},
        {"model.layers.0=ReLU", "model",
         "{\"layers\": [\"ReLU\", {\"Dense\": {\"activation\": \"softmax\", \"units\": 10}}]}"},
        {"model.layers.0.Flatten.name=f", "model",
         "{\"layers\": [{\"Flatten\": {\"name\": \"f\"}}, {\"Dense\": {\"activation\": "
         "\"softmax\", \"units\": 10}}]}"},
        {"reproducible.shards=8", "reproducible", "{\"shards\": 8}"},
        {"a.b.c=1", "a", "{\"b\": {\"c\": 1}}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_arena *arena = dt_arena_create();
        dt_tree *t = sample(arena);
        dt_status *s = dt_tree_override(arena, t, 1, cases[i].assignment);
        if (s) fail_msg("%s: %s", cases[i].assignment, dt_status_text(s));
        dt_str text = {0};
        dt_tree_print(dt_tree_get(t, cases[i].key), &text);
        assert_string_equal(dt_str_text(&text), cases[i].json);
        dt_str_release(&text);
        dt_arena_destroy(arena);
    }
}

static void test_refused_overrides(void **state) {
    (void)state;
    static const struct {
        const char *assignment;
        expected fault;
    } cases[] = {
        {"fit.epochs",
         {"no value", DT_E_BAD_OVERRIDE, 0, 0, "expected key.path=value, got 'fit.epochs'", NULL}},
        {"", {"nothing", DT_E_BAD_OVERRIDE, 0, 0, "expected key.path=value, got ''", NULL}},
        {"=1", {"no key", DT_E_BAD_OVERRIDE, 1, 1, "a key is missing here", NULL}},
        {"fit..x=1", {"no key between", DT_E_BAD_OVERRIDE, 1, 5, "a key is missing here", NULL}},
        {"fit.=1", {"no key behind", DT_E_BAD_OVERRIDE, 1, 5, "a key is missing here", NULL}},
        {"model.layers.2=x",
         {"item", DT_E_BAD_OVERRIDE, 1, 14,
          "'model.layers' is a list, expected the number of an item, 0 to 1, got '2'", NULL}},
        {"model.layers.99999999999999999999=x",
         {"large item", DT_E_BAD_OVERRIDE, 1, 14,
          "'model.layers' is a list, expected the number of an item, 0 to 1, got "
          "'99999999999999999999'",
          NULL}},
        {"model.layers.Dense.units=1",
         {"key of a list", DT_E_BAD_OVERRIDE, 1, 14,
          "'model.layers' is a list, expected the number of an item, 0 to 1, got 'Dense'", NULL}},
        {"seed.x=1",
         {"key of a scalar", DT_E_BAD_OVERRIDE, 1, 6, "'seed' is 42, so it has no key 'x'", NULL}},
        {"fit.epochs=[1",
         {"syntax", DT_E_YAML_SYNTAX, 1, 12, "'[' opened at line 1 is never closed", NULL}},
        {"fit={a: 1, a: 2}",
         {"duplicate", DT_E_DUPLICATE_KEY, 1, 12, "duplicate key 'a', first given at line 1",
          NULL}},
        {"n\xc3\xa4me=\x1b[2J", {"escape", DT_E_JOB_BYTES, 1, 6, "control character 0x1b", NULL}},
        {"a.\xff=1", {"UTF-8", DT_E_JOB_BYTES, 1, 3, "byte 0xff is not UTF-8", "save it as UTF-8"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_arena *arena = dt_arena_create();
        dt_status *s = dt_tree_override(arena, sample(arena), 3, cases[i].assignment);
        check_fault(s, &cases[i].fault);
        assert_string_equal(dt_status_file(s), "override 3");
        dt_status_free(s);
        dt_arena_destroy(arena);
    }
}

/* V11: the field table finds the fault, and points into the override. */
static void test_faults_of_fields_point_into_the_override(void **state) {
    (void)state;
    static const struct {
        const char *assignment;
        expected fault;
    } cases[] = {
        {"fit.epochs=abc",
         {"V11", DT_E_WRONG_TYPE, 1, 12, "epochs: expected an integer, got 'abc'", NULL}},
        {"fit.epohcs=3",
         {"key", DT_E_UNKNOWN_KEY, 1, 5, "unknown key 'epohcs' in fit", "did you mean 'epochs'?"}},
        {"fit={epochs: 0}",
         {"mapping", DT_E_RANGE, 1, 14, "epochs must be at least 1, got 0", NULL}},
        {"model.layers.1.Dense.units=",
         {"required null", DT_E_WRONG_TYPE, 1, 28, "units: expected an integer, got null", NULL}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_arena *arena = dt_arena_create();
        dt_tree *t = sample(arena);
        struct job job = {0};
        assert_null(dt_tree_override(arena, t, 2, cases[i].assignment));
        dt_status *s = read_tree(arena, t, &job);
        check_fault(s, &cases[i].fault);
        assert_string_equal(dt_status_file(s), "override 2");
        assert_int_equal(dt_status_count(s), 1);
        dt_status_free(s);
        dt_arena_destroy(arena);
    }
}

static void test_fault_prints_the_override(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    dt_tree *t = sample(arena);
    struct job job = {0};
    assert_null(dt_tree_override(arena, t, 1, "fit.epochs=abc"));
    dt_status *s = read_tree(arena, t, &job);
    char *text = dt_status_format(s);
    assert_string_equal(text,
                        "override 1:1:12: error: epochs: expected an integer, got 'abc' [DT011]\n"
                        "    1 | fit.epochs=abc\n"
                        "      |            ^^^\n");
    free(text);
    dt_status_free(s);
    dt_arena_destroy(arena);
}

static void test_overrides_of_lists(void **state) {
    (void)state;
    static const struct {
        const char *list, *assignment, *text;
    } cases[] = {
        {"[1, 2]", "x=1", "the job is a list, expected the number of an item, 0 to 1, got 'x'"},
        {"{a: []}", "a.0=1", "'a' is an empty list"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_arena *arena = dt_arena_create();
        dt_source source = source_of(cases[i].list);
        dt_tree *t;
        assert_null(dt_tree_parse(arena, &source, &t));
        dt_status *s = dt_tree_override(arena, t, 1, cases[i].assignment);
        assert_string_equal(dt_status_text(s), cases[i].text);
        dt_status_free(s);
        dt_arena_destroy(arena);
    }
}

static void test_deep_paths_are_refused(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    dt_str path = {0};
    for (int i = 0; i < 65; i++) dt_str_puts(&path, i ? ".a" : "a");
    dt_str_puts(&path, "=1");
    dt_status *s = dt_tree_override(arena, sample(arena), 1, dt_str_text(&path));
    check_fault(s,
                &(expected){"deep", DT_E_JOB_LIMIT, 1, 129, "nesting deeper than 64 levels", NULL});
    dt_status_free(s);
    dt_str_release(&path);
    dt_arena_destroy(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_overrides_change_the_tree),
        cmocka_unit_test(test_refused_overrides),
        cmocka_unit_test(test_faults_of_fields_point_into_the_override),
        cmocka_unit_test(test_fault_prints_the_override),
        cmocka_unit_test(test_overrides_of_lists),
        cmocka_unit_test(test_deep_paths_are_refused),
    };
    return cmocka_run_group_tests_name("conf/override", tests, NULL, NULL);
}
