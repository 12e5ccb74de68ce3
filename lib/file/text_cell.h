/* SPDX-License-Identifier: Apache-2.0 */
/* Texts as elements store them; see dt_element_spec. */
#ifndef DT_FILE_TEXT_CELL_H
#define DT_FILE_TEXT_CELL_H

#include "graph/graph.h"

#define DT_TEXT_BYTES 65535 /* of a text, where an element does not say `max_bytes` */

/* n bytes as a text of that type; NULL, or what is wrong with them: "is not UTF-8". */
const char *dt_text_put(const char *text, size_t n, const dt_type *type, void *out);
/* What is wrong with a text wherever it is used, "is not UTF-8"; NULL: nothing. */
const char *dt_text_fault(const char *text, size_t n);

#endif
