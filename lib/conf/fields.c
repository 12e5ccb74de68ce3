/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a mapping by a table of fields: first all defaults, then the entries in the order of the
 * file, then missing keys. All errors are collected, so that a user can fix a file at once.
 */
#include <stdio.h>
#include <string.h>

#include "conf/conf_impl.h"

enum { MAX_FIELDS = 64, MOST_SHOWN = 40 };

const dt_field dt_no_forms[] = {DT_END};

static dt_limits limits_of(const dt_field *f) {
    return (dt_limits){f->min, f->max, f->above_min, f->below_max};
}

static void *member(const dt_field *f, void *out) { return (char *)out + f->offset; }

/* ---- values without items and forms ---- */

/* Returns the index of the choice with that name, or the number of choices if no choice has it. */
static int find_choice(const dt_field *f, const char *text) {
    int n = 0;
    while (f->choices[n] && strcmp(f->choices[n], text) != 0) n++;
    return n;
}

static dt_status *read_choice(const dt_field *f, const dt_tree *t, int *out) {
    DT_TRY(dt_tree_expect(t, DT_TREE_SCALAR, f->name));
    const int n = find_choice(f, t->text);
    if (f->choices[n]) {
        *out = n;
        return NULL;
    }
    dt_status *s = dt_fail(DT_E_UNKNOWN_NAME, &t->at, "unknown %s %s", f->noun ? f->noun : f->name,
                           dt_quote(t).text);
    if (strcmp(t->text, "None") == 0 && !f->required) return dt_suggest_null(s, t->text);
    return dt_suggest_names(s, dt_nearest(t->text, f->choices, n), f->choices, n, "known:");
}

/* Returns the name of an element of a list in messages: the field's noun or, without one, the
 * field's name and the index, "shape[1]". */
static const char *element_name(const dt_field *f, int i, char *buffer, size_t size) {
    if (f->noun) return f->noun;
    snprintf(buffer, size, "%s[%d]", f->name, i);
    return buffer;
}

static dt_status *read_int(const dt_field *f, const dt_tree *t, void *out) {
    dt_limits limits = limits_of(f);
    int64_t x;
    DT_TRY(dt_tree_int_in(t, f->name, &limits, &x));
    if (f->lone) *(const char **)out = t->text;
    else if (f->narrow) *(int *)out = (int)x;
    else *(int64_t *)out = x;
    return NULL;
}

static dt_status *read_ints(dt_arena *arena, const dt_field *f, const dt_tree *t, dt_ints *out) {
    dt_status *faults = NULL;
    dt_limits limits = limits_of(f);
    char name[96];
    if (f->lone && t->kind == DT_TREE_SCALAR) {
        *out = (dt_ints){1, dt_arena_array(arena, int64_t, 1), true};
        return dt_tree_int_in(t, f->name, &limits, out->v);
    }
    dt_status *s = dt_tree_expect(t, DT_TREE_LIST, f->name);
    if (s && t->kind == DT_TREE_SCALAR && dt_look_at(t) == DT_LOOKS_INT)
        return dt_suggest(s, "write [%.*s]", MOST_SHOWN, t->text);
    DT_TRY(s);
    if (f->some && t->n == 0)
        return dt_fail(DT_E_RANGE, &t->at, "%s must name a dimension", f->name);
    *out = (dt_ints){t->n, dt_arena_array(arena, int64_t, t->n), false};
    for (int i = 0; i < t->n; i++)
        dt_status_append(&faults, dt_tree_int_in(t->item[i], element_name(f, i, name, sizeof name),
                                                 &limits, &out->v[i]));
    return faults;
}

