/* SPDX-License-Identifier: Apache-2.0 */
/* reduce.c: one value from what the replicas return, and where it lies. */
#include <dtrain.h>
#include <stdio.h>
#include <stdlib.h>

static void step_fn(dt_trace *t, void *user)
{
    (void)user;
    dt_return(t, "i", dt_replica_id(t));
}

int main(void)
{
    dt_status *s = NULL;
    dt_strategy *strategy = NULL;
    dt_function *step = NULL;
    dt_values *per_replica_result = NULL;
    dt_tensor *total = NULL;
    char *text = NULL;

    DT_GO(s, dt_mirrored_strategy(&strategy, (const char *[]){ "CPU:0", "CPU:1" }, 2));
    DT_GO(s, dt_function_create(&step, step_fn, NULL));
    DT_GO(s, dt_strategy_run(strategy, step, NULL, &per_replica_result));
    puts(dt_tensor_device(dt_values_local(per_replica_result, "i", 0)));
    puts(dt_tensor_device(dt_values_local(per_replica_result, "i", 1)));

    DT_GO(s, dt_strategy_reduce(strategy, DT_SUM, per_replica_result, "i", DT_NO_AXIS, &total));
    text = dt_tensor_text(total);
    puts(text);
    puts(dt_tensor_device(total));
out:
    free(text);
    dt_tensor_unref(total);
    dt_values_unref(per_replica_result);
    dt_function_unref(step);
    dt_strategy_unref(strategy);
    return dt_report(s);
}
