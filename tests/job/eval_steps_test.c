/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps over rows of the batch, or over weights, have kernels: none runs as the op's own eval, cell
 * by cell. There is a job for each layer, loss, metric and optimizer, and for each of their
 * options. All these are listed by dt_job_keys, so a new one without a job fails this test. Each
 * job runs with one replica and with two that do not synchronize BatchNormalization, forward and
 * backward.
 *
 * A value for each example, f32[34], may be made by eval: it takes less time than a task. All else
 * stands in `exceptions`, with a reason.
 */
#define HERE "build/tmp/job_eval_steps"
#include "kit.h"

#include "eval_rows.h"

#include "dtrain.h"

enum {
    REPLICA = 17 /* examples of each of two; no layer has a dimension that it divides */,
    LARGE = 1000 /* elements of weights */,
    TEXT = 4096
};

typedef struct trying {
    const char *sort;
    const char *kind;    /* seen last, */
    const eval_row *row; /* and its row */
    int jobs, missing, without_kernel;
    bool used[N_EXCEPTIONS];
} trying;

static bool used[N_EXCEPTIONS]; /* by any test */

/* ---- one job ---- */

/* A type as the executable's text has it: f32[34,8,4]. More than a number for each example, or many
 * weights. */
static bool is_large(const char *type) {
    const char *at = strchr(type, '[');
    long n = 1;
    bool has_rows = false;
    while (at && *at && *at != ']') {
        char *end;
        const long dim = strtol(at + 1, &end, 10);
        n *= end > at + 1 ? dim : 1;
        has_rows |= dim > 0 && dim % REPLICA == 0;
        at = end;
    }
    return has_rows ? n > 2 * REPLICA : n >= LARGE;
}

/* "eval %7 add (f32[34,4], f32[34,4]) -> f32[34,4]" */
static bool works_on_large(const char *step) {
    bool large = false;
    for (const char *at = step; (at = strchr(at, '[')) != NULL; at++) large |= is_large(at);
    return large;
}

static bool is_excepted(trying *t, const char *what, const char *step) {
    for (int i = 0; i < N_EXCEPTIONS; i++)
        if (strstr(what, exceptions[i].what) && strstr(step, exceptions[i].step)) {
            t->used[i] = true;
            return true;
        }
    return false;
}

static void look_at(trying *t, const char *what, const char *executable) {
    for (const char *at = executable; (at = strstr(at, "  eval %")); at++) {
        char step[512];
        snprintf(step, sizeof step, "%.*s", (int)strcspn(at + 2, "\n"), at + 2);
        if (!works_on_large(step) || is_excepted(t, what, step)) continue;
        t->without_kernel++;
        print_error("%s: %s\n", what, step);
    }
}

static void lower(trying *t, const char *what, const char *job_text) {
    const dt_run_options options = {.threads = 2};
    char *executable = NULL;
    dt_job *job;

    write_job("job.yaml", 0, job_text);
    dt_status *s = open_job(&job, &(opening){"job.yaml", {NULL}, DT_FOR_FIT});
    if (!s) s = dt_job_lower(job, "executable", &options, &executable);
    t->jobs++;
    if (s) {
        char *text = dt_status_format(s);
        t->missing++;
        print_error("%s: %s", what, text);
        free(text);
        dt_status_free(s);
    } else {
        look_at(t, what, executable);
    }
    free(executable);
    dt_job_unref(job);
}

/* The row's job, `keys` being those of the kind that is tried; with one replica, and with two. */
static void try(trying *t, const char *keys) {
    static const char *const strategies[] = {"default", "mirrored, replicas: 2"};
    const eval_row *r = t->row;
    const bool layer = strcmp(t->sort, "layer") == 0, optimizer = strcmp(t->sort, "optimizer") == 0;
    char tried[512], what[1024], text[TEXT];

    snprintf(tried, sizeof tried, "%s: {%s%s%s}", t->kind, r->keys, *r->keys && *keys ? ", " : "",
             keys);
    for (int i = 0; i < 2; i++) {
        snprintf(what, sizeof what, "%s %s, %s", t->sort, tried, strategies[i]);
        snprintf(text, sizeof text,
                 "version: 1\nstrategy: {type: %s}\ndataset: {format: synthetic, examples: 68, "
                 "global_batch_size: 34, element: {%s}}\n"
                 "model: {%s%s%slayers: [%s%s%s]}\ncompile: {optimizer: {%s}, loss: {%s}, metrics: "
                 "[%s%s%s]}\nfit: {epochs: 1}\n",
                 strategies[i], r->element, r->outputs ? "type: functional, outputs: " : "",
                 r->outputs ? r->outputs : "", r->outputs ? ", " : "", r->before,
                 layer ? tried : "", r->after, optimizer ? tried : "SGD: {learning_rate: 0.1}",
                 strcmp(t->sort, "loss") == 0 ? tried : r->loss,
                 strcmp(t->sort, "metric") == 0 ? "{" : "",
                 strcmp(t->sort, "metric") == 0 ? tried : "",
                 strcmp(t->sort, "metric") == 0 ? "}" : "");
        lower(t, what, text);
    }
}

