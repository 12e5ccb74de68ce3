/* SPDX-License-Identifier: Apache-2.0 */
/* Single field tables: lists, values of one of several forms, wrong presets, and keys that are not
 * implemented yet or accept only their default. */
#include "sample_job.h"

/* ---- lists ---- */

struct lists {
    dt_ints shape;
    dt_texts devices;
    const dt_tree *any;
};
static const dt_field list_fields[] = {
    DT_INTS(struct lists, shape, .min = 1, .preset = "[2, 3]", .help = "sizes"),
    DT_TEXTS(struct lists, devices, .min = 1, .preset = "[\"CPU:0\"]", .help = "names"),
    DT_TREE(struct lists, any, .preset = "{a: [1]}", .help = "anything"),
    DT_END,
};

static void test_lists(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    struct lists x;
    dt_tree *t;
    assert_null(dt_fields_read(arena, list_fields, NULL, NULL, "x", &x));
    assert_int_equal(x.shape.n, 2);
    assert_int_equal(x.shape.v[1], 3);
    assert_string_equal(x.devices.v[0], "CPU:0");
    assert_int_equal(dt_tree_get(x.any, "a")->n, 1);

    dt_source source = source_of("{shape: [28, 1e3], devices: [CPU:0, 1], any: no}");
    assert_null(dt_tree_parse(arena, &source, &t));
    assert_null(dt_fields_read(arena, list_fields, t, NULL, "x", &x));
    assert_int_equal(x.shape.v[1], 1000);
    assert_string_equal(x.devices.v[1], "1");
    assert_string_equal(x.any->text, "no");

    source = source_of("{shape: [0, 1, x], devices: [[], '']}");
    assert_null(dt_tree_parse(arena, &source, &t));
    dt_status *s = dt_fields_read(arena, list_fields, t, NULL, "x", &x);
    const dt_status *one = s;
    check_fault(one,
                &(expected){"int", DT_E_RANGE, 1, 10, "shape[0] must be at least 1, got 0", NULL});
    check_fault(
        one = dt_status_next(one),
        &(expected){"int", DT_E_WRONG_TYPE, 1, 16, "shape[2]: expected an integer, got 'x'", NULL});
    check_fault(one = dt_status_next(one),
                &(expected){"text", DT_E_WRONG_TYPE, 1, 30,
                            "devices[0]: expected a string, got a list", NULL});
    check_fault(one = dt_status_next(one),
                &(expected){"text", DT_E_RANGE, 1, 34, "devices[1] must not be empty", NULL});
    assert_null(dt_status_next(one));
    dt_status_free(s);
    dt_arena_destroy(arena);
}

/* One number stands for a list where the field says so. */
static void test_a_number_for_a_list(void **state) {
    (void)state;
    static const dt_field fields[] = {
        DT_INTS(struct lists, shape, .lone = true, .min = 1, .preset = "2", .help = "sizes"),
        DT_END};
    static const struct {
        const char *text;
        int n;
        bool lone;
    } good[] = {{"{}", 1, true},
                {"{shape: 7}", 1, true},
                {"{shape: [7]}", 1, false},
                {"{shape: [7, 8]}", 2, false}};
    dt_arena *arena = dt_arena_create();
    struct lists x;
    dt_tree *t;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        dt_source source = source_of(good[i].text);
        assert_null(dt_tree_parse(arena, &source, &t));
        assert_null(dt_fields_read(arena, fields, t, NULL, "x", &x));
        assert_int_equal(x.shape.n, good[i].n);
        assert_int_equal(x.shape.lone, good[i].lone);
        assert_int_equal(x.shape.v[0], i ? 7 : 2);
    }
    dt_source source = source_of("{shape: 0}");
    assert_null(dt_tree_parse(arena, &source, &t));
    dt_status *s = dt_fields_read(arena, fields, t, NULL, "x", &x);
    check_fault(s, &(expected){"lone", DT_E_RANGE, 1, 9, "shape must be at least 1, got 0", NULL});
    dt_status_free(s);
    dt_arena_destroy(arena);
}

/* ---- one of several forms ---- */

struct forms {
    int64_t steps;
    double seconds;
    bool epoch, on, has_table;
    int ahead;
    dt_location at, inside_at;
};
static const char *const epoch_words[] = {"epoch", NULL}, *const auto_words[] = {"auto", NULL};
static const dt_field inside_fields[] = {
    DT_INT(struct forms, steps, .required = true, .max = 9, DT_AT(struct forms, inside_at)),
    DT_END};
