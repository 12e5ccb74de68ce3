/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dtrain plan --search --tokens N: finds a slice for a run with a fixed amount of work. The global
 * batch is that of the job. The search varies the slice (all
 * generations, one or several slices), how the job is divided over their devices, and what is
 * rematerialized. Every candidate is the job with overrides, opened and planned as for the user.
 *
 * Candidates are excluded by lower bounds before they are planned: a device's share of the
 * variables, the activations that the same policy needed with fewer rows, and the time at the
 * chip's peak speed. A candidate is excluded if one of them exceeds a limit, or if it cannot be
 * better than a plan that was found. Large slices are tried first, because their plans give the
 * best bounds for smaller ones.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "job/plan.h"

enum { MOST_WORDS = 10, MOST_SLICES = 16, MOST_SEEN = 512, TENSORS = 4 };

/* Policies of rematerialization, from the fastest, which needs most memory, to the slowest. */
static const char *const policies[] = {"none", "minimal", "full"};
enum { POLICIES = 3 };

typedef struct point {
    const dt_chip *chip;
    char slice[40];
    int slices, chips, logical, replicas;
    const char *policy, *over;
    bool experts; /* a replica's devices divide the experts instead of each expert's features */
    char *word[MOST_WORDS]; /* the overrides that make this candidate, in the arena */
    int words;
    int64_t bytes, usable;
    double step_s;
    dt_run_estimate run;
    dt_chip_price price;
    /* expected relative error of the estimated time; NAN: no published step of the same kind is
     * known */
    double error;
    bool front;
} point;

/* What an earlier plan needed: `bytes` of activations per device, with this split, this policy (an
 * index of `policies`) and `rows` examples of the global batch on each replica. */
typedef struct seen {
    int policy, logical;
    bool experts, shares;
    double rows, bytes;
} seen;

typedef struct search {
    const dt_search_request *q;
    dt_arena *arena;
    dt_tree *let;
    bool has_assignment, has_partition;
    bool has_expert_parts; /* a replica's devices divide the experts of the job itself */
    int logical, slices;   /* the job's own numbers of logical devices and slices */
    int64_t batch;         /* number of examples in the global batch */
    double examples;       /* number of examples that are trained on in the whole run */
    double state;          /* bytes of all variables together */
    double flops;          /* number of floating-point operations of the whole run */
    /* how many times faster, at most, the job's quantization makes a chip than bfloat16: 1 or 2 */
    double faster;
    int n, cap; /* number of candidates in `at`, which all fit into memory */
    point *at;
    int planned, refused;
    int late;  /* number of slices that would miss a limit even at their peak */
    char *why; /* message of the first candidate that could not be planned */
    int n_seen;
    seen seen[MOST_SEEN];
} search;

/* ---- the job itself ---- */

static bool has_expert_words(const dt_tree *let) {
    return dt_tree_get(let, "expert_parts") && dt_tree_get(let, "expert_rest");
}

/* Returns the value of a word of `let` as a number; 0: there is no such word, or it is not a
 * number. */
static int64_t number_of(const dt_tree *let, const char *word) {
    int64_t value = 0;
    const dt_tree *n = dt_tree_get(let, word);
    if (n) dt_status_free(dt_tree_int(n, word, 1, INFINITY, &value));
    return value;
}

static void learn(search *s, const dt_job_plan *p) {
    const dt_plan *train = p->plan[0];
    const double rows = (double)p->step[0].rows / dt_job_plan_slices(p);
    s->let = dt_tree_get(p->job->tree, "let");
    s->has_assignment = p->job->strategy.assignment != NULL;
    s->has_partition = p->job->partition != NULL;
    s->has_expert_parts = has_expert_words(s->let) && number_of(s->let, "expert_parts") != 1;
    s->logical = p->logical;
    s->slices = (int)dt_job_plan_slices(p);
    s->batch = p->step[0].rows;
    s->examples = p->run.examples;
    s->state = dt_job_plan_state_bytes(p);
    s->flops = train->model_flops * train->devices / rows * s->examples;
    s->faster = p->job->compile.quantization == DT_QUANTIZE_NONE ? 1 : 2;
}

