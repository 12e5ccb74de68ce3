/* SPDX-License-Identifier: Apache-2.0 */
/* mirrored_mlp.c: a Keras-like model under MirroredStrategy. */
#include <dtrain.h>
#include <stdio.h>

int main(void)
{
    dt_status *s = NULL;
    dt_strategy *strategy = NULL;
    dt_model *model = NULL;
    dt_dataset *digits = NULL;
    dt_history *history = NULL;

    DT_GO(s, dt_mirrored_strategy(&strategy, NULL, 0));  /* NULL: every local device */
    DT_SCOPE(strategy) {  /* left on every way out, goto too */
        DT_GO(s, dt_model_create(&model,
            "- Input: {name: image, shape: [784]}\n"
            "- Dense: {units: %d, activation: relu}\n"
            "- Dense: {units: 10, activation: softmax}\n", 128));
        DT_GO(s, dt_model_compile(model,
            "{optimizer: Adam, loss: CategoricalCrossentropy, metrics: [accuracy]}"));
    }
    DT_GO(s, dt_dataset_open(&digits, "{format: npy, train: {image: build/digits/x.npy, label: build/digits/y.npy}, global_batch_size: 64}"));
    DT_GO(s, dt_model_fit(model, digits, &history, "{epochs: 5}"));  /* enters the captured scope */
    printf("accuracy %.4f\n", dt_history_last(history, "accuracy"));
out:
    dt_history_unref(history);
    dt_dataset_unref(digits);
    dt_model_unref(model);
    dt_strategy_unref(strategy);
    return dt_report(s);  /* prints the error, frees it, gives the exit code */
}