static dt_status *read_reals(dt_arena *arena, const dt_field *f, const dt_tree *t, dt_reals *out) {
    dt_status *faults = NULL;
    dt_limits limits = limits_of(f);
    char name[96];
    bool alone = t->kind == DT_TREE_SCALAR;
    if (!alone) DT_TRY(dt_tree_expect(t, DT_TREE_LIST, f->name));
    int n = alone ? 1 : t->n;
    if (f->some && n == 0) return dt_fail(DT_E_RANGE, &t->at, "%s must not be empty", f->name);
    *out = (dt_reals){n, dt_arena_array(arena, double, n), alone, t->at};
    if (alone) return dt_tree_real_in(t, f->name, &limits, out->v);
    for (int i = 0; i < n; i++)
        dt_status_append(&faults, dt_tree_real_in(t->item[i], element_name(f, i, name, sizeof name),
                                                  &limits, &out->v[i]));
    return faults;
}

static dt_status *read_texts(dt_arena *arena, const dt_field *f, const dt_tree *t, dt_texts *out) {
    DT_TRY(dt_tree_expect(t, DT_TREE_LIST, f->name));
    dt_status *faults = NULL;
    dt_limits limits = limits_of(f);
    char name[96];
    dt_location *at = dt_arena_array(arena, dt_location, t->n);
    *out = (dt_texts){0, dt_arena_array(arena, const char *, t->n), at};
    for (int i = 0; i < t->n; i++) {
        dt_status *bad = dt_tree_text_in(t->item[i], element_name(f, i, name, sizeof name), &limits,
                                         &out->v[out->n]);
        at[out->n] = t->item[i]->at;
        out->n += bad == NULL;
        dt_status_append(&faults, bad);
    }
    return faults;
}

static dt_status *read_text(dt_arena *arena, const dt_field *f, const dt_tree *t, void *out) {
    const dt_limits limits = limits_of(f);
    const char *text;
    DT_TRY(dt_tree_text_in(t, f->name, &limits, &text));
    if (f->lone)
        *(dt_texts *)out = (dt_texts){1, dt_arena_copy(arena, &text, sizeof text),
                                      dt_arena_copy(arena, &t->at, sizeof t->at)};
    else *(const char **)out = text;
    return NULL;
}

static bool is_by_name(const dt_field *f) {
    bool is = false;
    for (const dt_field *form = f->forms; form && form->kind != DT_FIELD_END; form++)
        is |= form->by_name;
    return is;
}

/* Adds to an error without a suggestion how to write a setting that other programs write as a
 * single text: `strategy: mirrored`, `strategy=ddp`. */
static dt_status *suggest_lone(dt_status *s, const dt_field *f, const char *text) {
    if (dt_status_suggestion(s)) return s;
    const char *foreign = dt_foreign_name(f->name, text), *value = foreign ? "NAME" : text;
    if (foreign) s = dt_suggest(s, "%s", foreign);
    return dt_note(s, "write %s: {%s: %.80s}, on the command line %s.%s=%.80s", f->name, f->means,
                   value, f->name, f->means, value);
}

static dt_status *read_tree(dt_arena *arena, const dt_field *f, const dt_tree *t,
                            const dt_tree **out) {
    dt_status *s = f->as != DT_TREE_NULL ? dt_tree_expect(t, f->as, f->name) : NULL;
    if (s) return f->means && t->kind == DT_TREE_SCALAR ? suggest_lone(s, f, t->text) : s;
    *out = is_by_name(f) ? dt_tree_without_nulls(arena, t) : t;
    return NULL;
}

static dt_status *read_value(dt_arena *arena, const dt_field *f, const dt_tree *t, void *out);
static dt_status *clear_forms(dt_arena *arena, const dt_field *f, void *out);

/* ---- lists and mappings of items ---- */

static dt_status *read_items(dt_arena *arena, const dt_field *f, const dt_tree *t, dt_items *out) {
    dt_field item = {.kind = DT_FIELD_ONE_OF, .name = f->name, .forms = f->forms};
    const bool list = f->kind == DT_FIELD_LIST;
    dt_status *faults = dt_tree_expect(t, list ? DT_TREE_LIST : DT_TREE_MAP, f->name);
    if (faults) return faults;
    if (f->by_name) t = dt_tree_without_nulls(arena, t);
    out->v = dt_arena_alloc(arena, dt_size_mul((size_t)t->n, f->size));
    out->entry = dt_arena_array(arena, dt_entry, t->n);
    for (int i = 0; i < t->n; i++) {
        const dt_entry e = list ? (dt_entry){.value = t->item[i]} : t->entry[i];
        if (f->noun || f->by_name) item.name = f->noun ? f->noun : e.key;
        dt_status *bad =
            read_value(arena, &item, e.value, (char *)out->v + (size_t)out->n * f->size);
        out->entry[out->n] = e;
        out->n += bad == NULL;
        dt_status_append(&faults, bad);
    }
    return faults;
}

