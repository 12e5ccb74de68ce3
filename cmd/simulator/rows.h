/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Published numbers against the simulator's: `dtrain bench --simulator ROWS.json`.
 *
 *     read.c       the file: rows, each with an id, a kind, what was published and its unit
 *     kinds.h      a row per kind of row: whether it says enough to be planned, and what we predict
 *     device.c, operation_read.c    chips, slices and operations as people write them
 *     report.c     tables, the median and the worst of each kind, rows that could not be planned;
 *                  or a line of JSON a row
 *
 * A kind reads the row's configuration, never its id and never what was published.
 */
#ifndef CMD_SIMULATOR_ROWS_H
#define CMD_SIMULATOR_ROWS_H

#include <jansson.h>

#include "base/arena.h"
#include "base/str.h"

typedef struct dt_prediction {
    double value; /* in the row's unit */
    /* NULL; else there is no prediction, and this is what the row does not say */
    const char *missing;
    const char *family; /* of a step (cost/expected_error.h); NULL: it is none */
} dt_prediction;

/* A row as read. Texts are lent by the JSON. */
typedef struct dt_row {
    const char *id, *kind, *unit, *metric; /* unit, metric: "" where there is none */
    const json_t *json, *config;           /* config: NULL where there is none */
    double published;
    dt_prediction prediction;
} dt_row;

typedef struct dt_rows {
    dt_arena *arena;
    json_t *json;
    const char *configs; /* the directory of published jobs; lent */
    dt_row *row;
    int n;
} dt_rows;

/* A row of kinds.h. */
typedef struct dt_row_kind {
    const char *name;
    const char *about; /* "cycles of matrix products as the real compiler estimates them" */
    /* rows before this one may say more */
    dt_prediction (*predict)(const dt_rows *rows, const dt_row *row);
} dt_row_kind;

#define DT_ROW_KIND(name) extern const dt_row_kind dt_row_kind_##name;
#include "kinds.h"
#undef DT_ROW_KIND

/* ---- read.c ---- */

/* NO_INPUT, ROWS: the first fault. */
dt_status *dt_rows_read(dt_rows *rows, const char *path) DT_MUST_USE;
void dt_rows_release(dt_rows *rows);
/* What a row's configuration says: "" and 0 where it says nothing. */
const char *dt_row_text(const dt_row *row, const char *key);
double dt_row_number(const dt_row *row, const char *key);

/* ---- compare.c ---- */

/* All kinds, in order; *n is their count. */
const dt_row_kind *const *dt_row_kinds(int *n);
void dt_rows_predict(dt_rows *rows);
/* |predicted - published| / |published|; negative where there is no prediction. */
double dt_row_error(const dt_row *row);

dt_prediction dt_predicted(double value);
dt_prediction dt_not_sufficient(const dt_rows *rows, const char *format, ...) DT_PRINTF(2, 3);

/* ---- report.c ---- */

void dt_rows_report(const dt_rows *rows, dt_str *out);
void dt_rows_json(const dt_rows *rows, dt_str *out);

#endif