static dt_plan_options options_of(const dt_search_request *q) {
    dt_plan_options o = {.budget = q->budget, .prices = q->prices, .n_prices = q->n_prices};
    o.run = q->run;
    return o;
}

/* ---- overrides ---- */

static void add_word(const search *s, point *c, const char *name, const char *key,
                     const char *value) {
    const bool is_named = name && dt_tree_get(s->let, name);
    c->word[c->words++] =
        dt_arena_printf(s->arena, "%s%s=%s", is_named ? "let." : "", is_named ? name : key, value);
}

/* Writes the overrides of a candidate. Returns false if the slice has no block of devices for a
 * replica. */
static bool write_overrides(const search *s, const int mesh[4], point *c) {
    const char *assignment = "strategy.device_assignment";
    int shape[4];
    if (!dt_search_block(mesh, c->logical, shape)) return false;
    add_word(s, c, "slice", "strategy.cluster_resolver.tpu",
             dt_arena_printf(s->arena, "sim:%s", c->slice));
    if (c->slices > 1 || s->slices > 1)
        add_word(s, c, NULL, "strategy.cluster_resolver.num_slices",
                 dt_arena_printf(s->arena, "%d", c->slices));
    if (s->has_assignment || c->logical > 1) {
        add_word(
            s, c, "block", dt_arena_printf(s->arena, "%s.computation_shape", assignment),
            dt_arena_printf(s->arena, "[%d,%d,%d,%d]", shape[0], shape[1], shape[2], shape[3]));
        add_word(s, c, "replicas", dt_arena_printf(s->arena, "%s.num_replicas", assignment),
                 dt_arena_printf(s->arena, "%d", c->replicas));
    }
    if (dt_tree_get(s->let, "tensor")) {
        add_word(s, c, "tensor", "", dt_arena_printf(s->arena, "%d", c->logical));
        if (c->logical > 1) add_word(s, c, NULL, "partition.sequence_parallel", "true");
    }
    if (c->experts || s->has_expert_parts) {
        const int parts = c->experts ? c->logical : 1;
        add_word(s, c, "expert_parts", "", dt_arena_printf(s->arena, "%d", parts));
        add_word(s, c, "expert_rest", "", dt_arena_printf(s->arena, "%d", c->logical / parts));
    }
    add_word(s, c, "shared", "partition.over_replicas", c->over);
    add_word(s, c, NULL, "model.rematerialize", c->policy);
    return true;
}

/* ---- bounds ---- */

static double peak(const dt_chip *c) { return c->core_flops * c->cores; }

static double price_of(const search *s, const dt_chip *chip) {
    for (int i = 0; i < s->n; i++)
        if (s->at[i].chip == chip) return s->at[i].price.usd_hour;
    return 0;
}

/* Whether a slice need not be planned: even at its chips' peak it would miss a limit (then it is
 * counted in s->late) or, if prices are known, be neither faster nor cheaper than a plan that was
 * found. */
static bool is_hopeless(search *s, const dt_chip *chip, int chips) {
    const double least = s->flops / (peak(chip) * s->faster * chips),
                 usd = least * chips * price_of(s, chip) / 3600;
    if ((s->q->run.deadline_s > 0 && least > s->q->run.deadline_s) ||
        (s->q->run.usd > 0 && usd > s->q->run.usd)) {
        s->late++;
        return true;
    }
    for (int i = 0; i < s->n && usd > 0; i++)
        if (s->at[i].run.usd > 0 && s->at[i].run.seconds <= least && s->at[i].run.usd <= usd)
            return true;
    return false;
}

static bool shares_weights(const point *c) { return strcmp(c->over, "weights") == 0; }

static double rows_of(const search *s, const point *c) {
    return (double)s->batch / ((double)c->replicas * c->slices);
}

/* Returns a lower bound of the bytes of activations: the most that earlier plans needed with the
 * same split and policy, and at most as many rows. */
