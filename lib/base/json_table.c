/* SPDX-License-Identifier: Apache-2.0 */
/* Writing members by their table. */
#include "base/json_table.h"

#include <math.h>

static bool is_set(const dt_json_member *m, const void *at) {
    switch (m->kind) {
    case DT_JSON_INT: return *(const int *)at != 0;
    case DT_JSON_INT64:
    case DT_JSON_UINT64: return *(const uint64_t *)at != 0;
    case DT_JSON_DOUBLE: return *(const double *)at != 0;
    case DT_JSON_TEXT: return *(const char *const *)at != NULL;
    }
    return true;
}

static double rounded(const dt_json_member *m, double x) {
    return m->ticks > 0 ? round(x * m->ticks) / m->per : x;
}

static void put(dt_json *j, const dt_json_member *m, const void *at) {
    switch (m->kind) {
    case DT_JSON_INT: dt_json_int(j, m->key, *(const int *)at); break;
    case DT_JSON_INT64: dt_json_int(j, m->key, *(const int64_t *)at); break;
    case DT_JSON_UINT64: dt_json_unsigned(j, m->key, *(const uint64_t *)at); break;
    case DT_JSON_DOUBLE: dt_json_double(j, m->key, rounded(m, *(const double *)at)); break;
    case DT_JSON_TEXT: dt_json_string(j, m->key, *(const char *const *)at); break;
    }
}

void dt_json_members(dt_json *j, const dt_json_member *table, const void *of) {
    for (const dt_json_member *m = table; m->key || m->put; m++) {
        const void *at = (const char *)of + m->offset;
        if (m->put) m->put(j, of);
        else if (!m->if_set || is_set(m, at)) put(j, m, at);
    }
}
