/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Muon (K. Jordan, 2024; J. Liu et al., Muon is Scalable for LLM Training, 2025): the momentum of a
 * matrix, with its singular values moved near 1. ns_steps steps of an odd polynomial of degree 5 do
 * this with products alone (Newton and Schulz):
 *
 *     m = momentum m + g
 *     u = g + momentum m          nesterov; m otherwise
 *     u = u / (|u| + 1e-7), transposed if it has more rows than columns
 *     ns_steps times: s = u u^T;  u = muon_a u + (muon_b s + muon_c s s) u
 *     w -= rate rms_rate sqrt(max(rows, columns)) u        rms_rate 0: w -= rate u
 *
 * Adam updates all other weights: weights that are not matrices, weights with "embedding" in their
 * path if exclude_embeddings is set, and weights whose path a pattern in exclude_layers finds. It
 * has its own weight decay, and adam_lr_ratio times the rate.
 */
#include <string.h>
#include <strings.h>

#include "base/pattern.h"
#include "model/model.h"

struct muon {
    dt_optimizer_head head;
    double adam_beta_1, adam_beta_2, adam_weight_decay, adam_lr_ratio, epsilon;
    double muon_a, muon_b, muon_c, momentum, rms_rate;
    int64_t ns_steps;
    bool nesterov, exclude_embeddings;
    dt_texts exclude_layers;
};

static const dt_field fields[] = {
    DT_OPTIMIZER_FIELDS_DECAYING(struct muon, "0.004"),
    DT_REAL(struct muon, adam_beta_1, .preset = "0.9", .max = 1, .below_max = true,
            .help = "Adam's decay rate of the mean of gradients"),
    DT_REAL(struct muon, adam_beta_2, .preset = "0.999", .max = 1, .below_max = true,
            .help = "Adam's decay rate of the mean of squared gradients"),
    DT_REAL(struct muon, adam_weight_decay, .preset = "0.004", .max = INFINITY,
            .help = "weight decay of the weights that Adam updates"),
    DT_REAL(struct muon, epsilon, .preset = "1e-7", .above_min = true,
            .help = "Adam's small constant that avoids division by 0"),
    DT_TEXTS(struct muon, exclude_layers,
             .help = "regular expressions: Adam updates weights whose path one of them finds, such "
                     "as those of the last layer"),
    DT_FLAG(struct muon, exclude_embeddings, .preset = "true",
            .help = "Adam updates weights with 'embedding' in their path"),
    DT_REAL(struct muon, muon_a, .preset = "3.4445", .help = "factor of u in the polynomial"),
    DT_REAL(struct muon, muon_b, .preset = "-4.775", .help = "factor of u u^T u in the polynomial"),
    DT_REAL(struct muon, muon_c, .preset = "2.0315",
            .help = "factor of (u u^T)^2 u in the polynomial"),
    DT_REAL(struct muon, adam_lr_ratio, .preset = "1", .max = INFINITY,
            .help = "Adam's learning rate, as a multiple of the learning rate"),
    DT_REAL(struct muon, momentum, .preset = "0.95", .max = 1, .help = "momentum of matrices"),
    DT_INT(struct muon, ns_steps, .preset = "5", .max = 100, .help = "steps of the polynomial"),
    DT_FLAG(struct muon, nesterov, .preset = "true", .help = "use Nesterov momentum"),
    DT_REAL(struct muon, rms_rate, .preset = "0.2", .max = INFINITY,
            .help = "scale updates by this times the root of the matrix's longer side, so that "
                    "Adam's rates fit; 0: do not scale (null in Keras)"),
    DT_END};

static dt_status *check(const void *args, const dt_location *where) {
    const struct muon *a = args;
    for (int i = 0; i < a->exclude_layers.n; i++) {
        dt_pattern *p = NULL;
        dt_status *s = dt_pattern_create(&p, a->exclude_layers.v[i]);
        dt_pattern_destroy(p);
        if (s) return dt_at(s, where);
    }
    return NULL;
}

static bool finds(const char *expression, const char *path) {
    dt_pattern *p = NULL;
    dt_status *s = dt_pattern_create(&p, expression);
    const bool found = !s && dt_pattern_finds(p, path);
    dt_status_free(s); /* an error is dropped, since `check` has reported it */
    dt_pattern_destroy(p);
    return found;
}

