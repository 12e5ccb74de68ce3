/* SPDX-License-Identifier: Apache-2.0 */
/* --expect 'val_accuracy>=0.94', --expect 'accuracy >= runs/main - 0.005': a condition on the last
 * value of a metric, which decides the exit code. */
#ifndef CMD_EXPECT_H
#define CMD_EXPECT_H

#include "verb.h"
#include "watch.h"

enum { MOST_EXPECTATIONS = 32 };

struct expectation {
    /* the metric's name: the first `bytes` bytes of this text, which is not terminated there; lent
     * by the command line */
    const char *name;
    size_t bytes;
    char op[3];
    double number;
    const char *written; /* the value to compare with, as the user wrote it after the operator */
    /* path of a run or a metrics file whose value is added to `number`; NULL: none */
    const char *baseline;
    size_t baseline_bytes;
    bool resolved; /* whether the baseline's value has been read and added to `number` */
};
struct expectations {
    struct expectation at[MOST_EXPECTATIONS];
    int n;
};

/* Reads expectations of the form NAME OP NUMBER or NAME OP PATH [+ or - NUMBER], where OP is >=,
 * <=, >, < or ==. A text is a PATH if it contains '/', ends in .json, or names an existing file or
 * folder. */
dt_status *expect_parse(const struct call *call, struct words texts, struct expectations *e);
/* Checks that the job has these metrics, and reads the baselines before a run can change them.
 * `split` is the part that is evaluated, or "input" for a file. If it is NULL, the job is trained,
 * and metrics with val_, and learning_rate if callbacks change it, are reported, too. */
dt_status *expect_check(struct expectations *e, const dt_job *job, const char *split);
/* Writes an expectation: "accuracy >= runs/main - 0.005 (0.935)". */
void expect_put(dt_str *to, const struct expectation *e);
/* Whether the value meets the expectation. NaN meets no expectation. */
bool expect_holds(const struct expectation *e, double value);
/* Compares the last values with the expectations. Prints each expectation that is not met, as an
 * error. Returns the exit code, 0 or 80. */
int expect_judge(const struct expectations *e, const struct watch *w);

#endif
