/* SPDX-License-Identifier: Apache-2.0 */
/* device_assignment.c: one replica on two logical devices, and an operation on one of them. */
#include <dtrain.h>
#include <stdio.h>
#include <stdlib.h>

static dt_status *dataset_fn(const dt_input_context *ctx, void *user, dt_dataset **out) {
    (void)ctx, (void)user;
    DT_TRY(dt_dataset_range(out, 0, 4, 1));
    return dt_dataset_batch(out, *out, 4, true);
}

static void step_fn(dt_trace *t, void *strategy) {
    dt_value features = dt_arg(t, "value");
    dt_value output = dt_add(features, features);

    /* The sum will be computed on logical device 0. */
    dt_return(t, "output", dt_strategy_assign_to_logical_device(strategy, output, 0));
}

static dt_status *run_on_two_cores(void) {
    const dt_device_assignment_options two_cores = {
        .computation_shape = (const int64_t[]){1, 1, 1, 2}, .shape_rank = 4, .num_replicas = 1};
    const dt_topology *topology; /* lent */
    const char *device;

    DT_LET(resolver, resolver, dt_tpu_resolver(&resolver, "sim:v3-8"));
    DT_TRY(dt_tpu_connect(resolver));
    DT_TRY(dt_tpu_initialize(resolver, &topology));
    DT_LET(device_assignment, device_assignment,
           dt_device_assignment_build(&device_assignment, topology, &two_cores));
    DT_LET(strategy, strategy,
           dt_tpu_strategy(&strategy, resolver,
                           &(dt_tpu_options){.device_assignment = device_assignment}));
    for (int i = 0; i < dt_strategy_logical_devices(strategy); i++) {
        DT_TRY(dt_strategy_logical_device(strategy, 0, i, &device));
        puts(device);
    }
    DT_LET(dist_dataset, dist_dataset,
           dt_strategy_distribute_datasets_from_function(strategy, dataset_fn, NULL, NULL,
                                                         &dist_dataset));
    DT_LET(iterator, iterator, dt_iterator_create(&iterator, dist_dataset));
    DT_LET(values, inputs, dt_iterator_next(iterator, &inputs));
    DT_LET(function, step, dt_function_create(&step, step_fn, strategy));
    DT_LET(values, result, dt_strategy_run(strategy, step, inputs, &result));
    char *text = dt_values_text(result, "output");
    puts(text);
    free(text);
    return NULL;
}

int main(void) { return dt_report(run_on_two_cores()); }
