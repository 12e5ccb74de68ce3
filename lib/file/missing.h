/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Missing values of tables. An element handles them with `default_value`, with a step `impute` at
 * the front of its `map`, or with `drop_missing`, which leaves the record out. For `impute` a
 * missing value is stored as NaN, as the empty text or, instead of an index in a vocabulary, as -1.
 */
#ifndef DT_FILE_MISSING_H
#define DT_FILE_MISSING_H

#include "file/file.h"

/* Help text of the key `missing_values`. */
#define DT_MISSING_HELP                                                                            \
    "texts that stand for a missing value, besides the empty field; default: NA, N/A, NaN, "       \
    "null, None, ? and the like"

/* Help text of the key `drop_missing`. */
#define DT_DROP_HELP                                                                               \
    "elements, such as the target: records that lack a value of one are left out, with a warning"

/* Sets how an element, whose type is set, handles missing values, from the data set's keys
 * `missing_values`, `drop_missing` and `map`. Fails if it needs a value that stands for a missing
 * one and its type has none, or if several keys handle them. */
dt_status *dt_missing_declare(dt_arena *arena, const dt_tree *keys, dt_element_spec *e) DT_MUST_USE;
/* Checks that drop_missing lists only elements. names: the names of the data set's elements. */
dt_status *dt_missing_check(const dt_tree *keys, const dt_texts *names) DT_MUST_USE;
/* Whether a text, without blanks at its ends, stands for a missing value: it is empty, one of the
 * element's texts for missing values, or a number equal to one of them. */
bool dt_missing_is(const dt_element_spec *e, const char *text);
/* Whether a text is empty or one of the default texts for missing values. */
bool dt_missing_is_default(const char *text);
/* If the source's rows are read only once (`again` is false): none of them may be left out, since
 * they are rows to predict. */
void dt_missing_keep_all(dt_row_source *s);
/* Stores a missing value as value i of an element with a step `impute`. */
void dt_missing_put(const dt_element_spec *e, void *out, int64_t i);
/* Adds a suggestion to an error about a missing value: keys of the job that would handle it, if the
 * data set's format has such keys. */
dt_status *dt_missing_suggest(dt_status *s, const dt_element_spec *e);

#endif
