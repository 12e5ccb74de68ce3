/* SPDX-License-Identifier: Apache-2.0 */
/* --expect 'val_accuracy>=0.94', --expect 'accuracy >= runs/main - 0.005': a gate on the last value
 * of a metric. */
#ifndef CMD_EXPECT_H
#define CMD_EXPECT_H

#include "verb.h"
#include "watch.h"

enum { MOST_EXPECTATIONS = 32 };

struct expectation {
    const char *name; /* lent by the argument; `bytes` bytes, not terminated */
    size_t bytes;
    char op[3];
    double number;
    const char *written;  /* what follows the operator */
    const char *baseline; /* a run or a metrics file to whose value `number` is added; NULL: none */
    size_t baseline_bytes;
    bool resolved; /* `number` is the sum */
};
struct expectations {
    struct expectation at[MOST_EXPECTATIONS];
    int n;
};

/* Reads NAME OP NUMBER or NAME OP PATH [+ or - NUMBER]; OP is >=, <=, >, <, ==. A path has a '/',
 * ends in .json, or exists. */
dt_status *expect_parse(const struct call *call, struct words texts, struct expectations *e);
/* Are these metrics of the job? Reads the baselines, so before a run can change them.
 * `split`: the part that is evaluated, "input" for a file; NULL: the job is trained, and metrics
 * with val_ are reported as well. */
dt_status *expect_check(struct expectations *e, const dt_job *job, const char *split);
/* "accuracy >= runs/main - 0.005 (0.935)" */
void expect_put(dt_str *to, const struct expectation *e);
/* Whether this value meets it; NaN meets nothing. */
bool expect_holds(const struct expectation *e, double value);
/* Compares the last values with the expectations. Prints each that is not met as an error;
 * returns the exit code, 0 or 80. */
int expect_judge(const struct expectations *e, const struct watch *w);

#endif