/* ---- times, forms, and values in general ---- */

/* Converts a time such as "10m" to seconds. Returns 0 if the text is not a time or has over 32
 * bytes, or if its number is not in (0, 1e9). */
static double seconds_of(const char *text) {
    static const struct {
        char unit;
        double seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}};
    char number[32];
    double x;
    size_t n = strlen(text);
    if (n < 2 || n > sizeof number) return 0;
    memcpy(number, text, n - 1);
    number[n - 1] = '\0';
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (text[n - 1] == units[i].unit && dt_parse_double(number, &x) && x > 0 && x < 1e9)
            return x * units[i].seconds;
    return 0;
}

static bool is_of_digits(const char *text) {
    return *text && text[strspn(text, "+-0123456789.eE")] == '\0';
}

static bool is_words(const dt_field *f) {
    return f->kind == DT_FIELD_WORDS || f->kind == DT_FIELD_ENUM;
}

static bool takes(const dt_field *f, dt_tree_kind kind) {
    static const dt_tree_kind kinds[] = {
        [DT_FIELD_INTS] = DT_TREE_LIST,
        [DT_FIELD_REALS] = DT_TREE_LIST,
        [DT_FIELD_TEXTS] = DT_TREE_LIST,
        [DT_FIELD_TABLE] = DT_TREE_MAP,
        [DT_FIELD_LIST] = DT_TREE_LIST,
        [DT_FIELD_MAP] = DT_TREE_MAP,
        /* the name of a kind alone, a scalar, is left to the other forms */
        [DT_FIELD_NAMED] = DT_TREE_MAP,
    };
    const bool listed = f->kind < sizeof kinds / sizeof *kinds && kinds[f->kind] != DT_TREE_NULL;
    return kind == (listed ? kinds[f->kind] : DT_TREE_SCALAR);
}

static bool suits(const dt_field *f, const dt_tree *t) {
    if (!takes(f, t->kind)) return false;
    switch (f->kind) {
    case DT_FIELD_WORDS:
    case DT_FIELD_ENUM: return f->choices[find_choice(f, t->text)];
    case DT_FIELD_INT:
    case DT_FIELD_REAL: return is_of_digits(t->text);
    case DT_FIELD_SECONDS: return seconds_of(t->text) > 0;
    case DT_FIELD_BOOL: return strcmp(t->text, "true") == 0 || strcmp(t->text, "false") == 0;
    default: return true;
    }
}

/* Returns the form that reads t or reports its error. Returns NULL if no form fits and the field
 * has a message for that (`expected` or `refuse`). */
static const dt_field *form_for(const dt_field *of, const dt_tree *t) {
    const dt_field *other = NULL, *likely = NULL, *otherwise = NULL;
    for (const dt_field *f = of->forms; f->kind != DT_FIELD_END; f++) {
        if (is_words(f) && suits(f, t)) return f;
        if (is_words(f)) continue;
        if (!other && suits(f, t)) other = f;
        if (!likely && takes(f, t->kind)) likely = f;
        if (!otherwise || f->otherwise) otherwise = f;
    }
    if (other || of->expected || of->refuse) return other;
    return likely ? likely : otherwise ? otherwise : of->forms;
}

/* Returns a copy of f for a struct in which the struct of f begins at offset `base`. */
static dt_field moved_by(const dt_field *f, size_t base) {
    dt_field moved = *f;
    moved.offset += base;
    moved.set += moved.set ? (int)base : 0;
    moved.at += moved.at ? (int)base : 0;
    return moved;
}