static double least_activations(const search *s, const point *c, int policy) {
    double most = 0;
    for (int i = 0; i < s->n_seen; i++) {
        const seen *e = &s->seen[i];
        if (e->policy == policy && e->logical == c->logical && e->experts == c->experts &&
            e->shares == shares_weights(c) && e->rows <= rows_of(s, c) && e->bytes > most)
            most = e->bytes;
    }
    return most;
}

/* Whether a lower bound of the memory of a device exceeds its limit: its share of the variables,
 * and the activations that were needed for at most as many rows. */
static bool is_too_large(const search *s, const point *c, int policy) {
    const double state = s->state / c->logical / (shares_weights(c) ? c->replicas : 1),
                 limit = s->q->budget > 0 && s->q->budget < c->usable ? (double)s->q->budget
                                                                      : (double)c->usable;
    return state + least_activations(s, c, policy) > limit;
}

/* ---- planning ---- */

static void store_result(search *s, point *c, const dt_job_plan *p) {
    c->bytes = p->plan[0]->bytes.total;
    c->usable = p->plan[0]->bytes.usable;
    c->step_s = p->plan[0]->seconds;
    c->run = p->run;
    c->price = dt_job_plan_price(p);
    c->error = dt_job_plan_error(p);
    DT_GROW(s->at, s->cap, s->n + 1);
    s->at[s->n++] = *c;
}

static void see(search *s, int policy, const point *c, const dt_job_plan *p) {
    if (s->n_seen < MOST_SEEN)
        s->seen[s->n_seen++] = (seen){.policy = policy,
                                      .logical = c->logical,
                                      .experts = c->experts,
                                      .shares = shares_weights(c),
                                      .rows = rows_of(s, c),
                                      .bytes = (double)p->plan[0]->bytes.activations};
}

/* Plans a candidate, and lists it if it fits into memory. Returns whether it fits. */
static bool plan_one(search *s, int policy, point *c) {
    dt_job *job = NULL;
    dt_job_plan *p = NULL;
    const dt_plan_options o = options_of(s->q);
    dt_status *bad = dt_search_open(s->q->source, c->word, c->words, s->arena, &job);
    if (!bad) bad = dt_job_plan_create(&p, job, &o);
    const bool fits = !bad && dt_job_plan_fits(p);
    if (fits) store_result(s, c, p);
    if (!bad) {
        s->planned++;
        see(s, policy, c, p);
    } else if (s->refused++ == 0) {
        s->why = dt_arena_strdup(s->arena, dt_status_text(bad));
    }
    dt_status_free(bad);
    dt_job_plan_destroy(p);
    dt_job_unref(job);
    return fits;
}

/* Plans the policies from the fastest on until one fits, without those that a lower bound of the
 * memory excludes. Returns the time of a step in seconds; INFINITY if none fits. */
static double try_policies(search *s, const dt_topology *t, point c) {
    for (int k = 0; k < POLICIES; k++) {
        point with = c;
        with.policy = policies[k];
        if (is_too_large(s, &with, k) || !write_overrides(s, t->mesh, &with)) continue;
        if (plan_one(s, k, &with)) return s->at[s->n - 1].step_s;
    }
    return INFINITY;
}

/* Plans with weights on every replica and, if there are several replicas, with weights divided over
 * them. Returns the time of the faster step; INFINITY: nothing fits. */
static double try_shares(search *s, const dt_topology *t, point c) {
    static const char *const over[] = {"none", "weights"};
    double best = INFINITY;
    for (int o = 0; o < 2; o++) {
        c.over = over[o];
        if (o && c.replicas == 1) continue;
        best = fmin(best, try_policies(s, t, c));
    }
    return best;
}

/* Whether the job can divide its experts into `parts` parts. */
static bool divides_experts(const search *s, int parts) {
    const int64_t experts = number_of(s->let, "experts");
    return parts > 1 && experts > 0 && experts % parts == 0 && has_expert_words(s->let);
}

