/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the examples of a part to other files: one loop over the batches of the part hands their
 * rows to the outputs of a format (file/file.h):
 *
 *     one array per file    an output per element, named by {element} if several; one pass over
 *                           the examples writes up to 256 of them
 *     records               one shard after the other, NAME-00000-of-00008.SUFFIX; their numbers of
 *                           examples differ by at most one
 *     others                one output
 *
 * CSV that is written from a job's own CSV as stored, without `map`, has the columns that the job
 * looks for, with the job's delimiter and column names. Without a header the columns keep their
 * numbers, and columns that no element uses stay empty. If several elements read the same column,
 * it is written once, from the element that keeps most of its content.
 */
#include <stdlib.h>
#include <string.h>

#include "data/inspect.h"
#include "file/file.h"

#define BATCH_BYTES ((int64_t)4 << 20)
#define PLACE "{element}"
enum { LARGEST_BATCH = 1024, MOST_SHARDS = 100000, MOST_OPEN = 256 };

/* The source of an output column. */
typedef struct origin {
    const dt_element_spec *element; /* the element that reads the column; NULL if none does */
    int64_t value;                  /* index of the value in the element */
} origin;

typedef struct conversion {
    const dt_conversion *q;
    const dt_format *kind;
    const char *suffix;
    const dt_element_spec *element; /* [n] the elements of the data set */
    int n;
    /* number of examples in an epoch of the part, number that this pass has written so far, and
     * index of the open shard */
    int64_t count, done, shard;
    dt_element_spec *column; /* [columns] each column as an element, named like the column */
    origin *from;            /* [columns] where the values of each column come from */
    const void **row;        /* [columns] the values of the current example */
    int columns;
    /* This pass writes the columns [first, first + outputs) to one file each, or all columns to one
     * file. */
    int first, outputs;
    dt_output *out; /* [outputs] the files that are open */
    char delimiter;
    bool no_header;
} conversion;

static dt_type row_type(const dt_element_spec *e) {
    return dt_type_of(e->type.dtype, e->type.rank - 1, e->type.dim + 1);
}

static bool is_text(const dt_element_spec *e) { return e->stored && e->stored->text; }

/* ---- columns ---- */

/* Returns how much of a column's fields an element keeps. If several elements read the same column,
 * the one with the highest rank writes it. */
static int rank_of(const dt_element_spec *e) {
    enum { FLOATS, DOUBLES, INTEGERS, WORDS, TEXT };
    if (is_text(e) || e->stored->vocabulary.n > 0) return is_text(e) ? TEXT : WORDS;
    return e->type.dtype == DT_FLOAT32 ? FLOATS : e->type.dtype == DT_FLOAT64 ? DOUBLES : INTEGERS;
}

/* Returns the index of a column: found by its name, with a new column added if there is none, or
 * equal to the number that is its name if the files have no header. c->columns becomes larger than
 * the index. The job has been checked, so every record has the column. */
static int column_index(conversion *c, const char *name) {
    int64_t at = 0;
    if (c->no_header) dt_parse_int64(name, &at);
    while (!c->no_header && at < c->columns && strcmp(c->column[at].name, name) != 0) at++;
    c->columns = at < c->columns ? c->columns : (int)at + 1;
    return (int)at;
}

static void place_own(conversion *c, const dt_element_spec *e) {
    for (int i = 0; i < e->stored->columns.n; i++) {
        const int at = column_index(c, e->stored->columns.v[i]);
        if (c->from[at].element && rank_of(e) <= rank_of(c->from[at].element)) continue;
        c->from[at] = (origin){e, i};
        c->column[at] =
            (dt_element_spec){.name = e->stored->columns.v[i],
                              .type = is_text(e) ? row_type(e) : dt_scalar_type(e->type.dtype),
                              .text = is_text(e),
                              .names = e->stored->vocabulary};
    }
}

static const char *shared_column(const dt_element_spec *a, const dt_element_spec *b) {
    for (int i = 0; i < a->columns.n; i++)
        for (int k = 0; k < b->columns.n; k++)
            if (strcmp(a->columns.v[i], b->columns.v[k]) == 0) return a->columns.v[i];
    return NULL;
}

static bool fill_alike(const dt_element_spec *a, const dt_element_spec *b) {
    return a->text || b->text ||
           (a->has_default == b->has_default &&
            (!a->has_default || a->default_value == b->default_value));
}

/* Refuses two elements that read the same column with different default values: the file has only
 * one value for an empty field. A text element keeps the field itself. */
