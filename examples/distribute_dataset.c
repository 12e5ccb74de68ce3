/* SPDX-License-Identifier: Apache-2.0 */
/* distribute_dataset.c: the batches of a data set, cut for the replicas. */
#include <dtrain.h>
#include <stdio.h>
#include <stdlib.h>

/* input (B), int64 */
static void replica_fn(dt_trace *t, void *user) {
    (void)user;
    dt_return(t, "output", dt_multiply(dt_arg(t, "value"), dt_scalar(t, DT_INT64, 2)));
}

static dt_status *distribute(int global_batch_size) {
    DT_LET(strategy, strategy,
           dt_mirrored_strategy(&strategy, (const char *[]){"CPU:0", "CPU:1"}, 2));
    DT_LET(dataset, dataset, dt_dataset_range(&dataset, 0, 4, 1));
    DT_TRY(dt_dataset_batch(&dataset, dataset, global_batch_size, false));
    DT_LET(dist_dataset, dist_dataset,
           dt_strategy_distribute_dataset(strategy, dataset, NULL, &dist_dataset));
    DT_LET(function, function, dt_function_create(&function, replica_fn, NULL));
    DT_LET(iterator, it, dt_iterator_create(&it, dist_dataset));
    DT_EACH(x, it) {
        DT_LET(values, result, dt_strategy_run(strategy, function, x, &result));
        char *text = dt_values_text(result, "output");
        puts(text);
        free(text);
    }
    return NULL;
}

int main(void) { return dt_report(distribute(2)); }
