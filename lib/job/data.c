/* SPDX-License-Identifier: Apache-2.0 */
/* The data set of a job: opened once, and checked against the model. */
#include "job/job.h"

dt_status *dt_job_open_data(dt_job *j) {
    if (j->data) return NULL;
    DT_TRY(dt_dataset_create(&j->data, &j->dataset));
    j->model.documents = dt_dataset_documents(j->data);
    return dt_job_check_targets(j);
}

dt_status *dt_job_find_documents(dt_job *j) {
    const dt_format *f = j->dataset.format;
    const dt_documents d =
        f && f->documents ? f->documents(j->dataset.format_args) : (dt_documents){0};
    dt_dataset *own = NULL;
    if ((!d.masked && !d.restarts) || j->model.documents.masked || j->model.documents.restarts)
        return NULL;
    DT_TRY(dt_dataset_create(&own, &j->dataset));
    j->model.documents = dt_dataset_documents(own);
    dt_dataset_unref(own);
    return NULL;
}

DT_API int dt_job_folds(const dt_job *j) {
    DT_LIVE(j);
    return j && j->dataset.split.fold == 0 ? (int)j->dataset.split.folds : 0;
}

dt_status *dt_job_check_fold(const dt_job *j) {
    const int folds = dt_job_folds(j);
    if (folds == 0) return NULL;
    return dt_suggest(dt_fail(DT_E_DATASET_KEYS, &j->dataset.at,
                              "the job has %d folds, with a model each", folds),
                      "'dtrain fit' trains all; for one of them add dataset.fold=1 "
                      "output.dir=%s/fold-1",
                      j->run_dir);
}

DT_API dt_status *dt_job_check_data(dt_job *j) {
    const dt_compile_spec *c = NULL;
    dt_match match;
    DT_REQUIRE({DT_LIVE(j), "job"});
    DT_TRY(dt_job_open_data(j));
    if (j->has_compile) c = &j->compile;
    dt_status *faults = dt_match_data(j->data, &j->model, c, &match);
    if (!faults && c && j->has_fit)
        faults = dt_match_class_weight(j->data, &j->model, c, &match, &j->fit.class_weight);
    if (!faults && c && j->has_fit)
        faults = dt_match_counts(j->data, c, &match, &j->fit.class_weight);
    dt_status_append(&faults, dt_job_check_first_weights(j));
    return faults;
}

DT_API dt_status *dt_job_check_examples(dt_job *j) {
    DT_REQUIRE({DT_LIVE(j), "job"});
    dt_dataset_spec spec = j->dataset;
    dt_dataset *checked = NULL;
    spec.checks_all = true;
    dt_status *s = dt_dataset_create(&checked, &spec);
    dt_dataset_unref(checked);
    return s;
}

dt_status *dt_job_take_learned(dt_job *j, const dt_saved *c) {
    const dt_learned *learned;
    DT_TRY(dt_stored_read(c, j->arena, &j->dataset));
    DT_TRY(dt_learned_read(c, j->arena, &learned));
    if (!learned && !c->state.named_files) return NULL;
    if (learned) j->dataset.learned = learned;
    if (c->state.named_files)
        j->dataset.named_files = dt_arena_strdup(j->arena, c->state.named_files);
    dt_dataset_unref(
        /* the data set has learned from the current files, not from those of the checkpoint, so it
         * is closed */
        j->data);
    j->data = NULL;
    return NULL;
}
