/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SpectralNormalization: a layer whose kernel is divided by an estimate of its largest singular
 * value in each step of training, which bounds how much the layer can stretch its input.
 *
 *     SpectralNormalization: {layer: {Conv2D: {filters: 8, kernel_size: 3}}}
 *
 * The kernel is treated as a matrix W, (inputs, outputs). Each step continues with the vector u of
 * the previous step, and computes the first two formulas power_iterations times, with u' as the
 * next u:
 *
 *     v = normalized(u W^T)      u' = normalized(v W)      W' = W / (v W u'^T)
 *
 * u' and W' are stored, the step computes with W', and the gradient is that of W', as in Keras on
 * TensorFlow and PyTorch. A kernel of zeros is not changed. u and W are the same on all replicas.
 *
 * T. Miyato et al., Spectral Normalization for Generative Adversarial Networks (2018).
 */
#include <string.h>

#include "model/layer/parts.h"

struct spectral_normalization {
    dt_layer_head head;
    const dt_tree *layer;
    int64_t power_iterations;
};

static const dt_field fields[] = {
    DT_TREE(struct spectral_normalization, layer, .forms = DT_FORMS(DT_NAMED("layer")),
            .required = true, .help = "the layer, with its arguments; one with a kernel"),
    DT_INT(struct spectral_normalization, power_iterations, .preset = "1", .min = 1, .max = 1000,
           .help = "how often a step refines the vector u"),
    DT_LAYER_FIELDS(struct spectral_normalization), DT_END};

/* What `build` finds for `call`: the wrapped layer, and the indices of its kernel and of u among
 * the weights. */
struct normalized {
    dt_layer_part part;
    int kernel, u;
};

static dt_status *within(dt_arena *arena, const void *args, dt_named *out) {
    return dt_part_within(arena, "SpectralNormalization",
                          ((const struct spectral_normalization *)args)->layer, out);
}

/* Returns the index, among the weights, of the wrapped layer's `kernel`; -1: it has none. */
static int find_kernel(const dt_layer_build *b, const dt_layer_part *part) {
    for (int i = part->first; i < part->first + part->n_weights; i++)
        if (strcmp(b->weight[i].name, "kernel") == 0) return i;
    return -1;
}

static dt_status *check_state(const dt_layer_build *b, const dt_layer_part *part) {
    const char *state = dt_part_state(b->weight, part);
    if (!state) return NULL;
    return dt_suggest(
        dt_fail(DT_E_MODEL_LAYERS, &b->within.at,
                "%s has state, '%s', but SpectralNormalization takes layers without state",
                part->row->kind.name, state),
        "put it beside");
}

static dt_status *build(dt_layer_build *b) {
    struct normalized *n = dt_arena_new(b->arena, struct normalized);
    DT_TRY(dt_part_wrap(b, &b->in, &n->part));
    DT_TRY(check_state(b, &n->part));
    n->kernel = find_kernel(b, &n->part);
    if (n->kernel < 0)
        return dt_fail(DT_E_MODEL_LAYERS, &b->within.at,
                       "%s has no kernel to normalize; layers such as Dense and Conv2D have one",
                       n->part.row->kind.name);
    const dt_type *kernel = &b->weight[n->kernel].type;
    n->u = b->n_weights;
    b->made = n;
    b->out = n->part.out;
    return dt_layer_weight(
        b, &(dt_weight_request){
               .name = "vector_u",
               .dtype = kernel->dtype,
               .rank = 2,
               .dim = {1, kernel->dim[kernel->rank - 1]},
               .initializer = dt_part_kind(b, "TruncatedNormal", "stddev", dt_part_real(b, 0.02)),
               .fixed = true});
}

/* Emits x / max(length of x, 1e-7), as Keras computes it. */
static dt_value normalized(dt_value x) {
    dt_value inverse = dt_rsqrt(dt_reduce_sum(dt_multiply(x, x), DT_NO_AXIS));
    return dt_multiply(x, dt_minimum(inverse, dt_like(inverse, 1e7)));
}

/* Stores u' and W' in their weights; returns W'. */
static dt_value normalize_kernel(const dt_layer_call *c, const struct normalized *n) {
    static const dt_dot_attr rows = {.n_contract = 1, .lhs_contract = {1}, .rhs_contract = {1}};
    const struct spectral_normalization *s = c->args;
    const dt_value kernel = c->weight[n->kernel];
    const dt_type type = dt_type_of_value(kernel);
    const int64_t outputs = type.dim[type.rank - 1];
    dt_value w = dt_reshape(kernel, 2, (int64_t[]){dt_type_elements(&type) / outputs, outputs});
    dt_value u = c->weight[n->u], v = u;
    for (int64_t i = 0; i < s->power_iterations; i++) {
        v = normalized(dt_dot_general(u, w, &rows));
        u = normalized(dt_matmul(v, w));
    }
    dt_value sigma = dt_reshape(dt_dot_general(dt_matmul(v, w), u, &rows), 0, NULL);
    dt_value largest = dt_reduce_max(dt_abs(w), DT_NO_AXIS),
             zero = dt_compare(largest, dt_like(largest, 0), DT_EQ);
    sigma = dt_select(zero, dt_like(sigma, 1), sigma);
    const dt_type of_u = dt_type_of_value(u), of_bool = dt_type_of(DT_BOOL, of_u.rank, of_u.dim);
    dt_assign(c->trace, c->variable[n->u],
              dt_select(dt_broadcast_to(zero, &of_bool), c->weight[n->u], u));
    dt_assign(c->trace, c->variable[n->kernel], dt_divide(kernel, sigma));
    return dt_read(c->trace, c->variable[n->kernel]);
}

static dt_value call(const dt_layer_call *c) {
    static const dt_value unmasked[1];
    const struct normalized *n = c->made;
    dt_value weight[DT_MAX_WEIGHTS];
    dt_layer_call one = *c;
    memcpy(weight, c->weight, (size_t)(n->u + 1) * sizeof *weight);
    if (c->training) weight[n->kernel] = normalize_kernel(c, n);
    one.weight = weight;
    one.masks = unmasked;
    return dt_part_call(&one, &n->part, c->x);
}

static dt_yield yields(const dt_layer_spec *l, const dt_yield *above) {
    const dt_layer_part *part = &((const struct normalized *)l->made)->part;
    dt_layer_spec one = *l;
    one.row = part->row;
    one.args = part->args;
    one.made = part->made;
    return part->row->yields ? part->row->yields(&one, above) : (dt_yield){0};
}

const dt_layer dt_layer_spectral_normalization = {
    .kind = {"SpectralNormalization", "a layer whose kernel has the spectral norm 1", fields,
             sizeof(struct spectral_normalization), NULL},
    .precision = DT_LAYER_BY_PARTS,
    .within = within,
    .build = build,
    .call = call,
    .yields = yields,
};
