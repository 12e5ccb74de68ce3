/* SPDX-License-Identifier: Apache-2.0 */
/* workers_loop.c: a custom training loop under MultiWorkerMirroredStrategy. `mpirun -n 4
 * workers_loop` shares each batch among four processes, each of which runs this program; started by
 * itself it computes alone. */
#include <dtrain.h>

struct step {
    dt_model *model;
    dt_optimizer *optimizer;
    dt_loss *loss;
};

/* One replica's step. image (B, 784), label (B, 10). */
static void train_step(dt_trace *t, void *user) {
    const struct step *my = user;
    dt_value image = dt_arg(t, "image"), label = dt_arg(t, "label");

    dt_value logits = dt_model_call(my->model, image, DT_TRAINING); /* (B, 10) */
    /* (): this replica's part of the mean over the global batch */
    dt_value loss = dt_loss_call(my->loss, label, logits);
    dt_value right = dt_compare(dt_argmax(logits, -1), dt_argmax(label, -1), DT_EQ); /* (B) */
    /* gradients of all workers, added */
    dt_optimizer_apply(my->optimizer, dt_gradient(loss, dt_model_trainable(my->model)));
    dt_return(t, "loss", loss);
    dt_return(t, "right", dt_reduce_sum(dt_convert(right, DT_FLOAT32), 0));
}

static dt_status *train(void) {
    DT_AUTO(model, model);
    DT_AUTO(optimizer, optimizer);
    DT_AUTO(loss, loss);

    /* meets the other workers, if there are any */
    DT_LET(strategy, strategy, dt_multi_worker_mirrored_strategy(&strategy, NULL));
    const bool chief = dt_resolver_task_id(dt_strategy_cluster_resolver(strategy)) == 0;
    DT_SCOPE(strategy) {
        DT_TRY(dt_model_create(&model, "- Input: {name: image, shape: [784]}\n- Dense: {units: "
                                       "128, activation: relu}\n- Dense: {units: 10}\n"));
        DT_TRY(dt_optimizer_create(&optimizer, "Adam"));
        DT_TRY(dt_loss_create(&loss, "CategoricalCrossentropy: {from_logits: true}"));
    }
    DT_LET(dataset, digits,
           dt_dataset_open(&digits, "{format: npy, train: {image: build/digits/x.npy, label: "
                                    "build/digits/y.npy}, global_batch_size: 256}"));
    DT_LET(dist_dataset, batches, dt_strategy_distribute_dataset(strategy, digits, NULL, &batches));
    struct step my = {model, optimizer, loss};
    DT_LET(function, step, dt_function_create(&step, train_step, &my));
    for (int epoch = 0; epoch < 3; epoch++) {
        double losses = 0, hits = 0;
        int n = 0;
        DT_LET(iterator, it, dt_iterator_create(&it, batches));
        DT_EACH(batch, it) {
            /* each worker computes for its replicas */
            DT_LET(values, result, dt_strategy_run(strategy, step, batch, &result));
            /* every worker has the values of all */
            DT_LET(tensor, mean,
                   dt_strategy_reduce(strategy, DT_SUM, result, "loss", DT_NO_AXIS, &mean));
            DT_LET(tensor, right,
                   dt_strategy_reduce(strategy, DT_SUM, result, "right", DT_NO_AXIS, &right));
            losses += dt_tensor_item(mean);
            hits += dt_tensor_item(right);
            n++;
        }
        if (chief)
            printf("loss %.4f accuracy %.4f\n", losses / n,
                   hits / (double)dt_dataset_examples(digits));
    }
    return NULL;
}

int main(void) { return dt_report(train()); }
