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
 * `padding_value`, lists that are too short (VarLen) are padded to the element's shape. A missing
 * feature is replaced by `default_value` or, if that is not given, by `padding_value`. If the first
 * example's byte string for an element is a picture file, and the element is a picture, (rows,
 * columns) or (rows, columns, channels) of uint8, the byte strings of all examples are decoded.
 *
 * Rows to predict or evaluate are read by the job's declaration of elements if the job's data is
 * TFRecord: names of features, padding, pictures, texts. Otherwise a feature has the name and the
 * number of values of its input.
 */
#include <string.h>

#include "base/text.h"
#include "file/cast.h"
#include "file/example.h"
#include "file/examples.h"
#include "file/image/image.h"
#include "file/protobuf.h"
#include "file/records.h"
#include "file/text_cell.h"

#define LARGEST_EXAMPLE ((int64_t)1 << 30)

/* ---- elements ---- */

typedef struct feature_keys {
    dt_ints shape;
    int dtype;
    const char *feature;
    double padding_value, default_value;
    bool has_padding, has_default, raw, little_endian;
    int64_t max_bytes;
} feature_keys;

typedef struct tf_element {
    const char *element, *name; /* name of the element; name of the feature */
    dt_type type;               /* type of the element in one example */
    bool text;                  /* the element is a text: see dt_element_spec.text */
    feature_keys words;
} tf_element;

static const char *const dtype_names[] = {"bool",  "uint8",   "int8",    "int16",  "int32",
                                          "int64", "float32", "float64", "string", NULL};
enum { STRING = DT_FLOAT64 + 1 };

static const dt_field element_fields[] = {
    DT_INTS(feature_keys, shape, .min = 1, .max = 1e12,
            .help = "shape of one example; default: [], a single value"),
    DT_ENUM(feature_keys, dtype, dtype_names, .preset = "float32",
            .help = "integers come from int64_list, floats from float_list, uint8 also from bytes; "
                    "string: text for map"),
    DT_INT(feature_keys, max_bytes, .min = 1, .max = 1 << 20, .preset = "65535",
           .help = "for dtype string: longest text allowed"),
    DT_FLAG(feature_keys, raw, .preset = "false",
            .help = "the feature is one byte string of numbers of this dtype, as array.tobytes() "
                    "writes and tf.io.decode_raw reads"),
    DT_FLAG(feature_keys, little_endian, .preset = "true",
            .help = "for raw: order of the bytes of a number; false: big-endian"),
    DT_INSTEAD("decode_raw", "write raw: true beside dtype and shape"),
    DT_TEXT(feature_keys, feature, .help = "name of the feature; default: the element's name"),
    DT_REAL(feature_keys, padding_value, .set = 1 + offsetof(feature_keys, has_padding),
            .help = "pads lists that are missing or shorter than `shape`; default: an error"),
    DT_REAL(feature_keys, default_value, .set = 1 + offsetof(feature_keys, has_default),
            .help = "value of a missing feature"),
    DT_END};

static dt_status *read_element(dt_arena *arena, const dt_entry *e, tf_element *out) {
    feature_keys *x = &out->words;
    DT_TRY(dt_tree_expect(e->value, DT_TREE_MAP, e->key));
    DT_TRY(dt_fields_read(arena, element_fields, e->value, &e->value->at, e->key, x));
    if (x->shape.n > DT_MAX_RANK - 1)
        return dt_fail(DT_E_DATASET_KEYS, &e->value->at, "'%s' has %d dimensions; at most %d",
                       e->key, x->shape.n, DT_MAX_RANK - 1);
    const int64_t bytes = x->max_bytes + 1;
    out->text = x->dtype == STRING;
    if (out->text && (x->shape.n > 0 || x->has_padding || x->has_default || x->raw))
        return dt_fail(DT_E_DATASET_KEYS, &e->value->at,
                       "'%s' is a string: leave out 'shape', 'padding_value', 'default_value' "
                       "and 'raw'",
                       e->key);
    if (!x->little_endian && !x->raw)
        return dt_fail(
            DT_E_DATASET_KEYS, &e->value->at,
            "'%s': little_endian needs raw: true; other features are not bytes of numbers", e->key);
    out->type = out->text ? dt_type_of(DT_UINT8, 1, &bytes)
                          : dt_type_of((dt_dtype)x->dtype, x->shape.n, x->shape.v);
    out->element = e->key;
    out->name = x->feature && *x->feature ? x->feature : e->key;
    if (dt_type_bytes(&out->type) > LARGEST_EXAMPLE)
        return dt_fail(DT_E_DATASET_KEYS, &e->value->at,
                       "'%s': an example may not exceed %lld bytes", e->key,
                       (long long)LARGEST_EXAMPLE);
    return NULL;
}

