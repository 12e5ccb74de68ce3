/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tf.Example: features by name, each a list of byte strings, floats or integers, in protobuf's wire
 * form:
 *
 *     Example { 1: Features { 1: repeated entry { 1: name, 2: Feature { 1: BytesList | 2: FloatList | 3: Int64List } } } }
 *     each list { 1: repeated value }, numbers one by one or packed
 *
 * Parsing looks at every byte once and believes no length that reaches past its message; nothing is
 * copied. Fields of other numbers are passed over; groups, which no tf.Example has, are refused, so
 * that nothing nests deeper than this picture.
 */
#ifndef DT_FILE_EXAMPLE_H
#define DT_FILE_EXAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "graph/graph.h"

typedef enum dt_feature_kind {
    DT_FEATURE_EMPTY,
    DT_FEATURE_BYTES,
    DT_FEATURE_FLOAT,
    DT_FEATURE_INT64
} dt_feature_kind;
const char *dt_feature_kind_name(dt_feature_kind k); /* "bytes_list" */

typedef struct dt_feature {
    const char *name; /* not terminated */
    size_t name_size;
    dt_feature_kind kind;
    int64_t count;
    bool twice;                /* there were others of this name before it */
    const unsigned char *list; /* the list's message */
    size_t size;
} dt_feature;

enum { DT_FEW_FEATURES = 8 };

typedef struct dt_parsed_example {
    int n, cap;
    /* [n] of several with one name the last; it points to `few` while these are enough */
    dt_feature *feature;
    dt_feature few[DT_FEW_FEATURES];
} dt_parsed_example;

/* Features point into bytes. *why: their fault ("varint too long"), or "" if it is
 * unknown. */
bool dt_parsed_example_read(dt_parsed_example *x, const void *bytes, size_t n, const char **why);
void dt_parsed_example_release(dt_parsed_example *x);
const dt_feature *dt_parsed_example_find(const dt_parsed_example *x, const char *name);
/* All values of a feature of that kind: out[count]. */
void dt_feature_int64s(const dt_feature *f, int64_t *out);
void dt_feature_floats(const dt_feature *f, float *out);
/* Byte string i. */
void dt_feature_bytes(const dt_feature *f, int64_t i, const unsigned char **bytes, size_t *n);

/* ---- as values of a type that was asked for ---- */

/* One feature's values as type->dtype into out, all of a concrete type's elements; errors
 * describe the values that feature `name` has. */
dt_status *dt_feature_read(const dt_parsed_example *x, const char *name, const dt_type *type,
                           void *out) DT_MUST_USE;
/* How many values there are for a dtype: of byte strings, the bytes of the only one. Errors as
 * above. */
dt_status *dt_feature_values(const dt_parsed_example *x, const char *name, dt_dtype dtype,
                             int64_t *count) DT_MUST_USE;

#endif
