/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contents of messages between a coordinator and its workers. The coordinator sends the values of
 * variables, packed one after the other. A worker sends back the gradients, or new values, at the
 * same offsets. For state that the step itself changes (means and variances of BatchNormalization,
 * counters), it sends the difference that its step made, so that the state receives the changes of
 * all workers.
 *
 * Variables that no update changes, such as those of frozen layers, are only sent to workers that
 * do not have their current values yet. Of tables, only the rows that a step looks up are sent, and
 * only parts of the gradient come back (pass/sparse.h). The worker first sends the row numbers. Its
 * own table has current values only in the rows that it has received.
 *
 *     row numbers:  for each lookup  int64 variable, int64 n | int64[n]
 *     rows:         in the same order, one after the other
 *     parts:        int64 rows of the batch | each part, at multiples of 64 bytes
 *
 * If the receiver has only some rows of a table, only the gradient's rows for these are sent. The
 * receiver finds out which rows they are by the row numbers, which are another part of the message.
 */
#ifndef DT_STRATEGY_PACKED_VARIABLES_H
#define DT_STRATEGY_PACKED_VARIABLES_H

#include "base/str.h"
#include "net/carrier.h"
#include "strategy/strategy.h"

typedef enum dt_sent { DT_SENT_EACH_TIME, DT_SENT_ONCE, DT_SENT_BY_ROWS } dt_sent;

typedef struct dt_packed_variables {
    dt_byte_ranges slices;
    int n;
    dt_variable *const *variable; /* [n] the variables that messages contain; the list is lent */
    /* [n] the offset and the number of bytes of each variable in a message */
    int64_t *offset, *bytes;
    const dt_sent *sent; /* [n] how each variable is sent: each time, once, or by rows */
    int64_t all; /* bytes of a message with all variables; those that are sent by rows come last */
} dt_packed_variables;

/* Messages with the variables, one for each version that a worker may still request. A version is
 * the number of updates that the variables have seen. */
typedef struct dt_packed_versions {
    struct {
        int64_t version;
        /* the message has the variables that are sent in this way or an earlier one of the order
         * EACH_TIME, ONCE, BY_ROWS */
        dt_sent most;
        dt_shared *message;
    } * of; /* [n] the messages, oldest version first */
    int n, cap;
} dt_packed_versions;

/* How a step is split into two programs: the results of the worker's program are values for
 * variables, which are arguments of the other program, the update. */
typedef struct dt_halves {
    /* [n] for each variable: the index of the worker's result, and of the update's argument, that
     * has its gradient or new value; -1: there is none */
    int *result, *argument;
    /* [n] whether a worker sends back the difference that its step made to the variable */
    bool *moves;
    /* number of the worker's results from which the update computes gradients (the parts) */
    int n_parts;
    /* [n_parts] for each part: index of the worker's result, and of the update's argument */
    int *part_result, *part_argument;
    dt_type *part; /* [n_parts] the type of each part, where B stands for the rows of the batch */
    /* [n_parts] If the part consists of rows of a table: the index of the earlier part that has the
     * numbers of these rows; -1: the part is sent whole. Only rows with numbers in [first_row,
     * end_row) are sent. */
    int *numbers;
    int64_t *first_row, *end_row;
} dt_halves;

/* Lays out the variables and assigns their shards to servers. sent: [n], lent. Fails with NOT_YET
 * if a variable has a value for each replica. */
dt_status *dt_packed_make(dt_packed_variables *s, dt_arena *arena, dt_variable *const *variable,
                          int n, const dt_sent *sent, const dt_servers_spec *how) DT_MUST_USE;
/* Returns halves without results, arguments, parts or differences. */
dt_halves dt_halves_none(dt_arena *arena, int n);
/* Makes the result and the argument that have this name the value of variable i. */
void dt_halves_bind(dt_halves *h, const dt_packed_variables *s, int i, const char *name,
                    const dt_graph *worker, const dt_graph *update, dt_arena *arena);
/* Whether this half of a step assigns the variable, so that its difference is sent. */
bool dt_step_moves(const dt_graph *half, const dt_variable *v);
/* Fills the parts: results of the worker that are arguments of the update and belong to no
 * single variable. */
void dt_halves_match_parts(dt_halves *h, const dt_packed_variables *s, const dt_graph *worker,
                           const dt_graph *update, dt_arena *arena);
/* Fails with NOT_YET if a step changes a variable whose differences cannot be added up, or if
 * gradients have another type than their variable. */
dt_status *dt_halves_check(const dt_halves *h, const dt_packed_variables *s,
                           const dt_graph *worker) DT_MUST_USE;

/* Allocates a worker's buffers for messages: one for the variables that are sent whole, and one for
 * their gradients, which is filled with 0. The caller frees both, also after an error, which is
 * NO_MEMORY. */
