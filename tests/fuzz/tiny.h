/* SPDX-License-Identifier: Apache-2.0 */
/* A small job that is right. */
#ifndef TESTS_FUZZ_TINY_H
#define TESTS_FUZZ_TINY_H

#define TINY_BODY                                                                                  \
    "version: 1\n"                                                                                 \
    "seed: 7\n"                                                                                    \
    "strategy: {type: mirrored, replicas: 2}\n"                                                    \
    "dataset:\n"                                                                                   \
    "  format: synthetic\n"                                                                        \
    "  examples: 60\n"                                                                             \
    "  element: {image: {shape: [8]}, label: {num_classes: 3}}\n"                                  \
    "  validation_split: 0.2\n"                                                                    \
    "  global_batch_size: 8\n"                                                                     \
    "compile: {optimizer: {SGD: {learning_rate: 0.05}}, loss: {SparseCategoricalCrossentropy: "    \
    "{from_logits: true}}, metrics: [accuracy]}\n"                                                 \
    "fit: {epochs: 2}\n"

#endif