static dt_status *check_defaults(const conversion *c) {
    for (int e = 0; e < c->n; e++)
        for (int k = 0; c->element[e].stored && k < e; k++) {
            const dt_element_spec *a = c->element[k].stored, *b = c->element[e].stored;
            const char *shared = fill_alike(a, b) ? NULL : shared_column(a, b);
            if (shared)
                return dt_fail(DT_E_OUTPUT_FORMAT, NULL,
                               "column '%s' is used by '%s' and '%s' with different default "
                               "values: CSV has one field for "
                               "both; write .tfrecord or .npz instead",
                               shared, c->element[k].name, c->element[e].name);
        }
    return NULL;
}

/* Returns an upper limit of the number of columns: the number of elements and of all columns that
 * they read, or the highest column number + 1 if that is more. */
static int64_t most_columns(const conversion *c) {
    int64_t most = c->n, number;
    for (int e = 0; e < c->n; e++) {
        const dt_element_spec *x = c->element[e].stored;
        most += x ? x->columns.n : 0;
        for (int i = 0; x && x->numbered && i < x->columns.n; i++)
            if (dt_parse_int64(x->columns.v[i], &number) && number >= most) most = number + 1;
    }
    return most;
}

static dt_status *plan_columns(conversion *c, dt_arena *arena) {
    const dt_element_spec *own = c->element[0].stored;
    const bool is_own = c->kind->content == DT_CONTENT_TABLE && own && own->window == 0 &&
                        c->kind == dt_dataset_spec_of(c->q->data)->format;
    const int64_t most = most_columns(c);
    c->column = dt_arena_array(arena, dt_element_spec, most);
    c->from = dt_arena_array(arena, origin, most);
    c->row = dt_arena_array(arena, const void *, most);
    c->delimiter = is_own ? own->delimiter : ',';
    c->no_header = is_own && own->numbered;
    if (is_own) DT_TRY(check_defaults(c));
    for (int e = 0; e < c->n; e++) {
        const dt_element_spec *x = &c->element[e];
        if (is_own) {
            place_own(c, x);
            continue;
        }
        c->from[c->columns] = (origin){x, 0};
        c->column[c->columns++] =
            (dt_element_spec){.name = x->name,
                              .type = row_type(x),
                              .text = is_text(x),
                              .names = x->stored ? x->stored->vocabulary : (dt_texts){0}};
    }
    return NULL;
}

/* ---- files ---- */

/* Returns the number of examples before shard k. Shards differ in size by at most one example. */
static int64_t first_of(const conversion *c, int64_t k) {
    return c->count / c->q->shards * k +
           (k < c->count % c->q->shards ? k : c->count % c->q->shards);
}

/* Sets *out to the name of the file for output i or, if there are several shards, for shard
 * c->shard. */
static void file_name(const conversion *c, int i, dt_str *out) {
    const char *name = c->q->output, *at = strstr(name, PLACE);
    dt_str_clear(out);
    if (c->q->shards > 1)
        dt_str_printf(out, "%.*s-%05lld-of-%05lld%s", (int)(strlen(name) - strlen(c->suffix)), name,
                      (long long)c->shard, (long long)c->q->shards, c->suffix);
    else if (at && c->kind->content == DT_CONTENT_ARRAY)
        dt_str_printf(out, "%.*s%s%s", (int)(at - name), name, c->element[c->first + i].name,
                      at + strlen(PLACE));
    else dt_str_puts(out, name);
}

static dt_status *open_output(conversion *c, int i, dt_str *files) {
    dt_str name = {0};
    dt_output *o = &c->out[i];
    file_name(c, i, &name);
    dt_str_printf(files, "%s\n", dt_str_text(&name));
    *o = (dt_output){.kind = c->kind,
                     .n = c->kind->content == DT_CONTENT_ARRAY ? 1 : c->columns,
                     .column = &c->column[c->first + i],
                     .of = c->count,
                     .delimiter = c->delimiter,
                     .no_header = c->no_header};
    dt_status *s = dt_output_open(o, dt_str_text(&name));
    o->named = c->q->output;
    dt_str_release(&name);
    return s ? s : dt_output_begin(o);
}

/* Finishes the open shard and opens the next one. A shard without examples becomes a file, too. */
static dt_status *next_shard(conversion *c, dt_str *files) {
    DT_TRY(dt_output_finish(&c->out[0]));
    dt_output_close(&c->out[0]);
    c->shard++;
    return open_output(c, 0, files);
}

static dt_status *put_rows(conversion *c, const dt_example *b, dt_str *files) {
    for (int64_t i = 0; i < b->rows; i++, c->done++) {
        for (int k = 0; k < c->columns; k++) {
            const dt_element_spec *e = c->from[k].element;
            const dt_type row = e ? row_type(e) : c->column[k].type;
            c->row[k] = e ? b->tensor[e - c->element]->data + i * dt_type_bytes(&row) +
                                c->from[k].value * (int64_t)dt_dtype_size(row.dtype)
                          : NULL;
        }
        while (c->done == first_of(c, c->shard + 1)) DT_TRY(next_shard(c, files));
        for (int k = 0; k < c->outputs; k++)
            DT_TRY(dt_output_put(&c->out[k], c->row + c->first + k));
    }
    return NULL;
}

