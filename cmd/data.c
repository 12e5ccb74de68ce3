/* SPDX-License-Identifier: Apache-2.0 */
/* Operands that are a job or files with data. */
#include "data.h"

const char *const split_choices[] = {"train", "validation", "test", NULL};

dt_status *take_data(const struct call *call, const struct data_source *from, dt_job **job,
                     dt_data_request *request) {
    dt_job_source source;
    *request = (dt_data_request){.split = split_choices[from->split], .json = from->json};
    if (call->operands.n == 0) return usage_error(call, "a job or files of data are missing");
    if (!is_job(call->operands.at[0])) {
        request->files = call->operands.at;
        request->n_files = call->operands.n;
        return NULL;
    }
    dt_status *s = take_job(call, &(struct place){0}, &source);
    if (s) return s;
    source.purpose = DT_FOR_PREDICT;
    s = dt_job_open(job, &source);
    request->job = *job;
    request->title = source.path;
    return s;
}
