/* SPDX-License-Identifier: Apache-2.0 */
/* parameter_server.c: ParameterServerStrategy with a loop of its own. The coordinator schedules
 * steps, and two worker processes run them without waiting for each other. A worker that is killed
 * costs nothing: another one gets its step. */
#include <dtrain.h>
#include <math.h>

struct step {
    dt_model *model;
    dt_optimizer *optimizer;
    dt_loss *loss;
};

/* A step of a worker, with its next batch. x (B, 4), y (B, 1). */
static void train_step(dt_trace *t, void *user) {
    const struct step *my = user;
    dt_value loss = dt_loss_call(my->loss, dt_arg(t, "y"),
                                 dt_model_call(my->model, dt_arg(t, "x"), DT_TRAINING));
    /* happens at the coordinator, with its weights */
    dt_optimizer_apply(my->optimizer, dt_gradient(loss, dt_model_trainable(my->model)));
    dt_return(t, "loss", loss);
}

/* Example number i: x from i, y = 1 x0 + 2 x1 + 3 x2 + 4 x3. */
static dt_status *draw(const dt_values *element, void *user, dt_values *result) {
    const int64_t i = *(const int64_t *)dt_tensor_data(dt_values_local(element, "value", 0));
    float x[4], y = 0;
    for (int k = 0; k < 4; k++) y += (float)(k + 1) * (x[k] = (float)sin((double)(i * (k + 1))));
    (void)user;
    DT_LET(tensor, tx, dt_tensor_create(&tx, DT_FLOAT32, 1, (int64_t[]){4}, x));
    DT_LET(tensor, ty, dt_tensor_create(&ty, DT_FLOAT32, 1, (int64_t[]){1}, &y));
    DT_TRY(dt_values_set(result, "x", tx));
    return dt_values_set(result, "y", ty);
}

/* What a worker trains on: its own part of the numbers, without an end. */
static dt_status *open_examples(const dt_input_context *worker, void *user, dt_dataset **out) {
    static const dt_spec spec[] = {{"x", DT_FLOAT32, 1, {4}}, {"y", DT_FLOAT32, 1, {1}}};
    (void)user;
    DT_TRY(dt_dataset_range(out, 0, 100000, 1));
    DT_TRY(dt_dataset_shard(out, *out, worker->num_input_pipelines, worker->input_pipeline_id));
    DT_TRY(dt_dataset_map(out, *out, &(dt_map_options){.fn = draw, .spec = spec, .n_spec = 2}));
    DT_TRY(dt_dataset_batch(out, *out, 64, true));
    return dt_dataset_repeat(out, *out, -1);
}

static dt_status *train(void) {
    DT_AUTO(model, model);
    DT_AUTO(optimizer, optimizer);
    DT_AUTO(loss, loss);
    dt_coordinator_counts counts;

    DT_LET(strategy, strategy,
           dt_parameter_server_strategy(
               &strategy, &(dt_parameter_server_options){
                              .workers = 2, .limit_staleness = true, .max_staleness = 4}));
    DT_SCOPE(strategy) {
        DT_TRY(dt_model_create(&model, "- Input: {name: x, shape: [4]}\n- Dense: {units: 1}\n"));
        DT_TRY(dt_optimizer_create(&optimizer, "SGD: {learning_rate: 0.05}"));
        DT_TRY(dt_loss_create(&loss, "MeanSquaredError"));
    }
    struct step my = {model, optimizer, loss};
    DT_LET(function, step, dt_function_create(&step, train_step, &my));
    DT_LET(coordinator, coordinator, dt_coordinator_create(&coordinator, strategy));
    DT_LET(per_worker, examples,
           dt_coordinator_per_worker_dataset(coordinator, open_examples, NULL, &examples));
    for (int epoch = 1; epoch <= 3; epoch++) {
        DT_AUTO(remote, last);
        DT_AUTO(values, result);
        for (int i = 0; i < 40; i++)
            DT_TRY(dt_coordinator_schedule(
                coordinator, step, &(dt_closure_arguments){.per_worker = {examples}}, &last));
        DT_TRY(dt_coordinator_join(coordinator));
        DT_TRY(dt_remote_fetch(last, &result));
        printf("epoch %d: loss %.4f\n", epoch, dt_tensor_item(dt_values_local(result, "loss", 0)));
    }
    dt_coordinator_count(coordinator, &counts);
    printf("%lld steps, %lld of them with the newest weights\n", (long long)counts.finished,
           (long long)counts.staleness[0]);
    return NULL;
}

int main(void) { return dt_report(train()); }
