/* SPDX-License-Identifier: Apache-2.0 */
/* tpu_loop.c: a custom training loop under TPUStrategy. The losses are those of configs/tpu-loop.yaml, on any number of replicas: tpu_loop [SLICE]. */
#include <dtrain.h>
#include <stdio.h>

struct step { dt_model *model; dt_optimizer *optimizer; dt_loss *loss, *sum; };

/* One replica's step; called once per signature, to record it. image (B, 784), label (B, 10). */
static void train_step(dt_trace *t, void *user)
{
    const struct step *my = user;
    dt_value image = dt_arg(t, "image"), label = dt_arg(t, "label");

    dt_value logits = dt_model_call(my->model, image, DT_TRAINING);  /* (B, 10) */
    dt_value loss   = dt_loss_call(my->loss, label, logits);  /* (): this replica's part of the mean over the global batch */
    dt_optimizer_apply(my->optimizer, dt_gradient(loss, dt_model_trainable(my->model)));
    dt_return(t, "sum", dt_loss_call(my->sum, label, logits));  /* no checks: the trace keeps the first error, run returns it */
}

static dt_status *train_epoch(dt_strategy *strategy, dt_function *step, dt_dist_dataset *batches, int64_t examples)
{
    dt_status *s = NULL;
    dt_iterator *it = NULL;
    dt_values *batch = NULL, *result = NULL;
    dt_tensor *sum = NULL;
    double loss = 0;

    DT_GO(s, dt_iterator_create(&it, batches));
    for (;;) {
        DT_GO(s, dt_iterator_next(it, &batch));  /* one value per replica */
        if (!batch)
            break;  /* the end is no error */
        DT_GO(s, dt_strategy_run(strategy, step, batch, &result));  /* traced the first time */
        DT_GO(s, dt_strategy_reduce(strategy, DT_SUM, result, "sum", DT_NO_AXIS, &sum));
        loss += dt_tensor_item(sum) / (double)examples;
    }
    printf("loss %.6f on %d replica%s\n", loss, dt_strategy_replicas(strategy), dt_strategy_replicas(strategy) == 1 ? "" : "s");
out:
    dt_tensor_unref(sum);
    dt_values_unref(result);
    dt_values_unref(batch);
    dt_iterator_unref(it);
    return s;
}

int main(int argc, char **argv)
{
    dt_status *s = NULL;
    dt_resolver *resolver = NULL;
    const dt_topology *topology;  /* lent */
    dt_strategy *strategy = NULL;
    struct step my = {0};
    dt_dataset *digits = NULL;
    dt_dist_dataset *batches = NULL;
    dt_function *step = NULL;

    DT_GO(s, dt_tpu_resolver(&resolver, argc > 1 ? argv[1] : "sim:v3-8"));
    DT_GO(s, dt_tpu_initialize(resolver, &topology));
    DT_GO(s, dt_tpu_strategy(&strategy, resolver, &(dt_tpu_options){ .spmd = false }));
    DT_SCOPE(strategy) {
        DT_GO(s, dt_model_create(&my.model, "- Input: {name: image, shape: [784]}\n"
            "- Dense: {units: 1024, activation: relu}\n- Dense: {units: 10}\n"));
        DT_GO(s, dt_optimizer_create(&my.optimizer, "Adam"));
        DT_GO(s, dt_loss_create(&my.loss, "CategoricalCrossentropy: {from_logits: true}"));
        DT_GO(s, dt_loss_create(&my.sum, "CategoricalCrossentropy: {from_logits: true, reduction: sum}"));
    }
    DT_GO(s, dt_dataset_open(&digits, "{format: npy, train: {image: build/digits/x.npy, label: build/digits/y.npy}, global_batch_size: 256}"));
    DT_GO(s, dt_strategy_distribute_dataset(strategy, digits, NULL, &batches));
    DT_GO(s, dt_function_create(&step, train_step, &my));  /* owns its traces; my outlives it */
    for (int epoch = 0; epoch < 5; epoch++)
        DT_GO(s, train_epoch(strategy, step, batches, dt_dataset_examples(digits)));
out:
    dt_function_unref(step);
    dt_dist_dataset_unref(batches);
    dt_dataset_unref(digits);
    dt_loss_unref(my.sum);
    dt_loss_unref(my.loss);
    dt_optimizer_unref(my.optimizer);
    dt_model_unref(my.model);
    dt_strategy_unref(strategy);
    dt_resolver_unref(resolver);
    return dt_report(s);
}
