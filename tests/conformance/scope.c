/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs in words: scopes, runs, and what code sees in them. A program is lines of Python's
 * shape; here a small interpreter walks through them with the calls of the library. S and T are two
 * strategies of one kind, get_strategy() outside of scopes is the default one.
 *
 *     with S.scope():             a block; a statement may follow on the same line
 *     def f():                    a function, for S.run(f)
 *     try: except: raise E        how scopes are left
 *     x = S, x = Variable(1.)     names
 *     observe                     the current strategy and context
 *     S.run(observe)              a step function; S.run(lambda: CALL) one with a call in it
 *
 * README.md has all of it.
 */
#include "program.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool begins(const char *text, const char *with) {
    return text && strncmp(text, with, strlen(with)) == 0;
}

/* ---- lines ---- */

static int indent_of(const char *line) { return (int)strspn(line, " "); }

/* Names on the left of "=": a strategy, a variable, a context, or what a call gives. */
static void assign(program *p, const char *name, const py *x) {
    dt_strategy *s = program_strategy(p, x);

    if (s) {
        program_bind(p, name)->strategy = s;
    } else if (strcmp(py_called(x), "MirroredStrategy") == 0 ||
               strcmp(py_called(x), "OneDeviceStrategy") ==
                   0) { /* another one of the case's kind */
        bound_name *b = program_bind(p, name);
        b->strategy = b->made = strategy_of(p->v, json_object_get(p->c->in, "strategy"));
    } else if (strcmp(py_called(x), "Variable") == 0) {
        program_keep(p, program_make_variable(p, x, &program_bind(p, name)->variable));
    } else if (x->kind == PY_CALL && !program_is_context(x)) {
        dt_strategy *of = program_strategy(p, program_object(x));
        if (of && strcmp(py_called(x), "run") == 0) program_run_call(p, of, x);
        else program_keep(p, program_perform(p, x));
    }
}

static void run_expression(program *p, const py *x) {
    dt_strategy *s = program_strategy(p, program_object(x));

    if (p->trace) program_step_call(p, x);
    else if (py_is(x, "observe") || strcmp(py_called(x), "observe") == 0)
        json_array_append_new(p->seen, program_observe(p, 0));
    else if (s && strcmp(py_called(x), "run") == 0) program_run_call(p, s, x);
    else if (program_is_context(
                 program_object(x))) /* a step of the current strategy, run where we are */
        program_run_step(p, dt_get_strategy(), x);
    else if (x->kind == PY_CALL) program_keep(p, program_perform(p, x));
    else differs(p->v, "unknown wording: '%s' is no statement", py_name(x));
}

/* "S.run(tf.function that creates Variable(2.0) once)": a step that makes a variable when it is
 * first recorded. */
static bool creates_variable(program *p, const char *text) {
    const char *at = strstr(text, "creates Variable("), *why;
    char *copy = at ? strndup(at + 8, strcspn(at + 8, ")") + 1) : NULL;
    py *x = copy ? py_read(copy, &why) : NULL;

    if (x) program_run_step(p, p->s, x);
    py_free(x);
    free(copy);
    return at != NULL;
}

static void run_statement(program *p, const char *text) {
    char name[32];
    int n = 0;
    const char *why;

    if (p->error || *text == '\0' || *text == '#' || begins(text, "pass") || begins(text, "@") ||
        begins(text, "import ") || creates_variable(p, text))
        return;
    if (begins(text, "raise")) {
        program_keep(p, dt_status_create(RUNTIME_ERROR, "%s", text[5] ? text + 6 : "raised"));
        return;
    }
    bool assigns = sscanf(text, "%31[A-Za-z0-9_] = %n", name, &n) == 1 && n > 0;
    if (begins(text, "return ")) n = 7;
    char *copy = strdup(text + n), *remark = strstr(copy, "  #");
    if (remark) *remark = '\0';
    py *x = py_read(copy, &why);
    if (!x) differs(p->v, "unknown wording of a statement, '%s': %s", text, why);
    else if (assigns) assign(p, name, x);
    else run_expression(p, x);
    py_free(x);
    free(copy);
}

/* Statements on one line, divided by semicolons. */
static void run_statements(program *p, const char *text) {
    while (*text) {
        size_t n = strcspn(text, ";");
        char *one = strndup(text, n), *end = one + strlen(one);
        while (end > one && isspace((unsigned char)end[-1])) *--end = '\0';
        run_statement(p, one + strspn(one, " "));
        free(one);
        text += n + (text[n] == ';');
    }
}

/* The colon that ends the head of a block. */
static const char *colon_of(const char *text) {
    int depth = 0;
    for (; *text && (*text != ':' || depth > 0); text++)
        depth += strchr("([{", *text) ? 1 : strchr(")]}", *text) ? -1 : 0;
    return text;
}

