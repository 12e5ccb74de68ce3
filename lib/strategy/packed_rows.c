/* SPDX-License-Identifier: Apache-2.0 */
/* Messages with rows of tables and with parts of gradients: see packed_variables.h. */
#include <string.h>

#include "base/arena.h"
#include "base/size.h"
#include "op/cells.h"
#include "op/op.h"
#include "strategy/packed_variables.h"

/* Bytes before the parts of a push. The first 8 are the number of rows of the batch; the others
 * keep the parts aligned. */
enum { HEAD = 64 };

static int64_t row_bytes(const dt_packed_variables *s, int i) {
    return s->bytes[i] / s->variable[i]->type.dim[0];
}

/* ---- requests for rows ---- */

typedef struct lookup {
    int64_t variable, n;
} lookup;

/* Returns the index in s of v or, if s has a variable with only some rows of v, the index of that;
 * -1: s has neither. */
static int find_variable(const dt_packed_variables *s, const dt_variable *v) {
    for (int i = 0; i < s->n; i++)
        if (dt_variable_whole(s->variable[i]) == v) return i;
    return -1;
}

/* Appends a request for those of the numbered rows that variable i of s has, with numbers counted
 * from its first row, and leaves out the others. Returns the bytes that the answer will have. */
static int64_t ask_table(const dt_packed_variables *s, int i, const dt_view *numbers, dt_str *out) {
    const int64_t n = dt_type_elements(&numbers->type), rows = s->variable[i]->type.dim[0],
                  first = s->variable[i]->first_row;
    const size_t at = out->size;
    lookup head = {.variable = i};
    dt_str_add(out, &head, sizeof head);
    for (int64_t k = 0; k < n; k++) {
        int64_t row = dt_cell_int(numbers, k);
        /* Another process has the row. If no process has it, the step itself reports that. */
        if (row < first || row - first >= rows) continue;
        row -= first;
        dt_str_add(out, &row, sizeof row);
        head.n++;
    }
    memcpy(out->data + at, &head, sizeof head);
    return head.n * row_bytes(s, i);
}

dt_status *dt_rows_ask(const dt_packed_variables *s, const dt_graph *numbers,
                       dt_variable *const *table, const dt_view *result, dt_str *out) {
    double bytes = 0;
    for (int k = 0; k < numbers->n_results; k++) {
        const int i = find_variable(s, table[k]);
        if (i < 0 || s->sent[i] != DT_SENT_BY_ROWS) continue;
        bytes += (double)ask_table(s, i, &result[k], out);
    }
    if (bytes <= DT_MOST_MORE && out->size <= DT_MOST_MORE) return NULL;
    return dt_fail(DT_E_RANGE, NULL,
                   "a batch looks up rows of %.0f bytes; with a parameter server it may look up "
                   "%d",
                   bytes, DT_MOST_MORE);
}

/* Reads the head of the lookup at *at, and advances *at past it. */
static dt_status *read_lookup(const dt_packed_variables *s, const char *request, int64_t bytes,
                              int64_t *at, lookup *x) {
    if (bytes - *at < (int64_t)sizeof *x)
        return dt_fail(DT_E_WORKERS_DISAGREE, NULL, "a request for rows is cut off");
    memcpy(x, request + *at, sizeof *x);
    *at += (int64_t)sizeof *x;
    if (x->variable < 0 || x->variable >= s->n || s->sent[x->variable] != DT_SENT_BY_ROWS)
        return dt_fail(DT_E_WORKERS_DISAGREE, NULL,
                       "a request for rows names variable %lld, which is not sent by rows",
                       (long long)x->variable);
    if (x->n < 0 || x->n > (bytes - *at) / (int64_t)sizeof(int64_t))
        return dt_fail(DT_E_WORKERS_DISAGREE, NULL,
                       "a request for rows has %lld row numbers in %lld bytes", (long long)x->n,
                       (long long)(bytes - *at));
    return NULL;
}

static int64_t read_number(const char *request, int64_t *at) {
    int64_t row;
    memcpy(&row, request + *at, sizeof row);
    *at += (int64_t)sizeof row;
    return row;
}

