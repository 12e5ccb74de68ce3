/* SPDX-License-Identifier: Apache-2.0 */
/*
 * split_to_logical_devices.c: an image cut into 2 x 4 tiles for the 8 logical devices of one
 * replica.
 *
 * The document builds the assignment with computation_shape [1, 2, 2, 2], which needs a slice two
 * chips deep. A v3-8 is flat: its 8 cores are [2, 2, 1, 2].
 */
#include <dtrain.h>
#include <stdio.h>
#include <stdlib.h>

struct step {
    dt_strategy *strategy;
    dt_model *model;
};

/* image (B, 4, 8, 3) */
static void step_fn(dt_trace *t, void *user) {
    const struct step *my = user;
    dt_value inputs = dt_strategy_split_to_logical_devices(my->strategy, dt_arg(t, "image"),
                                                           (const int64_t[]){1, 2, 4, 1}, 4);
    int64_t begin[8], size[8];

    for (int i = 0; dt_tile_of(inputs, i, begin, size); i++)
        printf("logical device %d: width %lld..%lld, height %lld..%lld\n", i, (long long)begin[1],
               (long long)(begin[1] + size[1] - 1), (long long)begin[2],
               (long long)(begin[2] + size[2] - 1));
    dt_return(t, "output", dt_model_call(my->model, inputs, DT_INFERENCE));
}

static dt_status *split(void) {
    const dt_device_assignment_options all_cores = {
        .computation_shape = (const int64_t[]){2, 2, 1, 2}, .shape_rank = 4, .num_replicas = 1};
    const dt_topology *topology; /* lent */
    DT_AUTO(model, model);

    DT_LET(resolver, resolver, dt_tpu_resolver(&resolver, "sim:v3-8"));
    DT_TRY(dt_tpu_initialize(resolver, &topology));
    DT_LET(device_assignment, device_assignment,
           dt_device_assignment_build(&device_assignment, topology, &all_cores));
    DT_LET(
        strategy, strategy,
        dt_tpu_strategy(&strategy, resolver,
                        &(dt_tpu_options){.device_assignment = device_assignment, .spmd = true}));
    DT_SCOPE(strategy)
    DT_TRY(
        dt_model_create(&model, "- Input: {shape: [4, 8, 3]}\n- Flatten\n- Dense: {units: 2}\n"));
    DT_LET(tensor, image,
           dt_tensor_create(&image, DT_FLOAT32, 4, (const int64_t[]){1, 4, 8, 3}, NULL));
    DT_LET(values, inputs, dt_values_create(&inputs));
    DT_TRY(dt_values_set_per_replica(inputs, "image", &image, 1));
    struct step my = {strategy, model};
    DT_LET(function, step, dt_function_create(&step, step_fn, &my));
    DT_LET(values, result, dt_strategy_run(strategy, step, inputs, &result));
    char *text = dt_tensor_text(dt_values_local(result, "output", 0));
    puts(text);
    free(text);
    return NULL;
}

int main(void) { return dt_report(split()); }
