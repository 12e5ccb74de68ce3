/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dtrain plan --search: plans the job with combinations of numbers of replicas, logical devices,
 * batch sizes, rematerialization and over_replicas. Every candidate is the job with overrides,
 * opened and planned like any job. Candidates that cannot be planned are counted, and the error of
 * the first is reported.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "job/partition.h"
#include "job/plan.h"

enum { MOST_WORDS = 8, SHOWN = 12, MOST_LOGICAL = 8 };

typedef struct candidate {
    int logical, replicas;
    int64_t batch;
    const char *rematerialize, *over_replicas;
    char *word[MOST_WORDS]; /* the overrides that make the job's variant, allocated in the arena */
    int words;
    bool fits;
    int64_t bytes;
    double seconds, rate;
} candidate;

typedef struct search {
    const dt_search_request *q;
    dt_arena *arena;
    candidate base;
    bool has_partition, has_assignment, by_replica;
    int mesh[4];
    int64_t examples; /* number of training examples in the data; 0: unknown */
    /* whether some larger batches were left out because there are too few examples for them */
    bool bounded;
    int n, cap, refused;
    candidate *at;
    char *why; /* the error of the first candidate that was refused */
} search;

/* ---- candidates ---- */

bool dt_search_block(const int mesh[4], int devices, int shape[4]) {
    static const int order[] = {3, 0, 1, 2};
    for (int k = 0; k < 4; k++) shape[k] = 1;
    for (int k = 0; k < 4 && devices > 1; k++) {
        int axis = order[k], most = mesh[axis] < devices ? mesh[axis] : devices;
        while (most > 1 && (devices % most || mesh[axis] % most)) most--;
        shape[axis] = most;
        devices /= most;
    }
    return devices == 1;
}

static void add_word(const search *s, candidate *c, const char *format, const char *value) {
    c->word[c->words++] = dt_arena_printf(s->arena, format, value);
}

static bool place_candidate(const search *s, candidate *c) {
    int shape[4], all = s->mesh[0] * s->mesh[1] * s->mesh[2] * s->mesh[3];
    if (!dt_search_block(s->mesh, c->logical, shape) || (c->logical > 1 && !s->has_partition))
        return false;
    c->replicas = all / c->logical;
    if (!s->has_assignment && c->logical == 1) return true;
    c->word[c->words++] =
        dt_arena_printf(s->arena, "strategy.device_assignment.computation_shape=[%d,%d,%d,%d]",
                        shape[0], shape[1], shape[2], shape[3]);
    c->word[c->words++] =
        dt_arena_printf(s->arena, "strategy.device_assignment.num_replicas=%d", c->replicas);
    return true;
}

static void add_candidate(search *s, candidate c) {
    int64_t batch = s->by_replica ? c.batch / c.replicas : c.batch;
    if (batch < 1) return;
    c.word[c.words++] = dt_arena_printf(
        s->arena, "dataset.%s=%lld", s->by_replica ? "per_replica_batch_size" : "global_batch_size",
        (long long)batch);
    add_word(s, &c, "model.rematerialize=%s", c.rematerialize);
    add_word(s, &c, "partition.over_replicas=%s", c.over_replicas);
    DT_GROW(s->at, s->cap, s->n + 1);
    s->at[s->n++] = c;
}

/* Whether the data has enough examples for a batch. If not, sets s->bounded. */
static bool has_examples(search *s, int64_t batch) {
    bool has = s->examples == 0 || batch <= s->examples;
    s->bounded = s->bounded || !has;
    return has;
}

/* Lists the candidates: with 1, 2, 4, ... MOST_LOGICAL devices per replica, the first two ways to
 * rematerialize (dt_rematerialize_names), and, with several replicas, all ways to divide variables.
 * More than one device per replica needs a `partition` in use by the job. The batch is 1, 2 and 4
 * times that of the job if the job fits, otherwise 1, 1/2, 1/4 and 1/8 times. */
static void list_candidates(search *s) {
    const int64_t least = s->base.fits ? s->base.batch : s->base.batch / 8,
                  most = s->base.fits ? 4 * s->base.batch : s->base.batch;
    for (int logical = 1; logical <= MOST_LOGICAL; logical *= 2) {
        candidate c = {.logical = logical};
        if (!place_candidate(s, &c)) continue;
        for (int64_t batch = most; batch >= least && batch > 0; batch /= 2)
            for (size_t r = 0; r < 2 && has_examples(s, batch); r++)
                for (size_t o = 0; o < (c.replicas > 1 ? 3 : 1); o++) {
                    c.batch = batch;
                    c.rematerialize = dt_rematerialize_names[r];
                    c.over_replicas = dt_over_replicas_names[o];
                    add_candidate(s, c);
                }
    }
}

