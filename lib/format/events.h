/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event files, as TensorBoard reads them: TFRecords of tensorflow.Event, the first of which names
 * the version. Scalars and histograms are tensors with the names of TensorBoard's plug-ins beside
 * them, as TensorFlow 2 and Keras write them.
 *
 * The code is not generated, since only a dozen fields of event.proto, summary.proto and
 * tensor.proto are written and none is read. They have not changed since 2018. Tests check the
 * bytes with TensorBoard's own reader.
 */
#ifndef DT_FORMAT_EVENTS_H
#define DT_FORMAT_EVENTS_H

#include "format/format.h"

/* The time and step of an event. */
typedef struct dt_event_time {
    double wall_s; /* since 1970 */
    int64_t step;
} dt_event_time;

/* Each of these functions adds one record to *out. */
void dt_events_version(dt_str *out, double wall_s);
void dt_events_scalar(dt_str *out, const dt_event_time *at, const char *tag, double value);
/* A histogram of thirty buckets of equal width from the smallest to the largest value. If any value
 * is not finite, nothing is added. */
void dt_events_histogram(dt_str *out, const dt_event_time *at, const char *tag,
                         const dt_named_view *values);

#endif
