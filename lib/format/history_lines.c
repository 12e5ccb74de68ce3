/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of lines: see format/history.h. */
#include "format/history.h"

#include <stdio.h>
#include <string.h>

#include "base/events.h"
#include "file/json_read.h"
#include "file/records.h"

/* The texts before and after the eight digits. */
#define BEFORE ", \"" DT_HISTORY_CHECK "\": \""
#define BEHIND "\"}"
enum { DIGITS = 8, TAIL = sizeof BEFORE - 1 + DIGITS + sizeof BEHIND - 1 };

bool dt_history_is_metric(const char *key) {
    const dt_json_member *m = dt_history_members;
    while ((m->key || m->put) && !(m->key && strcmp(m->key, key) == 0)) m++;
    return !m->key && strcmp(key, DT_HISTORY_CHECK) != 0;
}

static uint32_t continue_with(const dt_history_lines *h, const char *line, size_t n) {
    char before[DIGITS + 1];
    snprintf(before, sizeof before, "%08x", (unsigned)h->check);
    return dt_crc32c_more(h->begun ? dt_crc32c(before, DIGITS) : 0, line, n);
}

/* Reads the check at the end of a line. False: the line does not end with a check. */
static bool read_check(const char *line, size_t n, uint32_t *check) {
    const char *tail = line + n - TAIL;
    if (n < TAIL || memcmp(tail, BEFORE, sizeof BEFORE - 1) != 0 ||
        memcmp(line + n - (sizeof BEHIND - 1), BEHIND, sizeof BEHIND - 1) != 0)
        return false;
    *check = 0;
    for (int i = 0; i < DIGITS; i++) {
        static const char digits[] = "0123456789abcdef";
        const char *digit = memchr(digits, tail[sizeof BEFORE - 1 + i], sizeof digits - 1);
        if (!digit) return false;
        *check = *check << 4 | (uint32_t)(digit - digits);
    }
    return true;
}

/* Whether a line may be of an earlier version, whose lines end with a number or null. */
static bool can_be_old(const char *line, size_t n) {
    return n < 2 || memcmp(line + n - 2, BEHIND, 2) != 0;
}

void dt_history_take(dt_history_lines *h, const char *line, size_t n, bool is_json) {
    uint32_t stated = 0;
    const bool has_check = is_json && read_check(line, n, &stated);
    const uint32_t right = continue_with(h, line, has_check ? n - TAIL : n);
    const bool is_old = is_json && !h->has_checks && can_be_old(line, n);
    const bool fits = has_check ? stated == right || h->is_lost : is_old;
    h->n++;
    if (!fits && h->damaged++ == 0) h->first = h->n;
    h->has_checks |= has_check;
    h->is_lost = !has_check && !is_old;
    /* If the check is wrong, continues with the line's own check, so that later lines are not
     * reported as well. */
    h->check = has_check ? stated : right;
    h->begun = true;
}

void dt_history_take_all(dt_history_lines *h, const dt_str *text) {
    const char *line = dt_str_text(text), *end = line + text->size;
    for (const char *newline; line < end && (newline = memchr(line, '\n', (size_t)(end - line)));
         line = newline + 1) {
        const dt_json_text t = {"history.jsonl",          "a line",       "key", line,
                                (size_t)(newline - line), DT_E_CHECKPOINT};
        json_t *root = NULL;
        /* The parser's message is dropped; damaged lines are reported by number. */
        dt_status_free(dt_json_parse(&t, &root));
        dt_history_take(h, line, (size_t)(newline - line), root != NULL);
        json_decref(root);
    }
}

void dt_history_seal(dt_history_lines *h, dt_str *line) {
    const size_t n = line->size - 2; /* length without the final "}" and newline */
    h->check = continue_with(h, line->data, n);
    h->begun = h->has_checks = true;
    h->is_lost = false;
    h->n++;
    line->size = n;
    dt_str_printf(line, BEFORE "%08x" BEHIND "\n", (unsigned)h->check);
}

char *dt_history_damage(const dt_history_lines *h, const char *path) {
    dt_str text = {0};
    if (h->damaged == 0) return NULL;
    dt_str_printf(&text,
                  "%s:%lld: damaged: the line cannot be read or does not fit its check; it or the "
                  "line before it was changed, removed or added",
                  path, (long long)h->first);
    if (h->damaged > 1)
        dt_str_printf(&text, "; in all, %lld lines do not fit", (long long)h->damaged);
    return dt_str_take(&text);
}