static dt_status *answer_lookup(const dt_packed_variables *s, const char *packed,
                                const char *request, int64_t *at, const lookup *x, dt_str *out) {
    const int i = (int)x->variable;
    const int64_t bytes = row_bytes(s, i), rows = s->variable[i]->type.dim[0];
    const char *table = packed ? packed + s->offset[i] : dt_host_data(s->variable[i]);
    if (x->n > (DT_MOST_MORE - (int64_t)out->size) / bytes)
        return dt_fail(DT_E_WORKERS_DISAGREE, NULL,
                       "a request for %lld rows of '%s' has an answer of more than %d bytes",
                       (long long)x->n, s->variable[i]->path, DT_MOST_MORE);
    for (int64_t k = 0; k < x->n; k++) {
        const int64_t row = read_number(request, at);
        if (row < 0 || row >= rows)
            return dt_fail(DT_E_WORKERS_DISAGREE, NULL,
                           "a request for row %lld of '%s', which has %lld rows", (long long)row,
                           s->variable[i]->path, (long long)rows);
        dt_str_add(out, table + row * bytes, (size_t)bytes);
    }
    return NULL;
}

dt_status *dt_rows_answer(const dt_packed_variables *s, const char *packed, const char *request,
                          int64_t bytes, dt_str *out) {
    lookup x;
    DT_TRY(packed ? NULL : dt_variables_fetch(s->variable, s->n));
    for (int64_t at = 0; at < bytes;) {
        DT_TRY(read_lookup(s, request, bytes, &at, &x));
        DT_TRY(answer_lookup(s, packed, request, &at, &x, out));
    }
    return NULL;
}

dt_status *dt_rows_take(const dt_packed_variables *s, const dt_str *request, const char *answer,
                        int64_t bytes) {
    int64_t used = 0;
    for (int64_t at = 0; at < (int64_t)request->size;) {
        lookup x;
        DT_TRY(read_lookup(s, request->data, (int64_t)request->size, &at, &x));
        const int64_t row = row_bytes(s, (int)x.variable);
        if (x.n > (bytes - used) / row) break;
        char *table = dt_host_edit(s->variable[x.variable]);
        for (int64_t k = 0; k < x.n; k++, used += row)
            memcpy(table + read_number(request->data, &at) * row, answer + used, (size_t)row);
        if (at == (int64_t)request->size && used == bytes) return NULL;
    }
    if (request->size == 0 && bytes == 0) return NULL;
    return dt_fail(DT_E_WORKERS_DISAGREE, NULL,
                   "the coordinator sent %lld bytes of rows, which are not those asked for",
                   (long long)bytes);
}

/* ---- parts of gradients ---- */

static bool is_argument_of_variable(const dt_halves *h, const dt_packed_variables *s,
                                    int argument) {
    for (int i = 0; i < s->n; i++)
        if (h->argument[i] == argument) return true;
    return false;
}

/* A node that adds rows of an argument to a table or a part of it (pass/sparse.c). */
typedef struct row_sums {
    int rows, numbers; /* the nodes of two arguments: the rows, and their numbers in the table */
    int64_t first, end;
} row_sums;

static bool read_row_sums(const dt_graph *g, const dt_node *n, row_sums *out) {
    if (n->op->role != DT_ROLE_ROW_SUMS) return false;
    int numbers = n->in[1];
    int64_t first = 0;
    if (g->node[numbers].op == &dt_op_subtract) {
        const dt_node *constant = &g->node[g->node[numbers].in[1]];
        if (constant->op->role != DT_ROLE_CONSTANT) return false;
        first = (int64_t)((const dt_constant_attr *)constant->attr)->value;
        numbers = g->node[numbers].in[0];
    }
    if (g->node[numbers].op->role == DT_ROLE_CONVERT) numbers = g->node[numbers].in[0];
    *out = (row_sums){n->in[0], numbers, first, first + n->type.dim[0]};
    return g->node[numbers].op->role == DT_ROLE_ARGUMENT &&
           g->node[n->in[0]].op->role == DT_ROLE_ARGUMENT;
}

/* Whether a single node reads the argument, and that node adds rows to a table. If so, fills
 * *out. */
