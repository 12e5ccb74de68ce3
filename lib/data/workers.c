/* SPDX-License-Identifier: Apache-2.0 */
/* See workers.h. The pieces of a stream have sizes that repeat with each global batch of G
 * examples: n pieces of G / n, and one more for the first G mod n of them; pipeline/worker.c shows
 * an example. */
#include "data/workers.h"

#include <string.h>

#include "base/arena.h"
#include "base/size.h"
#include "data/parts.h"

/* ---- order ---- */

/* Permutations are computed, not stored, so a pass over a billion examples needs no table. */
dt_order dt_order_make(uint64_t seed, int64_t n, int64_t repeat, bool shuffle, bool reshuffle) {
    return (dt_order){.seed = seed,
                      .n = n,
                      .repeat = repeat,
                      .shuffle = shuffle,
                      .reshuffle = reshuffle,
                      .pass = -1};
}

int64_t dt_order_pass(const dt_order *o, int64_t epoch, int64_t i) {
    return epoch * o->repeat + i / o->n;
}

/* Returns the example at position `at` of a pass. */
static int64_t order_in_pass(dt_order *o, int64_t pass, int64_t at) {
    if (!o->shuffle) return at;
    if (!o->reshuffle) pass = 0;
    if (pass != o->pass) {
        o->current = dt_permutation_make(o->seed, "shuffle", (uint64_t)pass, (uint64_t)o->n);
        o->pass = pass;
    }
    return (int64_t)dt_permutation_at(&o->current, (uint64_t)at);
}

int64_t dt_order_at(dt_order *o, int64_t epoch, int64_t i) {
    return order_in_pass(o, dt_order_pass(o, epoch, i), i % o->n);
}

/* ---- policies ---- */

static const dt_location *place_of_policy(const dt_parts *d) {
    const dt_tree *value = d->spec.tree ? dt_tree_get(d->spec.tree, "auto_shard_policy") : NULL;
    return value ? &value->at : &d->spec.at;
}

static int64_t files_of(const dt_examples *x) { return x->first ? x->paths.n : 0; }

static dt_status *check_files(const dt_parts *d, const dt_location *at, int64_t workers) {
    const int64_t files = files_of(d->rows[DT_PART_TRAIN].x);
    if (files >= workers) return NULL;
    if (files == 0 && !dt_format_is_named(d->spec.format))
        return dt_fail(DT_E_UNSHARDABLE, at,
                       "auto_shard_policy: file: examples in memory have no files");
    if (files == 0)
        return dt_fail(DT_E_UNSHARDABLE, at,
                       "auto_shard_policy: file: format '%s' is not divided into files, as csv and "
                       "tfrecord are",
                       d->spec.format->kind.name);
    return dt_fail(DT_E_TOO_FEW_FILES, at,
                   "auto_shard_policy: file: %lld file%s cannot be shared by %lld workers",
                   (long long)files, files == 1 ? "" : "s", (long long)workers);
}

dt_status *dt_workers_dealing(const dt_dataset *data, const char *policy, int64_t workers,
                              dt_dealing *out) {
    const dt_parts *d = dt_parts_of(data);
    static const struct {
        const char *name;
        dt_dealing dealing;
    } rows[] = {
        {"auto", DT_DEAL_GLOBAL}, {"file", DT_DEAL_FILE}, {"data", DT_DEAL_DATA},
        {"off", DT_DEAL_ALL},     {"hint", DT_DEAL_ALL},
    };
    const char *name = policy ? policy : d->spec.auto_shard_policy;
    *out = DT_DEAL_GLOBAL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (workers > 1 && strcmp(name, rows[i].name) == 0) *out = rows[i].dealing;
    return *out == DT_DEAL_FILE ? check_files(d, policy ? NULL : place_of_policy(d), workers)
                                : NULL;
}

dt_status *dt_dataset_sharing(const dt_dataset *data, int64_t workers, dt_str *out) {
    const dt_parts *d = dt_parts_of(data);
    const char *policy = d->spec.auto_shard_policy;
    dt_dealing dealing;
    DT_TRY(dt_workers_dealing(data, NULL, workers, &dealing));
    if (strcmp(policy, "off") == 0 || strcmp(policy, "hint") == 0) dt_str_puts(out, "not sharded");
    else dt_str_puts(out, strcmp(policy, "file") == 0 ? "sharded by file" : "sharded by element");
    if (dealing != DT_DEAL_GLOBAL)
        dt_str_printf(out, " (results depend on the number of workers: %lld)", (long long)workers);
    return NULL;
}

