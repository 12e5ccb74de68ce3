/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of records as a data set. The code is the same for all formats that can read a record again
 * (dt_row_reader has `at`), and for others whose values fit in memory.
 *
 * Opening goes through every file once, from front to back. If the reader has `skip`, that gives an
 * index of the records, and an example is later read from its position. Otherwise all values are
 * read, so that a bad value is reported, with line and column, before training. They are kept in
 * memory; if they turn out to be too large, they are dropped and the index is used instead. Records
 * of compressed files have no positions, so their bytes or values are kept.
 */
#include "file/examples.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "file/csv_element.h"
#include "file/missing.h"
#include "file/part_files.h"

/* LARGEST_KEPT: limit of the bytes of a part's values that are kept in memory; LARGEST_UNPACKED:
 * limit of the bytes of its decompressed records. */
#define LARGEST_KEPT ((int64_t)256 << 20)
#define LARGEST_UNPACKED ((int64_t)1 << 30)

enum { MOST_RECORDS = 1 << 30 };

typedef struct record_part {
    dt_examples base;
    const dt_format *kind;
    dt_row_source *source; /* [paths.n] the files; `file` is NULL if records are not read from it */
    /* [count] positions of the records, unless all values are kept; see has_place. Offsets are in
     * the file or, for compressed files, in `unpacked`. */
    dt_places places;
    dt_str unpacked;  /* decompressed records of compressed files, joined */
    bool skips, kept; /* skips: the readers have `skip`; kept: all values are in memory */
    /* [n] all values of each element, if they are kept; texts are joined, each with its NUL. Else
     * at most one row */
    dt_str *rows;
    /* [n][count] if values are kept: text[e][i] is where text i begins in rows[e]; NULL: element e
     * is not text */
    int64_t **text;
    int *text_cap; /* [n] the number of offsets that text[e] has room for */
    /* [n] destination of the next value; for a text, a buffer for the longest text. */
    void **row;
} record_part;

/* ---- keys ---- */

static dt_status *check_element(const dt_format_request *r, const dt_entry *e) {
    return r->format->declare(r->arena, e, r->keys, dt_arena_new(r->arena, dt_element_spec));
}

dt_status *dt_records_check(const dt_format_request *r, dt_texts *names) {
    const dt_tree *element = dt_tree_get(r->keys, "element");
    dt_status *s = dt_files_check(r);
    dt_status_append(&s, dt_files_check_elements(r, dt_given(element), names, check_element));
    if (r->part == DT_PART_TRAIN) dt_status_append(&s, dt_missing_check(r->keys, names));
    return s;
}

/* ---- values that are kept ---- */

/* Makes room for one more row of element e: at the end of the rows, or reusing the same memory if
 * rows are not kept. */
static char *make_row(record_part *x, int e) {
    static const char none[4096];
    const int64_t bytes = dt_type_bytes(&x->base.stored[e].type);
    dt_str *rows = &x->rows[e];
    if (!x->kept) dt_str_clear(rows);
    for (int64_t n = bytes; n > 0; n -= (int64_t)sizeof none)
        dt_str_add(rows, none, (size_t)(n < (int64_t)sizeof none ? n : (int64_t)sizeof none));
    return rows->data + rows->size - bytes;
}

static void make_rows(record_part *x) {
    for (int e = 0; e < x->base.n; e++)
        if (!x->base.stored[e].text) x->row[e] = make_row(x, e);
}

static void take_back_rows(record_part *x) {
    for (int e = 0; e < x->base.n && x->kept; e++)
        if (!x->base.stored[e].text)
            x->rows[e].size -= (size_t)dt_type_bytes(&x->base.stored[e].type);
}

static void keep_text(record_part *x, int e) {
    DT_GROW(x->text[e], x->text_cap[e], (int)x->base.count + 1);
    x->text[e][x->base.count] = (int64_t)x->rows[e].size;
    dt_str_add(&x->rows[e], x->row[e], strlen(x->row[e]) + 1);
}

static int64_t bytes_kept(const record_part *x) {
    int64_t bytes = 0;
    for (int e = 0; e < x->base.n; e++) bytes += (int64_t)x->rows[e].size;
    return bytes;
}

static dt_status *drop_rows(record_part *x, const dt_row_source *s) {
    if (!s->reader->at)
        return dt_suggest(dt_fail(DT_E_TOO_LARGE, NULL, "%s: more than %lld bytes of values",
                                  s->path, (long long)LARGEST_KEPT),
                          "write it as .csv, .jsonl or .tfrecord, or as several files");
    if (dt_inflow_is_gzip(s->file))
        return dt_note(dt_fail(DT_E_TOO_LARGE, NULL,
                               "%s: more than %lld bytes of values in a compressed file", s->path,
                               (long long)LARGEST_KEPT),
                       "gunzip it: uncompressed files may have any size");
    for (int e = 0; e < x->base.n; e++) dt_str_release(&x->rows[e]);
    x->kept = false;
    return NULL;
}