/* ---- all of them ---- */

static void without(trying *t, const char *why, const char *name) {
    print_error("%s for %s %s %s in eval_rows.h\n", why, t->sort, t->kind, name);
    t->missing++;
}

static const char *value_of(const char *kind, const char *key) {
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (strcmp(values[i].key, key) == 0 &&
            (!values[i].kind || strcmp(values[i].kind, kind) == 0))
            return values[i].value;
    return NULL;
}

static void try_value(trying *t, const char *key, const char *value) {
    char text[256];
    snprintf(text, sizeof text, "%s: %s", key, value);
    try(t, text);
}

static void try_choices(trying *t, const dt_job_key *k, const char *key) {
    const bool all = strcmp(key, "activation") != 0 || strcmp(t->kind, "Activation") == 0;
    int tried = 0;
    for (int i = 0; k->choices[i] && (all || tried == 0); i++)
        if (!k->preset || strcmp(k->preset, k->choices[i]) != 0) {
            try_value(t, key, k->choices[i]);
            tried++;
        }
}

static void try_key(trying *t, const dt_job_key *k, const char *key) {
    const char *value = value_of(t->kind, key);
    if ((value && !*value) || strcmp(key, t->kind) == 0 || strstr(t->row->keys, key))
        return; /* no step of its own; the path of the kind itself; in all of its jobs */
    if (value) try(t, value);
    else if (k->choices && strcmp(k->type, "name") == 0) try_choices(t, k, key);
    else if (strcmp(k->type, "boolean") == 0)
        try_value(t, key, k->preset && strcmp(k->preset, "true") == 0 ? "false" : "true");
    else without(t, "no value", key);
}

static const eval_row *row_of(const char *sort, const char *kind) {
    for (size_t i = 0; i < sizeof eval_rows / sizeof *eval_rows; i++)
        if (strcmp(eval_rows[i].sort, sort) == 0 && strcmp(eval_rows[i].kind, kind) == 0)
            return &eval_rows[i];
    return NULL;
}

static void see_key(const dt_job_key *k, void *user) {
    trying *t = user;
    const char *dot = strrchr(k->path, '.');
    if (!k->kind || strcmp(k->sort, t->sort) != 0) return;
    if (!t->kind || strcmp(t->kind, k->kind) != 0) {
        t->kind = k->kind;
        t->row = row_of(t->sort, t->kind);
        if (!t->row) without(t, "no job", "");
        else if (t->row->element) try(t, "");
    }
    if (t->row && t->row->element && !k->refused && !k->required && dot && strlen(k->type) > 0)
        try_key(t, k, dot + 1);
}

static void check(trying *t, int least) {
    dt_job_keys(see_key, t);
    print_message("%s: %d jobs\n", t->sort, t->jobs);
    assert_int_equal(t->missing, 0);
    assert_int_equal(t->without_kernel, 0);
    assert_true(t->jobs >= least);
    for (int i = 0; i < N_EXCEPTIONS; i++) used[i] |= t->used[i];
}

/* The last test: exceptions that no step needed. */
static void test_exceptions(void **state) {
    (void)state;
    for (int i = 0; i < N_EXCEPTIONS; i++)
        if (!used[i])
            fail_msg("no step needs the exception '%s' of '%s'", exceptions[i].step,
                     exceptions[i].what);
}

static void test_layers(void **state) {
    (void)state;
    check(&(trying){.sort = "layer"}, 800);
}

static void test_losses(void **state) {
    (void)state;
    check(&(trying){.sort = "loss"}, 60);
}

static void test_metrics(void **state) {
    (void)state;
    check(&(trying){.sort = "metric"}, 100);
}

static void test_optimizers(void **state) {
    (void)state;
    check(&(trying){.sort = "optimizer"}, 200);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers),     cmocka_unit_test(test_losses),
        cmocka_unit_test(test_metrics),    cmocka_unit_test(test_optimizers),
        cmocka_unit_test(test_exceptions),
    };
    return cmocka_run_group_tests_name("job/eval_steps", tests, make_here, NULL);
}
