/* SPDX-License-Identifier: Apache-2.0 */
/* A job on another slice than its own: --tpu as overrides. */
#ifndef CMD_TPU_H
#define CMD_TPU_H

#include "verb.h"

struct tpu_job {
    dt_job_source source; /* overrides of the command line and of --tpu, and one more */
    const char **word;
    char slice[256];
};

/* Reports an unknown slice as an error of the command line instead of the job. tpu NULL: not
 * given. */
dt_status *tpu_check(const char *tpu);
/* more NULL: none. The caller releases *out, also after an error. */
dt_status *tpu_take_job(const struct call *call, const struct place *place, const char *tpu,
                        const char *more, struct tpu_job *out);
void tpu_release(struct tpu_job *j);

#endif
