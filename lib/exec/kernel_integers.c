/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Element-wise ops of integers and bools: numbers of words and of classes, positions, masks. A few
 * elements at a time are converted from any type to int64, as in the op's eval. A loop computes the
 * results (DT_WHOLE in op/ops.h), which are then stored in their own type.
 */
#include <math.h>

#include "exec/exec_impl.h"
#include "op/cells.h"

enum { SOME = 256, ARRAYS = 4 /* arrays: the result, and up to three inputs */ };

/* ---- elements of any type as int64, converted like a single one in op/cells.h ---- */

/* Expands to a case of a switch over dtypes. It runs `statement` for i = 0 .. n - 1, where
 * `element` points to `array` as elements of `type`, and returns. */
#define OF_TYPE(dtype, type, statement)                                                            \
    case dtype: {                                                                                  \
        type *element = array;                                                                     \
        for (int64_t i = 0; i < n; i++) statement;                                                 \
        return;                                                                                    \
    }
#define OF_INTEGERS(of, statement)                                                                 \
    OF_TYPE(DT_UINT8, of uint8_t, statement)                                                       \
    OF_TYPE(DT_INT8, of int8_t, statement)                                                         \
    OF_TYPE(DT_UINT16, of uint16_t, statement)                                                     \
    OF_TYPE(DT_INT16, of int16_t, statement)                                                       \
    OF_TYPE(DT_UINT32, of uint32_t, statement)                                                     \
    OF_TYPE(DT_INT32, of int32_t, statement)                                                       \
    OF_TYPE(DT_UINT64, of uint64_t, statement)                                                     \
    OF_TYPE(DT_INT64, of int64_t, statement)

/* Loads elements [from, from + n) of an array of integers or bools. */
static void load_integers(dt_dtype d, const void *array, int64_t from, int64_t n, int64_t *to) {
    switch (d) {
        OF_INTEGERS(const, to[i] = (int64_t)element[from + i])
        OF_TYPE(DT_BOOL, const uint8_t, to[i] = element[from + i] != 0)
    default: return;
    }
}

/* Like load_integers, for float32. Rounds towards zero, as `convert` to the type `as` does; limits
 * results to the range of `as`; NaN becomes 0. For bool, all but 0 become 1, also NaN. */
static void load_truncated(const float *array, int64_t from, int64_t n, dt_dtype as, int64_t *to) {
    const int64_t lowest = dt_int_lowest(as), highest = dt_int_highest(as);
    for (int64_t i = 0; i < n; i++) {
        const double x = (double)array[from + i];
        to[i] = as == DT_BOOL          ? x != 0
                : isnan(x)             ? 0
                : x <= (double)lowest  ? lowest
                : x >= (double)highest ? highest
                                       : (int64_t)x;
    }
}

/* Stores results into an array of integers (which wrap around), bools, float32 or float64. */
static void store_integers(dt_dtype d, void *array, int64_t to, int64_t n, const int64_t *from) {
    switch (d) {
        OF_INTEGERS(, element[to + i] = (__typeof__(*element))from[i])
        OF_TYPE(DT_BOOL, uint8_t, element[to + i] = from[i] != 0)
        OF_TYPE(DT_FLOAT32, float, element[to + i] = (float)from[i])
        OF_TYPE(DT_FLOAT64, double, element[to + i] = (double)from[i])
    default: return;
    }
}

/* ---- loops ---- */

typedef void whole_loop(int64_t *d, const int64_t *a, const int64_t *b, const int64_t *c,
                        int64_t n);

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

#define I a[i]
#define J b[i]
#define K c[i]
#define DT_WHOLE(name, y)                                                                          \
    static void whole_##name(int64_t *d, const int64_t *a, const int64_t *b, const int64_t *c,     \
                             int64_t n) {                                                          \
        (void)a, (void)b, (void)c;                                                                 \
        for (int64_t i = 0; i < n; i++) d[i] = (y);                                                \
    }
#define DT_WHOLE_VARIANT DT_WHOLE
#include "op/ops.h"
#undef I
#undef J
#undef K

/* The loops, by op. An entry without an op is a variant of the last entry before it that has
 * one. */
