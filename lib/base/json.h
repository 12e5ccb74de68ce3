/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes JSON. The library jansson reads it. The functions add commas themselves. Numbers are the
 * shortest decimals that round-trip; not-a-number and infinities, which JSON lacks, become null.
 */
#ifndef DT_BASE_JSON_H
#define DT_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

typedef struct dt_json {
    dt_str *out;
    bool comma; /* whether a comma must be written before the next value */
    /* the text must be readable as YAML, too, which does not combine surrogate pairs of \u
     * escapes */
    bool yaml;
    bool compact; /* no blanks; as few digits as possible: 1e+05 for 100000 */
} dt_json;

/* '{' or '['; key NULL inside a list and at the top */
void dt_json_open(dt_json *j, const char *key, char bracket);
/* Writes the closing bracket, '}' or ']'. */
void dt_json_close(dt_json *j, char bracket);
/* If value is NULL, writes null. */
void dt_json_string(dt_json *j, const char *key, const char *value);
void dt_json_int(dt_json *j, const char *key, int64_t value);
void dt_json_unsigned(dt_json *j, const char *key, uint64_t value);
/* the shortest that comes back bit for bit; not finite: null */
void dt_json_double(dt_json *j, const char *key, double value);
void dt_json_float(dt_json *j, const char *key, float value);
void dt_json_bool(dt_json *j, const char *key, bool value);
void dt_json_null(dt_json *j, const char *key);
/* write lists of n values */
void dt_json_strings(dt_json *j, const char *key, const char *const *v, int n);
void dt_json_ints(dt_json *j, const char *key, const int64_t *v, int n);
void dt_json_doubles(dt_json *j, const char *key, const double *v, int n);
/* Writes a value that is JSON text already. */
void dt_json_raw(dt_json *j, const char *key, const char *json);

#endif
