/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over the op table with random samples: what the tests of all rows share. Failures name the
 * op and the seed. */
#ifndef TESTS_OP_TABLE_H
#define TESTS_OP_TABLE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "../support/ops.h"
#include "samples.h"

static const uint64_t seed = 20251121;
static const int64_t batches[] = {1, 3, 5};
enum { N_BATCHES = 3 };

static inline void check(dt_status *s, const char *what) {
    if (s) fail_msg("%s: %s", what, dt_status_text(s));
}

/* A sample of the op: nth of a test, the same in every run. */
static inline sample draw(const dt_op *op, dt_random *r, const char *purpose, int nth, bool batch) {
    sample s;
    *r = dt_random_stream(seed, purpose, (uint64_t)nth);
    check(sample_make(&s, op, r, batch), op->name);
    return s;
}

static inline bool near(double a, double b, double tolerance) {
    return (isnan(a) && isnan(b)) || a == b || fabs(a - b) <= tolerance * (1 + fabs(b));
}

static inline double cell(const dt_view *v, int64_t i) {
    return dt_dtype_is_float(v->type.dtype) ? dt_cell_double(v, i) : (double)dt_cell_int(v, i);
}

static inline void expect_views(const char *what, const dt_view *is, const dt_view *ought,
                                double tolerance) {
    if (!dt_type_equal(&is->type, &ought->type))
        fail_msg("%s: the types differ (seed %d)", what, (int)seed);
    for (int64_t i = 0, n = dt_type_elements(&ought->type); i < n; i++)
        if (!near(cell(is, i), cell(ought, i), tolerance))
            fail_msg("%s: element %d is %.17g, not %.17g (seed %d)", what, (int)i, cell(is, i),
                     cell(ought, i), (int)seed);
}

/* Calls `test` with `trials` samples of every op that can be evaluated. */
static inline void for_samples(const char *purpose, int trials, bool batch,
                               void (*test)(sample *s, int64_t batch)) {
    int n;
    const dt_op *const *ops = all_ops(&n);
    print_message("seed %d\n", (int)seed);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < trials && ops[i]->eval; k++) {
            dt_random r;
            sample s = draw(ops[i], &r, purpose, i * trials + k, batch);
            test(&s, batches[k % N_BATCHES]);
        }
}

/* The argument NAMEi. */
static inline dt_value declare(dt_trace *t, const char *name, int i, const dt_type *type) {
    char numbered[16];
    snprintf(numbered, sizeof numbered, "%s%d", name, i);
    return dt_trace_declare(t, numbered, type);
}

#endif
