/* SPDX-License-Identifier: Apache-2.0 */
/* Job files, as `dtrain validate --no-data` looks at them: every section, every table of fields,
 * and what sections say of one another. */
#include <stdlib.h>

#include "dtrain.h"
#include "fuzz.h"

static void tell(dt_job *job) {
    char *text = NULL;
    fuzz_done(dt_job_partition_text(job, &text));
    free(text);
    text = NULL;
    fuzz_done(dt_job_config_text(job, true, &text));
    free(text);
    text = NULL;
    fuzz_done(dt_job_config_diff(job, job, NULL, &text));
    free(text);
}

/* The first line, "#N", says what the job is opened for. */
FUZZ_TARGET(job) {
    dt_job *job = NULL;
    dt_job_source source = {.path = fuzz_file(data, size),
                            .purpose = size > 1 && data[0] == '#' ? data[1] % 5 : DT_FOR_FIT};
    dt_status *s = dt_job_open(&job, &source);
    if (!s) tell(job);
    fuzz_done(s);
    dt_job_unref(job);
    return 0;
}