static const struct {
    const dt_op *op;
    whole_loop *loop;
} loops[] = {
#define DT_WHOLE(name, y) {&dt_op_##name, whole_##name},
#define DT_WHOLE_VARIANT(name, y) {NULL, whole_##name},
#include "op/ops.h"
};

static whole_loop *loop_of(const dt_node *n) {
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++)
        if (loops[i].op == n->op)
            return loops[i + (n->op->forms.loop ? (size_t)n->op->forms.loop(n->attr) : 0)].loop;
    return NULL;
}

/* ---- element-wise ops ---- */

static bool fits(const dt_graph *g, int node) {
    const dt_node *n = &g->node[node];
    const dt_dtype to = n->type.dtype;
    const bool converts = n->op->role == DT_ROLE_CONVERT;
    if (!loop_of(n) || n->type.rank == 0 || n->n_in >= ARRAYS) return false;
    for (int k = 0; k < n->n_in; k++) {
        const dt_dtype from = g->node[n->in[k]].type.dtype;
        if (dt_dtype_is_float(from) && (!converts || from != DT_FLOAT32 || dt_dtype_is_float(to)))
            return false;
    }
    return !dt_dtype_is_float(to) || (converts && (to == DT_FLOAT32 || to == DT_FLOAT64));
}

static dt_status *prepare(dt_exec *x, dt_step *step) {
    (void)x;
    step->scratch = SOME * ARRAYS * sizeof(int64_t);
    return NULL;
}

static void load(const dt_exec *x, int node, int64_t from, int64_t n, dt_dtype as, int64_t *to) {
    const dt_dtype d = x->type[node].dtype;
    if (d == DT_FLOAT32) load_truncated(x->at[node], from, n, as, to);
    else load_integers(d, x->at[node], from, n, to);
}

static void run(const dt_kernel_call *c) {
    const dt_exec *x = c->x;
    const dt_node *n = &x->g->node[c->step->node];
    const dt_dtype to = x->type[c->step->node].dtype;
    const int64_t row = dt_piece_elements(x, c->step->node), end = c->hi * row;
    whole_loop *loop = loop_of(n);
    int64_t *array[ARRAYS];

    for (int k = 0; k < ARRAYS; k++) array[k] = (int64_t *)(void *)c->scratch + k * SOME;
    for (int64_t at = c->lo * row; at < end; at += SOME) {
        const int64_t some = smaller(end - at, SOME);
        for (int k = 0; k < n->n_in; k++) load(x, n->in[k], at, some, to, array[k + 1]);
        loop(array[0], array[1], array[2], array[3], some);
        store_integers(to, x->at[c->step->node], at, some, array[0]);
    }
}

const dt_kernel dt_kernel_integers = {.name = "integers",
                                      .splits = DT_BY_ROWS | DT_BY_TIME,
                                      .fits = fits,
                                      .prepare = prepare,
                                      .run = run};

/* ---- positions ---- */

static bool fits_iota(const dt_graph *g, int node) {
    return !dt_dtype_is_narrow(g->node[node].type.dtype);
}

static void run_iota(const dt_kernel_call *c) {
    const dt_exec *x = c->x;
    const dt_type *t = &x->type[c->step->node];
    const int axis = (int)((const dt_iota_attr *)x->g->node[c->step->node].attr)->axis;
    const int64_t row = dt_piece_elements(x, c->step->node), end = c->hi * row;
    int64_t stride[DT_MAX_RANK], *some = (int64_t *)(void *)c->scratch;

    dt_strides(t, stride);
    for (int64_t at = c->lo * row, n; at < end; at += n) {
        int64_t place = at / stride[axis] % t->dim[axis], left = stride[axis] - at % stride[axis];
        n = smaller(end - at, SOME);
        for (int64_t i = 0; i < n; i++) {
            some[i] = place;
            if (--left > 0) continue;
            left = stride[axis];
            place = place + 1 < t->dim[axis] ? place + 1 : 0;
        }
        store_integers(t->dtype, x->at[c->step->node], at, n, some);
    }
}

const dt_kernel dt_kernel_iota = {.name = "iota",
                                  .op = &dt_op_iota,
                                  .splits = true,
                                  .fits = fits_iota,
                                  .prepare = prepare,
                                  .run = run_iota};
