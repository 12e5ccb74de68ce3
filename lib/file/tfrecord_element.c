/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a job's description of features, and their values from examples; see tfrecord_element.h. */
#include "file/tfrecord_element.h"

#include <string.h>

#include "base/text.h"
#include "file/cast.h"
#include "file/image/image.h"
#include "file/text_cell.h"

#define LARGEST_EXAMPLE ((int64_t)1 << 30)

/* ---- the job's keys ---- */

static const char *const dtype_names[] = {"bool",  "uint8",   "int8",    "int16",  "int32",
                                          "int64", "float32", "float64", "string", NULL};
enum { STRING = DT_FLOAT64 + 1 };

const dt_field dt_tf_element_fields[] = {
    DT_INTS(dt_tf_words, shape, .min = 1, .max = 1e12,
            .help = "shape of one example; default: [], a single value"),
    DT_ENUM(dt_tf_words, dtype, dtype_names, .preset = "float32",
            .help = "integers come from int64_list, floats from float_list, uint8 also from bytes; "
                    "string: text for map"),
    DT_INT(dt_tf_words, max_bytes, .min = 1, .max = 1 << 20, .preset = "65535",
           .help = "for dtype string: longest text allowed"),
    DT_FLAG(dt_tf_words, raw, .preset = "false",
            .help = "the feature is one byte string of numbers of this dtype, as array.tobytes() "
                    "writes and tf.io.decode_raw reads"),
    DT_FLAG(dt_tf_words, little_endian, .preset = "true",
            .help = "for raw: order of the bytes of a number; false: big-endian"),
    DT_INSTEAD("decode_raw", "write raw: true beside dtype and shape"),
    DT_TEXT(dt_tf_words, feature, .help = "name of the feature; default: the element's name"),
    DT_REAL(dt_tf_words, padding_value, .set = 1 + offsetof(dt_tf_words, has_padding),
            .help = "pads lists that are missing or shorter than `shape`; default: an error"),
    DT_REAL(dt_tf_words, default_value, .set = 1 + offsetof(dt_tf_words, has_default),
            .help = "value of a missing feature"),
    DT_END};

dt_status *dt_tf_element_read(dt_arena *arena, const dt_entry *e, dt_tf_element *out) {
    dt_tf_words *x = &out->words;
    DT_TRY(dt_tree_expect(e->value, DT_TREE_MAP, e->key));
    DT_TRY(dt_fields_read(arena, dt_tf_element_fields, e->value, &e->value->at, e->key, x));
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

/* ---- files as byte strings ---- */

/* Gets the only byte string of a feature, if the element's type is that of a picture. */
static bool find_file(const dt_parsed_example *parsed, const dt_tf_element *f, dt_bytes *out) {
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

/* Adds to an error that the bytes are a file of another kind, if they are. */
static dt_status *name_file(dt_status *s, const dt_parsed_example *parsed, const dt_tf_element *f) {
    dt_bytes file;
    const dt_file_sort *sort =
        s && find_file(parsed, f, &file) ? dt_file_sort_of(file.data, file.n) : NULL;
    return sort ? dt_suggest(s, "its bytes are %s; of pictures, " DT_IMAGE_FORMATS " are decoded",
                             sort->what)
                : s;
}

/* ---- values ---- */

static void fill(const dt_tf_element *f, double value, int64_t from, void *out) {
    const size_t size = dt_dtype_size(f->type.dtype);
    for (int64_t i = from; i < dt_type_elements(&f->type); i++)
        dt_cast(DT_FLOAT64, f->type.dtype, &value, (char *)out + i * (int64_t)size, 1);
}

static dt_status *read_text(const dt_parsed_example *parsed, const dt_tf_element *f, void *out) {
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

/* Copies n bytes, and turns around each number of them. */
static void turn(const unsigned char *bytes, size_t n, size_t size, unsigned char *out) {
    for (size_t i = 0; i < n; i++) out[i] = bytes[i / size * size + size - 1 - i % size];
}

/* Reads the bytes of an array (`raw: true`). This machine's numbers are little-endian. */
static dt_status *read_raw(const dt_feature *found, const dt_tf_element *f, void *out) {
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
static dt_status *suggest_raw(dt_status *s, const dt_feature *found, const dt_tf_element *f) {
    return s && found && found->kind == DT_FEATURE_BYTES && f->type.dtype != DT_UINT8
               ? dt_suggest(s, "set raw: true if they are the bytes of an array, as "
                               "array.tobytes() writes them")
               : s;
}

/* Checks a feature list against its element, whose first dimension counts the steps. */
static dt_status *check_steps(const dt_feature *found, const dt_tf_element *f) {
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

dt_status *dt_tf_element_values(const dt_parsed_example *parsed, const dt_tf_element *f,
                                void *out) {
    const dt_tf_words *x = &f->words;
    int64_t n = 0;
    const dt_feature *found = dt_parsed_example_find(parsed, f->name);
    const bool missing = !found || found->kind == DT_FEATURE_EMPTY; /* as in TensorFlow */
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

bool dt_tf_element_is_picture(const dt_parsed_example *parsed, const dt_tf_element *f) {
    dt_bytes file;
    return find_file(parsed, f, &file) && dt_image_is(file.data, file.n);
}

dt_status *dt_tf_element_picture(const dt_parsed_example *parsed, const dt_tf_element *f,
                                 void *out) {
    const dt_type *t = &f->type;
    dt_bytes file;
    if (!find_file(parsed, f, &file)) return dt_tf_element_values(parsed, f, out);
    const dt_image want = {.height = t->dim[0],
                           .width = t->dim[1],
                           .channels = t->rank == 3 ? (int)t->dim[2] : 1,
                           .path = f->name,
                           .element = f->element};
    return dt_image_decode(&want, file.data, file.n, out);
}