static dt_status *read_one_of(dt_arena *arena, const dt_field *f, const dt_tree *t, void *out) {
    if (f->as != DT_TREE_NULL) DT_TRY(dt_tree_expect(t, f->as, f->name));
    const dt_field *form = form_for(f, t);
    if (!form) return f->refuse ? f->refuse(t) : dt_wrong_type(t, f->name, f->expected);
    DT_TRY(clear_forms(arena, f, out)); /* The preset may have another form than the value. */
    dt_field one = moved_by(form, f->offset);
    one.name = f->name;
    if (one.set) *(bool *)((char *)out + one.set - 1) = true;
    return read_value(arena, &one, t, out);
}

static dt_status *read_seconds(const dt_field *f, const dt_tree *t, double *out) {
    DT_TRY(dt_tree_expect(t, DT_TREE_SCALAR, f->name));
    *out = seconds_of(t->text);
    return *out > 0 ? NULL : dt_wrong_type(t, f->name, "a time, such as 30s, 10m or 2h");
}

static dt_status *read_value(dt_arena *arena, const dt_field *f, const dt_tree *t, void *out) {
    dt_limits limits = limits_of(f);
    void *p = member(f, out);
    switch (f->kind) {
    case DT_FIELD_INT: return read_int(f, t, p);
    case DT_FIELD_REAL: return dt_tree_real_in(t, f->name, &limits, p);
    case DT_FIELD_BOOL: return dt_tree_bool(t, f->name, p);
    case DT_FIELD_TEXT: return read_text(arena, f, t, p);
    case DT_FIELD_ENUM: return read_choice(f, t, p);
    case DT_FIELD_INTS: return read_ints(arena, f, t, p);
    case DT_FIELD_REALS: return read_reals(arena, f, t, p);
    case DT_FIELD_TEXTS: return read_texts(arena, f, t, p);
    case DT_FIELD_TREE: return read_tree(arena, f, t, p);
    case DT_FIELD_TABLE:
        return dt_fields_read(arena, f->table, t, &t->at, f->noun ? f->noun : f->name, p);
    case DT_FIELD_SECONDS: return read_seconds(f, t, p);
    case DT_FIELD_LIST:
    case DT_FIELD_MAP: return read_items(arena, f, t, p);
    case DT_FIELD_NAMED: return f->read(arena, t, p);
    case DT_FIELD_ONE_OF: return read_one_of(arena, f, t, out);
    default: return NULL;
    }
}

/* Returns what the error about a null value of a required field says was expected, such as "a
 * number". */
static const char *expected(const dt_field *f) {
    static const char *const texts[] = {
        [DT_FIELD_INT] = "an integer",
        [DT_FIELD_REAL] = "a number",
        [DT_FIELD_BOOL] = "true or false",
        [DT_FIELD_TEXT] = "a string",
        [DT_FIELD_ENUM] = "a string",
        [DT_FIELD_INTS] = "a list",
        [DT_FIELD_REALS] = "a number or a list",
        [DT_FIELD_TEXTS] = "a list",
        [DT_FIELD_TABLE] = "a mapping",
        [DT_FIELD_TREE] = "a value",
        [DT_FIELD_SECONDS] = "a time",
        [DT_FIELD_ONE_OF] = "a value",
    };
    return f->as == DT_TREE_NULL ? texts[f->kind] : dt_tree_kind_name(f->as);
}

/* ---- defaults ---- */

static void clear(const dt_field *f, void *out) {
    static const size_t sizes[] = {
        [DT_FIELD_INT] = sizeof(int64_t),    [DT_FIELD_REAL] = sizeof(double),
        [DT_FIELD_BOOL] = sizeof(bool),      [DT_FIELD_TEXT] = sizeof(char *),
        [DT_FIELD_ENUM] = sizeof(int),       [DT_FIELD_INTS] = sizeof(dt_ints),
        [DT_FIELD_REALS] = sizeof(dt_reals), [DT_FIELD_TEXTS] = sizeof(dt_texts),
        [DT_FIELD_TREE] = sizeof(dt_tree *), [DT_FIELD_SECONDS] = sizeof(double),
        [DT_FIELD_LIST] = sizeof(dt_items),  [DT_FIELD_MAP] = sizeof(dt_items),
        [DT_FIELD_NAMED] = sizeof(dt_named),
    };
    const bool narrow = f->kind == DT_FIELD_INT && f->narrow;
    memset(member(f, out), 0, narrow ? sizeof(int) : sizes[f->kind]);
}