static const dt_field form_fields[] = {
    DT_ONE_OF(often,
              DT_FORMS(DT_WORDS(epoch_words, DT_SET(struct forms, epoch)),
                       DT_INT(struct forms, steps, .min = 1), DT_SECONDS(struct forms, seconds)),
              .preset = "epoch", .expected = "epoch, steps or a time", DT_AT(struct forms, at)),
    DT_END};
static const dt_field auto_fields[] = {
    DT_ONE_OF(ahead,
              DT_FORMS(DT_WORDS(auto_words), DT_INT(struct forms, ahead, .min = 1, .max = 8))),
    DT_END};
static const dt_field table_fields[] = {
    DT_ONE_OF(shuffle, DT_FORMS(DT_PLAIN(BOOL, struct forms, on),
                                DT_FORM(DT_FIELD_TABLE, .table = inside_fields,
                                        DT_SET(struct forms, has_table)))),
    DT_END};

static dt_status *read_forms(dt_arena *arena, const dt_field *fields, const char *text,
                             struct forms *out) {
    dt_source *source = dt_arena_new(arena, dt_source);
    dt_tree *t;
    *source = source_of(text);
    memset(out, 0xff, sizeof *out); /* reading sets every member that a table describes */
    assert_null(dt_tree_parse(arena, source, &t));
    return dt_fields_read(arena, fields, t, NULL, "x", out);
}

static void test_a_value_is_read_by_the_form_that_fits(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool epoch;
        int64_t steps;
        double seconds;
        int col;
    } good[] = {
        {"{}", true, 0, 0, 1},
        {"{often: ~}", true, 0, 0, 1},
        {"{often: epoch}", true, 0, 0, 9},
        {"{often: 1e2}", false, 100, 0, 9},
        {"{often: 1.5m}", false, 0, 90, 9},
        {"{often: 2h}", false, 0, 7200, 9},
    };
    dt_arena *arena = dt_arena_create();
    struct forms x;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_null(read_forms(arena, form_fields, good[i].text, &x));
        assert_int_equal(x.epoch, good[i].epoch);
        assert_int_equal(x.steps, good[i].steps);
        assert_true(x.seconds == good[i].seconds);
        assert_int_equal(x.at.col, good[i].col);
    }
    assert_null(read_forms(arena, auto_fields, "{ahead: 8}", &x));
    assert_int_equal(x.ahead, 8);
    assert_null(read_forms(arena, auto_fields, "{ahead: auto}", &x));
    assert_int_equal(x.ahead, 0);
    assert_null(read_forms(arena, table_fields, "{shuffle: {steps: 7}}", &x));
    assert_true(!x.on && x.has_table && x.steps == 7 && x.inside_at.col == 19);
    assert_null(read_forms(arena, table_fields, "{shuffle: true}", &x));
    assert_true(x.on && !x.has_table && x.steps == 0);
    dt_arena_destroy(arena);
}

static void test_a_value_that_fits_no_form_is_refused(void **state) {
    (void)state;
    static const struct {
        const dt_field *fields;
        const char *text;
        expected fault;
    } bad[] = {
        {form_fields,
         "{often: 0s}",
         {"time", DT_E_WRONG_TYPE, 1, 9, "often: expected epoch, steps or a time, got '0s'", NULL}},
        {form_fields,
         "{often: [1]}",
         {"list", DT_E_WRONG_TYPE, 1, 9, "often: expected epoch, steps or a time, got a list",
          NULL}},
        {form_fields,
         "{often: 0}",
         {"number", DT_E_RANGE, 1, 9, "often must be at least 1, got 0", NULL}},
        {auto_fields,
         "{ahead: atuo}",
         {"word", DT_E_WRONG_TYPE, 1, 9, "ahead: expected an integer, got 'atuo'", NULL}},
        {auto_fields,
         "{ahead: 9}",
         {"most", DT_E_RANGE, 1, 9, "ahead must be in [1, 8], got 9", NULL}},
        {table_fields,
         "{shuffle: 3}",
         {"flag", DT_E_WRONG_TYPE, 1, 11, "shuffle: expected true or false, got 3", NULL}},
        {table_fields,
         "{shuffle: {steps: 10}}",
         {"inside", DT_E_RANGE, 1, 19, "steps must be in [0, 9], got 10", NULL}},
    };
    dt_arena *arena = dt_arena_create();
    struct forms x;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        dt_status *s = read_forms(arena, bad[i].fields, bad[i].text, &x);
        check_fault(s, &bad[i].fault);
        assert_null(dt_status_next(s));
        dt_status_free(s);
    }
    dt_arena_destroy(arena);
}

