/* SPDX-License-Identifier: Apache-2.0 */
/* random_color_jitter: random_brightness, random_contrast, random_saturation and random_hue, in
 * that order, as Keras' RandomColorJitter; outside of training it only converts to float32. */
#include "data/map/augment.h"

static const dt_field fields[] = {
    DT_AUGMENT_FACTOR("brightness_factor", 0, .min = -1, .max = 1,
                      .help = "factor of random_brightness; default: brightness stays"),
    DT_AUGMENT_FACTOR("contrast_factor", 1, .min = -1, .max = 1,
                      .help = "factor of random_contrast; default: contrast stays"),
    DT_AUGMENT_FACTOR("saturation_factor", 2, .min = 0, .max = 1,
                      .help = "factor of random_saturation; default: saturation stays"),
    DT_AUGMENT_FACTOR("hue_factor", 3, .min = 0, .max = 1,
                      .help = "factor of random_hue; default: the hue stays"),
    DT_AUGMENT_RANGE,
    DT_AUGMENT_SEED,
    DT_END};

static dt_status *infer(dt_map_stage *s, dt_arena *arena) {
    const struct dt_augment *a = s->args;
    return (a->factor[2].n + a->factor[3].n > 0 ? dt_color_infer_rgb : dt_color_infer)(s, arena);
}

static void run(const dt_map_stage *s, const dt_map_at *at, const void *in, void *out) {
    static dt_adjust *const changes[DT_AUGMENT_FACTORS] = {dt_adjust_brightness, dt_adjust_contrast,
                                                           dt_adjust_saturation, dt_adjust_hue};
    dt_color_run(s, at, in, out, changes, DT_AUGMENT_FACTORS);
}

DT_AUGMENT_STEP(random_color_jitter,
                "change brightness, contrast, saturation and hue of an image at random",
                .takes = DT_TAKES_IMAGES, .infer = infer);