/* Makes a tree of a preset. Most presets are scalars and need no parser. */
static dt_status *preset_tree(dt_arena *arena, const dt_field *f, const dt_tree **out) {
    dt_tree *t = dt_arena_new(arena, dt_tree);
    bool scalar = f->kind != DT_FIELD_INTS && f->kind != DT_FIELD_REALS &&
                  f->kind != DT_FIELD_TEXTS && f->kind != DT_FIELD_TREE &&
                  f->kind != DT_FIELD_ONE_OF && f->kind != DT_FIELD_INSTEAD;
    *out = t;
    *t = (dt_tree){.kind = DT_TREE_SCALAR, .text = f->preset};
    if (scalar) return NULL;
    dt_source *s = dt_arena_new(arena, dt_source);
    *s =
        (dt_source){dt_arena_printf(arena, "default of %s", f->name), f->preset, strlen(f->preset)};
    dt_status *fault = dt_tree_parse(arena, s, &t);
    *out = t;
    return fault;
}

/* Returns the error for a preset that its own field refuses. That is a mistake in the table, unless
 * memory was exhausted. */
static dt_status *wrong_table(const dt_field *f, dt_status *fault) {
    if (dt_status_number(fault) == DT_E_NO_MEMORY) return fault;
    dt_status *s =
        dt_fail(DT_E_INTERNAL, NULL, "default of '%s': %s", f->name, dt_status_text(fault));
    dt_status_free(fault);
    return s;
}

/* Where the defaults of a table are written, and the location for values that the job leaves
 * out. */
typedef struct defaults {
    dt_arena *arena;
    dt_location at;
    void *out;
} defaults;

static dt_status *set_default(const defaults *d, const dt_field *f);

static dt_status *set_all(const defaults *d, const dt_field *fields) {
    for (const dt_field *f = fields; f->kind != DT_FIELD_END; f++) DT_TRY(set_default(d, f));
    return NULL;
}

static dt_status *set_forms(const defaults *d, const dt_field *f) {
    const defaults inside = {d->arena, d->at, member(f, d->out)};
    return set_all(&inside, f->kind == DT_FIELD_TABLE ? f->table : f->forms);
}

static dt_status *clear_forms(dt_arena *arena, const dt_field *f, void *out) {
    return set_forms(&(defaults){.arena = arena, .out = out}, f);
}

static dt_status *set_default(const defaults *d, const dt_field *f) {
    if (f->kind == DT_FIELD_INSTEAD) return NULL;
    if (f->set) *(bool *)((char *)d->out + f->set - 1) = false;
    if (f->at) *(dt_location *)((char *)d->out + f->at - 1) = d->at;
    if (f->kind == DT_FIELD_TABLE) return set_forms(d, f);
    if (f->kind == DT_FIELD_ONE_OF) DT_TRY(set_forms(d, f));
    else if (f->kind != DT_FIELD_WORDS) clear(f, d->out);
    if (!f->preset) return NULL;
    const dt_tree *t;
    dt_status *fault = preset_tree(d->arena, f, &t);
    if (!fault) fault = read_value(d->arena, f, t, d->out);
    return fault ? wrong_table(f, fault) : NULL;
}

/* ---- keys and mappings ---- */

/* The state while one mapping is read. */
typedef struct reading {
    dt_arena *arena;
    const dt_field *fields;
    const char *what;
    void *out;
    /* for each field: whether an unknown key is similar to it, so that it is not reported as
     * missing, too */
    bool meant[MAX_FIELDS];
    int unknown; /* number of unknown or refused keys so far */
} reading;