/* "with S.scope():" and its block; on the same line, or indented below. */
static size_t run_with(program *p, size_t at, const char *text, int indent) {
    const char *colon = colon_of(text), *why;
    char *head = strndup(text + 5, (size_t)(colon - text) - 5), *as = strstr(head, " as ");
    if (as) *as = '\0';
    py *x = py_read(head, &why);
    dt_strategy *s =
        x && strcmp(py_called(x), "scope") == 0 ? program_strategy(p, program_object(x)) : NULL;

    if (!s) differs(p->v, "unknown wording: '%s' is no scope of a strategy", text);
    if (s && !p->error) {
        DT_SCOPE(s) {
            program_keep(p, program_kept_error());
            if (*colon) run_statements(p, colon + 1);
            at = program_block(p, at + 1, indent + 1);
        }
    } else {
        at = program_block(p, at + 1, indent + 1);
    }
    py_free(x);
    free(head);
    return at;
}

/* The lines of a block that is not run now. */
static size_t skip_block(const program *p, size_t at, int indent) {
    while (at < json_array_size(p->lines) &&
           indent_of(json_string_value(json_array_get(p->lines, at))) > indent)
        at++;
    return at;
}

static size_t run_def(program *p, size_t at, const char *text, int indent) {
    char name[32] = "";
    if (sscanf(text, "def %31[A-Za-z0-9_]", name) == 1) program_bind(p, name)->line = at + 1;
    return skip_block(p, at + 1, indent);
}

/* What was raised is caught by the next except; its block is run then, and not otherwise. */
static size_t run_except(program *p, size_t at, const char *text, int indent) {
    bool caught = p->error != NULL;
    if (!caught) return skip_block(p, at + 1, indent);
    dt_status_free(p->error);
    p->error = NULL;
    if (*colon_of(text)) run_statements(p, colon_of(text) + 1);
    return program_block(p, at + 1, indent + 1);
}

size_t program_block(program *p, size_t at, int indent) {
    while (at < json_array_size(p->lines)) {
        const char *line = json_string_value(json_array_get(p->lines, at)),
                   *text = line ? line + indent_of(line) : "";
        if (!line || indent_of(line) < indent) break;
        if (begins(text, "with ")) at = run_with(p, at, text, indent_of(line));
        else if (begins(text, "def ")) at = run_def(p, at, text, indent_of(line));
        else if (begins(text, "except")) at = run_except(p, at, text, indent_of(line));
        else if (begins(text, "try:") || begins(text, "finally:") || begins(text, "else:"))
            run_statements(p, colon_of(text) + 1),
                at = program_block(p, at + 1, indent_of(line) + 1);
        else run_statements(p, text), at++;
    }
    return at;
}

/* ---- judging ---- */

static bool is_observation(const json_t *j) {
    return json_object_get(j, "get_strategy") || json_object_get(j, "has_strategy") ||
           json_object_get(j, "in_cross_replica_context") ||
           json_object_get(j, "num_replicas_in_sync") || json_object_get(j, "get_replica_context");
}

/* Of each observation the fields that were recorded. */
static void expect_seen(verdict *v, const json_t *want, const json_t *got) {
    const char *key;
    const json_t *value;

    if (!got) differs(v, "nothing was observed");
    json_object_foreach((json_t *)want, key, value) if (got && json_object_get(got, key))
        expect_json(v, key, value, json_incref(json_object_get(got, key)), EXACT);
    else if (got) differs(v, "unknown wording: nothing observes '%s'", key); }

static void expect_all_seen(const program *p, const json_t *want) {
    if (json_array_size(want) != json_array_size(p->seen))
        differs(p->v, "%zu observations, expected %zu", json_array_size(p->seen),
                json_array_size(want));
    for (size_t i = 0; i < json_array_size(want) && i < json_array_size(p->seen); i++)
        expect_seen(p->v, json_array_get(want, i), json_array_get(p->seen, i));
}

/* {"inside": {...}, "after": {...}}: observations in their order. */
static void expect_named(const program *p, const json_t *out) {
    const char *key;
    const json_t *value;
    size_t i = 0;

    json_object_foreach((json_t *)out, key, value) {
        if (is_observation(value)) expect_seen(p->v, value, json_array_get(p->seen, i++));
        else differs(p->v, "unknown wording: '%s' is no observation", key);
    }
}

static void judge(program *p) {
    const json_t *out = p->c->out, *each = json_object_get(out, "per_replica"),
                 *r = json_object_get(out, "r"), *kind = json_object_get(out, "kind");

    expect_ok(p->v, "program", p->error);
    p->error = NULL;
    if (each) expect_all_seen(p, each);
    else if (json_is_array(out)) expect_all_seen(p, out);
    else if (r)
        expect_tensor(p->v, "r", json_object_get(r, "value") ? json_object_get(r, "value") : r,
                      p->tensor ? p->tensor : dt_values_local(p->result, "r", 0), ELEMENTWISE);
    else if (kind)
        expect_text(p->v, "kind", kind,
                    dt_variable_kind(p->variable  ? p->variable
                                     : p->n_names ? p->name[p->n_names - 1].variable
                                                  : NULL));
    else if (is_observation(out))
        expect_seen(p->v, out, json_array_get(p->seen, json_array_size(p->seen) - 1));
    else expect_named(p, out);
}

