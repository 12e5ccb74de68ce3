/* SPDX-License-Identifier: Apache-2.0 */
/* See expect.h. */
#include "expect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "print.h"

static const char *skip_blanks(const char *p) {
    while (*p == ' ' || *p == '\t') p++;
    return p;
}

/* A metric's name ends at an operator or a blank, since names have neither. */
static const char *read_name(const char *p, struct expectation *e) {
    e->name = p;
    e->bytes = strcspn(p, " \t\r\n<>=!");
    return e->bytes ? skip_blanks(p + e->bytes) : NULL;
}

static const char *read_operator(const char *p, struct expectation *e) {
    static const char *const operators[] = {">=", "<=", "==", ">", "<"}; /* the longer ones first */
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (strncmp(p, operators[i], strlen(operators[i])) == 0) {
            strcpy(e->op, operators[i]);
            return skip_blanks(p + strlen(operators[i]));
        }
    return NULL;
}

/* A decimal number and nothing after it; strtod alone would take "nan" and "0x1p3". */
static bool read_number(const char *p, struct expectation *e) {
    size_t n = strspn(p, "+-0123456789.eE");
    char *end;
    e->written = p;
    e->number = strtod(p, &end);
    return n > 0 && end == p + n && *skip_blanks(end) == '\0' && isfinite(e->number);
}

static bool parse(const char *text, struct expectation *e) {
    const char *p = read_name(skip_blanks(text), e);
    if (p) p = read_operator(p, e);
    return p && read_number(p, e);
}

dt_status *expect_parse(const struct call *call, struct words texts, struct expectations *e) {
    e->n = 0;
    if (texts.n > MOST_EXPECTATIONS)
        return usage_error(call, "at most %d --expect can be given", MOST_EXPECTATIONS);
    for (int i = 0; i < texts.n; i++)
        if (!parse(texts.at[i], &e->at[e->n++]))
            return usage_error(call,
                               "--expect: expected NAME OP NUMBER with >=, <=, >, < or ==, as in "
                               "'val_accuracy>=0.94'; got '%s'",
                               cut_word(texts.at[i]).text);
    return NULL;
}

static bool is_of_training(const char *name) {
    return strncmp(name, "val_", 4) == 0 || strcmp(name, "learning_rate") == 0;
}

/* 256 numbers of metrics, losses of 32 outputs and their sum, twice, are fewer */
enum { MOST_NAMES = 1024 };

/* The metrics that will be reported; some only by fit. */
static int list_metrics(const dt_job *job, bool training, const char **names, int most) {
    int n = 0;
    const char *name;
    for (int i = 0; n < most && (name = dt_job_metric(job, i)); i++)
        if (training || !is_of_training(name)) names[n++] = name;
    return n;
}

static bool is_listed(const struct expectation *e, const char *const *names, int n) {
    for (int i = 0; i < n; i++)
        if (strlen(names[i]) == e->bytes && memcmp(names[i], e->name, e->bytes) == 0) return true;
    return false;
}

static dt_status *unknown(const struct expectation *e, const char *const *names, int n) {
    dt_str name = {0}, known = {0};
    dt_str_add(&name, e->name, e->bytes);
    for (int i = 0; i < n; i++) dt_str_printf(&known, "%s%s", i ? ", " : "", names[i]);
    const char *nearest = dt_nearest(dt_str_text(&name), names, n);
    dt_status *s = dt_status_create(
        ERROR_EXPECT_METRIC, "--expect: the job has no metric '%s'; it reports %s%s%s%s",
        cut_word(dt_str_text(&name)).text, dt_str_text(&known), nearest ? "; did you mean '" : "",
        nearest ? nearest : "", nearest ? "'?" : "");
    dt_str_release(&known);
    dt_str_release(&name);
    return s;
}

dt_status *expect_check(const struct expectations *e, const dt_job *job, bool training) {
    const char *names[MOST_NAMES];
    int n = list_metrics(job, training, names, MOST_NAMES);
    for (int i = 0; i < e->n; i++)
        if (!is_listed(&e->at[i], names, n)) return unknown(&e->at[i], names, n);
    return NULL;
}

bool expect_holds(const struct expectation *e, double value) {
    bool equal = value == e->number;
    if (e->op[0] == '>') return value > e->number || (e->op[1] && equal);
    if (e->op[0] == '<') return value < e->number || (e->op[1] && equal);
    return equal;
}

static dt_status *broken(const struct expectation *e, double value) {
    dt_str got = {0};
    if (isnan(value)) dt_str_puts(&got, "but it has no value");
    else dt_str_double(&got, value);
    dt_status *s =
        dt_status_create(ERROR_EXPECT, "expected %.*s %s %s, %s%s", (int)e->bytes, e->name, e->op,
                         e->written, isnan(value) ? "" : "got ", dt_str_text(&got));
    dt_str_release(&got);
    return s;
}

int expect_judge(const struct expectations *e, const struct watch *w) {
    int code = 0;
    for (int i = 0; i < e->n; i++) {
        double value = watch_value(w, e->at[i].name, e->at[i].bytes);
        if (!expect_holds(&e->at[i], value)) code = watch_error(w, broken(&e->at[i], value));
    }
    return code;
}
