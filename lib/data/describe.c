/* SPDX-License-Identifier: Apache-2.0 */
/* See describe.h. */
#include "data/describe.h"

#include <math.h>
#include <string.h>
#include <strings.h>

/* If a table has fewer records, names look like categories, and ids like numbers. */
enum { FEW_RECORDS = 20 };

const char *dt_column_kind_name(dt_column_kind k) {
    static const char *const names[] = {
        [DT_COLUMN_NUMBER] = "number",     [DT_COLUMN_CATEGORY] = "category",
        [DT_COLUMN_TEXT] = "text",         [DT_COLUMN_COUNTER] = "row number",
        [DT_COLUMN_CONSTANT] = "constant", [DT_COLUMN_EMPTY] = "empty",
        [DT_COLUMN_UNFIT] = "other"};
    return names[k];
}

/* ---- facts ---- */

static bool is_date(const dt_column_facts *c) {
    return c->dates && (c->kind == DT_COLUMN_CATEGORY || c->kind == DT_COLUMN_TEXT);
}

static dt_column_kind kind_of(const dt_column *c) {
    const bool all_differ = c->fields >= FEW_RECORDS && !c->many && c->distinct == c->fields;
    if (c->unfit) return DT_COLUMN_UNFIT;
    if (c->fields == 0) return DT_COLUMN_EMPTY;
    if (c->shape.rank > 0) return DT_COLUMN_NUMBER;
    if (c->distinct == 1 && c->fields > 1 && c->empty == 0) return DT_COLUMN_CONSTANT;
    if (c->numbers && c->integers && c->ascends && c->fields >= FEW_RECORDS && c->empty == 0)
        return DT_COLUMN_COUNTER;
    if (c->numbers) return DT_COLUMN_NUMBER;
    return c->overflow || all_differ ? DT_COLUMN_TEXT : DT_COLUMN_CATEGORY;
}

static void take_words(dt_arena *arena, const dt_column *c, dt_column_facts *out) {
    int64_t *times = dt_arena_array(arena, int64_t, c->words);
    out->words = (dt_texts){.n = c->words, .v = dt_arena_array(arena, const char *, c->words)};
    for (int i = 0; i < c->words; i++) {
        out->words.v[i] = dt_arena_strdup(arena, c->word[i].text);
        times[i] = c->word[i].times;
    }
    out->times = times;
}

static void take_examples(dt_arena *arena, const dt_table *t, const dt_column *c,
                          dt_column_facts *out) {
    const int n = (int)(t->records < t->wanted ? t->records : t->wanted);
    out->examples = (dt_texts){.n = n, .v = dt_arena_array(arena, const char *, n)};
    for (int i = 0; i < n; i++)
        out->examples.v[i] =
            i < c->n_shown && c->shown[i] ? dt_arena_strdup(arena, c->shown[i]) : NULL;
}

static const char *why_not(dt_arena *arena, const dt_column *c, dt_column_kind k) {
    switch (k) {
    case DT_COLUMN_UNFIT: return dt_arena_strdup(arena, c->unfit);
    case DT_COLUMN_EMPTY: return "has no values";
    case DT_COLUMN_CONSTANT: return "has one value only";
    case DT_COLUMN_COUNTER: return "numbers the records";
    case DT_COLUMN_TEXT: return "has texts that mostly differ; 'dtype: string' reads them";
    default: return NULL;
    }
}

static int64_t usual_of(const dt_column *c) {
    int64_t most = 0;
    for (int i = 0; !c->overflow && i < c->words; i++)
        most = c->word[i].times > most ? c->word[i].times : most;
    return most;
}

/* Whether a column of numbers is read as texts because of a few other values. */
static bool is_nearly_numbers(const dt_column *c) {
    return !c->unfit && !c->dates && c->texts > 0 && c->fields - c->texts >= 2 * c->texts &&
           c->shape.rank == 0;
}

static void take_facts(dt_arena *arena, const dt_table *t, int i, dt_column_facts *out) {
    const dt_column *c = &t->v[i];
    const bool single = c->numbers && !c->unfit && c->fields > 0;
    *out = (dt_column_facts){
        .name = dt_arena_strdup(arena, c->name),
        .element =
            *c->name ? dt_arena_strdup(arena, c->name) : dt_arena_printf(arena, "column_%d", i),
        .number = i,
        .kind = kind_of(c),
        .integers = single && c->integers,
        .shape = c->unfit ? (dt_type){0} : c->shape,
        .count = c->rows,
        .missing = t->records - c->rows,
        .distinct = c->distinct,
        .many = c->many,
        .min = single ? c->least + 0.0 : NAN,
        .mean = single ? c->sum / (double)c->fields : NAN,
        .max = single ? c->most + 0.0 : NAN,
        .deviation = single && c->fields > 1 ? sqrt(c->squares / (double)(c->fields - 1)) : NAN,
        .rises = single && c->integers && c->rises,
        .usual = usual_of(c),
        .tokens = c->fields > 0 ? (double)c->tokens / (double)c->fields : 0,
        .longest = c->longest,
        .dates = c->dates && c->fields > 0 && !c->unfit && c->shape.rank == 0,
        .unclear = c->unclear && !c->proved,
        .min_int = c->least_int,
        .max_int = c->most_int,
        .odd = is_nearly_numbers(c) ? dt_arena_strdup(arena, c->text) : NULL,
    };
    out->why = !is_date(out)  ? why_not(arena, c, out->kind)
               : out->unclear ? "has dates whose day or month may come first: give the step date a "
                                "format"
                              : NULL;
    if (out->kind == DT_COLUMN_CATEGORY || (out->kind == DT_COLUMN_CONSTANT && !c->numbers))
        take_words(arena, c, out);
    take_examples(arena, t, c, out);
}

