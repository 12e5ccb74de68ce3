/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Keras' `get` takes for a loss, a metric, ... (tests/golden/names.json) is taken here and
 * names the same; and a metric's key in the history is the name that Keras gives its class. Classes
 * that are not here are left out, and told.
 */
#include "rig.h"

typedef const dt_kind *const *table(int *n);
static const struct {
    const char *noun;
    table *rows;
} tables[] = {
    {"loss", dt_losses},
    {"metric", dt_metrics},
    {"optimizer", dt_optimizers},
    {"activation", dt_activation_kinds},
    {"initializer", dt_initializers},
    {"regularizer", dt_regularizers},
};

static const dt_kind *const *rows_of(const char *noun, int *n) {
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (strcmp(tables[i].noun, noun) == 0) return tables[i].rows(n);
    fail_msg("no table of %s", noun);
    return NULL;
}

static json_t *recorded(void) {
    json_t *file = json_load_file("tests/golden/names.json", 0, NULL);
    assert_non_null(file);
    return file;
}

static void test_identifiers(void **state) {
    (void)state;
    json_t *file = recorded(), *row;
    tally told = {0};
    size_t i;
    int wrong = 0;
    json_array_foreach(json_object_get(file, "cases"), i, row) {
        const char *noun = text_of(row, "noun"), *identifier = text_of(row, "identifier"),
                   *names = text_of(row, "names");
        int n;
        const dt_kind *const *rows = rows_of(noun, &n);
        if (!is_known(rows, n, names)) {
            tally_skip(&told, names);
            continue;
        }
        dt_arena *arena = dt_arena_create();
        const dt_tree t = {.kind = DT_TREE_SCALAR, .text = identifier};
        dt_named named = {0};
        /* arguments may be missing */
        dt_status_free(dt_named_read(arena, rows, n, noun, &t, &named));
        if (!named.kind || strcmp(named.kind->name, names) != 0) {
            print_error("%s '%s' is %s in Keras, here %s\n", noun, identifier, names,
                        named.kind ? named.kind->name : "unknown");
            wrong++;
        }
        told.run++;
        dt_arena_destroy(arena);
    }
    json_decref(file);
    tally_end(&told, "identifiers");
    assert_int_equal(wrong, 0);
}

static const char *key_of(dt_arena *arena, const char *written) {
    dt_location at = {0};
    dt_compile_spec c;
    const char *text =
        dt_arena_printf(arena, "{optimizer: sgd, loss: mse, metrics: [%s]}", written);
    ok(dt_compile_read(arena, parse(arena, "job.yaml", text), &at, NULL, &c));
    return c.metric[0].key;
}

/* Mean and Sum have nothing to compare: jobs cannot have them. */
static bool is_of_jobs(const json_t *row) {
    int n;
    const dt_kind *const *rows = dt_metrics(&n);
    for (int i = 0; i < n && strcmp(text_of(row, "noun"), "metric") == 0; i++)
        if (strcmp(rows[i]->name, text_of(row, "names")) == 0)
            return !((const dt_metric_row *)rows[i])->alone;
    return false;
}

static void test_keys_of_metrics(void **state) {
    (void)state;
    json_t *file = recorded(), *row;
    tally told = {0};
    size_t i;
    json_array_foreach(json_object_get(file, "cases"), i, row) {
        if (!is_of_jobs(row)) continue;
        dt_arena *arena = dt_arena_create();
        char *arguments = arguments_text(json_object_get(row, "arguments"));
        assert_string_equal(
            key_of(arena, dt_arena_printf(arena, "{%s: %s}", text_of(row, "names"), arguments)),
            text_of(row, "key"));
        free(arguments);
        told.run++;
        dt_arena_destroy(arena);
    }
    json_decref(file);
    tally_end(&told, "keys");
}

/* keras.layers exports these classes under two names. */
static void test_layers_with_two_names(void **state) {
    static const struct {
        const char *also, *name;
    } rows[] = {
        {"Convolution%dD", "Conv%dD"},
        {"Convolution%dDTranspose", "Conv%dDTranspose"},
        {"SeparableConvolution%dD", "SeparableConv%dD"},
        {"MaxPool%dD", "MaxPooling%dD"},
        {"AvgPool%dD", "AveragePooling%dD"},
        {"GlobalMaxPool%dD", "GlobalMaxPooling%dD"},
        {"GlobalAvgPool%dD", "GlobalAveragePooling%dD"},
    };
    int n;
    const dt_kind *const *layers = dt_layers(&n);
    dt_arena *arena = dt_arena_create();
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int d = 1; d <= 3 - (strncmp(rows[i].name, "Separable", 9) == 0); d++) {
            char also[64], name[64];
            snprintf(also, sizeof also, rows[i].also, d);
            snprintf(name, sizeof name, rows[i].name, d);
            const dt_tree t = {.kind = DT_TREE_SCALAR, .text = also};
            dt_named named = {0};
            /* arguments may be missing */
            dt_status_free(dt_named_read(arena, layers, n, "layer", &t, &named));
            assert_non_null(named.kind);
            assert_string_equal(named.kind->name, name);
        }
    dt_arena_destroy(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_identifiers),
        cmocka_unit_test(test_keys_of_metrics),
        cmocka_unit_test(test_layers_with_two_names),
    };
    return cmocka_run_group_tests_name("model/names", tests, NULL, NULL);
}