static const dt_field *find(const dt_field *fields, const char *key) {
    for (const dt_field *f = fields; f->kind != DT_FIELD_END; f++)
        if (strcmp(f->name, key) == 0) return f;
    return NULL;
}

static int count_fields(const dt_field *fields) {
    int n = 0;
    while (fields && fields[n].kind != DT_FIELD_END) n++;
    return n;
}

const dt_field *dt_fields_join(dt_arena *arena, const dt_field *table, const dt_kind *more,
                               bool all, size_t *size) {
    const size_t align = _Alignof(max_align_t);
    const int most = count_fields(more->fields);
    int n = count_fields(table);
    dt_field *joined = dt_arena_array(arena, dt_field, n + most + 1);
    if (n > 0) memcpy(joined, table, (size_t)n * sizeof *joined);
    for (int i = 0; i < most; i++) {
        if (table && find(table, more->fields[i].name)) continue;
        joined[n] = moved_by(&more->fields[i], *size);
        joined[n++].required &= all;
    }
    joined[n] = (dt_field)DT_END;
    *size += (more->size + align - 1) / align * align;
    return joined;
}

/* Returns the number of bytes of a text that messages show: at most 80, ending between
 * characters. */
static int shown(const char *text) {
    size_t n = strnlen(text, 80);
    while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80) n--;
    return (int)n;
}

/* The arguments for "%s%.*s", which print " in model", or nothing for the top level of a job. */
#define IN(what) (what) ? " in " : "", (what) ? shown(what) : 0, (what) ? (what) : ""

/* Returns the error for a key of Keras that dtrain does not support and that has another value than
 * its default. */
static dt_status *not_implemented(const reading *r, const dt_entry *e, const dt_field *f) {
    dt_status *s = dt_fail(DT_E_UNKNOWN_KEY, &e->key_at, "key %s%s%.*s is not implemented yet",
                           dt_quote_text(e->key).text, IN(r->what));
    if (strcmp(f->preset, "null") == 0) return dt_suggest(s, "leave it out");
    return dt_suggest(s, "only its default, %s, is accepted", f->preset);
}

static dt_status *unknown_key(reading *r, const dt_entry *e) {
    const char *names[MAX_FIELDS];
    int n = 0;
    dt_status *s = dt_fail(DT_E_UNKNOWN_KEY, &e->key_at, "unknown key %s%s%.*s",
                           dt_quote_text(e->key).text, IN(r->what));
    /* After DT_MAX_ERRORS unknown keys nothing is suggested any more. */
    if (++r->unknown > DT_MAX_ERRORS) return s;
    /* A key that ends with ')' is probably the last part of a Python tuple, which YAML has divided
     * at its commas. */
    if (*e->key && e->key[strlen(e->key) - 1] == ')')
        return dt_suggest(s, "lists are written in brackets: [4, 4], not (4, 4)");
    if (*e->key && strspn(e->key, "0123456789") == strlen(e->key) &&
        e->value->kind == DT_TREE_NULL) /* The key is probably a part of "1,000". */
        return dt_suggest(s, "numbers have no commas: write 1000 for 1,000, and 0.1 for 0,1");
    for (const dt_field *f = r->fields; f->kind != DT_FIELD_END; f++) {
        if (f->instead && strcmp(f->name, e->key) == 0) return dt_suggest(s, "%s", f->instead);
        if (!f->instead && n < MAX_FIELDS) names[n++] = f->name;
    }
    const char *foreign = dt_foreign_key(r->what, e->key);
    if (foreign) return dt_suggest(s, "%s", foreign);
    const char *nearest = dt_nearest(e->key, names, n);
    if (nearest && find(r->fields, nearest) - r->fields < MAX_FIELDS)
        r->meant[find(r->fields, nearest) - r->fields] = true;
    return dt_suggest_names(s, nearest, names, n, "known keys:");
}

/* Whether t is the only value that the refused field f accepts: its preset, or null if it has a
 * preset. */
