/* SPDX-License-Identifier: Apache-2.0 */
/* See events.h. A message within a message is written by itself and then added, so that its length is known: they are small. */
#include "format/events.h"

#include <math.h>
#include <string.h>

#include "data/record/record.h"

/* Numbers of fields, times 8, and how they are written. */
enum { VARINT = 0, FIXED64 = 1, BYTES = 2 };
#define FIELD(number, wire) ((number) << 3 | (wire))
enum {
    EVENT_WALL_TIME = FIELD(1, FIXED64), EVENT_STEP = FIELD(2, VARINT), EVENT_VERSION = FIELD(3, BYTES), EVENT_SUMMARY = FIELD(5, BYTES),
    SUMMARY_VALUE = FIELD(1, BYTES), VALUE_TAG = FIELD(1, BYTES), VALUE_TENSOR = FIELD(8, BYTES), VALUE_METADATA = FIELD(9, BYTES),
    METADATA_PLUGIN = FIELD(1, BYTES), PLUGIN_NAME = FIELD(1, BYTES),
    TENSOR_DTYPE = FIELD(1, VARINT), TENSOR_SHAPE = FIELD(2, BYTES), TENSOR_CONTENT = FIELD(4, BYTES), SHAPE_DIM = FIELD(2, BYTES), DIM_SIZE = FIELD(1, VARINT),
};
enum { FLOAT = 1, DOUBLE = 2 }; /* TensorFlow's numbers of dtypes */
enum { BUCKETS = 30 };

static void put_little(dt_str *out, uint64_t x, int bytes)
{
    for (int i = 0; i < bytes; i++)
        dt_str_putc(out, (char)(x >> (8 * i)));
}

static void put_varint(dt_str *out, uint64_t x)
{
    for (; x >= 128; x >>= 7)
        dt_str_putc(out, (char)(x | 128));
    dt_str_putc(out, (char)x);
}

static void put_int(dt_str *out, int field, int64_t x)
{
    put_varint(out, (uint64_t)field);
    put_varint(out, (uint64_t)x);
}

static void put_double(dt_str *out, int field, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    put_varint(out, (uint64_t)field);
    put_little(out, bits, 8);
}

static void put_bytes(dt_str *out, int field, const void *bytes, size_t n)
{
    put_varint(out, (uint64_t)field);
    put_varint(out, n);
    dt_str_add(out, bytes, n);
}

static void put_text(dt_str *out, int field, const char *text)
{
    put_bytes(out, field, text, strlen(text));
}

/* Adds a message, which is empty afterwards. */
static void put_message(dt_str *out, int field, dt_str *message)
{
    put_bytes(out, field, dt_str_text(message), message->size);
    dt_str_release(message);
}

/* ---- records ---- */

static void put_record(dt_str *out, dt_str *event)
{
    size_t at = out->size;
    put_little(out, event->size, 8);
    put_little(out, dt_crc32c_masked(out->data + at, 8), 4);
    dt_str_add(out, dt_str_text(event), event->size);
    put_little(out, dt_crc32c_masked(dt_str_text(event), event->size), 4);
    dt_str_release(event);
}

void dt_events_version(dt_str *out, double wall_s)
{
    dt_str event = {0};
    put_double(&event, EVENT_WALL_TIME, wall_s);
    put_text(&event, EVENT_VERSION, "brain.Event:2");
    put_record(out, &event);
}

/* One value of a summary: tag, tensor (which is taken), whose plug-in it is. */
static void put_value(dt_str *out, const dt_event_time *at, const char *tag, dt_str *tensor, const char *plugin)
{
    dt_str event = {0}, summary = {0}, value = {0}, metadata = {0}, data = {0};
    put_text(&data, PLUGIN_NAME, plugin);
    put_message(&metadata, METADATA_PLUGIN, &data);
    put_text(&value, VALUE_TAG, tag);
    put_message(&value, VALUE_TENSOR, tensor);
    put_message(&value, VALUE_METADATA, &metadata);
    put_message(&summary, SUMMARY_VALUE, &value);
    put_double(&event, EVENT_WALL_TIME, at->wall_s);
    put_int(&event, EVENT_STEP, at->step);
    put_message(&event, EVENT_SUMMARY, &summary);
    put_record(out, &event);
}

void dt_events_scalar(dt_str *out, const dt_event_time *at, const char *tag, double value)
{
    dt_str tensor = {0};
    const float content = (float)value;
    put_int(&tensor, TENSOR_DTYPE, FLOAT);
    put_bytes(&tensor, TENSOR_SHAPE, "", 0);
    put_bytes(&tensor, TENSOR_CONTENT, &content, sizeof content);
    put_value(out, at, tag, &tensor, "scalars");
}

/* ---- histograms ---- */

typedef struct bucket {
    double left, right, count;
} bucket;

static double value_at(const dt_named_array *a, int64_t i)
{
    return a->type.dtype == DT_FLOAT64 ? ((const double *)a->data)[i] : (double)((const float *)a->data)[i];
}

static bool find_limits(const dt_named_array *a, int64_t n, double *least, double *most)
{
    bool finite = n > 0;
    *least = INFINITY;
    *most = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        double x = value_at(a, i);
        finite &= isfinite(x) != 0;
        *least = x < *least ? x : *least;
        *most = x > *most ? x : *most;
    }
    return finite;
}

/* Where all are one value, it stands in the last bucket. */
static void count(const dt_named_array *a, int64_t n, double least, double most, bucket *b)
{
    const double width = (most - least) / BUCKETS;
    for (int k = 0; k < BUCKETS; k++)
        b[k] = (bucket){least + k * width, k + 1 < BUCKETS ? least + (k + 1) * width : most, 0};
    for (int64_t i = 0; i < n; i++) {
        double at = width > 0 ? floor((value_at(a, i) - least) / width) : BUCKETS;
        b[at < BUCKETS ? (int)at : BUCKETS - 1].count++;
    }
}

void dt_events_histogram(dt_str *out, const dt_event_time *at, const char *tag, const dt_named_array *values)
{
    const int64_t n = dt_type_elements(&values->type);
    dt_str tensor = {0}, shape = {0}, dim = {0};
    bucket buckets[BUCKETS];
    double least, most;
    if ((values->type.dtype != DT_FLOAT32 && values->type.dtype != DT_FLOAT64) || !find_limits(values, n, &least, &most))
        return;
    count(values, n, least, most, buckets);
    put_int(&dim, DIM_SIZE, BUCKETS);
    put_message(&shape, SHAPE_DIM, &dim);
    put_int(&dim, DIM_SIZE, 3);
    put_message(&shape, SHAPE_DIM, &dim);
    put_int(&tensor, TENSOR_DTYPE, DOUBLE);
    put_message(&tensor, TENSOR_SHAPE, &shape);
    put_bytes(&tensor, TENSOR_CONTENT, buckets, sizeof buckets);
    put_value(out, at, tag, &tensor, "histograms");
}
