/* SPDX-License-Identifier: Apache-2.0 */
/* Rotary embedding, shared by layers that rotate queries and keys. See rotary_embedding.c. */
#ifndef DT_MODEL_LAYER_ROTARY_H
#define DT_MODEL_LAYER_ROTARY_H

#include "model/model.h"

/* The angles of the rotation. Positions are divided by scaling_factor (with YaRN, see below). */
typedef struct dt_rotation {
    double max_wavelength, scaling_factor;
    /* Settings of Llama 3.1 for longer contexts: wavelengths longer than
     * pretraining_sequence_length / low_freq_factor are multiplied by frequency_adjustment_factor,
     * those shorter than pretraining_sequence_length / high_freq_factor do not change, and those
     * between are interpolated. frequency_adjustment_factor 0: frequencies are not adjusted. */
    double frequency_adjustment_factor, low_freq_factor, high_freq_factor;
    int64_t pretraining_sequence_length;
    /* YaRN: wavelengths that fit beta_slow times or less into pretraining_sequence_length are
     * multiplied by scaling_factor, those that fit beta_fast times or more do not change, and those
     * between change in part. If scaling_factor is above 1, sines and cosines are multiplied by
     * 0.1 log(scaling_factor) + 1. */
    int rope_type;
    double beta_fast, beta_slow;
    /* The steps are the positions in a picture or a film of this size, row by row; n 0: in a line.
     * Each axis rotates a part of the pairs by its own position. */
    dt_ints grid;
} dt_rotation;

enum { DT_ROPE_LINEAR, DT_ROPE_YARN };
extern const char *const dt_rope_types[];

/* Rotates x (B, T, ..., H), pair by pair of features, by angles that depend on the position along
 * T. H is even. */
dt_value dt_rotate(const dt_rotation *r, dt_value x);
/* Returns the error MODEL_SHAPE at the layer when H is odd. */
dt_status *dt_rotation_check(const dt_layer_build *b, const char *kind,
                             int64_t features) DT_MUST_USE;

#endif
