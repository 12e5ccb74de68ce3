/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows over the rows of a table, for time series: dataset.window. Rows are sorted by group and
 * time; a window is a range of rows in that order, of which only the index of the first is
 * stored. So windows that overlap do not need more memory for rows.
 *
 *     row:    0  1  2  3  4  5  6  7      length 3, horizon 2, stride 2
 *     start:  |  past  | future |
 *                   |  past  | future |
 *
 * For each of its rows, an element with lags has the rows at those distances before it. A window
 * begins only where its group has all these rows.
 *
 * Windows are numbered by the time of their last rows, over all groups, so the last windows are the
 * latest ones. Time is a whole number that is larger for later rows. Without `order` it is the
 * row's place in its group.
 */
#define _GNU_SOURCE /* qsort_r */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/date.h"
#include "base/hash.h"
#include "base/size.h"
#include "data/parts.h"
#include "data/pipeline/build.h"
#include "file/cast.h"
#include "file/part_files.h"

#define LARGEST_WINDOW ((int64_t)1 << 32) /* largest size of a window of one element, in bytes */

typedef struct windows {
    dt_examples base;
    dt_examples *rows;
    dt_dataset *source; /* a reference to the data set that owns `rows` */
    int *from;          /* [n] the index of each element in `rows` */
    /* [n] the first row of a window that the element has: 0, or `length` for an element in the
     * future */
    int64_t *first;
    dt_ints *lags;  /* [n] the lags of each element; their n is 0 if it has none */
    int64_t before; /* the longest lag of all elements */
    int64_t span;   /* number of rows of a window, including those in the future */
    /* index in a window of the first row in the future; 0 if no element has such rows */
    int64_t target;
    uint32_t *row; /* [rows->count] the rows, sorted by group, then by time */
    int64_t *time; /* [rows->count] the time of each row of `row` */
    /* [rows->count] the group of each row, in the order of the files; 0 if there are no groups */
    uint64_t *group;
    bool in_order;   /* the rows are sorted already, so row[i] is i */
    uint32_t *start; /* [count] index in `row` of each window's first row */
    int64_t now;     /* index in a window of the last row that is not in the future */
    int64_t taken;   /* number of windows read so far, if they are read in order */
} windows;

/* The group and the time of a row, by which rows are sorted. */
typedef struct place {
    uint64_t group; /* hash of the stored value of the `group` element; 0 without it */
    int64_t time;
    uint32_t row;
} place;

typedef struct sorting {
    const dt_parts *d;
    windows *w;
    place *place; /* [n] one per row */
    int64_t n;
    const dt_element_spec *column; /* the element that is being read */
} sorting;

/* ---- the times and groups of rows ---- */

static dt_status *no_memory(const dt_parts *d, int64_t rows) {
    return dt_fail(DT_E_NO_MEMORY, &d->spec.window.at, "out of memory for windows over %lld rows",
                   (long long)rows);
}

/* Appends the location of a row, such as "a.csv: record 7", counted from 1. */
static void put_row(const sorting *s, int64_t row, dt_str *out) {
    const dt_examples *x = s->w->rows;
    const int file = x->first ? dt_files_at(x, row) : 0;
    dt_str_printf(out, "%s: record %lld", x->first ? x->paths.v[file] : s->column->file,
                  (long long)(row - (x->first ? x->first[file] : 0)) + 1);
}

static dt_status *bad_order(const sorting *s, int64_t row, const char *what) {
    dt_str at = {0};
    put_row(s, row, &at);
    dt_status *bad = dt_fail(DT_E_DATA_FILE, &s->d->spec.window.order_at, "%s: '%.80s' %s",
                             dt_str_text(&at), s->column->name, what);
    dt_str_release(&at);
    return bad;
}

static dt_status *date_of(sorting *s, int64_t row, const char *text, int64_t *time) {
    dt_date d;
    if (!*text) return bad_order(s, row, "is missing, so that the row has no place in the order");
    if (!dt_date_parse(text, DT_DATE_EITHER, &d))
        return dt_suggest(
            bad_order(s, row, "is not a date, and rows are sorted by numbers or dates"),
            "write dates as 2024-12-31 or 2024-12-31 23:59");
    if (d.unclear)
        return dt_suggest(bad_order(s, row, "is a date whose day or month may come first"),
                          "write dates as 2024-12-31");
    *time = dt_date_seconds(&d) * 1000000 + llround(d.fraction * 1e6);
    return NULL;
}

