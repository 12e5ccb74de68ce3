/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of TFRecords: their features, and the replacements of values that an example lacks. */
#ifndef DT_FILE_TFRECORD_ELEMENT_H
#define DT_FILE_TFRECORD_ELEMENT_H

#include "conf/conf.h"
#include "file/example.h"

/* The keys of an element. */
typedef struct dt_tf_words {
    dt_ints shape;
    int dtype;
    const char *feature;
    double padding_value, default_value;
    bool has_padding, has_default;
    int64_t max_bytes;
} dt_tf_words;

typedef struct dt_tf_element {
    const char *element, *name; /* its own, the feature's */
    dt_type type;               /* of an example */
    bool text;                  /* as dt_element_spec has it */
    dt_tf_words words;
} dt_tf_element;

/* The keys of an entry of `element`. */
extern const dt_field dt_tf_element_fields[];
/* One entry of `element`. */
dt_status *dt_tf_element_read(dt_arena *arena, const dt_entry *e, dt_tf_element *out) DT_MUST_USE;
/* A feature's values, with the element's replacements for missing ones. */
dt_status *dt_tf_element_values(const dt_parsed_example *parsed, const dt_tf_element *f,
                                void *out) DT_MUST_USE;
/* Whether that is a byte string with a file of a picture, for pixels; and those pixels, decoded.
 * Other values than byte strings are read directly. */
bool dt_tf_element_is_picture(const dt_parsed_example *parsed, const dt_tf_element *f);
dt_status *dt_tf_element_picture(const dt_parsed_example *parsed, const dt_tf_element *f,
                                 void *out) DT_MUST_USE;

#endif
