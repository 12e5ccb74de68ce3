/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds rows in memory for windows, if the rows can be read only once or take long to decode.
 * Columns to keep beside the rows (rows_file.h) are held, too; those of the row that
 * dt_held_rows_choose names take the place of those of the source's current row.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/reserve.h"
#include "data/parts.h"

typedef struct held {
    dt_examples base;
    dt_examples *from;
    /* [n] all values of each element; texts are joined, each followed by a NUL */
    dt_str *value;
    /* [n][count] where each text begins in `value`; NULL if the element is not text */
    int64_t **text;
    int *text_cap;         /* [n] capacity of each list in `text` */
    void **row;            /* [n] memory for one row of each element */
    dt_row_source *source; /* source of rows that are read once; NULL if they can be read again */
    const dt_row_reader *reader; /* the reader of `source` */
    dt_str kept;                 /* values of columns to keep, each followed by a NUL */
    struct {
        size_t at;
        bool json;
    } * column; /* [columns] where each kept value begins in `kept`, and whether it is JSON */
    int columns, column_cap;
    int64_t chosen; /* index of the row whose kept columns are asked for */
} held;

static void add_row(held *h) {
    for (int e = 0; e < h->base.n; e++) {
        const dt_element_spec *x = &h->base.stored[e];
        if (x->text) {
            DT_GROW(h->text[e], h->text_cap[e], (int)h->base.count + 1);
            h->text[e][h->base.count] = (int64_t)h->value[e].size;
        }
        dt_str_add(&h->value[e], h->row[e],
                   x->text ? strlen(h->row[e]) + 1 : (size_t)dt_type_bytes(&x->type));
    }
    h->base.count++;
}

static dt_status *add_columns(held *h) {
    for (int i = 0; h->source && i < h->source->keep.n; i++) {
        bool json = false;
        if (h->columns == h->column_cap) DT_GROW(h->column, h->column_cap, h->columns + 1);
        h->column[h->columns].at = h->kept.size;
        DT_TRY(h->reader->kept(h->source, i, &h->kept, &json));
        dt_str_putc(&h->kept, '\0');
        h->column[h->columns++].json = json;
    }
    return NULL;
}

static dt_status *read_row(held *h, dt_read_buffer *buffer, bool *more) {
    if (!h->from->reader->at) return h->from->reader->next(h->from, h->row, more);
    *more = h->base.count < h->from->count;
    return *more ? h->from->reader->at(h->from, h->base.count, buffer, h->row) : NULL;
}

static dt_status *read_all(held *h, dt_read_buffer *buffer) {
    for (bool more = true;;) {
        DT_TRY(dt_reserve_check());
        DT_TRY(read_row(h, buffer, &more));
        if (!more) return NULL;
        if (h->base.count == INT32_MAX)
            return dt_fail(DT_E_TOO_LARGE, NULL, "%s: too many rows for windows",
                           h->base.stored[0].file);
        add_row(h);
        DT_TRY(add_columns(h));
    }
}

static dt_status *whole(dt_examples *base, int e, const void **rows) {
    const held *h = (const held *)base;
    *rows = base->stored[e].text ? NULL : dt_str_text(&h->value[e]);
    return NULL;
}

static dt_status *read_example(dt_examples *base, int64_t row, dt_read_buffer *buffer,
                               void *const *out) {
    const held *h = (const held *)base;
    (void)buffer;
    for (int e = 0; e < base->n; e++) {
        const int64_t bytes = dt_type_bytes(&base->stored[e].type);
        if (!out[e]) continue;
        if (base->stored[e].text) strcpy(out[e], h->value[e].data + h->text[e][row]);
        else memcpy(out[e], h->value[e].data + row * bytes, (size_t)bytes);
    }
    return NULL;
}

static const char *source_of(const dt_examples *base, int64_t i, const char **what) {
    dt_examples *from = ((const held *)base)->from;
    if (from->reader->source) return from->reader->source(from, i, what);
    return i < from->paths.n ? from->paths.v[i] : NULL;
}

static void close_held(dt_examples *base) {
    held *h = (held *)base;
    for (int e = 0; e < base->n; e++) {
        dt_str_release(&h->value[e]);
        free(h->text[e]);
        free(h->row[e]);
    }
    dt_str_release(&h->kept);
    free(h->column);
    if (h->from->reader->close) h->from->reader->close(h->from);
}

static dt_status *kept(const dt_row_source *s, int i, dt_str *out, bool *json) {
    const held *h = s->state;
    const int64_t at = h->chosen * s->keep.n + i;
    dt_str_puts(out, h->kept.data + h->column[at].at);
    *json = h->column[at].json;
    return NULL;
}

void dt_held_rows_choose(dt_examples *base, int64_t row) { ((held *)base)->chosen = row; }

dt_status *dt_held_rows_open(dt_arena *arena, dt_examples **x, dt_row_source *once) {
    static const dt_example_reader reader = {
        .source = source_of, .whole = whole, .at = read_example, .close = close_held};
    static const dt_row_reader columns = {.kept = kept};
    held *h = dt_arena_new(arena, held);
    dt_read_buffer buffer = {0};
    const int n = (*x)->n;
    *h = (held){.base = **x,
                .from = *x,
                .value = dt_arena_array(arena, dt_str, n),
                .text = dt_arena_array(arena, int64_t *, n),
                .text_cap = dt_arena_array(arena, int, n),
                .row = dt_arena_array(arena, void *, n),
                .source = once,
                .reader = once ? once->reader : NULL};
    h->base.reader = &reader;
    h->base.encoded = false;
    h->base.count = 0;
    *x = &h->base; /* the caller closes *x, even after an error */
    for (int e = 0; e < n; e++) {
        const size_t bytes = (size_t)dt_type_bytes(&h->base.stored[e].type);
        h->row[e] = dt_try_alloc(bytes + 1);
        if (!h->row[e])
            return dt_fail(DT_E_NO_MEMORY, NULL, "%s: out of memory for a row of '%.80s'",
                           h->base.stored[e].file, h->base.stored[e].name);
    }
    dt_status *bad = read_all(h, &buffer);
    dt_str_release(&buffer.bytes);
    if (bad || !once) return bad;
    dt_row_source_close(once);
    once->reader = &columns;
    once->state = h;
    return NULL;
}
