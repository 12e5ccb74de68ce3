/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TFRecord files of tf.Examples:
 *
 *     dataset:
 *       format: tfrecord
 *       train: data/train-*.tfrecord              # or one file, or a list
 *       element:
 *         image: {shape: [28, 28], dtype: uint8, feature: image_raw}
 *         label: {dtype: int64}
 *
 * An element is the feature of its name unless `feature` says otherwise. Lists of any length (VarLen) become rows of one with `padding_value`;
 * `default_value` stands for features that are missing. The headers of all records are read once, which gives an index
 * of offsets: example i is then read from its place, its checksum verified each time. Compressed files have no places; they are
 * decompressed whole into memory. Byte strings that are PNG or JPEG files, as the first example tells, are decoded where their element is a picture:
 * (rows, columns) or (rows, columns, channels) of uint8.
 */
#include <stdlib.h>
#include <string.h>

#include "data/data.h"
#include "data/files.h"
#include "file/tfrecord_element.h"

#define LARGEST_GZIP ((int64_t)1 << 30) /* decompressed records of a part */

enum { MOST_RECORDS = 1 << 30 };

/* ---- the job's words ---- */

struct tfrecord {
    const dt_tree *element;
};

static const dt_field entry_forms[] = {DT_FORM(DT_FIELD_TABLE, .table = dt_tf_element_fields), DT_END};
static const dt_field element_forms[] = {DT_FORM(DT_FIELD_MAP, .forms = entry_forms, .by_name = true), DT_END};

static const dt_field fields[] = {
    DT_TREE(struct tfrecord, element, .forms = element_forms, .required = true, .help = "elements: {name: {shape, dtype, feature}}"),
    DT_END
};

static dt_status *read_element(const dt_format_request *r, const dt_entry *e)
{
    dt_tf_element ignored;
    return dt_tf_element_read(r->arena, e, &ignored);
}

static dt_status *check(const dt_format_request *r, dt_texts *names)
{
    dt_status *s = dt_files_check(r);
    dt_status_append(&s, dt_files_check_elements(r, ((const struct tfrecord *)r->args)->element, names, read_element));
    return s;
}

/* ---- the index ---- */

typedef struct place {
    int64_t offset, length; /* of the data; in `unpacked` for compressed files */
    int32_t file;
} place;

typedef struct tfrecord_part {
    dt_examples base;
    dt_tf_element *feature; /* [n] */
    bool *pictures;       /* [n] byte strings that are files of pictures */
    dt_inflow **file;     /* [paths.n]; NULL: unpacked */
    dt_str unpacked;
    place *place;         /* [count] */
    int cap;
} tfrecord_part;

static dt_status *add_place(tfrecord_part *x, const place *p)
{
    if (x->base.count == MOST_RECORDS)
        return dt_fail(DT_E_TOO_LARGE, NULL, "%s: more than %d records in all", x->base.paths.v[p->file], MOST_RECORDS);
    DT_GROW(x->place, x->cap, (int)x->base.count + 1);
    x->place[x->base.count++] = *p;
    return NULL;
}

/* Header by header: what lies between is looked at when it is read. */
static dt_status *index_plain(tfrecord_part *x, int file)
{
    dt_records r = {.file = x->file[file], .path = x->base.paths.v[file]};
    int64_t length = 0;
    bool more;
    for (;;) {
        DT_TRY(dt_tfrecord_look(&r, &length, &more));
        if (!more)
            return NULL;
        DT_TRY(add_place(x, &(place){r.offset + DT_TFRECORD_HEADER, length, file}));
        r.offset += DT_TFRECORD_HEADER + length + DT_TFRECORD_FOOTER;
        r.number++;
    }
}

static dt_status *decompress(tfrecord_part *x, int file, dt_records *r)
{
    dt_str record = {0};
    dt_status *s;
    bool more;
    while (!(s = dt_records_next(r, &record, &more)) && more) {
        if ((int64_t)(x->unpacked.size + record.size) > LARGEST_GZIP) {
            s = dt_note(dt_fail(DT_E_TOO_LARGE, NULL, "%s: more than %lld bytes when decompressed", r->path, (long long)LARGEST_GZIP),
                        "uncompressed files may have any size");
            break;
        }
        s = add_place(x, &(place){(int64_t)x->unpacked.size, (int64_t)record.size, file});
        if (s)
            break;
        dt_str_add(&x->unpacked, dt_str_text(&record), record.size);
    }
    dt_str_release(&record);
    return s;
}

