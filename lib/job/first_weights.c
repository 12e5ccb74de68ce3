/* SPDX-License-Identifier: Apache-2.0 */
/* The start of training: finds the run's directory, and the weights that `init_from` names. These
 * matter only while the directory has no checkpoint. */

#include "job/job.h"

char *dt_job_output(const dt_job *j) { return dt_path_join(j->work_directory, j->run_dir); }

dt_init_from dt_job_first_weights(const dt_job *j) {
    dt_init_from from = j->model.init_from;
    if (!from.path) return from;
    DT_LOCAL char *path = dt_path_join(j->work_directory, from.path);
    from.path = dt_arena_strdup(j->arena, path);
    return from;
}

static bool goes_on(const dt_job *j) {
    int64_t generation = -1;
    if (dt_job_resume(j) == DT_RESUME_NEVER) return false;
    DT_LOCAL char *directory = dt_job_output(j);
    /* training reports this error again, so it is dropped here */
    dt_status_free(dt_checkpoints_generation(directory, &generation));
    return generation >= 0 || dt_job_resume(j) == DT_RESUME_PATH;
}

dt_status *dt_job_check_first_weights(const dt_job *j) {
    const dt_init_from from = dt_job_first_weights(j);
    dt_model *m = NULL;
    if (!from.path || goes_on(j)) return NULL;
    dt_status *s = dt_model_outline(&m, &j->model, NULL);
    if (!s) s = dt_init_check(m, &from);
    dt_model_unref(m);
    return s;
}
