/* SPDX-License-Identifier: Apache-2.0 */
/*
 * T5MultiHeadAttention: attention of a sequence to itself in which each head adds a number to a
 * score that depends on how far query and key are apart, instead of embedding positions:
 *
 *     y = softmax(q k + bias[bucket(s - t)]) v     t: the step of the query, s: that of the key
 *
 * With is_decoder all buckets are for keys up to the query. Without it half of them are for these,
 * and half for keys after the query. In either case, the first half of such buckets are for one
 * distance each: 0, 1, ... The others are wider, in proportion to the distance, up to
 * relative_attention_max_distance, from which on all share the last one. Scores are not divided by
 * the root of key_value_dim. All layers of T5 use the table of the first one: position_bias_of.
 * Other arguments have the names of KerasHub and of transformers' T5Config; as in KerasHub, there
 * are 32 buckets up to a distance of 128 by default.
 *
 * C. Raffel et al., Exploring the Limits of Transfer Learning with a Unified Text-to-Text
 * Transformer (2020), section 2.1.
 */
#include <math.h>

#include "base/size.h"
#include "model/model.h"
#include "op/shapes.h"

struct attention {
    dt_layer_head head;
    int64_t num_heads, key_value_dim, relative_attention_num_buckets,
        relative_attention_max_distance;
    bool is_decoder;
    dt_texts position_bias_of;
    const dt_tree *kernel_initializer;
};

static const dt_field fields[] = {
    DT_INT(struct attention, num_heads, .min = 1, .max = INFINITY, .required = true,
           .help = "number of attention heads"),
    DT_INT(struct attention, key_value_dim, .min = 1, .max = INFINITY, .required = true,
           .help = "dimension of queries, keys and values"),
    DT_FLAG(struct attention, is_decoder, .help = "causal: positions do not attend to later ones"),
    DT_INT(struct attention, relative_attention_num_buckets, .preset = "32", .min = 4, .max = 1024,
           .help = "rows of the table of biases"),
    DT_INT(struct attention, relative_attention_max_distance, .preset = "128", .min = 4,
           .max = 65536, .help = "distance from which on all have the last row"),
    DT_FIELD(ONE_OF, struct attention, position_bias_of, .forms = DT_NAME, .as = DT_TREE_SCALAR,
             .help = "path of an earlier layer's table, which this one uses, such as "
                     "t5_multi_head_attention/relative_attention_bias; default: it has its own"),
    DT_INITIALIZER(struct attention, kernel_initializer,
                   .help = "initializer; default: glorot_uniform"),
    DT_LAYER_FIELDS(struct attention),
    DT_END};

/* ---- build ---- */

static dt_status *add_kernel(dt_layer_build *b, const char *name, int n_inputs,
                             const int64_t dim[3]) {
    const struct attention *a = b->args;
    return dt_layer_weight(b, &(dt_weight_request){.name = name,
                                                   .dtype = b->in.dtype,
                                                   .rank = 3,
                                                   .dim = {dim[0], dim[1], dim[2]},
                                                   .initializer = a->kernel_initializer,
                                                   .preset = "glorot_uniform",
                                                   .n_inputs = n_inputs});
}

/* Adds the table of biases, (buckets, heads), or borrows that of position_bias_of. It is the last
 * weight. */
static dt_status *add_table(dt_layer_build *b) {
    const struct attention *a = b->args;
    const int64_t rows = a->relative_attention_num_buckets, heads = a->num_heads;
    dt_type t;
    if (!a->position_bias_of.n)
        return dt_layer_weight(b, &(dt_weight_request){.name = "relative_attention_bias/embeddings",
                                                       .dtype = b->in.dtype,
                                                       .rank = 2,
                                                       .dim = {rows, heads},
                                                       .preset = "glorot_uniform"});
    DT_TRY(dt_layer_borrow(b, &a->position_bias_of, &t));
    if (t.rank == 2 && t.dim[0] == rows && t.dim[1] == heads && t.dtype == b->in.dtype) return NULL;
    return dt_fail(DT_E_MODEL_SHAPE, a->position_bias_of.at,
                   "'%.80s' is %s; expected a table of %lld buckets for %lld heads",
                   a->position_bias_of.v[0], dt_text_of(&t).s, (long long)rows, (long long)heads);
}