/* ---- reading the files ---- */

/* Whether the positions of the file's records are stored. They are not for a compressed file whose
 * values are read: these must be kept instead. */
static bool has_place(const record_part *x, const dt_row_source *s) {
    return x->skips || !dt_inflow_is_gzip(s->file);
}

static dt_status *add_record(record_part *x, int file) {
    const dt_row_source *s = &x->source[file];
    dt_record_range p = {s->record.offset, s->record.size, file};
    if (x->base.count == MOST_RECORDS)
        return dt_fail(DT_E_TOO_LARGE, NULL, "%s: more than %d records in all", s->path,
                       MOST_RECORDS);
    if (!has_place(x, s)) {
        x->base.count++;
        return NULL;
    }
    if (s->record.bytes) {
        p.offset = (int64_t)x->unpacked.size;
        if (p.offset + p.size > LARGEST_UNPACKED)
            return dt_note(dt_fail(DT_E_TOO_LARGE, NULL,
                                   "%s: more than %lld bytes when decompressed", s->path,
                                   (long long)LARGEST_UNPACKED),
                           "uncompressed files may have any size");
        dt_str_add(&x->unpacked, s->record.bytes, (size_t)p.size);
    }
    dt_places_add(&x->places, &p);
    x->base.count++;
    return NULL;
}

static dt_status *skip_all(record_part *x, int file) {
    dt_row_source *s = &x->source[file];
    bool more = true;
    for (;;) {
        DT_TRY(s->reader->skip(s, &more));
        if (!more) return NULL;
        DT_TRY(add_record(x, file));
    }
}

static int64_t bytes_of_row(const record_part *x) {
    int64_t bytes = 0;
    for (int e = 0; e < x->base.n; e++) bytes += dt_type_bytes(&x->base.stored[e].type);
    return bytes;
}

/* Reads all values of a file and keeps them. When those of all files so far exceed LARGEST_KEPT
 * bytes, they are dropped, and only the positions of records are kept; error TOO_LARGE if the file
 * is compressed or its records cannot be read again. The header of an array can claim rows of any
 * size, so their size is checked before memory is allocated. */
static dt_status *read_all(record_part *x, int file) {
    dt_row_source *s = &x->source[file];
    bool more = true;
    if (!s->reader->at && bytes_of_row(x) > LARGEST_KEPT) return drop_rows(x, s);
    for (;; s->row++) {
        make_rows(x);
        DT_TRY(s->reader->next(s, x->row, &more));
        if (!more) {
            take_back_rows(x);
            return NULL;
        }
        for (int e = 0; e < x->base.n && x->kept; e++)
            if (x->base.stored[e].text) keep_text(x, e);
        if (x->kept && bytes_kept(x) > LARGEST_KEPT) DT_TRY(drop_rows(x, s));
        DT_TRY(add_record(x, file));
    }
}

static dt_status *read_file(dt_examples *base, int file) {
    record_part *x = (record_part *)base;
    dt_row_source *s = &x->source[file];
    DT_TRY(dt_inflow_open(&s->file, s->path));
    dt_status *bad = x->kind->open(s);
    if (!bad) {
        x->skips = s->reader->skip != NULL;
        x->kept = x->kept && !x->skips;
        bad = x->skips ? skip_all(x, file) : read_all(x, file);
        s->reader->close(s);
    }
    if (bad || dt_inflow_is_gzip(s->file)) {
        dt_inflow_close(s->file);
        s->file = NULL;
    }
    return bad;
}

static int64_t count_omitted(const record_part *x) {
    int64_t n = 0;
    for (int i = 0; i < x->base.paths.n; i++) n += x->source[i].omitted;
    return n;
}

/* Adds to the error about a part without examples that all of them were left out. */
static dt_status *note_all_omitted(const record_part *x, dt_status *bad) {
    const int64_t n = count_omitted(x);
    if (!bad || dt_status_number(bad) != DT_E_DATA_EMPTY || n == 0) return bad;
    return dt_note(bad, "left out %lld, in which an element of drop_missing has no value",
                   (long long)n);
}

static void note_omitted(const dt_format_request *r, record_part *x) {
    const int64_t n = count_omitted(x);
    if (n > 0)
        x->base.left_out = dt_arena_printf(
            r->arena,
            "%s%s: left out %lld of %lld records, in which an element of drop_missing has no value",
            x->base.paths.v[0], x->base.paths.n > 1 ? " and others" : "", (long long)n,
            (long long)(n + x->base.count));
}

/* Finishes reading: if all values are kept, closes the files and drops the positions of records.
 * Fails if the values of a compressed file were read but are not in memory, because it cannot be
 * read again. (If the readers have `skip`, the records of compressed files are in `unpacked`.) */
