/* SPDX-License-Identifier: Apache-2.0 */
/* A job and its base: what `extends` merges, key by key, and what is said of the places of both. A
 * line of dashes is between them, the base first. */
#define _GNU_SOURCE /* asprintf */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dtrain.h"
#include "fuzz.h"

static const char between[] = "\n-----\n", head[] = "extends: base.yaml\n";

FUZZ_TARGET(extends) {
    char *text = fuzz_copy(data, size), *job = strstr(text, between), *all, *shown = NULL,
         path[256];
    const size_t base = job ? (size_t)(job - text) + 1 : strlen(text);
    const char *own = job ? job + strlen(between) : "",
               *folder = fuzz_folder("base.yaml", text, base);
    FUZZ_CHECK(asprintf(&all, "%s%s", head, own) > 0, "no memory for the input");
    fuzz_folder_add("job.yaml", all, strlen(all));
    free(all);
    snprintf(path, sizeof path, "%s/job.yaml", folder);
    dt_job *opened = NULL;
    dt_status *s = dt_job_open(&opened, &(dt_job_source){.path = path});
    if (!s) s = dt_job_config_text(opened, true, &shown);
    fuzz_done(s);
    free(shown);
    dt_job_unref(opened);
    return 0;
}
