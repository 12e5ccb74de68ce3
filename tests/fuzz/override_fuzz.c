/* SPDX-License-Identifier: Apache-2.0 */
/* --set: overrides of a job that is right, a line each, as far as the whole job. */
#include <string.h>

#include "dtrain.h"
#include "fuzz.h"
#include "tiny.h"

enum { MOST_OVERRIDES = 8 };

static const char job_text[] =
    TINY_BODY "model: {type: sequential, layers: [Input: {name: image, shape: [8]}, Dense: {name: "
              "h, units: 4}, Dense: {units: 3}]}\n"
              "output: {dir: run}\n";

FUZZ_TARGET(override) {
    dt_job *job = NULL;
    const char *line[MOST_OVERRIDES];
    char *text = (char *)(uintptr_t)fuzz_string(data, size), *rest;
    int n = 0;
    for (char *at = strtok_r(text, "\n", &rest); at && n < MOST_OVERRIDES;
         at = strtok_r(NULL, "\n", &rest))
        line[n++] = at;
    dt_job_source source = {
        .path = fuzz_file(job_text, strlen(job_text)), .overrides = line, .n_overrides = n};
    dt_status *s = dt_job_open(&job, &source);
    FUZZ_CHECK(!s || n > 0, "the job is wrong without overrides");
    fuzz_done(s);
    dt_job_unref(job);
    return 0;
}
