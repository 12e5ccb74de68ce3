/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes which examples each replica gets in each step of an epoch. Input workers share a data
 * set by one of tf.data's sharding policies; a feed without them has one, with one replica. A
 * worker reads a stream of examples and cuts it into pieces, one for each of its replicas in each
 * step, as distributed pipelines do (pipeline/worker.c):
 *
 *     auto         one stream; the pieces of a step follow one another, in the order in which one
 *                  process would read the examples
 *     data         one stream; its pieces are dealt to the workers in turn
 *     file         a stream for each worker w of W: the examples of files w, w + W, ...
 *     off, hint    a stream for each worker: all examples (a job has nowhere to put a hint)
 *
 * If each worker has its own stream, each is shuffled by itself. Everything is computed from
 * (seed, epoch, step), so a feed can begin anywhere.
 *
 * Unless they are even, the pieces of a stream have sizes that repeat with each global batch of G
 * examples: n pieces of G / n, and one more for the first G mod n of them; pipeline/worker.c shows
 * an example.
 */
#include <string.h>

#include "base/arena.h"
#include "base/size.h"
#include "data/pipeline/build.h"

/* ---- policies ---- */

const char *const dt_policy_words[] = {"sharded by element", "sharded by file",
                                       "sharded by element", "not sharded", "not sharded"};

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

dt_status *dt_workers_policy(const dt_dataset *data, dt_auto_shard_policy asked, int64_t workers,
                             dt_auto_shard_policy *out) {
    const dt_parts *d = dt_parts_of(data);
    *out = asked == DT_AUTO_SHARD_AUTO ? d->spec.auto_shard_policy : asked;
    if (workers <= 1) *out = DT_AUTO_SHARD_AUTO;
    if (*out == DT_AUTO_SHARD_HINT) *out = DT_AUTO_SHARD_OFF;
    return *out == DT_AUTO_SHARD_FILE
               ? check_files(d, asked == DT_AUTO_SHARD_AUTO ? place_of_policy(d) : NULL, workers)
               : NULL;
}

dt_status *dt_dataset_sharing(const dt_dataset *data, int64_t workers, dt_str *out) {
    const dt_auto_shard_policy own = dt_parts_of(data)->spec.auto_shard_policy;
    dt_auto_shard_policy policy;
    DT_TRY(dt_workers_policy(data, DT_AUTO_SHARD_AUTO, workers, &policy));
    dt_str_puts(out, dt_policy_words[own]);
    if (policy != DT_AUTO_SHARD_AUTO)
        dt_str_printf(out, " (results depend on the number of workers: %lld)", (long long)workers);
    return NULL;
}

/* ---- streams ---- */

/* Returns the number of rows in `pieces` consecutive pieces, beginning with piece `first` of a
 * batch and continuing with further batches. */
static int64_t rows_of(const dt_workers *x, int64_t first, int64_t pieces) {
    const int64_t all = x->n * x->replicas, more = x->batch % all, end = first + pieces;
    const int64_t to = end / all * more + (end % all < more ? end % all : more),
                  from = first < more ? first : more;
    return pieces * (x->batch / all) + to - from;
}

/* Returns the index in a stream of the first row of a piece, as if the stream were endless; if
 * pieces are even, those of the last batch depend on the length of the stream. */
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
    if (x->policy == DT_AUTO_SHARD_AUTO) return step * x->n * x->replicas + r;
    const int64_t worker = r / x->replicas, own = r % x->replicas;
    return x->policy == DT_AUTO_SHARD_DATA ? (step * x->replicas + own) * x->n + worker
                                           : step * x->replicas + own;
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

void dt_workers_deal(const dt_workers *x, int64_t epoch, int64_t step, int64_t from,
                     const dt_indices *out) {
    int64_t row = 0, n = 0;
    for (int64_t r = 0; r < x->n * x->replicas && n < out->n; r++) {
        const span s = span_of(x, step, r);
        const int64_t first = s.from + dt_max(from - row, 0),
                      count = dt_min(s.to - first, out->n - n);
        const dt_indices some = {count, out->example + n, out->pass + n};
        for (int64_t i = 0; i < count; i++) {
            some.example[i] = first + i;
            some.pass[i] = epoch;
        }
        if (count > 0) dt_dataset_index(x->stream[s.stream], x->to, &some);
        n += dt_max(count, 0);
        row += s.to - s.from;
    }
}

