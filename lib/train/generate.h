/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generating text with a language model, for the callback GenerateText and for dt_job_generate:
 *
 *     context, at most T tokens  ── model ──▶  scores of the next token  ── sampling ──▶  a token
 *
 * T is the length of the sequences that the model was trained with. When a context has T tokens,
 * its older half is dropped before the next one is generated.
 */
#ifndef DT_TRAIN_GENERATE_H
#define DT_TRAIN_GENERATE_H

#include "base/random.h"
#include "file/tokenizer/tokenizer.h"
#include "train/train.h"

/* ---- sampling ---- */

/* Options that do nothing are 1 for temperature and top_p, and 0 for top_k. */
typedef struct dt_sampling {
    double temperature; /* divides the scores; 0: always the likeliest token */
    int64_t top_k;      /* only the k likeliest tokens; 0: all */
    /* keeps the fewest likeliest tokens that have at least this share of the probability of those
     * that top_k keeps */
    double top_p;
} dt_sampling;
/* share[n] receives each token's probability of being drawn; equal scores count in the order of
 * tokens. Infinite scores: +infinity is not supported, -infinity has probability 0. */
void dt_sampling_shares(const dt_sampling *s, const double *score, int64_t n, double *share);
/* Draws an index with these probabilities. */
int64_t dt_sampling_draw(const double *share, int64_t n, dt_random *random);
/* The logarithm of a token's probability under the model: temperature 1, no tokens excluded. */
double dt_sampling_log_probability(const double *score, int64_t n, int64_t token);

/* ---- generate.c ---- */

typedef struct dt_generator dt_generator;
typedef struct dt_generator_options {
    dt_model *model;  /* the model, whose variables exist; lent */
    dt_dataset *data; /* data set of format text; lent */
    const char *prompt;
    dt_sampling sampling;
    /* recomputes the whole context for every token, without keeping keys and values */
    bool recomputes;
} dt_generator_options;

/* Checks that the data are text and that the model computes scores from tokens. Fails with
 * FIT_KEYS, located at `at`, if this is not so. `what` names the caller in messages:
 * "GenerateText". Files need not be open. */
dt_status *dt_generator_check(const dt_model_spec *model, const dt_dataset_spec *data,
                              const char *what, const dt_location *at) DT_MUST_USE;
/* Encodes the prompt. Fails with RANGE if it has no tokens, or characters that the vocabulary
 * lacks. *out is to be closed also after an error. */
dt_status *dt_generator_open(const dt_generator_options *o, dt_generator **out) DT_MUST_USE;
/* Compiles the model, unless that is done already; dt_generator_next does so when it must. */
dt_status *dt_generator_compile(dt_generator *g) DT_MUST_USE;
void dt_generator_close(dt_generator *g); /* g may be NULL */
/* Returns to the prompt, to generate another text with the random numbers `random`. The model's
 * weights may have changed since the last text. */
void dt_generator_restart(dt_generator *g, dt_random random);
/* Appends a token. *log_probability (may be NULL): see dt_sampling_log_probability. */
dt_status *dt_generator_next(dt_generator *g, int32_t *token, double *log_probability) DT_MUST_USE;
/* Appends the text of the tokens [from, to), counted from the prompt's first. */
void dt_generator_decode(const dt_generator *g, int64_t from, int64_t to, dt_str *out);
/* number of tokens of prompt and generated text together */
int64_t dt_generator_tokens(const dt_generator *g);
/* The name of the layer or op because of which every token computes its whole context; NULL: there
 * is none, or the model is not compiled yet. */
const char *dt_generator_mixing(const dt_generator *g);

#endif
