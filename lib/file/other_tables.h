/* SPDX-License-Identifier: Apache-2.0 */
/* Recognizes text formats other than CSV, which would otherwise be read as CSV. */
#ifndef DT_FILE_OTHER_TABLES_H
#define DT_FILE_OTHER_TABLES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* Whether the first n bytes of a file are libsvm text. The first line with an example decides. */
bool dt_is_libsvm(const char *first, size_t n);
/* Fails if the first n bytes of a file, after a byte order mark, are text of another format: with
 * DATA_FILE "x: is libsvm text, not CSV" and what to do. */
dt_status *dt_other_table_look(const char *path, const char *first, size_t n) DT_MUST_USE;

#endif
