/* SPDX-License-Identifier: Apache-2.0 */
/* Features of a tf.Example as values of a type that was asked for: for jobs (tfrecord.c) and pipelines (parse_example). */
#ifndef DT_FILE_FEATURE_H
#define DT_FILE_FEATURE_H

#include "file/example.h"
#include "graph/graph.h"

/* One feature's values as type->dtype into out, all of a concrete type's elements; errors say what feature `name` has instead. */
dt_status *dt_feature_read(const dt_parsed_example *x, const char *name, const dt_type *type, void *out) DT_MUST_USE;
/* How many values there are for a dtype: of byte strings, the bytes of the only one. Errors as above. */
dt_status *dt_feature_values(const dt_parsed_example *x, const char *name, dt_dtype dtype, int64_t *count) DT_MUST_USE;

#endif