/* Returns an integer from the bits of a number. The integers of two numbers compare as the numbers
 * do. */
static int64_t ordered_bits(double x) {
    int64_t bits;
    x += 0.0; /* converts a negative zero to zero */
    memcpy(&bits, &x, sizeof bits);
    return bits < 0 ? INT64_MIN - bits : bits;
}

static dt_status *take_time(sorting *s, int64_t row, const void *value) {
    const dt_dtype dtype = s->column->type.dtype;
    double x;
    if (!s->column->text && dt_type_elements(&s->column->type) != 1)
        return dt_fail(DT_E_DATASET_KEYS, &s->d->spec.window.order_at,
                       "rows cannot be sorted by '%.80s', which has %lld values", s->column->name,
                       (long long)dt_type_elements(&s->column->type));
    if (s->column->text) return date_of(s, row, value, &s->place[row].time);
    if (!dt_dtype_is_float(dtype)) {
        dt_cast(dtype, DT_INT64, value, &s->place[row].time, 1);
        return NULL;
    }
    dt_cast(dtype, DT_FLOAT64, value, &x, 1);
    if (isnan(x)) return bad_order(s, row, "is missing, so that the row has no place in the order");
    s->place[row].time = ordered_bits(x);
    return NULL;
}

static dt_status *take_group(sorting *s, int64_t row, const void *value) {
    const size_t bytes = s->column->text ? strlen(value) : (size_t)dt_type_bytes(&s->column->type);
    s->place[row].group = dt_hash_bytes(0, value, bytes);
    return NULL;
}

/* Calls `take` with the stored value of an element in each row. */
static dt_status *read_column(sorting *s, const char *name,
                              dt_status *(*take)(sorting *s, int64_t row, const void *value)) {
    const int e = dt_element_find(s->w->rows->stored, s->w->rows->n, name);
    const dt_rows one = {
        .x = s->w->rows, .examples = s->w->source, .stored = s->w->rows->stored, .index = &e};
    dt_element_rows x;
    s->column = &one.stored[e];
    dt_status *bad = dt_element_rows_open(&x, &one, 0, NULL);
    for (int64_t i = 0; !bad && i < s->n; i++) {
        const void *value;
        bad = dt_element_rows_get(&x, i, &value);
        if (!bad) bad = take(s, i, value);
    }
    free(x.memory);
    return bad;
}

/* ---- sorting the rows ---- */