static dt_status *index_file(dt_examples *base, int file)
{
    tfrecord_part *x = (tfrecord_part *)base;
    dt_records r;
    dt_status *s = dt_records_open(&r, x->base.paths.v[file], &(dt_record_options){.kind = DT_TFRECORD});
    if (!s && dt_inflow_is_gzip(r.file)) {
        s = decompress(x, file, &r);
    } else if (!s) {
        x->file[file] = r.file;
        r.file = NULL;
        s = index_plain(x, file);
    }
    dt_records_close(&r);
    return s;
}

/* ---- examples ---- */

static dt_status *in_record(dt_status *s, const tfrecord_part *x, const place *p, int64_t row)
{
    if (!s)
        return NULL;
    dt_status *named = dt_fail((dt_error)dt_status_number(s), NULL, "%s: record %lld: %s", x->base.paths.v[p->file],
                               (long long)(row - x->base.first[p->file]), dt_status_text(s));
    dt_status_free(s);
    return named;
}

static bool make_room(dt_str *buffer, size_t n)
{
    if (buffer->cap >= n)
        return true;
    dt_str_release(buffer);
    *buffer = (dt_str){.data = dt_try_alloc(n), .cap = n};
    if (!buffer->data)
        buffer->cap = 0;
    return buffer->data != NULL;
}

/* The record's bytes: read into the buffer, or what was unpacked. */
static dt_status *fetch(dt_examples *base, int64_t row, dt_str *buffer, dt_bytes *out)
{
    tfrecord_part *x = (tfrecord_part *)base;
    const place *p = &x->place[row];
    const char *path = x->base.paths.v[p->file];
    *out = (dt_bytes){dt_str_text(&x->unpacked) + p->offset, (size_t)p->length};
    if (!x->file[p->file])
        return NULL;
    if (!make_room(buffer, (size_t)p->length + DT_TFRECORD_FOOTER))
        return dt_fail(DT_E_NO_MEMORY, NULL, "%s: out of memory for a record of %lld bytes", path, (long long)p->length);
    DT_TRY(dt_inflow_pread(x->file[p->file], buffer->data, p->length + DT_TFRECORD_FOOTER, p->offset));
    out->data = buffer->data;
    return NULL;
}

/* Checksums are looked at where records are decoded: it is work, not waiting. Those of compressed files were, when they were unpacked. */
static dt_status *verify(const tfrecord_part *x, int64_t row, const dt_bytes *bytes)
{
    const place *p = &x->place[row];
    if (!x->file[p->file] || dt_tfrecord_verify(bytes->data, p->length))
        return NULL;
    return dt_fail(DT_E_RECORD, NULL, "%s: record %lld at offset %lld: data checksum mismatch", x->base.paths.v[p->file],
                   (long long)(row - x->base.first[p->file]), (long long)(p->offset - DT_TFRECORD_HEADER));
}

static dt_status *decode_element(const tfrecord_part *x, int e, int64_t row, const dt_parsed_example *parsed, void *out)
{
    const dt_tf_element *f = &x->feature[e];
    dt_status *s = x->pictures[e] ? dt_tf_element_picture(parsed, f, out) : dt_tf_element_values(parsed, f, out);
    return dt_at(in_record(s, x, &x->place[row], row), &x->base.stored[e].at);
}

/* What the first example has is what all have: a file of a picture may be as long as its pixels are. */
static void look_for_pictures(tfrecord_part *x, const dt_bytes *first)
{
    dt_parsed_example parsed = {0};
    const char *why;
    if (dt_parsed_example_read(&parsed, first->data, first->n, &why))
        for (int e = 0; e < x->base.n; e++)
            x->pictures[e] = dt_tf_element_is_picture(&parsed, &x->feature[e]);
    dt_parsed_example_release(&parsed);
}

