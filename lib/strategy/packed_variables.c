/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what packed_variables.h declares. */
#include "strategy/packed_variables.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/size.h"
#include "net/fabric.h"
#include "pass/sparse.h"
#include "strategy/variable.h"

/* ---- layout and slices ---- */

static int64_t rows_of(const dt_type *t) { return t->rank > 0 && t->dim[0] > 0 ? t->dim[0] : 1; }

/* Returns the number of shards that the partitioner asks for, by the rules of tf.distribute's
 * FixedShardsPartitioner, MinSizePartitioner and MaxSizePartitioner. */
static int64_t wanted(const dt_partitioner *p, int64_t rows, int64_t row_bytes) {
    if (p->kind == DT_PARTITION_FIXED) return p->shards;
    if (p->kind == DT_PARTITION_MIN_SIZE) return rows * row_bytes / p->bytes;
    const int64_t rows_of_shard = p->bytes > row_bytes ? p->bytes / row_bytes : 1;
    return (rows + rows_of_shard - 1) / rows_of_shard;
}

int64_t dt_partitioner_shards(const dt_partitioner *p, int64_t rows, int64_t row_bytes) {
    if (p->kind == DT_PARTITION_NONE || rows < 2 || row_bytes < 1) return 1;
    int64_t n = wanted(p, rows, row_bytes);
    if (p->shards > 0 && n > p->shards) n = p->shards;
    return n < 1 ? 1 : n > rows ? rows : n;
}

static int count_shards(const dt_packed_variables *s, const dt_partitioner *p) {
    int n = 0;
    for (int i = 0; i < s->n; i++) {
        const int64_t rows = rows_of(&s->variable[i]->type);
        if (s->sent[i] == DT_SENT_BY_ROWS) continue;
        n += (int)dt_partitioner_shards(p, rows, s->bytes[i] / rows);
    }
    return n;
}

/* Assigns the shards of all variables that are sent in the way `sent` to the servers, in turn: adds
 * them to slice[server], and increases n[server]. */
static void deal(dt_packed_variables *s, dt_arena *arena, const dt_servers_spec *how, dt_sent sent,
                 dt_byte_range *const *slice, int *n) {
    int64_t next = 0;
    for (int i = 0; i < s->n; i++) {
        const int64_t rows = rows_of(&s->variable[i]->type), row = s->bytes[i] / rows,
                      shards = dt_partitioner_shards(&how->partitioner, rows, row);
        if (s->sent[i] != sent) continue;
        int32_t *first = dt_arena_array(arena, int32_t, shards + 1);
        dt_cut_rows(rows, rows, (int)shards, first);
        for (int64_t k = 0; k < shards; k++, next++) {
            const int64_t server = next % how->servers;
            slice[server][n[server]++] =
                (dt_byte_range){s->offset[i] + first[k] * row, (first[k + 1] - first[k]) * row};
        }
    }
}

static void deal_all(dt_packed_variables *s, dt_arena *arena, const dt_servers_spec *how) {
    const int all = count_shards(s, &how->partitioner), servers = how->servers;
    int *n = dt_arena_array(arena, int, servers), *still = dt_arena_array(arena, int, servers);
    dt_byte_range **slice = dt_arena_array(arena, dt_byte_range *, servers);
    for (int k = 0; k < servers; k++)
        slice[k] = dt_arena_array(arena, dt_byte_range, all / servers + 2);
    deal(s, arena, how, DT_SENT_EACH_TIME, slice, n);
    for (int k = 0; k < servers; k++) still[k] = -n[k];
    deal(s, arena, how, DT_SENT_ONCE, slice, n);
    for (int k = 0; k < servers; k++) still[k] += n[k];
    s->slices.servers = servers;
    s->slices.n = n;
    s->slices.n_still = still;
    s->slices.slice = (const dt_byte_range *const *)slice;
}

/* Gives offsets to the variables that are sent in the way `sent`, from offset `from` on. Returns
 * the offset after them. */
static int64_t lay_out(dt_packed_variables *s, dt_sent sent, int64_t from) {
    for (int i = 0; i < s->n; i++) {
        if (s->sent[i] != sent) continue;
        s->offset[i] = from;
        s->bytes[i] = dt_type_bytes(&s->variable[i]->type);
        from += dt_aligned(s->bytes[i]);
    }
    return from;
}