/* ---- lines of a job, and the description ---- */

enum { LONGEST_PLAIN = 200, SHOWN_ODD = 40 };

/* Whether YAML surely reads the text as the same string without quotes, also in a list and as a
 * key. */
static bool is_plain(const char *text) {
    static const char *const others[] = {"true", "false", "yes", "no", "on",
                                         "off",  "null",  "y",   "n"};
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    const size_t n = strlen(text), folders = strspn(text, "./");
    const bool is_path = folders > 0 && text[folders - 1] == '/';
    if (n == 0 || n > LONGEST_PLAIN || text[n - 1] == ' ') return false;
    if (!is_path && !strchr(letters, *text)) return false;
    for (size_t i = folders; i < n; i++)
        if (!strchr(letters, text[i]) && !strchr("0123456789 -./", text[i])) return false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcasecmp(others[i], text) == 0) return false;
    return true;
}

void dt_put_word(dt_str *out, const char *text) {
    if (is_plain(text)) dt_str_puts(out, text);
    else dt_json_string(&(dt_json){.out = out, .yaml = true}, NULL, text);
}

static void put_words(dt_str *out, const char *key, const dt_texts *words) {
    dt_str_printf(out, ", %s: [", key);
    for (int i = 0; i < words->n; i++) {
        dt_str_puts(out, i ? ", " : "");
        dt_put_word(out, words->v[i]);
    }
    dt_str_putc(out, ']');
}

/* Appends the column's name, or its number if it has no name. */
static void put_column(dt_str *out, const dt_column_facts *c) {
    if (*c->name) dt_put_word(out, c->name);
    else dt_str_printf(out, "%d", c->number);
}

static const char *entry_of(dt_arena *arena, const dt_column_facts *c) {
    dt_str s = {0};
    dt_str_puts(&s, "{column: ");
    put_column(&s, c);
    if (c->shape.rank > 0) {
        dt_str_puts(&s, ", shape: [");
        for (int d = 0; d < c->shape.rank; d++)
            dt_str_printf(&s, "%s%lld", d ? ", " : "", (long long)c->shape.dim[d]);
        dt_str_putc(&s, ']');
    }
    if (is_date(c)) dt_str_puts(&s, ", dtype: string");
    else if (c->kind == DT_COLUMN_NUMBER) dt_str_puts(&s, ", dtype: float32");
    else put_words(&s, "vocabulary", &c->words);
    dt_str_putc(&s, '}');
    return dt_arena_take(arena, &s);
}

static const char *steps_of(dt_arena *arena, const dt_column_facts *c) {
    if (is_date(c))
        return dt_arena_printf(arena, "[%s{date: {parts: [seconds, month, weekday]}}, normalize]",
                               c->missing > 0 ? "{impute: most_frequent}, " : "");
    if (c->kind == DT_COLUMN_NUMBER)
        return c->missing > 0 ? "[{impute: median}, normalize]" : "[normalize]";
    return dt_arena_printf(arena, "[%s{one_hot: %d}]",
                           c->missing > 0 ? "{impute: most_frequent}, " : "", c->words.n);
}

static void put_files(dt_str *out, const dt_guess *g) {
    size_t name;
    dt_str_puts(out, g->n > 1 ? "  train: [" : "  train: ");
    for (int i = 0; i < g->n; i++) {
        dt_str_puts(out, i ? ", " : "");
        dt_put_word(out, dt_guess_path(g->files[i], &name));
    }
    dt_str_puts(out, g->n > 1 ? "]\n" : "\n");
}

void dt_guess_put_arrays(const dt_guess *g, dt_str *out) {
    dt_str_printf(out, "dataset:\n  format: %s\n  train: ", g->format->kind.name);
    dt_str_add(out, dt_str_text(&g->out) + g->arrays_from, g->arrays_end - g->arrays_from);
    dt_str_putc(out, '\n');
    if (g->element_from == g->element_end) return;
    dt_str_puts(out, "  element: ");
    dt_str_add(out, dt_str_text(&g->out) + g->element_from, g->element_end - g->element_from);
    dt_str_putc(out, '\n');
}

/* Appends a key whose value is a character; nothing if the character is 0. */
static void put_char(dt_str *out, const char *key, char value) {
    const char text[] = {value, '\0'};
    if (!value) return;
    dt_str_printf(out, "  %s: ", key);
    dt_json_string(&(dt_json){.out = out, .yaml = true}, NULL, text);
    dt_str_putc(out, '\n');
}

