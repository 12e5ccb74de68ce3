/* SPDX-License-Identifier: Apache-2.0 */
/* Trees: what YAML texts become, where their nodes stand, and the catalogue of texts that become
 * none. */
#include "sample_job.h"

#include "conf/conf_impl.h"

/* ---- refused ---- */

typedef struct text_case {
    const char *text;
    expected fault;
} text_case;

#define SYNTAX DT_E_YAML_SYNTAX

static const text_case refused[] = {
    /* nothing */
    {"", {"Y01", DT_E_EMPTY_JOB, 1, 1, "the job is empty", NULL}},
    {"# a\n\n  # b\n", {"Y02", DT_E_EMPTY_JOB, 1, 1, "the job is empty", NULL}},
    {"---\n", {"Y02, a bare document", DT_E_EMPTY_JOB, 1, 1, "the job is empty", NULL}},
    {"\xef\xbb\xbf", {"Y02, a byte order mark", DT_E_EMPTY_JOB, 1, 1, "the job is empty", NULL}},
    /* tabs */
    {"fit:\n\tepochs: 1\n", {"Y03", SYNTAX, 2, 1, "tab character in indentation", "use spaces"}},
    {"\tfit: 1\n", {"Y03, first line", SYNTAX, 1, 1, "tab character in indentation", "use spaces"}},
    {"a: x\n\tb: 1\n",
     {"Y03, behind a scalar", SYNTAX, 2, 1, "tab character in indentation", "use spaces"}},
    {"a:\n  - b: 1\n\t  c: 2\n",
     {"Y03, in a list", SYNTAX, 3, 1, "tab character in indentation", "use spaces"}},
    {"a: |\n x\n\ty\n",
     {"Y03, in a block scalar", SYNTAX, 3, 1, "tab character in indentation", "use spaces"}},
    /* brackets */
    {"a: [1, 2\nb: 3\n", {"Y04", SYNTAX, 1, 4, "'[' opened at line 1 is never closed", NULL}},
    {"x: 1\na: {b: 1\nc: 2\n",
     {"Y04, braces", SYNTAX, 2, 4, "'{' opened at line 2 is never closed", NULL}},
    {"a: [1,\n\n", {"Y04, at the end", SYNTAX, 1, 4, "'[' opened at line 1 is never closed", NULL}},
    {"a: [1, 2\nb: [3] # don't ]\nc: {d: ']'}\n",
     {"Y04, others are closed", SYNTAX, 1, 4, "'[' opened at line 1 is never closed", NULL}},
    {"a: [1, \"]\", 'it''s'\nb: 1\n",
     {"Y04, quoted brackets", SYNTAX, 1, 4, "'[' opened at line 1 is never closed", NULL}},
    {"a: [1, 2}\n", {"wrong bracket", SYNTAX, 1, 9, "'}' closes the '[' opened at line 1", NULL}},
    {"a: [b]]\n", {"bracket too many", SYNTAX, 1, 7, "']' closes nothing", NULL}},
    {"a: [1, }\n",
     {"wrong bracket for a value", SYNTAX, 1, 8, "'}' closes the '[' opened at line 1", NULL}},
    {"b: }\n", {"bracket for a value", SYNTAX, 1, 4, "'}' closes nothing", NULL}},
    {"a: [\"CPU:0, \"CPU:1\"]\n",
     {"comma missing", SYNTAX, 1, 14, "expected ',' or ']', for the '[' opened at line 1", NULL}},
    {"a: [1, , 2]\n", {"value missing", SYNTAX, 1, 8, "expected a value", NULL}},
    /* quotes */
    {"a: 1\nb: \"x\nc: 3\n",
     {"Y05", SYNTAX, 2, 4, "quoted string opened at line 2 is never closed", NULL}},
    {"a: 'x\nb: 3\n",
     {"Y05, single", SYNTAX, 1, 4, "quoted string opened at line 1 is never closed", NULL}},
    {"a: {b: 'x}\nc: 1\n",
     {"Y05, in braces", SYNTAX, 1, 8, "quoted string opened at line 1 is never closed", NULL}},
    {"a: \"x\nb: 1\nc: \"y\"\n",
     {"Y05, up to the next quote", SYNTAX, 1, 4, "quoted string opened at line 1 is never closed",
      NULL}},
    {"a: 'it's'\n",
     {"text behind a quote", SYNTAX, 1, 8, "text follows a quoted string",
      "quote the whole value"}},
    {"a: \"\\q\"\n",
     {"escape", SYNTAX, 1, 5, "unknown escape in a string in double quotes",
      "write \\\\ for a backslash"}},
    /* keys twice */
    {"fit: 1\nseed: 2\nfit: 3\n",
     {"Y06", DT_E_DUPLICATE_KEY, 3, 1, "duplicate key 'fit', first given at line 1", NULL}},
    {"a: {x: 1, x: 1}\n",
     {"Y07", DT_E_DUPLICATE_KEY, 1, 11, "duplicate key 'x', first given at line 1", NULL}},
    {"a:\n  x: 1\n  \"x\": 2\n",
     {"Y07, quoted", DT_E_DUPLICATE_KEY, 3, 3, "duplicate key 'x', first given at line 2", NULL}},
    /* documents */
    {"a: 1\n---\nb: 2\n", {"Y08", DT_E_MANY_DOCUMENTS, 2, 1, "more than one YAML document", NULL}},
    {"a: 1\n...\n# end\n--- {}\n",
     {"Y08, ended", DT_E_MANY_DOCUMENTS, 4, 1, "more than one YAML document", NULL}},
    {"---\n---\n",
     {"Y08, empty ones", DT_E_MANY_DOCUMENTS, 2, 1, "more than one YAML document", NULL}},
    {"{a: 1} b\n", {"text behind the root", SYNTAX, 1, 8, "text follows the end of the job", NULL}},
    {"%TAG !a! b\n---\na: 1\n",
     {"directive", DT_E_YAML_FEATURE, 1, 1, "%TAG directives are not supported", NULL}},
    {"# x\n%YAML 1.1\n%TAG !a! b\n---\na: 1\n",
     {"later directive", DT_E_YAML_FEATURE, 3, 1, "%TAG directives are not supported", NULL}},
    /* aliases */
    {"a: 1\nb: *nope\n", {"Y11", DT_E_BAD_ALIAS, 2, 4, "alias '*nope' has no anchor", NULL}},
    {"a: &a [*a]\n", {"Y12", DT_E_BAD_ALIAS, 1, 8, "alias '*a' refers to itself", NULL}},
    {"a: &a\n  b: {c: *a}\n",
     {"Y12, deeper", DT_E_BAD_ALIAS, 2, 10, "alias '*a' refers to itself", NULL}},
    /* bytes */
    {"a: 1\nb: x\x01y\n", {"Y17, not NUL", DT_E_JOB_BYTES, 2, 5, "control character 0x01", NULL}},
    {"a: x\x7fy\n", {"DEL", DT_E_JOB_BYTES, 1, 5, "control character 0x7f", NULL}},
    {"a: \xc3\xa4\xc2\x9b\n", {"C1", DT_E_JOB_BYTES, 1, 5, "control character 0x9b", NULL}},
    {"a: 1\rb: 2\r", {"CR alone", DT_E_JOB_BYTES, 1, 5, "control character 0x0d", NULL}},
    {"a: x\xe2\x80\xa8y\n",
     {"line separator", DT_E_JOB_BYTES, 1, 5, "character U+2028 is not allowed", NULL}},
    {"a: \xef\xbb\xbfx\n",
     {"byte order mark inside", DT_E_JOB_BYTES, 1, 4, "character U+FEFF is not allowed", NULL}},
    {"a: \"x\\0y\"\n",
     {"NUL as an escape", DT_E_JOB_BYTES, 1, 4, "control character 0x00 in a string", NULL}},
    {"a: \xc3\xa9\xff\n",
     {"Y18", DT_E_JOB_BYTES, 1, 5, "byte 0xff is not UTF-8", "save it as UTF-8"}},
    {"a: \xc3", {"Y18, cut", DT_E_JOB_BYTES, 1, 4, "byte 0xc3 is not UTF-8", "save it as UTF-8"}},
    {"a: \xed\xa0\x80\n",
     {"Y18, surrogate", DT_E_JOB_BYTES, 1, 4, "byte 0xed is not UTF-8", "save it as UTF-8"}},
    {"\xff\xfe"
     "a",
     {"UTF-16", DT_E_JOB_BYTES, 1, 1, "byte 0xff is not UTF-8", "save it as UTF-8"}},
    /* features */
    {"a: !!python/object {}\n",
     {"Y20", DT_E_YAML_FEATURE, 1, 4, "tag '!!python/object' is not supported", NULL}},
    {"a: !!int 3\n",
     {"Y20, standard", DT_E_YAML_FEATURE, 1, 4, "tag '!!int' is not supported", NULL}},
    {"a: !mine [1]\n",
     {"Y20, local", DT_E_YAML_FEATURE, 1, 4, "tag '!mine' is not supported", NULL}},
    {"a: !h!mine x\n", {"Y20, handle", DT_E_YAML_FEATURE, 1, 4, "tags are not supported", NULL}},
    {"c:\n  <<: 1\n",
     {"Y21", DT_E_YAML_FEATURE, 2, 7, "'<<' needs a mapping or a list of mappings, got 1", NULL}},
    {"a: &a {b: 1}\nc:\n  <<: [*a, x]\n",
     {"Y21 list", DT_E_YAML_FEATURE, 3, 7, "'<<' needs a mapping or a list of mappings, got a list",
      NULL}},
    {"a: &a {b: 1}\nc: {<<: *a, <<: *a}\n",
     {"Y21 twice", DT_E_DUPLICATE_KEY, 2, 13, "duplicate key '<<'", "write <<: [*FIRST, *SECOND]"}},
    {"[a, b]: 1\n", {"Y24", DT_E_YAML_FEATURE, 1, 1, "keys must be strings", NULL}},
    {"? {a: 1}\n: 1\n", {"Y24, mapping", DT_E_YAML_FEATURE, 1, 3, "keys must be strings", NULL}},
    {"? \n: 1\n", {"Y24, nothing", DT_E_YAML_FEATURE, 1, 2, "keys must be strings", NULL}},
    {"&k a: 1\n",
     {"anchor of a key", DT_E_YAML_FEATURE, 1, 4, "a key cannot have an anchor", NULL}},
    /* colons and indentation */
    {"a: b: c\n",
     {"colon in a value", SYNTAX, 1, 5, "unexpected ':'", "a value with ': ' in it needs quotes"}},
    {"fit\na: 1\n",
     {"colon missing", SYNTAX, 2, 2, "unexpected ':'",
      "line 1 lacks its ':', or this one is indented too far"}},
    {"a: 1\nfit\n",
     {"colon missing at the end", SYNTAX, 2, 1, "expected ':' after this key", "write KEY: VALUE"}},
    {": x\n", {"key missing", SYNTAX, 1, 1, "expected a key before ':'", NULL}},
    {"a:\n  b: 1\n c: 2\n",
     {"indentation", SYNTAX, 3, 2,
      "expected another key or item of the block that begins at line 1",
      "does the indentation match that of line 1?"}},
    {"a: {b: 1\n  } c\n", {"text behind a value", SYNTAX, 2, 5, "text follows a value", NULL}},
    {"a: - b\n",
     {"list behind a key", SYNTAX, 1, 4, "unexpected '-'", "start the list on a new line"}},
    {"a: @b\n", {"reserved", SYNTAX, 1, 4, "'@' cannot begin a value", "put the value in quotes"}},
    {"%YAML 3.0\n---\na: 1\n", {"version", SYNTAX, 1, 1, "found incompatible YAML document", NULL}},
};

