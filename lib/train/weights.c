/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All weights of a model: their digest, and their arrays for checkpoints. The arrays of an
 * optimizer's variables, and a check that values are finite.
 */
#include <stdlib.h>
#include <string.h>

#include "format/contents.h"
#include "train/train.h"

static int by_path(const void *a, const void *b) {
    return strcmp((*(dt_variable *const *)a)->path, (*(dt_variable *const *)b)->path);
}

dt_status *dt_weights_digest(const dt_model *m, dt_digest *out) {
    DT_TRY(dt_variables_fetch(m->weight, m->n_weights));
    dt_variable **sorted = dt_alloc((size_t)(m->n_weights + 1) * sizeof(dt_variable *));
    dt_sha256 *h = dt_sha256_create();

    memcpy(sorted, m->weight, (size_t)m->n_weights * sizeof(dt_variable *));
    qsort(sorted, (size_t)m->n_weights, sizeof(dt_variable *), by_path);
    for (int i = 0; i < m->n_weights; i++)
        dt_hash_array(
            h, &(dt_named_view){sorted[i]->path, sorted[i]->type, (void *)dt_host_data(sorted[i])});
    free(sorted);
    *out = dt_sha256_end(h);
    return NULL;
}

static dt_arrays arrays_of(dt_variable *const *v, int n, dt_arena *arena, bool fill) {
    dt_named_view *array = dt_arena_array(arena, dt_named_view, n + 1);

    for (int i = 0; i < n; i++)
        array[i] = (dt_named_view){.name = v[i]->path,
                                   .type = v[i]->type,
                                   .data = fill ? dt_host_edit(v[i]) : (void *)dt_host_data(v[i])};
    return (dt_arrays){.n = n, .array = array};
}

dt_status *dt_model_arrays(const dt_model *m, dt_arena *arena, dt_arrays *out) {
    DT_TRY(dt_variables_fetch(m->weight, m->n_weights));
    *out = arrays_of(m->weight, m->n_weights, arena, false);
    return NULL;
}

dt_arrays dt_model_arrays_to_fill(const dt_model *m, dt_arena *arena) {
    return arrays_of(m->weight, m->n_weights, arena, true);
}

dt_status *dt_optimizer_arrays(const dt_optimizer *o, dt_arena *arena, dt_arrays *out) {
    int n;
    dt_variable **v = dt_optimizer_variables(o, arena, &n);

    DT_TRY(dt_variables_fetch(v, n));
    *out = arrays_of(v, n, arena, false);
    return NULL;
}

dt_arrays dt_optimizer_arrays_to_fill(const dt_optimizer *o, dt_arena *arena) {
    int n;
    dt_variable **v = dt_optimizer_variables(o, arena, &n);
    return arrays_of(v, n, arena, true);
}

static const dt_named_view *find_not_finite(const dt_arrays *a, int64_t *n) {
    for (int i = 0; i < a->n; i++) {
        *n = dt_count_not_finite(&a->array[i]);
        if (*n > 0) return &a->array[i];
    }
    return NULL;
}

dt_status *dt_check_finite(const dt_arrays *a, dt_error number, const char *before, ...) {
    int64_t n;
    const dt_named_view *bad = find_not_finite(a, &n);
    if (!bad) return NULL;
    DT_FORMATTED(text, before);
    return dt_fail(number, NULL, "%s: '%s' holds %lld value%s that %s not finite",
                   dt_str_text(&text), bad->name, (long long)n, n == 1 ? "" : "s",
                   n == 1 ? "is" : "are");
}
