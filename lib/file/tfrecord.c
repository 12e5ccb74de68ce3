/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TFRecord files of tf.Examples as a format: one feature for each element or column.
 *
 *     dataset:
 *       format: tfrecord
 *       train: data/train-*.tfrecord              # or one file, or a list
 *       element:
 *         image: {shape: [28, 28], dtype: uint8, feature: image_raw}
 *         label: {dtype: int64}
 *
 * `feature` names the feature of an element; by default both have the same name. With
 * `padding_value`, lists of any length (VarLen) are padded to the element's shape; `default_value`
 * replaces missing features. If the byte strings of the first example are picture files, and
 * the element is a picture, (rows, columns) or (rows, columns, channels) of uint8, they are
 * decoded.
 *
 * Rows to predict or evaluate are read by the job's declaration of elements if the job's data is
 * TFRecord: names of features, padding, pictures, texts. Otherwise a feature has the name and the
 * number of values of its input.
 */
#include <string.h>

#include "file/cast.h"
#include "file/examples.h"
#include "file/protobuf.h"
#include "file/records.h"
#include "file/tfrecord_element.h"

/* ---- the job's keys ---- */

struct tfrecord {
    const dt_tree *element;
};

static const dt_field fields[] = {DT_ELEMENTS(struct tfrecord, dt_tf_element_fields,
                                              .help = "elements: {name: {shape, dtype, feature}}"),
                                  DT_END};

static dt_status *declare(dt_arena *arena, const dt_entry *entry, const dt_tree *keys,
                          dt_element_spec *out) {
    dt_tf_element *f = dt_arena_new(arena, dt_tf_element);
    (void)keys;
    DT_TRY(dt_tf_element_read(arena, entry, f));
    out->name = entry->key;
    out->type = f->type;
    out->text = f->text;
    out->at = entry->value->at;
    out->own = f;
    return NULL;
}

/* ---- reading ---- */

typedef struct reader {
    dt_records records;
    dt_str record;
    dt_parsed_example parsed;
} reader;

/* Whether the file begins with a length and its checksum. */
static bool sniff(const unsigned char *first, int64_t n) {
    return n >= DT_TFRECORD_HEADER && dt_tfrecord_verify(first, 8);
}

/* For rows of a data set with another format: each element is read from the feature of the same
 * name. */
static void name_features(dt_row_source *s) {
    for (int e = 0; e < s->n && !s->native; e++) {
        dt_element_spec *x = &s->element[e];
        const dt_tf_element plain = {
            .element = x->name, .name = x->name, .type = x->type, .text = x->text};
        x->own = dt_arena_copy(s->arena, &plain, sizeof plain);
    }
}

static void close_records(dt_row_source *s) {
    reader *r = s->state;
    dt_parsed_example_release(&r->parsed);
    dt_str_release(&r->records.window);
    dt_str_release(&r->record);
}

static bool holds(const dt_row_source *s) {
    return dt_records_hold(&((const reader *)s->state)->records);
}

/* Skips a record by its header; a record of a compressed file has to be read. */
static dt_status *skip_record(dt_row_source *s, bool *more) {
    reader *r = s->state;
    const int64_t number = r->records.number;
    int64_t length = 0;
    if (dt_inflow_is_gzip(s->file)) {
        DT_TRY(dt_records_next(&r->records, &r->record, more));
        s->record = (dt_row_record){.number = number,
                                    .size = (int64_t)r->record.size,
                                    .bytes = dt_str_text(&r->record),
                                    .checked = true};
        return NULL;
    }
    DT_TRY(dt_tfrecord_look(&r->records, &length, more));
    s->record = (dt_row_record){.number = number,
                                .offset = r->records.offset + DT_TFRECORD_HEADER,
                                .size = length + DT_TFRECORD_FOOTER};
    r->records.offset += DT_TFRECORD_HEADER + length + DT_TFRECORD_FOOTER;
    r->records.number++;
    return NULL;
}

