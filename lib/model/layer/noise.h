/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers in layers. A layer that uses random numbers has a counter among its weights, such
 * as NAME/seed_generator/step, which advances with every draw; the numbers are a function of (seed,
 * layer, counter, example), so that they depend neither on the number of replicas nor on whether a
 * run was resumed. If the layer has a seed of its own, its name does not matter: layers with the
 * same seed draw the same numbers.
 */
#ifndef DT_MODEL_LAYER_NOISE_H
#define DT_MODEL_LAYER_NOISE_H

#include "model/model.h"

typedef struct dt_noise {
    int counter;   /* index, among the layer's weights, of the counter of draws */
    int64_t seed;  /* seed of the layer */
    bool has_seed; /* whether `seed` is set; false: the seed of the model applies */
} dt_noise;
#define DT_NOISE_FIELD(type)                                                                       \
    DT_KEY(INT, "seed", type, noise.seed, .set = 1 + offsetof(type, noise.has_seed),               \
           .help = "seed of this layer's random numbers; default: from the job's seed and the "    \
                   "layer's name")

/* Adds the counter as the next weight. within: the name of the layer's part that has the counter;
 * NULL: the layer itself. */
dt_status *dt_noise_weight(dt_layer_build *b, const char *within) DT_MUST_USE;
/* Draws random floats of `type`, (B, ...), with the distribution dt_random_kind, and advances the
 * counter. */
dt_value dt_noise_draw(const dt_layer_call *c, const dt_noise *n, dt_random_kind kind,
                       const dt_type *type);
/* Sets each element of x to 0 with the probability `rate`, and divides the others by 1 - rate, so
 * that the expected value is unchanged. `mask` is the type of the random mask, which is repeated
 * along its sizes of 1. Draws nothing if rate is 0, or at least 1, when all of x becomes 0. */
dt_value dt_noise_drop(const dt_layer_call *c, const dt_noise *n, dt_value x, double rate,
                       const dt_type *mask);

#endif
