/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSV files, one example a record:
 *
 *     dataset:
 *       format: csv
 *       train: data/iris-*.csv                    # or one file, or a list; columns may stand in another order in each
 *       header: true                              # the default; false: columns are numbers from 0
 *       element:
 *         x:     {columns: [height, width], dtype: float32}
 *         label: {column: species, dtype: int32, vocabulary: [setosa, versicolor, virginica]}
 *
 * Opening reads every file once from front to back and checks each field that is asked for, so that a bad one is told, with line and column,
 * before training. Values are kept as they come. If they turn out too large to keep, they are dropped, and an example is read again from
 * its place when it is wanted.
 */
#include <stdlib.h>
#include <string.h>

#include "file/csv_element.h"
#include "data/files.h"

#define LARGEST_KEPT ((int64_t)256 << 20) /* bytes of all values of a part */

/* ---- the job's words ---- */

struct csv {
    const dt_tree *element;
    bool header;
    const char *field_delim;
};

static const dt_field entry_forms[] = {DT_FORM(DT_FIELD_TABLE, .table = dt_csv_element_fields), DT_END};
static const dt_field element_forms[] = {DT_FORM(DT_FIELD_MAP, .forms = entry_forms, .by_name = true), DT_END};

static const dt_field fields[] = {
    DT_TREE(struct csv, element, .forms = element_forms, .required = true, .help = "elements: {name: {column or columns, dtype, shape, vocabulary, default_value}}"),
    DT_FLAG(struct csv, header, .preset = "true", .help = "the first line has the column names; false: columns are numbered from 0"),
    DT_TEXT(struct csv, field_delim, .preset = ",", .min = 1, .max = 1, .help = "character between fields"),
    DT_END
};

static dt_status *read_element(const dt_format_request *r, const dt_entry *e)
{
    dt_csv_element ignored;
    return dt_csv_element_read(r->arena, e, ((const struct csv *)r->args)->header, &ignored);
}

static dt_status *check(const dt_format_request *r, dt_texts *names)
{
    const struct csv *a = r->args;
    dt_status *s = dt_files_check(r);
    if (a->field_delim && (strchr("\"\r\n", *a->field_delim) || (unsigned char)*a->field_delim > 127) && r->part == DT_PART_TRAIN)
        dt_status_append(&s, dt_fail(DT_E_DATASET_KEYS, r->at, "field_delim must be one ASCII character other than quotes and line ends"));
    dt_status_append(&s, dt_files_check_elements(r, a->element, names, read_element));
    return s;
}

/* ---- a part ---- */

typedef struct csv_part {
    dt_examples base;
    dt_csv_element *element; /* [n] */
    const struct csv *words;
    dt_inflow **file;        /* [paths.n] of plain ones, when values are not kept */
    int **index;             /* [paths.n][n columns of all elements] where they stand in the file */
    int *fields;             /* [paths.n] fields of a record */
    int64_t *offset;         /* [count] of the record in its file; kept: NULL */
    int cap;
    bool kept;
    dt_str *rows;            /* [n] all examples; of texts the bytes alone, one after the other, */
    int64_t **text;          /* [n][count] which begin there; NULL: no texts */
    int *text_cap;           /* [n] */
    char *longest;           /* room for a text */
} csv_part;

static int count_columns(const csv_part *x)
{
    int n = 0;
    for (int e = 0; e < x->base.n; e++)
        n += x->element[e].columns.n;
    return n;
}

/* ---- records ---- */

/* The record at hand is the header, or where there is none the first of the examples. */
static dt_status *find_columns(csv_part *x, int file, const dt_csv *c)
{
    int *to = x->index[file];
    dt_status *s = NULL;
    x->fields[file] = c->n;
    if (x->words->header)
        DT_TRY(dt_csv_check_header(c));
    for (int e = 0; e < x->base.n; to += x->element[e++].columns.n)
        dt_status_append(&s, dt_csv_find_columns(c, &x->element[e], x->words->header, to));
    return s;
}

/* Room for one more example of element e, at the end of those that are kept, or always the same. */
static char *next_row(csv_part *x, int e)
{
    static const char none[4096];
    const int64_t bytes = dt_type_bytes(&x->base.stored[e].type);
    dt_str *rows = &x->rows[e];
    if (!x->kept)
        dt_str_clear(rows);
    for (int64_t n = bytes; n > 0; n -= (int64_t)sizeof none)
        dt_str_add(rows, none, (size_t)(n < (int64_t)sizeof none ? n : (int64_t)sizeof none));
    return rows->data + rows->size - bytes;
}

