/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tf.Example: features by name, each a list of byte strings, floats or integers, in protobuf's wire
 * form. tf.SequenceExample adds lists of features by name, a feature for each step; its context is
 * an Example's features.
 *
 *     Example { 1: Features { 1: repeated entry { 1: name, 2: Feature } } }
 *     SequenceExample { 1: Features, 2: FeatureLists }
 *     FeatureLists { 1: repeated entry { 1: name, 2: FeatureList } }
 *     FeatureList { 1: repeated Feature }
 *     Feature { 1: BytesList | 2: FloatList | 3: Int64List }
 *     each list { 1: repeated value }, numbers one by one or packed
 *
 * Parsing takes one pass, refuses lengths that reach beyond their message, and copies no values.
 * Fields with other numbers are skipped. A field with one of these numbers must have the wire type
 * shown here, so a group in its place is refused.
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
const char *
dt_feature_kind_name(dt_feature_kind k); /* the name in tf.Example, such as "bytes_list" */

typedef struct dt_feature {
    const char *name; /* the name, which is not NUL-terminated */
    size_t name_size;
    dt_feature_kind kind;
    int64_t count;
    bool twice; /* the example has an earlier feature with this name */
    /* Of a FeatureList: the number of steps, and of values in each step (-1: steps differ); `count`
     * is the number of all values. steps 0: a Feature, or an empty FeatureList. */
    int64_t steps, each;
    const unsigned char *list; /* the bytes of the list's message, or those of the FeatureList */
    size_t size;
} dt_feature;

enum { DT_FEW_FEATURES = 8 };

typedef struct dt_parsed_example {
    int n, cap;
    /* [n] features; of several with one name, the last. Points to `few` until more are needed. */
    dt_feature *feature;
    dt_feature few[DT_FEW_FEATURES];
} dt_parsed_example;

/* Parses an example; features point into `bytes`. If it returns false, *why is the fault, such as
 * "varint too long", or "" if it is unknown. */
bool dt_parsed_example_read(dt_parsed_example *x, const void *bytes, size_t n, const char **why);
void dt_parsed_example_release(dt_parsed_example *x);
/* Returns the feature with that name, which `x` owns; NULL: there is none. */
const dt_feature *dt_parsed_example_find(const dt_parsed_example *x, const char *name);
/* Copies all values of a feature with an int64_list, or with a float_list, to out[count]. */
void dt_feature_int64s(const dt_feature *f, int64_t *out);
void dt_feature_floats(const dt_feature *f, float *out);
/* Gets byte string i of a feature. */
void dt_feature_bytes(const dt_feature *f, int64_t i, const unsigned char **bytes, size_t *n);

/* ---- values converted to a type ---- */

/* Reads the values of a feature into `out`, converted to type->dtype. There must be as many as
 * `type`, which must have no unknown dimensions, has elements. Errors say what values the feature
 * `name` has. */
dt_status *dt_feature_read(const dt_parsed_example *x, const char *name, const dt_type *type,
                           void *out) DT_MUST_USE;
/* Gets the number of values that a feature has for a dtype; for a byte string, the number of its
 * bytes. Errors as for dt_feature_read. */
dt_status *dt_feature_values(const dt_parsed_example *x, const char *name, dt_dtype dtype,
                             int64_t *count) DT_MUST_USE;

#endif