static dt_status *finish_reading(const dt_format_request *r, record_part *x) {
    for (int i = 0; i < x->base.paths.n && !x->skips; i++) {
        if (!x->kept && !x->source[i].file)
            return dt_fail(
                DT_E_TOO_LARGE, &r->tree->at,
                "%s: compressed, and the files hold more than %lld bytes of values together",
                x->base.paths.v[i], (long long)LARGEST_KEPT);
        if (x->kept) {
            dt_inflow_close(x->source[i].file);
            x->source[i].file = NULL;
        }
    }
    x->base.encoded = !x->kept;
    if (x->kept) dt_places_release(&x->places);
    return NULL;
}

/* ---- examples ---- */

static bool make_room(dt_str *buffer, size_t n) {
    if (buffer->cap >= n) return true;
    dt_str_release(buffer);
    *buffer = (dt_str){.data = dt_try_alloc(n), .cap = n};
    if (!buffer->data) buffer->cap = 0;
    return buffer->data != NULL;
}

/* Returns the number of bytes to read for a record. If records are read in order, many are read at
 * a time: twice as many bytes as were read in order so far, but at most 256 KiB or, if it is
 * larger, the record alone. */
static int64_t bytes_ahead(const dt_record_range *p, const dt_inflow *file, int64_t run) {
    enum { MOST = 1 << 18 };
    const int64_t left = dt_inflow_size(file) - p->offset, most = 2 * run < MOST ? 2 * run : MOST,
                  wanted = most < left ? most : left;
    return wanted > p->size ? wanted : p->size;
}

static dt_status *fill(const dt_row_source *s, const dt_record_range *p, dt_read_buffer *b) {
    const int64_t n = bytes_ahead(p, s->file, b->run);
    b->bytes.size = 0;
    if (!make_room(&b->bytes, (size_t)n))
        return dt_fail(DT_E_NO_MEMORY, NULL, "%s: out of memory for a record of %lld bytes",
                       s->path, (long long)p->size);
    DT_TRY(dt_inflow_pread(s->file, b->bytes.data, n, p->offset));
    b->bytes.size = (size_t)n;
    b->file = p->file;
    b->offset = p->offset;
    return NULL;
}

/* Gets position and bytes of a record, which are then in the buffer or are those of the
 * decompressed records. */
static dt_status *fetch(const record_part *x, int64_t row, dt_read_buffer *b, dt_record_range *p,
                        dt_bytes *out) {
    *p = dt_places_find(&x->places, row, &b->cursor);
    const dt_row_source *s = &x->source[p->file];
    *out = (dt_bytes){dt_str_text(&x->unpacked) + p->offset, (size_t)p->size};
    if (!s->file) return NULL;
    b->run = row == b->next ? b->run + p->size : 0;
    b->next = row + 1;
    const bool is_here = p->file == b->file && p->offset >= b->offset &&
                         p->offset + p->size <= b->offset + (int64_t)b->bytes.size;
    if (!is_here) DT_TRY(fill(s, p, b));
    out->data = b->bytes.data + (p->offset - b->offset);
    return NULL;
}

static dt_status *unpack(const record_part *x, int64_t row, const dt_record_range *p,
                         const dt_bytes *bytes, void *const *out) {
    const dt_row_source *s = &x->source[p->file];
    const dt_row_record record = {.number = row - x->base.first[p->file],
                                  .offset = p->offset,
                                  .size = p->size,
                                  .bytes = bytes->data,
                                  .checked = !s->file};
    return s->reader->at(s, &record, out);
}

static dt_status *whole(dt_examples *base, int e, const void **rows) {
    const record_part *x = (const record_part *)base;
    *rows = x->kept && !x->base.stored[e].text ? dt_str_text(&x->rows[e]) : NULL;
    return NULL;
}

static void copy_kept(const record_part *x, int64_t row, void *const *out) {
    for (int e = 0; e < x->base.n; e++) {
        const int64_t bytes = dt_type_bytes(&x->base.stored[e].type);
        if (!out[e]) continue;
        if (x->base.stored[e].text) strcpy(out[e], x->rows[e].data + x->text[e][row]);
        else memcpy(out[e], x->rows[e].data + row * bytes, (size_t)bytes);
    }
}

static dt_status *read_example(dt_examples *base, int64_t row, dt_read_buffer *buffer,
                               void *const *out) {
    const record_part *x = (const record_part *)base;
    dt_record_range place;
    dt_bytes bytes;
    if (x->kept) {
        copy_kept(x, row, out);
        return NULL;
    }
    DT_TRY(fetch(x, row, buffer, &place, &bytes));
    buffer->fetched_ns = dt_now_ns();
    return unpack(x, row, &place, &bytes, out);
}