/* Tries 1, 2, 4 and 8 devices per replica if the job has the word let.tensor, until a step takes
 * longer than with fewer; otherwise only the job's own number. Numbers that do not divide the
 * slice's devices, or whose replicas do not divide the batch, are left out. Experts are also
 * divided, if the job has words for that. */
static void try_splits(search *s, const dt_topology *t, point c) {
    const int devices = t->mesh[0] * t->mesh[1] * t->mesh[2] * t->mesh[3],
              least = dt_tree_get(s->let, "tensor") ? 1 : s->logical,
              most = dt_tree_get(s->let, "tensor") ? 1 << (TENSORS - 1) : s->logical;
    double best = INFINITY;
    for (c.logical = least; c.logical <= most; c.logical *= 2) {
        c.replicas = devices / c.logical;
        if (devices % c.logical || s->batch % ((int64_t)c.replicas * c.slices)) continue;
        c.experts = false;
        double now = try_shares(s, t, c);
        if (divides_experts(s, c.logical)) {
            c.experts = true;
            now = fmin(now, try_shares(s, t, c));
        }
        if (now > best) return;
        best = now;
    }
}

static void try_slice(search *s, const dt_slice *slice, int slices) {
    point c = {.chip = slice->chip, .slices = slices, .chips = dt_slice_chips(slice) * slices};
    memcpy(c.slice, slice->name, sizeof c.slice);
    if (is_hopeless(s, slice->chip, c.chips)) return;
    dt_topology *t = dt_topology_of_slice(slice);
    c.usable = slice->chip->core_hbm_usable * dt_topology_device_cores(t);
    try_splits(s, t, c);
    dt_topology_unref(t);
}

/* Tries the slices of a chip whose number of chips is a power of two, and not more than a job can
 * have, in their usual shapes, from large to small; the largest also several times, joined by a
 * network. */
static void try_chip(search *s, const dt_chip *chip) {
    int n, last = 0;
    DT_LOCAL dt_slice *all = dt_slices_of(chip, &n);
    for (int i = n - 1; i >= 0; i--) {
        const int chips = dt_slice_chips(&all[i]);
        const bool is_usual = i == 0 || dt_slice_chips(&all[i - 1]) != chips;
        if (!is_usual || (chips & (chips - 1)) || dt_slice_exceeds_job(&all[i])) continue;
        for (int k = last ? 1 : MOST_SLICES; k >= 1; k /= 2) try_slice(s, &all[i], k);
        last = chips;
    }
}

static dt_status *try_all(search *s) {
    dt_job *job = NULL;
    dt_job_plan *p = NULL;
    const dt_plan_options o = options_of(s->q);
    DT_TRY(dt_search_open(s->q->source, NULL, 0, s->arena, &job));
    dt_status *bad = dt_job_plan_create(&p, job, &o);
    if (!bad) {
        learn(s, p);
        int n;
        const dt_chip *const *chips = dt_chips(&n);
        const dt_topology *own = dt_job_plan_topology(p);
        for (int i = n - 1; i >= 0 && !s->q->fixed; i--) try_chip(s, chips[i]);
        for (int k = MOST_SLICES; k >= 1 && s->q->fixed; k /= 2) try_slice(s, own->slice, k);
    }
    dt_job_plan_destroy(p);
    dt_job_unref(job);
    return bad;
}

/* ---- the front ---- */

/* Whether b is at least as good as a in time and cost, and better in one of them. The cost is in
 * dollars if both prices are known. Otherwise it is chips times time, which only compares chips
 * of the same generation. */
static bool is_beaten(const point *a, const point *b) {
    const bool priced = a->run.usd > 0 && b->run.usd > 0;
    if (!priced && a->chip != b->chip) return false;
    const double cost_a = priced ? a->run.usd : a->chips * a->run.seconds,
                 cost_b = priced ? b->run.usd : b->chips * b->run.seconds;
    return b->run.seconds <= a->run.seconds && cost_b <= cost_a &&
           (b->run.seconds < a->run.seconds || cost_b < cost_a);
}

static bool is_met(const search *s, const point *c) {
    return isfinite(c->run.seconds) && dt_run_meets_deadline(&s->q->run, &c->run) &&
           dt_run_meets_budget(&s->q->run, &c->run);
}

