/*
 * Predicting: the forward pass over a whole part of a data set, in order, each example once. Outputs of a batch come with the replicas' rows
 * one after the other, which is the order of the data, so they are copied to where the batch's first example stands.
 */
#include <stdlib.h>
#include <string.h>

#include "strategy/values.h"
#include "train/scoped.h"
#include "train/train.h"

typedef struct prediction {
    dt_model *model;
    dt_dataset *data;
    dt_match match;
    dt_compiled *step;
    int32_t *offsets;  /* [replicas + 1] */
    dt_tensor *out;    /* (examples, ...) */
    int64_t done;      /* examples so far */
} prediction;

dt_status *dt_forward_trace(const dt_model *m, const dt_dataset *data, const dt_match *match, dt_graph **out)
{
    dt_trace *t = dt_trace_create("predict");
    const dt_element *elements;
    dt_value input[DT_MAX_INPUTS];

    dt_dataset_elements(data, &elements);
    dt_trace_set_replicas(t, m->strategy->replicas);
    dt_trace_set_logical(t, m->strategy->logical);
    for (int i = 0; i < match->n_inputs; i++) {
        const dt_element *e = &elements[match->input[i]];
        input[i] = dt_trace_declare(t, e->name, &e->type);
    }
    dt_return(t, "prediction", dt_to_float32(dt_model_emit_inputs(m, input, match->n_inputs, DT_INFERENCE)));
    return dt_trace_end(t, out);
}

static dt_status *predict_batch(prediction *p, const dt_batch *batch)
{
    int64_t row = dt_type_bytes(&p->out->type) / (p->out->type.dim[0] ? p->out->type.dim[0] : 1);
    dt_view arg[DT_MAX_INPUTS], result;

    if (p->done + batch->rows > p->out->type.dim[0])
        return dt_fail(DT_E_INTERNAL, NULL, "the data holds more than the %lld examples it counts", (long long)p->out->type.dim[0]);
    dt_cut_rows(batch->rows, dt_dataset_batch_size(p->data), p->model->strategy->replicas, p->offsets);
    dt_match_views(p->data, batch, dt_compiled_step(p->step), arg);
    DT_TRY(dt_compiled_run(p->step, p->offsets, arg, &result));
    memcpy(p->out->data + p->done * row, result.data, (size_t)(batch->rows * row));
    p->done += batch->rows;
    return NULL;
}

static dt_status *predict_all(prediction *p, dt_part part)
{
    dt_feed *feed = NULL;
    dt_batch batch;
    dt_status *s;

    DT_TRY(dt_feed_open(&feed, p->data, &(dt_feed_options){ .part = part, .batch = dt_dataset_batch_size(p->data), .last = DT_LAST_PARTIAL }));
    do {
        s = dt_feed_next(feed, &batch);
        if (!s && batch.rows > 0)
            s = predict_batch(p, &batch);
    } while (!s && batch.rows > 0);
    dt_feed_close(feed);
    return s;
}

static dt_status *prepare(prediction *p, dt_part part)
{
    dt_type type = dt_type_at(&p->model->spec.output, dt_dataset_count(p->data, part));
    dt_graph *g = NULL;

    if (dt_dataset_spec_of(p->data)->per_replica_batch_size > 0)
        dt_dataset_set_global_batch(p->data, dt_dataset_spec_of(p->data)->per_replica_batch_size * p->model->strategy->replicas);
    DT_TRY(dt_match_data(p->data, &p->model->spec, NULL, &p->match));
    DT_TRY(dt_tensor_new(&p->out, &type));
    p->offsets = dt_alloc(((size_t)p->model->strategy->replicas + 1) * sizeof *p->offsets);
    DT_TRY(dt_forward_trace(p->model, p->data, &p->match, &g));
    return dt_compiled_create(&p->step, p->model->strategy, g, &(dt_compile_options){ 0 });
}

dt_status *dt_predict(dt_model *m, dt_dataset *data, dt_part part, dt_tensor **out)
{
    prediction p = { .model = m, .data = data };
    dt_status *s = prepare(&p, part);

    if (!s)
        s = predict_all(&p, part);
    if (!s) {
        dt_tensor_unref(*out);
        *out = dt_tensor_ref(p.out);
    }
    dt_compiled_destroy(p.step);
    dt_tensor_unref(p.out);
    free(p.offsets);
    return s;
}

dt_status *dt_model_predict(dt_model *m, dt_dataset *data, dt_tensor **out)
{
    IN_CAPTURED_SCOPE(m);

    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(m, "dt_model_predict", "model"));
    DT_TRY(dt_want(data, "dt_model_predict", "data set"));
    DT_TRY(dt_want(out, "dt_model_predict", "place for the tensor"));
    return dt_predict(m, data, dt_evaluated_part(data), out);
}
