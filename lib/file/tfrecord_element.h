/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of TFRecord files: the features that they are read from, and replacements for missing
 * values. */
#ifndef DT_FILE_TFRECORD_ELEMENT_H
#define DT_FILE_TFRECORD_ELEMENT_H

#include "conf/conf.h"
#include "file/example.h"

/* The keys of an entry of `element`, as read. */
typedef struct dt_tf_words {
    dt_ints shape;
    int dtype;
    const char *feature;
    double padding_value, default_value;
    bool has_padding, has_default, raw, little_endian;
    int64_t max_bytes;
} dt_tf_words;

typedef struct dt_tf_element {
    const char *element, *name; /* name of the element; name of the feature */
    dt_type type;               /* type of an example */
    bool text;                  /* see dt_element_spec.text */
    dt_tf_words words;
} dt_tf_element;

/* The table of keys of an `element` entry. */
extern const dt_field dt_tf_element_fields[];
/* Reads one entry of `element`. */
dt_status *dt_tf_element_read(dt_arena *arena, const dt_entry *e, dt_tf_element *out) DT_MUST_USE;
/* Reads a feature's values; replaces missing ones as the element says. */
dt_status *dt_tf_element_values(const dt_parsed_example *parsed, const dt_tf_element *f,
                                void *out) DT_MUST_USE;
/* dt_tf_element_is_picture: whether a feature is a byte string with a picture file, and the element
 * holds pixels. dt_tf_element_picture: reads the decoded pixels; values other than byte strings are
 * read as they are. */
bool dt_tf_element_is_picture(const dt_parsed_example *parsed, const dt_tf_element *f);
dt_status *dt_tf_element_picture(const dt_parsed_example *parsed, const dt_tf_element *f,
                                 void *out) DT_MUST_USE;

#endif