static bool is_embedding(const char *path) {
    static const char word[] = "embedding";
    while (*path && strncasecmp(path, word, sizeof word - 1) != 0) path++;
    return *path;
}

static bool is_adams(const struct muon *a, const dt_variable *of) {
    bool is = of->type.rank != 2 || (a->exclude_embeddings && is_embedding(of->path));
    for (int i = 0; !is && i < a->exclude_layers.n; i++)
        is = finds(a->exclude_layers.v[i], of->path);
    return is;
}

static int slots(const void *args, const dt_variable *of, dt_slot_spec *slot) {
    slot[0].name = "momentum";
    slot[1].name = "velocity";
    return is_adams(args, of) ? 2 : 1;
}

static void apply_adam(dt_update *u) {
    const struct muon *a = u->args;
    dt_value rate = dt_multiply(u->rate, dt_like(u->rate, a->adam_lr_ratio));
    dt_value alpha = dt_divide(dt_multiply(rate, dt_sqrt(dt_moment_filled(u, a->adam_beta_2))),
                               dt_moment_filled(u, a->adam_beta_1));
    dt_value m = dt_moment_moved(u->slot[0], u->g, 1 - a->adam_beta_1);
    dt_value v = dt_moment_moved(u->slot[1], dt_multiply(u->g, u->g), 1 - a->adam_beta_2);
    dt_value divisor = dt_add(dt_sqrt(v), dt_like(v, a->epsilon));
    dt_value w = dt_optimizer_decayed(u, a->adam_weight_decay);
    u->slot[0] = m;
    u->slot[1] = v;
    u->w = dt_subtract(w, dt_divide(dt_multiply(m, alpha), divisor));
}

/* Applies the polynomial's steps to u (n, m) of norm 1, with n at most m. */
static dt_value orthogonalized(const struct muon *a, dt_value u) {
    static const dt_dot_attr rows = {.n_contract = 1, .lhs_contract = {1}, .rhs_contract = {1}};
    for (int64_t i = 0; i < a->ns_steps; i++) {
        dt_value s = dt_dot_general(u, u, &rows);
        dt_value squares = dt_multiply(dt_matmul(s, s), dt_like(s, a->muon_c));
        dt_value sum = dt_add(dt_multiply(s, dt_like(s, a->muon_b)), squares);
        u = dt_add(dt_multiply(u, dt_like(u, a->muon_a)), dt_matmul(sum, u));
    }
    return u;
}

static dt_value direction(const struct muon *a, dt_value u) {
    static const int exchanged[] = {1, 0};
    const dt_type type = dt_type_of_value(u);
    const bool is_high = type.dim[0] > type.dim[1];
    if (is_high) u = dt_transpose(u, exchanged);
    dt_value norm = dt_sqrt(dt_reduce_sum(dt_multiply(u, u), DT_NO_AXIS));
    u = orthogonalized(a, dt_divide(u, dt_add(norm, dt_like(norm, 1e-7))));
    return is_high ? dt_transpose(u, exchanged) : u;
}

/* Returns the factor by which the learning rate of a matrix is multiplied. */
static double scale_of(const struct muon *a, const dt_type *type) {
    const int64_t longer = type->dim[0] > type->dim[1] ? type->dim[0] : type->dim[1];
    return a->rms_rate == 0 ? 1 : a->rms_rate * sqrt((double)longer);
}

static void apply(dt_update *u) {
    const struct muon *a = u->args;
    if (is_adams(a, u->of)) {
        apply_adam(u);
        return;
    }
    dt_value momentum = dt_like(u->g, a->momentum);
    dt_value m = dt_add(dt_multiply(u->slot[0], momentum), u->g);
    dt_value step = direction(a, a->nesterov ? dt_add(u->g, dt_multiply(m, momentum)) : m);
    dt_value rate = dt_multiply(u->rate, dt_like(u->rate, scale_of(a, &u->of->type)));
    u->slot[0] = m;
    u->w = dt_subtract(u->w, dt_multiply(step, rate));
}

const dt_optimizer_row dt_optimizer_muon = {
    .kind = {"Muon", "matrices by orthogonalized momentum, other weights by Adam", fields,
             sizeof(struct muon), (const char *const[]){"muon", NULL}},
    .rate = 0.001,
    .check = check,
    .slots = slots,
    .apply = apply,
};
