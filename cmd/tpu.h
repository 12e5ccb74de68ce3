/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a job for another slice than its own: turns --tpu into overrides. */
#ifndef CMD_TPU_H
#define CMD_TPU_H

#include "verb.h"

struct tpu_job {
    /* the overrides of the command line, those for --tpu, and room for one more */
    dt_job_source source;
    const char **word;
    char slice[256];
};

/* Checks that the slice exists, so that an unknown one is an error of the command line and not of
 * the job. tpu NULL: the option was not given. */
dt_status *tpu_check(const char *tpu);
/* Opens the job with the overrides. `more` is one more override; NULL: none. The caller releases
 * *out, also after an error. */
dt_status *tpu_take_job(const struct call *call, const struct place *place, const char *tpu,
                        const char *more, struct tpu_job *out);
void tpu_release(struct tpu_job *j);

#endif
