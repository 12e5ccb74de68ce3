/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PolynomialDecay: from the initial rate to the last one in decay_steps steps, along (1 - step /
 * decay_steps)^power. Later steps have the last rate; with `cycle`, decay_steps is stretched to its
 * next multiple whenever it is passed, and the rate jumps up again.
 */
#include "model/model.h"

struct polynomial {
    double initial_learning_rate, decay_steps, end_learning_rate, power;
    bool cycle;
    const char *name;
};

static const dt_field fields[] = {
    DT_REAL(struct polynomial, initial_learning_rate, .required = true, .help = "value at step 0"),
    DT_REAL(struct polynomial, decay_steps, .above_min = true, .required = true,
            .help = "number of steps to the final rate"),
    DT_REAL(struct polynomial, end_learning_rate, .preset = "0.0001",
            .help = "final learning rate"),
    DT_REAL(struct polynomial, power, .preset = "1", .help = "power of the polynomial; 1: linear"),
    DT_FLAG(struct polynomial, cycle, .help = "repeat beyond decay_steps"),
    DT_TEXT(struct polynomial, name, .preset = "PolynomialDecay",
            .help = "accepted for compatibility; not used"),
    DT_END};

/* Emits the smallest multiple of decay_steps that is at least x and above 0. */
static dt_value stretched(dt_value x, dt_value steps) {
    dt_value p = dt_divide(x, steps), whole = dt_rate_floor(p);
    dt_value up = dt_add(whole, dt_convert(dt_compare(whole, p, DT_LT), dt_type_of_value(p).dtype));
    return dt_multiply(steps, dt_maximum(up, dt_like(up, 1)));
}

static dt_value at(const void *args, dt_value step) {
    const struct polynomial *p = args;
    dt_value x = dt_rate_step(step), steps = dt_like(x, p->decay_steps),
             end = dt_like(x, p->end_learning_rate);
    dt_value last = p->cycle ? stretched(x, steps) : steps;
    if (!p->cycle) x = dt_minimum(x, steps);
    dt_value left = dt_power(dt_subtract(dt_like(x, 1), dt_divide(x, last)), dt_like(x, p->power));
    return dt_add(dt_multiply(dt_subtract(dt_like(x, p->initial_learning_rate), end), left), end);
}

const dt_rate dt_rate_polynomial_decay = {
    .kind = {"PolynomialDecay", "polynomial decay to the final rate", fields,
             sizeof(struct polynomial), NULL},
    .at = at,
};