static bool find_row_sums(const dt_graph *g, int argument, row_sums *out) {
    int readers = 0;
    bool found = false;
    for (int i = 0; i < g->n_nodes; i++)
        for (int k = 0; k < g->node[i].n_in; k++) {
            if (g->node[i].in[k] != g->arg[argument].node) continue;
            readers++;
            found = k == 0 && read_row_sums(g, &g->node[i], out);
        }
    return found && readers == 1;
}

bool dt_part_names(const dt_halves *h, int numbers, int k) {
    const dt_type *n = &h->part[numbers], *x = &h->part[k];
    for (int j = 0; j <= numbers; j++)
        if (h->numbers[j] >= 0) return false;
    bool names = !dt_dtype_is_float(n->dtype) && n->rank > 0 && n->rank <= x->rank;
    for (int d = 0; names && d < n->rank; d++) names = n->dim[d] == x->dim[d];
    return names;
}

/* Finds the parts of which only some rows are sent: those that are added to rows of a table that
 * the receiver has. */
static void find_rows(dt_halves *h, const dt_graph *update) {
    for (int k = 0; k < h->n_parts; k++) {
        row_sums x;
        if (!find_row_sums(update, h->part_argument[k], &x)) continue;
        for (int j = 0; j < k; j++)
            if (update->arg[h->part_argument[j]].node == x.numbers && dt_part_names(h, j, k))
                h->numbers[k] = j;
        h->first_row[k] = x.first;
        h->end_row[k] = x.end;
    }
}

void dt_parts_alloc(dt_halves *h, int n, dt_arena *arena) {
    h->part_result = dt_arena_array(arena, int, n + 1);
    h->part_argument = dt_arena_array(arena, int, n + 1);
    h->part = dt_arena_array(arena, dt_type, n + 1);
    h->numbers = dt_arena_array(arena, int, n + 1);
    h->first_row = dt_arena_array(arena, int64_t, n + 1);
    h->end_row = dt_arena_array(arena, int64_t, n + 1);
    for (int k = 0; k < n; k++) h->numbers[k] = -1;
    h->n_parts = 0;
}

static bool has_rows(const dt_packed_variables *s) {
    for (int i = 0; i < s->n; i++)
        if (s->variable[i]->whole && s->sent[i] == DT_SENT_BY_ROWS) return true;
    return false;
}

static void add_part(dt_halves *h, const dt_graph *worker, int result, int argument) {
    h->part_result[h->n_parts] = result;
    h->part_argument[h->n_parts] = argument;
    h->part[h->n_parts++] = worker->node[worker->result[result].node].type;
}

/* Lists the parts. A part with row numbers comes before the rows that it numbers. If s has only
 * rows of a table, also finds, for each part that consists of rows of a table, the part that has
 * the numbers of these rows. */
void dt_halves_match_parts(dt_halves *h, const dt_packed_variables *s, const dt_graph *worker,
                           const dt_graph *update, dt_arena *arena) {
    dt_parts_alloc(h, worker->n_results, arena);
    for (int named = 0; named < 2; named++)
        for (int i = 0; i < worker->n_results; i++) {
            const int argument = dt_graph_find_argument(update, worker->result[i].name);
            row_sums x;
            if (argument >= 0 && !is_argument_of_variable(h, s, argument) &&
                find_row_sums(update, argument, &x) == named)
                add_part(h, worker, i, argument);
        }
    if (has_rows(s)) find_rows(h, update);
}

static int64_t part_bytes(const dt_halves *h, int k, int64_t rows) {
    const dt_type t = dt_type_at(&h->part[k], rows);
    return dt_type_bytes(&t);
}

int64_t dt_parts_bytes(const dt_halves *h, int64_t rows) {
    int64_t n = HEAD;
    for (int k = 0; k < h->n_parts; k++) {
        const int64_t bytes = part_bytes(h, k, rows);
        if (bytes > DT_MOST_MORE) return INT64_MAX;
        n += dt_aligned(bytes);
    }
    return h->n_parts ? n : 0;
}

int64_t dt_parts_rows(const dt_halves *h, const char *parts) {
    int64_t rows = 1;
    if (h->n_parts) memcpy(&rows, parts, sizeof rows);
    return rows;
}

/* ---- rows of a part ---- */

