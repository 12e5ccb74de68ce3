/* SPDX-License-Identifier: Apache-2.0 */
/* tpu_run.c: a function on every replica of a TPUStrategy, each with its own part of a distributed value. */
#include <dtrain.h>
#include <stdio.h>
#include <stdlib.h>

static dt_status *value_fn(const dt_value_context *value_context, dt_values *out, void *user)
{
    dt_tensor *n = NULL;
    dt_status *s = dt_tensor_create(&n, DT_INT32, 0, NULL, (const int32_t[]){ value_context->num_replicas_in_sync });

    (void)user;
    if (!s)
        s = dt_values_set(out, "input", n);
    dt_tensor_unref(n);
    return s;
}

static void replica_fn(dt_trace *t, void *user)
{
    (void)user;
    dt_return(t, "output", dt_multiply(dt_arg(t, "input"), dt_scalar(t, DT_INT32, 2)));
}

int main(void)
{
    dt_status *s = NULL;
    dt_resolver *resolver = NULL;
    const dt_topology *topology;  /* lent */
    dt_strategy *strategy = NULL;
    dt_function *function = NULL;
    dt_values *distributed_values = NULL, *result = NULL;
    char *text = NULL;

    DT_GO(s, dt_tpu_resolver(&resolver, "sim:v3-8"));
    DT_GO(s, dt_tpu_initialize(resolver, &topology));
    DT_GO(s, dt_tpu_strategy(&strategy, resolver, NULL));
    DT_GO(s, dt_strategy_values_from_function(strategy, value_fn, NULL, &distributed_values));
    DT_GO(s, dt_function_create(&function, replica_fn, NULL));
    DT_GO(s, dt_strategy_run(strategy, function, distributed_values, &result));
    text = dt_values_text(result, "output");
    puts(text);
out:
    free(text);
    dt_values_unref(result);
    dt_values_unref(distributed_values);
    dt_function_unref(function);
    dt_strategy_unref(strategy);
    dt_resolver_unref(resolver);
    return dt_report(s);
}
