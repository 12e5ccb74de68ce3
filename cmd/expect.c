/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what expect.h declares. */
#include "expect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json_load.h"
#include "print.h"

static const char *skip_blanks(const char *p) {
    while (*p == ' ' || *p == '\t') p++;
    return p;
}

/* Reads a metric's name. It ends at an operator or a blank, since names contain neither. */
static const char *read_name(const char *p, struct expectation *e) {
    e->name = p;
    e->bytes = strcspn(p, " \t\r\n<>=!");
    return e->bytes ? skip_blanks(p + e->bytes) : NULL;
}

static const char *read_operator(const char *p, struct expectation *e) {
    /* longer operators come first, so that ">" does not match the beginning of ">=" */
    static const char *const operators[] = {">=", "<=", "==", ">", "<"};
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (strncmp(p, operators[i], strlen(operators[i])) == 0) {
            strcpy(e->op, operators[i]);
            return skip_blanks(p + strlen(operators[i]));
        }
    return NULL;
}

/* Reads a decimal number that ends the text. strtod alone would also accept "nan" and "0x1p3". */
static bool read_number(const char *p, struct expectation *e) {
    size_t n = strspn(p, "+-0123456789.eE");
    char *end;
    e->written = p;
    e->number = strtod(p, &end);
    return n > 0 && end == p + n && *skip_blanks(end) == '\0' && isfinite(e->number);
}

/* Finds the offset at the end of a text, as in "runs/main - 0.005". Returns the last blank that a
 * sign and another blank follow; NULL: there is none. */
static const char *find_offset(const char *p) {
    const char *found = NULL;
    for (; *p; p++)
        if ((p[0] == ' ' || p[0] == '\t') && (p[1] == '+' || p[1] == '-') &&
            (p[2] == ' ' || p[2] == '\t'))
            found = p;
    return found;
}

/* Whether the first n bytes are a path: they contain '/', end in .json, or name an existing file or
 * folder. A mistyped number does none of these. */
static bool is_path(const char *p, size_t n) {
    if (memchr(p, '/', n) || (n > 5 && memcmp(p + n - 5, ".json", 5) == 0)) return true;
    dt_local_str path = {0};
    dt_str_add(&path, p, n);
    return access(dt_str_text(&path), F_OK) == 0;
}

static bool read_baseline(const char *p, struct expectation *e) {
    const char *offset = find_offset(p);
    size_t n = offset ? (size_t)(offset - p) : strlen(p);
    while (n > 0 && (p[n - 1] == ' ' || p[n - 1] == '\t')) n--;
    if (n == 0 || !is_path(p, n)) return false;
    e->number = 0;
    if (offset && !read_number(skip_blanks(offset + 2), e)) return false;
    if (offset && offset[1] == '-') e->number = -e->number;
    e->baseline = e->written = p;
    e->baseline_bytes = n;
    return true;
}

static bool parse(const char *text, struct expectation *e) {
    const char *p = read_name(skip_blanks(text), e);
    if (p) p = read_operator(p, e);
    return p && (read_number(p, e) || read_baseline(p, e));
}

dt_status *expect_parse(const struct call *call, struct words texts, struct expectations *e) {
    e->n = 0;
    if (texts.n > MOST_EXPECTATIONS)
        return usage_error(call, "at most %d --expect can be given", MOST_EXPECTATIONS);
    for (; e->n < texts.n; e->n++) {
        struct expectation *x = &e->at[e->n];
        *x = (struct expectation){0};
        if (!parse(texts.at[e->n], x))
            return usage_error(call,
                               "--expect: expected NAME OP NUMBER with >=, <=, >, < or ==, as in "
                               "'val_accuracy>=0.94' or 'accuracy >= runs/main - 0.005'; got "
                               "'%s'",
                               cut_word(texts.at[e->n]).text);
    }
    return NULL;
}

static bool is_of_training(const char *name) {
    return strncmp(name, "val_", 4) == 0 || strcmp(name, "learning_rate") == 0;
}

/* Enough names for a job's metrics: twice the 256 values that metrics may have, for training and
 * validation, the losses of 32 outputs, and their sum. */
enum { MOST_NAMES = 1024 };

/* Lists the names of the metrics that a run of the job will report. training: also lists the
 * metrics that only `fit` reports. */
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
    dt_local_str name = {0}, known = {0};
    dt_str_add(&name, e->name, e->bytes);
    for (int i = 0; i < n; i++) dt_str_printf(&known, "%s%s", i ? ", " : "", names[i]);
    const char *nearest = dt_nearest(dt_str_text(&name), names, n);
    return dt_status_create(
        ERROR_EXPECT_METRIC, "--expect: the job has no metric '%s'; it reports %s%s%s%s",
        cut_word(dt_str_text(&name)).text, dt_str_text(&known), nearest ? "; did you mean '" : "",
        nearest ? nearest : "", nearest ? "'?" : "");
}

