/* SPDX-License-Identifier: Apache-2.0 */
/* Documents for language models: JSON lines, each an object with a text, become one text, in which
 * end_of_text or a line break follows each document. */
#include <string.h>
#include <strings.h>

#include "file/documents.h"
#include "file/json_text.h"
#include "file/json_values.h"

static bool ends_with(const char *path, const char *end) {
    const size_t n = strlen(path), m = strlen(end);
    return n > m && strcasecmp(path + n - m, end) == 0;
}

bool dt_is_documents_file(const char *path) {
    return ends_with(path, ".jsonl") || ends_with(path, ".jsonl.gz");
}

/* Appends the text of a row and end_of_text, or a line end if that is NULL. key, text: buffers that
 * are reused. */
static dt_status *add_document(const dt_documents_file *a, const dt_json_values *v, dt_str *key,
                               dt_str *text, dt_str *out) {
    const dt_json_place row = {v->path, v->text, v->row_line, v->row_col};
    dt_json_cursor c = {.at = v->text, .end = v->text + v->size};
    bool first = true, found = false;
    if (dt_json_peek(&c) != '{')
        return dt_json_fail(&row, c.at, "expected an object with the text of a document");
    dt_json_enter(&c);
    while (dt_json_more(&c, '}', &first) && dt_json_read_key(&c, key)) {
        const bool is_text = !found && strcmp(dt_str_text(key), a->text_key) == 0;
        if (is_text && dt_json_peek(&c) != '"')
            return dt_json_fail(&row, c.at, "'%.80s' must be a string", a->text_key);
        if (!(is_text ? dt_json_read_text(&c, text) : dt_json_skip(&c, 1))) break;
        found = found || is_text;
    }
    if (c.fault) return dt_json_fail(&row, c.at, "%s", c.fault);
    if (!found)
        return dt_json_fail(&row, v->text, "the key '%.80s' is missing; text_key names another",
                            a->text_key);
    if (strlen(dt_str_text(text)) < text->size)
        return dt_json_fail(&row, v->text, "the text holds a NUL");
    dt_str_add(out, dt_str_text(text), text->size);
    dt_str_puts(out, a->end_of_text ? a->end_of_text : "\n");
    return NULL;
}

dt_status *dt_documents_read(const dt_documents_file *a, dt_str *out) {
    const char *path = a->path;
    dt_json_values v = {.path = path, .values = -1};
    dt_local_str key = {0}, text = {0};
    bool more = true;
    dt_status *s = dt_inflow_open(&v.file, path);
    while (!s && more) {
        s = dt_json_values_next(&v, &more);
        if (!s && more) s = add_document(a, &v, &key, &text, out);
        if (!s && (int64_t)out->size > DT_LARGEST_TEXT)
            s = dt_fail(DT_E_TOO_LARGE, NULL, "%s: more than %lld bytes of text", path,
                        (long long)DT_LARGEST_TEXT);
    }
    dt_inflow_close(v.file);
    dt_json_values_release(&v);
    return s;
}