/* Lets the reader look at the first record and reads the first example, so that a wrong shape or
 * name is reported before training. */
static dt_status *try_first(const dt_format_request *r, record_part *x) {
    void **out = dt_arena_array(r->arena, void *, x->base.n);
    dt_status *s = NULL;
    dt_read_buffer buffer = {0};
    dt_record_range place = {0};
    dt_bytes bytes;
    for (int e = 0; e < x->base.n && !s; e++) {
        out[e] = dt_try_alloc((size_t)dt_type_bytes(&x->base.stored[e].type) + 1);
        if (!out[e])
            s = dt_fail(DT_E_NO_MEMORY, &x->base.stored[e].at,
                        "out of memory for an example of '%s'", x->base.stored[e].name);
    }
    if (!s) s = dt_at(fetch(x, 0, &buffer, &place, &bytes), &x->base.stored[0].at);
    if (!s) {
        dt_row_source *first = &x->source[place.file];
        if (first->reader->look)
            first->reader->look(
                first,
                &(dt_row_record){.size = place.size, .bytes = bytes.data, .checked = !first->file});
        s = unpack(x, 0, &place, &bytes, out);
    }
    for (int e = 0; e < x->base.n; e++) free(out[e]);
    dt_str_release(&buffer.bytes);
    return s;
}

/* ---- a part ---- */

/* Replaces patterns of columns by the columns with which the model was trained. If the patterns
 * were resolved again, columns would be in the order of this file. */
static dt_status *settle_element(const dt_format_request *r, dt_element_spec *e) {
    const dt_element_spec *known = NULL;
    for (int i = 0; i < r->n_known && e->choice != DT_CHOICE_NAMES; i++)
        if (strcmp(r->known[i].name, e->name) == 0 && r->known[i].columns.n > 0)
            known = &r->known[i];
    return known ? dt_csv_settle_columns(r->arena, e, &known->columns) : NULL;
}

static dt_status *declare_element(const dt_format_request *r, int e, dt_element_spec *out) {
    if (!r->element)
        return r->format->declare(r->arena, &dt_tree_get(r->keys, "element")->entry[e], r->keys,
                                  out);
    *out = r->element[e];
    return NULL;
}

static dt_status *declare_elements(const dt_format_request *r, record_part *x) {
    const int n = r->element ? r->n : dt_tree_get(r->keys, "element")->n;
    const char *file = dt_arena_strdup(r->arena, x->base.paths.v[0]);
    x->base.stored = dt_arena_array(r->arena, dt_element_spec, n);
    x->rows = dt_arena_array(r->arena, dt_str, n);
    x->text = dt_arena_array(r->arena, int64_t *, n);
    x->text_cap = dt_arena_array(r->arena, int, n);
    x->row = dt_arena_array(r->arena, void *, n);
    for (; x->base.n < n; x->base.n++) {
        dt_element_spec *s = &x->base.stored[x->base.n];
        DT_TRY(declare_element(r, x->base.n, s));
        s->file = file;
        DT_TRY(settle_element(r, s));
        if (s->text) x->row[x->base.n] = dt_alloc((size_t)dt_type_bytes(&s->type));
    }
    return NULL;
}

static void close_part(dt_examples *base) {
    record_part *x = (record_part *)base;
    for (int i = 0; x->source && i < x->base.paths.n; i++) dt_inflow_close(x->source[i].file);
    for (int e = 0; x->text && e < x->base.n; e++) {
        dt_str_release(&x->rows[e]);
        free(x->text[e]);
        if (x->base.stored[e].text) free(x->row[e]);
    }
    dt_places_release(&x->places);
    dt_str_release(&x->unpacked);
    dt_paths_release(&x->base.paths);
}

dt_status *dt_records_open_part(const dt_format_request *r, dt_examples **out) {
    static const dt_example_reader reader = {
        .whole = whole, .at = read_example, .close = close_part};
    record_part *x = dt_arena_new(r->arena, record_part);
    *out = &x->base;
    x->base.reader = &reader;
    x->kind = r->format;
    x->kept = true;
    DT_TRY(dt_files_find(r, r->tree, &x->base.paths));
    DT_TRY(declare_elements(r, x));
    const int n = x->base.paths.n;
    x->source = dt_arena_array(r->arena, dt_row_source, n);
    for (int i = 0; i < n; i++)
        x->source[i] = (dt_row_source){.arena = r->arena,
                                       .path = x->base.paths.v[i],
                                       .again = true,
                                       .native = !r->foreign,
                                       .keys = r->keys,
                                       .n = x->base.n,
                                       .element = x->base.stored,
                                       .count = -1};
    DT_TRY(note_all_omitted(x, dt_files_read(r, &x->base, read_file)));
    DT_TRY(finish_reading(r, x));
    note_omitted(r, x);
    return x->skips ? try_first(r, x) : NULL;
}
