/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rate falls like half a cosine from the top to alpha times the top. CosineDecay does this
 * once. CosineDecayRestarts repeats it; each period is t_mul times as long as the one before, and
 * rises m_mul times as far above alpha times the first top, where all periods end (I. Loshchilov,
 * F. Hutter, SGDR: Stochastic Gradient Descent with Warm Restarts, 2016).
 *
 * With warmup_target, CosineDecay first goes linearly over warmup_steps from the initial rate to
 * warmup_target, which is then the top; without it warmup_steps has no effect.
 */
#include "model/model.h"

/* Emits (1 + cos(pi x)) / 2. */
static dt_value half_cosine(dt_value x) {
    return dt_multiply(dt_like(x, 0.5),
                       dt_add(dt_like(x, 1), dt_cosine(dt_multiply(dt_like(x, M_PI), x))));
}

/* Emits top ((1 - alpha) c + alpha): alpha times top if c is 0, top if c is 1. */
static dt_value between(double top, double alpha, dt_value c) {
    dt_value share = dt_add(dt_multiply(dt_like(c, 1 - alpha), c), dt_like(c, alpha));
    return dt_multiply(dt_like(c, top), share);
}

/* ---- CosineDecay ---- */

struct cosine {
    double initial_learning_rate, decay_steps, alpha, warmup_target, warmup_steps;
    bool warms_up;
    const char *name;
};

static const dt_field cosine_fields[] = {
    DT_REAL(struct cosine, initial_learning_rate, .required = true, .help = "value at step 0"),
    DT_REAL(struct cosine, decay_steps, .above_min = true, .required = true,
            .help = "number of steps of the cosine, after the warm-up"),
    DT_REAL(struct cosine, alpha, .help = "final learning rate, as a fraction of the largest"),
    DT_TEXT(struct cosine, name, .preset = "CosineDecay",
            .help = "accepted for compatibility; not used"),
    DT_REAL(struct cosine, warmup_target, .set = 1 + offsetof(struct cosine, warms_up),
            .help = "learning rate at the end of the warm-up; default: no warm-up"),
    DT_REAL(struct cosine, warmup_steps, .max = INFINITY, .help = "number of warm-up steps"),
    DT_END};

static dt_value cosine_from(const struct cosine *c, double top, dt_value x) {
    return between(top, c->alpha, half_cosine(dt_divide(x, dt_like(x, c->decay_steps))));
}

static dt_value cosine_at(const void *args, dt_value step) {
    const struct cosine *c = args;
    double last = c->decay_steps + (c->warms_up ? c->warmup_steps : 0),
           start = c->initial_learning_rate;
    dt_value x = dt_rate_step(step);
    x = dt_minimum(x, dt_like(x, last));
    if (!c->warms_up) return cosine_from(c, start, x);
    dt_value warmup = dt_like(x, c->warmup_steps);
    dt_value share = dt_divide(x, dt_like(x, c->warmup_steps > 0 ? c->warmup_steps : 1));
    dt_value up =
        dt_add(dt_multiply(dt_like(x, c->warmup_target - start), share), dt_like(x, start));
    return dt_select(dt_compare(x, warmup, DT_LT), up,
                     cosine_from(c, c->warmup_target, dt_subtract(x, warmup)));
}

const dt_rate dt_rate_cosine_decay = {
    .kind = {"CosineDecay", "linear warm-up, then cosine decay", cosine_fields,
             sizeof(struct cosine), NULL},
    .at = cosine_at,
};

/* ---- CosineDecayRestarts ---- */

struct restarts {
    double initial_learning_rate, first_decay_steps, t_mul, m_mul, alpha;
    const char *name;
};

static const dt_field restart_fields[] = {
    DT_REAL(struct restarts, initial_learning_rate, .required = true, .help = "value at step 0"),
    DT_REAL(struct restarts, first_decay_steps, .above_min = true, .required = true,
            .help = "number of steps to the first restart"),
    DT_REAL(struct restarts, t_mul, .preset = "2", .help = "factor of the length of each period"),
    DT_REAL(struct restarts, m_mul, .preset = "1",
            .help = "factor of the initial rate of each period"),
    DT_REAL(struct restarts, alpha,
            .help = "final learning rate of a period, as a fraction of the initial one"),
    DT_TEXT(struct restarts, name, .preset = "SGDRDecay",
            .help = "accepted for compatibility; not used"),
    DT_END};

/* Emits the number of the period that contains x, counted from 0; x is in units of the first
 * period's length. *into is the position in that period, from 0 to 1. Period i begins at
 * (1 - t_mul^i) / (1 - t_mul), or at i if t_mul is 1. */
static dt_value find_period(const struct restarts *r, dt_value x, dt_value *into) {
    if (r->t_mul == 1) {
        dt_value period = dt_rate_floor(x);
        *into = dt_subtract(x, period);
        return period;
    }
    dt_value one = dt_like(x, 1), t_mul = dt_like(x, r->t_mul), shrink = dt_subtract(one, t_mul);
    dt_value period =
        dt_rate_floor(dt_divide(dt_log(dt_subtract(one, dt_multiply(x, shrink))), dt_log(t_mul)));
    dt_value length = dt_power(t_mul, period), begin = dt_divide(dt_subtract(one, length), shrink);
    *into = dt_divide(dt_subtract(x, begin), length);
    return period;
}

static dt_value restarts_at(const void *args, dt_value step) {
    const struct restarts *r = args;
    dt_value x = dt_rate_step(step), into;
    dt_value period = find_period(r, dt_divide(x, dt_like(x, r->first_decay_steps)), &into);
    dt_value height = dt_power(dt_like(x, r->m_mul), period);
    return between(r->initial_learning_rate, r->alpha, dt_multiply(height, half_cosine(into)));
}

const dt_rate dt_rate_cosine_decay_restarts = {
    .kind = {"CosineDecayRestarts", "cosine decay with restarts", restart_fields,
             sizeof(struct restarts), NULL},
    .at = restarts_at,
};
