/* SPDX-License-Identifier: Apache-2.0 */
/* Texts as elements store them; see dt_element_spec. */
#ifndef DT_FILE_TEXT_CELL_H
#define DT_FILE_TEXT_CELL_H

#include "graph/graph.h"

/* Stores n bytes and a NUL in `out`, which has the type->dim[0] bytes of an element. Returns NULL,
 * or the fault of the text, such as "is not UTF-8"; then `out` is unchanged. */
const char *dt_text_put(const char *text, size_t n, const dt_type *type, void *out);
/* Returns the fault that keeps a text out of any element, such as "is not UTF-8"; NULL: none. */
const char *dt_text_fault(const char *text, size_t n);

#endif