/* Gets the only byte string of a feature, if the element's type is that of a picture. */
static bool find_file(const dt_parsed_example *parsed, const tf_element *f, dt_bytes *out) {
    const dt_type *t = &f->type;
    const dt_feature *found = dt_parsed_example_find(parsed, f->name);
    const unsigned char *data;
    int64_t channels = t->rank == 3 ? t->dim[2] : 1;
    if (!found || found->kind != DT_FEATURE_BYTES || found->count != 1 || t->dtype != DT_UINT8 ||
        (t->rank != 2 && t->rank != 3) || (channels != 1 && channels != 3 && channels != 4))
        return false;
    dt_feature_bytes(found, 0, &data, &out->n);
    out->data = data;
    return true;
}

/* If the bytes are a file of another kind, adds this to the error. */
static dt_status *name_file(dt_status *s, const dt_parsed_example *parsed, const tf_element *f) {
    dt_bytes file;
    const dt_file_sort *sort =
        s && find_file(parsed, f, &file) ? dt_file_sort_of(file.data, file.n) : NULL;
    return sort ? dt_suggest(s, "its bytes are %s; of pictures, " DT_IMAGE_FORMATS " are decoded",
                             sort->what)
                : s;
}

/* ---- values ---- */

static void fill(const tf_element *f, double value, int64_t from, void *out) {
    const size_t size = dt_dtype_size(f->type.dtype);
    for (int64_t i = from; i < dt_type_elements(&f->type); i++)
        dt_cast(DT_FLOAT64, f->type.dtype, &value, (char *)out + i * (int64_t)size, 1);
}

static dt_status *read_text(const dt_parsed_example *parsed, const tf_element *f, void *out) {
    const dt_feature *found = dt_parsed_example_find(parsed, f->name);
    const unsigned char *bytes = NULL;
    size_t n = 0;
    int64_t ignored;
    DT_TRY(dt_feature_values(parsed, f->name, DT_UINT8, &ignored));
    if (found->kind != DT_FEATURE_BYTES)
        return dt_fail(DT_E_EXAMPLE, NULL, "feature '%s' is %s, expected bytes_list", f->name,
                       dt_feature_kind_name(found->kind));
    dt_feature_bytes(found, 0, &bytes, &n);
    const char *why = dt_text_put((const char *)bytes, n, &f->type, out);
    return why ? dt_fail(DT_E_EXAMPLE, NULL, "feature '%s' %s", f->name, why) : NULL;
}

/* Copies n bytes, and reverses the byte order of each number in them. */
static void turn(const unsigned char *bytes, size_t n, size_t size, unsigned char *out) {
    for (size_t i = 0; i < n; i++) out[i] = bytes[i / size * size + size - 1 - i % size];
}

/* Reads the bytes of an array (`raw: true`). With padding_value the array may have fewer values
 * than the element; the others become padding_value. The machine must be little-endian. */
static dt_status *read_raw(const dt_feature *found, const tf_element *f, void *out) {
    const dt_dtype d = f->type.dtype;
    const int64_t most = dt_type_bytes(&f->type), size = (int64_t)dt_dtype_size(d);
    const unsigned char *bytes = NULL;
    size_t n = 0;
    dt_feature_bytes(found, 0, &bytes, &n);
    if ((int64_t)n != most && (!f->words.has_padding || (int64_t)n > most || (int64_t)n % size))
        return dt_fail(DT_E_EXAMPLE, NULL, "feature '%s' has %zu bytes, expected %lld of %lld %s",
                       f->name, n, (long long)most, (long long)dt_type_elements(&f->type),
                       dt_dtype_name(d));
    for (size_t i = 0; d == DT_BOOL && i < n; i++)
        if (bytes[i] > 1)
            return dt_fail(DT_E_EXAMPLE, NULL, "feature '%s' has a value that does not fit bool",
                           f->name);
    if (f->words.little_endian && n > 0) memcpy(out, bytes, n);
    else turn(bytes, n, (size_t)size, out);
    fill(f, f->words.padding_value, (int64_t)n / size, out);
    return NULL;
}

