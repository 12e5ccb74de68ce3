/* Accuracy, written `accuracy` by most: the accuracy that fits the loss. It stands for another row; compile.c puts that in its place. */
#include "model/model.h"

const dt_metric_row dt_metric_accuracy = {
    .kind = { "Accuracy", "the one of the accuracies that fits the loss", NULL, 0, (const char *const[]){ "accuracy", "acc", NULL } },
};
