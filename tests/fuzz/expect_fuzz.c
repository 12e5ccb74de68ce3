/* SPDX-License-Identifier: Apache-2.0 */
/* --expect: gates on metrics, a word a line, and whether a job has these metrics. */
#include <string.h>

#include "../../cmd/expect.h"
#include "fuzz.h"
#include "tiny.h"

enum { MOST_WORDS = MOST_EXPECTATIONS + 1 };

static const char job_text[] =
    TINY_BODY "model: {layers: [Input: {name: image, shape: [8]}, Dense: {units: 3}]}\n";

static const dt_job *job(void) {
    static dt_job *opened;
    dt_status *s =
        opened
            ? NULL
            : dt_job_open(&opened, &(dt_job_source){.path = fuzz_file(job_text, strlen(job_text))});
    FUZZ_CHECK(!s, "the job is wrong");
    return opened;
}

FUZZ_TARGET(expect) {
    static struct expectations e;
    static const struct verb fit = {.name = "fit"};
    const struct call call = {.verb = &fit};
    const char *word[MOST_WORDS];
    struct words words = {.at = word};
    char *rest;
    for (char *at = strtok_r(fuzz_copy(data, size), "\n", &rest); at && words.n < MOST_WORDS;
         at = strtok_r(NULL, "\n", &rest))
        word[words.n++] = at;
    dt_status *s = expect_parse(&call, words, &e);
    if (!s) s = expect_check(&e, job(), size % 2 ? NULL : "validation");
    fuzz_done(s);
    return 0;
}
