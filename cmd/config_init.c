/* SPDX-License-Identifier: Apache-2.0 */
/* dtrain config init: a small job to start from. */
#include <string.h>

#include "verb.h"

struct config_init {
    struct common common;
};

/* Each trains as it is, on generated examples; its comments say what to change for your own data. */
#define HEAD(name, about) \
    "# " about "\n" \
    "version: 1\n" \
    "name: " name "\n" \
    "seed: 42\n" \
    "# strategy: {type: mirrored}          # the default: a replica on each core; the weights do not depend on their number\n"
#define TAIL \
    "compile:\n" \
    "  optimizer: {Adam: {learning_rate: 0.001}}\n" \
    "  loss: {SparseCategoricalCrossentropy: {from_logits: true}}\n" \
    "  metrics: [accuracy]\n" \
    "fit: {epochs: 5}\n"

static const struct {
    const char *name, *text;
} rows[] = {
    {"mlp", HEAD("mlp", "dtrain fit FILE: vectors or small pictures, one hidden layer.")
        "dataset:\n"
        "  format: synthetic                   # generated; for your own data: idx, npy, csv, image_folder or tfrecord,\n"
        "  examples: 2000                      # with train: {image: images.npy, label: labels.npy}\n"
        "  element: {image: {shape: [28, 28], dtype: float32}, label: {num_classes: 10}}\n"
        "  validation_split: 0.2               # the last part of the data\n"
        "  shuffle: true\n"
        "  global_batch_size: 64               # for all replicas together\n"
        "model:\n"
        "  type: sequential\n"
        "  layers:\n"
        "    - Input: {name: image, shape: [28, 28]}\n"
        "    - Flatten\n"
        "    - Dense: {units: 128, activation: relu}\n"
        "    - Dense: {units: 10, name: logits} # one per class\n" TAIL},
    {"cnn", HEAD("cnn", "dtrain fit FILE: pictures, two convolutions.")
        "dataset:\n"
        "  format: synthetic                   # generated; for your own data: image_folder, one folder per class,\n"
        "  examples: 500                       # with train: photos\n"
        "  element: {image: {shape: [32, 32, 3], dtype: float32}, label: {num_classes: 10}}\n"
        "  validation_split: 0.2\n"
        "  shuffle: true\n"
        "  global_batch_size: 32\n"
        "model:\n"
        "  type: sequential\n"
        "  layers:\n"
        "    - Input: {name: image, shape: [32, 32, 3]}   # rows, columns, channels\n"
        "    - Conv2D: {filters: 16, kernel_size: 3, padding: same, activation: relu}\n"
        "    - MaxPooling2D: {pool_size: 2}\n"
        "    - Conv2D: {filters: 32, kernel_size: 3, padding: same, activation: relu}\n"
        "    - GlobalAveragePooling2D\n"
        "    - Dense: {units: 10, name: logits}\n" TAIL},
    {"text", HEAD("text", "dtrain fit FILE: sequences of token numbers, classified.")
        "dataset:\n"
        "  format: synthetic                   # generated; for your own data: npy with train: {tokens: tokens.npy, label: labels.npy}\n"
        "  examples: 1000\n"
        "  element: {tokens: {shape: [64], dtype: int32, num_classes: 500}, label: {num_classes: 4}}\n"
        "  validation_split: 0.2\n"
        "  shuffle: true\n"
        "  global_batch_size: 32\n"
        "model:\n"
        "  type: sequential\n"
        "  layers:\n"
        "    - Input: {name: tokens, shape: [64], dtype: int32}\n"
        "    - Embedding: {input_dim: 500, output_dim: 32}   # input_dim: size of the vocabulary\n"
        "    - GlobalAveragePooling1D\n"
        "    - Dense: {units: 32, activation: relu}\n"
        "    - Dense: {units: 4, name: logits}\n" TAIL},
    {"tabular", HEAD("tabular", "dtrain fit FILE: columns of numbers, one class per row.")
        "dataset:\n"
        "  format: synthetic                   # generated; for your own data: csv with train: table.csv and\n"
        "  examples: 2000                      # element: {x: {columns: [a, b, c]}, label: {column: y, vocabulary: [no, yes]}}\n"
        "  element: {x: {shape: [12], dtype: float32}, label: {num_classes: 3}}\n"
        "  map: {x: [normalize]}               # each column to mean 0 and variance 1, learned from the training split\n"
        "  validation_split: 0.2\n"
        "  shuffle: true\n"
        "  global_batch_size: 64\n"
        "model:\n"
        "  type: sequential\n"
        "  layers:\n"
        "    - Input: {name: x, shape: [12]}    # one per column\n"
        "    - Dense: {units: 64, activation: relu}\n"
        "    - Dense: {units: 32, activation: relu}\n"
        "    - Dense: {units: 3, name: logits}\n" TAIL},
};
enum { ROWS = sizeof rows / sizeof *rows };

static int run(const struct call *call)
{
    if (call->operands.n != 1)
        return out_error(call->out, usage_error(call, "one kind of job is expected: mlp, cnn, text or tabular"));
    for (int i = 0; i < ROWS; i++)
        if (strcmp(rows[i].name, call->operands.at[0]) == 0) {
            out_text(call->out, rows[i].text);
            return 0;
        }
    return out_error(call->out, usage_error(call, "unknown kind of job '%s'; known: mlp, cnn, text, tabular", cut_word(call->operands.at[0]).text));
}

static const struct option options[] = {OPTIONS_END};
const struct verb verb_config_init = {
    .name = "config init",
    .group = "Other",
    .line = "print a small job to start from",
    .operands = "mlp|cnn|text|tabular",
    .examples = "  dtrain config init tabular > job.yaml && dtrain fit job.yaml\n",
    .more = "The job trains as it is, on generated examples; its comments say what to change for your own data.\n",
    .options = options,
    .size = sizeof(struct config_init),
    .run = run,
};
