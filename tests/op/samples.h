/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random applications of ops, for tests that loop over the table: shapes, attributes and values
 * that an op accepts. An element-wise op needs nothing here; any other new one needs a line in
 * `makers`, and a test says so.
 */
#ifndef TESTS_OP_SAMPLES_H
#define TESTS_OP_SAMPLES_H

#include "sample.h"

/* ---- one maker for each kind of op ---- */

static inline void make_elementwise(sample *s) {
    dt_type t = random_type(s, 0);
    const dt_op *op = s->op;
    for (int i = 0; i < op->n_in; i++) {
        s->in[i] = t;
        s->fill[i] = op->traits.positive ? FILL_POSITIVE : FILL_NORMAL;
    }
}

static inline void make_compare(sample *s) {
    make_elementwise(s);
    s->attr.compare.direction = below(s, 6);
}

static inline void make_select(sample *s) {
    make_elementwise(s);
    s->in[0].dtype = DT_BOOL;
}

static inline void make_convert(sample *s) {
    make_elementwise(s);
    s->attr.convert.dtype = DT_FLOAT64;
}

/* Enough digits for what is computed in float32 and in float64 to stay close. */
static inline void make_precision(sample *s) {
    make_elementwise(s);
    s->no_gradient = 1;
    s->attr.precision.mantissa_bits = 20 + below(s, 4);
}

static inline void make_source(sample *s) {
    s->attr.constant = (dt_constant_attr){random_type(s, 0), 0.25};
}

static inline void make_variable(sample *s) {
    s->batch = false;
    s->attr.index.type = random_type(s, 0);
}

static inline void make_iota(sample *s) {
    s->attr.iota.type = random_type(s, 1);
    s->attr.iota.axis = below(s, s->attr.iota.type.rank);
}

static inline void make_broadcast(sample *s) {
    dt_broadcast_attr *a = &s->attr.broadcast;
    dt_type *x = &s->in[0];
    int order[DT_MAX_RANK];
    a->type = random_type(s, 1);
    memset(a->dims, -1, sizeof a->dims);
    shuffle(s, order, a->type.rank);
    *x = dt_scalar_type(DT_FLOAT64);
    for (int i = below(s, a->type.rank + 1); i > 0; i--) {
        int to = order[x->rank];
        bool whole = coin(s) && (a->type.dim[to] > 0 || x->rank == 0);
        a->dims[x->rank] = (int8_t)to;
        x->dim[x->rank++] = whole ? a->type.dim[to] : 1;
    }
}

/* The same factors, cut into dimensions at random places. */
static inline dt_type compose(sample *s, const int64_t *factor, int n, bool batch) {
    dt_type t = {.dtype = DT_FLOAT64, .rank = 1, .dim = {batch ? -1 : 1}};
    for (int i = 0; i < n; i++) {
        if (coin(s)) t.dim[t.rank++] = 1;
        t.dim[t.rank - 1] *= factor[i];
    }
    return t;
}

static inline void make_reshape(sample *s) {
    int64_t factor[5];
    int n = below(s, 6);
    bool batch = s->batch && coin(s);
    for (int i = 0; i < n; i++) factor[i] = 1 + below(s, 3);
    s->in[0] = compose(s, factor, n, batch);
    s->attr.reshape.type = compose(s, factor, n, batch);
}

static inline void make_transpose(sample *s) {
    int order[DT_MAX_RANK];
    dt_type *x = &s->in[0];
    *x = random_type(s, 1);
    bool batch = x->dim[0] < 0;
    shuffle(s, order, x->rank - batch);
    for (int i = 0; i < x->rank - batch; i++)
        s->attr.transpose.perm[i + batch] = (int8_t)(order[i] + batch);
}

static inline void make_barrier(sample *s) {
    s->in[0] = random_type(s, 0);
    s->in[1] = random_type(s, 0);
}

