/* SPDX-License-Identifier: Apache-2.0 */
/* values_from_function.c: distributed values from a function of the replica, for run, reduce and
 * gather. */
#include <dtrain.h>
#include <stdio.h>
#include <stdlib.h>

static dt_status *set(dt_values *out, dt_dtype dtype, const void *value) {
    DT_LET(tensor, t, dt_tensor_create(&t, dtype, 0, NULL, value));
    return dt_values_set(out, "value", t);
}

/* The same on each replica. */
static dt_status *constant(const dt_value_context *ctx, dt_values *out, void *user) {
    (void)ctx, (void)user;
    return set(out, DT_FLOAT32, (const float[]){1});
}

/* An element of an array, by replica. */
static dt_status *by_replica(const dt_value_context *ctx, dt_values *out, void *array_value) {
    return set(out, DT_FLOAT64, (const double *)array_value + ctx->replica_id_in_sync_group);
}

static dt_status *number_of_replicas(const dt_value_context *ctx, dt_values *out, void *user) {
    (void)user;
    return set(out, DT_INT32, &ctx->num_replicas_in_sync);
}

/* A tensor that exists already. */
static dt_status *placed(const dt_value_context *ctx, dt_values *out, void *tensor) {
    (void)ctx;
    return dt_values_set(out, "value", tensor);
}

static dt_status *show(dt_strategy *strategy, dt_value_fn value_fn, void *user) {
    DT_LET(values, distributed_values,
           dt_strategy_values_from_function(strategy, value_fn, user, &distributed_values));
    for (int i = 0; i < dt_values_locals(distributed_values, "value"); i++) {
        char *text = dt_tensor_text(dt_values_local(distributed_values, "value", i));
        printf("%s%s", i ? ",\n " : "(", text);
        free(text);
    }
    puts(")");
    return NULL;
}

static dt_status *show_all(void) {
    double array_value[] = {3, 2, 1};

    DT_LET(strategy, strategy,
           dt_mirrored_strategy(&strategy, (const char *[]){"CPU:0", "CPU:1"}, 2));
    DT_TRY(show(strategy, constant, NULL));
    DT_TRY(show(strategy, by_replica, array_value));
    DT_TRY(show(strategy, number_of_replicas, NULL));

    /* a simulated v3-8 where there is no TPU */
    DT_LET(strategy, tpu, dt_tpu_strategy(&tpu, NULL, NULL));
    DT_LET(tensor, one, dt_tensor_create(&one, DT_FLOAT32, 0, NULL, (const float[]){1}));
    return show(tpu, placed, one);
}

int main(void) { return dt_report(show_all()); }
