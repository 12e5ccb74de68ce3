/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check of each line of history.jsonl, its last member:
 *
 *     {"epoch": 2, "step": 20, "loss": 0.25, "crc32c": "0a1b2c3d"}
 *
 * It is the CRC-32C of the check of the line before, as its eight digits, and of this line up to
 * that member. So a line that was changed, and one that was removed or added between others, is
 * found. Lines of earlier versions have none; the first check behind them covers the last of them.
 */
#ifndef DT_FORMAT_HISTORY_H
#define DT_FORMAT_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

#define DT_HISTORY_CHECK "crc32c"

/* Lines, from the first one on; {0} before it. */
typedef struct dt_history_lines {
    uint32_t check;         /* of the last line; 0 before the first */
    bool begun, has_checks; /* there was a line; one of them had a check */
    bool is_lost;           /* the last line could not be read, so the next one is not compared */
    int64_t n;              /* lines */
    int64_t damaged, first; /* those that do not fit their check, and the number of the first */
} dt_history_lines;

/* Whether a key of a line names a metric. */
bool dt_history_is_metric(const char *key);
/* A line that was read, n bytes without its newline. is_json: it is one that dtrain can have
 * written. */
void dt_history_take(dt_history_lines *h, const char *line, size_t n, bool is_json);
/* Gives a new line, "{...}" and a newline, its check. */
void dt_history_seal(dt_history_lines *h, dt_str *line);
/* The damage that was found, a sentence about `path`; the caller frees it. NULL: none. */
char *dt_history_damage(const dt_history_lines *h, const char *path);
/* All lines of a text; a last one without a newline is left out: a killed run was writing it. */
void dt_history_take_all(dt_history_lines *h, const dt_str *text);

#endif
