/* SPDX-License-Identifier: Apache-2.0 */
/* gather.c: the replicas' tensors joined along an axis. */
#include <dtrain.h>
#include <stdio.h>
#include <stdlib.h>

static dt_status *value_fn(const dt_value_context *ctx, dt_values *out, void *tensor) {
    (void)ctx;
    return dt_values_set(out, "x", tensor);
}

static dt_status *gather(dt_strategy *strategy, dt_tensor *tensor, int axis) {
    DT_LET(values, distributed_values,
           dt_strategy_values_from_function(strategy, value_fn, tensor, &distributed_values));
    DT_LET(tensor, whole, dt_strategy_gather(strategy, distributed_values, "x", axis, &whole));
    char *text = dt_tensor_text(whole);
    puts(text);
    free(text);
    return NULL;
}

static dt_status *gather_all(void) {
    DT_LET(strategy, two, dt_mirrored_strategy(&two, (const char *[]){"CPU:0", "CPU:1"}, 2));
    DT_LET(
        tensor, column,
        dt_tensor_create(&column, DT_INT32, 2, (const int64_t[]){2, 1}, (const int32_t[]){1, 2}));
    DT_TRY(gather(two, column, 0));

    DT_LET(strategy, four,
           dt_mirrored_strategy(&four, (const char *[]){"CPU:0", "CPU:1", "CPU:2", "CPU:3"}, 4));
    DT_LET(tensor, single_tensor,
           dt_tensor_create(&single_tensor, DT_INT32, 3, (const int64_t[]){1, 2, 3},
                            (const int32_t[]){0, 1, 2, 3, 4, 5}));
    for (int axis = 0; axis < 3; axis++) DT_TRY(gather(four, single_tensor, axis));
    return NULL;
}

int main(void) { return dt_report(gather_all()); }
