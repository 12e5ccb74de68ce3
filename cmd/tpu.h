/* SPDX-License-Identifier: Apache-2.0 */
/* A job on another slice than it says: --tpu as overrides. */
#ifndef CMD_TPU_H
#define CMD_TPU_H

#include "verb.h"

struct tpu_job {
    dt_job_source source; /* its overrides: those of the command line, of --tpu, one more */
    const char **word;
    char slice[256];
};

/* A slice that there is not is the command line's fault, not the job's. tpu NULL: it was not
 * given. */
dt_status *tpu_check(const char *tpu);
/* more NULL: none. To be released whatever comes back. */
dt_status *tpu_take_job(const struct call *call, const struct place *place, const char *tpu,
                        const char *more, struct tpu_job *out);
void tpu_release(struct tpu_job *j);

#endif
