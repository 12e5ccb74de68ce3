/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check of each line of history.jsonl, its last member:
 *
 *     {"epoch": 2, "step": 20, "loss": 0.25, "crc32c": "0a1b2c3d"}
 *
 * It is the CRC-32C of the previous line's check, as eight digits, and of this line up to that
 * member. So changed, removed and inserted lines are found. Lines of earlier versions of dtrain
 * have no check; the first check after them covers the last of them.
 */
#ifndef DT_FORMAT_HISTORY_H
#define DT_FORMAT_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

#define DT_HISTORY_CHECK "crc32c"

/* The state of checking lines. Begin with {0} at the first line. */
typedef struct dt_history_lines {
    uint32_t check;         /* check of the last line; 0 before the first */
    bool begun, has_checks; /* begun: there was a line; has_checks: some line had a check */
    bool is_lost;           /* the last line could not be read, so the next one is not compared */
    int64_t n;              /* number of lines */
    int64_t damaged,
        first; /* number of lines that do not match their check, and the number of the first one */
} dt_history_lines;

/* Whether a key of a line names a metric. */
bool dt_history_is_metric(const char *key);
/* Checks a line of n bytes, without its newline. is_json: dtrain can have written it. */
void dt_history_take(dt_history_lines *h, const char *line, size_t n, bool is_json);
/* Adds the check to a new line, which ends in "}" and a newline. */
void dt_history_seal(dt_history_lines *h, dt_str *line);
/* A sentence about the damage that was found in `path`; the caller frees it. NULL: none. */
char *dt_history_damage(const dt_history_lines *h, const char *path);
/* Checks all lines of a text. A last one without a newline is skipped: a killed run was writing
 * it. */
void dt_history_take_all(dt_history_lines *h, const dt_str *text);

#endif