static dt_status *in_record(dt_status *s, const char *path, int64_t number) {
    if (!s) return NULL;
    dt_status *named = dt_fail((dt_error)dt_status_number(s), NULL, "%s: record %lld: %s", path,
                               (long long)number, dt_status_text(s));
    if (dt_status_suggestion(s)) named = dt_suggest(named, "%s", dt_status_suggestion(s));
    dt_status_free(s);
    return named;
}

static dt_status *parse(const dt_row_source *s, const dt_row_record *r, dt_parsed_example *parsed) {
    const char *why = "";
    if (dt_parsed_example_read(parsed, r->bytes, (size_t)r->size, &why)) return NULL;
    return in_record(dt_fail(DT_E_EXAMPLE, NULL, "is not a tf.Example%s%s%s", *why ? " (" : "", why,
                             *why ? ")" : ""),
                     s->path, r->number);
}

static dt_status *put_element(const dt_row_source *s, int e, const dt_parsed_example *parsed,
                              int64_t number, void *out) {
    const dt_element_spec *x = &s->element[e];
    return in_record(
        (x->pictures ? dt_tf_element_picture : dt_tf_element_values)(parsed, x->own, out), s->path,
        number);
}

/* Finds the elements that are picture files. The first example decides for all, because a single
 * picture file may happen to have as many bytes as its pixels. */
static void find_pictures(dt_row_source *s, const dt_parsed_example *parsed) {
    for (int e = 0; e < s->n; e++)
        s->element[e].pictures = dt_tf_element_is_picture(parsed, s->element[e].own);
}

static dt_status *next_record(dt_row_source *s, void *const *row, bool *more) {
    reader *r = s->state;
    dt_bytes bytes = {0};
    DT_TRY(dt_records_lend(&r->records, &r->record, &bytes, more));
    if (!*more) return NULL;
    const dt_row_record record = {
        .number = r->records.number - 1, .size = (int64_t)bytes.n, .bytes = bytes.data};
    DT_TRY(parse(s, &record, &r->parsed));
    if (record.number == 0) find_pictures(s, &r->parsed);
    for (int e = 0; e < s->n; e++) DT_TRY(put_element(s, e, &r->parsed, record.number, row[e]));
    return NULL;
}

/* ---- records in any order ---- */

/* The record without its checksum. */
static dt_row_record data_of(const dt_row_record *r) {
    dt_row_record data = *r;
    data.size -= r->checked ? 0 : DT_TFRECORD_FOOTER;
    return data;
}

static void look(dt_row_source *s, const dt_row_record *first) {
    const dt_row_record data = data_of(first);
    dt_parsed_example parsed = {0};
    const char *why;
    if (dt_parsed_example_read(&parsed, data.bytes, (size_t)data.size, &why))
        find_pictures(s, &parsed);
    dt_parsed_example_release(&parsed);
}

static dt_status *record_at(const dt_row_source *s, const dt_row_record *r, void *const *out) {
    const dt_row_record data = data_of(r);
    dt_parsed_example parsed = {0};
    if (!r->checked && !dt_tfrecord_verify(r->bytes, data.size))
        return dt_fail(DT_E_RECORD, &s->element[0].at,
                       "%s: record %lld at offset %lld: data checksum mismatch", s->path,
                       (long long)r->number, (long long)(r->offset - DT_TFRECORD_HEADER));
    dt_status *bad = dt_at(parse(s, &data, &parsed), &s->element[0].at);
    for (int e = 0; e < s->n && !bad; e++)
        if (out[e]) bad = dt_at(put_element(s, e, &parsed, r->number, out[e]), &s->element[e].at);
    dt_parsed_example_release(&parsed);
    return bad;
}

static dt_status *open_records(dt_row_source *s) {
    static const dt_row_reader operations = {.next = next_record,
                                             .holds = holds,
                                             .skip = skip_record,
                                             .look = look,
                                             .at = record_at,
                                             .close = close_records};
    static const dt_record_options options = {.kind = DT_TFRECORD};
    reader *r = s->state = dt_arena_new(s->arena, reader);
    name_features(s);
    if (s->again) DT_TRY(dt_records_take(&r->records, s->file, s->path, &options));
    else r->records = (dt_records){.file = s->file, .path = s->path, .options = options};
    s->reader = &operations;
    return NULL;
}