static int by_time(const void *a, const void *b) {
    const point *x = a, *y = b;
    return (x->run.seconds > y->run.seconds) - (x->run.seconds < y->run.seconds);
}

static void find_front(search *s) {
    if (s->n > 0) qsort(s->at, (size_t)s->n, sizeof *s->at, by_time);
    for (int i = 0; i < s->n; i++) {
        s->at[i].front = isfinite(s->at[i].run.seconds);
        for (int k = 0; k < s->n && s->at[i].front; k++)
            s->at[i].front = !is_beaten(&s->at[i], &s->at[k]);
    }
}

/* Returns the cheapest candidate within the limits; if no price is known, the fastest within
 * them; if none keeps the limits, the fastest. NULL: nothing fits and finishes. */
static const point *choose(const search *s) {
    const point *best = NULL;
    for (int i = 0; i < s->n; i++) {
        const point *c = &s->at[i];
        if (is_met(s, c) && c->run.usd > 0 && (!best || c->run.usd < best->run.usd)) best = c;
    }
    for (int i = 0; i < s->n && !best; i++)
        if (is_met(s, &s->at[i])) best = &s->at[i];
    return best ? best : s->n > 0 && isfinite(s->at[0].run.seconds) ? &s->at[0] : NULL;
}

/* ---- printing ---- */

static void put_split(const point *c, dt_str *out) {
    dt_str_puts(out, shares_weights(c) ? "FSDP " : "data ");
    dt_str_printf(out, "%d", c->replicas * c->slices);
    if (c->logical > 1) dt_str_printf(out, " x %s %d", c->experts ? "EP" : "TP", c->logical);
}

static void print_point(const search *s, const point *c, dt_str *out) {
    const size_t from = out->size;
    if (c->slices > 1) dt_str_printf(out, "%d x ", c->slices);
    dt_str_puts(out, c->slice);
    dt_str_pad(out, from, 20);
    put_split(c, out);
    dt_str_pad(out, from, 38);
    dt_str_puts(out, c->policy);
    dt_str_pad(out, from, 48);
    dt_put_seconds(out, c->step_s);
    dt_str_pad(out, from, 58);
    dt_str_bytes(out, (double)c->bytes);
    dt_str_pad(out, from, 69);
    dt_put_time(out, c->run.seconds);
    dt_str_pad(out, from, 81);
    if (c->run.usd > 0) dt_put_dollars(out, c->run.usd);
    else dt_str_puts(out, "not known");
    dt_str_pad(out, from, 95);
    if (!isnan(c->error)) dt_str_printf(out, "%.1f %%", 100 * c->error);
    else dt_str_puts(out, "not compared");
    dt_str_puts(out, is_met(s, c) ? "\n" : "  misses a limit\n");
}

/* Prints the price of a chip of each generation that a candidate on the front has. */
static void print_prices(const search *s, dt_str *out) {
    int n;
    const dt_chip *const *chips = dt_chips(&n);
    for (int k = 0; k < n; k++) {
        const point *c = NULL;
        for (int i = 0; i < s->n && !c; i++)
            if (s->at[i].chip == chips[k] && s->at[i].front) c = &s->at[i];
        if (c && c->price.usd_hour > 0)
            dt_str_printf(out, "%s: $ %.2f a chip and hour, %s\n", chips[k]->generation,
                          c->price.usd_hour, c->price.source);
        else if (c)
            dt_str_printf(out, "%s: no price is known; --price %s=USD gives one\n",
                          chips[k]->generation, chips[k]->generation);
    }
}

static void print_choice(const search *s, dt_str *out) {
    const point *c = choose(s);
    if (!c) return;
    dt_str_puts(out, is_met(s, c) && c->run.usd > 0 ? "\nthe cheapest" : "\nthe fastest");
    if (s->q->run.deadline_s > 0 || s->q->run.usd > 0)
        dt_str_puts(out, is_met(s, c) ? " that keeps the limits" : ", which misses a limit");
    dt_str_puts(out, ": dtrain plan JOB");
    for (int i = 0; i < c->words; i++) dt_str_printf(out, " '%s'", c->word[i]);
    dt_str_putc(out, '\n');
}