/* ---- preparing ---- */

/* Returns the number of rows of a part whose indices among the format's examples are below
 * `number`. */
static int64_t rows_before(const dt_rows *r, int64_t number) {
    int64_t low = 0, high = dt_rows_count(r);
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (dt_rows_number(r, middle) < number) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* The examples of the files of a worker. After a split or `take`, files may have fewer examples, or
 * none. */
struct files {
    int64_t n;
    /* first: [n] index in the part of the first example of each file; before: [n + 1] number of
     * examples before the file */
    int64_t *first, *before;
};

static int64_t count_in_files(const dt_dataset *d) {
    const struct files *a = d->args;
    return a->before[a->n];
}

/* Searches for the last file that begins at or before an example. */
static void index_in_files(const dt_dataset *d, const dt_indices *q) {
    const struct files *a = d->args;
    for (int64_t i = 0; i < q->n; i++) {
        int64_t low = 0, high = a->n;
        while (high - low > 1) {
            const int64_t middle = (low + high) / 2;
            *(a->before[middle] <= q->example[i] ? &low : &high) = middle;
        }
        q->example[i] += a->first[low] - a->before[low];
    }
}

static dt_status *add_files(const dt_workers *x, int worker, dt_arena *arena, const dt_rows *r) {
    static const dt_transform row = {.name = "files",
                                     .args_size = sizeof(struct files),
                                     .count = count_in_files,
                                     .index = index_in_files};
    struct files a = {.first = dt_arena_array(arena, int64_t, r->x->paths.n),
                      .before = dt_arena_array(arena, int64_t, r->x->paths.n + 1)};
    for (int64_t i = worker; i < r->x->paths.n; i += x->n, a.n++) {
        a.first[a.n] = rows_before(r, r->x->first[i]);
        a.before[a.n + 1] = a.before[a.n] + rows_before(r, r->x->first[i + 1]) - a.first[a.n];
    }
    dt_dataset **s = &x->stream[worker];
    return dt_dataset_build(s, &row, *s, &a, dt_spec_copy(&(*s)->spec));
}

/* Returns the shuffle seed of a stream. The first stream has the seed that a single process uses;
 * the others have different ones. */
static uint64_t seed_of(const dt_parts *d, int stream) {
    return d->spec.shuffle_seed + (uint64_t)stream * UINT64_C(0x9e3779b97f4a7c15);
}

/* Returns the number of steps until a stream has been read. With drop_remainder the stream has only
 * whole batches, and a worker that has a stream of its own cuts each batch into as many steps as
 * there are workers. */
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

static dt_status *add_stream(const dt_workers *x, int i, dt_arena *arena, const dt_parts *d) {
    const dt_rows *r = &d->rows[x->part];
    dt_dataset **s = &x->stream[i];
    *s = dt_dataset_ref(r->examples);
    if (x->policy == DT_AUTO_SHARD_FILE) DT_TRY(add_files(x, i, arena, r));
    if (x->shuffle) DT_TRY(dt_dataset_add_shuffle(s, *s, seed_of(d, i), d->spec.reshuffle));
    DT_TRY(dt_dataset_add_repeat(s, *s, x->repeat));
    x->length[i] = (*s)->length;
    return NULL;
}

dt_status *dt_workers_prepare(dt_workers *x, dt_arena *arena, const dt_dataset *data) {
    const dt_parts *d = dt_parts_of(data);
    const bool apart = x->policy == DT_AUTO_SHARD_FILE || x->policy == DT_AUTO_SHARD_OFF;
    x->even = x->even && !apart;
    x->streams = apart ? (int)x->n : 1;
    x->length = dt_arena_array(arena, int64_t, x->streams);
    x->stream = dt_arena_array(arena, dt_dataset *, x->streams);
    if (apart && x->batch < x->n * x->replicas)
        return dt_fail(DT_E_SHARD, place_of_policy(d),
                       "a global batch of %lld is too small for %lld replicas whose workers read "
                       "separate shards",
                       (long long)x->batch, (long long)(x->n * x->replicas));
    for (int i = 0; i < x->streams; i++) DT_TRY(add_stream(x, i, arena, d));
    count_steps(x);
    return NULL;
}

void dt_workers_release(const dt_workers *x) {
    for (int i = 0; i < x->streams; i++) dt_dataset_unref(x->stream[i]);
}
