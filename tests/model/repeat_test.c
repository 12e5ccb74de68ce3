/* SPDX-License-Identifier: Apache-2.0 */
/* Repeat: what a list of layers becomes, and what is refused. */
#include "rig.h"

#define INPUT "- Input: {name: x, shape: [4]}\n"

static dt_status *read_model(dt_arena *arena, const char *text, dt_model_spec *out) {
    dt_location at = {0};
    return dt_model_read(arena, parse(arena, "job.yaml", text), &at, out);
}

/* "x, a (B, 3), ...": every layer with what it gives. */
static void describe(const dt_model_spec *m, dt_str *out) {
    for (int i = 0; i < m->n_layers; i++) {
        dt_str_printf(out, "%s%s ", i ? " " : "", m->layer[i].name);
        dt_shape_print(&m->layer[i].out, out);
    }
}

static void test_layers_are_repeated(void **state) {
    (void)state;
    static const struct {
        const char *layers, *expected;
    } rows[] = {
        {INPUT "- Repeat: {for: {i: [0, 1, 2]}, layers: [{Dense: {units: 3, name: \"d_{i}\"}}]}",
         "x (B, 4) d_0 (B, 3) d_1 (B, 3) d_2 (B, 3)"},
        {INPUT "- Repeat: {for: {i: [7, 9], n: [5, 6]}, layers: [{Dense: {units: \"{n}\", name: "
               "\"d_{i}_{n}\"}}, ReLU]}\n- Dense: {units: 1}",
         "x (B, 4) d_7_5 (B, 5) re_lu (B, 5) d_9_6 (B, 6) re_lu_1 (B, 6) dense (B, 1)"},
        {INPUT "- Repeat: {for: {s: [[2, 2], [4, 1], [1, 4]]}, layers: [{Reshape: {target_shape: "
               "\"{s}\"}}]}",
         "x (B, 4) reshape (B, 2, 2) reshape_1 (B, 4, 1) reshape_2 (B, 1, 4)"},
        {INPUT "- Repeat: {for: {i: 3, n: [5, 6, 7]}, layers: [{Dense: {units: \"{n}\", name: "
               "\"d_{i}\"}}]}",
         "x (B, 4) d_0 (B, 5) d_1 (B, 6) d_2 (B, 7)"},
        {INPUT "- Repeat: {for: {i: [a, b]}, layers: [{Repeat: {for: {j: [0, 1]}, layers: [{ReLU: "
               "{name: \"{i}{j}\"}}]}}]}",
         "x (B, 4) a0 (B, 4) a1 (B, 4) b0 (B, 4) b1 (B, 4)"},
        {INPUT "- Repeat: {for: {n: [2, 3]}, layers: [{Repeat: {for: {u: [\"{n}\", 5]}, layers: "
               "[{Dense: {units: \"{u}\"}}]}}]}",
         "x (B, 4) dense (B, 2) dense_1 (B, 5) dense_2 (B, 3) dense_3 (B, 5)"},
        {INPUT "- Repeat: {for: {i: [0]}, layers: [{ReLU: {name: \"{k} {i}{ {i\"}}]}",
         "x (B, 4) {k} 0{ {i (B, 4)"},
        {INPUT "- Repeat: {for: {i: [0, 1]}, layers: []}", "x (B, 4)"},
        {"- Repeat: {for: {k: [x]}, layers: [{Input: {name: \"{k}\", shape: [2]}}]}", "x (B, 2)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dt_arena *arena = dt_arena_create();
        dt_model_spec m;
        dt_str text = {0};
        ok(read_model(arena, rows[i].layers, &m));
        describe(&m, &text);
        assert_string_equal(dt_str_text(&text), rows[i].expected);
        dt_str_release(&text);
        dt_arena_destroy(arena);
    }
}

static const struct bad {
    const char *layers;
    int number, line, column;
    const char *text;
} bad[] = {
    {INPUT "- Repeat", DT_E_UNKNOWN_NAME, 2, 3, "unknown layer 'Repeat'"},
    {INPUT "- Repeat: {layers: []}", DT_E_MISSING_KEY, 2, 11,
     "required key 'for' is missing in Repeat"},
    {INPUT "- Repeat: {for: {i: [0]}}", DT_E_MISSING_KEY, 2, 11,
     "required key 'layers' is missing in Repeat"},
    {INPUT "- Repeat: {for: [0, 1], layers: []}", DT_E_WRONG_TYPE, 2, 17,
     "for: expected a mapping, got a list"},
    {INPUT "- Repeat: {for: {i: three}, layers: []}", DT_E_WRONG_TYPE, 2, 21,
     "i: expected a list, got 'three'"},
    {INPUT "- Repeat: {for: {i: 0}, layers: []}", DT_E_RANGE, 2, 21,
     "i must be in [1, 200000], got 0"},
    {INPUT "- Repeat: {for: {}, layers: []}", DT_E_MODEL_LAYERS, 2, 17,
     "Repeat has no variable: write for: {i: [0, 1, 2]}"},
    {INPUT "- Repeat: {for: {i: []}, layers: []}", DT_E_MODEL_LAYERS, 2, 21,
     "the list of 'i' is empty: Repeat needs at least one value"},
    {INPUT "- Repeat: {for: {i: [0, 1], j: [0]}, layers: []}", DT_E_MODEL_LAYERS, 2, 32,
     "'j' has 1 values, 'i' has 2; the lists of a Repeat must have the same length"},
    {INPUT "- Repeat: {for: {name: [0]}, layers: []}", DT_E_MODEL_LAYERS, 2, 18,
     "'{name}' already has a meaning; rename the variable"},
    {INPUT "- Repeat: {for: {i: [0]}, layers: [{Repeat: {for: {i: [0]}, layers: []}}]}",
     DT_E_MODEL_LAYERS, 2, 52, "'{i}' already has a meaning; rename the variable"},
    {INPUT "- Repeat: {for: {i: [[0]]}, layers: [{ReLU: {name: \"r_{i}\"}}]}", DT_E_WRONG_TYPE, 2,
     22, "{i} is used within a text: expected a number or a word, got a list"},
    {INPUT "- Repeat: {for: {n: [1, 0]}, layers: [{Dense: {units: \"{n}\"}}]}", DT_E_RANGE, 2, 25,
     "units must be at least 1, got 0"},
    {INPUT "- Repeat: {for: {n: [1, 2]}, layers: [{Dense: {units: 1, name: d}}]}", DT_E_LAYER_NAME,
     2, 64, "'d' is already the name of layers[1]"},
    {INPUT "- Repeat: {for: {i: 60000}, layers: [ReLU]}", DT_E_JOB_LIMIT, 1, 1,
     "the model has more than 16384 layers"},
    {INPUT "- Repeat: {for: {i: 150000, j: 150000}, layers: [ReLU]}", DT_E_JOB_LIMIT, 2, 32,
     "repeated layers hold more than 200000 values"},
    {INPUT "- Repeat: {for: {i: [[1, 2, 3]]}, layers: [{Repeat: {for: {j: 50000}, layers: "
           "[\"{i}\"]}}]}",
     DT_E_JOB_LIMIT, 2, 59, "repeated layers hold more than 200000 values"},
    {INPUT "- Repeat: {for: {n: [1]}, layer: []}", DT_E_UNKNOWN_KEY, 2, 27,
     "unknown key 'layer' in Repeat"},
};

static void test_bad_repeats_are_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        dt_arena *arena = dt_arena_create();
        dt_model_spec m;
        dt_status *s = read_model(arena, bad[i].layers, &m);
        if (!s) fail_msg("taken: %s", bad[i].layers);
        assert_string_equal(dt_status_text(s), bad[i].text);
        assert_int_equal(dt_status_number(s), bad[i].number);
        assert_int_equal(dt_status_line(s), bad[i].line);
        assert_int_equal(dt_status_column(s), bad[i].column);
        dt_status_free(s);
        dt_arena_destroy(arena);
    }
}

