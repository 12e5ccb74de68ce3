/* SPDX-License-Identifier: Apache-2.0 */
/* Reads JSON with jansson's loader, but handles lack of memory differently. */
#ifndef DT_BASE_JSON_LOAD_H
#define DT_BASE_JSON_LOAD_H

#include <jansson.h>

/* Reads JSON like json_loadb, but if memory is lacking, the program ends as in dt_alloc (unless it
 * has set jansson's allocation functions): jansson would report that the text is not JSON, and an
 * intact checkpoint would be skipped as damaged. */
json_t *dt_json_load(const char *text, size_t n, size_t flags, json_error_t *error);

#endif
