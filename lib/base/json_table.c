/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the members of a struct as described by a table. */
#include "base/json_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static bool is_set(const dt_json_member *m, const void *at) {
    switch (m->kind) {
    case DT_JSON_INT: return *(const int *)at != 0;
    case DT_JSON_INT64:
    case DT_JSON_UINT64: return *(const uint64_t *)at != 0;
    case DT_JSON_DOUBLE: return *(const double *)at != 0;
    case DT_JSON_BOOL: return *(const bool *)at;
    case DT_JSON_TEXT:
    case DT_JSON_INT64S:
    case DT_JSON_DOUBLES: return *(const void *const *)at != NULL;
    }
    return true;
}

static double rounded(const dt_json_member *m, double x) {
    return m->ticks > 0 ? round(x * m->ticks) / m->per : x;
}

static void put_quoted(dt_json *j, const char *key, uint64_t x) {
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, x);
    dt_json_string(j, key, text);
}

static void put_list(dt_json *j, const dt_json_member *m, const void *of) {
    const void *v = *(const void *const *)((const char *)of + m->offset);
    const int n = *(const int *)((const char *)of + m->count);
    dt_json_open(j, m->key, '[');
    for (int i = 0; i < n; i++)
        if (m->kind == DT_JSON_INT64S) dt_json_int(j, NULL, ((const int64_t *)v)[i]);
        else dt_json_double(j, NULL, ((const double *)v)[i]);
    dt_json_close(j, ']');
}

static void put(dt_json *j, const dt_json_member *m, const void *of) {
    const void *at = (const char *)of + m->offset;
    switch (m->kind) {
    case DT_JSON_INT: dt_json_int(j, m->key, *(const int *)at); break;
    case DT_JSON_INT64: dt_json_int(j, m->key, *(const int64_t *)at); break;
    case DT_JSON_UINT64:
        (m->quoted ? put_quoted : dt_json_unsigned)(j, m->key, *(const uint64_t *)at);
        break;
    case DT_JSON_DOUBLE: dt_json_double(j, m->key, rounded(m, *(const double *)at)); break;
    case DT_JSON_BOOL: dt_json_bool(j, m->key, *(const bool *)at); break;
    case DT_JSON_INT64S:
    case DT_JSON_DOUBLES: put_list(j, m, of); break;
    case DT_JSON_TEXT: dt_json_string(j, m->key, *(const char *const *)at); break;
    }
}

void dt_json_members(dt_json *j, const dt_json_member *table, const void *of) {
    for (const dt_json_member *m = table; m->key || m->put; m++) {
        if (m->put) m->put(j, of);
        else if (!m->if_set || is_set(m, (const char *)of + m->offset)) put(j, m, of);
    }
}
