/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prices; and for a plan that does not fit, which layers need the most memory, and which changes
 * would make it fit. Each change is planned like the job itself: alone and, if no change suffices,
 * together with the earlier changes that saved memory.
 */
#include <math.h>
#include <string.h>

#include "job/plan.h"

/* ---- prices ---- */

/*
 * What a plan costs. The table of chips has a price of each generation with its source. Prices
 * differ by region, contract and month, so `--price v6e=1.22` can replace it, for example by a spot
 * price or that of a commitment.
 */

/* Reads "v6e=1.22": returns the generation and sets its price. NULL: the text is not a price, or
 * there is no such generation. */
static const dt_chip *read_price(const char *text, double *usd_hour) {
    const char *equals = strchr(text, '=');
    char generation[16];
    if (!equals || equals == text || (size_t)(equals - text) >= sizeof generation) return NULL;
    memcpy(generation, text, (size_t)(equals - text));
    generation[equals - text] = '\0';
    const bool is_price =
        dt_parse_double(equals + 1, usd_hour) && *usd_hour > 0 && *usd_hour <= 1e6;
    return is_price ? dt_chip_find(generation) : NULL;
}

dt_status *dt_prices_check(const char *const *prices, int n) {
    double usd_hour;
    int n_chips;
    const dt_chip *const *chips = dt_chips(&n_chips);
    for (int i = 0; i < n; i++) {
        if (read_price(prices[i], &usd_hour)) continue;
        dt_local_str known = {0};
        for (int k = 0; k < n_chips; k++)
            dt_str_printf(&known, "%s%s", k ? ", " : "", chips[k]->generation);
        return dt_suggest(
            dt_fail(
                DT_E_UNKNOWN_SLICE_OPTION, NULL,
                "a price is GENERATION=DOLLARS for a chip and hour, such as v6e=1.22, got '%.60s'",
                prices[i]),
            "generations are %s", dt_str_text(&known));
    }
    return NULL;
}

dt_chip_price dt_job_plan_price(const dt_job_plan *p) {
    const dt_chip *chip = dt_job_plan_topology(p)->slice->chip;
    double usd_hour;
    for (int i = p->o.n_prices - 1; i >= 0; i--) {
        const dt_chip *of = read_price(p->o.prices[i], &usd_hour);
        if (of && strcmp(of->generation, chip->generation) == 0)
            return (dt_chip_price){usd_hour, "given by --price"};
    }
    return (dt_chip_price){chip->usd_hour, chip->price_source};
}

double dt_job_plan_usd(const dt_job_plan *p, double seconds) {
    const int chips = dt_slice_chips(dt_job_plan_topology(p)->slice) * dt_job_plan_slices(p);
    return dt_job_plan_price(p).usd_hour / 3600 * chips * seconds;
}

double dt_job_plan_dollars(const dt_job_plan *p) {
    return dt_job_plan_usd(p, 1000 * p->plan[0]->seconds);
}

/* ---- plans that fit ---- */

enum { LABEL = 26, PIECES = 8 };

typedef enum change {
    SHARE_OPTIMIZER,
    SHARE_WEIGHTS,
    RECOMPUTE,
    INPUTS_ON_HOST,
    IN_PIECES,
    CHANGES
} change;

/* Changes of a job, and of its batch: `rows` examples, or 0 for the job's own. */
typedef struct changed {
    bool on[CHANGES];
    int64_t rows;
} changed;

static dt_over_replicas over_of(const dt_job *j, const changed *c) {
    return c->on[SHARE_WEIGHTS]     ? DT_OVER_WEIGHTS
           : c->on[SHARE_OPTIMIZER] ? DT_OVER_OPTIMIZER
                                    : j->how.over_replicas;
}

