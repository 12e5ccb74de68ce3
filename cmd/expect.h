/* SPDX-License-Identifier: Apache-2.0 */
/* --expect 'val_accuracy>=0.94': a gate on the last value of a metric. */
#ifndef CMD_EXPECT_H
#define CMD_EXPECT_H

#include "verb.h"
#include "watch.h"

enum { MOST_EXPECTATIONS = 32 };

struct expectation {
    const char *name; /* lent by the argument, and so many bytes of it */
    size_t bytes;
    char op[3];
    double number;
    const char *written; /* the number as written */
};
struct expectations {
    struct expectation at[MOST_EXPECTATIONS];
    int n;
};

/* Reads NAME OP NUMBER; OP is >=, <=, >, <, ==. */
dt_status *expect_parse(const struct call *call, struct words texts, struct expectations *e);
/* Are these metrics of the job? `training`: of fit, which reports those with val_ as well. */
dt_status *expect_check(const struct expectations *e, const dt_job *job, bool training);
/* Whether this value meets it; NaN meets nothing. */
bool expect_holds(const struct expectation *e, double value);
/* Compares the last values with the expectations. Prints each that is not met as an error;
 * returns the exit code, 0 or 80. */
int expect_judge(const struct expectations *e, const struct watch *w);

#endif