static inline void make_sharding(sample *s) {
    s->in[0] = random_type(s, 0);
    s->attr.sharding.kind = DT_SHARDING_OTHER + below(s, 3);
    if (s->attr.sharding.kind == DT_SHARDING_MAXIMAL) s->attr.sharding.device = below(s, 4);
    if (s->attr.sharding.kind != DT_SHARDING_OTHER) return;
    s->attr.sharding.rank = s->in[0].rank;
    for (int d = 0; d < s->in[0].rank; d++) s->attr.sharding.parts[d] = 1 + below(s, 3);
}

static inline void make_reduce(sample *s) {
    s->in[0] = random_type(s, 0);
    s->attr.reduce = (dt_reduce_attr){below(s, 3), (uint32_t)below(s, 1 << s->in[0].rank)};
}

/* A dimension of an operand of dot_general: batch pair i, contracted pair i, or free. */
typedef struct axis {
    enum { AXIS_BATCH, AXIS_CONTRACT, AXIS_FREE } kind;
    int pair;
    int64_t size;
} axis;

/* Dimensions in random order, the one with B first. */
static inline void lay_out(sample *s, dt_dot_attr *d, int operand, const axis *axes, int n) {
    int order[DT_MAX_RANK];
    dt_type *t = &s->in[operand];
    shuffle(s, order, n);
    for (int i = 1; i < n; i++)
        if (axes[order[i]].size < 0) {
            int kept = order[0];
            order[0] = order[i];
            order[i] = kept;
        }
    *t = dt_scalar_type(DT_FLOAT64);
    for (int i = 0; i < n; i++) {
        const axis *a = &axes[order[i]];
        if (a->kind == AXIS_BATCH) (operand ? d->rhs_batch : d->lhs_batch)[a->pair] = (int8_t)i;
        if (a->kind == AXIS_CONTRACT)
            (operand ? d->rhs_contract : d->lhs_contract)[a->pair] = (int8_t)i;
        t->dim[t->rank++] = a->size;
    }
}

typedef enum where_b { B_NOWHERE, B_BATCH, B_CONTRACT, B_LHS, B_RHS } where_b;

static inline where_b place_batch(sample *s, const dt_dot_attr *d, const int n[4]) {
    const int n_batch = n[0], n_contract = n[1], n_lhs = n[2], n_rhs = n[3];
    where_b where = s->batch ? (where_b)below(s, 5) : B_NOWHERE;
    bool possible = where == B_BATCH      ? n_batch > 0
                    : where == B_CONTRACT ? n_contract > 0 && !d->in_order
                    : where == B_LHS      ? (n_batch == 0 || d->in_order) && n_lhs > 0
                    : where == B_RHS      ? n_batch == 0 && n_lhs == 0 && n_rhs > 0
                                          : false;
    return possible ? where : B_NOWHERE;
}

static inline void make_dot_at(sample *s, dt_dot_attr *d, const int n[4], where_b where) {
    axis axes[2][DT_MAX_RANK];
    int count[2] = {0};
    int64_t b = -1 - below(s, 2);
    for (int kind = AXIS_BATCH; kind <= AXIS_CONTRACT; kind++)
        for (int i = 0; i < n[kind]; i++) {
            bool is_b = i == 0 && where == (kind == AXIS_BATCH ? B_BATCH : B_CONTRACT);
            axis a = {kind, i, is_b ? b : 1 + below(s, 3)};
            axes[0][count[0]++] = axes[1][count[1]++] = a;
        }
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < n[2 + side]; i++) {
            bool is_b = i == 0 && where == (side ? B_RHS : B_LHS);
            axes[side][count[side]++] = (axis){AXIS_FREE, 0, is_b ? b : 1 + below(s, 3)};
        }
    d->n_batch = (int8_t)n[0];
    d->n_contract = (int8_t)n[1];
    for (int side = 0; side < 2; side++) lay_out(s, d, side, axes[side], count[side]);
}

static inline void make_dot(sample *s) {
    int n[4] = {below(s, 3), below(s, 3), below(s, 3), below(s, 3)};
    dt_dot_attr *d = &s->attr.dot;
    d->in_order = n[0] > 0 && below(s, 2);
    make_dot_at(s, d, n, place_batch(s, d, n));
    for (int i = 0; i < d->n_contract; i++) d->in_order &= d->lhs_contract[i] != 0;
}