dt_status *dt_packed_make(dt_packed_variables *s, dt_arena *arena, dt_variable *const *variable,
                          int n, const dt_sent *sent, const dt_servers_spec *how) {
    *s = (dt_packed_variables){.n = n, .variable = variable, .sent = sent};
    s->offset = dt_arena_array(arena, int64_t, n + 1);
    s->bytes = dt_arena_array(arena, int64_t, n + 1);
    for (int i = 0; i < n; i++)
        if (dt_variable_whole(variable[i])->stack)
            return dt_fail(DT_E_NOT_YET, NULL,
                           "a parameter server has one value of each variable, and '%s' has one "
                           "for each replica",
                           variable[i]->path);
    const int64_t each_time = lay_out(s, DT_SENT_EACH_TIME, 0);
    s->slices.bytes = lay_out(s, DT_SENT_ONCE, each_time);
    s->slices.still_bytes = s->slices.bytes - each_time;
    s->all = lay_out(s, DT_SENT_BY_ROWS, s->slices.bytes);
    deal_all(s, arena, how);
    return NULL;
}

/* ---- matching results and arguments to variables ---- */

dt_halves dt_halves_none(dt_arena *arena, int n) {
    dt_halves h = {.result = dt_arena_array(arena, int, n + 1),
                   .argument = dt_arena_array(arena, int, n + 1),
                   .moves = dt_arena_array(arena, bool, n + 1)};
    for (int i = 0; i < n; i++) h.result[i] = h.argument[i] = -1;
    return h;
}

void dt_halves_bind(dt_halves *h, const dt_packed_variables *s, int i, const char *name,
                    const dt_graph *worker, const dt_graph *update, dt_arena *arena) {
    const dt_variable *v = s->variable[i];
    h->result[i] = dt_graph_find_result(worker, name);
    if (update)
        h->argument[i] = dt_graph_find_argument(
            update, v->whole ? dt_rows_name(arena, name, v->first_row) : name);
}

bool dt_step_moves(const dt_graph *half, const dt_variable *v) {
    for (int i = 0; i < half->n_states; i++)
        if (half->state[i].variable == v)
            return half->state[i].update >= 0 && half->state[i].update != half->state[i].node;
    return false;
}

static bool can_move(dt_dtype dtype) {
    return dtype == DT_FLOAT32 || dtype == DT_FLOAT64 || dtype == DT_INT32 || dtype == DT_INT64 ||
           dtype == DT_UINT32;
}

dt_status *dt_halves_check(const dt_halves *h, const dt_packed_variables *s,
                           const dt_graph *worker) {
    for (int i = 0; i < s->n; i++) {
        const dt_variable *v = s->variable[i];
        if (h->moves[i] && !can_move(v->type.dtype))
            return dt_fail(DT_E_NOT_YET, NULL,
                           "a parameter server cannot add up changes of '%s', which is %s", v->path,
                           dt_dtype_name(v->type.dtype));
        if (h->result[i] >= 0 &&
            !dt_type_equal(&worker->node[worker->result[h->result[i]].node].type,
                           &dt_variable_whole(s->variable[i])->type))
            return dt_fail(
                DT_E_NOT_YET, NULL,
                "a parameter server cannot take gradients of '%s' that have another dtype than it",
                v->path);
    }
    return NULL;
}

/* ---- packing ---- */

dt_status *dt_packed_write(const dt_packed_variables *s, dt_sent most, char *into) {
    DT_TRY(dt_variables_fetch(s->variable, s->n));
    for (int i = 0; i < s->n; i++)
        if (s->sent[i] <= most)
            memcpy(into + s->offset[i], dt_host_data(s->variable[i]), (size_t)s->bytes[i]);
    return NULL;
}

void dt_packed_read(const dt_packed_variables *s, dt_sent most, const char *from) {
    for (int i = 0; i < s->n; i++)
        if (s->sent[i] <= most)
            memcpy(dt_host_edit(s->variable[i]), from + s->offset[i], (size_t)s->bytes[i]);
}

dt_status *dt_packed_buffers(const dt_packed_variables *s, char **weights, char **gradients) {
    const size_t bytes = (size_t)s->slices.bytes + 1;
    *weights = dt_try_alloc(bytes);
    *gradients = dt_try_alloc(bytes);
    if (!*weights || !*gradients)
        return dt_fail(DT_E_NO_MEMORY, NULL, "a worker has no memory for variables (%zu bytes)",
                       bytes);
    memset(*gradients, 0, bytes);
    return NULL;
}

dt_status *dt_packed_copy(const dt_packed_variables *s, dt_sent most, dt_shared **out) {
    DT_TRY(dt_shared_new(out, most == DT_SENT_BY_ROWS ? s->all : s->slices.bytes));
    return dt_packed_write(s, most, (*out)->data);
}

/* Returns true if a variable cannot be read from a device. Packing then reports the error. */
bool dt_packed_differs(const dt_packed_variables *s, const char *packed) {
    dt_status *bad = dt_variables_fetch(s->variable, s->n);
    bool differs = bad != NULL;
    dt_status_free(bad);
    for (int i = 0; i < s->n && !differs; i++)
        differs =
            s->sent[i] == DT_SENT_ONCE &&
            memcmp(packed + s->offset[i], dt_host_data(s->variable[i]), (size_t)s->bytes[i]) != 0;
    return differs;
}

