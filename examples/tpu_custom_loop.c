/* SPDX-License-Identifier: Apache-2.0 */
/* tpu_custom_loop.c: a training step on a TPUStrategy, over data sets that a function makes for
 * each host. */
#include <dtrain.h>
#include <stdio.h>
#include <stdlib.h>

struct step {
    dt_model *model;
    dt_optimizer *optimizer;
    dt_loss *loss;
};

/* Random examples, one at a time for each replica, without end. */
static dt_status *dataset_fn(const dt_input_context *ctx, void *user, dt_dataset **out) {
    float features[2 * 5];
    int64_t labels[2];

    (void)ctx, (void)user;
    srand(1);
    for (int i = 0; i < 2 * 5; i++) features[i] = (float)rand() / (float)RAND_MAX;
    for (int i = 0; i < 2; i++) labels[i] = rand() % 2;
    DT_LET(tensor, x, dt_tensor_create(&x, DT_FLOAT32, 2, (const int64_t[]){2, 5}, features));
    DT_LET(tensor, y, dt_tensor_create(&y, DT_INT64, 2, (const int64_t[]){2, 1}, labels));
    DT_LET(values, examples, dt_values_create(&examples));
    DT_TRY(dt_values_set(examples, "features", x));
    DT_TRY(dt_values_set(examples, "labels", y));
    DT_TRY(dt_dataset_from_tensor_slices(out, examples));
    DT_TRY(dt_dataset_repeat(out, *out, -1));
    return dt_dataset_batch(out, *out, 1, true);
}

/* features (B, 5), labels (B, 1) */
static void step_fn(dt_trace *t, void *user) {
    const struct step *my = user;
    dt_value logits = dt_model_call(my->model, dt_arg(t, "features"), DT_TRAINING); /* (B, 2) */
    /* (B): one loss per example */
    dt_value loss = dt_loss_call(my->loss, dt_arg(t, "labels"), logits);

    dt_optimizer_apply(my->optimizer, dt_gradient(loss, dt_model_trainable(my->model)));
    dt_return(t, "loss", loss);
}

static dt_status *train(void) {
    const dt_topology *topology; /* lent */
    DT_AUTO(model, model);
    DT_AUTO(optimizer, optimizer);
    DT_AUTO(loss, loss);

    DT_LET(resolver, resolver, dt_tpu_resolver(&resolver, "sim:v3-8"));
    DT_TRY(dt_tpu_connect(resolver));
    DT_TRY(dt_tpu_initialize(resolver, &topology));
    DT_LET(strategy, strategy, dt_tpu_strategy(&strategy, resolver, NULL));
    DT_SCOPE(strategy) {
        DT_TRY(dt_model_create(&model, "- Input: {shape: [5]}\n- Dense: {units: 2}\n"));
        DT_TRY(dt_optimizer_create(&optimizer, "SGD: {learning_rate: 0.1}"));
        DT_TRY(dt_loss_create(
            &loss, "SparseCategoricalCrossentropy: {from_logits: true, reduction: none}"));
    }
    struct step my = {model, optimizer, loss};
    DT_LET(dist_dataset, dist_dataset,
           dt_strategy_distribute_datasets_from_function(strategy, dataset_fn, NULL, NULL,
                                                         &dist_dataset));
    DT_LET(iterator, iterator, dt_iterator_create(&iterator, dist_dataset));
    DT_LET(function, train_step, dt_function_create(&train_step, step_fn, &my));
    DT_LET(values, inputs, dt_iterator_next(iterator, &inputs));
    DT_LET(values, result, dt_strategy_run(strategy, train_step, inputs, &result));
    DT_LET(tensor, losses, dt_strategy_gather(strategy, result, "loss", 0, &losses));
    printf("%lld losses on %d replicas\n", (long long)dt_tensor_dim(losses, 0),
           dt_strategy_replicas(strategy));
    return NULL;
}

int main(void) { return dt_report(train()); }