/* Checks that the largest distance is greater than the number of distances with a bucket of their
 * own. */
static dt_status *check_distance(const dt_layer_build *b) {
    const struct attention *a = b->args;
    const int64_t exact = a->relative_attention_num_buckets / (a->is_decoder ? 2 : 4);
    if (a->relative_attention_max_distance > exact) return NULL;
    return dt_fail(DT_E_RANGE, &b->at,
                   "relative_attention_max_distance must be greater than %lld, the number of "
                   "distances with a bucket of their own, got %lld",
                   (long long)exact, (long long)a->relative_attention_max_distance);
}

static dt_status *build(dt_layer_build *b) {
    const struct attention *a = b->args;
    DT_TRY(dt_layer_wants_exactly(b, "T5MultiHeadAttention", 3, "(B, steps, features)"));
    const int64_t d = b->in.dim[2], n = a->num_heads, k = a->key_value_dim;
    DT_TRY(check_distance(b));
    DT_TRY(add_kernel(b, "query/kernel", 1, (int64_t[]){d, n, k}));
    DT_TRY(add_kernel(b, "key/kernel", 1, (int64_t[]){d, n, k}));
    DT_TRY(add_kernel(b, "value/kernel", 1, (int64_t[]){d, n, k}));
    DT_TRY(add_kernel(b, "attention_output/kernel", 2, (int64_t[]){n, k, d}));
    DT_TRY(add_table(b));
    b->out = b->in;
    return NULL;
}

/* ---- buckets ---- */

/* Returns the bucket, 0 to buckets - 1, of a distance of at least 0. most: the distance from which
 * on all are in the last bucket. Computes in float32, as the original does. */
static int64_t bucket_of(int64_t distance, int64_t buckets, int64_t most) {
    const int64_t exact = buckets / 2;
    if (distance < exact) return distance;
    const float wide = logf((float)distance / (float)exact) /
                       (float)log((double)most / (double)exact) * (float)(buckets - exact);
    const int64_t at = exact + (int64_t)wide;
    return at < buckets - 1 ? at : buckets - 1;
}

/* Emits the buckets of distances of at most `farthest`, int32: the sum, over all distances d up to
 * the given one, of the steps from the bucket of d - 1 to that of d. */
static dt_value buckets_of(dt_value distance, int64_t buckets, int64_t most, int64_t farthest) {
    dt_value sum = dt_like(distance, 0);
    for (int64_t d = 1; d <= dt_min(most, farthest); d++) {
        const int64_t more = bucket_of(d, buckets, most) - bucket_of(d - 1, buckets, most);
        if (more == 0) continue;
        dt_value is_as_far =
            dt_convert(dt_compare(distance, dt_like(distance, (double)d), DT_GE), DT_INT32);
        sum = dt_add(sum, dt_multiply(is_as_far, dt_like(is_as_far, (double)more)));
    }
    return sum;
}

/* Emits the index of the table's row for each pair of steps, (T, T) int32. */
static dt_value rows_of(const struct attention *a, dt_value asks, dt_value asked) {
    const int64_t steps = dt_type_of_value(asks).dim[0], most = a->relative_attention_max_distance;
    const dt_value ahead = dt_subtract(asked, asks);
    if (a->is_decoder)
        return buckets_of(dt_maximum(dt_negate(ahead), dt_like(ahead, 0)),
                          a->relative_attention_num_buckets, most, steps);
    const int64_t half = a->relative_attention_num_buckets / 2;
    dt_value later = dt_convert(dt_compare(ahead, dt_like(ahead, 0), DT_GT), DT_INT32);
    return dt_add(dt_multiply(later, dt_like(later, (double)half)),
                  buckets_of(dt_maximum(ahead, dt_negate(ahead)), half, most, steps));
}

/* ---- call ---- */

