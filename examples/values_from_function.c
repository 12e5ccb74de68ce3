/* SPDX-License-Identifier: Apache-2.0 */
/* values_from_function.c: distributed values from a function of the replica, for run, reduce and gather. */
#include <dtrain.h>
#include <stdio.h>
#include <stdlib.h>

static dt_status *set(dt_values *out, dt_dtype dtype, const void *value)
{
    dt_tensor *t = NULL;
    dt_status *s = dt_tensor_create(&t, dtype, 0, NULL, value);

    if (!s)
        s = dt_values_set(out, "value", t);
    dt_tensor_unref(t);
    return s;
}

/* The same on each replica. */
static dt_status *constant(const dt_value_context *ctx, dt_values *out, void *user)
{
    (void)ctx, (void)user;
    return set(out, DT_FLOAT32, (const float[]){ 1 });
}

/* An element of an array, by replica. */
static dt_status *by_replica(const dt_value_context *ctx, dt_values *out, void *array_value)
{
    return set(out, DT_FLOAT64, (const double *)array_value + ctx->replica_id_in_sync_group);
}

static dt_status *number_of_replicas(const dt_value_context *ctx, dt_values *out, void *user)
{
    (void)user;
    return set(out, DT_INT32, &ctx->num_replicas_in_sync);
}

/* Values that lie on the replicas' devices already. */
static dt_status *placed(const dt_value_context *ctx, dt_values *out, void *multiple_values)
{
    return dt_values_set(out, "value", ((dt_tensor **)multiple_values)[ctx->replica_id_in_sync_group]);
}

static dt_status *show(dt_strategy *strategy, dt_value_fn value_fn, void *user)
{
    dt_values *distributed_values = NULL;
    dt_status *s = dt_strategy_values_from_function(strategy, value_fn, user, &distributed_values);

    for (int i = 0; !s && i < dt_values_locals(distributed_values, "value"); i++) {
        char *text = dt_tensor_text(dt_values_local(distributed_values, "value", i));
        printf("%s%s", i ? ",\n " : "(", text);
        free(text);
    }
    puts(s ? "" : ")");
    dt_values_unref(distributed_values);
    return s;
}

int main(void)
{
    dt_status *s = NULL;
    dt_strategy *strategy = NULL, *tpu = NULL;
    dt_tensor *multiple_values[8] = { NULL };
    double array_value[] = { 3, 2, 1 };

    DT_GO(s, dt_mirrored_strategy(&strategy, (const char *[]){ "CPU:0", "CPU:1" }, 2));
    DT_GO(s, show(strategy, constant, NULL));
    DT_GO(s, show(strategy, by_replica, array_value));
    DT_GO(s, show(strategy, number_of_replicas, NULL));

    DT_GO(s, dt_tpu_strategy(&tpu, NULL, NULL));  /* a simulated v3-8 where there is no TPU */
    for (int i = 0; i < dt_strategy_replicas(tpu); i++)
        DT_GO(s, dt_tensor_create(&multiple_values[i], DT_FLOAT32, 0, NULL, (const float[]){ 1 }));
    DT_GO(s, show(tpu, placed, multiple_values));
out:
    for (int i = 0; i < 8; i++)
        dt_tensor_unref(multiple_values[i]);
    dt_strategy_unref(tpu);
    dt_strategy_unref(strategy);
    return dt_report(s);
}