/* ---- lists and mappings of items, named kinds ---- */

struct rule {
    const char *match;
    int64_t part;
};
struct items {
    dt_items rules, names, weights, kinds;
    dt_texts inputs;
    dt_named kind;
};

static dt_status *read_kind(dt_arena *arena, const dt_tree *t, dt_named *out) {
    static const dt_field fields[] = {DT_INT(struct rule, part, .max = 9), DT_END};
    static const dt_kind dense = {"Dense", "", fields, sizeof(struct rule), NULL};
    static const dt_kind *const rows[] = {&dense};
    return dt_named_read(arena, rows, 1, "layer", t, out);
}

static const dt_field rule_fields[] = {DT_TEXT(struct rule, match, .required = true),
                                       DT_INT(struct rule, part, .preset = "7", .max = 9), DT_END};
#define ITEMS(member, form) DT_FIELD(ONE_OF, struct items, member, .forms = DT_FORMS(form))
static const dt_field item_fields[] = {
    ITEMS(rules, DT_LIST_AS(struct rule, DT_FORM(DT_FIELD_TABLE, .table = rule_fields))),
    ITEMS(names, DT_LIST_AS(const char *, DT_FORM(DT_FIELD_TEXT))),
    ITEMS(weights, DT_MAP_AS(double, DT_FORM(DT_FIELD_REAL, .max = INFINITY))),
    ITEMS(kinds, DT_LIST_AS(dt_named, DT_NAMED_BY("layer", read_kind))),
    ITEMS(kind, DT_NAMED_BY("layer", read_kind)),
    DT_FIELD(ONE_OF, struct items, inputs,
             .forms = DT_FORMS(DT_FORM(DT_FIELD_TEXT, .lone = true), DT_FORM(DT_FIELD_TEXTS))),
    DT_END};

static dt_status *read_item_fields(dt_arena *arena, const char *text, struct items *out) {
    dt_source *source = dt_arena_new(arena, dt_source);
    dt_tree *t;
    *source = source_of(text);
    memset(out, 0xff, sizeof *out);
    assert_null(dt_tree_parse(arena, source, &t));
    return dt_fields_read(arena, item_fields, t, NULL, "x", out);
}

static void test_items_are_read_into_structs(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    struct items x;
    assert_null(read_item_fields(arena, "{}", &x));
    assert_true(!x.rules.entry && !x.weights.n && !x.kind.kind && !x.inputs.v);
    assert_null(read_item_fields(arena,
                                 "{rules: [{match: a, part: 2}, {match: b}], names: [a, 1],\n"
                                 "weights: {x: 0.5, y: 2}, kinds: [Dense, {Dense: {part: 3}}],\n"
                                 "kind: {Dense: {part: 4}}, inputs: a}",
                                 &x));
    const struct rule *rule = x.rules.v;
    assert_true(x.rules.n == 2 && rule[0].part == 2 && rule[1].part == 7);
    assert_string_equal(rule[1].match, "b");
    assert_string_equal(((const char **)x.names.v)[1], "1");
    assert_int_equal(x.names.entry[1].value->at.col, 55);
    assert_string_equal(x.weights.entry[1].key, "y");
    assert_true(x.weights.n == 2 && ((const double *)x.weights.v)[1] == 2);
    assert_int_equal(x.kinds.n, 2);
    assert_int_equal(((const struct rule *)((const dt_named *)x.kinds.v)[1].args)->part, 3);
    assert_int_equal(((const struct rule *)x.kind.args)->part, 4);
    assert_true(x.inputs.n == 1 && x.inputs.at[0].line == 3 && x.inputs.at[0].col == 35);
    assert_null(read_item_fields(arena, "{inputs: [a, b], rules: []}", &x));
    assert_true(x.inputs.n == 2 && x.inputs.at[1].col == 14 && x.rules.entry && x.rules.n == 0);
    dt_arena_destroy(arena);
}

