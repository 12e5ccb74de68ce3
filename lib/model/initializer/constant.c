/* SPDX-License-Identifier: Apache-2.0 */
/* Initializers that give all elements the same value: zeros, ones, constant. */
#include "model/model.h"

static void fill_with(const dt_draw *d, double value, double *out) {
    for (int i = 0; i < d->n; i++) out[i] = value;
}

static void zeros(const void *args, const dt_draw *d, double *out) {
    (void)args;
    fill_with(d, 0, out);
}

const dt_initializer dt_initializer_zeros = {
    .kind = {.name = "Zeros",
             .about = "all 0",
             .aliases = (const char *const[]){"zeros", "zero", NULL}},
    .fill = zeros,
};

static void ones(const void *args, const dt_draw *d, double *out) {
    (void)args;
    fill_with(d, 1, out);
}

const dt_initializer dt_initializer_ones = {
    .kind = {.name = "Ones",
             .about = "all 1",
             .aliases = (const char *const[]){"ones", "one", NULL}},
    .fill = ones,
};

struct constant {
    double value;
};

static const dt_field fields[] = {DT_REAL(struct constant, value, .help = "value of every element"),
                                  DT_END};

static void constant(const void *args, const dt_draw *d, double *out) {
    fill_with(d, ((const struct constant *)args)->value, out);
}

const dt_initializer dt_initializer_constant = {
    .kind = {"Constant", "all one value", fields, sizeof(struct constant),
             (const char *const[]){"constant", NULL}},
    .fill = constant,
};