/* ---- planning a candidate ---- */

dt_status *dt_search_open(const dt_job_source *from, char *const *more, int words, dt_arena *arena,
                          dt_job **job) {
    dt_job_source source = *from;
    int n = from->n_overrides + words;
    const char **word = dt_arena_array(arena, const char *, n + 1);
    if (from->n_overrides > 0)
        memcpy(word, from->overrides, (size_t)from->n_overrides * sizeof *word);
    if (words > 0) memcpy(word + from->n_overrides, more, (size_t)words * sizeof *word);
    source.overrides = word;
    source.n_overrides = n;
    return dt_job_open(job, &source);
}

static dt_status *open_with(const search *s, candidate *c, dt_job **job) {
    return dt_search_open(s->q->source, c->word, c->words, s->arena, job);
}

static void store_result(candidate *c, const dt_job_plan *p) {
    c->logical = p->logical;
    c->replicas = p->replicas;
    c->batch = p->step[0].rows;
    c->fits = dt_job_plan_fits(p);
    c->bytes = p->plan[0]->bytes.total;
    c->seconds = p->plan[0]->seconds;
    c->rate = dt_job_plan_examples_per_s(p);
}

static dt_status *plan_one(const search *s, candidate *c) {
    dt_job *job = NULL;
    dt_job_plan *p = NULL;
    dt_status *bad = open_with(s, c, &job);
    if (!bad) bad = dt_job_plan_create(&p, job, &(dt_plan_options){.budget = s->q->budget});
    if (!bad) store_result(c, p);
    dt_job_plan_destroy(p);
    dt_job_unref(job);
    return bad;
}

/* Plans the job as it is. Its plan shows what can be varied. */
static dt_status *plan_base(search *s) {
    dt_job *job = NULL;
    dt_job_plan *p = NULL;
    dt_status *bad = open_with(s, &s->base, &job);
    if (!bad) bad = dt_job_plan_create(&p, job, &(dt_plan_options){.budget = s->q->budget});
    if (!bad) {
        store_result(&s->base, p);
        s->base.rematerialize = job->model.rematerialize.name;
        s->base.over_replicas = dt_over_replicas_names[job->how.over_replicas];
        s->examples = dt_dataset_count(p->session.made_of.data, DT_PART_TRAIN);
        s->has_partition = job->partition && p->logical > 1;
        s->has_assignment = job->strategy.assignment != NULL;
        s->by_replica =
            dt_tree_get(dt_tree_get(job->tree, "dataset"), "per_replica_batch_size") != NULL;
        memcpy(s->mesh, dt_job_plan_topology(p)->mesh, sizeof s->mesh);
    }
    dt_job_plan_destroy(p);
    dt_job_unref(job);
    return bad;
}

static void plan_all(search *s) {
    int kept = 0;
    for (int i = 0; i < s->n; i++) {
        dt_status *bad = plan_one(s, &s->at[i]);
        if (!bad) {
            s->at[kept++] = s->at[i];
            continue;
        }
        if (s->refused++ == 0) s->why = dt_arena_strdup(s->arena, dt_status_text(bad));
        dt_status_free(bad);
    }
    s->n = kept;
}

/* ---- printing candidates ---- */

/* Compares candidates: those that fit come first, then those with more examples per second. */
static int by_merit(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    if (x->fits != y->fits) return y->fits - x->fits;
    return (x->rate < y->rate) - (x->rate > y->rate);
}

static void print_line(const candidate *c, const char *mark, dt_str *out) {
    size_t from = out->size;
    dt_str_printf(out, "%-2s %d x %d", mark, c->replicas, c->logical);
    dt_str_pad(out, from, 16);
    dt_str_printf(out, "%lld", (long long)c->batch);
    dt_str_pad(out, from, 26);
    dt_str_puts(out, c->rematerialize);
    dt_str_pad(out, from, 40);
    dt_str_puts(out, c->over_replicas);
    dt_str_pad(out, from, 54);
    dt_put_seconds(out, c->seconds);
    dt_str_pad(out, from, 65);
    dt_str_grouped(out, (int64_t)c->rate);
    dt_str_pad(out, from, 76);
    dt_str_bytes(out, (double)c->bytes);
    dt_str_puts(out, c->fits ? "\n" : "  does not fit\n");
}

