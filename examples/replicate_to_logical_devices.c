/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replicate_to_logical_devices.c: images cut in two for the logical devices of each replica, labels and outputs whole on both.
 *
 * The document splits by [1, 2, 4, 1], which are 8 parts; a replica of computation_shape [1, 1, 1, 2] has 2 logical devices.
 */
#include <dtrain.h>
#include <stdio.h>
#include <stdlib.h>

struct step { dt_strategy *strategy; dt_model *model; dt_loss *loss; };

/* image (B, 4, 8, 3), label (B) */
static void step_fn(dt_trace *t, void *user)
{
    const struct step *my = user;
    dt_value images = dt_strategy_split_to_logical_devices(my->strategy, dt_arg(t, "image"), (const int64_t[]){ 1, 2, 1, 1 }, 4);
    dt_value output = dt_model_call(my->model, images, DT_INFERENCE);

    /* For the loss, all logical devices share the same logits and labels. */
    dt_value labels = dt_strategy_replicate_to_logical_devices(my->strategy, dt_arg(t, "label"));
    output = dt_strategy_replicate_to_logical_devices(my->strategy, output);
    dt_return(t, "loss", dt_loss_call(my->loss, labels, output));
}

static dt_status *make_inputs(dt_values **out)
{
    dt_status *s = NULL;
    dt_tensor *image[4] = { NULL }, *label[4] = { NULL };

    DT_GO(s, dt_values_create(out));
    for (int r = 0; r < 4; r++) {
        DT_GO(s, dt_tensor_create(&image[r], DT_FLOAT32, 4, (const int64_t[]){ 1, 4, 8, 3 }, NULL));
        DT_GO(s, dt_tensor_create(&label[r], DT_INT32, 1, (const int64_t[]){ 1 }, NULL));
    }
    DT_GO(s, dt_values_set_per_replica(*out, "image", image, 4));
    DT_GO(s, dt_values_set_per_replica(*out, "label", label, 4));
out:
    for (int r = 0; r < 4; r++) {
        dt_tensor_unref(image[r]);
        dt_tensor_unref(label[r]);
    }
    return s;
}

int main(void)
{
    const dt_device_assignment_options chips = {
        .computation_shape = (const int64_t[]){ 1, 1, 1, 2 }, .shape_rank = 4, .num_replicas = 4,
    };
    dt_status *s = NULL;
    dt_resolver *resolver = NULL;
    const dt_topology *topology;  /* lent */
    dt_device_assignment *device_assignment = NULL;
    struct step my = {0};
    dt_values *inputs = NULL, *result = NULL;
    dt_function *step = NULL;
    dt_tensor *loss = NULL;

    DT_GO(s, dt_tpu_resolver(&resolver, "sim:v3-8"));
    DT_GO(s, dt_tpu_initialize(resolver, &topology));
    DT_GO(s, dt_device_assignment_build(&device_assignment, topology, &chips));
    DT_GO(s, dt_tpu_strategy(&my.strategy, resolver, &(dt_tpu_options){ .device_assignment = device_assignment }));
    DT_SCOPE(my.strategy) {
        DT_GO(s, dt_model_create(&my.model, "- Input: {shape: [4, 8, 3]}\n- Flatten\n- Dense: {units: 10}\n"));
        DT_GO(s, dt_loss_create(&my.loss, "SparseCategoricalCrossentropy: {from_logits: true}"));
    }
    DT_GO(s, make_inputs(&inputs));
    DT_GO(s, dt_function_create(&step, step_fn, &my));
    DT_GO(s, dt_strategy_run(my.strategy, step, inputs, &result));
    DT_GO(s, dt_strategy_reduce(my.strategy, DT_SUM, result, "loss", DT_NO_AXIS, &loss));
    printf("loss %.4f\n", dt_tensor_item(loss));  /* log 10: black images tell nothing */
out:
    dt_tensor_unref(loss);
    dt_values_unref(result);
    dt_values_unref(inputs);
    dt_function_unref(step);
    dt_loss_unref(my.loss);
    dt_model_unref(my.model);
    dt_strategy_unref(my.strategy);
    dt_device_assignment_unref(device_assignment);
    dt_resolver_unref(resolver);
    return dt_report(s);
}