static inline void make_argmax(sample *s) {
    s->in[0] = random_type(s, 1);
    s->attr.axis.axis = below(s, s->in[0].rank);
}

static inline void make_softmax(sample *s) { s->in[0] = random_type(s, 2); }

static inline void make_cross_entropy(sample *s) {
    dt_type z = random_type(s, 2);
    s->in[0] = s->in[1] = z;
    s->in[2] = dt_type_of(z.dtype, z.rank - 1, z.dim);
    s->classes = z.dim[z.rank - 1];
    s->no_gradient = 2;
    if (coin(s)) {
        s->in[1] = s->in[2];
        s->in[1].dtype = DT_INT32;
        s->fill[1] = FILL_CLASS;
    }
}

/* Positions are drawn below the number of keys; a head of keys may answer two of queries. */
static inline void make_attention(sample *s) {
    dt_type lead = random_type(s, 0);
    int64_t t = 1 + below(s, 4), keys = 1 + below(s, 4), heads = 1 + below(s, 3),
            key_size = 1 + below(s, 3);
    if (lead.rank > 2) lead.rank = 2;
    lead = dt_type_of(DT_FLOAT64, lead.rank, lead.dim);
    dt_type q = lead, position = lead;
    q.rank += 3;
    q.dim[lead.rank] = t, q.dim[lead.rank + 1] = heads, q.dim[lead.rank + 2] = key_size;
    s->in[0] = s->in[1] = q;
    s->in[1].dim[lead.rank] = keys;
    s->in[0].dim[lead.rank + 1] *= 1 + coin(s);
    s->in[2] = s->in[1];
    s->in[2].dim[lead.rank + 2] = 1 + below(s, 3);
    position.dtype = DT_INT32;
    position.dim[position.rank++] = t;
    s->in[3] = position;
    s->fill[3] = FILL_CLASS;
    s->classes = keys;
    s->attr.attention = (dt_attention_attr){.scale = 0.5,
                                            .causal = coin(s),
                                            .window = coin(s) ? 1 + below(s, 3) : 0,
                                            .sinks = below(s, 3)};
}

static inline void make_attention_grad(sample *s) {
    make_attention(s);
    s->in[4] = s->in[3];
    s->in[3] = s->in[0];
    s->in[3].dim[s->in[0].rank - 1] = s->in[2].dim[s->in[0].rank - 1];
    s->fill[3] = FILL_NORMAL;
    s->fill[4] = FILL_CLASS;
    s->attr.attention.of = below(s, 3);
}

static inline dt_type features_of(const dt_type *x) {
    return dt_type_of(x->dtype, 1, &x->dim[x->rank - 1]);
}

/* Some features, so that rows of equal ones, where a gradient bends, are rare. */
static inline void make_norm(sample *s) {
    s->in[0] = random_type(s, 2);
    s->in[0].dim[s->in[0].rank - 1] = 2 + below(s, 3);
    s->in[1] = s->in[2] = features_of(&s->in[0]);
    s->attr.norm.epsilon = 0.1;
}

static inline void make_norm_grad(sample *s) {
    make_norm(s);
    s->in[2] = s->in[0];
}

static inline void make_norm_scale_grad(sample *s) {
    make_norm(s);
    s->in[1] = s->in[0];
}

static inline void make_gelu(sample *s) {
    make_elementwise(s);
    s->attr.gelu.approximate = coin(s);
}

static inline void make_gather(sample *s) {
    dt_type index = random_type(s, 0), table = dt_scalar_type(DT_FLOAT64);
    table.rank = 1 + below(s, 3);
    for (int d = 0; d < table.rank; d++) table.dim[d] = 1 + below(s, 4);
    index.dtype = DT_INT32;
    s->in[0] = table;
    s->in[1] = index;
    s->fill[1] = FILL_CLASS;
    s->classes = table.dim[0];
}

static inline void make_scatter_add(sample *s) {
    dt_type index = random_type(s, 0), x = index;
    for (int i = below(s, 3); i > 0; i--) x.dim[x.rank++] = 1 + below(s, 3);
    index.dtype = DT_INT64;
    s->in[0] = x;
    s->in[1] = index;
    s->fill[1] = FILL_CLASS;
    s->attr.rows.rows = s->classes = 1 + below(s, 4);
}

