/* SPDX-License-Identifier: Apache-2.0 */
/* tpu_loop.c: a custom training loop under TPUStrategy. The losses are those of
 * configs/tpu-loop.yaml, on any number of replicas: tpu_loop [SLICE]. */
#include <dtrain.h>

struct step {
    dt_model *model;
    dt_optimizer *optimizer;
    dt_loss *loss, *sum;
};

/* One replica's step; called once per signature, to record it. image (B, 784), label (B, 10). */
static void train_step(dt_trace *t, void *user) {
    const struct step *my = user;
    dt_value image = dt_arg(t, "image"), label = dt_arg(t, "label");

    dt_value logits = dt_model_call(my->model, image, DT_TRAINING); /* (B, 10) */
    /* (): this replica's part of the mean over the global batch */
    dt_value loss = dt_loss_call(my->loss, label, logits);
    dt_value right = dt_compare(dt_argmax(logits, -1), dt_argmax(label, -1), DT_EQ); /* (B) */
    dt_optimizer_apply(my->optimizer, dt_gradient(loss, dt_model_trainable(my->model)));
    /* no checks: the trace keeps the first error, run returns it */
    dt_return(t, "sum", dt_loss_call(my->sum, label, logits));
    dt_return(t, "right", dt_reduce_sum(dt_convert(right, DT_FLOAT32), 0));
}

static dt_status *train(const char *slice) {
    DT_AUTO(model, model); /* released on every way out */
    DT_AUTO(optimizer, optimizer);
    DT_AUTO(loss, loss);
    DT_AUTO(loss, sum);

    DT_LET(resolver, resolver, dt_tpu_resolver(&resolver, slice));
    DT_TRY(dt_tpu_initialize(resolver, NULL));
    DT_LET(strategy, strategy, dt_tpu_strategy(&strategy, resolver, NULL));
    DT_SCOPE(strategy) {
        DT_TRY(dt_model_create(&model, "- Input: {name: image, shape: [784]}\n- Dense: {units: "
                                       "1024, activation: relu}\n- Dense: {units: 10}\n"));
        DT_TRY(dt_optimizer_create(&optimizer, "Adam"));
        DT_TRY(dt_loss_create(&loss, "CategoricalCrossentropy: {from_logits: true}"));
        DT_TRY(
            dt_loss_create(&sum, "CategoricalCrossentropy: {from_logits: true, reduction: sum}"));
    }
    DT_LET(dataset, digits,
           dt_dataset_open(&digits, "{format: npy, train: {image: build/digits/x.npy, label: "
                                    "build/digits/y.npy}, global_batch_size: 256}"));
    DT_LET(dist_dataset, batches, dt_strategy_distribute_dataset(strategy, digits, NULL, &batches));
    struct step my = {model, optimizer, loss, sum};
    /* owns its traces; my outlives it */
    DT_LET(function, step, dt_function_create(&step, train_step, &my));
    for (int epoch = 0; epoch < 5; epoch++) {
        double losses = 0, hits = 0;
        DT_LET(iterator, it, dt_iterator_create(&it, batches));
        DT_EACH(batch, it) { /* one value per replica */
            /* traced the first time */
            DT_LET(values, result, dt_strategy_run(strategy, step, batch, &result));
            DT_LET(tensor, batch_loss,
                   dt_strategy_reduce(strategy, DT_SUM, result, "sum", DT_NO_AXIS, &batch_loss));
            DT_LET(tensor, right,
                   dt_strategy_reduce(strategy, DT_SUM, result, "right", DT_NO_AXIS, &right));
            losses += dt_tensor_item(batch_loss);
            hits += dt_tensor_item(right);
        }
        printf("loss %.6f accuracy %.4f\n", losses / (double)dt_dataset_examples(digits),
               hits / (double)dt_dataset_examples(digits));
    }
    return NULL;
}

int main(int argc, char **argv) { return dt_report(train(argc > 1 ? argv[1] : "sim:v3-8")); }
