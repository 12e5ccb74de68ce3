/* SPDX-License-Identifier: Apache-2.0 */
/* mixup: the weighted mean of two examples, as Keras' MixUp; outside of training it only converts
 * to float32. */
#include "data/map/augment.h"

static const dt_field fields[] = {
    DT_REAL(struct dt_augment, alpha, .preset = "0.2", .min = 0, .max = 1, .above_min = true,
            .help = "the weight of an example is drawn from Beta(alpha, alpha): mostly near 0 or 1 "
                    "for a small alpha, even for 1"),
    DT_END};

static void run(const dt_map_stage *s, const dt_map_at *at, const void *in, void *out) {
    const struct dt_augment *a = s->args;
    dt_random r = dt_map_draw(s, at, NULL);
    const double weight = at->other ? dt_combine_weight(&r, a->alpha) : 1;
    dt_combine_blend(s, (float)weight, in, at->other ? at->other : in, out);
}

DT_AUGMENT_STEP(mixup, "mix an example with another one of its batch", .brief = {"alpha"},
                .combines = true, .keeps_names = true, .infer = dt_combine_infer,
                .undo = dt_combine_undo);
