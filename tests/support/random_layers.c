/* SPDX-License-Identifier: Apache-2.0 */
/* Random pieces of transformers: tables looked up and summed into, attention, norms, softmax over
 * what is there, masks that are drawn. See random_ops.c. */
#include <math.h>

#include "drawing.h"

static int64_t pick_size(drawing *d) {
    static const int64_t sizes[] = {1, 2, 3, 4, 6, 8, 12};
    return sizes[draw_below(d, 7)];
}

/* ---- tables ---- */

/* Labels are below the number of classes; a table may have more rows. */
static int64_t pick_rows(drawing *d) {
    int64_t rows = pick_size(d);
    return rows < d->g->classes ? d->g->classes + (rows & 1) : rows;
}

/* (B, n): the rows of a table that the labels name */
static void add_embedding(drawing *d) {
    int64_t rows = pick_rows(d), n = pick_size(d);
    if (!draw_room_for_variables(d, 1)) return;
    dt_value table = draw_new_variable(d, DT_FLOAT32, 2, (int64_t[]){rows, n});
    draw_push(d, dt_gather(table, d->label), 2);
}

/* (rows, n): what the rows of all replicas add up to for each label. A table of each replica's own
 * would have a gradient without a folded form. */
static void add_sums_by_label(drawing *d) {
    const entry *e = draw_pick(d, is_row_table);
    if (!e) return;
    dt_value sums = dt_all_reduce(DT_SUM, dt_scatter_add(e->v, d->label, pick_rows(d)));
    draw_push(d, dt_tanh(dt_multiply(sums, dt_constant(d->t, 0.125))), 1);
}

/* ---- attention ---- */

static bool has_steps(const dt_type *t) {
    return t->rank == 3 && t->dim[0] == DT_BATCH && t->dim[1] > 0 && t->dim[2] > 0;
}

static dt_value project(drawing *d, dt_value x, int64_t heads, int64_t size) {
    dt_type t = dt_type_of_value(x);
    return dt_reshape(dt_tanh(draw_dense(d, x, heads * size, false)), 4,
                      (int64_t[]){DT_BATCH, t.dim[1], heads, size});
}

/* (B, T, n), or a row (B, T * n) as that; no trace when there is none. */
static dt_value pick_sequence(drawing *d) {
    const entry *e = draw_pick(d, has_steps);
    if (e && draw_coin(d)) return e->v;
    e = draw_pick(d, is_row_table);
    dt_type t = e ? dt_type_of_value(e->v) : (dt_type){0};
    for (int64_t m = 4; e && t.dim[1] > 0; m--)
        if (t.dim[1] % m == 0) return dt_reshape(e->v, 3, (int64_t[]){DT_BATCH, m, t.dim[1] / m});
    return (dt_value){0};
}

/* (B, T, heads * size); some heads share their keys. */
static void add_attention(drawing *d) {
    dt_value x = pick_sequence(d);
    if (!x.trace || !draw_room_for_variables(d, 3)) return;
    dt_type t = dt_type_of_value(x);
    int64_t heads = 1 + draw_below(d, 4), size = 1 + draw_below(d, 2),
            values = 1 + draw_below(d, 2);
    int64_t fewer = heads == 4 && size == 1 ? 4 : 2,
            asked = heads % 2 ? heads : heads / (draw_coin(d) ? fewer : 1);
    dt_attention_how how = {
        .scale = 1 / sqrt((double)size), .causal = draw_coin(d), .window = draw_below(d, 3)};
    dt_value query = project(d, x, heads, size), key = project(d, x, asked, size),
             value = project(d, x, asked, values);
    draw_push(d,
              dt_reshape(dt_attention(query, key, value, &how), 3,
                         (int64_t[]){DT_BATCH, t.dim[1], heads * values}),
              1);
}

/* ---- norms, masks ---- */

static bool has_features(const dt_type *t) { return t->rank > 1 && t->dim[t->rank - 1] > 1; }

static void add_norm(drawing *d) {
    const entry *e = draw_pick(d, has_features);
    if (!e || !draw_room_for_variables(d, 2)) return;
    dt_value x = e->v;
    dt_type t = dt_type_of_value(x);
    dt_value gamma = draw_new_variable(d, DT_FLOAT32, 1, &t.dim[t.rank - 1]),
             beta = draw_new_variable(d, DT_FLOAT32, 1, &t.dim[t.rank - 1]);
    draw_push(d, dt_tanh(dt_layer_norm(x, gamma, beta, 0.25)), 1);
}

static bool has_example_rows(const dt_type *t) { return t->rank > 0 && t->dim[0] == DT_BATCH; }

/* Random numbers by example, beside a value of their type. */
static void add_noise(drawing *d) {
    const entry *e = draw_pick(d, has_example_rows);
    if (!e) return;
    dt_random_attr attr = {
        .type = dt_type_of_value(e->v), .kind = DT_RANDOM_UNIFORM, .key = dt_random_u32(&d->r)};
    draw_push(
        d, dt_multiply(e->v, dt_random_numbers(dt_scalar(d->t, DT_INT64, draw_below(d, 9)), &attr)),
        e->bound);
}

void draw_layer(drawing *d) {
    static void (*const adders[])(drawing *) = {add_embedding, add_embedding, add_sums_by_label,
                                                add_attention, add_attention, add_attention,
                                                add_norm,      add_norm,      add_noise};
    adders[draw_below(d, 9)](d);
}
