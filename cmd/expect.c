/* See expect.h. */
#include "expect.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

static const char *skip_blanks(const char *p)
{
    while (*p == ' ' || *p == '\t')
        p++;
    return p;
}

static const char *read_name(const char *p, struct expectation *e)
{
    size_t n = 0;
    while (isalnum((unsigned char)p[n]) || p[n] == '_')
        n++;
    if (n == 0 || n >= sizeof e->name)
        return NULL;
    memcpy(e->name, p, n);
    e->name[n] = '\0';
    return skip_blanks(p + n);
}

static const char *read_operator(const char *p, struct expectation *e)
{
    static const char *const operators[] = {">=", "<=", "==", ">", "<"}; /* the longer ones first */
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (strncmp(p, operators[i], strlen(operators[i])) == 0) {
            strcpy(e->op, operators[i]);
            return skip_blanks(p + strlen(operators[i]));
        }
    return NULL;
}

/* A decimal number and nothing after it; strtod alone would take "nan" and "0x1p3". */
static bool read_number(const char *p, struct expectation *e)
{
    size_t n = strspn(p, "+-0123456789.eE");
    char *end;
    e->written = p;
    e->number = strtod(p, &end);
    return n > 0 && end == p + n && *skip_blanks(end) == '\0' && isfinite(e->number);
}

static bool parse(const char *text, struct expectation *e)
{
    const char *p = read_name(skip_blanks(text), e);
    if (p)
        p = read_operator(p, e);
    return p && read_number(p, e);
}

dt_status *expect_parse(const struct call *call, struct words texts, struct expectations *e)
{
    e->n = 0;
    if (texts.n > MOST_EXPECTATIONS)
        return usage_error(call, "at most %d --expect can be given", MOST_EXPECTATIONS);
    for (int i = 0; i < texts.n; i++)
        if (!parse(texts.at[i], &e->at[e->n++]))
            return usage_error(call, "--expect: expected NAME OP NUMBER with >=, <=, >, < or ==, as in 'val_accuracy>=0.94'; got '%s'",
                               cut_word(texts.at[i]).text);
    return NULL;
}

static bool is_of_training(const char *name)
{
    return strncmp(name, "val_", 4) == 0 || strcmp(name, "learning_rate") == 0;
}

enum { MOST_NAMES = 512 };

/* The metrics that will be reported; some only by fit. */
static int list_metrics(const dt_job *job, bool training, const char **names, int most)
{
    int n = 0;
    const char *name;
    for (int i = 0; n < most && (name = dt_job_metric(job, i)); i++)
        if (training || !is_of_training(name))
            names[n++] = name;
    return n;
}

static bool is_listed(const char *name, const char *const *names, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

dt_status *expect_check(const struct expectations *e, const dt_job *job, bool training)
{
    const char *names[MOST_NAMES];
    int n = list_metrics(job, training, names, MOST_NAMES);
    for (int i = 0; i < e->n; i++) {
        if (is_listed(e->at[i].name, names, n))
            continue;
        struct text known;
        text_open(&known);
        for (int k = 0; k < n; k++)
            fprintf(known.to, "%s%s", k ? ", " : "", names[k]);
        const char *nearest = dt_nearest(e->at[i].name, names, n);
        dt_status *s = dt_status_create(ERROR_EXPECT_METRIC, "--expect: the job has no metric '%s'; it reports %s%s%s%s", e->at[i].name,
                                        text_bytes(&known), nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
        text_close(&known);
        return s;
    }
    return NULL;
}

static bool holds(const struct expectation *e, double value)
{
    bool equal = value == e->number;
    if (e->op[0] == '>')
        return value > e->number || (e->op[1] && equal);
    if (e->op[0] == '<')
        return value < e->number || (e->op[1] && equal);
    return equal;
}

static dt_status *broken(const struct expectation *e, double value)
{
    struct text got;
    text_open(&got);
    put_shortest(got.to, value);
    dt_status *s = isnan(value) ? dt_status_create(ERROR_EXPECT, "expected %s %s %s, but it has no value", e->name, e->op, e->written)
                                : dt_status_create(ERROR_EXPECT, "expected %s %s %s, got %s", e->name, e->op, e->written, text_bytes(&got));
    text_close(&got);
    return s;
}

int expect_judge(const struct expectations *e, const struct watch *w)
{
    int code = 0;
    for (int i = 0; i < e->n; i++) {
        double value = watch_value(w, e->at[i].name);
        if (!holds(&e->at[i], value))
            code = watch_error(w, broken(&e->at[i], value));
    }
    return code;
}
