/* accuracy: the accuracy that fits the loss. It stands for another row; compile.c puts that in its place. */
#include "model/model.h"

const dt_metric_row dt_metric_accuracy = {
    .kind = { .name = "accuracy", .about = "the one of the accuracies that fits the loss", .aliases = (const char *const[]){ "acc", "Accuracy", NULL } },
};
