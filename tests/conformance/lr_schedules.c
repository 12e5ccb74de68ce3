/* SPDX-License-Identifier: Apache-2.0 */
/* Learning-rate schedules: the rate at each step. */
#include "conformance.h"

#include <stdlib.h>

static void expect_rates(const golden_case *c, verdict *v, const dt_rate_schedule *r) {
    const json_t *steps = json_object_get(c->in, "steps"),
                 *rates = json_object_get(c->out, "learning_rate"), *step;
    size_t i;

    json_array_foreach(steps, i, step) {
        double rate = 0;
        char what[48];
        snprintf(what, sizeof what, "rate at step %lld", (long long)json_integer_value(step));
        expect_ok(v, what, dt_rate_schedule_at(r, json_integer_value(step), &rate));
        expect_double(v, what, json_array_get(rates, i), rate, ELEMENTWISE);
    }
}

static void run_schedule(const golden_case *c, verdict *v) {
    char *fragment = fragment_of(json_string_value(json_object_get(c->in, "class")),
                                 json_object_get(c->in, "arguments"));
    dt_rate_schedule *r = NULL;
    dt_status *s = dt_rate_schedule_create(&r, "%s", fragment);

    if (c->error) {
        expect_error(v, s);
    } else {
        expect_ok(v, fragment, s);
        if (r) expect_rates(c, v, r);
    }
    dt_rate_schedule_unref(r);
    free(fragment);
}

const golden_op lr_schedules_ops[] = {
    {"lr_schedule", run_schedule, NULL},
    {0},
};
