/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ZeroPadding and Cropping over one to three dimensions: add zeros around the spatial dimensions,
 * or remove elements. Both are one op, pad, with positive or negative ends.
 *
 * How much is written in three ways: 1 (everywhere), [1, 2] (each dimension, both ends; in 1D the
 * two ends), [[1, 2], [3, 4]] (each dimension, each end; not in 1D).
 */
#include "model/layer/spatial.h"

struct ends {
    dt_layer_head head;
    const dt_tree *padding, *cropping;
    int data_format;
};

#define MOST 0x1p30
#define AMOUNT DT_FORM(DT_FIELD_INT, .max = MOST)
#define ENDS(argument, words)                                                                      \
    {                                                                                              \
        DT_TREE(struct ends, argument,                                                             \
                .forms =                                                                           \
                    DT_FORMS(AMOUNT, DT_LIST_OF(AMOUNT, DT_FORM(DT_FIELD_INTS, .max = MOST))),     \
                .help = words),                                                                    \
            DT_DATA_FORMAT(struct ends), DT_LAYER_FIELDS(struct ends), DT_END                      \
    }
static const dt_field padding_fields[] =
    ENDS(padding, "1, or [1, 2] for each dimension, or [[1, 2], [3, 4]] for each end; default 1");
static const dt_field cropping_fields[] =
    ENDS(cropping,
         "1, or [1, 2] for each dimension, or [[1, 2], [3, 4]] for each end; default 1 (2D: 0)");

/* By how much each spatial dimension grows (or shrinks) at its low and at its high end. */
typedef struct amounts {
    int64_t end[DT_MAX_SPATIAL][2];
} amounts;

static dt_status *bad_amounts(const dt_tree *t, const char *key, int n) {
    const char *forms = n == 1   ? "one number or [before, after]"
                        : n == 2 ? "one number, [height, width] or [[top, bottom], [left, right]]"
                                 : "one number, 3 numbers or 3 pairs";
    return dt_fail(DT_E_WRONG_TYPE, &t->at, "%s takes %s", key, forms);
}

static dt_status *read_amount(const dt_tree *t, const char *key, int64_t *out) {
    return dt_tree_int(t, key, 0, MOST, out);
}

/* Reads the item for one dimension: a number for both ends, or a pair. */
static dt_status *read_ends(const dt_tree *t, const char *key, int n, int64_t out[2]) {
    if (t->kind == DT_TREE_SCALAR) {
        DT_TRY(read_amount(t, key, &out[0]));
        out[1] = out[0];
        return NULL;
    }
    if (t->kind != DT_TREE_LIST || t->n != 2) return bad_amounts(t, key, n);
    DT_TRY(read_amount(t->item[0], key, &out[0]));
    return read_amount(t->item[1], key, &out[1]);
}

static dt_status *read_amounts(const dt_tree *t, const char *key, int n, int64_t usual,
                               amounts *out) {
    bool given = t && t->kind != DT_TREE_NULL;
    for (int i = 0; i < n && !given; i++) out->end[i][0] = out->end[i][1] = usual;
    if (!given) return NULL;
    if (n == 1 || t->kind == DT_TREE_SCALAR) {
        DT_TRY(read_ends(t, key, n, out->end[0]));
        for (int i = 1; i < n; i++) out->end[i][0] = out->end[i][1] = out->end[0][0];
        return NULL;
    }
    if (t->kind != DT_TREE_LIST || t->n != n) return bad_amounts(t, key, n);
    for (int i = 0; i < n; i++) DT_TRY(read_ends(t->item[i], key, n, out->end[i]));
    return NULL;
}

static dt_status *build_padding(dt_layer_build *b, const char *kind, int n) {
    const struct ends *e = b->args;
    amounts *a = dt_arena_new(b->arena, amounts);
    b->made = a;
    DT_TRY(read_amounts(e->padding, "padding", n, 1, a));
    DT_TRY(dt_wants_space(b, kind, n));
    b->out = b->in;
    for (int i = 0; i < n; i++) b->out.dim[i + 1] += a->end[i][0] + a->end[i][1];
    return NULL;
}

static dt_value pad(const dt_layer_call *c, const amounts *a, int sign) {
    dt_pad_attr attr = {0};
    for (int d = 1; d < c->out->rank - 1; d++) {
        attr.dim[d].low = sign * a->end[d - 1][0];
        attr.dim[d].high = sign * a->end[d - 1][1];
    }
    return dt_pad(c->x, &attr);
}

static dt_value call_padding(const dt_layer_call *c) { return pad(c, c->made, 1); }

/* Returns Keras' default: 0 for images, 1 otherwise. */
static int64_t usual_cropping(int n) { return n == 2 ? 0 : 1; }

static dt_status *nothing_left(const dt_layer_build *b, const char *kind, int i,
                               const int64_t end[2]) {
    return dt_fail(
        DT_E_RANGE, &b->at,
        "%s would leave nothing of dimension %d of %s: cropping removes %lld before and %lld after",
        kind, i + 1, dt_text_of_shape(&b->in).s, (long long)end[0], (long long)end[1]);
}

static dt_status *build_cropping(dt_layer_build *b, const char *kind, int n) {
    const struct ends *e = b->args;
    amounts *a = dt_arena_new(b->arena, amounts);
    b->made = a;
    DT_TRY(read_amounts(e->cropping, "cropping", n, usual_cropping(n), a));
    DT_TRY(dt_wants_space(b, kind, n));
    b->out = b->in;
    for (int i = 0; i < n; i++) {
        b->out.dim[i + 1] -= a->end[i][0] + a->end[i][1];
        if (b->out.dim[i + 1] < 1) return nothing_left(b, kind, i, a->end[i]);
    }
    return NULL;
}

static dt_value call_cropping(const dt_layer_call *c) { return pad(c, c->made, -1); }

#define ROW(n, kind_, name, about, which)                                                          \
    DT_LAYER_OF_RANK(n, kind_, name, about, struct ends, which##_fields, build_##which,            \
                     call_##which)
ROW(1, "ZeroPadding1D", zero_padding1d, "adds zeros before and after the steps", padding)
ROW(2, "ZeroPadding2D", zero_padding2d, "adds zeros around images", padding)
ROW(3, "ZeroPadding3D", zero_padding3d, "adds zeros around volumes", padding)
ROW(1, "Cropping1D", cropping1d, "removes steps at both ends", cropping)
ROW(2, "Cropping2D", cropping2d, "removes the edges of images", cropping)
ROW(3, "Cropping3D", cropping3d, "removes the edges of volumes", cropping)
