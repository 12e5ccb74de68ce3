/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkpoint.c: a custom loop that can be killed at any time and started again: checkpoint
 * DIRECTORY [SLICE]. It ends with the same weights as one that ran through, on any number of
 * replicas.
 */
#include <dtrain.h>
#include <stdlib.h>

struct step {
    dt_model *model;
    dt_optimizer *optimizer;
    dt_loss *loss;
};

static void train_step(dt_trace *t, void *user) {
    const struct step *my = user;
    dt_value loss = dt_loss_call(my->loss, dt_arg(t, "label"),
                                 dt_model_call(my->model, dt_arg(t, "image"), DT_TRAINING));
    dt_optimizer_apply(my->optimizer, dt_gradient(loss, dt_model_trainable(my->model)));
}

static dt_status *train(const char *directory, const char *slice) {
    int64_t steps = 0;
    char *newest = NULL;
    DT_AUTO(model, model);
    DT_LET(resolver, resolver, dt_tpu_resolver(&resolver, slice));
    DT_LET(strategy, strategy, dt_tpu_strategy(&strategy, resolver, NULL));
    DT_SCOPE(strategy)
    DT_TRY(dt_model_create(&model,
                           "- Input: {name: image, shape: [16]}\n- Dense: {units: 32, activation: "
                           "relu}\n- Dropout: {rate: 0.2}\n- Dense: {units: 4}\n"));
    DT_LET(optimizer, optimizer, dt_optimizer_create(&optimizer, "Adam"));
    DT_LET(loss, loss, dt_loss_create(&loss, "SparseCategoricalCrossentropy: {from_logits: true}"));
    DT_LET(dataset, examples,
           dt_dataset_open(&examples, "{format: synthetic, examples: 500, element: {image: {shape: "
                                      "[16]}, label: {num_classes: 4}}, "
                                      "global_batch_size: 64, shuffle: true}"));
    DT_LET(dist_dataset, data, dt_strategy_distribute_dataset(strategy, examples, NULL, &data));

    DT_LET(checkpoint, checkpoint, dt_checkpoint_create(&checkpoint));
    DT_TRY(dt_checkpoint_add_model(checkpoint, "model", model));
    DT_TRY(dt_checkpoint_add_optimizer(checkpoint, "optimizer", optimizer));
    DT_TRY(dt_checkpoint_add_data(checkpoint, "train", data));
    DT_TRY(dt_checkpoint_add_counter(checkpoint, "steps", &steps));
    DT_TRY(dt_checkpoint_latest(directory, &newest, NULL));
    /* NULL: there is none, and nothing happens */
    dt_status *restored = dt_checkpoint_restore(checkpoint, newest);
    free(newest);
    DT_TRY(restored);
    printf("starting after step %lld\n", (long long)steps);

    struct step my = {model, optimizer, loss};
    DT_LET(function, step, dt_function_create(&step, train_step, &my));
    while (dt_dist_dataset_epoch(data) < 10) {
        /* resumes within an epoch if the checkpoint was saved there */
        DT_LET(iterator, it, dt_iterator_create(&it, data));
        DT_EACH(batch, it) {
            DT_TRY(dt_strategy_run(strategy, step, batch, NULL));
            if (++steps % 5 == 0) DT_TRY(dt_checkpoint_save(checkpoint, directory, steps, 3));
        }
    }
    printf("step %lld, weights %s\n", (long long)steps, dt_model_weights_sha256(model));
    return NULL;
}

int main(int argc, char **argv) {
    return dt_report(
        train(argc > 1 ? argv[1] : "build/checkpoint", argc > 2 ? argv[2] : "sim:v3-8"));
}