static int by_group_and_time(const void *a, const void *b) {
    const place *x = a, *y = b;
    if (x->group != y->group) return x->group < y->group ? -1 : 1;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static dt_status *check_twice(const sorting *s) {
    for (int64_t i = 1; i < s->n; i++) {
        const place *x = &s->place[i - 1], *y = &s->place[i];
        dt_str what = {0};
        if (x->group != y->group || x->time != y->time) continue;
        dt_str_puts(&what, "is the same as in ");
        put_row(s, x->row, &what);
        dt_status *bad = bad_order(s, y->row, dt_str_text(&what));
        dt_str_release(&what);
        return s->d->spec.window.group
                   ? bad
                   : dt_suggest(bad, "if the rows are of several series, 'group' names the element "
                                     "that tells them apart");
    }
    return NULL;
}

static dt_status *find_places(sorting *s) {
    const char *order = s->d->spec.window.order, *group = s->d->spec.window.group;
    bool sorted = true;
    for (int64_t i = 0; i < s->n; i++) s->place[i] = (place){.row = (uint32_t)i, .time = i};
    if (group) DT_TRY(read_column(s, group, take_group));
    if (order) DT_TRY(read_column(s, order, take_time));
    for (int64_t i = 1; i < s->n && sorted; i++)
        sorted = by_group_and_time(&s->place[i - 1], &s->place[i]) < 0;
    if (!sorted) qsort(s->place, (size_t)s->n, sizeof *s->place, by_group_and_time);
    return order ? check_twice(s) : NULL;
}

/* ---- cutting the rows into windows ---- */

/* Cuts a group, whose rows are [from, to) in the sorted order, into windows. If rows are read once,
 * to be predicted, the last window ends with the group's last row, so that what follows it is
 * predicted; otherwise the first window begins with the group's first row that has all lags before
 * it. */
static void cut_group(const dt_parts *d, windows *w, int64_t from, int64_t to) {
    const int64_t stride = d->spec.window.stride;
    const bool at_end = dt_parts_are_once(d);
    from += w->before;
    if (to - from < w->span) return;
    for (int64_t i = from + (at_end ? (to - from - w->span) % stride : 0); i + w->span <= to;
         i += stride)
        w->start[w->base.count++] = (uint32_t)i;
}

static int by_end(const void *a, const void *b, void *user) {
    const windows *w = user;
    const int64_t x = *(const uint32_t *)a + w->span - 1, y = *(const uint32_t *)b + w->span - 1;
    if (w->time[x] != w->time[y]) return w->time[x] < w->time[y] ? -1 : 1;
    return w->row[x] < w->row[y] ? -1 : w->row[x] > w->row[y];
}

static dt_status *cut(const sorting *s) {
    windows *w = s->w;
    int64_t longest = 0, groups = 0;
    w->in_order = true;
    for (int64_t from = 0, to; from < s->n; from = to, groups++) {
        for (to = from; to < s->n && s->place[to].group == s->place[from].group; to++) {
            w->row[to] = s->place[to].row;
            w->group[w->row[to]] = s->place[to].group;
            w->time[to] = s->d->spec.window.order ? s->place[to].time : to - from;
            w->in_order &= w->row[to] == (uint32_t)to;
        }
        cut_group(s->d, w, from, to);
        longest = dt_max(longest, to - from);
    }
    if (groups > 1) qsort_r(w->start, (size_t)w->base.count, sizeof *w->start, by_end, w);
    if (w->base.count > 0) return NULL;
    return dt_fail(DT_E_DATA_EMPTY, &s->d->spec.window.at,
                   "%s: a window needs %lld consecutive rows, and the longest series has %lld",
                   w->base.stored[0].file, (long long)(w->before + w->span), (long long)longest);
}

static dt_status *make(const dt_parts *d, windows *w) {
    const int64_t n = w->rows->count;
    sorting s = {.d = d, .w = w, .n = n};
    if (n > UINT32_MAX)
        return dt_fail(DT_E_TOO_LARGE, &d->spec.window.at, "%lld rows are too many for windows",
                       (long long)n);
    w->row = dt_try_alloc((size_t)n * sizeof *w->row + 1);
    w->time = dt_try_alloc((size_t)n * sizeof *w->time + 1);
    w->group = dt_try_alloc((size_t)n * sizeof *w->group + 1);
    w->start = dt_try_alloc((size_t)n * sizeof *w->start + 1);
    s.place = dt_try_alloc((size_t)n * sizeof *s.place + 1);
    const bool has_memory = w->row && w->time && w->group && w->start && s.place;
    dt_status *bad = has_memory ? find_places(&s) : no_memory(d, n);
    if (!bad) bad = cut(&s);
    free(s.place);
    return bad;
}

/* ---- reading ---- */

/* Sets out[n * lags->n] to the rows of an element with lags: for each of the n rows from `row` on,
 * the rows at the distances lags->v before it. */
static void list_lags(const dt_ints *lags, const uint32_t *row, int64_t n, uint32_t *out) {
    for (int64_t k = 0; k < n; k++)
        for (int i = 0; i < lags->n; i++) *out++ = row[k - lags->v[i]];
}

/* Reads the rows row[0], row[1], ... of an element; in a table that is sorted already, they are
 * consecutive unless the element has lags. */
static dt_status *read_element(const windows *w, int e, const uint32_t *row, dt_read_buffer *buffer,
                               char *out) {
    const int64_t n = w->base.stored[e].window,
                  bytes = dt_type_bytes(&w->rows->stored[w->from[e]].type);
    const bool run = w->in_order && w->lags[e].n == 0;
    const char *rows;
    const void *whole = NULL;
    dt_status *bad = NULL;
    if (w->rows->reader->whole) DT_TRY(w->rows->reader->whole(w->rows, w->from[e], &whole));
    rows = whole;
    if (whole && run) memcpy(out, rows + row[0] * bytes, (size_t)(n * bytes));
    for (int64_t k = 0; whole && !run && k < n; k++)
        memcpy(out + k * bytes, rows + row[k] * bytes, (size_t)bytes);
    for (int64_t k = 0; !whole && !bad && k < n; k++)
        bad = dt_examples_read_one(w->rows, w->from[e], row[k], buffer, out + k * bytes);
    return bad;
}

static dt_status *read_window(dt_examples *base, int64_t i, dt_read_buffer *buffer,
                              void *const *out) {
    const windows *w = (const windows *)base;
    dt_status *bad = NULL;
    for (int e = 0; e < base->n && !bad; e++) {
        const uint32_t *row = &w->row[w->start[i] + w->first[e]];
        const int64_t n = base->stored[e].window;
        uint32_t *lagged = NULL;
        if (!out[e]) continue;
        if (w->lags[e].n > 0) {
            lagged = dt_alloc(dt_size_mul((size_t)n, sizeof *lagged));
            list_lags(&w->lags[e], row, n / w->lags[e].n, lagged);
        }
        bad = read_element(w, e, lagged ? lagged : row, buffer, out[e]);
        free(lagged);
    }
    return bad;
}

static const char *source_of(const dt_examples *base, int64_t i, const char **what) {
    dt_examples *rows = ((const windows *)base)->rows;
    if (rows->reader->source) return rows->reader->source(rows, i, what);
    return i < rows->paths.n ? rows->paths.v[i] : NULL;
}

static dt_status *next_window(dt_examples *base, void *const *out, bool *more) {
    windows *w = (windows *)base;
    dt_read_buffer buffer = {0};
    *more = w->taken < base->count;
    if (!*more) return NULL;
    dt_held_rows_choose(w->rows, w->row[w->start[w->taken] + w->now]);
    dt_status *bad = read_window(base, w->taken++, &buffer, out);
    dt_str_release(&buffer.bytes);
    return bad;
}

static bool never_waits(const dt_examples *base) {
    (void)base;
    return false;
}

static void close_windows(dt_examples *base) {
    windows *w = (windows *)base;
    free(w->row);
    free(w->time);
    free(w->group);
    free(w->start);
    dt_dataset_unref(w->source);
}

/* ---- opening ---- */

static bool is_future(const dt_parts *d, const char *name) {
    return dt_texts_have(&d->spec.window.future, name);
}

/* Returns the lags of an element; their n is 0 if it has none. */
static dt_ints lags_of(const dt_parts *d, const char *name) {
    const dt_items *lags = &d->spec.window.lags;
    for (int i = 0; i < lags->n; i++)
        if (strcmp(lags->entry[i].key, name) == 0) return ((const dt_ints *)lags->v)[i];
    return (dt_ints){0};
}

/* Turns an element of rows into an element of windows of n rows. */
static dt_status *stretch(const dt_parts *d, const dt_element_spec *row, int64_t n,
                          dt_element_spec *out) {
    int64_t bytes;
    *out = *row;
    if (row->type.rank + 2 > DT_MAX_RANK)
        return dt_fail(DT_E_DATA_SHAPE, &d->spec.window.at,
                       "rows of '%.80s' have too many dimensions for windows", row->name);
    if (!dt_mul_fits(dt_type_bytes(&row->type), n, &bytes) || bytes > LARGEST_WINDOW)
        return dt_fail(DT_E_TOO_LARGE, &d->spec.window.at,
                       "a window of '%.80s' has more than %lld bytes", row->name,
                       (long long)LARGEST_WINDOW);
    if (d->spec.as_stored && row->text)
        return dt_fail(DT_E_DATA_TYPE, &d->spec.window.at,
                       "'%.80s' is text, which windows have only as numbers, after 'map'",
                       row->name);
    out->type = dt_map_batch_type(&row->type);
    out->type.dim[0] = n;
    out->window = n;
    return NULL;
}

static dt_status *add_elements(const dt_parts *d, windows *w) {
    const int n = d->spec.rows ? d->spec.rows->asked : w->rows->n;
    const int64_t length = d->spec.window.length, horizon = d->spec.window.horizon;
    bool any = false;
    w->from = dt_arena_array(d->arena, int, n);
    w->first = dt_arena_array(d->arena, int64_t, n);
    w->lags = dt_arena_array(d->arena, dt_ints, n);
    w->base.stored = dt_arena_array(d->arena, dt_element_spec, n);
    for (int i = 0; i < n; i++) {
        const dt_element_spec *row = &w->rows->stored[i];
        const bool future = is_future(d, row->name);
        if (dt_dataset_leaves_out(&d->spec, row->name)) continue;
        w->from[w->base.n] = i;
        w->first[w->base.n] = future ? length : 0;
        dt_ints *lags = &w->lags[w->base.n];
        *lags = lags_of(d, row->name);
        DT_TRY(stretch(d, row, (future ? horizon : length) * dt_max(lags->n, 1),
                       &w->base.stored[w->base.n]));
        w->base.stored[w->base.n++].lags = lags->n;
        for (int k = 0; k < lags->n; k++) w->before = dt_max(w->before, lags->v[k]);
        any |= future;
    }
    w->span = any ? length + horizon : length;
    w->target = any ? length : 0;
    w->now = length - 1;
    if (w->base.n > 0) return NULL;
    return dt_fail(DT_E_DATASET_KEYS, &d->spec.window.at,
                   "no element is left besides those of 'order' and 'group'");
}

dt_status *dt_windows_open(dt_parts *d, dt_rows *r) {
    static const dt_example_reader reader = {
        .source = source_of, .at = read_window, .close = close_windows};
    static const dt_example_reader in_order = {
        .next = next_window, .waits = never_waits, .at = read_window, .close = close_windows};
    windows *w = dt_arena_new(d->arena, windows);
    const bool once = dt_parts_are_once(d);
    w->rows = r->x;
    w->base.reader = once ? &in_order : &reader;
    r->x = &w->base; /* The caller closes r->x, even after an error. */
    dt_status *bad =
        once && d->spec.rows->once->answers
            ? dt_fail(DT_E_ELEMENTS, &d->spec.window.at,
                      "errors cannot be answered row by row for windows: a row is in several")
            : NULL;
    if (!bad && (once || w->rows->encoded))
        bad = dt_held_rows_open(d->arena, &w->rows, once ? d->spec.rows->once : NULL);
    w->source = dt_examples_source(w->rows);
    DT_TRY(bad);
    DT_TRY(add_elements(d, w));
    return make(d, w);
}

/* ---- parts ---- */

int64_t dt_windows_before(const dt_examples *x, int64_t first, int64_t all) {
    const windows *w = (const windows *)x;
    int64_t begin = INT64_MAX, n = first;
    for (int64_t i = first; i < all; i++) begin = dt_min(begin, w->time[w->start[i] + w->target]);
    while (n > 0 && w->time[w->start[n - 1] + w->span - 1] >= begin) n--;
    return n;
}

int64_t dt_windows_row(const dt_examples *x, int e, int64_t window) {
    const windows *w = (const windows *)x;
    return w->row[w->start[window] + w->first[e]];
}

uint64_t dt_rows_group(const dt_rows *r, int64_t number) {
    const windows *w = (const windows *)(r->single ? r->x : r->windows);
    return !w ? 0 : w->group[r->single ? w->row[w->start[number]] : number];
}

dt_status *dt_windows_list_rows(dt_parts *d, dt_rows *r) {
    const windows *w = (const windows *)r->x;
    dt_rows *single = dt_arena_new(d->arena, dt_rows);
    bool *covered = dt_try_alloc((size_t)w->rows->count + 1);
    uint32_t *row = dt_try_alloc((size_t)w->rows->count * sizeof *row + 1);
    int64_t n = 0;
    *single = (dt_rows){.x = w->rows, .stored = w->rows->stored, .windows = r->x};
    r->single = single;
    if (!covered || !row) {
        free(covered);
        free(row);
        return no_memory(d, w->rows->count);
    }
    memset(covered, 0, (size_t)w->rows->count);
    for (int64_t i = 0; i < dt_rows_count(r); i++)
        for (int64_t k = -w->before; k < w->span; k++)
            covered[w->row[w->start[dt_rows_number(r, i)] + k]] = true;
    for (int64_t i = 0; i < w->rows->count; i++)
        if (covered[i]) row[n++] = (uint32_t)i;
    free(covered);
    return dt_dataset_add_select(&single->examples, w->source, row, n);
}