void dt_guess_put_head(const dt_guess *g, dt_str *out) {
    dt_str_printf(out, "dataset:\n  format: %s\n", g->format->kind.name);
    put_files(out, g);
    if (g->table.delimiter == ' ') dt_str_puts(out, "  field_delim: whitespace\n");
    else if (g->table.delimiter != ',') put_char(out, "field_delim", g->table.delimiter);
    put_char(out, "comment", g->table.comment);
    put_char(out, "decimal", g->table.decimal);
    put_char(out, "thousands", g->table.thousands);
    if (g->table.symbols)
        dt_str_puts(out, "  symbols: true # $5 is read as 5, and 12 % as 12, not as 0.12\n");
    if (g->table.delimiter && !g->table.header) dt_str_puts(out, "  header: false\n");
}

static bool is_single_number(const dt_column_facts *c) {
    return c->kind == DT_COLUMN_NUMBER && c->shape.rank == 0;
}

/* Returns the name of the element that joins all columns of single numbers: `x`, or `numbers` if
 * another element is named x. */
static const char *numbers_of(const dt_table_facts *t) {
    for (int i = 0; i < t->n; i++)
        if (t->column[i].entry && !is_single_number(&t->column[i]) &&
            strcmp(t->column[i].element, "x") == 0)
            return "numbers";
    return "x";
}

static void put_numbers(dt_str *out, const dt_table_facts *t, bool steps) {
    int n = 0;
    bool missing = false;
    dt_str columns = {0};
    for (int i = 0; i < t->n; i++) {
        if (!is_single_number(&t->column[i])) continue;
        missing = missing || t->column[i].missing > 0;
        dt_str_puts(&columns, n++ ? ", " : "");
        put_column(&columns, &t->column[i]);
    }
    if (n > 0) {
        dt_str_puts(out, "    ");
        dt_put_word(out, numbers_of(t));
        if (steps) dt_str_printf(out, ": [%snormalize]\n", missing ? "{impute: median}, " : "");
        else dt_str_printf(out, ": {columns: [%s]}\n", dt_str_text(&columns));
    }
    dt_str_release(&columns);
}

/* Appends the section `map`, which lists the steps of each element, or the section `element`, which
 * lists the entry of each. */
static void put_section(dt_str *out, const dt_table_facts *t, bool steps) {
    dt_str_puts(out, steps ? "  map:\n" : "  element:\n");
    put_numbers(out, t, steps);
    for (int i = 0; i < t->n; i++) {
        const dt_column_facts *c = &t->column[i];
        if (!c->entry || is_single_number(c)) continue;
        dt_str_puts(out, "    ");
        dt_put_word(out, c->element);
        dt_str_printf(out, ": %s\n", steps ? c->steps : c->entry);
    }
}

static void put_omitted(dt_str *out, const dt_table_facts *t) {
    for (int i = 0; i < t->n; i++) {
        if (!t->column[i].why) continue;
        dt_str_puts(out, "  # left out: ");
        dt_put_word(out, t->column[i].element);
        dt_str_printf(out, " %s\n", t->column[i].why);
    }
}

void dt_column_put_odd(dt_str *out, const dt_column_facts *c) {
    dt_str_puts(out, "most values are numbers, but not '");
    dt_str_escaped(out, c->odd, strlen(c->odd), SHOWN_ODD);
    dt_str_puts(out, "': if it marks a missing value, list it in missing_values");
}

static void put_odd(dt_str *out, const dt_table_facts *t) {
    for (int i = 0; i < t->n; i++) {
        if (!t->column[i].odd) continue;
        dt_str_puts(out, "  # ");
        dt_put_word(out, t->column[i].element);
        dt_str_puts(out, ": ");
        dt_column_put_odd(out, &t->column[i]);
        dt_str_putc(out, '\n');
    }
}

static const char *lines_of(dt_arena *arena, const dt_guess *g, const dt_table_facts *t) {
    dt_str s = {0};
    bool any = false;
    for (int i = 0; i < t->n; i++) any = any || t->column[i].entry;
    dt_guess_put_head(g, &s);
    if (any) put_section(&s, t, false);
    if (any) put_section(&s, t, true);
    put_omitted(&s, t);
    put_odd(&s, t);
    dt_str_puts(&s, "  global_batch_size: 32\n");
    return dt_arena_take(arena, &s);
}

void dt_table_describe(dt_arena *arena, const dt_guess *g, dt_table_facts *out) {
    const dt_table *t = &g->table;
    dt_column_facts *c = dt_arena_array(arena, dt_column_facts, t->n);
    for (int i = 0; i < t->n; i++) {
        take_facts(arena, t, i, &c[i]);
        if (c[i].why) continue;
        c[i].entry = entry_of(arena, &c[i]);
        c[i].steps = steps_of(arena, &c[i]);
    }
    *out = (dt_table_facts){.column = c, .n = t->n, .records = t->records};
    out->lines = lines_of(arena, g, out);
}