static void check_refused(const char *text, size_t size, const expected *fault) {
    dt_arena *arena = dt_arena_create();
    dt_source source = {"job.yaml", text, size};
    dt_tree *tree;
    dt_status *s = dt_tree_parse(arena, &source, &tree);
    check_fault(s, fault);
    if (dt_status_count(s) != 1) fail_msg("%s: %d faults", fault->id, dt_status_count(s));
    dt_status_free(s);
    dt_arena_destroy(arena);
}

static void test_refused_texts_are_named_at_their_place(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        check_refused(refused[i].text, strlen(refused[i].text), &refused[i].fault);
    check_refused("a: x\0y\n", 7,
                  &(expected){"Y17", DT_E_JOB_BYTES, 1, 5, "control character 0x00", NULL});
}

/* ---- accepted ---- */

static dt_tree *parse(dt_arena *arena, const char *text) {
    dt_source *source = dt_arena_new(arena, dt_source);
    *source = source_of(text);
    dt_tree *tree;
    dt_status *s = dt_tree_parse(arena, source, &tree);
    if (s) fail_msg("%s: %s", text, dt_status_text(s));
    return tree;
}

static void check_prints(const char *text, const char *json) {
    dt_arena *arena = dt_arena_create();
    dt_str printed = {0};
    dt_tree_print(parse(arena, text), &printed);
    assert_string_equal(dt_str_text(&printed), json);
    dt_str_release(&printed);
    dt_arena_destroy(arena);
}