static bool is_only_value(const reading *r, const dt_field *f, const dt_tree *t) {
    const dt_tree *only = NULL;
    if (!f->preset || t->kind == DT_TREE_NULL) return f->preset;
    /* A preset can always be parsed, since tables are constant. */
    dt_status_free(preset_tree(r->arena, f, &only));
    return dt_tree_same(t, only);
}

/* Whether t has the same canonical text as the default of f. Required fields, those that record
 * whether they are given (`set`), and fields other than BOOL and ENUM without a preset have no
 * default in this sense. */
static bool is_default(const reading *r, const dt_field *f, const dt_tree *t) {
    const dt_tree *preset = NULL;
    if (f->set || f->required) return false;
    if (f->kind == DT_FIELD_BOOL && !f->preset) return strcmp(t->text ? t->text : "", "false") == 0;
    if (f->kind == DT_FIELD_ENUM && !f->preset)
        return t->kind == DT_TREE_SCALAR && strcmp(t->text, f->choices[0]) == 0;
    if (!f->preset) return false;
    /* A preset can always be parsed, since tables are constant. */
    dt_status_free(preset_tree(r->arena, f, &preset));
    return dt_tree_same(t, preset);
}

static dt_status *read_entry(reading *r, const dt_entry *e) {
    const dt_field *f = find(r->fields, e->key);
    if (f && f->instead && is_only_value(r, f, e->value)) {
        e->value->is_default = true;
        return NULL;
    }
    if (f && f->instead && f->preset) return not_implemented(r, e, f);
    if (!f || f->instead) return unknown_key(r, e);
    if (e->value->kind == DT_TREE_NULL)
        return f->required ? dt_wrong_type(e->value, f->name, expected(f)) : NULL;
    if (f->set) *(bool *)((char *)r->out + f->set - 1) = true;
    if (f->at) *(dt_location *)((char *)r->out + f->at - 1) = e->value->at;
    e->value->is_default = is_default(r, f, e->value);
    return read_value(r->arena, f, e->value, r->out);
}

static dt_status *find_missing(const reading *r, const dt_tree *t, const dt_location *at) {
    dt_status *faults = NULL;
    for (const dt_field *f = r->fields; f->kind != DT_FIELD_END; f++) {
        bool meant = f - r->fields < MAX_FIELDS && r->meant[f - r->fields];
        if (f->required && !meant && !dt_tree_get(t, f->name))
            dt_status_append(&faults,
                             dt_fail(DT_E_MISSING_KEY, at, "required key '%s' is missing%s%.*s",
                                     f->name, IN(r->what)));
    }
    return faults;
}

/* Checks that t is a mapping. If it is a single value, as in `Dropout: 0.1`, the value is probably
 * that of the first required key, which the error then names. */
static dt_status *expect_map(const dt_field *fields, const dt_tree *t, const char *what) {
    const dt_field *f = fields;
    dt_status *s = dt_tree_expect(t, DT_TREE_MAP, what);
    while (f->kind != DT_FIELD_END && !f->required) f++;
    if (!s || t->kind != DT_TREE_SCALAR || f->kind == DT_FIELD_END || !what) return s;
    return dt_suggest(s, "write %s: {%s: %.*s}", what, f->name, MOST_SHOWN, t->text);
}

dt_status *dt_fields_read(dt_arena *arena, const dt_field *fields, const dt_tree *t,
                          const dt_location *at, const char *what, void *out) {
    const bool given = dt_given(t);
    const dt_location *here = given ? &t->at : at;
    DT_TRY(set_all(&(defaults){arena, here ? *here : (dt_location){0}, out}, fields));
    if (given) DT_TRY(expect_map(fields, t, what));
    dt_status *faults = NULL;
    reading r = {.arena = arena, .fields = fields, .what = what, .out = out};
    for (int i = 0; given && i < t->n; i++) dt_status_append(&faults, read_entry(&r, &t->entry[i]));
    dt_status_append(&faults, find_missing(&r, t, here));
    return faults;
}