/* ---- writing ---- */

static void put_floats(dt_str *out, dt_dtype d, const char *p, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        float f;
        uint32_t bits;
        dt_cast(d, DT_FLOAT32, p + i * (int64_t)dt_dtype_size(d), &f, 1);
        memcpy(&bits, &f, sizeof bits);
        dt_put_little(out, bits, 4);
    }
}

static void put_integers(dt_str *out, dt_dtype d, const char *p, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        int64_t x;
        dt_cast(d, DT_INT64, p + i * (int64_t)dt_dtype_size(d), &x, 1);
        dt_pb_put_varint(out, (uint64_t)x);
    }
}

enum { BYTES_LIST = 1, FLOAT_LIST = 2, INT64_LIST = 3 }; /* field numbers in Feature */

/* The kind of list for a column. Arrays of bytes become one byte string; floats go to float_list,
 * which has no doubles; all other dtypes go to int64_list. */
static int list_of(const dt_type *row) {
    return dt_dtype_is_float(row->dtype)             ? FLOAT_LIST
           : row->dtype == DT_UINT8 && row->rank > 0 ? BYTES_LIST
                                                     : INT64_LIST;
}

/* Adds an entry to Features: name, then Feature { list { values } }. */
static void put_feature(dt_str *features, const dt_element_spec *c, const void *values) {
    const int64_t n = dt_type_elements(&c->type);
    const int list = list_of(&c->type);
    dt_str packed = {0}, inside = {0}, feature = {0}, entry = {0};
    if (list == BYTES_LIST) dt_str_add(&packed, values, c->text ? strlen(values) : (size_t)n);
    else (list == FLOAT_LIST ? put_floats : put_integers)(&packed, c->type.dtype, values, n);
    dt_pb_put_message(&inside, DT_PB_TAG(1, DT_PB_BYTES), &packed);
    dt_pb_put_message(&feature, DT_PB_TAG(list, DT_PB_BYTES), &inside);
    dt_str_puts(&inside, c->name);
    dt_pb_put_message(&entry, DT_PB_TAG(1, DT_PB_BYTES), &inside);
    dt_pb_put_message(&entry, DT_PB_TAG(2, DT_PB_BYTES), &feature);
    dt_pb_put_message(features, DT_PB_TAG(1, DT_PB_BYTES), &entry);
    dt_str_release(&packed);
    dt_str_release(&inside);
    dt_str_release(&feature);
    dt_str_release(&entry);
}

static dt_status *put(dt_output *o, const void *const *row) {
    dt_str features = {0}, example = {0};
    for (int i = 0; i < o->n; i++) put_feature(&features, &o->column[i], row[i]);
    dt_pb_put_message(&example, DT_PB_TAG(1, DT_PB_BYTES), &features);
    const size_t at = o->text.size;
    dt_put_little(&o->text, example.size, 8);
    dt_put_little(&o->text, dt_crc32c_masked(o->text.data + at, 8), 4);
    dt_str_add(&o->text, dt_str_text(&example), example.size);
    dt_put_little(&o->text, dt_crc32c_masked(dt_str_text(&example), example.size), 4);
    dt_str_release(&features);
    dt_str_release(&example);
    return NULL;
}

static const dt_format_writer writer = {.put = put};

const dt_format dt_format_tfrecord = {
    .kind = {.name = "tfrecord",
             .about = "TFRecord files of tf.Examples; may be compressed by gzip or zlib"},
    .keys = {fields, sizeof(struct tfrecord)},
    .suffix = {".tfrecord"},
    .content = DT_CONTENT_RECORDS,
    .sniff = sniff,
    .open = open_records,
    .survey = dt_tfrecord_survey,
    .check = dt_records_check,
    .declare = declare,
    .open_part = dt_records_open_part,
    .writer = &writer,
};
