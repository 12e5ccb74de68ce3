/* SPDX-License-Identifier: Apache-2.0 */
/* One random application of an op, see samples.h: what it is made of, its arguments, what the op
 * makes of them. */
#ifndef TESTS_OP_SAMPLE_H
#define TESTS_OP_SAMPLE_H

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "op/cells.h"
#include "op/op.h"

enum { REPLICAS = 2, MOST_SEGMENTS = 3 };

typedef enum fill { FILL_NORMAL, FILL_POSITIVE, FILL_CLASS } fill;

typedef struct sample {
    const dt_op *op;
    dt_random *r;
    bool batch; /* whether dimension 0 may be B */
    dt_type in[DT_MAX_IN], out;
    fill fill[DT_MAX_IN];
    int64_t classes;      /* values of FILL_CLASS are below it */
    uint32_t no_gradient; /* float inputs to which none flows */
    union {
        dt_constant_attr constant;
        dt_iota_attr iota;
        dt_index_attr index;
        dt_convert_attr convert;
        dt_precision_attr precision;
        dt_broadcast_attr broadcast;
        dt_reshape_attr reshape;
        dt_transpose_attr transpose;
        dt_sharding_attr sharding;
        dt_reduce_attr reduce;
        dt_dot_attr dot;
        dt_compare_attr compare;
        dt_axis_attr axis;
        dt_segment_attr segment;
        dt_all_reduce_attr all_reduce;
        dt_rows_attr rows;
        dt_random_attr random;
        dt_pad_attr pad;
        dt_slice_attr slice;
        dt_reverse_attr reverse;
        dt_convolution_attr convolution;
        dt_reduce_window_attr window;
        dt_attention_attr attention;
        dt_norm_attr norm;
        dt_gelu_attr gelu;
    } attr;
} sample;

static inline int below(sample *s, int n) { return (int)dt_random_below(s->r, (uint64_t)n); }

static inline bool coin(sample *s) { return below(s, 2) == 1; }

static inline dt_type random_type(sample *s, int least_rank) {
    dt_type t = dt_scalar_type(DT_FLOAT64);
    t.rank = least_rank + below(s, 4 - least_rank);
    for (int d = 0; d < t.rank; d++) t.dim[d] = 1 + below(s, 4);
    if (t.rank > 0 && s->batch && coin(s)) t.dim[0] = -1 - below(s, 2);
    return t;
}

static inline dt_type batch_type(sample *s) {
    dt_type t = random_type(s, 1);
    t.dim[0] = -1 - below(s, 2);
    return t;
}

static inline void shuffle(sample *s, int *list, int n) {
    for (int i = 0; i < n; i++) list[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int j = below(s, i + 1), kept = list[i];
        list[i] = list[j];
        list[j] = kept;
    }
}

/* ---- values ---- */

/* Memory of its own size, so that sanitizers see every step beyond it. */
static inline dt_view view_create(const dt_type *type) {
    size_t bytes = (size_t)dt_type_bytes(type);
    return (dt_view){*type, calloc(bytes ? bytes : 1, 1)};
}

static inline dt_view view_fill(sample *s, const dt_type *type, fill how) {
    dt_view v = view_create(type);
    for (int64_t i = 0, n = dt_type_elements(type); i < n; i++)
        if (how == FILL_CLASS) dt_cell_set_int(&v, i, below(s, (int)s->classes));
        else if (!dt_dtype_is_float(type->dtype)) dt_cell_set_int(&v, i, below(s, 7) - 3);
        else
            dt_cell_set_double(&v, i,
                               how == FILL_POSITIVE ? 0.5 + 2 * dt_random_uniform(s->r)
                                                    : dt_random_normal(s->r));
    return v;
}

/* Arguments of an eval: one for each input, or of each replica for a collective; their count. */
static inline int sample_inputs(sample *s, int64_t batch, dt_view *in) {
    int n = s->op->traits.collective ? REPLICAS : s->op->n_in;
    for (int i = 0; i < n; i++) {
        int from = s->op->traits.collective ? 0 : i;
        dt_type type = dt_type_at(&s->in[from], batch);
        in[i] = view_fill(s, &type, s->fill[from]);
    }
    return n;
}

/* Random borders of MOST_SEGMENTS segments of `batch` examples; some are empty. */
static inline dt_env sample_env(sample *s, int64_t batch, int32_t border[MOST_SEGMENTS + 1]) {
    border[0] = 0;
    border[MOST_SEGMENTS] = (int32_t)batch;
    for (int i = 1; i < MOST_SEGMENTS; i++)
        border[i] = border[i - 1] + below(s, (int)batch - border[i - 1] + 1);
    return (dt_env){.batch = batch,
                    .replica = 1,
                    .replicas = REPLICAS,
                    .offsets = border,
                    .segments = MOST_SEGMENTS,
                    .shards = border,
                    .n_shards = MOST_SEGMENTS};
}

static inline dt_node sample_node(const sample *s) {
    return (dt_node){
        .op = s->op, .type = s->out, .n_in = s->op->n_in, .attr = &s->attr, .path = ""};
}

/* What the op makes of `in`, as a value of concrete `type`. */
static inline dt_view sample_eval(const sample *s, const dt_env *env, const dt_view *in,
                                  const dt_type *type) {
    dt_node node = sample_node(s);
    dt_call call = {.node = &node, .env = env, .in = in, .out = view_create(type)};
    s->op->eval(&call);
    return call.out;
}

static inline void views_release(dt_view *v, int n) {
    for (int i = 0; i < n; i++) free(v[i].data);
}

#endif