static inline void make_random(sample *s) {
    s->in[0] = dt_scalar_type(DT_INT64);
    s->attr.random =
        (dt_random_attr){random_type(s, 1), coin(s) ? DT_RANDOM_NORMAL : DT_RANDOM_UNIFORM, 7};
    s->in[1] = dt_type_of(DT_INT32, 1, s->attr.random.type.dim);
}

static inline void make_nothing(sample *s) { (void)s; }

static inline void make_all_reduce(sample *s) {
    s->batch = false;
    s->in[0] = random_type(s, 0);
    s->attr.all_reduce.op = coin(s) ? DT_MEAN : DT_SUM;
}

static inline void make_cut(sample *s) {
    s->attr.segment.cut = coin(s) ? DT_CUT_SHARDS : DT_CUT_REPLICAS;
    s->attr.segment.count = MOST_SEGMENTS;
}

static inline void make_segment_reduce(sample *s) {
    make_cut(s);
    s->in[0] = batch_type(s);
    s->attr.segment.reduce =
        (dt_reduce_attr){below(s, 3), 1u | (uint32_t)below(s, 1 << s->in[0].rank)};
}

static inline void make_segment_deviations(sample *s) {
    make_segment_reduce(s);
    s->in[0].dtype = coin(s) ? DT_FLOAT32 : DT_FLOAT64;
    s->attr.segment.reduce.kind = DT_REDUCE_SUM;
}

static inline void make_segment_dot(sample *s) {
    int n[4] = {below(s, 2), 1 + below(s, 2), below(s, 3), below(s, 3)};
    make_cut(s);
    make_dot_at(s, &s->attr.segment.dot, n, B_CONTRACT);
}

static inline void make_segment_broadcast(sample *s) {
    make_cut(s);
    s->attr.segment.type = s->in[0] = batch_type(s);
    s->in[0].dim[0] = MOST_SEGMENTS;
}

static inline void make_tree_sum(sample *s) {
    s->in[0] = random_type(s, 1);
    s->in[0].dim[0] = 1 + below(s, 9);
}

static inline void make_pad(sample *s) {
    dt_type *x = &s->in[0];
    *x = random_type(s, 1);
    s->attr.pad.value = 0.5;
    for (int d = 0; d < x->rank; d++) {
        if (x->dim[d] < 0 || coin(s)) continue;
        int least = x->dim[d] > 2 ? -1 : 0;
        s->attr.pad.dim[d].low = least + below(s, 3);
        s->attr.pad.dim[d].high = least + below(s, 3);
        s->attr.pad.dim[d].interior = below(s, 3);
    }
}

static inline void make_slice(sample *s) {
    dt_type *x = &s->in[0];
    *x = random_type(s, 1);
    for (int d = 0; d < x->rank; d++) {
        bool whole = x->dim[d] < 0 || coin(s);
        int64_t n = x->dim[d], start = whole ? 0 : below(s, (int)n),
                stride = whole ? 1 : 1 + below(s, 2);
        s->attr.slice.dim[d].start = start;
        s->attr.slice.dim[d].stride = stride;
        s->attr.slice.dim[d].size = whole ? n : 1 + below(s, (int)((n - 1 - start) / stride) + 1);
    }
}

static inline void make_concatenate(sample *s) {
    s->in[0] = random_type(s, 2);
    s->attr.axis.axis = 1 + below(s, s->in[0].rank - 1);
    s->in[1] = s->in[0];
    s->in[1].dim[s->attr.axis.axis] = 1 + below(s, 4);
}

static inline void make_reverse(sample *s) {
    s->in[0] = random_type(s, 1);
    s->attr.reverse.dims =
        (uint32_t)below(s, 1 << s->in[0].rank) & ~(dt_type_has_batch(&s->in[0]) ? 1u : 0u);
}

