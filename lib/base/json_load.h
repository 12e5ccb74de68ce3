/* SPDX-License-Identifier: Apache-2.0 */
/* Reading JSON: jansson's loader, with the one rule of ours that it lacks. */
#ifndef DT_BASE_JSON_LOAD_H
#define DT_BASE_JSON_LOAD_H

#include <jansson.h>

/*
 * As json_loadb. Where memory fails it the program ends as in dt_alloc: jansson itself would say
 * that the text is not JSON, and a checkpoint that is whole would be passed over as damaged.
 */
json_t *dt_json_load(const char *text, size_t n, size_t flags, json_error_t *error);

#endif
