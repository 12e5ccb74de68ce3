/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TFRecords of tf.Examples as a container, a feature for each element or column.
 *
 * Read: of a job whose data is TFRecords all that it says of its elements holds: names of features, padding, pictures, texts. Else a feature has
 * the input's name, and as many values as that.
 */
#include <string.h>

#include "file/cast.h"
#include "file/file.h"
#include "file/protobuf.h"
#include "file/records.h"
#include "file/tfrecord_element.h"

typedef struct reader {
    dt_records records;
    dt_str record;
    dt_parsed_example parsed;
    dt_tf_element *element; /* [n] */
    bool *pictures;         /* [n] as the first record tells */
} reader;

/* A length, and its checksum. */
static bool sniff(const unsigned char *first, int64_t n)
{
    return n >= DT_TFRECORD_HEADER && dt_tfrecord_verify(first, 8);
}

static dt_status *read_element(const dt_row_source *s, dt_row_source_element *e, dt_tf_element *out)
{
    const dt_tree *words = strcmp(s->format, "tfrecord") == 0 ? e->words : NULL;
    const dt_entry entry = {.key = e->name, .value = (dt_tree *)(uintptr_t)words};
    *out = (dt_tf_element){.element = e->name, .name = e->name, .type = e->stored, .text = e->text};
    if (!words)
        return NULL;
    DT_TRY(dt_tf_element_read(s->arena, dt_arena_copy(s->arena, &entry, sizeof entry), out));
    e->stored = out->type;
    e->text = out->text;
    return NULL;
}

static dt_status *open_records(dt_row_source *s, void **state)
{
    reader *r = dt_arena_new(s->arena, reader);
    *r = (reader){.records = {.file = s->file, .path = s->path, .options = {.kind = DT_TFRECORD}}};
    r->element = dt_arena_array(s->arena, dt_tf_element, s->n);
    r->pictures = dt_arena_array(s->arena, bool, s->n);
    for (int e = 0; e < s->n; e++)
        DT_TRY(read_element(s, &s->element[e], &r->element[e]));
    *state = r;
    return NULL;
}

static void close_records(void *state)
{
    reader *r = state;
    dt_parsed_example_release(&r->parsed);
    dt_str_release(&r->records.window);
    dt_str_release(&r->record);
}

static bool holds(const void *state)
{
    return dt_records_hold(&((const reader *)state)->records);
}

static dt_status *in_record(dt_status *s, const reader *r)
{
    if (!s)
        return NULL;
    dt_status *named = dt_fail((dt_error)dt_status_number(s), NULL, "%s: record %lld: %s", r->records.path, (long long)r->records.number - 1,
                               dt_status_text(s));
    dt_status_free(s);
    return named;
}

static dt_status *next_record(dt_row_source *s, void *state, void *const *row, bool *more)
{
    reader *r = state;
    const char *why = "";
    DT_TRY(dt_records_next(&r->records, &r->record, more));
    if (!*more)
        return NULL;
    if (!dt_parsed_example_read(&r->parsed, r->record.data, r->record.size, &why))
        return in_record(dt_fail(DT_E_EXAMPLE, NULL, "is not a tf.Example%s%s%s", *why ? " (" : "", why, *why ? ")" : ""), r);
    for (int e = 0; e < s->n; e++) {
        const dt_tf_element *f = &r->element[e];
        if (r->records.number == 1)
            r->pictures[e] = dt_tf_element_is_picture(&r->parsed, f);
        DT_TRY(in_record(r->pictures[e] ? dt_tf_element_picture(&r->parsed, f, row[e]) : dt_tf_element_values(&r->parsed, f, row[e]), r));
    }
    return NULL;
}

/* ---- writing ---- */

static void put_floats(dt_str *out, dt_dtype d, const char *p, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        float f;
        uint32_t bits;
        dt_cast(d, DT_FLOAT32, p + i * (int64_t)dt_dtype_size(d), &f, 1);
        memcpy(&bits, &f, sizeof bits);
        dt_put_little(out, bits, 4);
    }
}

static void put_integers(dt_str *out, dt_dtype d, const char *p, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t x;
        dt_cast(d, DT_INT64, p + i * (int64_t)dt_dtype_size(d), &x, 1);
        dt_pb_put_varint(out, (uint64_t)x);
    }
}

enum { BYTES_LIST = 1, FLOAT_LIST = 2, INT64_LIST = 3 }; /* fields of Feature */

/* Arrays of bytes are one byte string; floats are float_list, which has no doubles; the rest int64_list. */
static int list_of(const dt_type *row)
{
    return dt_dtype_is_float(row->dtype) ? FLOAT_LIST : row->dtype == DT_UINT8 && row->rank > 0 ? BYTES_LIST : INT64_LIST;
}

/* An entry of Features: name, then Feature { list { values } }. */
static void put_feature(dt_str *features, const dt_output_column *c, const void *values)
{
    const int64_t n = dt_type_elements(&c->row);
    const int list = list_of(&c->row);
    dt_str packed = {0}, inside = {0}, feature = {0}, entry = {0};
    if (list == BYTES_LIST)
        dt_str_add(&packed, values, c->text ? strlen(values) : (size_t)n);
    else
        (list == FLOAT_LIST ? put_floats : put_integers)(&packed, c->row.dtype, values, n);
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

static dt_status *put(dt_output *o, const void *const *row)
{
    dt_str features = {0}, example = {0};
    for (int i = 0; i < o->n; i++)
        put_feature(&features, &o->column[i], row[i]);
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

const dt_container dt_container_tfrecord = {
    .name = "tfrecord", .suffix = {".tfrecord"}, .texts = true, .records = true,
    .sniff = sniff, .open = open_records, .next = next_record, .holds = holds, .close = close_records, .survey = dt_tfrecord_survey,
    .put = put,
};