/* ---- streams ---- */

/* Returns the number of rows in `pieces` consecutive pieces of a batch, beginning with piece
 * `first`. */
static int64_t rows_of(const dt_workers *x, int64_t first, int64_t pieces) {
    const int64_t all = x->n * x->replicas, more = x->batch % all, end = first + pieces;
    const int64_t to = end / all * more + (end % all < more ? end % all : more),
                  from = first < more ? first : more;
    return pieces * (x->batch / all) + to - from;
}

/* Returns the first row of a piece in its stream, as if the stream were endless. */
static int64_t begin_of(const dt_workers *x, int64_t stream, int64_t piece) {
    const int64_t all = x->n * x->replicas;
    /* This saves divisions, which matter because small batches are many. */
    if (all == 1) return piece * x->batch;
    const int64_t round = piece / all, at = piece % all;
    if (!x->even)
        return round * x->batch + rows_of(x, x->streams > 1 ? stream * x->replicas : 0, at);
    const int64_t left = x->length[0] - round * x->batch,
                  rows = left < 0 ? 0 : dt_min(left, x->batch);
    return round * x->batch + dt_min(at * ((rows + all - 1) / all), rows);
}

/* Returns the index, in its stream, of the piece that replica r (counted over all workers) gets in
 * a step. */
static int64_t piece_of(const dt_workers *x, int64_t step, int64_t r) {
    if (x->dealing == DT_DEAL_GLOBAL) return step * x->n * x->replicas + r;
    const int64_t worker = r / x->replicas, own = r % x->replicas;
    switch (x->dealing) {
    case DT_DEAL_DATA: return (step * x->replicas + own) * x->n + worker;
    default: return step * x->replicas + own;
    }
}

typedef struct span {
    int64_t stream, from, to;
} span;

static span span_of(const dt_workers *x, int64_t step, int64_t r) {
    const int64_t stream = x->streams > 1 ? r / x->replicas : 0, piece = piece_of(x, step, r),
                  length = x->length[stream];
    return (span){stream, dt_min(begin_of(x, stream, piece), length),
                  dt_min(begin_of(x, stream, piece + 1), length)};
}

int64_t dt_workers_cut(const dt_workers *x, int64_t step, int32_t *offsets) {
    int64_t rows = 0;
    for (int64_t r = 0; r < x->n * x->replicas; r++) {
        const span s = span_of(x, step, r);
        if (offsets) offsets[r] = (int32_t)rows;
        rows += s.to - s.from;
    }
    if (offsets) offsets[x->n * x->replicas] = (int32_t)rows;
    return rows;
}

int64_t dt_workers_fed(const dt_workers *x, int64_t steps) {
    int64_t sum = 0;
    if (x->streams == 1) return dt_min(steps * x->batch, x->length[0]);
    for (int w = 0; w < x->streams; w++)
        sum += dt_min(begin_of(x, w, steps * x->replicas), x->length[w]);
    return sum;
}

/* ---- examples ---- */

/* Returns the index in the part of example i of a worker's files. */
static int64_t example_of_files(const dt_workers *x, int64_t worker, int64_t i) {
    /* searches the worker's files for the last one that begins at or before i */
    int64_t low = 0, high = (x->files - worker + x->n - 1) / x->n;
    while (high - low > 1) {
        const int64_t middle = (low + high) / 2;
        *(x->before[worker + middle * x->n] <= i ? &low : &high) = middle;
    }
    const int64_t file = worker + low * x->n;
    return x->first[file] + i - x->before[file];
}

/* Appends examples at consecutive positions of a stream until q has all its rows. `out` is the
 * number of rows that q has already. Returns the number of rows added. Divides only once, since
 * this is done for each batch. */
static int64_t deal_some(dt_workers *x, const dt_dealt *q, const span *s, int64_t out) {
    dt_order *o = &x->order[s->stream];
    const int64_t n = dt_min(s->to - s->from, q->count - out);
    int64_t pass = dt_order_pass(o, q->epoch, s->from), at = s->from % o->n;
    for (int64_t i = out; i < out + n; i++) {
        const int64_t example = order_in_pass(o, pass, at);
        q->example[i] =
            x->dealing == DT_DEAL_FILE ? example_of_files(x, s->stream, example) : example;
        q->pass[i] = pass;
        if (++at < o->n) continue;
        at = 0;
        pass++;
    }
    return n;
}

