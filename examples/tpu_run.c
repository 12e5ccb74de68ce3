/* SPDX-License-Identifier: Apache-2.0 */
/* tpu_run.c: a function on every replica of a TPUStrategy, each with its own part of a distributed
 * value. */
#include <dtrain.h>
#include <stdio.h>
#include <stdlib.h>

static dt_status *value_fn(const dt_value_context *value_context, dt_values *out, void *user) {
    (void)user;
    DT_LET(tensor, n,
           dt_tensor_create(&n, DT_INT32, 0, NULL,
                            (const int32_t[]){value_context->num_replicas_in_sync}));
    return dt_values_set(out, "input", n);
}

static void replica_fn(dt_trace *t, void *user) {
    (void)user;
    dt_return(t, "output", dt_multiply(dt_arg(t, "input"), dt_scalar(t, DT_INT32, 2)));
}

static dt_status *run(void) {
    const dt_topology *topology; /* lent */

    DT_LET(resolver, resolver, dt_tpu_resolver(&resolver, "sim:v3-8"));
    DT_TRY(dt_tpu_initialize(resolver, &topology));
    DT_LET(strategy, strategy, dt_tpu_strategy(&strategy, resolver, NULL));
    DT_LET(values, distributed_values,
           dt_strategy_values_from_function(strategy, value_fn, NULL, &distributed_values));
    DT_LET(function, function, dt_function_create(&function, replica_fn, NULL));
    DT_LET(values, result, dt_strategy_run(strategy, function, distributed_values, &result));
    char *text = dt_values_text(result, "output");
    puts(text);
    free(text);
    return NULL;
}

int main(void) { return dt_report(run()); }