static dt_status *unpack(dt_examples *base, int64_t row, const dt_bytes *bytes, void *const *out)
{
    tfrecord_part *x = (tfrecord_part *)base;
    dt_parsed_example parsed = {0};
    const char *why = "";
    dt_status *s = verify(x, row, bytes);
    if (!s && !dt_parsed_example_read(&parsed, bytes->data, bytes->n, &why))
        s = in_record(dt_fail(DT_E_EXAMPLE, NULL, "is not a tf.Example%s%s%s", *why ? " (" : "", why, *why ? ")" : ""), x, &x->place[row], row);
    for (int e = 0; e < x->base.n && !s; e++)
        if (out[e])
            s = decode_element(x, e, row, &parsed, out[e]);
    dt_parsed_example_release(&parsed);
    return dt_at(s, &x->base.stored[0].at);
}

/* The first example is looked at, so that a wrong shape or name is told before training. */
static dt_status *try_first(const dt_format_request *r, tfrecord_part *x)
{
    void **out = dt_arena_array(r->arena, void *, x->base.n);
    dt_status *s = NULL;
    dt_str buffer = {0};
    dt_bytes bytes;
    for (int e = 0; e < x->base.n && !s; e++) {
        out[e] = dt_try_alloc((size_t)dt_type_bytes(&x->base.stored[e].type) + 1);
        if (!out[e])
            s = dt_fail(DT_E_NO_MEMORY, &x->base.stored[e].at, "out of memory for an example of '%s'", x->base.stored[e].name);
    }
    if (!s)
        s = dt_at(fetch(&x->base, 0, &buffer, &bytes), &x->base.stored[0].at);
    if (!s) {
        look_for_pictures(x, &bytes);
        s = unpack(&x->base, 0, &bytes, out);
    }
    for (int e = 0; e < x->base.n; e++)
        free(out[e]);
    dt_str_release(&buffer);
    return s;
}

/* ---- the format ---- */

static void close_part(dt_examples *base)
{
    tfrecord_part *x = (tfrecord_part *)base;
    for (int i = 0; x->file && i < x->base.paths.n; i++)
        dt_inflow_close(x->file[i]);
    dt_paths_release(&x->base.paths);
    dt_str_release(&x->unpacked);
    free(x->place);
}

static dt_status *name_elements(const dt_format_request *r, tfrecord_part *x)
{
    const dt_tree *element = ((const struct tfrecord *)r->args)->element;
    x->base.stored = dt_arena_array(r->arena, dt_stored, element->n);
    x->feature = dt_arena_array(r->arena, dt_tf_element, element->n);
    x->pictures = dt_arena_array(r->arena, bool, element->n);
    for (; x->base.n < element->n; x->base.n++) {
        const dt_entry *e = &element->entry[x->base.n];
        dt_stored *s = &x->base.stored[x->base.n];
        DT_TRY(dt_tf_element_read(r->arena, e, &x->feature[x->base.n]));
        s->type = x->feature[x->base.n].type;
        s->text = x->feature[x->base.n].text;
        s->name = e->key;
        s->at = e->value->at;
        s->file = dt_arena_strdup(r->arena, x->base.paths.v[0]);
    }
    return NULL;
}

static dt_status *open_part(const dt_format_request *r, dt_examples **out)
{
    tfrecord_part *x = dt_arena_new(r->arena, tfrecord_part);
    *out = &x->base;
    DT_TRY(dt_files_find(r, r->tree, &x->base.paths));
    DT_TRY(name_elements(r, x));
    x->file = dt_arena_array(r->arena, dt_inflow *, x->base.paths.n);
    DT_TRY(dt_files_read(r, &x->base, index_file));
    return try_first(r, x);
}

const dt_format dt_format_tfrecord = {
    .kind = {.name = "tfrecord", .about = "TFRecord files of tf.Examples; may be compressed by gzip or zlib"},
    .fields = fields,
    .size = sizeof(struct tfrecord),
    .check = check,
    .open = open_part,
    .fetch = fetch,
    .unpack = unpack,
    .close = close_part,
};