static void print(const search *s, dt_str *out) {
    dt_str_printf(out, "%d shapes planned, the fastest that fit first\n\n", s->n);
    dt_str_puts(
        out,
        "   devices      batch     rematerialize over_replicas step       examples/s memory\n");
    print_line(&s->base, "=", out);
    for (int i = 0; i < s->n && i < SHOWN; i++) print_line(&s->at[i], "", out);
    if (s->n > SHOWN) dt_str_printf(out, "   and %d more (--json has all)\n", s->n - SHOWN);
    dt_str_puts(out, "\n=  the job unchanged\n");
    if (s->bounded) {
        dt_str_puts(out, "larger batches were left out: there are ");
        dt_str_grouped(out, s->examples);
        dt_str_puts(out, " examples\n");
    }
    if (s->n > 0 && s->at[0].fits) {
        dt_str_puts(out, "the first of them: dtrain plan JOB");
        for (int i = 0; i < s->at[0].words; i++) dt_str_printf(out, " '%s'", s->at[0].word[i]);
        dt_str_putc(out, '\n');
    }
    if (s->refused > 0)
        dt_str_printf(out, "%d shapes were refused, the first because: %s\n", s->refused, s->why);
}

static void put_candidate(dt_json *j, const char *key, const candidate *c) {
    dt_json_open(j, key, '{');
    dt_json_int(j, "replicas", c->replicas);
    dt_json_int(j, "logical_devices", c->logical);
    dt_json_int(j, "batch", c->batch);
    dt_json_string(j, "rematerialize", c->rematerialize);
    dt_json_string(j, "over_replicas", c->over_replicas);
    dt_json_double(j, "step_time_s", c->seconds);
    dt_json_double(j, "examples_per_s", c->rate);
    dt_json_int(j, "total", c->bytes);
    dt_json_bool(j, "fits", c->fits);
    dt_json_open(j, "overrides", '[');
    for (int i = 0; i < c->words; i++) dt_json_string(j, NULL, c->word[i]);
    dt_json_close(j, ']');
    dt_json_close(j, '}');
}

static void print_json(const search *s, dt_str *out) {
    dt_json j = {.out = out};
    dt_json_open(&j, NULL, '{');
    put_candidate(&j, "as_it_is", &s->base);
    dt_json_open(&j, "candidates", '[');
    for (int i = 0; i < s->n; i++) put_candidate(&j, NULL, &s->at[i]);
    dt_json_close(&j, ']');
    dt_json_int(&j, "examples", s->examples);
    dt_json_int(&j, "refused", s->refused);
    dt_json_string(&j, "refused_because", s->why);
    dt_json_close(&j, '}');
    dt_str_putc(out, '\n');
}

DT_API dt_status *dt_plan_search(const dt_search_request *request, char **text, bool *fits) {
    DT_REQUIRE({request, "request"});
    DT_TRY(dt_want(request->source, "dt_plan_search", "source of the job"));
    DT_TRY(dt_want_texts(request->source->overrides, request->source->n_overrides, "dt_plan_search",
                         "text of an override"));
    DT_TRY(dt_want(text, "dt_plan_search", "place for the text"));
    DT_TRY(dt_want_texts(request->prices, request->n_prices, "dt_plan_search", "price"));
    DT_TRY(dt_prices_check(request->prices, request->n_prices));
    dt_str out = {0};
    if (request->run.examples > 0 || request->run.tokens > 0) {
        dt_status *s = dt_search_run(request, &out, fits);
        if (s) dt_str_release(&out);
        else *text = dt_str_take(&out);
        return s;
    }
    search s = {.q = request, .arena = dt_arena_create()};
    dt_status *bad = plan_base(&s);
    if (!bad) {
        list_candidates(&s);
        plan_all(&s);
        if (s.n > 0) qsort(s.at, (size_t)s.n, sizeof *s.at, by_merit);
        if (fits) *fits = s.base.fits || (s.n > 0 && s.at[0].fits);
        (request->json ? print_json : print)(&s, &out);
        *text = dt_str_take(&out);
    }
    free(s.at);
    dt_arena_destroy(s.arena);
    return bad;
}
