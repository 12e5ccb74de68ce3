/* SPDX-License-Identifier: Apache-2.0 */
/* The handle of a pipeline: a data set with a description and a count of its iterations. */
#include <stdlib.h>

#include "data/pipeline/build.h"

dt_status *dt_pipeline_input(const dt_dataset *in, const char *what) {
    DT_TRY(dt_status_kept());
    if (!in) return dt_fail(DT_E_PIPELINE, NULL, "%s: no data set given", what);
    if (!in->pipe)
        return dt_fail(DT_E_PIPELINE, NULL,
                       "%s: a data set read from a job file cannot be transformed; use its 'map', "
                       "'shuffle', 'take' and 'repeat' keys; "
                       "transformations work on data sets made by dt_dataset_range, _from_tensors, "
                       "_list_files, ...",
                       what);
    return NULL;
}

dt_status *dt_dataset_adopt(dt_dataset **out, dt_pipe *p) {
    if (!out) {
        dt_pipe_unref(p);
        return dt_want(out, "a call that makes a data set", "place for it");
    }
    dt_dataset *d = dt_alloc(sizeof *d);
    *d = (dt_dataset){.refs = 1, .pipe = p};
    dt_dataset_unref(*out);
    *out = d;
    return NULL;
}

dt_status *dt_dataset_build(dt_dataset **out, const dt_pipe_parts *parts) {
    dt_pipe *p;
    DT_TRY(dt_pipe_create(&p, parts));
    return dt_dataset_adopt(out, p);
}

dt_pipe *dt_dataset_pipe(const dt_dataset *d) { return d->pipe; }

dt_status *dt_dataset_check_job(const dt_dataset *d) {
    if (!d) return dt_fail(DT_E_PIPELINE, NULL, "no data set given");
    return d->pipe ? dt_fail(DT_E_PIPELINE, NULL,
                             "a pipeline can only be read in order; call dt_dataset_collect to get "
                             "a data set for fit, "
                             "evaluate and predict")
                   : NULL;
}

uint64_t dt_dataset_begin(dt_dataset *d) { return d->iterations++; }

void dt_dataset_begin_at(dt_dataset *d, uint64_t next) { d->iterations = next; }

int64_t dt_dataset_cardinality(const dt_dataset *d) {
    DT_LIVE(d);
    return !d ? 0 : d->pipe ? dt_pipe_count(d->pipe) : d->rows[DT_PART_TRAIN].count;
}

int dt_dataset_components(const dt_dataset *d) {
    DT_LIVE(d);
    return !d ? 0 : d->pipe ? d->pipe->spec.n : d->n;
}

void dt_spec_public(const char *name, const dt_type *type, dt_spec *out) {
    *out = (dt_spec){.name = name, .dtype = type->dtype, .rank = type->rank};
    for (int i = 0; i < type->rank; i++) out->shape[i] = type->dim[i];
}

bool dt_dataset_element_spec(const dt_dataset *d, int i, dt_spec *out) {
    DT_LIVE(d);
    if (i < 0 || i >= dt_dataset_components(d) || !out) return false;
    if (d->pipe) dt_spec_public(d->pipe->spec.c[i].name, &d->pipe->spec.c[i].type, out);
    else dt_spec_public(d->element[i].name, &d->element[i].type, out);
    return true;
}

dt_status *dt_dataset_static_batch_size(const dt_dataset *d, int64_t *size) {
    DT_LIVE(d);
    DT_TRY(dt_pipeline_input(d, "static_batch_size"));
    DT_TRY(dt_want(size, "dt_dataset_static_batch_size", "place for the size"));
    return dt_pipe_batch_size(d->pipe, size);
}
