/* SPDX-License-Identifier: Apache-2.0 */
/* See csv_header.h. Names are found by binary search, because a table may have thousands of
 * columns, and an element may use all of them. */
#include "file/csv_header.h"

#include <stdlib.h>
#include <string.h>

#include "base/glob.h"

enum { MOST_NAMES = 256, MOST_PATTERNS = 100 };

/* ---- names ---- */

/* The name of a column and its index. Equal names are sorted by index. */
typedef struct placed {
    const char *name;
    int at;
} placed;

static int compare(const void *a, const void *b) {
    const placed *x = a, *y = b;
    const int order = strcmp(x->name, y->name);
    return order ? order : (x->at > y->at) - (x->at < y->at);
}

static void sort(dt_csv_header *h) {
    DT_LOCAL placed *all = dt_alloc((size_t)h->n * sizeof *all + 1);
    for (int i = 0; i < h->n; i++) all[i] = (placed){h->name[i], i};
    qsort(all, (size_t)h->n, sizeof *all, compare);
    for (int i = 0; i < h->n; i++) h->sorted[i] = all[i].at;
}

/* Returns the index in `sorted` of the first column of that name; -1: none. */
static int find_name(const dt_csv_header *h, const char *name) {
    int low = 0, high = h->n;
    while (low < high) {
        const int mid = (low + high) / 2;
        if (strcmp(h->name[h->sorted[mid]], name) < 0) low = mid + 1;
        else high = mid;
    }
    return low < h->n && strcmp(h->name[h->sorted[low]], name) == 0 ? low : -1;
}

/* Renames repeated names, unless they are empty, as pandas does: a, a.1, a.2. If another column
 * already has the name a.1, a.2 is next. */
static void rename_again(dt_arena *arena, dt_csv_header *h) {
    const char **name = dt_arena_array(arena, const char *, h->n);
    for (int i = 0; i < h->n; i++) name[i] = h->name[i];
    for (int i = 1, number = 0; i < h->n; i++) {
        const int at = h->sorted[i];
        const bool again = strcmp(h->name[at], h->name[h->sorted[i - 1]]) == 0;
        number = again ? number : 0;
        if (!again || !*h->name[at]) continue;
        do name[at] = dt_arena_printf(arena, "%s.%d", h->name[at], ++number);
        while (find_name(h, name[at]) >= 0);
    }
    h->name = name;
    sort(h);
}

void dt_csv_header_read(dt_arena *arena, const dt_csv *c, bool named, dt_csv_header *out) {
    *out = (dt_csv_header){.named = named,
                           .n = c->n,
                           .name = dt_arena_array(arena, const char *, c->n),
                           .sorted = dt_arena_array(arena, int, c->n)};
    for (int i = 0; i < c->n; i++)
        out->name[i] =
            named ? dt_arena_strdup(arena, c->field[i].text) : dt_arena_printf(arena, "%d", i);
    sort(out);
    if (named) rename_again(arena, out);
}

bool dt_csv_header_has(const dt_csv_header *h, const char *name) { return find_name(h, name) >= 0; }

int dt_csv_header_find(const dt_csv_header *h, const char *name) {
    int64_t number;
    const int at = find_name(h, name);
    if (at >= 0) return h->sorted[at];
    return dt_parse_int64(name, &number) && number >= 0 && number < h->n ? (int)number : -1;
}

/* ---- finding columns, and errors about missing ones ---- */

/* Returns the character that probably separates the columns, if the whole line is one field; '\0':
 * none. */
static char other_delimiter(const dt_csv *c) {
    static const char likely[] = ";\t|,";
    for (const char *d = likely; c->n == 1 && *d; d++)
        if (strchr(c->field[0].text, *d)) return *d;
    return '\0';
}

static bool has_number(const dt_csv *c) {
    double number;
    for (int i = 0; i < c->n; i++)
        if (dt_parse_double(c->field[i].text, &number)) return true;
    return false;
}

/* Returns the name in the file, with blanks, if the header has blanks around this name, as in "a,
 * b"; NULL: it does not. */
static const char *find_padded(const dt_csv *c, const char *name) {
    for (int i = 0; i < c->n; i++) {
        const char *text = c->field[i].text + strspn(c->field[i].text, " \t");
        const size_t n = strlen(name);
        if (strncmp(text, name, n) == 0 && strspn(text + n, " \t") == strlen(text + n))
            return c->field[i].text;
    }
    return NULL;
}

/* Adds a suggestion to an error about a missing column: a similar name, a key of the job, or, if
 * the first line does not look like a header, `header: false`. */
