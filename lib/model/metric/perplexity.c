/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Perplexity, KerasHub's: e to the mean crossentropy of all words, so 1 if every word is predicted
 * with certainty, and the size of the vocabulary for a uniform guess. In fit, `from_logits`
 * defaults to the loss'.
 */
#include "model/model.h"

struct perplexity {
    bool from_logits, has_from_logits;
    const char *name;
};

static const dt_field fields[] = {
    DT_FLAG(struct perplexity, from_logits, .set = 1 + offsetof(struct perplexity, has_from_logits),
            .help =
                "predictions are logits (no softmax applied); default in fit: the loss's setting"),
    DT_TEXT(struct perplexity, name, .help = "name, used as the key in the history"),
    DT_NOT_YET("mask_token_id"), DT_NOT_YET("dtype"), DT_END};

static void follow(void *args, bool from_logits) {
    struct perplexity *p = args;
    if (!p->has_from_logits) p->from_logits = from_logits;
}

static dt_value update(const dt_loss_call_args *c) {
    const struct perplexity *p = c->args;
    return dt_sparse_crossentropy(c->target, c->prediction, p->from_logits);
}

static double result(const void *args, const double *sum, double words) {
    return words != 0 ? exp(dt_mean_of_sum(args, sum, words)) : 0;
}

const dt_metric_row dt_metric_perplexity = {
    .better = DT_BETTER_LESS,
    .kind = {"Perplexity", "exp of the mean cross-entropy, targets are class indices", fields,
             sizeof(struct perplexity), (const char *const[]){"perplexity", NULL}},
    .sums = 1,
    .unmasked = true,
    .check = dt_check_sparse,
    .follow = follow,
    .update = update,
    .result = result,
};
