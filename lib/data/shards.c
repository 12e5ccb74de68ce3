/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who reads what. The examples are numbered, and a pipeline of those numbers, file by file where the format has files, is distributed to the
 * workers by the very rewriting that distributes data. Then every worker's share is run through, and each number must come out once.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "data/dataset.h"
#include "data/inspect.h"
#include "data/pipeline/distribution.h"

#define MOST_EXAMPLES ((int64_t)1 << 28)

enum { SHOWN = 4 };

/* ---- the pipeline of numbers ---- */

/* A file's number becomes those of its examples. first: [files + 1], owned. */
static dt_status *examples_of(const dt_item *item, void *user, dt_pipe **out)
{
    const int64_t *first = user, file = *(const int64_t *)item->array[0]->data;
    dt_dataset *d = NULL;
    DT_TRY(dt_dataset_range(&d, first[file], first[file + 1], 1));
    *out = dt_pipe_ref(dt_dataset_pipe(d));
    dt_dataset_unref(d);
    return NULL;
}

/* Where the files begin among the part's examples: of a split and of `take` some have fewer, or none. */
static int64_t *firsts_within(const dt_rows *r, const int64_t *first, int64_t files)
{
    int64_t *within = dt_alloc(((size_t)files + 1) * sizeof *within);
    for (int64_t i = 0; i <= files; i++) {
        const int64_t at = first[i] - r->first;
        within[i] = at < 0 ? 0 : at < r->count ? at : r->count;
    }
    return within;
}

static dt_status *number_files(const dt_rows *r, const int64_t *first, int64_t files, dt_dataset **out)
{
    const dt_type scalar = dt_scalar_type(DT_INT64);
    dt_dataset *names = NULL;
    int64_t *within = firsts_within(r, first, files);
    const dt_expander x = {.expand = examples_of, .user = within, .release = free, .cycle_length = 1, .block_length = 1};
    dt_status *s = dt_dataset_range(&names, 0, files, 1);
    if (s)
        free(within);
    else
        s = dt_dataset_build_interleave(out, names, &x, true, dt_spec_single(DT_ONLY_COMPONENT, &scalar));
    dt_dataset_unref(names);
    return s;
}

typedef struct shared {
    const dt_sharing *q;
    const char *format;
    dt_auto_shard_policy policy, resolved;
    int64_t files;           /* 0: the format has none that follow one another */
    int64_t count, batch;    /* examples of one pass, whatever `repeat` says */
    dt_dataset *numbers;     /* in global batches */
    uint8_t *times;          /* [count] how often each was read; 255: as often or more */
    int64_t *read;           /* [workers] */
    int64_t *shown;          /* [workers * SHOWN] the first ones */
} shared;

static dt_status *number_examples(shared *x)
{
    const dt_dataset_spec *spec = dt_dataset_spec_of(x->q->data);
    const dt_rows *r = &x->q->data->rows[x->q->part];
    const int64_t *first = NULL;
    dt_dataset *numbers = NULL;
    x->files = spec->format->files ? spec->format->files(r->x, &first) : 0;
    if (x->files == 0 && x->policy == DT_AUTO_SHARD_FILE && x->q->workers > 1)
        return dt_fail(DT_E_UNSHARDABLE, NULL, "the data set cannot be sharded by files: format '%s' has none that follow one another", x->format);
    dt_status *s = x->files > 0 ? number_files(r, first, x->files, &numbers) : dt_dataset_range(&numbers, 0, x->count, 1);
    if (!s)
        s = dt_dataset_batch(&x->numbers, numbers, x->batch, spec->last_batch == DT_LAST_DROP);
    dt_dataset_unref(numbers);
    return s;
}

/* ---- running it ---- */

static void take(shared *x, int64_t worker, int64_t number)
{
    if (x->read[worker] < SHOWN)
        x->shown[worker * SHOWN + x->read[worker]] = number;
    x->read[worker]++;
    x->times[number] += x->times[number] < UINT8_MAX;
}

static dt_status *run_worker(shared *x, int64_t worker)
{
    const dt_share share = {.workers = x->q->workers, .replicas = 1, .worker = worker, .policy = x->policy};
    dt_pipe *p = NULL;
    dt_cursor *c = NULL;
    dt_item item = {0};
    dt_status *s = dt_pipe_for_worker(&p, dt_dataset_pipe(x->numbers), &share);
    if (!s)
        s = dt_cursor_open(&c, p, 0);
    while (!s && !(s = dt_cursor_next(c, &item)) && item.n > 0) {
        const int64_t *number = item.array[0]->data, n = dt_type_elements(&item.array[0]->type);
        for (int64_t i = 0; i < n; i++)
            take(x, worker, number[i]);
        dt_item_release(&item);
    }
    dt_cursor_close(c);
    dt_pipe_unref(p);
    return s;
}

static dt_status *run_all(shared *x)
{
    const dt_share share = {.workers = x->q->workers, .replicas = 1, .policy = x->policy};
    int64_t too_few;
    DT_TRY(number_examples(x));
    x->resolved = dt_resolve_policy(dt_dataset_pipe(x->numbers), &share, &too_few);
    for (int64_t w = 0; w < x->q->workers; w++)
        DT_TRY(run_worker(x, w));
    return NULL;
}

/* Examples that were read so often: 0 times, or more than once. */
static int64_t count_times(const shared *x, bool twice)
{
    int64_t n = 0;
    for (int64_t i = 0; i < x->count; i++)
        n += twice ? x->times[i] > 1 : x->times[i] == 0;
    return n;
}