/* Items with faults are left out, and each fault is reported at its place. */
static void test_faulty_items_are_left_out(void **state) {
    (void)state;
    static const expected faults[] = {
        {"rule", DT_E_RANGE, 1, 28, "part must be in [0, 9], got 10", NULL},
        {"text", DT_E_WRONG_TYPE, 2, 9, "names: expected a string, got a list", NULL},
        {"real", DT_E_RANGE, 3, 14, "weights must be at least 0, got -1", NULL},
        {"kind", DT_E_UNKNOWN_NAME, 4, 9, "unknown layer 'Dens'", "did you mean 'Dense'?"},
        {"texts", DT_E_WRONG_TYPE, 5, 10, "inputs[0]: expected a string, got a list", NULL},
    };
    dt_arena *arena = dt_arena_create();
    struct items x;
    dt_status *s = read_item_fields(arena,
                                    "{rules: [{match: a, part:  10}, {match: b}],\n"
                                    "names: [[c], d],\n"
                                    "weights: {x: -1, y: 2},\n"
                                    "kinds: [Dens, Dense],\n"
                                    "inputs: [[], b]}",
                                    &x);
    const dt_status *one = s;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++, one = dt_status_next(one))
        check_fault(one, &faults[i]);
    assert_null(one);
    dt_status_free(s);
    assert_true(x.rules.n == 1 && x.names.n == 1 && x.weights.n == 1 && x.kinds.n == 1);
    assert_string_equal(((const struct rule *)x.rules.v)->match, "b");
    assert_string_equal(x.weights.entry[0].key, "y");
    assert_true(x.inputs.n == 1 && strcmp(x.inputs.v[0], "b") == 0 && x.inputs.at[0].col == 14);
    assert_null(dt_status_next(s = read_item_fields(arena, "{names: {a: b}}", &x)));
    check_fault(s, &(expected){"map", DT_E_WRONG_TYPE, 1, 9,
                               "names: expected a list, got a mapping", NULL});
    dt_status_free(s);
    dt_arena_destroy(arena);
}

/* ---- a kind beside a number, numbers kept as written, names of items, own errors ---- */

struct others {
    double rate;
    dt_named kind;
    const char *token;
    bool flag;
    dt_items lags;
};

static dt_status *refuse_flag(const dt_tree *t) {
    return dt_fail(DT_E_RANGE, &t->at, "no flag is called %s", dt_tree_kind_name(t->kind));
}

static const dt_field other_fields[] = {
    DT_ONE_OF(rate,
              DT_FORMS(DT_REAL(struct others, rate, .max = INFINITY),
                       DT_FIELD(NAMED, struct others, kind, .noun = "layer", .read = read_kind))),
    DT_ONE_OF(token, DT_FORMS(DT_INT(struct others, token, .lone = true)), .as = DT_TREE_SCALAR),
    DT_ONE_OF(flag, DT_FORMS(DT_PLAIN(BOOL, struct others, flag)), .refuse = refuse_flag),
    DT_ONE_OF(lags, DT_FORMS(DT_FIELD(
                        MAP, struct others, lags, .by_name = true, .size = sizeof(dt_ints),
                        .forms = DT_FORMS(DT_FORM(DT_FIELD_INTS, .max = 9, .noun = "a lag"))))),
    DT_END};

static dt_status *read_others(dt_arena *arena, const char *text, struct others *out) {
    dt_source *source = dt_arena_new(arena, dt_source);
    dt_tree *t;
    *source = source_of(text);
    memset(out, 0xff, sizeof *out);
    assert_null(dt_tree_parse(arena, source, &t));
    return dt_fields_read(arena, other_fields, t, NULL, "x", out);
}

static void test_other_forms(void **state) {
    (void)state;
    static const struct {
        const char *text;
        expected fault;
    } bad[] = {
        {"{rate: Dense}",
         {"word", DT_E_WRONG_TYPE, 1, 8, "rate: expected a number, got 'Dense'", NULL}},
        {"{rate: .nan}", {"nan", DT_E_RANGE, 1, 8, "rate must be a finite number, got nan", NULL}},
        {"{token: 010}",
         {"octal", DT_E_AMBIGUOUS, 1, 9, "token: '010' is ambiguous; write 10 or 8", NULL}},
        {"{token: [1]}",
         {"list", DT_E_WRONG_TYPE, 1, 9, "token: expected a string, got a list", NULL}},
        {"{flag: yes}", {"own", DT_E_RANGE, 1, 8, "no flag is called a string", NULL}},
        {"{flag: [true]}", {"own", DT_E_RANGE, 1, 8, "no flag is called a list", NULL}},
        {"{flag: 'true'}",
         {"quoted", DT_E_WRONG_TYPE, 1, 8, "flag: expected true or false, got 'true'",
          "write true"}},
        {"{lags: {x: 3}}",
         {"item", DT_E_WRONG_TYPE, 1, 12, "x: expected a list, got 3", "write [3]"}},
        {"{lags: {x: [3, -1]}}",
         {"noun", DT_E_RANGE, 1, 16, "a lag must be in [0, 9], got -1", NULL}},
    };
    dt_arena *arena = dt_arena_create();
    struct others x;
    assert_null(read_others(arena, "{rate: {Dense: {part: 3}}, token: -7e0, flag: true}", &x));
    assert_true(x.rate == 0 && x.kind.kind && x.flag);
    assert_string_equal(x.token, "-7e0");
    assert_null(read_others(arena, "{rate: 0.5, lags: {x: [1], y: ~, z: [2, 3]}}", &x));
    assert_true(x.rate == 0.5 && !x.kind.kind && !x.token && !x.flag && x.lags.n == 2);
    assert_int_equal(((const dt_ints *)x.lags.v)[1].v[1], 3);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        dt_status *s = read_others(arena, bad[i].text, &x);
        check_fault(s, &bad[i].fault);
        assert_null(dt_status_next(s));
        dt_status_free(s);
    }
    dt_arena_destroy(arena);
}

