/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps that read and change few rows of a large table, such as an embedding. If the variables are
 * in another process, row numbers and rows are sent instead of the whole table and its gradient:
 *
 *     the worker                                        the process that has the variables
 *     numbers:  arguments -> row numbers          ──▶   rows of the table
 *     head:     the step; parts of gradients      ──▶   tail: parts -> gradients -> the update
 */
#ifndef DT_PASS_SPARSE_H
#define DT_PASS_SPARSE_H

#include "pass/pass.h"

/* Tables of fewer bytes are sent whole, because asking for single rows would take as long. */
enum { DT_LEAST_TABLE_BYTES = 1 << 18 };

/*
 * Divides g in two, so that large results can be computed after sending: such as the gradient of a
 * table, from the gradients of the rows that were looked up. A result is divided if name[n] lists
 * it, it has no batch dimension and at least DT_LEAST_TABLE_BYTES, and it can be computed from
 * values with at most a quarter of its bytes, in a batch of `rows` rows. The values for all divided
 * results together have at most 32 MiB. head: g, with these values as results, in place of the
 * divided ones. tail: has the values as arguments of the same names, and returns the divided
 * results. A product of matrices is never moved to the tail. Both are NULL if no result is divided.
 * The order of sums does not change, so results have the same bits.
 */
dt_status *dt_divide_step(const dt_graph *g, const char *const *name, int n, int64_t rows,
                          dt_graph **head, dt_graph **tail) DT_MUST_USE;
/* Joins two graphs, g after tail: arguments of g that are results of tail are computed, and the
 * others remain arguments. Results of tail that g does not read are left out. */
dt_status *dt_compose(const dt_graph *tail, const dt_graph *g, dt_graph **out) DT_MUST_USE;
/*
 * Makes a graph of row numbers that g looks up, for variables of at least DT_LEAST_TABLE_BYTES that
 * g neither updates nor returns, that it reads by lookups only, and of which it reads at most a
 * quarter, and 32 MiB of all variables together, in a batch of `rows`. The numbers must depend on
 * arguments and constants only. Result i of *numbers belongs to the variable table[i], an array in
 * `arena`. *numbers is NULL if there are no such variables.
 */
dt_status *dt_row_numbers(const dt_graph *g, int64_t rows, dt_arena *arena, dt_graph **numbers,
                          dt_variable ***table) DT_MUST_USE;

/*
 * Makes the part of an update that changes what a process owns: variables, and rows of variables
 * (dt_variable_rows), each with the slots that have the same rows. dealt: all variables of the
 * update that are divided among the processes, whole or by rows. Other variables, such as the
 * number of updates, are updated by every process. Rows of an argument, such as a gradient, are an
 * argument named by dt_rows_name. The part may read variables that the process does not own. Fails
 * if rows cannot be computed without the others, or if an argument is needed both whole and by
 * rows.
 */
dt_status *dt_update_part(const dt_graph *g, const dt_variables *own, const dt_variables *dealt,
                          dt_graph **out) DT_MUST_USE;
/* Returns the name of rows of the argument of this name, from row `first` on, in `arena`. */
const char *dt_rows_name(dt_arena *arena, const char *name, int64_t first);

#endif