/* Emits x (B, T, D) times a kernel (D, N, k), named as policies of rematerialization know it. */
static dt_value by_heads(const dt_layer_call *c, const char *name, dt_value kernel) {
    static const dt_dot_attr last = {.n_contract = 1, .lhs_contract = {2}, .rhs_contract = {0}};
    return dt_layer_value(c, dt_arena_printf(dt_trace_arena(c->trace), "%s/%s", c->name, name),
                          dt_dot_general(c->x, kernel, &last));
}

/* Emits bools (B, N, T, T): whether step t of the query may attend to step s; no value: it may to
 * all. is_earlier: (T, T), whether s <= t. */
static dt_value allowed(const dt_layer_call *c, const dt_type *scores, dt_value is_earlier) {
    const struct attention *a = c->args;
    dt_value may[3] = {{0}};
    dt_type bools = *scores;
    int n = 0;
    bools.dtype = DT_BOOL;
    if (a->is_decoder) may[n++] = dt_broadcast_to(is_earlier, &bools);
    if (c->masks[0].trace) may[n++] = dt_broadcast_in_dim(c->masks[0], &bools, (int8_t[]){0, 3});
    if (c->document.trace && c->model->spec.documents.masked)
        may[n++] = dt_broadcast_in_dim(dt_layer_same_document(c, bools.dim[2], bools.dim[3]),
                                       &bools, (int8_t[]){0, 2, 3});
    for (int i = 1; i < n; i++) may[0] = dt_minimum(may[0], may[i]);
    return may[0];
}

/* Emits the scores (B, N, T, T) of queries and keys (B, T, N, k), biased and masked. */
static dt_value scores_of(const dt_layer_call *c, dt_value query, dt_value key) {
    static const dt_dot_attr by_head = {.n_batch = 2,
                                        .lhs_batch = {0, 2},
                                        .rhs_batch = {0, 2},
                                        .n_contract = 1,
                                        .lhs_contract = {3},
                                        .rhs_contract = {3}};
    const struct attention *a = c->args;
    dt_value scores = dt_to_float32(dt_dot_general(query, key, &by_head));
    dt_type t = dt_type_of_value(scores), one = dt_type_of(DT_INT32, 2, t.dim + 2);
    dt_value asks = dt_iota(c->trace, &one, 0), asked = dt_iota(c->trace, &one, 1),
             may = allowed(c, &t, dt_compare(asked, asks, DT_LE));
    /* Rows are looked up by a product with one-hot vectors, so that the gradient can be summed over
     * replicas after it has the small shape of the table. */
    dt_value row = dt_one_hot(rows_of(a, asks, asked), a->relative_attention_num_buckets, t.dtype);
    dt_value bias = dt_matmul(row, dt_convert(c->weight[4], t.dtype));
    /* The bias is transposed first, because ONNX cannot broadcast dimensions out of order. */
    bias = dt_transpose(bias, (const int[]){2, 0, 1});
    scores = dt_add(scores, dt_broadcast_in_dim(bias, &t, (int8_t[]){1, 2, 3}));
    return may.trace ? dt_select(may, scores, dt_like(scores, -1e9)) : scores;
}

static dt_value call(const dt_layer_call *c) {
    static const dt_dot_attr take = {.n_batch = 2,
                                     .lhs_batch = {0, 1},
                                     .rhs_batch = {0, 2},
                                     .n_contract = 1,
                                     .lhs_contract = {3},
                                     .rhs_contract = {1}},
                             put = {
                                 .n_contract = 2, .lhs_contract = {2, 3}, .rhs_contract = {0, 1}};
    dt_value query = by_heads(c, "query", c->weight[0]), key = by_heads(c, "key", c->weight[1]),
             value = by_heads(c, "value", c->weight[2]);
    dt_value shares = dt_softmax(scores_of(c, query, key));
    shares = dt_convert(shares, dt_type_of_value(value).dtype);
    dt_value taken = dt_transpose(dt_dot_general(shares, value, &take), (const int[]){0, 2, 1, 3});
    return dt_dot_general(taken, c->weight[3], &put);
}

const dt_layer dt_layer_t5_multi_head_attention = {
    .kind = {"T5MultiHeadAttention", "attention with biases for relative positions", fields,
             sizeof(struct attention), NULL},
    .supports_masking = true,
    .build = build,
    .call = call,
    .yields = dt_yields_real,
};
