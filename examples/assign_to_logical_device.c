/* SPDX-License-Identifier: Apache-2.0 */
/* assign_to_logical_device.c: four replicas with two logical devices each; a sum on the first of
 * them. */
#include <dtrain.h>
#include <stdio.h>
#include <stdlib.h>

static void step_fn(dt_trace *t, void *strategy) {
    dt_value inputs = dt_arg(t, "value");
    dt_value output = dt_add(inputs, inputs);

    dt_return(t, "output", dt_strategy_assign_to_logical_device(strategy, output, 0));
}

static dt_status *assign(void) {
    const dt_device_assignment_options chips = {
        .computation_shape = (const int64_t[]){1, 1, 1, 2}, .shape_rank = 4, .num_replicas = 4};
    const dt_topology *topology; /* lent */

    DT_LET(resolver, resolver, dt_tpu_resolver(&resolver, "sim:v3-8"));
    DT_TRY(dt_tpu_initialize(resolver, &topology));
    DT_LET(device_assignment, device_assignment,
           dt_device_assignment_build(&device_assignment, topology, &chips));
    DT_LET(strategy, strategy,
           dt_tpu_strategy(&strategy, resolver,
                           &(dt_tpu_options){.device_assignment = device_assignment}));
    DT_LET(dataset, dataset, dt_dataset_range(&dataset, 0, 8, 1));
    DT_TRY(dt_dataset_batch(&dataset, dataset, 8, false));
    DT_LET(dist_dataset, dist_dataset,
           dt_strategy_distribute_dataset(strategy, dataset, NULL, &dist_dataset));
    DT_LET(iterator, iterator, dt_iterator_create(&iterator, dist_dataset));
    DT_LET(values, inputs, dt_iterator_next(iterator, &inputs));
    DT_LET(function, step, dt_function_create(&step, step_fn, strategy));
    DT_LET(values, result, dt_strategy_run(strategy, step, inputs, &result));
    char *text = dt_values_text(result, "output");
    puts(text);
    free(text);
    return NULL;
}

int main(void) { return dt_report(assign()); }