/* Suggests `raw: true` if a feature of bytes has the wrong kind for the element. */
static dt_status *suggest_raw(dt_status *s, const dt_feature *found, const tf_element *f) {
    return s && found && found->kind == DT_FEATURE_BYTES && f->type.dtype != DT_UINT8
               ? dt_suggest(s, "set raw: true if they are the bytes of an array, as "
                               "array.tobytes() writes them")
               : s;
}

/* Checks a feature list against its element, whose first dimension counts the steps. */
static dt_status *check_steps(const dt_feature *found, const tf_element *f) {
    const dt_type *t = &f->type;
    const int64_t wanted = t->rank > 0 && t->dim[0] > 0 ? dt_type_elements(t) / t->dim[0] : 1;
    if (found->count == 0 || found->steps == 0 || found->kind == DT_FEATURE_BYTES ||
        found->each == wanted)
        return NULL;
    if (found->each < 0)
        return dt_fail(DT_E_EXAMPLE, NULL,
                       "feature list '%s' has steps with different numbers of values", f->name);
    dt_status *s = dt_fail(
        DT_E_EXAMPLE, NULL, "feature list '%s' has %lld value%s in each step, expected %lld",
        f->name, (long long)found->each, found->each == 1 ? "" : "s", (long long)wanted);
    return dt_suggest(s, "its element has the shape [steps%s]",
                      found->each == 1 ? "" : ", values of a step");
}

static dt_status *read_values(const dt_parsed_example *parsed, const tf_element *f, void *out) {
    const feature_keys *x = &f->words;
    int64_t n = 0;
    const dt_feature *found = dt_parsed_example_find(parsed, f->name);
    /* An empty feature counts as missing, as in TensorFlow. */
    const bool missing = !found || found->kind == DT_FEATURE_EMPTY;
    if (found && found->twice)
        return dt_fail(DT_E_EXAMPLE, NULL, "feature '%s' appears twice", f->name);
    if (f->text) return read_text(parsed, f, out);
    if (missing && (x->has_default || x->has_padding)) {
        fill(f, x->has_default ? x->default_value : x->padding_value, 0, out);
        return NULL;
    }
    if (found) DT_TRY(check_steps(found, f));
    if (x->raw && found && found->kind == DT_FEATURE_BYTES && found->count == 1)
        return read_raw(found, f, out);
    if (!x->has_padding) {
        dt_status *s = dt_feature_read(parsed, f->name, &f->type, out);
        return suggest_raw(name_file(s, parsed, f), found, f);
    }
    DT_TRY(suggest_raw(dt_feature_values(parsed, f->name, f->type.dtype, &n), found, f));
    if (n > dt_type_elements(&f->type)) return dt_feature_read(parsed, f->name, &f->type, out);
    const dt_type list = dt_type_of(f->type.dtype, 1, &n);
    fill(f, x->padding_value, n, out);
    return dt_feature_read(parsed, f->name, &list, out);
}

/* ---- pictures ---- */

/* Whether a feature is a byte string with a picture file, and the element holds pixels. */
static bool is_picture(const dt_parsed_example *parsed, const tf_element *f) {
    dt_bytes file;
    return find_file(parsed, f, &file) && dt_image_is(file.data, file.n);
}

/* Decodes the picture file; values other than one byte string are read as they are. */
static dt_status *read_picture(const dt_parsed_example *parsed, const tf_element *f, void *out) {
    const dt_type *t = &f->type;
    dt_bytes file;
    if (!find_file(parsed, f, &file)) return read_values(parsed, f, out);
    const dt_image want = {.height = t->dim[0],
                           .width = t->dim[1],
                           .channels = t->rank == 3 ? (int)t->dim[2] : 1,
                           .path = f->name,
                           .element = f->element};
    return dt_image_decode(&want, file.data, file.n, out);
}

/* ---- the job's keys ---- */

struct tfrecord {
    const dt_tree *element;
};

