/* SPDX-License-Identifier: Apache-2.0 */
/* See column_survey.h. */
#include "file/column_survey.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/date.h"
#include "base/hash.h"

enum { MOST_WORDS = 250, TOLD = 8, MOST_DISTINCT = 1 << 16 };
enum { MOST_SHOWN = 4096 }; /* limit of the bytes of a value that are kept for display */

void dt_column_init(dt_column *c, const char *name) {
    *c = (dt_column){.name = dt_strdup(name),
                     .integers = true,
                     .numbers = true,
                     .rises = true,
                     .dates = true,
                     .ascends = true};
}

static void add_word(dt_column *c, const char *word) {
    int low = 0, high = c->words;
    while (low < high) {
        const int mid = (low + high) / 2, order = strcmp(c->word[mid].text, word);
        if (order == 0) {
            c->word[mid].times++;
            return;
        }
        if (order < 0) low = mid + 1;
        else high = mid;
    }
    c->overflow = c->words == MOST_WORDS;
    if (c->overflow) return;
    DT_GROW(c->word, c->cap, c->words + 1);
    memmove(c->word + low + 1, c->word + low, (size_t)(c->words++ - low) * sizeof *c->word);
    c->word[low] = (dt_column_word){dt_strdup(word), 1};
}

static uint64_t *find_place(const dt_column *c, uint64_t hash) {
    uint64_t i = hash;
    while (c->seen[i & (uint64_t)(c->seen_cap - 1)] != 0 &&
           c->seen[i & (uint64_t)(c->seen_cap - 1)] != hash)
        i++;
    return &c->seen[i & (uint64_t)(c->seen_cap - 1)];
}

/* Grows the hash table, so that at most half of its slots are used. */
static void make_room(dt_column *c) {
    if (2 * c->distinct < c->seen_cap) return;
    dt_column old = *c;
    c->seen_cap = old.seen_cap ? 2 * old.seen_cap : 64;
    c->seen = dt_alloc((size_t)c->seen_cap * sizeof *c->seen);
    memset(c->seen, 0, (size_t)c->seen_cap * sizeof *c->seen);
    for (int64_t i = 0; i < old.seen_cap; i++)
        if (old.seen[i]) *find_place(c, old.seen[i]) = old.seen[i];
    free(old.seen);
}

/* Hashes a value. 1, 1.0 and 1e0 have the same hash; it is never 0. */
static uint64_t hash_of(const dt_column_value *v) {
    uint64_t hash;
    const double real = v->integer ? (double)v->whole : v->real;
    if (v->integer && (int64_t)real != v->whole) hash = dt_hash_bytes(1, &v->whole, 8);
    /* adding 0.0 turns -0 into 0 */
    else if (v->number) hash = dt_hash_bytes(2, &(double){real + 0.0}, 8);
    else hash = dt_hash_bytes(3, v->text, strlen(v->text));
    return hash ? hash : 1;
}

static void add_distinct(dt_column *c, const dt_column_value *v) {
    if (c->many) return;
    make_room(c);
    const uint64_t hash = hash_of(v);
    uint64_t *place = find_place(c, hash);
    if (*place) return;
    c->many = c->distinct == MOST_DISTINCT;
    if (c->many) return;
    *place = hash;
    c->distinct++;
}

static void add_number(dt_column *c, const dt_column_value *v) {
    const bool first = c->fields == 1;
    c->least = first || v->real < c->least ? v->real : c->least;
    c->most = first || v->real > c->most ? v->real : c->most;
    c->sum += v->real;
    const double off = v->real - c->middle;
    c->middle += off / (double)c->fields;
    c->squares += off * (v->real - c->middle);
    if (!c->integers) return;
    c->least_int = first || v->whole < c->least_int ? v->whole : c->least_int;
    c->most_int = first || v->whole > c->most_int ? v->whole : c->most_int;
    c->rises = c->rises && (first || v->whole > c->last_int);
    c->ascends = c->rises && c->ascends && (first || v->whole - 1 == c->last_int);
    c->last_int = v->whole;
}

static void add_date(dt_column *c, const char *text) {
    dt_date d;
    c->dates = dt_date_parse(text, DT_DATE_EITHER, &d);
    c->unclear = c->unclear || d.unclear;
    c->proved = c->proved || d.order != DT_DATE_EITHER;
}

static void add_text(dt_column *c, const char *text) {
    const size_t n = strlen(text);
    c->longest = (int64_t)n > c->longest ? (int64_t)n : c->longest;
    for (size_t i = 0; i < n; i++)
        c->tokens += text[i] != ' ' && (i + 1 == n || text[i + 1] == ' ');
}

/* Collects texts for all columns, even of numbers: the last record may show that a column is
 * text. */