/* A window of `size` with room for at least one place on `in` elements. */
static inline dt_window make_window(sample *s, int64_t size, int64_t in) {
    dt_window w = {.stride = 1 + below(s, 2),
                   .base_dilation = 1 + below(s, 2),
                   .dilation = 1 + below(s, 2),
                   .low = below(s, 3) - 1};
    int64_t needs = (size - 1) * w.dilation + 1 - ((in - 1) * w.base_dilation + 1) - w.low;
    w.high = (needs > -1 ? needs : -1) + below(s, 2);
    return w;
}

static inline void make_windows(sample *s) {
    dt_type *x = &s->in[0];
    *x = random_type(s, 1);
    s->attr.window = dt_windows_of_one((dt_reduce_kind)below(s, 3), x->rank);
    for (int d = 0; d < x->rank; d++)
        if (x->dim[d] > 0 && coin(s)) {
            s->attr.window.size[d] = 1 + below(s, 3);
            s->attr.window.window[d] = make_window(s, s->attr.window.size[d], x->dim[d]);
            /* a window of nothing but padding is infinite */
            if (s->attr.window.kind != DT_REDUCE_SUM) {
                s->attr.window.window[d] =
                    (dt_window){.stride = 1 + below(s, 2), .base_dilation = 1, .dilation = 1};
                s->attr.window.size[d] = 1 + below(s, (int)x->dim[d]);
            }
        }
}

static inline void make_scatter(sample *s) {
    do make_windows(s);
    while (s->attr.window.kind == DT_REDUCE_SUM);
    dt_infer q = {.op = &dt_op_reduce_window, .in = s->in, .n_in = 1, .attr = &s->attr};
    dt_status_free(dt_op_reduce_window.infer(&q));
    s->in[1] = q.out;
}

/* Dimensions `a`, `b` and spatial ones in random order; `first` (0: a, 1: b, -1: any) is dimension
 * 0. */
static inline void number_dims(sample *s, int n_spatial, int first, int8_t *a, int8_t *b,
                               int8_t *spatial) {
    int order[DT_MAX_RANK];
    shuffle(s, order, n_spatial + 2);
    for (int i = 0; first >= 0 && i < n_spatial + 2; i++)
        if (order[i] == 0) {
            order[i] = order[first];
            order[first] = 0;
            break;
        }
    *a = (int8_t)order[0];
    *b = (int8_t)order[1];
    for (int i = 0; i < n_spatial; i++) spatial[i] = (int8_t)order[2 + i];
}

/* B is the batch of lhs, what is summed, the outputs, or nowhere. */
static inline void make_convolution_at(sample *s, dt_convolution_attr *a, where_b where) {
    int n = 1 + below(s, 2);
    int64_t groups = where == B_CONTRACT || where == B_RHS || coin(s) ? 1 : 2, b = -1 - below(s, 2);
    bool of_batch = where == B_NOWHERE && coin(s);
    *a = dt_convolution_channels_last(n);
    *(of_batch ? &a->batch_groups : &a->feature_groups) = (int32_t)groups;
    number_dims(s, n,
                where == B_BATCH      ? 0
                : where == B_CONTRACT ? 1
                                      : -1,
                &a->lhs_batch, &a->lhs_feature, a->lhs_spatial);
    number_dims(s, n,
                where == B_CONTRACT ? 0
                : where == B_RHS    ? 1
                                    : -1,
                &a->rhs_in, &a->rhs_out, a->rhs_spatial);
    number_dims(s, n,
                where == B_BATCH ? 0
                : where == B_RHS ? 1
                                 : -1,
                &a->out_batch, &a->out_feature, a->out_spatial);
    s->in[0] = s->in[1] = dt_type_of(DT_FLOAT64, n + 2, (int64_t[]){1, 1, 1, 1, 1});
    int64_t in = where == B_CONTRACT ? b : 1 + below(s, 2);
    s->in[1].dim[a->rhs_in] = in;
    s->in[0].dim[a->lhs_feature] = of_batch ? in : in * groups;
    s->in[1].dim[a->rhs_out] = where == B_RHS ? b : groups * (1 + below(s, 2));
    s->in[0].dim[a->lhs_batch] = where == B_BATCH ? b : (of_batch ? groups : 1) * (1 + below(s, 2));
    for (int i = 0; i < n; i++) {
        int64_t size = 1 + below(s, 3), over = 1 + below(s, 4);
        s->in[1].dim[a->rhs_spatial[i]] = size;
        s->in[0].dim[a->lhs_spatial[i]] = over;
        a->window[i] = make_window(s, size, over);
    }
}

