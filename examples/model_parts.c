/* SPDX-License-Identifier: Apache-2.0 */
/* model_parts.c: two models called one after the other, each on a core of its own, trained together under TPUStrategy. */
#include <dtrain.h>
#include <stdio.h>

struct step { dt_strategy *strategy; dt_model *part1, *part2; dt_variables *variables; dt_optimizer *optimizer; dt_loss *loss; };

static dt_value call_model(const struct step *my, dt_value inputs)
{
    dt_value intermediate = dt_model_call(my->part1, inputs, DT_TRAINING);  /* (B, 512) */
    intermediate = dt_strategy_assign_to_logical_device(my->strategy, intermediate, 0);
    dt_value outputs = dt_model_call(my->part2, intermediate, DT_TRAINING);  /* (B, 10) */
    return dt_strategy_assign_to_logical_device(my->strategy, outputs, 1);
}

static void train_step(dt_trace *t, void *user)
{
    const struct step *my = user;
    dt_value loss = dt_loss_call(my->loss, dt_arg(t, "label"), call_model(my, dt_arg(t, "image")));

    dt_optimizer_apply(my->optimizer, dt_gradient(loss, my->variables));
    dt_return(t, "loss", loss);
}

/* The weights of both parts for one optimizer, those of a part on its core. */
static dt_status *place_weights(struct step *my)
{
    dt_variable *all[8];
    int n = 0;

    for (int part = 0; part < 2; part++) {
        const dt_variables *weights = dt_model_trainable(part ? my->part2 : my->part1);
        for (int i = 0; i < dt_variables_count(weights); i++) {
            dt_status *s = dt_strategy_assign_variable(my->strategy, dt_variables_at(weights, i), part);
            if (s)
                return s;
            all[n++] = dt_variables_at(weights, i);
        }
    }
    return dt_variables_create(&my->variables, all, n);
}

int main(void)
{
    const dt_device_assignment_options two_cores = {
        .computation_shape = (const int64_t[]){ 1, 1, 1, 2 }, .shape_rank = 4, .num_replicas = 4,
    };
    dt_status *s = NULL;
    dt_resolver *resolver = NULL;
    const dt_topology *topology;  /* lent */
    dt_device_assignment *device_assignment = NULL;
    dt_strategy *strategy = NULL;
    struct step my = {0};
    const char *device;
    dt_dataset *digits = NULL;
    dt_dist_dataset *batches = NULL;
    dt_iterator *it = NULL;
    dt_function *step = NULL;
    dt_values *batch = NULL, *result = NULL;
    dt_tensor *loss = NULL;

    DT_GO(s, dt_tpu_resolver(&resolver, "sim:v3-8"));
    DT_GO(s, dt_tpu_initialize(resolver, &topology));
    DT_GO(s, dt_device_assignment_build(&device_assignment, topology, &two_cores));
    DT_GO(s, dt_tpu_strategy(&strategy, resolver, &(dt_tpu_options){ .device_assignment = device_assignment }));
    my.strategy = strategy;
    for (int i = 0; i < dt_strategy_logical_devices(strategy); i++) {
        DT_GO(s, dt_strategy_logical_device(strategy, 0, i, &device));
        printf("part %d of replica 0 on %s\n", i + 1, device);
    }
    DT_SCOPE(strategy) {
        DT_GO(s, dt_model_create(&my.part1, "- Input: {shape: [784]}\n- Dense: {units: 512, activation: relu}\n"));
        DT_GO(s, dt_model_create(&my.part2, "- Input: {shape: [512]}\n- Dense: {units: 10, activation: softmax}\n"));
        DT_GO(s, dt_optimizer_create(&my.optimizer, "Adam"));
        DT_GO(s, dt_loss_create(&my.loss, "CategoricalCrossentropy"));
        DT_GO(s, place_weights(&my));
    }
    DT_GO(s, dt_dataset_open(&digits, "{format: npy, train: {image: build/digits/x.npy, label: build/digits/y.npy}, global_batch_size: 256}"));
    DT_GO(s, dt_strategy_distribute_dataset(strategy, digits, NULL, &batches));
    DT_GO(s, dt_iterator_create(&it, batches));
    DT_GO(s, dt_function_create(&step, train_step, &my));
    for (;;) {
        DT_GO(s, dt_iterator_next(it, &batch));
        if (!batch)
            break;
        DT_GO(s, dt_strategy_run(strategy, step, batch, &result));
    }
    DT_GO(s, dt_strategy_reduce(strategy, DT_SUM, result, "loss", DT_NO_AXIS, &loss));
    printf("loss %.4f\n", dt_tensor_item(loss));
out:
    dt_tensor_unref(loss);
    dt_values_unref(result);
    dt_values_unref(batch);
    dt_function_unref(step);
    dt_iterator_unref(it);
    dt_dist_dataset_unref(batches);
    dt_dataset_unref(digits);
    dt_loss_unref(my.loss);
    dt_optimizer_unref(my.optimizer);
    dt_variables_unref(my.variables);
    dt_model_unref(my.part2);
    dt_model_unref(my.part1);
    dt_strategy_unref(strategy);
    dt_device_assignment_unref(device_assignment);
    dt_resolver_unref(resolver);
    return dt_report(s);
}