static void test_accepted_texts(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"a: 1\nb: [x, {c: d}]\n", "{\"a\": 1, \"b\": [\"x\", {\"c\": \"d\"}]}"},
        /* Y19 */
        {"\xef\xbb\xbf"
         "a: 1\r\nb:\r\n  - x\r\n  - y\r\n",
         "{\"a\": 1, \"b\": [\"x\", \"y\"]}"},
        {"---\na: 1\n...\n# end\n", "{\"a\": 1}"},
        {"%YAML 1.1\n---\na: 1\n", "{\"a\": 1}"},
        {"a: {\n\tb: 1}\n", "{\"a\": {\"b\": 1}}"},
        {"a: don't # [\nb: see [1]\n", "{\"a\": \"don't\", \"b\": \"see [1]\"}"},
        {"a: sim:v3-8\n", "{\"a\": \"sim:v3-8\"}"},
        {"a: |\n  x\n  y\n", "{\"a\": \"x\\u000ay\\u000a\"}"},
        {"- Flatten\n- Dense: {units: 1}\n", "[\"Flatten\", {\"Dense\": {\"units\": 1}}]"},
        {"Adam", "\"Adam\""},
        {"[cast: float32]", "[{\"cast\": \"float32\"}]"},
        {"1: x\n~: y\n\"<<\": z\n", "{\"1\": \"x\", \"<<\": \"z\", \"~\": \"y\"}"},
        {"a: &a {x: [1]}\nb: *a\nc: &a 2\nd: [*a, *a]\n",
         "{\"a\": {\"x\": [1]}, \"b\": {\"x\": [1]}, \"c\": 2, \"d\": [2, 2]}"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        check_prints(pairs[i][0], pairs[i][1]);
}