/* A preset that its field refuses is our own mistake, and is said to be. */
static void test_wrong_preset_is_an_internal_error(void **state) {
    (void)state;
    static const dt_field fields[] = {
        DT_INT(struct fit, epochs, .min = 1, .preset = "0", .help = "x"), DT_END};
    dt_arena *arena = dt_arena_create();
    struct fit fit;
    dt_status *s = dt_fields_read(arena, fields, NULL, NULL, NULL, &fit);
    check_fault(s, &(expected){"preset", DT_E_INTERNAL, 0, 0,
                               "default of 'epochs': epochs must be at least 1, got 0", NULL});
    dt_status_free(s);
    dt_arena_destroy(arena);
}

/* null is no wish for what is not there yet. */
static void test_not_yet(void **state) {
    (void)state;
    static const dt_field fields[] = {DT_NOT_YET("seed"), DT_END};
    dt_arena *arena = dt_arena_create();
    dt_source none = source_of("{seed: null}"), some = source_of("{seed: 7}");
    dt_tree *t;
    char unused;
    assert_null(dt_tree_parse(arena, &none, &t));
    assert_null(dt_fields_read(arena, fields, t, NULL, "Zeros", &unused));
    assert_null(dt_tree_parse(arena, &some, &t));
    dt_status *s = dt_fields_read(arena, fields, t, NULL, "Zeros", &unused);
    check_fault(s, &(expected){"not yet", DT_E_UNKNOWN_KEY, 1, 2,
                               "key 'seed' in Zeros is not implemented yet", "leave it out"});
    dt_status_free(s);
    dt_arena_destroy(arena);
}

/* A key of which one value is done anyway takes that value, however it is written, and no other. */
static void test_only_values(void **state) {
    (void)state;
    static const dt_field fields[] = {DT_ONLY("dropout", "0"), DT_ONLY("axes", "[1]"), DT_END};
    static const char *const good[] = {"{dropout: 0.0, axes: [1]}", "{dropout: 0}",
                                       "{dropout: null, axes: }"};
    static const char *const bad[] = {"{dropout: 0.5}", "{dropout: false}", "{dropout: '0'}"};
    dt_arena *arena = dt_arena_create();
    dt_tree *t;
    char unused;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        dt_source source = source_of(good[i]);
        assert_null(dt_tree_parse(arena, &source, &t));
        assert_null(dt_fields_read(arena, fields, t, NULL, "GRU", &unused));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        dt_source source = source_of(bad[i]);
        assert_null(dt_tree_parse(arena, &source, &t));
        dt_status *s = dt_fields_read(arena, fields, t, NULL, "GRU", &unused);
        check_fault(s, &(expected){"only", DT_E_UNKNOWN_KEY, 1, 2,
                                   "key 'dropout' in GRU is not implemented yet",
                                   "only its default, 0, is accepted"});
        dt_status_free(s);
    }
    dt_arena_destroy(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_a_number_for_a_list),
        cmocka_unit_test(test_a_value_is_read_by_the_form_that_fits),
        cmocka_unit_test(test_a_value_that_fits_no_form_is_refused),
        cmocka_unit_test(test_items_are_read_into_structs),
        cmocka_unit_test(test_faulty_items_are_left_out),
        cmocka_unit_test(test_other_forms),
        cmocka_unit_test(test_wrong_preset_is_an_internal_error),
        cmocka_unit_test(test_not_yet),
        cmocka_unit_test(test_only_values),
    };
    return cmocka_run_group_tests_name("conf/forms", tests, NULL, NULL);
}
