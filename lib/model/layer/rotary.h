/* SPDX-License-Identifier: Apache-2.0 */
/* Rotary embedding, shared by layers that rotate queries and keys. See rotary_embedding.c. */
#ifndef DT_MODEL_LAYER_ROTARY_H
#define DT_MODEL_LAYER_ROTARY_H

#include "model/model.h"

/* The angles of the rotation. The last four members are those of Llama 3.1: wavelengths longer than
 * pretraining_sequence_length / low_freq_factor are multiplied by frequency_adjustment_factor,
 * those shorter than pretraining_sequence_length / high_freq_factor do not change, and those
 * between are interpolated. */
typedef struct dt_rotation {
    double max_wavelength, scaling_factor;
    /* settings of Llama 3.1 for longer contexts; frequency_adjustment_factor 0: frequencies are not
     * adjusted */
    double frequency_adjustment_factor, low_freq_factor, high_freq_factor;
    int64_t pretraining_sequence_length;
} dt_rotation;

/* Rotates x (B, T, ..., H), pair by pair of features, by angles that grow along T. H is even. */
dt_value dt_rotate(const dt_rotation *r, dt_value x);
/* Returns the error MODEL_SHAPE at the layer when H is odd. */
dt_status *dt_rotation_check(const dt_layer_build *b, const char *kind,
                             int64_t features) DT_MUST_USE;

#endif