/* Whether the change would make a difference to the job. */
static bool applies(const dt_job_plan *p, change k) {
    const dt_job *j = p->job;
    switch (k) {
    case SHARE_OPTIMIZER: return p->replicas > 1 && j->how.over_replicas < DT_OVER_OPTIMIZER;
    case SHARE_WEIGHTS: return p->replicas > 1 && j->how.over_replicas < DT_OVER_WEIGHTS;
    case RECOMPUTE: return strcmp(j->model.rematerialize.name, "full") != 0;
    case INPUTS_ON_HOST: return !(j->model.rematerialize.offload & DT_REMAT_LAYER_INPUT);
    case IN_PIECES: return j->model.vocabulary_tiling < PIECES;
    case CHANGES: break;
    }
    return false;
}

/* Writes the command-line overrides that make the changes. */
static void put_words(const dt_job_plan *p, const changed *c, const char *between, dt_str *out) {
    const char *next = "";
    if (c->on[SHARE_OPTIMIZER] || c->on[SHARE_WEIGHTS]) {
        dt_str_printf(out, "partition.over_replicas=%s",
                      dt_over_replicas_names[over_of(p->job, c)]);
        next = between;
    }
    if (c->on[RECOMPUTE] || c->on[INPUTS_ON_HOST]) {
        dt_str_printf(out, "%smodel.rematerialize=%s", next,
                      c->on[INPUTS_ON_HOST] ? "'{offload: [decoder_layer_input]}'" : "full");
        next = between;
    }
    if (c->on[IN_PIECES]) {
        dt_str_printf(out, "%smodel.vocabulary_tiling=%d", next, PIECES);
        next = between;
    }
    if (c->rows <= 0) return;
    const bool each = p->job->dataset.per_replica_batch_size > 0;
    dt_str_printf(out, "%sdataset.%s=%lld", next,
                  each ? "per_replica_batch_size" : "global_batch_size",
                  (long long)(each ? c->rows / p->replicas : c->rows));
}

/* Returns the bytes that a device needs with the changes; INFINITY: the changed job cannot be
 * planned. Sets *fits to whether a device may use that many. */
static double bytes_with(const dt_job_plan *p, const changed *c, bool *fits) {
    dt_job *j = p->job;
    dt_job_plan *other = NULL;
    const dt_over_replicas over = j->how.over_replicas;
    const dt_rematerialize rematerialize = j->model.rematerialize;
    const int pieces = j->model.vocabulary_tiling;
    j->how.over_replicas = over_of(j, c);
    if (c->on[RECOMPUTE]) j->model.rematerialize = (dt_rematerialize){.name = "full", .on = true};
    if (c->on[INPUTS_ON_HOST])
        j->model.rematerialize =
            (dt_rematerialize){.name = "custom", .on = true, .offload = DT_REMAT_LAYER_INPUT};
    if (c->on[IN_PIECES]) j->model.vocabulary_tiling = PIECES;
    dt_status *bad =
        dt_job_plan_create(&other, j, &(dt_plan_options){.budget = p->o.budget, .rows = c->rows});
    j->how.over_replicas = over;
    j->model.rematerialize = rematerialize;
    j->model.vocabulary_tiling = pieces;
    const double bytes = bad ? INFINITY : dt_job_plan_bytes(other);
    *fits = !bad && dt_job_plan_fits(other);
    dt_job_plan_destroy(other);
    dt_status_free(bad);
    return bytes;
}

/* Adds an entry: the changes of `c`, with the bytes that a device needs then. */
static void add(dt_would_fit *f, const dt_job_plan *p, const changed *c, double bytes) {
    dt_str words = {0};
    put_words(p, c, " ", &words);
    f->words[f->n] = dt_arena_take(f->arena, &words);
    f->bytes[f->n++] = bytes;
}

/* Halves the batch until the job fits into memory. Returns false if it never fits. *bytes: what a
 * device needs with the last batch that was tried; unchanged if none was. */
static bool halve(const dt_job_plan *p, changed *c, double *bytes) {
    bool fits = false;
    const int64_t least = (int64_t)p->replicas * dt_job_plan_slices(p);
    for (int64_t rows = p->step[0].rows / 2; !fits && rows >= least; rows /= 2) {
        c->rows = rows;
        *bytes = bytes_with(p, c, &fits);
    }
    return fits;
}

