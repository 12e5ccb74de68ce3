/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replicate_to_logical_devices.c: images cut in two for the logical devices of each replica, labels
 * and outputs whole on both.
 *
 * The document splits by [1, 2, 4, 1], which are 8 parts; a replica of computation_shape [1, 1, 1,
 * 2] has 2 logical devices.
 */
#include <dtrain.h>
#include <stdio.h>
#include <stdlib.h>

struct step {
    dt_strategy *strategy;
    dt_model *model;
    dt_loss *loss;
};

/* image (B, 4, 8, 3), label (B) */
static void step_fn(dt_trace *t, void *user) {
    const struct step *my = user;
    dt_value images = dt_strategy_split_to_logical_devices(my->strategy, dt_arg(t, "image"),
                                                           (const int64_t[]){1, 2, 1, 1}, 4);
    dt_value output = dt_model_call(my->model, images, DT_INFERENCE);

    /* For the loss, all logical devices share the same logits and labels. */
    dt_value labels = dt_strategy_replicate_to_logical_devices(my->strategy, dt_arg(t, "label"));
    output = dt_strategy_replicate_to_logical_devices(my->strategy, output);
    dt_return(t, "loss", dt_loss_call(my->loss, labels, output));
}

/* A black image with label 0 on each replica. */
static dt_status *value_fn(const dt_value_context *ctx, dt_values *out, void *user) {
    (void)ctx, (void)user;
    DT_LET(tensor, image,
           dt_tensor_create(&image, DT_FLOAT32, 4, (const int64_t[]){1, 4, 8, 3}, NULL));
    DT_LET(tensor, label, dt_tensor_create(&label, DT_INT32, 1, (const int64_t[]){1}, NULL));
    DT_TRY(dt_values_set(out, "image", image));
    return dt_values_set(out, "label", label);
}

static dt_status *run_step(void) {
    const dt_device_assignment_options chips = {
        .computation_shape = (const int64_t[]){1, 1, 1, 2}, .shape_rank = 4, .num_replicas = 4};
    const dt_topology *topology; /* lent */
    DT_AUTO(model, model);
    DT_AUTO(loss, loss_fn);

    DT_LET(resolver, resolver, dt_tpu_resolver(&resolver, "sim:v3-8"));
    DT_TRY(dt_tpu_initialize(resolver, &topology));
    DT_LET(device_assignment, device_assignment,
           dt_device_assignment_build(&device_assignment, topology, &chips));
    DT_LET(strategy, strategy,
           dt_tpu_strategy(&strategy, resolver,
                           &(dt_tpu_options){.device_assignment = device_assignment}));
    DT_SCOPE(strategy) {
        DT_TRY(dt_model_create(&model,
                               "- Input: {shape: [4, 8, 3]}\n- Flatten\n- Dense: {units: 10}\n"));
        DT_TRY(dt_loss_create(&loss_fn, "SparseCategoricalCrossentropy: {from_logits: true}"));
    }
    DT_LET(values, inputs, dt_strategy_values_from_function(strategy, value_fn, NULL, &inputs));
    struct step my = {strategy, model, loss_fn};
    DT_LET(function, step, dt_function_create(&step, step_fn, &my));
    DT_LET(values, result, dt_strategy_run(strategy, step, inputs, &result));
    DT_LET(tensor, loss, dt_strategy_reduce(strategy, DT_SUM, result, "loss", DT_NO_AXIS, &loss));
    /* log 10: nothing can be learned from black images */
    printf("loss %.4f\n", dt_tensor_item(loss));
    return NULL;
}

int main(void) { return dt_report(run_step()); }
