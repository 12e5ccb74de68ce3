/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every key that a job may have, with values that it cannot have: of another type, past its limits,
 * too large for any number, made to be printed. The keys are those that dt_job_keys tells, so that
 * a new one is tried without a line here. A wrong value is refused with 78, the message names the
 * key; whatever a value is, reading ends with a documented code and nothing of it reaches a
 * terminal unescaped.
 */
#define HERE "build/tmp/job_every_key"
#include "kit.h"

#include "dtrain.h"

enum { LONGEST = 1024 };

typedef struct tried {
    int keys, values, refused;
} tried;

/* ---- where a key stands ---- */

/* "a.b" and 7: "a: {b: 7}"; a name that a job chooses, "*", is "any". */
static int nest(const char *path, const char *value, char *out, size_t size, int open) {
    int n = 0;
    for (const char *dot; (dot = strchr(path, '.')); path = dot + 1, open++)
        n += snprintf(out + n, size - (size_t)n, "%.*s: {", *path == '*' ? 3 : (int)(dot - path),
                      *path == '*' ? "any" : path);
    n += snprintf(out + n, size - (size_t)n, "%s: %s", path, value);
    while (open-- > 0) n += snprintf(out + n, size - (size_t)n, "}");
    return n;
}

/* Keys of kinds, by where the kind is named: between head and tail stands "Kind: {key: value}", or
 * the kind's name and "key: value" beside it. */
static const struct {
    const char *stem, *head, *tail;
    bool beside;
} places[] = {
    {"strategy.", "strategy={type: ", "}", true},
    {"dataset.", "dataset={global_batch_size: 8, format: ", "}", true},
    {"model.layers[].", "model.layers=[{Input: {name: image, shape: [8]}}, {",
     "}, {Dense: {units: 3}}]", false},
    {"compile.optimizer.*.learning_rate.", "compile.optimizer.SGD.learning_rate={", "}", false},
    {"compile.optimizer.", "compile.optimizer={", "}", false},
    {"compile.loss.", "compile.loss={", "}", false},
    {"compile.metrics[].", "compile.metrics=[{", "}]", false},
    {"fit.callbacks[].", "fit.callbacks=[{", "}]", false},
};

/* The override that gives a key that value, on the tiny job. */
static void put_override(const dt_job_key *k, const char *value, char *out, size_t size) {
    int n;
    for (size_t i = 0; k->kind && i < sizeof places / sizeof *places; i++) {
        size_t stem = strlen(places[i].stem);
        if (strncmp(k->path, places[i].stem, stem) != 0) continue;
        n = snprintf(out, size, "%s%s%s", places[i].head, places[i].beside ? k->kind : "",
                     places[i].beside ? ", " : "");
        n += nest(k->path + stem, value, out + n, size - (size_t)n, 0);
        snprintf(out + n, size - (size_t)n, "%s", places[i].tail);
        return;
    }
    if (k->kind) fail_msg("no place for %s", k->path);
    snprintf(out, size, "%s=%s", k->path, value);
}

/* ---- values ---- */

/* And the types that cannot have them. */
static const struct {
    const char *value, *not_of;
} values[] = {
    {"xyzzy", "integer number boolean name integers numbers mapping list"},
    {"[1, 2]", "integer number boolean text name mapping scalar"},
    {"{xyzzy: 1}", "integer number boolean text name integers numbers texts list scalar mapping"},
    {"[[[]]]", "integer number boolean text name integers numbers texts mapping scalar"},
    {"1.5", "integer boolean name integers mapping list"},
    {"99999999999999999999999999", "integer boolean name integers mapping list"},
    {"1e400", "integer number boolean name integers numbers mapping list"},
    {".nan", "integer number boolean name integers numbers mapping list"},
    {"-9223372036854775808", "boolean name mapping list"},
    {"010", "integer boolean name mapping list"},
    {"yes", "integer number boolean name integers numbers mapping list"},
    {"\"\\e[2J\\x9b\\n\"", "integer number boolean name integers numbers mapping list"},
    {"\"\"", "integer number boolean name integers numbers mapping list"},
    {"{}", "integer number boolean text name integers numbers texts list scalar"},
    {"[]", "integer number boolean text name mapping scalar"},
    {"null", ""},
    {"true", "integer number name integers numbers mapping list"},
};