static dt_status *drop_rows(csv_part *x, const dt_csv *c)
{
    if (dt_inflow_is_gzip(c->file))
        return dt_note(dt_fail(DT_E_TOO_LARGE, NULL, "%s: more than %lld bytes of values in a compressed file", c->path, (long long)LARGEST_KEPT),
                       "gunzip it: uncompressed files may have any size");
    for (int e = 0; e < x->base.n; e++)
        dt_str_release(&x->rows[e]);
    x->kept = false;
    return NULL;
}

static dt_status *add_text(csv_part *x, int e, const int *index, const dt_csv *c)
{
    DT_TRY(dt_csv_values(c, &x->element[e], index, x->longest));
    if (!x->kept)
        return NULL;
    DT_GROW(x->text[e], x->text_cap[e], (int)x->base.count + 1);
    x->text[e][x->base.count] = (int64_t)x->rows[e].size;
    dt_str_add(&x->rows[e], x->longest, strlen(x->longest) + 1);
    return NULL;
}

static int64_t bytes_kept(const csv_part *x)
{
    int64_t bytes = 0;
    for (int e = 0; e < x->base.n; e++)
        bytes += (int64_t)x->rows[e].size;
    return bytes;
}

static dt_status *add_example(csv_part *x, int file, const dt_csv *c)
{
    const int *index = x->index[file];
    DT_TRY(dt_csv_check_fields(c, x->fields[file]));
    for (int e = 0; e < x->base.n; index += x->element[e++].columns.n)
        DT_TRY(x->element[e].text ? add_text(x, e, index, c) : dt_csv_values(c, &x->element[e], index, next_row(x, e)));
    if (x->kept && bytes_kept(x) > LARGEST_KEPT)
        DT_TRY(drop_rows(x, c));
    if (x->base.count == INT32_MAX)
        return dt_fail(DT_E_TOO_LARGE, NULL, "%s: more than %d records in all", c->path, INT32_MAX);
    DT_GROW(x->offset, x->cap, (int)x->base.count + 1);
    x->offset[x->base.count++] = c->record_offset;
    return NULL;
}

static dt_status *read_records(csv_part *x, int file, dt_csv *c)
{
    bool more;
    DT_TRY(dt_csv_next(c, &more));
    if (!more)
        return dt_fail(DT_E_DATA_EMPTY, NULL, "%s: no examples", c->path);
    DT_TRY(find_columns(x, file, c));
    if (x->words->header)
        DT_TRY(dt_csv_next(c, &more));
    while (more) {
        DT_TRY(add_example(x, file, c));
        DT_TRY(dt_csv_next(c, &more));
    }
    return NULL;
}

static dt_status *read_file(dt_examples *base, int file)
{
    csv_part *x = (csv_part *)base;
    dt_csv c;
    dt_status *s = dt_csv_open(&c, x->base.paths.v[file], *x->words->field_delim);
    if (!s)
        s = read_records(x, file, &c);
    if (!s && !dt_inflow_is_gzip(c.file)) {
        x->file[file] = c.file;
        c.file = NULL;
    }
    dt_csv_close(&c);
    return s;
}

/* What was read from compressed files cannot be read again, so it must have been kept to the end. */
static dt_status *settle(const dt_format_request *r, csv_part *x)
{
    for (int i = 0; i < x->base.paths.n; i++) {
        if (!x->kept && !x->file[i])
            return dt_fail(DT_E_TOO_LARGE, &r->tree->at, "%s: compressed, and the files hold more than %lld bytes of values together",
                           x->base.paths.v[i], (long long)LARGEST_KEPT);
        if (x->kept) {
            dt_inflow_close(x->file[i]);
            x->file[i] = NULL;
        }
    }
    if (x->kept) {
        free(x->offset);
        x->offset = NULL;
    }
    return NULL;
}

/* ---- the format ---- */

