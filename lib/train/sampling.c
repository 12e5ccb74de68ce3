/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling a token from a model's scores: temperature, then top_k, then top_p, the order of
 * Hugging Face's generate. A. Holtzman et al., The Curious Case of Neural Text Degeneration
 * (2020). */
#include "train/generate.h"

#include <math.h>
#include <stdlib.h>

static int64_t find_largest(const double *score, int64_t n) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (score[i] > score[best]) best = i;
    return best;
}

typedef struct ranked {
    double share;
    int64_t token;
} ranked;

static int compare_ranked(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->share != y->share) return x->share < y->share ? 1 : -1;
    return (x->token > y->token) - (x->token < y->token);
}

/* Returns how many of the likeliest tokens top_k and top_p keep. */
static int64_t count_kept(const dt_sampling *s, const ranked *of, int64_t n) {
    const int64_t most = s->top_k > 0 && s->top_k < n ? s->top_k : n;
    double all = 0, sum = 0;
    int64_t kept = 0;
    for (int64_t i = 0; i < most; i++) all += of[i].share;
    if (s->top_p >= 1) return most;
    while (kept < most && (kept == 0 || sum < s->top_p * all)) sum += of[kept++].share;
    return kept;
}

/* Sets the shares of all other tokens to 0. */
static void keep_likeliest(const dt_sampling *s, int64_t n, double *share) {
    DT_LOCAL ranked *of = dt_alloc(dt_size_mul((size_t)n, sizeof *of));
    for (int64_t i = 0; i < n; i++) of[i] = (ranked){share[i], i};
    qsort(of, (size_t)n, sizeof *of, compare_ranked);
    for (int64_t i = count_kept(s, of, n); i < n; i++) share[of[i].token] = 0;
}

void dt_sampling_shares(const dt_sampling *s, const double *score, int64_t n, double *share) {
    const int64_t best = find_largest(score, n);
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        share[i] = s->temperature == 0 ? i == best : exp((score[i] - score[best]) / s->temperature);
    if (s->temperature > 0 && (s->top_k > 0 || s->top_p < 1)) keep_likeliest(s, n, share);
    for (int64_t i = 0; i < n; i++) sum += share[i];
    for (int64_t i = 0; i < n; i++) share[i] /= sum;
}

int64_t dt_sampling_draw(const double *share, int64_t n, dt_random *random) {
    double left = dt_random_uniform(random);
    int64_t token = 0;
    for (int64_t i = 0; i < n; i++) {
        if (share[i] <= 0) continue;
        token = i;
        if (left < share[i]) break;
        left -= share[i];
    }
    return token;
}

double dt_sampling_log_probability(const double *score, int64_t n, int64_t token) {
    const double largest = score[find_largest(score, n)];
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += exp(score[i] - largest);
    return score[token] - largest - log(sum);
}
