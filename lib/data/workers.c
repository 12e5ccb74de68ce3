/* SPDX-License-Identifier: Apache-2.0 */
/* See workers.h. A stream's pieces have sizes that go round, G / n and one more for the first G mod
 * n of n pieces, as pipeline/worker.c draws it. */
#include "data/workers.h"

#include <string.h>

#include "base/arena.h"
#include "base/size.h"
#include "data/dataset.h"

/* ---- policies ---- */

static const dt_location *place_of_policy(const dt_dataset *d) {
    const dt_tree *value = d->spec.tree ? dt_tree_get(d->spec.tree, "auto_shard_policy") : NULL;
    return value ? &value->at : &d->spec.at;
}

static int64_t files_of(const dt_examples *x) { return x->first ? x->paths.n : 0; }

static dt_status *check_files(const dt_dataset *d, const dt_location *at, int64_t workers) {
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

dt_status *dt_workers_dealing(const dt_dataset *d, const char *policy, int64_t workers,
                              dt_dealing *out) {
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

/* ---- streams ---- */

/* Of pieces first, first + 1, ... of a round: the rows of `pieces` of them. */
static int64_t rows_of(const dt_workers *x, int64_t first, int64_t pieces) {
    const int64_t all = x->n * x->replicas, more = x->batch % all, end = first + pieces;
    const int64_t to = end / all * more + (end % all < more ? end % all : more),
                  from = first < more ? first : more;
    return pieces * (x->batch / all) + to - from;
}

/* Where a piece of a stream begins, however long the stream is. */
static int64_t begin_of(const dt_workers *x, int64_t stream, int64_t piece) {
    const int64_t all = x->n * x->replicas, round = piece / all, at = piece % all;
    if (!x->even)
        return round * x->batch + rows_of(x, x->streams > 1 ? stream * x->replicas : 0, at);
    const int64_t left = x->length[0] - round * x->batch,
                  rows = left < 0 ? 0 : dt_min(left, x->batch);
    return round * x->batch + dt_min(at * ((rows + all - 1) / all), rows);
}

/* The piece of replica r, counted over all workers, in a step. */
static int64_t piece_of(const dt_workers *x, int64_t step, int64_t r) {
    const int64_t worker = r / x->replicas, own = r % x->replicas;
    switch (x->dealing) {
    case DT_DEAL_GLOBAL: return step * x->n * x->replicas + r;
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

/* Example i of a worker's files. */
static int64_t example_of_files(const dt_workers *x, int64_t worker, int64_t i) {
    /* its files: the last that begins at i or before */
    int64_t low = 0, high = (x->files - worker + x->n - 1) / x->n;
    while (high - low > 1) {
        const int64_t middle = (low + high) / 2;
        *(x->before[worker + middle * x->n] <= i ? &low : &high) = middle;
    }
    const int64_t file = worker + low * x->n;
    return x->first[file] + i - x->before[file];
}

void dt_workers_deal(dt_workers *x, const dt_dealt *q) {
    int64_t row = 0, out = 0;
    for (int64_t r = 0; r < x->n * x->replicas && out < q->count; r++) {
        const span s = span_of(x, q->step, r);
        for (int64_t i = s.from; i < s.to && out < q->count; i++) {
            if (row++ < q->from) continue;
            const int64_t at = dt_order_at(&x->order[s.stream], q->epoch, i);
            q->example[out] = x->dealing == DT_DEAL_FILE ? example_of_files(x, s.stream, at) : at;
            q->pass[out++] = dt_order_pass(&x->order[s.stream], q->epoch, i);
        }
    }
}

/* ---- making ---- */

/* Where the files begin among the part's examples: of a split and of `take` some have fewer, or
 * none. */
static void take_files(dt_arena *arena, const dt_dataset *d, const dt_workers_options *o,
                       dt_workers *x, int64_t *own) {
    const dt_rows *r = &d->rows[o->part];
    const int64_t *stored = r->x->first;
    x->files = r->x->paths.n;
    int64_t *first = dt_arena_array(arena, int64_t, x->files + 1),
            *before = dt_arena_array(arena, int64_t, x->files);
    for (int64_t i = 0; i <= x->files; i++) {
        const int64_t at = stored[i] - r->first;
        first[i] = at < 0 ? 0 : dt_min(at, r->count);
    }
    for (int64_t i = 0; i < x->files; i++) {
        before[i] = own[i % x->n];
        own[i % x->n] += first[i + 1] - first[i];
    }
    x->first = first;
    x->before = before;
}

/* The first one's is that of one process; the others have seeds of their own. */
static uint64_t seed_of(const dt_dataset *d, int stream) {
    return d->spec.shuffle_seed + (uint64_t)stream * UINT64_C(0x9e3779b97f4a7c15);
}

/* Steps until a stream has been read; a drop_remainder leaves whole batches, of which each worker
 * cuts n steps. */
static int64_t steps_of(const dt_workers *x, int stream, bool drops) {
    const int64_t whole = x->length[stream] / x->batch, rest = x->length[stream] % x->batch;
    if (x->streams == 1) return whole + (rest > 0);
    int64_t pieces = 0;
    while (!drops && rows_of(x, stream * x->replicas, pieces) < rest) pieces++;
    return whole * x->n + (pieces + x->replicas - 1) / x->replicas;
}

/* With drop_remainder all steps are full ones: the first piece that lacks ends the epoch. */
static void count_steps(dt_workers *x, bool drops) {
    for (int i = 0; i < x->streams; i++) {
        if (drops) x->length[i] -= x->length[i] % x->batch;
        const int64_t steps = steps_of(x, i, drops);
        x->steps = i == 0 || (drops ? steps < x->steps : steps > x->steps) ? steps : x->steps;
    }
    x->examples = dt_workers_fed(x, x->steps);
}

dt_status *dt_workers_make(dt_arena *arena, const dt_dataset *d, const dt_workers_options *o,
                           dt_workers *out) {
    const bool apart = o->dealing == DT_DEAL_FILE || o->dealing == DT_DEAL_ALL;
    *out = (dt_workers){.dealing = o->dealing,
                        .n = o->workers,
                        .replicas = o->replicas,
                        .batch = o->batch,
                        .even = o->even && !apart,
                        .streams = apart ? (int)o->workers : 1};
    if (apart && o->batch < o->workers * o->replicas)
        return dt_fail(DT_E_SHARD, place_of_policy(d),
                       "a global batch of %lld is too small for %lld replicas whose workers read "
                       "separate shards",
                       (long long)o->batch, (long long)(o->workers * o->replicas));
    out->length = dt_arena_array(arena, int64_t, out->streams);
    out->order = dt_arena_array(arena, dt_order, out->streams);
    for (int i = 0; i < out->streams; i++)
        out->length[i] = o->dealing == DT_DEAL_FILE ? 0 : d->rows[o->part].count;
    if (o->dealing == DT_DEAL_FILE) take_files(arena, d, o, out, out->length);
    for (int i = 0; i < out->streams; i++) {
        out->order[i] =
            dt_order_make(seed_of(d, i), out->length[i], o->repeat, o->shuffle, d->spec.reshuffle);
        out->length[i] *= o->repeat;
    }
    count_steps(out, o->last == DT_LAST_DROP);
    return NULL;
}