/* Equal jobs have equal texts: order of keys, layout and the spelling of numbers do not matter;
 * quotes do. */
static void test_canonical_print(void **state) {
    (void)state;
    check_prints("{b: 1e-3, a: 1000}", "{\"a\": 1000, \"b\": 0.001}");
    check_prints("b: 0.001\na: 1e3 # as above\n", "{\"a\": 1000, \"b\": 0.001}");
    check_prints("[true, false, 'true', yes, ~, null, '', '~', +5, -0, 0.50]",
                 "[true, false, \"true\", \"yes\", null, null, \"\", \"~\", 5, 0, 0.5]");
    check_prints("[010, '5', .inf, 99999999999999999999, 0, 00, 1.5.2]",
                 "[\"010\", \"5\", \".inf\", \"99999999999999999999\", 0, \"00\", \"1.5.2\"]");
}

static void test_kinds_of_nodes(void **state) {
    (void)state;
    static const struct {
        const char *text;
        dt_tree_kind kind;
        bool quoted;
    } cases[] = {
        {"a: 1", DT_TREE_SCALAR, false},    {"a:", DT_TREE_NULL, false},
        {"a: ~", DT_TREE_NULL, false},      {"a: null", DT_TREE_NULL, false},
        {"a: Null", DT_TREE_SCALAR, false}, {"a: ''", DT_TREE_SCALAR, true},
        {"a: '~'", DT_TREE_SCALAR, true},   {"a: []", DT_TREE_LIST, false},
        {"a: {}", DT_TREE_MAP, false},      {"a: >\n x\n", DT_TREE_SCALAR, true},
    };
    dt_arena *arena = dt_arena_create();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const dt_tree *t = dt_tree_get(parse(arena, cases[i].text), "a");
        assert_int_equal(t->kind, cases[i].kind);
        assert_int_equal(t->quoted, cases[i].quoted);
    }
    assert_null(dt_tree_get(parse(arena, "[a]"), "a"));
    assert_null(dt_tree_get(NULL, "a"));
    dt_arena_destroy(arena);
}

