/* SPDX-License-Identifier: Apache-2.0 */
/* Reports which worker reads which examples: deals one pass over the examples to the workers with
 * the same code as `fit` (workers.c), and counts how often each example was read. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "data/parts.h"
#include "data/inspect.h"

#define MOST_EXAMPLES ((int64_t)1 << 28)

enum { SHOWN = 4 };

typedef struct shared {
    const dt_sharing *q;
    const char *format;
    dt_auto_shard_policy asked, policy; /* policy: what dt_workers_policy makes of `asked` */
    int64_t files;                      /* number of files of the part; 0 if unknown */
    int64_t count;                      /* number of examples in one pass, without `repeat` */
    uint8_t *times; /* [count] how often each example was read; 255 stands for that or more */
    int64_t *read;  /* [workers] number of examples that each worker read */
    int64_t *shown; /* [workers * SHOWN] the first examples of each worker */
} shared;

static void count_example(shared *x, int64_t worker, int64_t number) {
    if (x->read[worker] < SHOWN) x->shown[worker * SHOWN + x->read[worker]] = number;
    x->read[worker]++;
    x->times[number] += x->times[number] < UINT8_MAX;
}

static void run_step(shared *x, dt_workers *w, int64_t step, dt_arena *arena) {
    const int64_t all = w->n * w->replicas;
    int32_t *offsets = dt_arena_array(arena, int32_t, all + 1);
    const int64_t rows = dt_workers_cut(w, step, offsets);
    int64_t *example = dt_arena_array(arena, int64_t, rows + 1),
            *pass = dt_arena_array(arena, int64_t, rows + 1);
    dt_workers_deal(w, 0, step, 0, &(dt_indices){rows, example, pass});
    for (int64_t r = 0; r < all; r++)
        for (int32_t i = offsets[r]; i < offsets[r + 1]; i++)
            count_example(x, r / w->replicas, example[i]);
}

/* Deals all steps of an epoch. If the workers follow the order of one process, a batch has at most
 * all examples, as in `fit`. */
static dt_status *run_all(shared *x) {
    const dt_dataset_spec *spec = dt_dataset_spec_of(x->q->data);
    const bool clips = x->policy == DT_AUTO_SHARD_AUTO && x->count < x->q->batch;
    dt_arena *arena = dt_arena_create();
    dt_workers w = {.part = x->q->part,
                    .to = dt_rows_of(x->q->data, x->q->part)->examples,
                    .policy = x->policy,
                    .n = x->q->workers,
                    .replicas = x->q->replicas,
                    .batch = clips ? x->count : x->q->batch,
                    .repeat = 1,
                    .last = spec->last_batch,
                    .shuffle = spec->shuffle && x->q->part == DT_PART_TRAIN};
    dt_status *s = dt_workers_prepare(&w, arena, x->q->data);
    for (int64_t step = 0; !s && step < w.steps; step++) {
        dt_arena *scratch = dt_arena_create();
        run_step(x, &w, step, scratch);
        dt_arena_destroy(scratch);
    }
    dt_workers_release(&w);
    dt_arena_destroy(arena);
    return s;
}

/* If twice is set, returns the number of examples that were read more than once, else of those that
 * were never read. */
static int64_t count_times(const shared *x, bool twice) {
    int64_t n = 0;
    for (int64_t i = 0; i < x->count; i++) n += twice ? x->times[i] > 1 : x->times[i] == 0;
    return n;
}

/* [a policy of dt_workers_policy] what is dealt to the workers */
static const char *const ways[] = {"element", "file", "element", "nothing"};

static void put_text(const shared *x, dt_str *out) {
    const int64_t twice = count_times(x, true), none = count_times(x, false);
    dt_str_printf(out, "%s   %s   ", x->q->title, x->format);
    dt_str_grouped(out, x->count);
    dt_str_printf(out, " examples in %lld file%s, %lld worker%s\n",
                  (long long)(x->files ? x->files : 1), x->files > 1 ? "s" : "",
                  (long long)x->q->workers, x->q->workers == 1 ? "" : "s");
    dt_str_printf(out, "policy %s: %s", dt_policy_names[x->asked], dt_policy_words[x->policy]);
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
    if (twice == 0 && none == 0) dt_str_puts(out, "every example is read by exactly one worker\n");
    else
        dt_str_printf(out, "%lld examples are read by more than one worker, %lld by none\n",
                      (long long)twice, (long long)none);
}

static void put_json(const shared *x, dt_str *out) {
    dt_json j = {.out = out};
    dt_json_open(&j, NULL, '{');
    dt_json_int(&j, "v", 1);
    dt_json_string(&j, "format", x->format);
    dt_json_int(&j, "examples", x->count);
    dt_json_int(&j, "files", x->files ? x->files : 1);
    dt_json_int(&j, "workers", x->q->workers);
    dt_json_string(&j, "policy", dt_policy_names[x->asked]);
    dt_json_string(&j, "sharded_by", ways[x->policy]);
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

/* Sets x->asked to the policy that the request names or, if it names none, to that of the spec; and
 * x->policy to what dt_workers_policy makes of it. AUTO stays AUTO, even if the spec has another
 * policy. Fails if the name is unknown, or there are too few files. */
static dt_status *find_policy(shared *x) {
    const char *name = x->q->policy;
    int i = (int)dt_dataset_spec_of(x->q->data)->auto_shard_policy;
    if (name)
        for (i = 0; dt_policy_names[i] && strcmp(name, dt_policy_names[i]) != 0;) i++;
    if (!dt_policy_names[i])
        return dt_fail(DT_E_SHARD, NULL, "unknown policy '%s'; known: auto, file, data, off, hint",
                       name);
    x->asked = (dt_auto_shard_policy)i;
    return x->asked == DT_AUTO_SHARD_AUTO
               ? NULL
               : dt_workers_policy(x->q->data, x->asked, x->q->workers, &x->policy);
}

/* Checks the result: all policies but OFF and HINT give each example to exactly one worker. With
 * drop_remainder, examples may be left out. */
static dt_status *judge(const shared *x) {
    const bool drops = dt_dataset_spec_of(x->q->data)->last_batch == DT_LAST_DROP;
    if (x->policy == DT_AUTO_SHARD_OFF || x->q->workers == 1) return NULL;
    if (count_times(x, true) > 0 || (!drops && count_times(x, false) > 0))
        return dt_fail(DT_E_INTERNAL, NULL, "shards overlap, or leave examples out");
    return NULL;
}

dt_status *dt_dataset_shares(const dt_sharing *q, dt_str *out) {
    shared x = {.q = q,
                .format = dt_dataset_spec_of(q->data)->format->kind.name,
                .count = dt_rows_count(dt_rows_of(q->data, q->part))};
    DT_TRY(find_policy(&x));
    const dt_examples *from = dt_rows_of(q->data, q->part)->x;
    x.files = from->single ? x.count : from->first ? from->paths.n : 0;
    if (x.count > MOST_EXAMPLES)
        return dt_fail(DT_E_TOO_LARGE, NULL, "%lld examples; at most %lld are numbered",
                       (long long)x.count, (long long)MOST_EXAMPLES);
    x.times = dt_alloc((size_t)x.count + 1);
    x.read = dt_alloc((size_t)q->workers * sizeof *x.read);
    x.shown = dt_alloc((size_t)q->workers * SHOWN * sizeof *x.shown);
    dt_status *s = run_all(&x);
    if (!s) (q->json ? put_json : put_text)(&x, out);
    if (!s) s = judge(&x);
    free(x.times);
    free(x.read);
    free(x.shown);
    return s;
}
