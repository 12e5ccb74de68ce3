/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Repeat: layers that are written once and repeated. `for` maps variables to lists of values of
 * equal length; the entries of `layers` are copied for each index of these lists, with "{variable}"
 * in their texts replaced:
 *
 *     - Repeat:
 *         for: {i: [0, 1], filters: [32, 64]}
 *         layers:
 *           - Conv2D: {name: "conv_{i}", filters: "{filters}", kernel_size: 3}
 *
 * A number N in place of a list stands for 0, 1, ..., N - 1: `for: {i: 32}`.
 *
 * A text that consists of one variable is replaced by the variable's value as written, for example
 * a number, a word or a list. The value keeps its location in the file, so that errors point there.
 * The list is expanded before layers are read. A Repeat may contain another one.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"

enum { MOST_VALUES = 200000, MOST_TEXT = 16 << 20 };

struct repeat {
    const dt_tree *variables, *layers;
};

static const dt_field fields[] = {
    DT_KEY(TREE, "for", struct repeat, variables, .as = DT_TREE_MAP,
           .forms = DT_FORMS(
               DT_MAP_OF(DT_FORM(DT_FIELD_INT, .min = 1, .max = MOST_VALUES), DT_LIST_OF(DT_ANY))),
           .required = true,
           .help = "{variable: [value, ...]}: lists of equal length; or a number N for 0 to N - 1"),
    DT_TREE(struct repeat, layers, .forms = DT_LAYER_LIST, .as = DT_TREE_LIST, .required = true,
            .help = "layers to repeat; '{variable}' is replaced in their texts"),
    DT_END};

/* One turn of a Repeat: its variables, the index k of their values, and the turn of the Repeat
 * around it. */
typedef struct turn {
    const dt_tree *variables;
    int k;
    const struct turn *outer;
} turn;

typedef struct expansion {
    dt_arena *arena;
    int n, cap;
    dt_tree **item;
    /* turns: a counter that grows at the start and at the end of each turn; turn: [n] its value
     * when the item was made; 0: outside of Repeats */
    int cap_turns, turns, *turn;
    /* number of values copied so far, and of numbers generated for variables, which is limited */
    int values;
    size_t bytes; /* bytes of the texts of these values, which are limited */
} expansion;

static dt_status *expand(expansion *e, const dt_tree *list, const turn *outer);

/* ---- limits ---- */

static bool is_beyond(const expansion *e) {
    return e->values > MOST_VALUES || e->bytes > MOST_TEXT;
}

static dt_status *check_limits(const expansion *e, const dt_location *at) {
    if (e->values > MOST_VALUES)
        return dt_fail(DT_E_JOB_LIMIT, at, "repeated layers hold more than %d values", MOST_VALUES);
    if (e->bytes > MOST_TEXT)
        return dt_fail(DT_E_JOB_LIMIT, at, "repeated layers hold more than %d MiB of text",
                       MOST_TEXT >> 20);
    return NULL;
}

static void count(expansion *e, const dt_tree *node) {
    e->values++;
    if (node->kind == DT_TREE_SCALAR) e->bytes += strlen(node->text);
    for (int i = 0; i < node->n; i++)
        count(e, node->kind == DT_TREE_MAP ? node->entry[i].value : node->item[i]);
}

/* ---- one text ---- */

/* Returns the length of "{word}" at p; 0: p does not begin a variable. */
static size_t variable_length(const char *p) {
    size_t n = 1;
    while (isalnum((unsigned char)p[n]) || p[n] == '_') n++;
    return n > 1 && p[n] == '}' ? n + 1 : 0;
}

/* Returns the value of the variable whose "{word}", n bytes at p, is in a text; NULL: this turn
 * does not have the variable. */
static const dt_tree *value_at(const turn *t, const char *p, size_t n) {
    for (int i = 0; i < t->variables->n; i++) {
        const dt_entry *e = &t->variables->entry[i];
        if (strlen(e->key) == n - 2 && strncmp(e->key, p + 1, n - 2) == 0)
            return e->value->item[t->k];
    }
    return NULL;
}

