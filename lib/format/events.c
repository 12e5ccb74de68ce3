/* SPDX-License-Identifier: Apache-2.0 */
/* See events.h. A nested message is written to a separate buffer first, because its length precedes
 * it; such messages are small. */
#include "format/events.h"

#include <math.h>
#include <string.h>

#include "file/records.h"
#include "file/protobuf.h"

enum {
    EVENT_WALL_TIME = DT_PB_TAG(1, DT_PB_FIXED64),
    EVENT_STEP = DT_PB_TAG(2, DT_PB_VARINT),
    EVENT_VERSION = DT_PB_TAG(3, DT_PB_BYTES),
    EVENT_SUMMARY = DT_PB_TAG(5, DT_PB_BYTES),
    SUMMARY_VALUE = DT_PB_TAG(1, DT_PB_BYTES),
    VALUE_TAG = DT_PB_TAG(1, DT_PB_BYTES),
    VALUE_TENSOR = DT_PB_TAG(8, DT_PB_BYTES),
    VALUE_METADATA = DT_PB_TAG(9, DT_PB_BYTES),
    METADATA_PLUGIN = DT_PB_TAG(1, DT_PB_BYTES),
    PLUGIN_NAME = DT_PB_TAG(1, DT_PB_BYTES),
    TENSOR_DTYPE = DT_PB_TAG(1, DT_PB_VARINT),
    TENSOR_SHAPE = DT_PB_TAG(2, DT_PB_BYTES),
    TENSOR_CONTENT = DT_PB_TAG(4, DT_PB_BYTES),
    SHAPE_DIM = DT_PB_TAG(2, DT_PB_BYTES),
    DIM_SIZE = DT_PB_TAG(1, DT_PB_VARINT),
};
enum { FLOAT = 1, DOUBLE = 2 }; /* TensorFlow's numbers of dtypes */
enum { BUCKETS = 30 };

/* ---- records ---- */

static void put_record(dt_str *out, dt_str *event) {
    size_t at = out->size;
    dt_put_little(out, event->size, 8);
    dt_put_little(out, dt_crc32c_masked(out->data + at, 8), 4);
    dt_str_add(out, dt_str_text(event), event->size);
    dt_put_little(out, dt_crc32c_masked(dt_str_text(event), event->size), 4);
    dt_str_release(event);
}

void dt_events_version(dt_str *out, double wall_s) {
    dt_str event = {0};
    dt_pb_put_double(&event, EVENT_WALL_TIME, wall_s);
    dt_pb_put_text(&event, EVENT_VERSION, "brain.Event:2");
    put_record(out, &event);
}

/* Writes one value of a summary: its tag, its tensor (freed here), and the plug-in that shows
 * it. */
static void put_value(dt_str *out, const dt_event_time *at, const char *tag, dt_str *tensor,
                      const char *plugin) {
    dt_str event = {0}, summary = {0}, value = {0}, metadata = {0}, data = {0};
    dt_pb_put_text(&data, PLUGIN_NAME, plugin);
    dt_pb_move_message(&metadata, METADATA_PLUGIN, &data);
    dt_pb_put_text(&value, VALUE_TAG, tag);
    dt_pb_move_message(&value, VALUE_TENSOR, tensor);
    dt_pb_move_message(&value, VALUE_METADATA, &metadata);
    dt_pb_move_message(&summary, SUMMARY_VALUE, &value);
    dt_pb_put_double(&event, EVENT_WALL_TIME, at->wall_s);
    dt_pb_put_int(&event, EVENT_STEP, at->step);
    dt_pb_move_message(&event, EVENT_SUMMARY, &summary);
    put_record(out, &event);
}

void dt_events_scalar(dt_str *out, const dt_event_time *at, const char *tag, double value) {
    dt_str tensor = {0};
    const float content = (float)value;
    dt_pb_put_int(&tensor, TENSOR_DTYPE, FLOAT);
    dt_pb_put_bytes(&tensor, TENSOR_SHAPE, "", 0);
    dt_pb_put_bytes(&tensor, TENSOR_CONTENT, &content, sizeof content);
    put_value(out, at, tag, &tensor, "scalars");
}

/* ---- histograms ---- */

typedef struct bucket {
    double left, right, count;
} bucket;

static double value_at(const dt_named_view *a, int64_t i) {
    return a->type.dtype == DT_FLOAT64 ? ((const double *)a->data)[i]
                                       : (double)((const float *)a->data)[i];
}

static bool find_limits(const dt_named_view *a, int64_t n, double *least, double *most) {
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

/* If all values are equal, the last bucket counts them. */
static void count(const dt_named_view *a, int64_t n, double least, double most, bucket *b) {
    const double width = (most - least) / BUCKETS;
    for (int k = 0; k < BUCKETS; k++)
        b[k] = (bucket){least + k * width, k + 1 < BUCKETS ? least + (k + 1) * width : most, 0};
    for (int64_t i = 0; i < n; i++) {
        double at = width > 0 ? floor((value_at(a, i) - least) / width) : BUCKETS;
        b[at < BUCKETS ? (int)at : BUCKETS - 1].count++;
    }
}

void dt_events_histogram(dt_str *out, const dt_event_time *at, const char *tag,
                         const dt_named_view *values) {
    const int64_t n = dt_type_elements(&values->type);
    dt_str tensor = {0}, shape = {0}, dim = {0};
    bucket buckets[BUCKETS];
    double least, most;
    if ((values->type.dtype != DT_FLOAT32 && values->type.dtype != DT_FLOAT64) ||
        !find_limits(values, n, &least, &most))
        return;
    count(values, n, least, most, buckets);
    dt_pb_put_int(&dim, DIM_SIZE, BUCKETS);
    dt_pb_move_message(&shape, SHAPE_DIM, &dim);
    dt_pb_put_int(&dim, DIM_SIZE, 3);
    dt_pb_move_message(&shape, SHAPE_DIM, &dim);
    dt_pb_put_int(&tensor, TENSOR_DTYPE, DOUBLE);
    dt_pb_move_message(&tensor, TENSOR_SHAPE, &shape);
    dt_pb_put_bytes(&tensor, TENSOR_CONTENT, buckets, sizeof buckets);
    put_value(out, at, tag, &tensor, "histograms");
}