static bool is_sent(const dt_halves *h, int k, const dt_view *numbers, int64_t i) {
    const int64_t row = dt_cell_int(numbers, i);
    return row >= h->first_row[k] && row < h->end_row[k];
}

/* Returns the bytes that a part has in a message. numbers: the numbers of the part's rows; NULL:
 * the part does not consist of numbered rows. */
static int64_t sent_bytes(const dt_halves *h, int k, int64_t rows, const dt_view *numbers) {
    if (h->numbers[k] < 0) return part_bytes(h, k, rows);
    const int64_t all = dt_type_elements(&numbers->type);
    int64_t n = 0;
    for (int64_t i = 0; i < all; i++) n += is_sent(h, k, numbers, i);
    return n ? n * (part_bytes(h, k, rows) / all) : 0;
}

/* Copies those rows of part k that are sent: with `packed` from the whole part to a message, else
 * from a message to their places in the whole part. */
static void move_rows(const dt_halves *h, int k, int64_t rows, const dt_view *numbers, bool packed,
                      const char *from, char *into) {
    const int64_t all = dt_type_elements(&numbers->type),
                  row = all ? part_bytes(h, k, rows) / all : 0;
    for (int64_t i = 0, n = 0; i < all; i++) {
        if (!is_sent(h, k, numbers, i)) continue;
        memcpy(into + (packed ? n : i) * row, from + (packed ? i : n) * row, (size_t)row);
        n++;
    }
}

int64_t dt_parts_write(const dt_halves *h, int64_t rows, const dt_view *result, char *into) {
    char *to = into + HEAD;
    if (h->n_parts == 0) return 0;
    memset(into, 0, (size_t)dt_parts_bytes(h, rows));
    memcpy(into, &rows, sizeof rows);
    for (int k = 0; k < h->n_parts; k++) {
        const int j = h->numbers[k];
        const dt_view *numbers = j < 0 ? NULL : &result[h->part_result[j]];
        const char *from = result[h->part_result[k]].data;
        if (numbers) move_rows(h, k, rows, numbers, true, from, to);
        else memcpy(to, from, (size_t)part_bytes(h, k, rows));
        to += dt_aligned(sent_bytes(h, k, rows, numbers));
    }
    return to - into;
}

static dt_view view_of(const dt_halves *h, int k, int64_t rows, const char *at) {
    return (dt_view){.type = dt_type_at(&h->part[k], rows), .data = (void *)(uintptr_t)at};
}

void dt_parts_read(const dt_halves *h, const char *parts, char *into, dt_view *argument) {
    const int64_t rows = dt_parts_rows(h, parts);
    parts += HEAD;
    for (int k = 0; k < h->n_parts; k++) {
        const int j = h->numbers[k];
        const dt_view *numbers = j < 0 ? NULL : &argument[h->part_argument[j]];
        argument[h->part_argument[k]] = view_of(h, k, rows, into);
        if (numbers) move_rows(h, k, rows, numbers, false, parts, into);
        else memcpy(into, parts, (size_t)part_bytes(h, k, rows));
        parts += dt_aligned(sent_bytes(h, k, rows, numbers));
        into += dt_aligned(part_bytes(h, k, rows));
    }
}

bool dt_parts_are_sound(const dt_halves *h, const char *parts, int64_t bytes, int64_t *used) {
    *used = 0;
    if (h->n_parts == 0) return true;
    if (bytes < HEAD) return false;
    const int64_t rows = dt_parts_rows(h, parts);
    int64_t at = HEAD;
    if (rows < 0 || rows > INT32_MAX || dt_parts_bytes(h, rows) == INT64_MAX) return false;
    for (int k = 0; k < h->n_parts; k++) {
        dt_view numbers = {0};
        /* A part that has row numbers is sent whole, and so are all parts before it. */
        int64_t before = HEAD;
        for (int j = 0; j < h->numbers[k]; j++) before += dt_aligned(part_bytes(h, j, rows));
        if (h->numbers[k] >= 0) numbers = view_of(h, h->numbers[k], rows, parts + before);
        const int64_t own = dt_aligned(sent_bytes(h, k, rows, &numbers));
        if (own > bytes - at) return false;
        at += own;
    }
    *used = at;
    return true;
}