static const dt_field fields[] = {DT_ELEMENTS(struct tfrecord, element_fields,
                                              .help = "elements: {name: {shape, dtype, feature}}"),
                                  DT_END};

static dt_status *declare(dt_arena *arena, const dt_entry *entry, const dt_tree *keys,
                          dt_element_spec *out) {
    tf_element *f = dt_arena_new(arena, tf_element);
    (void)keys;
    DT_TRY(read_element(arena, entry, f));
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

/* For rows that do not belong to a TFRecord data set: each element is read from the feature with
 * its name. */
static void name_features(dt_row_source *s) {
    for (int e = 0; e < s->n && !s->native; e++) {
        dt_element_spec *x = &s->element[e];
        const tf_element plain = {
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
    return in_record((x->pictures ? read_picture : read_values)(parsed, x->own, out), s->path,
                     number);
}

/* Finds the elements that are picture files. The first example decides for all, because a single
 * picture file may happen to have as many bytes as its pixels. */
static void find_pictures(dt_row_source *s, const dt_parsed_example *parsed) {
    for (int e = 0; e < s->n; e++) s->element[e].pictures = is_picture(parsed, s->element[e].own);
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

/* ---- records in any order, and opening ---- */

/* Returns the position of a record's data, without its checksum. */
static dt_row_record data_of(const dt_row_record *r) {
    dt_row_record data = *r;
    data.size -= r->checked ? 0 : DT_TFRECORD_FOOTER;
    return data;
}

static void read_first(dt_row_source *s, const dt_row_record *first) {
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
                                             .look = read_first,
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

/* ---- writing, and the format ---- */

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

enum { BYTES_LIST = 1, FLOAT_LIST = 2, INT64_LIST = 3 }; /* numbers of the fields in a Feature */

/* Returns the kind of list for a column. An array of uint8 becomes one byte string; floats go to
 * float_list, float64 rounded to float32; all others go to int64_list. */
static int list_of(const dt_type *row) {
    return dt_dtype_is_float(row->dtype)             ? FLOAT_LIST
           : row->dtype == DT_UINT8 && row->rank > 0 ? BYTES_LIST
                                                     : INT64_LIST;
}

/* Adds an entry to Features: name, then Feature { list { values } }. */
static void put_feature(dt_str *features, const dt_element_spec *c, const void *values) {
    const int64_t n = dt_type_elements(&c->type);
    const int list = list_of(&c->type);
    dt_local_str packed = {0}, inside = {0}, feature = {0}, entry = {0};
    if (list == BYTES_LIST) dt_str_add(&packed, values, c->text ? strlen(values) : (size_t)n);
    else (list == FLOAT_LIST ? put_floats : put_integers)(&packed, c->type.dtype, values, n);
    dt_pb_put_message(&inside, DT_PB_TAG(1, DT_PB_BYTES), &packed);
    dt_pb_put_message(&feature, DT_PB_TAG(list, DT_PB_BYTES), &inside);
    dt_str_puts(&inside, c->name);
    dt_pb_put_message(&entry, DT_PB_TAG(1, DT_PB_BYTES), &inside);
    dt_pb_put_message(&entry, DT_PB_TAG(2, DT_PB_BYTES), &feature);
    dt_pb_put_message(features, DT_PB_TAG(1, DT_PB_BYTES), &entry);
}

static dt_status *put(dt_output *o, const void *const *row) {
    dt_local_str features = {0}, example = {0};
    for (int i = 0; i < o->n; i++) put_feature(&features, &o->column[i], row[i]);
    dt_pb_put_message(&example, DT_PB_TAG(1, DT_PB_BYTES), &features);
    const size_t at = o->text.size;
    dt_put_little(&o->text, example.size, 8);
    dt_put_little(&o->text, dt_crc32c_masked(o->text.data + at, 8), 4);
    dt_str_add(&o->text, dt_str_text(&example), example.size);
    dt_put_little(&o->text, dt_crc32c_masked(dt_str_text(&example), example.size), 4);
    return NULL;
}

static const dt_format_writer writer = {.put = put};

const dt_format dt_format_tfrecord = {
    .kind = {.name = "tfrecord",
             .about = "TFRecord files of tf.Examples; may be compressed by gzip or zlib",
             .fields = fields,
             .size = sizeof(struct tfrecord)},
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