static inline void make_convolution(sample *s) {
    static const where_b places[] = {B_NOWHERE, B_BATCH, B_BATCH, B_CONTRACT, B_RHS};
    make_convolution_at(s, &s->attr.convolution, s->batch ? places[below(s, 5)] : B_NOWHERE);
}

static inline void make_segment_convolution(sample *s) {
    make_cut(s);
    make_convolution_at(s, &s->attr.segment.convolution, B_CONTRACT);
}

static const struct {
    const dt_op *op;
    void (*make)(sample *s);
} makers[] = {
    {&dt_op_parameter, make_source},
    {&dt_op_variable, make_variable},
    {&dt_op_constant, make_source},
    {&dt_op_iota, make_iota},
    {&dt_op_compare, make_compare},
    {&dt_op_select, make_select},
    {&dt_op_convert, make_convert},
    {&dt_op_reduce_precision, make_precision},
    {&dt_op_broadcast_in_dim, make_broadcast},
    {&dt_op_reshape, make_reshape},
    {&dt_op_transpose, make_transpose},
    {&dt_op_sharding, make_sharding},
    {&dt_op_optimization_barrier, make_barrier},
    {&dt_op_reduce, make_reduce},
    {&dt_op_dot_general, make_dot},
    {&dt_op_argmax, make_argmax},
    {&dt_op_get_dimension_size, make_argmax},
    {&dt_op_softmax, make_softmax},
    {&dt_op_softmax_cross_entropy, make_cross_entropy},
    {&dt_op_softmax_cross_entropy_grad, make_cross_entropy},
    {&dt_op_gather, make_gather},
    {&dt_op_scatter_add, make_scatter_add},
    {&dt_op_random, make_random},
    {&dt_op_example_id, make_nothing},
    {&dt_op_replica_id, make_nothing},
    {&dt_op_all_reduce, make_all_reduce},
    {&dt_op_segment_reduce, make_segment_reduce},
    {&dt_op_segment_deviations, make_segment_deviations},
    {&dt_op_segment_dot_general, make_segment_dot},
    {&dt_op_segment_broadcast, make_segment_broadcast},
    {&dt_op_segment_sizes, make_cut},
    {&dt_op_tree_sum, make_tree_sum},
    {&dt_op_pad, make_pad},
    {&dt_op_slice, make_slice},
    {&dt_op_concatenate, make_concatenate},
    {&dt_op_reverse, make_reverse},
    {&dt_op_convolution, make_convolution},
    {&dt_op_segment_convolution, make_segment_convolution},
    {&dt_op_reduce_window, make_windows},
    {&dt_op_select_and_scatter, make_scatter},
    {&dt_op_attention, make_attention},
    {&dt_op_attention_grad, make_attention_grad},
    {&dt_op_layer_norm, make_norm},
    {&dt_op_layer_norm_grad, make_norm_grad},
    {&dt_op_layer_norm_scale_grad, make_norm_scale_grad},
    {&dt_op_gelu, make_gelu},
    {&dt_op_gelu_grad, make_gelu},
};

/* A sample in float64 whose result type is inferred; NULL, or why the op refuses it. */
static inline dt_status *sample_make(sample *s, const dt_op *op, dt_random *r, bool batch) {
    void (*make)(sample *) = dt_is_elementwise(op) ? make_elementwise : NULL;
    memset(s, 0, sizeof *s);
    s->op = op;
    s->r = r;
    s->batch = batch;
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
        if (makers[i].op == op) make = makers[i].make;
    if (!make)
        return dt_fail(DT_E_INTERNAL, NULL, "no maker of samples for %s in tests/op/samples.h",
                       op->name);
    make(s);
    dt_infer q = {.op = op, .in = s->in, .n_in = op->n_in, .attr = &s->attr};
    dt_status *bad = op->infer(&q);
    s->out = q.out;
    return bad;
}

#endif
