/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Missing values of tables. An element says what to do with them by `default_value`, or by a step
 * `impute` at the front of its `map`. For that step they are stored as NaN, as the empty text, or
 * in place of a vocabulary's index as -1.
 */
#ifndef DT_FILE_MISSING_H
#define DT_FILE_MISSING_H

#include "file/file.h"

/* What the key `missing_values` is. */
#define DT_MISSING_HELP                                                                            \
    "texts that stand for a missing value, besides the empty field; default: NA, N/A, NaN, "       \
    "null, None, ? and the like"

/* Sets what `missing_values` and `map` of a data set's keys say of an element whose type is set;
 * an error where its type has no value that stands for a missing one. */
dt_status *dt_missing_declare(dt_arena *arena, const dt_tree *keys, dt_element_spec *e) DT_MUST_USE;
/* Whether a text, without blanks at its ends, stands for a missing value: the empty text, one of
 * the element's marks, or a number that is equal to one of them. */
bool dt_missing_is(const dt_element_spec *e, const char *text);
/* Stores a missing value as value i; for elements that are imputed. */
void dt_missing_put(const dt_element_spec *e, void *out, int64_t i);
/* Adds to an error about a missing value the line of the job that would say what to do, where the
 * data set can have it. */
dt_status *dt_missing_suggest(dt_status *s, const dt_element_spec *e);

#endif