static void print(const search *s, dt_str *out) {
    int front = 0;
    for (int i = 0; i < s->n; i++) front += s->at[i].front;
    dt_str_grouped(out, (int64_t)s->examples);
    dt_str_puts(out, " examples in steps of ");
    dt_str_grouped(out, s->batch);
    dt_str_printf(out,
                  "; %d plans, %d fit. Those that no other beats in both time and dollars:\n\n",
                  s->planned, s->n);
    if (s->n > 0)
        dt_str_puts(out, "slice               split             policy    step      memory     "
                         "takes       dollars       error to expect\n");
    for (int i = 0; i < s->n; i++)
        if (s->at[i].front) print_point(s, &s->at[i], out);
    if (s->n > 0 && !front)
        dt_str_puts(out, "none finishes: chips fail faster than a restart takes\n\n");
    else dt_str_puts(out, front ? "\n" : "none\n\n");
    print_prices(s, out);
    dt_str_puts(out, "error to expect: median of published steps of the same kind, each with its "
                     "source left out; not compared: none is published\n");
    print_choice(s, out);
    if (s->late > 0)
        dt_str_printf(out, "%d slices were left out: they would miss a limit even at their peak\n",
                      s->late);
    if (s->refused > 0)
        dt_str_printf(out, "%d more were refused, the first because: %s\n", s->refused, s->why);
}

static void put_point(dt_json *j, const search *s, const point *c) {
    dt_json_open(j, NULL, '{');
    dt_json_string(j, "slice", c->slice);
    dt_json_int(j, "slices", c->slices);
    dt_json_int(j, "chips", c->chips);
    dt_json_int(j, "replicas", (int64_t)c->replicas * c->slices);
    dt_json_int(j, "logical_devices", c->logical);
    dt_json_bool(j, "divides_experts", c->experts);
    dt_json_string(j, "over_replicas", c->over);
    dt_json_string(j, "rematerialize", c->policy);
    dt_json_double(j, "step_time_s", c->step_s);
    dt_json_int(j, "total", c->bytes);
    dt_run_estimate_json(&s->q->run, &c->run, j);
    dt_json_double(j, "usd_per_chip_hour", c->price.usd_hour > 0 ? c->price.usd_hour : NAN);
    dt_json_double(j, "expected_error", c->error);
    dt_json_bool(j, "front", c->front);
    dt_json_open(j, "overrides", '[');
    for (int i = 0; i < c->words; i++) dt_json_string(j, NULL, c->word[i]);
    dt_json_close(j, ']');
    dt_json_close(j, '}');
}

static void print_json(const search *s, dt_str *out) {
    dt_json j = {.out = out};
    dt_json_open(&j, NULL, '{');
    dt_json_double(&j, "examples", s->examples);
    dt_json_int(&j, "batch", s->batch);
    dt_json_int(&j, "planned", s->planned);
    dt_json_int(&j, "refused", s->refused);
    dt_json_string(&j, "refused_because", s->why);
    dt_json_open(&j, "candidates", '[');
    for (int i = 0; i < s->n; i++) put_point(&j, s, &s->at[i]);
    dt_json_close(&j, ']');
    dt_json_close(&j, '}');
    dt_str_putc(out, '\n');
}

dt_status *dt_search_run(const dt_search_request *q, dt_str *out, bool *fits) {
    search *s = dt_alloc(sizeof *s);
    *s = (search){.q = q, .arena = dt_arena_create()};
    dt_status *bad = try_all(s);
    if (!bad) {
        find_front(s);
        const point *best = choose(s);
        if (fits) *fits = s->n > 0 || s->late > 0;
        if (q->run.met) *q->run.met = best && is_met(s, best);
        (q->json ? print_json : print)(s, out);
    }
    free(s->at);
    dt_arena_destroy(s->arena);
    free(s);
    return bad;
}
