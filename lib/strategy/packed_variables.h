/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contents of messages between a coordinator and its workers. The coordinator sends the values of
 * variables, packed one after the other. A worker sends back the gradients at the same offsets. For
 * state that the step itself changes (means and variances of BatchNormalization, counters), it
 * sends the difference that its step made, so that the state receives the changes of all workers.
 *
 * Variables that are never changed, such as those of frozen layers, are only sent to workers that
 * do not have them yet. Of tables, only the rows that a step looks up are sent, and only parts of
 * the gradient come back (pass/sparse.h). The worker first sends the row numbers. Its own table has
 * current values only in the rows that it has received.
 *
 *     row numbers:  for each lookup  int64 variable, int64 n | int64[n]
 *     rows:         in the same order, one after the other
 *     parts:        int64 rows of the batch | each part, at multiples of 64 bytes
 *
 * Where the update adds rows to a part of a table, a push has only those rows that this part has:
 * the receiver finds their places by the row numbers, which are a part of their own.
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
    dt_variable *const *variable; /* [n] the list is lent */
    int64_t *offset, *bytes;      /* [n] */
    const dt_sent *sent;          /* [n] */
    int64_t all; /* bytes of all variables; those sent by rows come after the slices */
} dt_packed_variables;

/* How a step is split into two programs: the results of the worker's program are values for
 * variables, which are arguments of the coordinator's program. */
typedef struct dt_halves {
    /* [n] for each variable: index of the worker's result and of the coordinator's argument; -1:
     * none */
    int *result, *argument;
    bool *moves; /* [n] a worker sends back the difference that its step made to the variable */
    int n_parts; /* number of worker's results from which the update computes gradients */
    int *part_result, *part_argument; /* [n_parts] */
    dt_type *part; /* [n_parts] type of each part; B stands for the rows of the batch */
    /* [n_parts] for a part that is rows of a table: the earlier part with their numbers; -1: the
     * part is sent whole. Rows with numbers in [first_row, end_row) are sent. */
    int *numbers;
    int64_t *first_row, *end_row;
} dt_halves;

/* Lays out the variables and assigns their shards to servers. sent: [n], lent. */
dt_status *dt_packed_make(dt_packed_variables *s, dt_arena *arena, dt_variable *const *variable,
                          int n, const dt_sent *sent, const dt_servers_spec *how) DT_MUST_USE;
/* Returns halves without results, arguments, parts or differences. */
dt_halves dt_halves_none(dt_arena *arena, int n);
/* Sets the result and the argument of variable i: the value of this name. */
void dt_halves_bind(dt_halves *h, const dt_packed_variables *s, int i, const char *name,
                    const dt_graph *worker, const dt_graph *update, dt_arena *arena);
/* Whether this program assigns the variable. */
bool dt_step_moves(const dt_graph *half, const dt_variable *v);
/* Fills the parts: results of the worker that are arguments of the update and belong to no
 * single variable. */
void dt_halves_match_parts(dt_halves *h, const dt_packed_variables *s, const dt_graph *worker,
                           const dt_graph *update, dt_arena *arena);
/* Fails with NOT_YET if a step changes a variable whose differences cannot be added up, or if
 * gradients have another type than their variable. */
dt_status *dt_halves_check(const dt_halves *h, const dt_packed_variables *s,
                           const dt_graph *worker) DT_MUST_USE;

/* Allocates a worker's buffers for messages: all variables, and their gradients, which begin with
 * 0. The caller frees both, also after an error, which is NO_MEMORY. */
dt_status *dt_packed_buffers(const dt_packed_variables *s, char **weights,
                             char **gradients) DT_MUST_USE;

/* Copies variables into a message. most: the last kind to include; EACH_TIME < ONCE < BY_ROWS.
 * dt_packed_read copies such a message to the variables. */
dt_status *dt_packed_write(const dt_packed_variables *s, dt_sent most, char *into) DT_MUST_USE;
void dt_packed_read(const dt_packed_variables *s, dt_sent most, const char *from);
/* Whether a variable that is sent once has another value now than in the packed message. */
bool dt_packed_differs(const dt_packed_variables *s, const char *packed);
/* Writes what a step computed: values from its results, and differences of state since the
 * message `before`. */
dt_status *dt_packed_write_step(const dt_packed_variables *s, const dt_halves *h,
                                const dt_view *result, const char *before, char *into) DT_MUST_USE;

/* Contents of a push: slices, and parts as written by dt_parts_write. */
typedef struct dt_pushed {
    char *slices, *parts;
} dt_pushed;
/* Runs the coordinator's program. argument, result: buffers for its arguments and results. The
 * arguments refer to memory of `from`. */
dt_status *dt_packed_apply(const dt_packed_variables *s, const dt_halves *h, dt_compiled *update,
                           dt_view *argument, dt_view *result, const dt_pushed *from) DT_MUST_USE;

/* ---- rows and parts: packed_rows.c ---- */

/* Appends a request for rows. result: results of a program of dt_row_numbers; numbers that the
 * table does not have are left out. Fails with RANGE if the answer would be larger than a
 * message may be. */
dt_status *dt_rows_ask(const dt_packed_variables *s, const dt_graph *numbers,
                       dt_variable *const *table, const dt_view *result, dt_str *out) DT_MUST_USE;
/* Appends the answer to a request. packed: memory that dt_packed_write has filled; NULL: rows
 * are read from the variables. Fails with WORKERS_DISAGREE if the request is invalid; it may
 * come from anyone. */
dt_status *dt_rows_answer(const dt_packed_variables *s, const char *packed, const char *request,
                          int64_t bytes, dt_str *out) DT_MUST_USE;
/* Copies the rows of an answer to the variables. Fails with WORKERS_DISAGREE if it has another
 * length than requested. */
dt_status *dt_rows_take(const dt_packed_variables *s, const dt_str *request, const char *answer,
                        int64_t bytes) DT_MUST_USE;

/* Makes room for n parts. */
void dt_parts_alloc(dt_halves *h, int n, dt_arena *arena);
/* Whether a part can be the row numbers of part k: it has a number for each row, and is sent whole,
 * as all parts before it are. */
bool dt_part_names(const dt_halves *h, int numbers, int k);
/* Returns the bytes of the parts of a batch, at most; 0: the step has no parts. */
int64_t dt_parts_bytes(const dt_halves *h, int64_t rows);
/* Returns the bytes that it has written. */
int64_t dt_parts_write(const dt_halves *h, int64_t rows, const dt_view *result, char *into);
/* Whether the bytes, which may come from anyone, begin with the parts of a batch of at most
 * INT32_MAX rows. *used: the length of the parts. Row numbers in them are not checked: adding to
 * rows that the table does not have does nothing. */
bool dt_parts_are_sound(const dt_halves *h, const char *parts, int64_t bytes, int64_t *used);
int64_t dt_parts_rows(const dt_halves *h, const char *parts);
/* Copies sound parts to memory of dt_parts_bytes, and sets arguments of the update to them. What
 * was not sent is undefined. */
void dt_parts_read(const dt_halves *h, const char *parts, char *into, dt_view *argument);

#endif
