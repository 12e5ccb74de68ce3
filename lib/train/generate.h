/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generating text with a language model, for the callback GenerateText and for dt_job_generate:
 *
 *     context, at most T tokens  ── model ──▶  scores of the next token  ── sampling ──▶  a token
 *
 * T is the length of the sequences that the model was trained with. Of a longer prompt at most the
 * last T tokens are used. When generated tokens make the context longer than T, its older half is
 * dropped before the next one is generated.
 */
#ifndef DT_TRAIN_GENERATE_H
#define DT_TRAIN_GENERATE_H

#include "base/random.h"
#include "file/tokenizer/tokenizer.h"
#include "train/train.h"

/* ---- sampling ---- */

/* How a token is chosen. These values leave the model's probabilities as they are: 1 for
 * temperature and top_p, 0 for top_k. */
typedef struct dt_sampling {
    double temperature; /* the scores are divided by it; 0: always chooses the likeliest token */
    int64_t top_k;      /* number of the likeliest tokens to choose from; 0: all */
    /* Of the tokens that top_k keeps, only the fewest likeliest ones are kept that together have at
     * least this share of the probability of all of them. */
    double top_p;
} dt_sampling;
/* Writes to share[n] each token's probability of being drawn. Tokens with equal scores are ranked
 * by number. A score of -infinity gives probability 0; +infinity is not supported. */
void dt_sampling_shares(const dt_sampling *s, const double *score, int64_t n, double *share);
/* Draws an index with the probabilities share[n], whose sum is 1. */
int64_t dt_sampling_draw(const double *share, int64_t n, dt_random *random);
/* Returns the logarithm of a token's probability under the model: temperature 1, no tokens
 * excluded. score: [n] the model's scores. */
double dt_sampling_log_probability(const double *score, int64_t n, int64_t token);

/* ---- generate.c ---- */

typedef struct dt_generator dt_generator;
typedef struct dt_generator_options {
    dt_model *model;  /* the model, whose variables have values; lent */
    dt_dataset *data; /* the data set, of format text, which the model was trained on; lent */
    const char *prompt;
    dt_sampling sampling;
    /* whether to compute the whole context for every token, without keeping keys and values */
    bool recomputes;
} dt_generator_options;

/* Checks that the data are text and that the model computes scores from tokens. Fails with
 * FIT_KEYS, located at `at`, if this is not so. `what` names the caller in messages:
 * "GenerateText". Files need not be open. */
dt_status *dt_generator_check(const dt_model_spec *model, const dt_dataset_spec *data,
                              const char *what, const dt_location *at) DT_MUST_USE;
/* Encodes the prompt. Fails with RANGE if the prompt has no tokens, or characters that the
 * vocabulary lacks. The caller closes *out, also after an error. */
dt_status *dt_generator_open(const dt_generator_options *o, dt_generator **out) DT_MUST_USE;
/* Compiles the model, if that has not been done; dt_generator_next does it when needed. */
dt_status *dt_generator_compile(dt_generator *g) DT_MUST_USE;
void dt_generator_close(dt_generator *g); /* closes a generator; g may be NULL */
/* Returns to the prompt, to generate another text with the random numbers `random`. The model's
 * weights may have changed since the last text. */
void dt_generator_restart(dt_generator *g, dt_random random);
/* Chooses the next token and appends it to the text. *log_probability (may be NULL) is set as by
 * dt_sampling_log_probability. */
dt_status *dt_generator_next(dt_generator *g, int32_t *token, double *log_probability) DT_MUST_USE;
/* Appends to `out` the text of the tokens [from, to), counted from the first token of the
 * prompt. */
void dt_generator_decode(const dt_generator *g, int64_t from, int64_t to, dt_str *out);
/* Returns the number of tokens of the prompt and the generated text together. */
int64_t dt_generator_tokens(const dt_generator *g);
/* Returns the name of the layer or op that makes it necessary to compute the whole context for
 * every token; NULL: there is none, the model is not compiled yet, or options.recomputes is set. */
const char *dt_generator_mixing(const dt_generator *g);

#endif
