/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between coordinator and workers. The coordinator sends variables, one after the other. A
 * worker sends back, at the same offsets, the gradient of each, and for state that the step itself
 * changed the difference. So such state (means and variances of BatchNormalization, counters)
 * receives the changes of all workers.
 *
 * Variables that neither half changes, such as those of frozen layers, are only sent to workers
 * that do not have them. Of tables only the rows that a step looks up are sent, and parts of their
 * gradient come back (pass/sparse.h). A worker sends the row numbers, and its own table has current
 * values only in the rows that it got.
 *
 *     row numbers:  for each lookup  int64 variable, int64 n | int64[n]
 *     rows:         in the same order, one after the other
 *     parts:        int64 rows of the batch | each part, at multiples of 64 bytes
 */
#ifndef DT_STRATEGY_PACKED_VARIABLES_H
#define DT_STRATEGY_PACKED_VARIABLES_H

#include "base/str.h"
#include "net/carrier.h"
#include "strategy/strategy.h"

typedef enum dt_sent { DT_SENT_EACH_TIME, DT_SENT_ONCE, DT_SENT_BY_ROWS } dt_sent;

typedef struct dt_packed_variables {
    dt_extents slices;
    int n;
    dt_variable *const *variable; /* [n] lent */
    int64_t *offset, *bytes;      /* [n] */
    const dt_sent *sent;          /* [n] */
    int64_t all;                  /* bytes of all variables: tables stand behind the slices */
} dt_packed_variables;

/* The two halves of a step: a worker's, whose results are values for variables, and the
 * coordinator's, whose arguments they are. */
typedef struct dt_halves {
    int *result, *argument; /* [n] of each variable; -1: none */
    bool *moves;            /* [n] a worker sends back the difference that the step made */
    int n_parts;            /* values of the worker that the update computes gradients from */
    int *part_result, *part_argument; /* [n_parts] */
    dt_type *part;                    /* [n_parts] in a batch of B rows */
} dt_halves;

/* sent: lent, [n]. */
dt_status *dt_packed_make(dt_packed_variables *s, dt_arena *arena, dt_variable *const *variable,
                          int n, const dt_sent *sent, const dt_servers_spec *how) DT_MUST_USE;
/* No result, no argument, no parts, and nothing moves. */
dt_halves dt_halves_none(dt_arena *arena, int n);
/* Whether the step of a half assigns the variable. */
bool dt_step_moves(const dt_graph *half, const dt_variable *v);
/* Fills the parts: results of the worker that are arguments of the update, of no variable. */
void dt_halves_match_parts(dt_halves *h, const dt_packed_variables *s, const dt_graph *worker,
                           const dt_graph *update, dt_arena *arena);
/* NOT_YET: a variable moves whose differences cannot be added up, or takes values of another
 * type. */
dt_status *dt_halves_check(const dt_halves *h, const dt_packed_variables *s,
                           const dt_graph *worker) DT_MUST_USE;

/* Copies variables into a message: those that are sent each time, and with `most` DT_SENT_ONCE or
 * DT_SENT_BY_ROWS also the others up to that kind. dt_packed_read reads such a message back. */
dt_status *dt_packed_write(const dt_packed_variables *s, dt_sent most, char *into) DT_MUST_USE;
void dt_packed_read(const dt_packed_variables *s, dt_sent most, const char *from);
/* Whether variables that are sent once have other values than those that were packed. */
bool dt_packed_differs(const dt_packed_variables *s, const char *packed);
/* The outcome of a step: values from its results, and differences of state since `before`. */
dt_status *dt_packed_write_step(const dt_packed_variables *s, const dt_halves *h,
                                const dt_view *result, const char *before, char *into) DT_MUST_USE;

/* Contents of a push: slices, and parts as dt_parts_write writes them. */
typedef struct dt_pushed {
    char *slices, *parts;
} dt_pushed;
/* Runs the coordinator's half. argument[args] is filled and lends from `from`; result[results] is
 * memory for it. */
dt_status *dt_packed_apply(const dt_packed_variables *s, const dt_halves *h, dt_compiled *update,
                           dt_view *argument, dt_view *result, const dt_pushed *from) DT_MUST_USE;

/* ---- rows and parts: packed_rows.c ---- */

/* Appends the request for rows: the numbers that are results of a program of dt_row_numbers, where
 * the table has such a row. RANGE: the answer would be larger than a message can be. */
dt_status *dt_rows_ask(const dt_packed_variables *s, const dt_graph *numbers,
                       dt_variable *const *table, const dt_view *result, dt_str *out) DT_MUST_USE;
/* Answers a request from memory that dt_packed_write has filled, NULL: from the variables. The
 * request may come from anywhere: WORKERS_DISAGREE. */
dt_status *dt_rows_answer(const dt_packed_variables *s, const char *packed, const char *request,
                          int64_t bytes, dt_str *out) DT_MUST_USE;
/* The answer goes into the variables. WORKERS_DISAGREE: it has another length. */
dt_status *dt_rows_take(const dt_packed_variables *s, const dt_str *request, const char *answer,
                        int64_t bytes) DT_MUST_USE;

/* Bytes of the parts of a batch; 0: the step has none. */
int64_t dt_parts_bytes(const dt_halves *h, int64_t rows);
void dt_parts_write(const dt_halves *h, int64_t rows, const dt_view *result, char *into);
/* Whether `bytes` bytes, which may come from anywhere, begin with the parts of a batch of at most
 * INT32_MAX rows. *used: their length. Row numbers among them may be any: where rows are added up,
 * those that the table does not have add nothing. */
bool dt_parts_are_sound(const dt_halves *h, const char *parts, int64_t bytes, int64_t *used);
int64_t dt_parts_rows(const dt_halves *h, const char *parts);
/* Lends the parts to arguments of the update. */
void dt_parts_lend(const dt_halves *h, char *parts, dt_view *argument);

#endif