static dt_status *suggest_column(dt_status *s, const dt_csv *c, const char *name) {
    const char *names[MOST_NAMES];
    int n = 0;
    const char delimiter = other_delimiter(c);
    if (delimiter)
        return dt_suggest(s, "set dataset.field_delim: \"%s\"",
                          delimiter == '\t' ? "\\t" : (const char[]){delimiter, '\0'});
    if (c->n > 0 && *c->field[0].text == '#')
        return dt_suggest(s, "the first line is no header: set dataset.comment: \"#\", or "
                             "dataset.skip_rows");
    const char *padded = find_padded(c, name);
    if (padded) return dt_suggest(s, "the header has blanks around names: write \"%.80s\"", padded);
    for (; n < c->n && n < MOST_NAMES; n++) names[n] = c->field[n].text;
    const char *nearest = dt_nearest(name, names, n);
    if (nearest) return dt_suggest(s, "did you mean '%.80s'?", nearest);
    return has_number(c) ? dt_suggest(s, "a file without a header line needs dataset.header: "
                                         "false, and numbers as columns, from 0")
                         : s;
}

/* Reports a missing column. first: it is the first one reported, so up to 16 columns of the file
 * are listed. */
static dt_status *no_column(const dt_csv *c, const dt_csv_header *h, const dt_element_spec *e,
                            const char *name, bool first) {
    dt_local_str has = {0};
    for (int i = 0; i < h->n && i < 16 && h->named; i++) {
        dt_str_puts(&has, i ? ", " : "");
        dt_str_escaped(&has, h->name[i], strlen(h->name[i]), 60);
    }
    if (!h->named) dt_str_printf(&has, "0 to %d", h->n - 1);
    else if (h->n > 16) dt_str_puts(&has, ", ...");
    dt_status *s = dt_fail(DT_E_DATA_FILE, &e->at, "%s: no column '%.80s'%s%s", c->path, name,
                           first ? "; columns: " : "", first ? dt_str_text(&has) : "");
    return h->named ? suggest_column(s, c, name) : s;
}

dt_status *dt_csv_find_columns(const dt_csv *c, const dt_csv_header *h, const dt_element_spec *e,
                               int *to) {
    enum { TOLD = 20 };
    dt_status *s = NULL;
    for (int i = 0, missing = 0; i < e->columns.n && missing < TOLD; i++) {
        to[i] = dt_csv_header_find(h, e->columns.v[i]);
        if (to[i] < 0) {
            dt_status_append(&s, no_column(c, h, e, e->columns.v[i], !s));
            missing++;
        }
    }
    return s;
}

/* ---- patterns ---- */

static int mark(bool *chosen, int from, int to) {
    for (int i = from; i <= to; i++) chosen[i] = true;
    return to - from + 1;
}

/* Finds the columns of a range "first..last". Returns false if the text is not a range, if one of
 * its ends is not a column, or if the last column comes before the first one. */
static bool find_range(dt_arena *arena, const dt_csv_header *h, const char *text, int *from,
                       int *to) {
    const char *dots = strstr(text, "..");
    if (!dots) return false;
    char *first = dt_arena_strdup(arena, text);
    first[dots - text] = '\0';
    *from = dt_csv_header_find(h, first);
    *to = dt_csv_header_find(h, dots + 2);
    return *from >= 0 && *to >= *from;
}

/* Marks the columns that an entry of `columns` chooses, and returns their number. */
static int choose(dt_arena *arena, const dt_csv_header *h, const char *text, bool *chosen) {
    const char *const *pattern;
    const int at = dt_csv_header_find(h, text);
    int from, to, n = 0;
    if (at >= 0) return mark(chosen, at, at);
    if (find_range(arena, h, text, &from, &to)) return mark(chosen, from, to);
    if (!strpbrk(text, "*?[{")) return 0;
    const int patterns = dt_glob_expand(arena, text, MOST_PATTERNS, &pattern);
    for (int i = 0; patterns > 0 && i < h->n; i++)
        if (dt_glob_matches(pattern, patterns, h->name[i])) n += mark(chosen, i, i);
    return n;
}

/* Returns the names of the chosen columns, or of all others, in file order. A column without a name
 * is listed by its number. */
static dt_texts list_columns(dt_arena *arena, const dt_csv_header *h, const bool *chosen,
                             bool others) {
    dt_texts names = {.v = dt_arena_array(arena, const char *, h->n)};
    for (int i = 0; i < h->n; i++)
        if (chosen[i] != others)
            names.v[names.n++] = *h->name[i] ? h->name[i] : dt_arena_printf(arena, "%d", i);
    return names;
}

dt_status *dt_csv_header_expand(dt_arena *arena, const dt_csv *c, const dt_csv_header *h,
                                dt_element_spec *e) {
    dt_status *bad = NULL;
    bool *chosen;
    if (e->choice == DT_CHOICE_NAMES || e->settled) return NULL;
    chosen = dt_arena_array(arena, bool, h->n);
    for (int i = 0; i < e->columns.n; i++)
        if (choose(arena, h, e->columns.v[i], chosen) == 0)
            dt_status_append(&bad, no_column(c, h, e, e->columns.v[i], !bad));
    if (bad) return bad;
    const dt_texts columns = list_columns(arena, h, chosen, e->choice == DT_CHOICE_ALL_BUT);
    return dt_csv_settle_columns(arena, e, &columns);
}