/* Reads a metric from a file that contains one JSON object, as --metrics writes it. */
static dt_status *read_file(const char *path, const char *name, double *value) {
    enum { MOST = 1 << 20 };
    dt_str text = {0};
    DT_TRY(dt_file_read(path, MOST, &text));
    json_t *root = dt_json_load(dt_str_text(&text), text.size, 0, NULL);
    const json_t *x = json_object_get(root, name);
    const bool is_object = json_is_object(root);
    *value = json_is_number(x) ? json_number_value(x) : (double)NAN;
    json_decref(root);
    dt_str_release(&text);
    return is_object ? NULL
                     : dt_status_create(ERROR_EXPECT_METRIC,
                                        "--expect: %s is not an object of metrics, as --metrics "
                                        "writes it",
                                        cut_word(path).text);
}

/* Reads the metric NAME of a results file into *value; NaN: the file does not have it. A results
 * file of `fit` has a training metric as NAME and the validation metric as val_NAME: if `split` is
 * "validation", val_NAME is preferred. */
static dt_status *read_either(const char *path, const dt_str *name, const char *split,
                              double *value) {
    dt_local_str own = {0};
    dt_status *s = NULL;
    *value = (double)NAN;
    dt_str_printf(&own, "val_%s", dt_str_text(name));
    if (split && strcmp(split, "validation") == 0) s = read_file(path, dt_str_text(&own), value);
    if (!s && isnan(*value)) s = read_file(path, dt_str_text(name), value);
    return s;
}

/* Changes *name to the name under which a run reports this metric: val_NAME if `split` is
 * "validation"; NAME if it is "train" or NULL. For any other split fails, because a run does not
 * report its metrics. `path` names the run in the error. */
static dt_status *name_in_run(const char *split, const char *path, dt_str *name) {
    dt_str own = {0};
    if (!split || strcmp(split, "train") == 0) return NULL;
    if (strcmp(split, "validation") != 0)
        return dt_status_create(ERROR_EXPECT_METRIC,
                                "--expect: the run %s has no metrics of the %s data; give a file "
                                "that 'dtrain evaluate --metrics FILE.json' wrote",
                                cut_word(path).text, split);
    dt_str_printf(&own, "val_%s", dt_str_text(name));
    dt_str_release(name);
    *name = own;
    return NULL;
}

static dt_status *read_value(const char *path, dt_str *name, const char *split, double *value) {
    const size_t n = strlen(path);
    if (n > 5 && strcmp(path + n - 5, ".json") == 0) return read_either(path, name, split, value);
    DT_TRY(name_in_run(split, path, name));
    return dt_run_metric(path, dt_str_text(name), value);
}

static dt_status *resolve(struct expectation *e, const char *split) {
    dt_local_str path = {0}, name = {0};
    double value = (double)NAN;
    if (!e->baseline || e->resolved) return NULL;
    dt_str_add(&path, e->baseline, e->baseline_bytes);
    dt_str_add(&name, e->name, e->bytes);
    dt_status *s = read_value(dt_str_text(&path), &name, split, &value);
    if (!s && isnan(value))
        s = dt_status_create(ERROR_EXPECT_METRIC, "--expect: %s has no metric '%s'",
                             cut_word(dt_str_text(&path)).text, cut_word(dt_str_text(&name)).text);
    e->number += value;
    e->resolved = true;
    return s;
}

dt_status *expect_check(struct expectations *e, const dt_job *job, const char *split) {
    const char *names[MOST_NAMES];
    int n = list_metrics(job, !split, names, MOST_NAMES);
    for (int i = 0; i < e->n; i++) {
        if (!is_listed(&e->at[i], names, n)) return unknown(&e->at[i], names, n);
        DT_TRY(resolve(&e->at[i], split));
    }
    return NULL;
}

void expect_put(dt_str *to, const struct expectation *e) {
    dt_str_printf(to, "%.*s %s %s", (int)e->bytes, e->name, e->op, e->written);
    if (!e->baseline) return;
    dt_str_puts(to, " (");
    dt_str_double(to, e->number);
    dt_str_putc(to, ')');
}

bool expect_holds(const struct expectation *e, double value) {
    bool equal = value == e->number;
    if (e->op[0] == '>') return value > e->number || (e->op[1] && equal);
    if (e->op[0] == '<') return value < e->number || (e->op[1] && equal);
    return equal;
}

static dt_status *broken(const struct expectation *e, double value) {
    dt_local_str got = {0}, wanted = {0};
    expect_put(&wanted, e);
    if (isnan(value)) dt_str_puts(&got, "but it has no value");
    else dt_str_double(&got, value);
    return dt_status_create(ERROR_EXPECT, "expected %s, %s%s", dt_str_text(&wanted),
                            isnan(value) ? "" : "got ", dt_str_text(&got));
}

int expect_judge(const struct expectations *e, const struct watch *w) {
    int code = 0;
    for (int i = 0; i < e->n; i++) {
        double value = watch_value(w, e->at[i].name, e->at[i].bytes);
        if (!expect_holds(&e->at[i], value)) code = watch_error(w, broken(&e->at[i], value));
    }
    return code;
}
