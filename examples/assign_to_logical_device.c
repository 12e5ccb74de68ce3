/* SPDX-License-Identifier: Apache-2.0 */
/* assign_to_logical_device.c: four replicas with two logical devices each; a sum on the first of them. */
#include <dtrain.h>
#include <stdio.h>
#include <stdlib.h>

static void step_fn(dt_trace *t, void *strategy)
{
    dt_value inputs = dt_arg(t, "value");
    dt_value output = dt_add(inputs, inputs);

    dt_return(t, "output", dt_strategy_assign_to_logical_device(strategy, output, 0));
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
    dt_strategy *strategy = NULL;
    dt_dataset *dataset = NULL;
    dt_dist_dataset *dist_dataset = NULL;
    dt_iterator *iterator = NULL;
    dt_function *step = NULL;
    dt_values *inputs = NULL, *result = NULL;
    char *text = NULL;

    DT_GO(s, dt_tpu_resolver(&resolver, "sim:v3-8"));
    DT_GO(s, dt_tpu_initialize(resolver, &topology));
    DT_GO(s, dt_device_assignment_build(&device_assignment, topology, &chips));
    DT_GO(s, dt_tpu_strategy(&strategy, resolver, &(dt_tpu_options){ .device_assignment = device_assignment }));
    DT_GO(s, dt_dataset_range(&dataset, 0, 8, 1));
    DT_GO(s, dt_dataset_batch(&dataset, dataset, 8, false));
    DT_GO(s, dt_strategy_distribute_dataset(strategy, dataset, NULL, &dist_dataset));
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
    dt_dataset_unref(dataset);
    dt_strategy_unref(strategy);
    dt_device_assignment_unref(device_assignment);
    dt_resolver_unref(resolver);
    return dt_report(s);
}