/* Ten in ten in ten in ten ...: refused before it fills the memory. */
static void test_repeats_are_bounded(void **state) {
    (void)state;
    dt_str text = {0};
    dt_model_spec m;
    dt_arena *arena = dt_arena_create();
    dt_str_puts(&text, INPUT "- ");
    for (int i = 0; i < 12; i++)
        dt_str_printf(&text, "{Repeat: {for: {v%d: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]}, layers: [", i);
    dt_str_puts(&text, "ReLU");
    for (int i = 0; i < 12; i++) dt_str_puts(&text, "]}}");
    dt_status *s = read_model(arena, dt_str_text(&text), &m);
    assert_int_equal(dt_status_number(s), DT_E_JOB_LIMIT);
    dt_status_free(s);
    dt_str_release(&text);
    dt_arena_destroy(arena);
}

/* A long text in each of many layers, written there or put in by a variable. */
static void test_repeated_texts_are_bounded(void **state) {
    (void)state;
    static const char *const layers[] = {"ReLU: {name: '%s'}", "ReLU: {name: '{i}%s'}",
                                         "ReLU: {name: '{t}{t}{t}'}"};
    char *word = malloc(100001);
    memset(word, 'x', 100000);
    word[100000] = '\0';
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        dt_str text = {0};
        dt_model_spec m;
        dt_arena *arena = dt_arena_create();
        dt_str_printf(&text, INPUT "- Repeat: {for: {i: 9000}, layers: [{Repeat: {for: {t: ['%s']}",
                      word);
        dt_str_puts(&text, ", layers: [");
        dt_str_printf(&text, layers[i], word);
        dt_str_puts(&text, "]}}]}\n");
        dt_status *s = read_model(arena, dt_str_text(&text), &m);
        assert_string_equal(dt_status_text(s), "repeated layers hold more than 16 MiB of text");
        dt_status_free(s);
        dt_str_release(&text);
        dt_arena_destroy(arena);
    }
    free(word);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers_are_repeated),
        cmocka_unit_test(test_bad_repeats_are_refused),
        cmocka_unit_test(test_repeats_are_bounded),
        cmocka_unit_test(test_repeated_texts_are_bounded),
    };
    return cmocka_run_group_tests_name("repeat", tests, NULL, NULL);
}