/* ---- places ---- */

static void check_place(const dt_location *at, int line, int col, int width) {
    if (at->line != line || at->col != col || at->width != width)
        fail_msg("expected %d:%d+%d, got %d:%d+%d", line, col, width, at->line, at->col, at->width);
}

static void test_places(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    const dt_tree *t = parse(arena, "\xef\xbb\xbfgr\xc3\xb6\xc3\x9f"
                                    "er: 'x y'\r\nlist:\r\n  - one\r\n  - {k: &anchor  val, 'q': [ "
                                    "]}\r\nlong: \"a\r\n  b\"\r\n");
    check_place(&t->at, 1, 1, 0);
    check_place(&t->entry[0].key_at, 1, 1, 6);
    check_place(&t->entry[0].value->at, 1, 9, 5);
    const dt_tree *list = dt_tree_get(t, "list");
    check_place(&list->at, 3, 3, 0);
    check_place(&list->item[0]->at, 3, 5, 3);
    check_place(&list->item[1]->at, 4, 5, 0);
    check_place(&list->item[1]->entry[0].key_at, 4, 6, 1);
    check_place(&list->item[1]->entry[0].value->at, 4, 18, 3); /* the value, not its anchor */
    check_place(&list->item[1]->entry[1].key_at, 4, 23, 3);
    check_place(&list->item[1]->entry[1].value->at, 4, 28, 0);
    check_place(&dt_tree_get(t, "long")->at, 5, 7, 0);
    dt_arena_destroy(arena);
}

/* Excerpts found by the byte are those found by walking over the text. */
static void check_excerpt(const dt_location *at) {
    dt_location without = *at;
    without.offset = 0;
    dt_status *a = dt_fail(DT_E_RANGE, at, "x"), *b = dt_fail(DT_E_RANGE, &without, "x");
    char *with_text = dt_status_format(a), *without_text = dt_status_format(b);
    assert_string_equal(with_text, without_text);
    free(with_text);
    free(without_text);
    dt_status_free(a);
    dt_status_free(b);
}

static void check_excerpts(const dt_tree *t) {
    check_excerpt(&t->at);
    for (int i = 0; i < t->n; i++) {
        if (t->kind == DT_TREE_MAP) check_excerpt(&t->entry[i].key_at);
        check_excerpts(t->kind == DT_TREE_MAP ? t->entry[i].value : t->item[i]);
    }
}

static void test_bytes_of_places_lead_to_the_same_excerpts(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    dt_str text = {0};
    dt_str_puts(&text, sample_text);
    dt_str_puts(&text, "wide: {");
    for (int i = 0; i < 60; i++) dt_str_printf(&text, "k\xc3\xb6%d: [\xe2\x82\xac%d, 'x'], ", i, i);
    dt_str_puts(&text, "end: 1}\r\n\r\nlast:\t&a \"\xf0\x9f\x98\x80 y\" # z\r\nalias: *a\n");
    check_excerpts(parse(arena, dt_str_text(&text)));
    dt_str_release(&text);
    dt_arena_destroy(arena);
}

/* ---- aliases, limits ---- */

/* What follows from a value that is left out is not reported, so there is no tree to check. */
static void test_unknown_values_give_one_error(void **state) {
    static const char *const texts[] = {
        "*a",       "a: *b\n",           "a: [*b, 1]\n",   "a: {<<: *b, c: 1}\n",
        "*b : 1\n", "a: {*b : 1}\n",     "a: {<<: 1}\n",   "&k a: 1\n",
        "[a]: 1\n", "a: 1\nb: *c\nd: 2", "a: &a {b: *a}\n"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        dt_arena *arena = dt_arena_create();
        dt_source source = source_of(texts[i]);
        dt_tree *tree;
        dt_status *s = dt_tree_parse(arena, &source, &tree);
        if (dt_status_count(s) != 1 || tree) fail_msg("%s: %s", texts[i], dt_status_text(s));
        dt_status_free(s);
        dt_arena_destroy(arena);
    }
}