static dt_status *put_value(const dt_tree *value, const char *word, size_t n, dt_str *out) {
    if (value->kind != DT_TREE_SCALAR)
        return dt_fail(DT_E_WRONG_TYPE, &value->at,
                       "%.*s is used within a text: expected a number or a word, got %s", (int)n,
                       word, dt_tree_kind_name(value->kind));
    dt_str_puts(out, value->text);
    return NULL;
}

static dt_status *replace_within(expansion *e, const turn *t, dt_tree *text) {
    dt_str out = {0};
    dt_status *s = NULL;
    for (const char *p = text->text; *p && !s;) {
        const size_t before = out.size;
        size_t n = *p == '{' ? variable_length(p) : 0;
        const dt_tree *value = n ? value_at(t, p, n) : NULL;
        if (value) s = put_value(value, p, n, &out);
        else dt_str_putc(&out, *p);
        p += value ? n : 1;
        e->bytes += out.size - before;
        if (!s) s = check_limits(e, &text->at);
    }
    e->values++;
    text->text = dt_arena_take(e->arena, &out);
    return s;
}

static dt_status *replace_text(expansion *e, const turn *t, dt_tree *text) {
    size_t n = *text->text == '{' ? variable_length(text->text) : 0;
    const dt_tree *whole = n && text->text[n] == '\0' ? value_at(t, text->text, n) : NULL;
    if (!whole && strchr(text->text, '{')) return replace_within(e, t, text);
    count(e, whole ? whole : text);
    DT_TRY(check_limits(e, &t->variables->at));
    if (whole) *text = *dt_tree_copy(e->arena, whole);
    return NULL;
}

/* ---- one turn of a Repeat ---- */

/* Replaces variables in a tree. Recursion is bounded by the depth of trees. */
static dt_status *replace(expansion *e, const turn *t, dt_tree *node) {
    dt_status *faults = NULL;
    if (node->kind == DT_TREE_SCALAR) return replace_text(e, t, node);
    e->values++;
    DT_TRY(check_limits(e, &t->variables->at));
    for (int i = 0; i < node->n && !is_beyond(e); i++)
        dt_status_append(
            &faults,
            replace(e, t, node->kind == DT_TREE_MAP ? node->entry[i].value : node->item[i]));
    return faults;
}

static dt_status *take_turn(expansion *e, const dt_tree *layers, const turn *t) {
    dt_tree *copy = dt_tree_copy(e->arena, layers);
    DT_TRY(replace(e, t, copy));
    e->turns++;
    dt_status *s = expand(e, copy, t);
    e->turns++; /* layers that follow in the turn around this one get another number */
    return s;
}

/* ---- one Repeat ---- */

static bool is_taken(const char *variable, const turn *outer) {
    for (; outer; outer = outer->outer)
        if (dt_tree_get(outer->variables, variable)) return true;
    return strcmp(variable, "name") == 0 || strcmp(variable, "run_dir") == 0;
}

/* Replaces the value of `i: 3` by [0, 1, 2]. A value that is not an integer, or is quoted, is left
 * as it is. */
static dt_status *count_up(expansion *e, const char *variable, dt_tree *value) {
    int64_t n;
    if (value->kind != DT_TREE_SCALAR || value->quoted || !dt_parse_int64(value->text, &n))
        return NULL;
    DT_TRY(dt_tree_int(value, variable, 1, MOST_VALUES, &n));
    e->values += (int)n;
    DT_TRY(check_limits(e, &value->at));
    dt_tree list = {.kind = DT_TREE_LIST,
                    .at = value->at,
                    .n = (int)n,
                    .item = dt_arena_array(e->arena, dt_tree *, n)};
    for (int i = 0; i < list.n; i++)
        list.item[i] = dt_arena_copy(e->arena,
                                     &(dt_tree){.kind = DT_TREE_SCALAR,
                                                .at = value->at,
                                                .text = dt_arena_printf(e->arena, "%d", i)},
                                     sizeof *list.item[i]);
    *value = list;
    return NULL;
}

