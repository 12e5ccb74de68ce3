/* SPDX-License-Identifier: Apache-2.0 */
/* device_assignment.c: one replica on two logical devices, and an operation on one of them. */
#include <dtrain.h>
#include <stdio.h>
#include <stdlib.h>

static dt_status *dataset_fn(const dt_input_context *ctx, void *user, dt_dataset **out)
{
    dt_status *s = NULL;

    (void)ctx, (void)user;
    DT_GO(s, dt_dataset_range(out, 0, 4, 1));
    DT_GO(s, dt_dataset_batch(out, *out, 4, true));
out:
    return s;
}

static void step_fn(dt_trace *t, void *strategy)
{
    dt_value features = dt_arg(t, "value");
    dt_value output = dt_add(features, features);

    /* The sum will be computed on logical device 0. */
    dt_return(t, "output", dt_strategy_assign_to_logical_device(strategy, output, 0));
}

int main(void)
{
    const dt_device_assignment_options two_cores = {
        .computation_shape = (const int64_t[]){ 1, 1, 1, 2 }, .shape_rank = 4, .num_replicas = 1,
    };
    dt_status *s = NULL;
    dt_resolver *resolver = NULL;
    const dt_topology *topology;  /* lent */
    dt_device_assignment *device_assignment = NULL;
    dt_strategy *strategy = NULL;
    dt_dist_dataset *dist_dataset = NULL;
    dt_iterator *iterator = NULL;
    dt_function *step = NULL;
    dt_values *inputs = NULL, *result = NULL;
    const char *device;
    char *text = NULL;

    DT_GO(s, dt_tpu_resolver(&resolver, "sim:v3-8"));
    DT_GO(s, dt_tpu_connect(resolver));
    DT_GO(s, dt_tpu_initialize(resolver, &topology));
    DT_GO(s, dt_device_assignment_build(&device_assignment, topology, &two_cores));
    DT_GO(s, dt_tpu_strategy(&strategy, resolver, &(dt_tpu_options){ .device_assignment = device_assignment }));
    for (int i = 0; i < dt_strategy_logical_devices(strategy); i++) {
        DT_GO(s, dt_strategy_logical_device(strategy, 0, i, &device));
        puts(device);
    }
    DT_GO(s, dt_strategy_distribute_datasets_from_function(strategy, dataset_fn, NULL, NULL, &dist_dataset));
    DT_GO(s, dt_iterator_create(&iterator, dist_dataset));
    DT_GO(s, dt_iterator_next(iterator, &inputs));
    DT_GO(s, dt_function_create(&step, step_fn, strategy));
    DT_GO(s, dt_strategy_run(strategy, step, inputs, &result));
    text = dt_values_text(result, "output");
    puts(text);
out:
    free(text);
    dt_values_unref(result);
    dt_values_unref(inputs);
    dt_function_unref(step);
    dt_iterator_unref(iterator);
    dt_dist_dataset_unref(dist_dataset);
    dt_strategy_unref(strategy);
    dt_device_assignment_unref(device_assignment);
    dt_resolver_unref(resolver);
    return dt_report(s);
}
