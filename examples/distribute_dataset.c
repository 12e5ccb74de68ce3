/* SPDX-License-Identifier: Apache-2.0 */
/* distribute_dataset.c: the batches of a data set, cut for the replicas. */
#include <dtrain.h>
#include <stdio.h>
#include <stdlib.h>

/* input (B), int64 */
static void replica_fn(dt_trace *t, void *user)
{
    (void)user;
    dt_return(t, "output", dt_multiply(dt_arg(t, "value"), dt_scalar(t, DT_INT64, 2)));
}

int main(void)
{
    const int global_batch_size = 2;
    dt_status *s = NULL;
    dt_strategy *strategy = NULL;
    dt_dataset *dataset = NULL;
    dt_dist_dataset *dist_dataset = NULL;
    dt_iterator *it = NULL;
    dt_function *function = NULL;
    dt_values *x = NULL, *result = NULL;

    DT_GO(s, dt_mirrored_strategy(&strategy, (const char *[]){ "CPU:0", "CPU:1" }, 2));
    DT_GO(s, dt_dataset_range(&dataset, 0, 4, 1));
    DT_GO(s, dt_dataset_batch(&dataset, dataset, global_batch_size, false));
    DT_GO(s, dt_strategy_distribute_dataset(strategy, dataset, NULL, &dist_dataset));
    DT_GO(s, dt_function_create(&function, replica_fn, NULL));
    DT_GO(s, dt_iterator_create(&it, dist_dataset));
    for (;;) {
        DT_GO(s, dt_iterator_next(it, &x));
        if (!x)
            break;
        DT_GO(s, dt_strategy_run(strategy, function, x, &result));
        char *text = dt_values_text(result, "output");
        puts(text);
        free(text);
    }
out:
    dt_values_unref(result);
    dt_values_unref(x);
    dt_iterator_unref(it);
    dt_function_unref(function);
    dt_dist_dataset_unref(dist_dataset);
    dt_dataset_unref(dataset);
    dt_strategy_unref(strategy);
    return dt_report(s);
}
