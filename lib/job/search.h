/* SPDX-License-Identifier: Apache-2.0 */
/* Functions shared by the two searches: for the fastest shape of a run (search.c), and for a
 * slice to run a fixed amount of work on (search_run.c). */
#ifndef DT_JOB_SEARCH_H
#define DT_JOB_SEARCH_H

#include "job/plan.h"

/* Finds the shape of a block with this number of devices of a mesh: first the cores of a chip, then
 * neighbours along x, y, z. Returns false if there is no such block. */
bool dt_search_block(const int mesh[4], int devices, int shape[4]);
/* Opens the job with additional overrides, word[words]. The list of overrides is allocated in
 * `arena`. */
dt_status *dt_search_open(const dt_job_source *from, char *const *word, int words, dt_arena *arena,
                          dt_job **job) DT_MUST_USE;
/* Does dt_plan_search for a request with a whole run, and prints the slices into `out`. */
dt_status *dt_search_run(const dt_search_request *q, dt_str *out, bool *fits) DT_MUST_USE;

#endif