static dt_status *count_variables(expansion *e, const dt_tree **variables) {
    dt_status *faults = NULL;
    dt_tree *counted = dt_tree_copy(e->arena, *variables);
    for (int i = 0; i < counted->n; i++)
        dt_status_append(&faults, count_up(e, counted->entry[i].key, counted->entry[i].value));
    *variables = counted;
    return faults;
}

static dt_status *check_variable(const dt_tree *variables, int i, const turn *outer) {
    const dt_entry *e = &variables->entry[i], *first = &variables->entry[0];
    if (is_taken(e->key, outer))
        return dt_fail(DT_E_MODEL_LAYERS, &e->key_at,
                       "'{%.80s}' already has a meaning; rename the variable", e->key);
    DT_TRY(dt_tree_expect(e->value, DT_TREE_LIST, e->key));
    if (e->value->n == 0)
        return dt_fail(DT_E_MODEL_LAYERS, &e->value->at,
                       "the list of '%.80s' is empty: Repeat needs at least one value", e->key);
    if (first->value->kind == DT_TREE_LIST && e->value->n != first->value->n)
        return dt_fail(DT_E_MODEL_LAYERS, &e->value->at,
                       "'%.80s' has %d values, '%.80s' has %d; the lists of a Repeat must have the "
                       "same length",
                       e->key, e->value->n, first->key, first->value->n);
    return NULL;
}

static dt_status *check_variables(const dt_tree *variables, const turn *outer) {
    dt_status *faults = NULL;
    if (variables->n == 0)
        return dt_fail(DT_E_MODEL_LAYERS, &variables->at,
                       "Repeat has no variable: write for: {i: [0, 1, 2]}");
    for (int i = 0; i < variables->n; i++)
        dt_status_append(&faults, check_variable(variables, i, outer));
    return faults;
}

/* Copies the layers for all turns. Stops at the first turn that has an error, since the other turns
 * usually have the same. */
static dt_status *repeat_layers(expansion *e, const dt_entry *entry, const turn *outer) {
    struct repeat r = {0};
    DT_TRY(check_limits(e, &entry->key_at));
    DT_TRY(dt_fields_read(e->arena, fields, entry->value, &entry->key_at, "Repeat", &r));
    DT_TRY(count_variables(e, &r.variables));
    DT_TRY(check_variables(r.variables, outer));
    for (int k = 0; k < r.variables->entry[0].value->n; k++)
        DT_TRY(take_turn(e, r.layers, &(turn){r.variables, k, outer}));
    return NULL;
}

/* ---- the list of layers, the kind Repeat ---- */

static bool is_repeat(const dt_tree *item) {
    return item->kind == DT_TREE_MAP && item->n == 1 && strcmp(item->entry[0].key, "Repeat") == 0;
}

static dt_status *expand(expansion *e, const dt_tree *list, const turn *outer) {
    dt_status *faults = NULL;
    for (int i = 0; i < list->n; i++) {
        if (is_repeat(list->item[i])) {
            dt_status_append(&faults, repeat_layers(e, &list->item[i]->entry[0], outer));
            continue;
        }
        DT_GROW(e->item, e->cap, e->n + 1);
        DT_GROW(e->turn, e->cap_turns, e->n + 1);
        e->turn[e->n] = outer ? e->turns : 0;
        e->item[e->n++] = list->item[i];
    }
    return faults;
}

dt_status *dt_layers_expand(dt_arena *arena, const dt_tree *layers, const dt_tree **out,
                            const int **turns) {
    expansion e = {.arena = arena};
    dt_status *s = expand(&e, layers, NULL);
    dt_tree *list = dt_arena_copy(arena, layers, sizeof *layers);
    list->n = e.n;
    list->item = e.n ? dt_arena_copy(arena, e.item, (size_t)e.n * sizeof *e.item) : NULL;
    *out = list;
    *turns = e.n ? dt_arena_copy(arena, e.turn, (size_t)e.n * sizeof *e.turn) : NULL;
    free(e.turn);
    free(e.item);
    return s;
}

const dt_kind *const *dt_repeats(int *n) {
    static const dt_kind repeat = {"Repeat", "layers that are written once and repeated", fields,
                                   sizeof(struct repeat), NULL};
    static const dt_kind *const rows[] = {&repeat};
    *n = 1;
    return rows;
}
