/* SPDX-License-Identifier: Apache-2.0 */
/* A stack of blocks that are the same but for their variables and their streams of random numbers:
 * one block is drawn, again and again from the same state. */
#include "drawing.h"

typedef struct streams {
    dt_value x, y, image; /* (B, n) from block to block; y: a second one; image: the same for all */
    int64_t n;
    uint64_t key;
} streams;

static dt_value tame(dt_value x) { return dt_tanh(dt_multiply(x, dt_constant(x.trace, 0.5))); }

static dt_value noise(drawing *d, streams *s, dt_value x) {
    dt_random_attr attr = {.type = dt_type_of_value(x),
                           .kind = DT_RANDOM_UNIFORM,
                           .key = s->key++ * 0x9E3779B97F4A7C15u};
    dt_value drawn = dt_random_numbers(dt_scalar(d->t, DT_INT64, 3), &attr);
    return dt_multiply(x, drawn);
}

static void add_step(drawing *d, streams *s) {
    switch (draw_below(d, 8)) {
    case 0: s->x = dt_add(s->x, tame(draw_dense(d, s->x, s->n, draw_coin(d)))); break;
    case 1: {
        int64_t wider = 1 + draw_below(d, 5);
        dt_value inner = dt_gelu(draw_dense(d, s->x, wider, draw_coin(d)), draw_coin(d));
        s->x = dt_add(s->x, tame(draw_dense(d, inner, s->n, false)));
        break;
    }
    case 2: {
        dt_value gamma = draw_new_variable(d, DT_FLOAT32, 1, &s->n),
                 beta = draw_new_variable(d, DT_FLOAT32, 1, &s->n);
        s->x = dt_layer_norm(s->x, gamma, beta, 0.25);
        break;
    }
    case 3: s->y = tame(dt_add(s->y, s->x)); break;
    case 4: s->x = dt_add(s->x, dt_multiply(s->y, s->image)); break;
    case 5: s->x = noise(d, s, s->x); break;
    case 6: s->x = dt_add(dt_softmax(s->x), s->x); break;
    default: s->x = dt_subtract(s->x, dt_multiply(tame(s->y), dt_constant(d->t, 0.25))); break;
    }
}

dt_value draw_blocks(drawing *d, dt_value x) {
    int blocks = 3 + draw_below(d, 4), steps = 2 + draw_below(d, 4);
    streams s = {.n = 2 + draw_below(d, 5)};
    s.image = tame(draw_dense(d, x, s.n, true));
    s.x = s.y = s.image;
    const dt_random from = d->r;
    for (int i = 0; i < blocks; i++) {
        d->r = from;
        for (int k = 0; k < steps; k++) add_step(d, &s);
        s.x = tame(s.x);
    }
    return draw_coin(d) ? s.x : dt_add(s.x, s.y);
}