void dt_workers_deal(dt_workers *x, const dt_dealt *q) {
    int64_t row = 0, out = 0;
    for (int64_t r = 0; r < x->n * x->replicas && out < q->count; r++) {
        const span s = span_of(x, q->step, r);
        const int64_t first = s.from + dt_max(q->from - row, 0);
        row += s.to - s.from;
        if (first < s.to) out += deal_some(x, q, &(span){s.stream, first, s.to}, out);
    }
}

/* ---- preparing ---- */

/* Returns the number of rows of a part whose indices among the format's examples are below
 * `number`. */
static int64_t rows_before(const dt_rows *r, int64_t number) {
    int64_t low = 0, high = r->count;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (dt_rows_number(r, middle) < number) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Finds where each file begins among the part's examples. After a split or `take`, files may have
 * fewer examples, or none. */
static void take_files(dt_workers *x, dt_arena *arena, const dt_parts *d) {
    const dt_rows *r = &d->rows[x->part];
    const int64_t *stored = r->x->first;
    x->files = r->x->paths.n;
    int64_t *first = dt_arena_array(arena, int64_t, x->files + 1),
            *before = dt_arena_array(arena, int64_t, x->files);
    for (int64_t i = 0; i <= x->files; i++) { first[i] = rows_before(r, stored[i]); }
    for (int64_t i = 0; i < x->files; i++) {
        before[i] = x->length[i % x->n];
        x->length[i % x->n] += first[i + 1] - first[i];
    }
    x->first = first;
    x->before = before;
}

/* Returns the shuffle seed of a stream. The first stream has the seed that a single process uses;
 * the others have different ones. */
static uint64_t seed_of(const dt_parts *d, int stream) {
    return d->spec.shuffle_seed + (uint64_t)stream * UINT64_C(0x9e3779b97f4a7c15);
}

/* Returns the number of steps until a stream has been read. With drop_remainder the stream has only
 * whole batches, and a worker that has a stream of its own cuts each batch into n steps. */
static int64_t steps_of(const dt_workers *x, int stream) {
    const int64_t whole = x->length[stream] / x->batch, rest = x->length[stream] % x->batch;
    if (x->streams == 1) return whole + (rest > 0);
    int64_t pieces = 0;
    while (x->last != DT_LAST_DROP && rows_of(x, stream * x->replicas, pieces) < rest) pieces++;
    return whole * x->n + (pieces + x->replicas - 1) / x->replicas;
}

/* Counts the steps of an epoch. With drop_remainder all steps are full, so the shortest stream ends
 * the epoch; else the longest one does. */
static void count_steps(dt_workers *x) {
    const bool drops = x->last == DT_LAST_DROP;
    for (int i = 0; i < x->streams; i++) {
        if (drops) x->length[i] -= x->length[i] % x->batch;
        const int64_t steps = steps_of(x, i);
        x->steps = i == 0 || (drops ? steps < x->steps : steps > x->steps) ? steps : x->steps;
    }
    x->examples = dt_workers_fed(x, x->steps);
}

dt_status *dt_workers_prepare(dt_workers *x, dt_arena *arena, const dt_dataset *data) {
    const dt_parts *d = dt_parts_of(data);
    const bool apart = x->dealing == DT_DEAL_FILE || x->dealing == DT_DEAL_ALL;
    x->even = x->even && !apart;
    x->streams = apart ? (int)x->n : 1;
    if (apart && x->batch < x->n * x->replicas)
        return dt_fail(DT_E_SHARD, place_of_policy(d),
                       "a global batch of %lld is too small for %lld replicas whose workers read "
                       "separate shards",
                       (long long)x->batch, (long long)(x->n * x->replicas));
    x->length = dt_arena_array(arena, int64_t, x->streams);
    x->order = dt_arena_array(arena, dt_order, x->streams);
    for (int i = 0; i < x->streams; i++)
        x->length[i] = x->dealing == DT_DEAL_FILE ? 0 : d->rows[x->part].count;
    if (x->dealing == DT_DEAL_FILE) take_files(x, arena, d);
    for (int i = 0; i < x->streams; i++) {
        x->order[i] =
            dt_order_make(seed_of(d, i), x->length[i], x->repeat, x->shuffle, d->spec.reshuffle);
        x->length[i] *= x->repeat;
    }
    count_steps(x);
    return NULL;
}