static dt_status *name_elements(const dt_format_request *r, csv_part *x)
{
    const dt_tree *element = x->words->element;
    int64_t longest = 1;
    x->base.stored = dt_arena_array(r->arena, dt_stored, element->n);
    x->element = dt_arena_array(r->arena, dt_csv_element, element->n);
    x->rows = dt_arena_array(r->arena, dt_str, element->n);
    x->text = dt_arena_array(r->arena, int64_t *, element->n);
    x->text_cap = dt_arena_array(r->arena, int, element->n);
    const char *file = dt_arena_strdup(r->arena, x->base.paths.v[0]);
    for (; x->base.n < element->n; x->base.n++) {
        dt_csv_element *e = &x->element[x->base.n];
        DT_TRY(dt_csv_element_read(r->arena, &element->entry[x->base.n], x->words->header, e));
        x->base.stored[x->base.n] = (dt_stored){.name = e->name, .type = e->type, .at = *e->at, .file = file, .text = e->text,
                                      .numbers = dt_csv_places(e), .classes = dt_csv_places(e), .names = dt_csv_names(e), .columns = e->columns, .vocabulary = e->vocabulary,
                                      .delimiter = *x->words->field_delim, .numbered = !x->words->header,
                                      .has_default = e->has_default, .default_value = e->default_value};
        longest = e->text && e->type.dim[0] > longest ? e->type.dim[0] : longest;
    }
    x->longest = dt_alloc((size_t)longest);
    return NULL;
}

static void close_part(dt_examples *base)
{
    csv_part *x = (csv_part *)base;
    for (int i = 0; x->file && i < x->base.paths.n; i++)
        dt_inflow_close(x->file[i]);
    for (int e = 0; e < x->base.n; e++) {
        dt_str_release(&x->rows[e]);
        free(x->text[e]);
    }
    free(x->longest);
    dt_paths_release(&x->base.paths);
    free(x->offset);
}

static dt_status *open_part(const dt_format_request *r, dt_examples **out)
{
    csv_part *x = dt_arena_new(r->arena, csv_part);
    *out = &x->base;
    x->words = r->args;
    x->kept = true;
    DT_TRY(dt_files_find(r, r->tree, &x->base.paths));
    DT_TRY(name_elements(r, x));
    const int n = x->base.paths.n;
    x->file = dt_arena_array(r->arena, dt_inflow *, n);
    x->index = dt_arena_array(r->arena, int *, n);
    x->fields = dt_arena_array(r->arena, int, n);
    for (int i = 0; i < n; i++)
        x->index[i] = dt_arena_array(r->arena, int, count_columns(x));
    DT_TRY(dt_files_read(r, &x->base, read_file));
    return settle(r, x);
}

static dt_status *whole(dt_examples *base, int e, const void **rows)
{
    csv_part *x = (csv_part *)base;
    *rows = x->kept && !x->element[e].text ? dt_str_text(&x->rows[e]) : NULL;
    return NULL;
}

/* The example's record, which has been read once and had no fault then. */
static dt_status *reread(const csv_part *x, int file, int64_t row, dt_csv *c)
{
    enum { LONGEST = 1 << 20 };
    const int64_t from = x->offset[row], to = row + 1 < x->base.first[file + 1] ? x->offset[row + 1] : dt_inflow_size(x->file[file]);
    const int64_t n = to - from < LONGEST ? to - from : LONGEST;
    char *bytes = dt_alloc((size_t)n);
    bool more = false;
    dt_status *s = dt_inflow_pread(x->file[file], bytes, n, from);
    dt_csv_hold(c, x->base.paths.v[file], *x->words->field_delim, bytes, (size_t)n);
    if (!s)
        s = dt_csv_next(c, &more);
    free(bytes);
    if (!s && (!more || c->n != x->fields[file]))
        s = dt_fail(DT_E_FILE_CHANGED, NULL, "%s: file changed while in use", x->base.paths.v[file]);
    return s;
}

static dt_status *read_again(const csv_part *x, int e, int64_t row, void *out)
{
    const int file = dt_files_at(&x->base, row);
    dt_csv c = {0};
    const int *index = x->index[file];
    for (int i = 0; i < e; i++)
        index += x->element[i].columns.n;
    dt_status *s = reread(x, file, row, &c);
    if (!s)
        s = dt_csv_values(&c, &x->element[e], index, out);
    dt_csv_close(&c);
    return dt_at(s, &x->base.stored[e].at);
}

static dt_status *read_row(dt_examples *base, int e, int64_t row, void *out)
{
    csv_part *x = (csv_part *)base;
    const int64_t bytes = dt_type_bytes(&x->base.stored[e].type);
    if (!x->kept)
        return read_again(x, e, row, out);
    if (x->element[e].text)
        strcpy(out, x->rows[e].data + x->text[e][row]);
    else
        memcpy(out, x->rows[e].data + row * bytes, (size_t)bytes);
    return NULL;
}

const dt_format dt_format_csv = {
    .kind = {.name = "csv", .about = "CSV files (RFC 4180), one example per record; may be gzipped"},
    .fields = fields,
    .size = sizeof(struct csv),
    .check = check,
    .open = open_part,
    .whole = whole,
    .read = read_row,
    .close = close_part,
};