static dt_status *put_all(conversion *c, dt_str *files) {
    dt_iterator *batches = NULL;
    dt_example b = {0};
    int64_t bytes = 1;
    for (int e = 0; e < c->n; e++) {
        const dt_type row = row_type(&c->element[e]);
        bytes += dt_type_bytes(&row);
    }
    const int64_t batch = BATCH_BYTES / bytes;
    DT_TRY(dt_iterator_open_batches(&batches, c->q->data,
                                    &(dt_batch_options){.part = c->q->part,
                                                        .batch = batch < 1 ? 1
                                                                 : batch > LARGEST_BATCH
                                                                     ? LARGEST_BATCH
                                                                     : batch}));
    dt_status *s = NULL;
    for (int i = 0; i < c->outputs && !s; i++) s = open_output(c, i, files);
    while (!s && !(s = dt_iterator_next_batch(batches, &b)) && b.rows > 0)
        s = put_rows(c, &b, files);
    while (!s && c->shard + 1 < c->q->shards) s = next_shard(c, files);
    for (int i = 0; i < c->outputs && !s; i++) s = dt_output_finish(&c->out[i]);
    for (int i = 0; i < c->outputs; i++) dt_output_close(&c->out[i]);
    dt_iterator_close(batches);
    return s;
}

/* ---- checks, and the whole conversion ---- */

/* Refuses an output of arrays in two cases: there are several elements, but the output's name lacks
 * {element}, so that all would be written to one file; or the name has it, and an element's name is
 * empty, is "." or "..", or contains '/'. Such a name, which may come from the data, would lead to
 * another folder or name no file. */
static dt_status *check_places(const conversion *c) {
    const bool named = strstr(c->q->output, PLACE);
    if (c->n > 1 && !named)
        return dt_fail(
            DT_E_OUTPUT_FORMAT, NULL,
            "'%s' holds one array, but the data has %d elements: put %s in the name, or write .npz",
            c->q->output, c->n, PLACE);
    for (int e = 0; e < c->n && named; e++) {
        const char *name = c->element[e].name;
        if (!*name || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            return dt_fail(DT_E_OUTPUT_FORMAT, NULL,
                           "no file can be named after element '%.200s': write .npz", name);
    }
    return NULL;
}

static dt_status *check(const conversion *c) {
    const dt_conversion *q = c->q;
    if (!c->kind)
        return dt_fail(DT_E_OUTPUT_FORMAT, NULL,
                       "no output format for '%s': the name must end in .npy, .npz, .idx, -ubyte, "
                       ".csv, .jsonl or .tfrecord",
                       q->output);
    if (q->shards > 1 && !dt_format_has_rows(c->kind))
        return dt_fail(
            DT_E_OUTPUT_FORMAT, NULL,
            "'%s' must be one file; only .csv, .jsonl and .tfrecord can be split into several",
            q->output);
    if (q->shards < 1 || q->shards > MOST_SHARDS)
        return dt_fail(DT_E_OUTPUT_FORMAT, NULL, "cannot write %lld files: choose from 1 to %d",
                       (long long)q->shards, MOST_SHARDS);
    for (int e = 0; e < c->n; e++)
        if (!dt_format_has_rows(c->kind) && is_text(&c->element[e]))
            return dt_fail(DT_E_OUTPUT_FORMAT, NULL,
                           "'%s' is text, which %s cannot hold; write .csv, .jsonl or .tfrecord, "
                           "or use --mapped to write the numbers that the model gets",
                           c->element[e].name, c->suffix);
    return c->kind->content == DT_CONTENT_ARRAY ? check_places(c) : NULL;
}

dt_status *dt_dataset_convert(const dt_conversion *q, dt_str *files) {
    conversion c = {.q = q, .count = dt_dataset_count(q->data, q->part)};
    c.n = dt_dataset_elements(q->data, &c.element);
    c.kind = dt_format_for(q->output, &c.suffix);
    DT_TRY(check(&c));
    dt_arena *arena = dt_arena_create();
    const int all = c.kind->content == DT_CONTENT_ARRAY ? c.n : 1;
    c.out = dt_arena_array(arena, dt_output, MOST_OPEN);
    dt_status *s = plan_columns(&c, arena);
    for (; c.first < all && !s; c.first += MOST_OPEN) {
        c.outputs = all - c.first < MOST_OPEN ? all - c.first : MOST_OPEN;
        c.done = 0;
        s = put_all(&c, files);
    }
    dt_arena_destroy(arena);
    return s;
}
