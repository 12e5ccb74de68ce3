/* SPDX-License-Identifier: Apache-2.0 */
/* reduce.c: one value from what the replicas return, and where it lies. */
#include <dtrain.h>
#include <stdio.h>
#include <stdlib.h>

static void step_fn(dt_trace *t, void *user) {
    (void)user;
    dt_return(t, "i", dt_replica_id(t));
}

static dt_status *reduce(void) {
    DT_LET(strategy, strategy,
           dt_mirrored_strategy(&strategy, (const char *[]){"CPU:0", "CPU:1"}, 2));
    DT_LET(function, step, dt_function_create(&step, step_fn, NULL));
    DT_LET(values, per_replica_result, dt_strategy_run(strategy, step, NULL, &per_replica_result));
    puts(dt_tensor_device(dt_values_local(per_replica_result, "i", 0)));
    puts(dt_tensor_device(dt_values_local(per_replica_result, "i", 1)));

    DT_LET(tensor, total,
           dt_strategy_reduce(strategy, DT_SUM, per_replica_result, "i", DT_NO_AXIS, &total));
    char *text = dt_tensor_text(total);
    puts(text);
    free(text);
    puts(dt_tensor_device(total));
    return NULL;
}

int main(void) { return dt_report(reduce()); }