/* ---- versions ---- */

dt_status *dt_packed_versions_add(dt_packed_versions *k, const dt_packed_variables *s,
                                  int64_t version, dt_sent most) {
    dt_shared *message = NULL;
    dt_status *bad = dt_packed_copy(s, most, &message);
    if (bad) {
        dt_shared_unref(message);
        return bad;
    }
    DT_GROW(k->of, k->cap, k->n + 1);
    const int i = k->n++;
    k->of[i].version = version;
    k->of[i].most = most;
    k->of[i].message = message;
    return NULL;
}

dt_shared *dt_packed_versions_find(const dt_packed_versions *k, int64_t version, dt_sent least) {
    for (int i = 0; i < k->n; i++)
        if (k->of[i].version == version && k->of[i].most >= least) return k->of[i].message;
    return NULL;
}

void dt_packed_versions_drop(dt_packed_versions *k, int64_t below) {
    int kept = 0;
    for (int i = 0; i < k->n; i++)
        if (k->of[i].version < below) dt_shared_unref(k->of[i].message);
        else k->of[kept++] = k->of[i];
    k->n = kept;
    if (below < INT64_MAX) return;
    free(k->of);
    *k = (dt_packed_versions){0};
}

/* ---- what a step computed ---- */

#define SUBTRACT(type)                                                                             \
    for (int64_t i = 0; i < n; i++)                                                                \
        ((type *)into)[i] = ((const type *)after)[i] - ((const type *)before)[i];

/* Computes into = after - before. Integers are subtracted as unsigned numbers, so that they wrap
 * around. */
static void subtract(dt_dtype dtype, void *into, const void *after, const void *before, int64_t n) {
    if (dtype == DT_FLOAT32) SUBTRACT(float)
    else if (dtype == DT_FLOAT64) SUBTRACT(double)
    else if (dtype == DT_INT64) SUBTRACT(uint64_t)
    else SUBTRACT(uint32_t)
}

dt_status *dt_packed_write_step(const dt_packed_variables *s, const dt_halves *h,
                                const dt_view *result, const char *before, char *into) {
    DT_TRY(dt_variables_fetch(s->variable, s->n));
    for (int i = 0; i < s->n; i++) {
        const dt_variable *v = s->variable[i];
        const dt_type *t = &v->type;
        if (h->result[i] >= 0)
            memcpy(into + s->offset[i],
                   (const char *)result[h->result[i]].data +
                       v->first_row * (s->bytes[i] / rows_of(t)),
                   (size_t)s->bytes[i]);
        else if (h->moves[i])
            subtract(t->dtype, into + s->offset[i], dt_host_data(v), before + s->offset[i],
                     dt_type_elements(t));
    }
    return NULL;
}

static dt_status *move_state(const dt_packed_variables *s, const dt_halves *h, const char *from) {
    for (int i = 0; i < s->n; i++) {
        const dt_type *t = &s->variable[i]->type;
        if (!h->moves[i]) continue;
        DT_TRY(dt_variable_edit(s->variable[i]));
        if (!dt_array_add(t->dtype, dt_host_edit(s->variable[i]), from + s->offset[i],
                          dt_type_elements(t)))
            return dt_fail(DT_E_INTERNAL, NULL, "'%s' cannot be added to", s->variable[i]->path);
    }
    return NULL;
}

/* Copies the parts to aligned memory (arguments begin at multiples of 64 bytes) and runs the
 * update. */
static dt_status *run_update(const dt_halves *h, dt_compiled *update, dt_view *argument,
                             dt_view *result, const char *from) {
    const int64_t batch = dt_parts_rows(h, from), bytes = dt_parts_bytes(h, batch);
    const int32_t rows[] = {0, (int32_t)batch};
    DT_LOCAL char *parts = dt_try_alloc((size_t)bytes);
    if (!parts)
        return dt_fail(DT_E_NO_MEMORY, NULL, "out of memory for parts of gradients (%lld bytes)",
                       (long long)bytes);
    if (bytes > 0) dt_parts_read(h, from, parts, argument);
    return dt_compiled_run(update, rows, argument, result);
}

dt_status *dt_packed_apply(const dt_packed_variables *s, const dt_halves *h, dt_compiled *update,
                           dt_view *argument, dt_view *result, const dt_pushed *from) {
    for (int i = 0; i < s->n; i++)
        if (h->argument[i] >= 0)
            argument[h->argument[i]] =
                (dt_view){.type = s->variable[i]->type, .data = from->slices + s->offset[i]};
    if (update) DT_TRY(run_update(h, update, argument, result, from->parts));
    return move_state(s, h, from->slices);
}
