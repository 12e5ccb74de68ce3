/* SPDX-License-Identifier: Apache-2.0 */
/* Finds a model's weights by path, and reads them in step functions. */
#include <stdlib.h>
#include <string.h>

#include "model/model.h"

dt_status *dt_model_find_weight(const dt_model *m, const char *path, dt_variable **out) {
    const char **names = dt_alloc((size_t)(m->n_weights + 1) * sizeof *names);

    *out = NULL;
    for (int i = 0; i < m->n_weights; i++) {
        names[i] = m->weight[i]->path;
        if (strcmp(names[i], path) == 0) *out = m->weight[i];
    }
    const char *near = *out ? NULL : dt_nearest(path, names, m->n_weights);
    free(names);
    if (*out) return NULL;
    dt_status *s = dt_fail(DT_E_WEIGHT, NULL, "the model has no weight '%s'", path);
    return near ? dt_suggest(s, "did you mean '%s'?", near) : s;
}

dt_value dt_model_weight(dt_trace *t, dt_model *m, const char *path) {
    DT_LIVE(m);
    dt_variable *v = NULL;
    if (!dt_trace_is_live(t) || dt_trace_error(t)) return (dt_value){0};
    dt_status *s = dt_want(m, "dt_model_weight", "model");
    if (!s) s = dt_want(path, "dt_model_weight", "path");
    if (!s) s = dt_model_find_weight(m, path, &v);
    if (s) dt_trace_fail(t, s);
    return s ? (dt_value){0} : dt_read(t, v);
}