/* "OneDeviceStrategy('CPU:0') properties" */
static void run_properties(const golden_case *c, verdict *v, const char *text) {
    const json_t *devices = json_object_get(c->out, "worker_devices"),
                 *parameters = json_object_get(c->out, "parameter_devices");
    char device[64] = "CPU:0";
    dt_strategy *s = NULL;

    sscanf(text, "OneDeviceStrategy(%*1['\"]%63[^'\"]", device);
    if (begins(text, "OneDeviceStrategy("))
        expect_ok(v, "strategy", dt_one_device_strategy(&s, device));
    else if (strstr(text, "get_strategy()") || begins(text, "default"))
        expect_ok(v, "strategy", dt_default_strategy(&s));
    else s = strategy_of(v, json_object_get(c->in, "strategy"));
    expect_int(v, "replicas", json_object_get(c->out, "num_replicas_in_sync"),
               dt_strategy_replicas(s));
    for (size_t i = 0; i < json_array_size(devices); i++)
        expect_text(v, "device", json_array_get(devices, i), dt_strategy_device(s, (int)i));
    for (size_t i = 0; i < json_array_size(parameters); i++)
        expect_text(v, "device of variables", json_array_get(parameters, i),
                    dt_strategy_device(s, (int)i));
    dt_strategy_unref(s);
}

/* One text of several lines is as good as a list of them. */
static json_t *lines_of(const json_t *written) {
    json_t *lines = json_array();
    if (json_is_array(written)) json_array_extend(lines, (json_t *)written);
    for (const char *at = json_string_value(written); at && *at;
         at += strcspn(at, "\n"), at += *at == '\n')
        json_array_append_new(lines, json_stringn(at, strcspn(at, "\n")));
    return lines;
}

static void run_program(const golden_case *c, verdict *v) {
    json_t *lines = lines_of(json_object_get(c->in, "program"));
    program p = {.c = c, .v = v, .lines = lines, .seen = json_array()};
    const char *first = json_string_value(json_array_get(lines, 0));

    p.base = dt_get_strategy();
    p.s = strategy_of(v, json_object_get(c->in, "strategy"));
    if (first && strstr(first, " properties")) {
        run_properties(c, v, first);
    } else if (p.s && first) {
        program_block(&p, 0, 0);
        if (v->differences || v->skipped) dt_status_free(p.error);
        else if (c->error) expect_error(v, p.error);
        else judge(&p);
    } else {
        differs(v, "no program");
    }
    while (p.n_open > 0) dt_scope_leave(&p.open[--p.n_open]);
    expect_ok(v, "leaving", dt_set_strategy(NULL));
    while (p.n_names > 0) {
        dt_strategy_unref(p.name[--p.n_names].made);
        dt_variable_unref(p.name[p.n_names].variable);
    }
    json_decref(p.seen);
    json_decref(lines);
    dt_values_unref(p.result);
    dt_tensor_unref(p.tensor);
    dt_variable_unref(p.variable);
    dt_strategy_unref(p.s);
    dt_strategy_unref(p.t);
}

/* ---- devices ---- */

/* An empty list is all devices of the machine: how many there are is its own business, their names
 * are not. */
static void run_devices(const golden_case *c, verdict *v) {
    const json_t *devices = json_object_get(c->in, "devices"),
                 *want = json_object_get(c->out, "worker_devices");
    const char *name[64] = {0};
    int n = (int)json_array_size(devices);
    dt_strategy *s = NULL;

    for (int i = 0; i < n && i < 64; i++)
        name[i] = json_string_value(json_array_get(devices, (size_t)i));
    dt_status *bad = dt_mirrored_strategy(&s, n ? name : NULL, n < 64 ? n : 64);
    if (c->error) {
        expect_error(v, bad);
    } else if (bad && strcmp(dt_status_kind(bad), "NotFoundError") == 0) {
        v->skipped = "it names a device that this machine does not have, which is refused here";
        dt_status_free(bad);
    } else {
        expect_ok(v, "strategy", bad);
        for (int i = 0; i < dt_strategy_replicas(s) && i < (int)json_array_size(want); i++)
            expect_text(v, "device", json_array_get(want, (size_t)i), dt_strategy_device(s, i));
        if (n && dt_strategy_replicas(s) != (int)json_array_size(want))
            differs(v, "%d devices", dt_strategy_replicas(s));
    }
    dt_strategy_unref(s);
}

const golden_op scope_ops[] = {
    {"scope_program", run_program, NULL},
    {"mirrored_strategy_devices", run_devices, NULL},
    {0},
};
