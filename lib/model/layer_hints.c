/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hints for Keras layers that are not layers in a job: preprocessing is part of the data set's
 * `map`, and wrappers are keys of a layer or not needed.
 */
#include <string.h>

#include "model/read.h"

#define NO_AUGMENTATION "of random changes to images, dataset.map has random_crop and random_flip"

static const struct {
    const char *layer, *where;
} rows[] = {
    {"Normalization", "a step of dataset.map: normalize"},
    {"TextVectorization", "a step of dataset.map: text_vectorization"},
    {"StringLookup", "a step of dataset.map: string_lookup"},
    {"CategoryEncoding", "a step of dataset.map: one_hot"},
    {"Resizing", "a step of dataset.map: resize"},
    {"CenterCrop", "a step of dataset.map: center_crop"},
    {"RandomCrop", "a step of dataset.map: random_crop"},
    {"RandomFlip", "a step of dataset.map: random_flip"},
    {"RandomRotation", NO_AUGMENTATION},
    {"RandomZoom", NO_AUGMENTATION},
    {"RandomTranslation", NO_AUGMENTATION},
    {"RandomContrast", NO_AUGMENTATION},
    {"RandomBrightness", NO_AUGMENTATION},
    {"IntegerLookup", "for a column of a CSV file, element: {column: ..., vocabulary: [...]}"},
    {"Linear", "did you mean 'Dense'?"},
    {"LayerNorm", "did you mean 'LayerNormalization'?"},
    {"BatchNorm", "did you mean 'BatchNormalization'?"},
    {"BatchNorm1d", "did you mean 'BatchNormalization'?"},
    {"BatchNorm2d", "did you mean 'BatchNormalization'?"},
    {"ActivityRegularization", "activity_regularizer, a key of the layer before"},
    {"TimeDistributed", "Dense and activations do the same at every step without it"},
    {"Lambda", "a job holds no code; in C a step function may"},
};

dt_status *dt_layer_hint(dt_status *s, const char *layer) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].layer, layer) == 0) return dt_suggest(s, "%s", rows[i].where);
    return s;
}
