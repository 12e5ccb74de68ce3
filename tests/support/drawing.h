/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of random_graph.c: a pool of values under construction, and the ops that make it grow
 * (random_ops.c). */
#ifndef TESTS_SUPPORT_DRAWING_H
#define TESTS_SUPPORT_DRAWING_H

#include "base/random.h"
#include "random_graph.h"

enum { MOST_VALUES = 160, MOST_MASKS = 8 };

typedef struct entry {
    dt_value v;
    double bound;
} entry;

typedef struct drawing {
    random_graph *g;
    random_kind kind;
    dt_random r;
    dt_trace *t;
    int n, n_masks;
    entry pool[MOST_VALUES];
    dt_value mask[MOST_MASKS]; /* bool, computed of fed values alone */
    dt_value image, label, rate;
} drawing;

/* A number below n. */
int draw_below(drawing *d, int n);
bool draw_coin(drawing *d);
/* Adds a value to the pool, through tanh when its bound is too large; returns what was added. */
dt_value draw_push(drawing *d, dt_value v, double bound);
/* A random entry for which `fits` holds; NULL when none is met soon. fits NULL: any. */
const entry *draw_pick(drawing *d, bool (*fits)(const dt_type *t));
const entry *draw_pick_of_type(drawing *d, const dt_type *t);
bool has_rows(const dt_type *t);
bool is_row_table(const dt_type *t); /* (B, n) */

/* An argument that every replica has its own of. */
dt_value draw_argument(drawing *d, const char *name, int rank, const int64_t *dim);
dt_value draw_new_variable(drawing *d, dt_dtype dtype, int rank, const int64_t *dim);
bool draw_room_for_variables(const drawing *d, int n);

/* The rows of this replica, or of all, at least 1, as a float. */
dt_value draw_count_of(drawing *d, dt_value x);
dt_value draw_mean_over_rows(drawing *d, dt_value sum, dt_value of);
/* x W / sqrt(k) + b */
dt_value draw_dense(drawing *d, dt_value x, int64_t units, bool bias);
/* x minus its mean over dims (the rows among them), by its deviation: of the replica's own rows, or
 * of all. */
dt_value draw_normalized(drawing *d, dt_value x, uint32_t dims);
/* A loss for each row of e: (B). */
dt_value draw_classify(drawing *d, const entry *e, dt_value *logits);
/* Ops over windows, moves and joins (random_spatial.c). */
void draw_convolution(drawing *d);
void draw_pool(drawing *d);
void draw_move(drawing *d);
/* Layers of convolutions over an argument (B, rows, columns, channels), then what they say of each
 * example. */
void draw_images(drawing *d);
/* A stack of equal blocks over x (random_blocks.c). */
dt_value draw_blocks(drawing *d, dt_value x);
/* Pieces of transformers (random_layers.c). */
void draw_layer(drawing *d);
/* Some random ops on what is in the pool. */
void draw_grow(drawing *d);

#endif
