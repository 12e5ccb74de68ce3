/* SPDX-License-Identifier: Apache-2.0 */
/* Predicts the examples of a data set at once: returns all rows of the model's only output in one
 * tensor, or of each output in a tensor. */
#include <string.h>

#include "strategy/values.h"
#include "train/scoped.h"
#include "train/train.h"

static void gather(dt_gathered *g, const dt_tensor *rows, int64_t n) {
    g->type = rows->type;
    g->rows += n;
    dt_str_add(&g->bytes, rows->data, (size_t)dt_type_bytes(&rows->type));
}

dt_status *dt_gather_rows(const dt_predicted_rows *p, void *user) {
    if (p->n_outputs > 1)
        return dt_suggest(
            dt_fail(DT_E_MISUSE, NULL, "the model has %d outputs, not one tensor", p->n_outputs),
            "dt_model_predict_outputs, or a function that gets the rows");
    gather(user, p->values[0], p->n_rows);
    return NULL;
}

dt_status *dt_gathered_take(dt_gathered *g, dt_status *s, dt_tensor **out) {
    g->type.dim[0] = g->rows;
    if (!s)
        s = dt_tensor_create(out, g->type.dtype, g->type.rank, g->type.dim, dt_str_text(&g->bytes));
    dt_str_release(&g->bytes);
    return s;
}

static dt_status *gather_outputs(const dt_predicted_rows *p, void *user) {
    dt_gathered *of = user;
    for (int i = 0; i < p->n_outputs; i++) gather(&of[i], p->values[i], p->n_rows);
    return NULL;
}

static dt_status *take_outputs(const dt_model_spec *m, dt_gathered *of, dt_status *s,
                               dt_values *out) {
    for (int i = 0; i < m->n_outputs; i++) {
        dt_tensor *t = NULL;
        s = dt_gathered_take(&of[i], s, &t);
        if (!s) s = dt_values_set(out, m->output[i].name, t);
        dt_tensor_unref(t);
    }
    return s;
}

/* Returns the data set's global batch: global_batch_size or, if per_replica_batch_size is given,
 * that times the number of replicas, which is then set as the global batch. */
static int64_t batch_of(dt_dataset *data, const dt_model *m) {
    const dt_dataset_spec *spec = dt_dataset_spec_of(data);

    if (spec->per_replica_batch_size > 0)
        dt_dataset_set_global_batch(data, spec->per_replica_batch_size * m->strategy->replicas);
    return dt_dataset_batch_size(data);
}

/* If the model is compiled, points c->output to a copy, in `output`, in which each output that
 * matches an element of the data set has that element's name as its target. */
static void name_targets(const dt_model *m, dt_dataset *data, dt_output_use *output,
                         dt_compile_spec *c) {
    const dt_element_spec *element;
    dt_match match;
    if (!m->compiled) return;
    memcpy(output, c->output, (size_t)c->n_outputs * sizeof *output);
    c->output = output;
    dt_dataset_elements(data, &element);
    dt_status *none = dt_match_types(data, &m->spec, c, &match);
    for (int i = 0; !none && i < c->n_outputs; i++)
        if (match.target[i] >= 0) output[i].target = element[match.target[i]].name;
    dt_status_free(none);
}

/* Predicts the part of the data that evaluate uses. */
static dt_status *predict_evaluated(dt_model *m, dt_dataset *data,
                                    dt_status *(*rows)(const dt_predicted_rows *, void *),
                                    void *user) {
    dt_compile_spec compile = m->compile;
    dt_output_use output[DT_MAX_OUTPUTS];
    const dt_predict_rows from = {.data = data,
                                  .part = dt_evaluated_part(data),
                                  .batch = batch_of(data, m),
                                  .compile = m->compiled ? &compile : NULL,
                                  .rows = rows,
                                  .user = user,
                                  .everyone = true};
    name_targets(m, data, output, &compile);
    return dt_predict(m, &from);
}

dt_status *dt_model_predict(dt_model *m, dt_dataset *data, dt_tensor **out) {
    DT_LIVE(m);
    DT_LIVE(data);
    dt_gathered g = {0};
    IN_CAPTURED_SCOPE(m);

    DT_REQUIRE({m, "model"}, {data, "data set"}, {out, "place for the tensor"});
    DT_TRY(dt_dataset_check_job(data));
    return dt_gathered_take(&g, predict_evaluated(m, data, dt_gather_rows, &g), out);
}

dt_status *dt_model_predict_outputs(dt_model *m, dt_dataset *data, dt_values **out) {
    DT_LIVE(m);
    DT_LIVE(data);
    dt_gathered of[DT_MAX_OUTPUTS] = {0};
    dt_values *values = NULL;
    IN_CAPTURED_SCOPE(m);

    DT_REQUIRE({m, "model"}, {data, "data set"}, {out, "place for the values"});
    DT_TRY(dt_dataset_check_job(data));
    DT_TRY(dt_values_create(&values));
    dt_status *s =
        take_outputs(&m->spec, of, predict_evaluated(m, data, gather_outputs, of), values);
    if (s) {
        dt_values_unref(values);
        return s;
    }
    dt_values_unref(*out);
    *out = values;
    return NULL;
}