/* Applies changes one after the other until the job fits, and keeps each that saves memory. If it
 * still does not fit, halves the batch, too. Adds the changes if the job fits, and sets f->least to
 * the bytes that a device needs with them. */
static void find_together(const dt_job_plan *p, dt_would_fit *f) {
    changed c = {0};
    bool fits = false;
    double least = dt_job_plan_bytes(p);
    for (change k = SHARE_WEIGHTS; k < CHANGES && !fits; k++) {
        if (!applies(p, k)) continue;
        c.on[k] = true;
        const double bytes = bytes_with(p, &c, &fits);
        c.on[k] = fits || bytes < least;
        least = c.on[k] ? bytes : least;
    }
    if (!fits) fits = halve(p, &c, &least);
    if (fits) add(f, p, &c, least);
    f->least = least;
}

static dt_would_fit fitting_of(const dt_job_plan *p, dt_arena *arena) {
    dt_would_fit f = {.arena = arena};
    bool fits = false;
    for (change k = SHARE_OPTIMIZER; k < CHANGES; k++) {
        changed c = {0};
        c.on[k] = true;
        /* some changes come in pairs: the second costs more time than the first, so it is tried
         * only if the first does not suffice */
        const bool second = k == SHARE_WEIGHTS || k == INPUTS_ON_HOST;
        fits = fits && second;
        if (!applies(p, k) || fits) continue;
        const double bytes = bytes_with(p, &c, &fits);
        if (fits) add(&f, p, &c, bytes);
    }
    changed smaller = {0};
    double bytes = 0;
    if (halve(p, &smaller, &bytes)) add(&f, p, &smaller, bytes);
    if (f.n == 0) find_together(p, &f);
    dt_job_plan_elsewhere(p, &f);
    return f;
}

/* ---- printing ---- */

static void put_label(const char *label, dt_str *out) {
    const size_t from = out->size;
    dt_str_puts(out, label);
    dt_str_pad(out, from, LABEL);
}

static void put_largest(const dt_job_plan *p, const char *label, bool values, dt_str *out) {
    put_label(label, out);
    dt_plan_put_largest(p->plan[0], values, out);
    dt_str_putc(out, '\n');
}

void dt_job_plan_print_fitting(const dt_job_plan *p, dt_str *out) {
    if (dt_job_plan_fits(p)) return;
    dt_local_arena arena = dt_arena_create();
    const dt_would_fit f = fitting_of(p, arena);
    dt_str_puts(out, "does not fit; layers with the largest\n");
    put_largest(p, "  weights and slots", false, out);
    put_largest(p, "  activations", true, out);
    for (int i = 0; i < f.n; i++) {
        put_label(i ? "" : "  would fit", out);
        dt_str_bytes(out, f.bytes[i]);
        dt_str_printf(out, " with %s\n", f.words[i]);
    }
    if (f.n == 0) {
        put_label("  would fit", out);
        dt_str_puts(out, "none of the changes; a device needs at least ");
        dt_str_bytes(out, f.least);
        dt_str_putc(out, '\n');
        put_label("", out);
        dt_str_puts(out, "take a larger slice, or divide replicas over more logical devices\n");
    }
}

void dt_job_plan_fitting_json(const dt_job_plan *p, dt_json *j) {
    dt_local_arena arena = dt_arena_create();
    const dt_would_fit f = dt_job_plan_fits(p) ? (dt_would_fit){0} : fitting_of(p, arena);
    dt_json_open(j, "would_fit", '[');
    for (int i = 0; i < f.n; i++) {
        dt_json_open(j, NULL, '{');
        dt_json_string(j, "overrides", f.words[i]);
        dt_json_int(j, "total", (int64_t)f.bytes[i]);
        dt_json_close(j, '}');
    }
    dt_json_close(j, ']');
}
