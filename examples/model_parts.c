/* SPDX-License-Identifier: Apache-2.0 */
/* model_parts.c: two models called one after the other, each on a core of its own, trained together
 * under TPUStrategy. */
#include <dtrain.h>
#include <stdio.h>

struct step {
    dt_strategy *strategy;
    dt_model *part1, *part2;
    dt_variables *variables;
    dt_optimizer *optimizer;
    dt_loss *loss;
};

static dt_value call_model(const struct step *my, dt_value inputs) {
    dt_value intermediate = dt_model_call(my->part1, inputs, DT_TRAINING); /* (B, 512) */
    intermediate = dt_strategy_assign_to_logical_device(my->strategy, intermediate, 0);
    dt_value outputs = dt_model_call(my->part2, intermediate, DT_TRAINING); /* (B, 10) */
    return dt_strategy_assign_to_logical_device(my->strategy, outputs, 1);
}

static void train_step(dt_trace *t, void *user) {
    const struct step *my = user;
    dt_value loss = dt_loss_call(my->loss, dt_arg(t, "label"), call_model(my, dt_arg(t, "image")));

    dt_optimizer_apply(my->optimizer, dt_gradient(loss, my->variables));
    dt_return(t, "loss", loss);
}

/* The weights of both parts for one optimizer, those of a part on its core. */
static dt_status *place_weights(const struct step *my, dt_variables **out) {
    dt_variable *all[8];
    int n = 0;

    for (int part = 0; part < 2; part++) {
        const dt_variables *weights = dt_model_trainable(part ? my->part2 : my->part1);
        for (int i = 0; i < dt_variables_count(weights); i++) {
            DT_TRY(dt_strategy_assign_variable(my->strategy, dt_variables_at(weights, i), part));
            all[n++] = dt_variables_at(weights, i);
        }
    }
    return dt_variables_create(out, all, n);
}

static dt_status *train(void) {
    const dt_device_assignment_options two_cores = {
        .computation_shape = (const int64_t[]){1, 1, 1, 2}, .shape_rank = 4, .num_replicas = 4};
    const dt_topology *topology; /* lent */
    const char *device;
    DT_AUTO(model, part1);
    DT_AUTO(model, part2);
    DT_AUTO(variables, variables);
    DT_AUTO(optimizer, optimizer);
    DT_AUTO(loss, loss_fn);
    DT_AUTO(values, result);
    DT_AUTO(tensor, loss);

    DT_LET(resolver, resolver, dt_tpu_resolver(&resolver, "sim:v3-8"));
    DT_TRY(dt_tpu_initialize(resolver, &topology));
    DT_LET(device_assignment, device_assignment,
           dt_device_assignment_build(&device_assignment, topology, &two_cores));
    DT_LET(strategy, strategy,
           dt_tpu_strategy(&strategy, resolver,
                           &(dt_tpu_options){.device_assignment = device_assignment}));
    for (int i = 0; i < dt_strategy_logical_devices(strategy); i++) {
        DT_TRY(dt_strategy_logical_device(strategy, 0, i, &device));
        printf("part %d of replica 0 on %s\n", i + 1, device);
    }
    DT_SCOPE(strategy) {
        DT_TRY(dt_model_create(
            &part1, "- Input: {shape: [784]}\n- Dense: {units: 512, activation: relu}\n"));
        DT_TRY(dt_model_create(
            &part2, "- Input: {shape: [512]}\n- Dense: {units: 10, activation: softmax}\n"));
        DT_TRY(dt_optimizer_create(&optimizer, "Adam"));
        DT_TRY(dt_loss_create(&loss_fn, "CategoricalCrossentropy"));
    }
    struct step my = {strategy, part1, part2, NULL, optimizer, loss_fn};
    DT_TRY(place_weights(&my, &variables));
    my.variables = variables;
    DT_LET(dataset, digits,
           dt_dataset_open(&digits, "{format: npy, train: {image: build/digits/x.npy, label: "
                                    "build/digits/y.npy}, global_batch_size: 256}"));
    DT_LET(dist_dataset, batches, dt_strategy_distribute_dataset(strategy, digits, NULL, &batches));
    DT_LET(iterator, it, dt_iterator_create(&it, batches));
    DT_LET(function, step, dt_function_create(&step, train_step, &my));
    DT_EACH(batch, it)
    DT_TRY(dt_strategy_run(strategy, step, batch, &result));
    DT_TRY(dt_strategy_reduce(strategy, DT_SUM, result, "loss", DT_NO_AXIS, &loss));
    printf("loss %.4f\n", dt_tensor_item(loss));
    return NULL;
}

int main(void) { return dt_report(train()); }
