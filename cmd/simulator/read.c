/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a file of rows. What a row needs in order to be a row is checked here; what it needs to
 * be planned, by its kind. */
#include "rows.h"

#include <math.h>

#include "base/text.h"
#include "file/json_read.h"

enum { LARGEST = 64 << 20 };

static dt_status *bad(const char *path, int i, const char *what) {
    return dt_fail(DT_E_ROWS, NULL, "%s: row %d %s", path, i + 1, what);
}

static const char *text_of(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* `measured`, else `answer`. */
static bool read_published(const json_t *json, double *out) {
    const json_t *value = json_object_get(json, "measured");
    if (!json_is_number(value)) value = json_object_get(json, "answer");
    *out = json_number_value(value);
    return json_is_number(value) && isfinite(*out);
}

static dt_status *read_row(const char *path, int i, const json_t *json, dt_row *row) {
    if (!json_is_object(json)) return bad(path, i, "is not an object");
    const json_t *config = json_object_get(json, "config");
    *row = (dt_row){.id = text_of(json, "id"),
                    .kind = text_of(json, "kind"),
                    .unit = text_of(json, "unit"),
                    .metric = text_of(json, "metric"),
                    .json = json,
                    .config = json_is_object(config) ? config : NULL};
    if (!*row->id) return bad(path, i, "has no 'id'");
    if (!*row->kind) return bad(path, i, "has no 'kind'");
    if (!read_published(json, &row->published))
        return bad(path, i, "has no number 'measured' or 'answer'");
    return NULL;
}

static dt_status *read_rows(dt_rows *rows, const char *path) {
    const json_t *list = json_object_get(rows->json, "rows");
    if (!json_is_array(list)) return dt_fail(DT_E_ROWS, NULL, "%s: missing list 'rows'", path);
    rows->n = (int)json_array_size(list);
    rows->row = dt_arena_array(rows->arena, dt_row, rows->n);
    for (int i = 0; i < rows->n; i++)
        DT_TRY(read_row(path, i, json_array_get(list, (size_t)i), &rows->row[i]));
    return NULL;
}

dt_status *dt_rows_read(dt_rows *rows, const char *path) {
    dt_str text = {0};
    *rows = (dt_rows){.arena = dt_arena_create()};
    dt_status *s = dt_text_read(&(dt_text_file){.path = path, .wanted = "JSON", .fault = DT_E_ROWS},
                                LARGEST, &text);
    if (!s)
        s = dt_json_parse(&(dt_json_text){.path = path,
                                          .part = "the file",
                                          .member = "key",
                                          .text = dt_str_text(&text),
                                          .size = text.size,
                                          .fault = DT_E_ROWS},
                          &rows->json);
    if (!s) s = read_rows(rows, path);
    dt_str_release(&text);
    return s;
}

void dt_rows_release(dt_rows *rows) {
    json_decref(rows->json);
    dt_arena_destroy(rows->arena);
    *rows = (dt_rows){0};
}

const char *dt_row_text(const dt_row *row, const char *key) { return text_of(row->config, key); }

double dt_row_number(const dt_row *row, const char *key) {
    return json_number_value(json_object_get(row->config, key));
}
