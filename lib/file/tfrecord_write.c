/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as TFRecords of tf.Examples, a feature for each column. */
#include <string.h>

#include "file/cast.h"
#include "file/file.h"
#include "file/protobuf.h"
#include "file/records.h"

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

const dt_container dt_container_tfrecord = {.name = "tfrecord", .suffix = {".tfrecord"}, .records = true, .put = put};