static void test_aliases_are_copies(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    dt_tree *t = parse(arena, "a: &a {x: [1, {y: 2}]}\nb: *a\n");
    dt_tree *a = dt_tree_get(t, "a"), *b = dt_tree_get(t, "b");
    assert_ptr_not_equal(a, b);
    assert_ptr_not_equal(dt_tree_get(a, "x")->item[1], dt_tree_get(b, "x")->item[1]);
    check_place(&dt_tree_get(b, "x")->item[1]->at, 1, 15, 0); /* where it is written */
    assert_null(dt_tree_override(arena, t, 1, "b.x.1.y=3"));
    assert_string_equal(dt_tree_get(dt_tree_get(a, "x")->item[1], "y")->text, "2");
    assert_string_equal(dt_tree_get(dt_tree_get(b, "x")->item[1], "y")->text, "3");
    dt_arena_destroy(arena);
}

/* levels lists in each other */
static char *nested(int levels, const char *open, const char *inside, const char *close) {
    dt_str s = {0};
    for (int i = 0; i < levels; i++) dt_str_puts(&s, open);
    dt_str_puts(&s, inside);
    for (int i = 0; i < levels; i++) dt_str_puts(&s, close);
    return dt_str_take(&s);
}

static void test_depth_limit_is_exact(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    char *fits = nested(64, "[", "1", "]"), *deeper = nested(65, "[", "1", "]");
    assert_non_null(parse(arena, fits));
    check_refused(
        deeper, strlen(deeper),
        &(expected){"65 levels", DT_E_JOB_LIMIT, 1, 65, "nesting deeper than 64 levels", NULL});
    free(fits);
    free(deeper);

    /* 32 levels below 32 levels fit, one more does not: what an alias brings counts as well. */
    char *below = nested(32, "[", "1", "]"), *above = nested(31, "[", "*a", "]"),
         *too_far = nested(32, "[", "*a", "]");
    assert_non_null(parse(arena, dt_arena_printf(arena, "{a: &a %s, b: %s}", below, above)));
    const char *text = dt_arena_printf(arena, "{a: &a %s,\nb: %s}", below, too_far);
    check_refused(
        text, strlen(text),
        &(expected){"alias", DT_E_JOB_LIMIT, 2, 36, "nesting deeper than 64 levels", NULL});
    free(below);
    free(above);
    free(too_far);
    dt_arena_destroy(arena);
}

/* Where brackets nest deeper than a job may, their ends are not looked for. */
static void test_syntax_error_before_deep_nesting(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    char *deep = nested(70, "[", "1", "]");
    const char *text = dt_arena_printf(arena, "a: [1\nb: %s\n", deep);
    check_refused(text, strlen(text),
                  &(expected){"deep", SYNTAX, 2, 2,
                              "expected ',' or ']', for the '[' opened at line 1", NULL});
    free(deep);
    dt_arena_destroy(arena);
}

/* n ones in a list */
static char *ones(int n) {
    dt_str s = {0};
    dt_str_putc(&s, '[');
    for (int i = 0; i < n; i++) dt_str_puts(&s, i ? ",1" : "1");
    dt_str_puts(&s, "]");
    return dt_str_take(&s);
}

static void test_node_limit_is_exact(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    char *fits = ones(9999), *more = ones(10000), *half = ones(4998);
    assert_int_equal(parse(arena, fits)->n, 9999);
    check_refused(more, strlen(more),
                  &(expected){"nodes", DT_E_JOB_LIMIT, 1, 20000, "more than 10000 nodes", NULL});
    /* 1 + 4999 + 4999 + 1 */
    assert_non_null(parse(arena, dt_arena_printf(arena, "{a: &a %s, b: *a, c: }", half)));
    const char *text = dt_arena_printf(arena, "{a: &a %s,\nc: , d: , b: *a}", half);
    check_refused(text, strlen(text),
                  &(expected){"alias", DT_E_JOB_LIMIT, 2, 14,
                              "aliases expand to more than 10000 nodes", NULL});
    free(fits);
    free(more);
    free(half);
    dt_arena_destroy(arena);
}

static void check_merged(dt_arena *arena, const char *yaml, const char *json) {
    dt_str text = {0};
    dt_tree_print(parse(arena, yaml), &text);
    assert_string_equal(dt_str_text(&text), json);
    dt_str_release(&text);
}

/* As PyYAML reads them: own keys win wherever they stand; of a list, the first mapping; nothing
 * below a key is merged. */
