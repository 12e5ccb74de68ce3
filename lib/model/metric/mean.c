/* SPDX-License-Identifier: Apache-2.0 */
/* Mean and Sum of values, for custom training loops. They have no targets. */
#include "model/model.h"

struct mean {
    const char *name;
};

static const dt_field fields[] = {
    DT_TEXT(struct mean, name, .help = "accepted for compatibility; not used"), DT_NOT_YET("dtype"),
    DT_END};

static dt_value values(const dt_loss_call_args *c) { return c->prediction; }

const dt_metric_row dt_metric_mean = {
    .kind = {"Mean", "mean of values", fields, sizeof(struct mean),
             (const char *const[]){"mean", NULL}},
    .sums = 1,
    .alone = true,
    .update = values,
    .result = dt_mean_of_sum,
};

static void sum(dt_metric_parts *m) {
    dt_value x = m->weight.trace
                     ? dt_multiply(m->prediction, dt_weights_like(m->weight, m->prediction))
                     : m->prediction;
    m->part[m->n++] = dt_reduce_sum(x, DT_NO_AXIS);
}

static int result(const void *args, const double *total, int n, double *out) {
    (void)args, (void)n;
    out[0] = total[0];
    return 1;
}

const dt_metric_row dt_metric_sum = {
    .kind = {"Sum", "sum of values", fields, sizeof(struct mean),
             (const char *const[]){"sum", NULL}},
    .alone = true,
    .parts = sum,
    .results = result,
};