dt_status *dt_packed_buffers(const dt_packed_variables *s, char **weights,
                             char **gradients) DT_MUST_USE;

/* Copies variables into a message. most: which variables to include, up to this way of sending, in
 * the order EACH_TIME, ONCE, BY_ROWS. dt_packed_read copies such a message to the variables. */
dt_status *dt_packed_write(const dt_packed_variables *s, dt_sent most, char *into) DT_MUST_USE;
void dt_packed_read(const dt_packed_variables *s, dt_sent most, const char *from);
/* Makes a message with the variables that dt_packed_write includes. *out is a new reference, which
 * the caller drops, also after an error; it may then be NULL. */
dt_status *dt_packed_copy(const dt_packed_variables *s, dt_sent most, dt_shared **out) DT_MUST_USE;
/* Whether a variable that is sent once has another value now than in the packed message. */
bool dt_packed_differs(const dt_packed_variables *s, const char *packed);
/* Adds a message with the variables' current values for this version. After an error none is
 * added. */
dt_status *dt_packed_versions_add(dt_packed_versions *k, const dt_packed_variables *s,
                                  int64_t version, dt_sent most) DT_MUST_USE;
/* Returns the message of this version that has at least the variables sent in the way `least`;
 * NULL: there is no such message. The message is lent. */
dt_shared *dt_packed_versions_find(const dt_packed_versions *k, int64_t version, dt_sent least);
/* Drops messages of versions below `below`. INT64_MAX drops all messages and releases the list. */
void dt_packed_versions_drop(dt_packed_versions *k, int64_t below);
/* Writes what a step computed into a message: values from its results, and for the state that the
 * step changes, the difference since the message `before` was read. */
dt_status *dt_packed_write_step(const dt_packed_variables *s, const dt_halves *h,
                                const dt_view *result, const char *before, char *into) DT_MUST_USE;

/* What a worker sends after a step. slices: what dt_packed_write_step has written; parts: what
 * dt_parts_write has written. */
typedef struct dt_pushed {
    char *slices, *parts;
} dt_pushed;
/* Runs the update, if there is one, and adds the differences of state that the worker has changed.
 * argument, result: buffers for the update's arguments and results. */
dt_status *dt_packed_apply(const dt_packed_variables *s, const dt_halves *h, dt_compiled *update,
                           dt_view *argument, dt_view *result, const dt_pushed *from) DT_MUST_USE;

/* ---- rows and parts: packed_rows.c ---- */

/* Appends a request for rows. result: results of a program of dt_row_numbers; numbers that the
 * table does not have are left out. Fails with RANGE if the request or the answer would be larger
 * than a message may be. */
dt_status *dt_rows_ask(const dt_packed_variables *s, const dt_graph *numbers,
                       dt_variable *const *table, const dt_view *result, dt_str *out) DT_MUST_USE;
/* Appends the answer to a request. packed: memory that dt_packed_write has filled; NULL: rows are
 * read from the variables. Fails with WORKERS_DISAGREE if the request is invalid, since any program
 * can send one. */
dt_status *dt_rows_answer(const dt_packed_variables *s, const char *packed, const char *request,
                          int64_t bytes, dt_str *out) DT_MUST_USE;
/* Copies the rows of an answer to the variables. Fails with WORKERS_DISAGREE if it has another
 * length than requested. */
dt_status *dt_rows_take(const dt_packed_variables *s, const dt_str *request, const char *answer,
                        int64_t bytes) DT_MUST_USE;

/* Allocates the lists of h for n parts, in the arena. */
void dt_parts_alloc(dt_halves *h, int n, dt_arena *arena);
/* Whether part `numbers` can have the row numbers of part k: it has one number for each row. Such a
 * part, and all parts before it, are sent whole. */
bool dt_part_names(const dt_halves *h, int numbers, int k);
/* Returns the most bytes that the parts of a batch can have; 0: the step has no parts; INT64_MAX: a
 * part is larger than a message may be. */
int64_t dt_parts_bytes(const dt_halves *h, int64_t rows);
/* Writes the parts and returns the number of bytes written. */
int64_t dt_parts_write(const dt_halves *h, int64_t rows, const dt_view *result, char *into);
/* Checks received bytes, which any program can have sent: whether they begin with the parts of a
 * batch of at most INT32_MAX rows. Sets *used to the length of the parts. Row numbers are not
 * checked, because adding to a row that the table does not have does nothing. */
bool dt_parts_are_sound(const dt_halves *h, const char *parts, int64_t bytes, int64_t *used);
int64_t dt_parts_rows(const dt_halves *h, const char *parts);
/* Copies parts that dt_parts_are_sound has accepted to memory of dt_parts_bytes, and sets the
 * arguments of the update to them. Rows that were not sent are undefined. */
void dt_parts_read(const dt_halves *h, const char *parts, char *into, dt_view *argument);

#endif