/* ---- what came out ---- */

static const char *const policies[] = {"auto", "file", "data", "off", "hint"};
static const char *const ways[] = {"auto", "file", "element", "nothing", "nothing"}; /* numbered examples have no hint */

static void put_text(const shared *x, dt_str *out)
{
    const int64_t twice = count_times(x, true), none = count_times(x, false);
    dt_str_printf(out, "%s   %s   ", x->q->title, x->format);
    dt_str_grouped(out, x->count);
    dt_str_printf(out, " examples in %lld file%s, %lld workers\n", (long long)(x->files ? x->files : 1), x->files > 1 ? "s" : "", (long long)x->q->workers);
    dt_str_printf(out, "policy %s: sharded by %s", policies[x->policy], ways[x->resolved]);
    if (x->policy == DT_AUTO_SHARD_AUTO && x->resolved == DT_AUTO_SHARD_DATA && x->files > 0)
        dt_str_printf(out, ", %lld file%s < %lld workers", (long long)x->files, x->files == 1 ? "" : "s", (long long)x->q->workers);
    dt_str_puts(out, "\n\nworker   examples   first of them\n");
    for (int64_t w = 0; w < x->q->workers; w++) {
        size_t from = out->size;
        dt_str_printf(out, "%lld", (long long)w);
        dt_str_pad(out, from, 9);
        from = out->size;
        dt_str_grouped(out, x->read[w]);
        dt_str_pad(out, from, 11);
        for (int64_t i = 0; i < SHOWN && i < x->read[w]; i++)
            dt_str_printf(out, "%s%lld", i ? ", " : "", (long long)x->shown[w * SHOWN + i]);
        dt_str_puts(out, x->read[w] > SHOWN ? ", ...\n" : "\n");
    }
    dt_str_puts(out, "\n");
    if (twice == 0 && none == 0)
        dt_str_puts(out, "every example is read by exactly one worker\n");
    else
        dt_str_printf(out, "%lld examples are read by more than one worker, %lld by none\n", (long long)twice, (long long)none);
}

static void put_json(const shared *x, dt_str *out)
{
    dt_json j = {.out = out};
    dt_json_open(&j, NULL, '{');
    dt_json_int(&j, "v", 1);
    dt_json_string(&j, "format", x->format);
    dt_json_int(&j, "examples", x->count);
    dt_json_int(&j, "files", x->files ? x->files : 1);
    dt_json_int(&j, "workers", x->q->workers);
    dt_json_string(&j, "policy", policies[x->policy]);
    dt_json_string(&j, "sharded_by", ways[x->resolved]);
    dt_json_int(&j, "read_twice", count_times(x, true));
    dt_json_int(&j, "read_never", count_times(x, false));
    dt_json_open(&j, "worker", '[');
    for (int64_t w = 0; w < x->q->workers; w++) {
        dt_json_open(&j, NULL, '{');
        dt_json_int(&j, "worker", w);
        dt_json_int(&j, "examples", x->read[w]);
        dt_json_close(&j, '}');
    }
    dt_json_close(&j, ']');
    dt_json_close(&j, '}');
    dt_str_putc(out, '\n');
}

static dt_status *find_policy(const dt_sharing *q, dt_auto_shard_policy *out)
{
    const char *name = q->policy ? q->policy : dt_dataset_spec_of(q->data)->auto_shard_policy;
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
        if (name && strcmp(name, policies[i]) == 0) {
            *out = (dt_auto_shard_policy)i;
            return NULL;
        }
    return dt_fail(DT_E_SHARD, NULL, "unknown policy '%s'; known: auto, file, data, off, hint", name ? name : "");
}

/* What was promised: all policies but OFF and HINT give each example to one worker. A dropped remainder is read by none. */
static dt_status *judge(const shared *x)
{
    const bool drops = dt_dataset_spec_of(x->q->data)->last_batch == DT_LAST_DROP;
    if (x->resolved == DT_AUTO_SHARD_OFF || x->resolved == DT_AUTO_SHARD_HINT || x->q->workers == 1)
        return NULL;
    if (count_times(x, true) > 0 || (!drops && count_times(x, false) > 0))
        return dt_fail(DT_E_INTERNAL, NULL, "shards overlap, or leave examples out");
    return NULL;
}

dt_status *dt_dataset_shares(const dt_sharing *q, dt_str *out)
{
    shared x = {.q = q, .format = dt_dataset_spec_of(q->data)->format->kind.name, .count = q->data->rows[q->part].count,
                .batch = q->batch};
    DT_TRY(find_policy(q, &x.policy));
    if (x.count > MOST_EXAMPLES)
        return dt_fail(DT_E_TOO_LARGE, NULL, "%lld examples; at most %lld are numbered", (long long)x.count, (long long)MOST_EXAMPLES);
    x.times = dt_alloc((size_t)x.count + 1);
    x.read = dt_alloc((size_t)q->workers * sizeof *x.read);
    x.shown = dt_alloc((size_t)q->workers * SHOWN * sizeof *x.shown);
    dt_status *s = run_all(&x);
    if (!s)
        (q->json ? put_json : put_text)(&x, out);
    if (!s)
        s = judge(&x);
    dt_dataset_unref(x.numbers);
    free(x.times);
    free(x.read);
    free(x.shown);
    return s;
}
