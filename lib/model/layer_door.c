/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers with data_format: channels_first. Their values are (B, channels, ...) outside. They are
 * transposed here before and after the layer, so layers and kernels work on channels_last only.
 * Weights have Keras' shapes, which are the same for both.
 */

#include "model/model.h"

const char *const dt_data_formats[] = {"channels_last", "channels_first", NULL};

static bool is_channels_first(const dt_kind *kind, const void *args) {
    for (const dt_field *f = kind->fields; f && f->kind != DT_FIELD_END; f++)
        if (f->kind == DT_FIELD_ENUM && f->choices == dt_data_formats)
            return *(const int *)((const char *)args + f->offset) == 1;
    return false;
}

/* Returns the dimension of (B, channels, ...) that becomes d in (B, ..., channels), or, with
 * `back`, the reverse. Values with a single dimension after the batch are not changed. */
static int source_of(int d, int rank, bool back) {
    if (d == 0 || rank < 3) return d;
    if (back) return d == 1 ? rank - 1 : d - 1;
    return d == rank - 1 ? 1 : d + 1;
}

static dt_type turned(const dt_type *t, bool back) {
    dt_type out = *t;
    for (int d = 0; d < t->rank; d++) out.dim[d] = t->dim[source_of(d, t->rank, back)];
    return out;
}

static dt_value turn(dt_value x, bool back) {
    int perm[DT_MAX_RANK];
    if (!x.trace) return x;
    const int rank = dt_type_of_value(x).rank;
    for (int d = 0; d < rank; d++) perm[d] = source_of(d, rank, back);
    return rank < 3 ? x : dt_transpose(x, perm);
}

dt_status *dt_layer_build_row(dt_layer_build *b) {
    if (!is_channels_first(&b->row->kind, b->args)) return b->row->build(b);
    const dt_type in = b->in, *ins = b->ins, last = turned(&in, false);
    b->in = last;
    b->ins = &last;
    dt_status *s = b->row->build(b);
    b->in = in;
    b->ins = ins;
    if (s)
        return dt_note(
            s, "data_format is channels_first: shapes above have their channels moved to the end");
    b->out = turned(&b->out, true);
    return NULL;
}

dt_value dt_layer_call_row(const dt_layer *row, const dt_layer_call *c) {
    if (!is_channels_first(&row->kind, c->args)) return row->call(c);
    dt_layer_call call = *c;
    const dt_type out = turned(c->out, false);
    const dt_value x = turn(c->x, false);
    call.x = x;
    call.xs = &x;
    call.out = &out;
    return turn(row->call(&call), true);
}
