/* SPDX-License-Identifier: Apache-2.0 */
/* mirrored_mlp.c: a Keras-like model under MirroredStrategy. */
#include <dtrain.h>
#include <stdio.h>

static dt_status *train(void) {
    DT_AUTO(model, model); /* released on every way out */
    /* NULL: every local device */
    DT_LET(strategy, strategy, dt_mirrored_strategy(&strategy, NULL, 0));
    DT_SCOPE(strategy) { /* left on every way out, too */
        DT_TRY(dt_model_create(&model,
                               "- Input: {name: image, shape: [784]}\n"
                               "- Dense: {units: %d, activation: relu}\n"
                               "- Dense: {units: 10, activation: softmax}\n",
                               128));
        DT_TRY(dt_model_compile(
            model, "{optimizer: Adam, loss: CategoricalCrossentropy, metrics: [accuracy]}"));
    }
    DT_LET(dataset, digits,
           dt_dataset_open(&digits, "{format: npy, train: {image: build/digits/x.npy, label: "
                                    "build/digits/y.npy}, global_batch_size: 64}"));
    /* enters the captured scope */
    DT_LET(history, history, dt_model_fit(model, digits, &history, "{epochs: 5}"));
    printf("accuracy %.4f\n", dt_history_last(history, "accuracy"));
    return NULL;
}

int main(void) { return dt_report(train()); /* prints the error, frees it, gives the exit code */ }