void dt_column_note(dt_column *c, const dt_column_value *v) {
    c->fields++;
    if (!v->number && c->texts++ == 0) c->text = dt_strdup(v->text);
    c->integers &= v->integer;
    c->numbers &= v->number;
    add_text(c, v->text);
    if (v->number) c->dates = false;
    if (c->dates) add_date(c, v->text);
    if (c->numbers) add_number(c, v);
    if (!c->overflow) add_word(c, v->text);
    add_distinct(c, v);
}

void dt_column_show(dt_column *c, int64_t row, const char *text, size_t n) {
    DT_GROW(c->shown, c->shown_cap, (int)row + 1);
    while (c->n_shown <= row) c->shown[c->n_shown++] = NULL;
    const char *more = n > MOST_SHOWN ? "..." : "";
    if (*more)
        for (n = MOST_SHOWN; n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80;) n--;
    char *copy = dt_alloc(n + sizeof "...");
    memcpy(copy, text, n);
    memcpy(copy + n, more, strlen(more) + 1);
    c->shown[row] = copy;
}

static void put_words(const dt_column *c, const dt_survey_request *g) {
    dt_json_open(g->j, "vocabulary", '[');
    for (int i = 0; i < c->words; i++) dt_json_string(g->j, NULL, c->word[i].text);
    dt_json_close(g->j, ']');
    dt_str_printf(g->notes, "'%s': mapped to class indices:", c->name);
    for (int i = 0; i < c->words && i < TOLD; i++) {
        dt_str_puts(g->notes, i ? ", " : " ");
        dt_str_escaped(g->notes, c->word[i].text, strlen(c->word[i].text), 40);
        dt_str_printf(g->notes, "=%d", i);
    }
    dt_str_puts(g->notes, c->words > TOLD ? ", ...\n" : "\n");
    if (c->texts == c->fields) return;
    dt_str_printf(g->notes, "'%s': %lld of %lld fields are not numbers (such as '", c->name,
                  (long long)c->texts, (long long)c->fields);
    dt_str_escaped(g->notes, c->text, strlen(c->text), 40);
    dt_str_puts(g->notes, "'), so all of them are read as text\n");
}

/* Writes the entry of an element. A column without a name, as pandas writes its index, gets the
 * name column_N. */
static void put_element(const dt_column *c, int number, const dt_survey_request *g) {
    char unnamed[32];
    snprintf(unnamed, sizeof unnamed, "column_%d", number);
    dt_json_open(g->j, *c->name ? c->name : unnamed, '{');
    dt_json_string(g->j, "column", c->name);
    if (c->shape.rank > 0) { dt_json_ints(g->j, "shape", c->shape.dim, c->shape.rank); }
    dt_json_string(g->j, "dtype", c->integers ? "int64" : c->numbers ? "float64" : "int32");
    if (!c->numbers) put_words(c, g);
    if (c->empty > 0) {
        dt_json_int(g->j, "default_value", 0);
        dt_str_printf(g->notes, "'%s': missing values, %lld, are read as 0\n", c->name,
                      (long long)c->empty);
    }
    dt_json_close(g->j, '}');
}

/* Reports that no column can be an element, with the reason for the first column. */
static dt_status *no_element(const dt_survey_request *g) {
    const char *why = dt_str_text(g->notes);
    return dt_fail(DT_E_DATA_FILE, NULL, "%s: nothing in it can be an element: %.*s", g->path[0],
                   (int)strcspn(why, "\n"), why);
}

dt_status *dt_table_put(dt_table *t, const dt_survey_request *g) {
    bool any = false;
    dt_json_open(g->j, "element", '{');
    for (int i = 0; i < t->n; i++) {
        const dt_column *c = &t->v[i];
        const bool words = !c->numbers && c->overflow;
        any = any || (!c->unfit && c->words > 0 && (!words || g->table));
        if (c->unfit) dt_str_printf(g->notes, "'%s' %s: left out\n", c->name, c->unfit);
        else if (c->words == 0) dt_str_printf(g->notes, "'%s' has no values: left out\n", c->name);
        else if (words)
            dt_str_printf(g->notes,
                          "'%s' has more than %d different texts: left out; a job reads it with "
                          "dtype: string\n",
                          c->name, MOST_WORDS);
        else put_element(c, i, g);
    }
    dt_json_close(g->j, '}');
    if (!any) return no_element(g);
    if (g->table) {
        *g->table = *t;
        *t = (dt_table){0};
    }
    return NULL;
}

void dt_table_release(dt_table *t) {
    for (int i = 0; i < t->n; i++) {
        dt_column *c = &t->v[i];
        while (c->words > 0) free(c->word[--c->words].text);
        while (c->n_shown > 0) free(c->shown[--c->n_shown]);
        free(c->word);
        free(c->shown);
        free(c->seen);
        free(c->text);
        free(c->name);
    }
    free(t->v);
    *t = (dt_table){0};
}