static void test_merge_keys(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    check_merged(
        arena, "a: &a {x: 1, y: {p: 1}}\nb: {<<: *a, y: {q: 2}, z: 3}\n",
        "{\"a\": {\"x\": 1, \"y\": {\"p\": 1}}, \"b\": {\"x\": 1, \"y\": {\"q\": 2}, \"z\": 3}}");
    check_merged(arena, "a: &a {x: 1}\nb: {x: 2, <<: *a}\n",
                 "{\"a\": {\"x\": 1}, \"b\": {\"x\": 2}}");
    check_merged(arena, "- &a {x: 1}\n- &b {x: 2, y: 2}\n- {<<: [*a, *b]}\n- {<<: [*b, *a]}\n",
                 "[{\"x\": 1}, {\"x\": 2, \"y\": 2}, {\"x\": 1, \"y\": 2}, {\"x\": 2, \"y\": 2}]");
    check_merged(arena, "- &a {x: 1}\n- &b {<<: *a, y: 2}\n- {<<: *b, z: 3}\n",
                 "[{\"x\": 1}, {\"x\": 1, \"y\": 2}, {\"x\": 1, \"y\": 2, \"z\": 3}]");
    check_merged(arena, "b:\n  <<: {x: 1}\n  \"<<\": 2\n", "{\"b\": {\"<<\": 2, \"x\": 1}}");
    check_merged(arena, "b: {<<: [], x: 1}\n", "{\"b\": {\"x\": 1}}");
    /* a merged entry keeps its place, for messages */
    const dt_tree *t = parse(arena, "a: &a\n  x: 1\nb:\n  <<: *a\n  y: 2\n");
    const dt_entry *x = dt_tree_get(t, "b")->entry;
    assert_string_equal(x->key, "x");
    assert_int_equal(x->key_at.line, 2);
    dt_arena_destroy(arena);
}

/* All faults are reported, and the tree is given back if none of them left something out of it. */
static void test_faults_that_leave_a_tree(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    dt_source whole = source_of("a: 1\na: 2\nb: !t 3\ne: 4\n"),
              not_whole = source_of("a: 1\na: 2\n<<: x\nb: !t 3\nc: *d\n[q]: {z: [1]}\ne: 4\n");
    dt_tree *t;
    dt_status *s = dt_tree_parse(arena, &not_whole, &t);
    assert_int_equal(dt_status_count(s), 5);
    assert_null(t);
    dt_status_free(s);
    s = dt_tree_parse(arena, &whole, &t);
    assert_int_equal(dt_status_count(s), 2);
    assert_non_null(t);
    dt_str text = {0};
    dt_tree_print(t, &text);
    assert_string_equal(dt_str_text(&text), "{\"a\": 1, \"b\": 3, \"e\": 4}");
    dt_str_release(&text);
    dt_status_free(s);
    dt_arena_destroy(arena);
}

static void test_syntax_error_comes_with_the_faults_before_it(void **state) {
    (void)state;
    dt_arena *arena = dt_arena_create();
    dt_source source = source_of("a: 1\na: 2\nb: [\n");
    dt_tree *t;
    dt_status *s = dt_tree_parse(arena, &source, &t);
    assert_null(t);
    check_fault(s, &(expected){"first", DT_E_DUPLICATE_KEY, 2, 1,
                               "duplicate key 'a', first given at line 1", NULL});
    check_fault(dt_status_next(s),
                &(expected){"second", SYNTAX, 3, 4, "'[' opened at line 3 is never closed", NULL});
    dt_status_free(s);
    dt_arena_destroy(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused_texts_are_named_at_their_place),
        cmocka_unit_test(test_accepted_texts),
        cmocka_unit_test(test_canonical_print),
        cmocka_unit_test(test_kinds_of_nodes),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_bytes_of_places_lead_to_the_same_excerpts),
        cmocka_unit_test(test_unknown_values_give_one_error),
        cmocka_unit_test(test_aliases_are_copies),
        cmocka_unit_test(test_depth_limit_is_exact),
        cmocka_unit_test(test_syntax_error_before_deep_nesting),
        cmocka_unit_test(test_node_limit_is_exact),
        cmocka_unit_test(test_merge_keys),
        cmocka_unit_test(test_faults_that_leave_a_tree),
        cmocka_unit_test(test_syntax_error_comes_with_the_faults_before_it),
    };
    return cmocka_run_group_tests_name("conf/tree", tests, NULL, NULL);
}