/* Keys that are only told of have no type. */
static bool has_word(const char *words, const char *word) {
    size_t n = strlen(word);
    for (const char *at = words; n > 0 && (at = strstr(at, word)); at += n)
        if ((at == words || at[-1] == ' ') && (at[n] == '\0' || at[n] == ' ')) return true;
    return false;
}

/* ---- trying one ---- */

static bool is_documented(int code) {
    return code == 0 || code == 65 || code == 66 || code == 69 || code == 77 || code == 78;
}

static void check_text(const char *override, const char *text) {
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if ((*c < ' ' && *c != '\n') || *c == 127 || (*c == 0xc2 && c[1] < 0xa0))
            fail_msg("%s: a control character in: %s", override, text);
    if (strlen(text) > 65536) fail_msg("%s: %zu bytes are said", override, strlen(text));
}

/* The last name of a path. */
static const char *own_name(const char *path) {
    const char *dot = strrchr(path, '.');
    return dot ? dot + 1 : path;
}

/* What stands below a name that a job chooses may be refused for that name. */
static bool is_below_chosen(const dt_job_key *k) {
    return strncmp(k->path, "dataset.element.*", 17) == 0;
}

/* In a message itself, not in the line that is shown below it; or what is wrong is a name: within
 * it, or one of a kind ("unknown optimizer"). */
static bool names(const dt_status *s, const char *name) {
    for (; s; s = dt_status_next(s)) {
        const char *text = dt_status_text(s);
        if (strstr(text, name) || strstr(text, "xyzzy") || strncmp(text, "unknown ", 8) == 0)
            return true;
    }
    return false;
}

static void try(tried *t, const dt_job_key *k, const char *value, bool is_wrong) {
    char override[LONGEST];
    dt_job *job = NULL;

    put_override(k, value, override, sizeof override);
    dt_status *s = open_job(&job, &(opening){"tiny.yaml", {override}, DT_FOR_FIT});
    if (!s) s = dt_job_check_data(job);
    int code = s ? (int)dt_status_code(s) : 0;
    char *text = s ? dt_status_format(s) : NULL;

    t->values++;
    t->refused += code != 0;
    if (!is_documented(code) || (is_wrong && code == 0))
        fail_msg("%s: exit %d: %s", override, code, text ? text : "taken");
    if (text) check_text(override, text);
    if (is_wrong && !is_below_chosen(k) && !names(s, own_name(k->path)))
        fail_msg("%s: not named in: %s", override, text);
    free(text);
    dt_status_free(s);
    dt_job_unref(job);
}

static void try_number(tried *t, const dt_job_key *k, double number, bool is_wrong) {
    char text[64];
    snprintf(text, sizeof text, "%.17g", number);
    try(t, k, text, is_wrong);
}

/* What is just within limits may be right or too much for the job. */
static void try_limits(tried *t, const dt_job_key *k) {
    if (strcmp(k->type, "integer") != 0 && strcmp(k->type, "number") != 0) return;
    if (k->has_min) {
        try_number(t, k, k->min, k->above_min);
        try_number(t, k, k->min - 1, true);
    }
    if (k->has_max && k->max < 1e15) {
        try_number(t, k, k->max, k->below_max);
        try_number(t, k, k->max + 1, true);
    }
    try_number(t, k, 2147483648, false);
    try_number(t, k, 4611686018427387904, false);
    try_number(t, k, 1e-300, false);
}

static void try_key(const dt_job_key *k, void *user) {
    tried *t = user;
    t->keys++;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        try(t, k, values[i].value, has_word(values[i].not_of, k->type));
    try_limits(t, k);
}

static void test_every_key(void **state) {
    tried t = {0};
    (void)state;
    write_job("tiny.yaml", -1, "");
    dt_job_keys(try_key, &t);
    assert_true(t.keys > 500 && t.refused > 5000);
    print_message("%d keys, %d values, %d refused\n", t.keys, t.values, t.refused);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_key),
    };
    return cmocka_run_group_tests_name("job/every_key", tests, make_here, NULL);
}
