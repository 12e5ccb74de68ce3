/* SPDX-License-Identifier: Apache-2.0 */
/* See predict_turn.h. */
#include "train/predict_turn.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/reserve.h"

static size_t row_bytes(const dt_graph *step, int i) {
    const dt_type one = dt_type_at(&step->node[step->result[i].node].type, 1);
    return (size_t)dt_type_bytes(&one);
}

void dt_predict_turn_open(dt_predict_turn *t, dt_cluster *cluster, const dt_graph *step) {
    *t = (dt_predict_turn){.cluster = cluster, .step = step};
    if (!cluster) return;
    t->rows = dt_alloc((size_t)cluster->workers * sizeof *t->rows);
    t->bytes = dt_alloc((size_t)cluster->workers * sizeof *t->bytes);
    for (int i = 0; i < step->n_results; i++) t->row_bytes += row_bytes(step, i);
}

void dt_predict_turn_close(dt_predict_turn *t) {
    free(t->rows);
    free(t->bytes);
    free(t->all);
    dt_str_release(&t->own);
    *t = (dt_predict_turn){0};
}

bool dt_predict_turn_is_own(const dt_predict_turn *t) { return t->n == t->cluster->rank; }

dt_status *dt_predict_turn_keep(dt_predict_turn *t, const dt_view *result, int64_t rows) {
    dt_str_clear(&t->own);
    for (int i = 0; i < t->step->n_results; i++)
        dt_str_add(&t->own, result[i].data, (size_t)rows * row_bytes(t->step, i));
    return dt_reserve_check();
}

bool dt_predict_turn_next(dt_predict_turn *t, int64_t rows) {
    t->rows[t->n++] = rows;
    return t->n == t->cluster->workers;
}

static dt_status *make_room(dt_predict_turn *t, size_t bytes) {
    if (bytes <= t->all_bytes) return NULL;
    free(t->all);
    t->all = dt_try_alloc(bytes);
    t->all_bytes = t->all ? bytes : 0;
    return t->all ? NULL
                  : dt_fail(DT_E_NO_MEMORY, NULL,
                            "out of memory for %zu bytes of outputs of all workers", bytes);
}

dt_status *dt_predict_turn_collect(dt_predict_turn *t) {
    size_t all = 0;
    for (int w = 0; w < t->cluster->workers; w++)
        all += t->bytes[w] = w < t->n ? (size_t)t->rows[w] * t->row_bytes : 0;
    if (t->cluster->rank == 0 || t->everyone) DT_TRY(make_room(t, all));
    return (t->everyone ? dt_cluster_spread : dt_cluster_collect)(
        t->cluster, "outputs", dt_str_text(&t->own), t->bytes, t->all);
}

bool dt_predict_turn_result(const dt_predict_turn *t, int w, dt_view *result) {
    char *at = t->all;
    for (int before = 0; before < w; before++) at += t->bytes[before];
    for (int i = 0; i < t->step->n_results; i++) {
        result[i] =
            (dt_view){.type = dt_type_at(&t->step->node[t->step->result[i].node].type, t->rows[w]),
                      .data = at};
        at += (size_t)t->rows[w] * row_bytes(t->step, i);
    }
    return t->cluster->rank == 0 || t->everyone;
}
