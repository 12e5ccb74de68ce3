/* SPDX-License-Identifier: Apache-2.0 */
/* random_flip: mirrors an image, or not, at random, as Keras' RandomFlip; outside of training it
 * leaves the image unchanged. */
#include <string.h>

#include "data/map/step.h"

enum { BOTH, HORIZONTAL, VERTICAL };
static const char *const modes[] = {"horizontal_and_vertical", "horizontal", "vertical", NULL};

struct random_flip {
    int mode;
    int64_t seed;
    bool has_seed;
};

static const dt_field fields[] = {
    DT_ENUM(struct random_flip, mode, modes,
            .help = "direction of the flip; each image is flipped with probability 1/2"),
    DT_INT(struct random_flip, seed, .min = 0, .max = 9.2e18,
           .set = 1 + offsetof(struct random_flip, has_seed),
           .help = "seed; default: the job's. Elements with the same seed get the same flip"),
    DT_END};

static dt_status *infer(dt_map_stage *s, dt_arena *arena) {
    (void)s;
    (void)arena;
    return NULL;
}

/* Copies a row of pixels in reverse order. */
static void mirror_row(const char *in, char *out, const dt_pixels *p) {
    for (int64_t c = 0; c < p->columns; c++)
        memcpy(out + c * p->pixel, in + (p->columns - 1 - c) * p->pixel, (size_t)p->pixel);
}

static void flip(const dt_pixels *p, bool across, bool down, const char *in, char *out) {
    int64_t stride = p->columns * p->pixel;
    for (int64_t r = 0; r < p->rows; r++) {
        const char *from = in + (down ? p->rows - 1 - r : r) * stride;
        if (across) mirror_row(from, out + r * stride, p);
        else memcpy(out + r * stride, from, (size_t)stride);
    }
}

static void run(const dt_map_stage *s, const dt_map_at *at, const void *in, void *out) {
    const struct random_flip *a = s->args;
    dt_pixels p = dt_pixels_of(&s->in);
    dt_random r = dt_map_draw(s, at, a->has_seed ? &a->seed : NULL);
    bool across = dt_random_u32(&r) >> 31, down = dt_random_u32(&r) >> 31;
    flip(&p, at->training && across && a->mode != VERTICAL,
         at->training && down && a->mode != HORIZONTAL, in, out);
}

static dt_value emit(const dt_map_stage *s, dt_value x) {
    (void)s;
    return x;
}

const dt_map_step dt_map_random_flip = {
    .kind = {"random_flip", "flip an image at random; outside training, leave it unchanged", fields,
             sizeof(struct random_flip), NULL},
    .brief = {"mode"},
    .takes = DT_TAKES_IMAGES,
    .moves = true,
    .infer = infer,
    .run = run,
    .emit = emit,
};
