/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokenizers convert text to numbers of tokens and back, as described by a file tokenizer.json,
 * which the Python package `tokenizers` writes. A text takes these steps:
 *
 *     added tokens     parts of the text that are tokens as they stand, "<|endoftext|>"
 *     normalizer       changes the rest: lower case, no accents
 *     pre-tokenizer    splits it into pieces
 *     model            BPE, WordPiece, Unigram or WordLevel: a piece to tokens
 *     post-processor   adds tokens before and after: [CLS] ... [SEP]
 *
 * If a file needs something that is not implemented, reading fails with its location. The settings
 * that are ignored are those that do not affect tokens, and the lengths to which texts are cut and
 * padded, which the job sets.
 */
#ifndef DT_FILE_TOKENIZER_TOKENIZER_H
#define DT_FILE_TOKENIZER_TOKENIZER_H

#include "base/arena.h"
#include "base/str.h"

typedef struct dt_tokenizer dt_tokenizer;

/* Tokens of texts: v has n of them; the caller frees it. */
typedef struct dt_tokens {
    int32_t *v;
    int64_t n, cap;
} dt_tokens;
void dt_tokens_add(dt_tokens *out, int32_t token);

/* Reads a tokenizer.json into the arena. Error DATA_FILE: the file is not a tokenizer, or needs
 * something that is not implemented. Error PLUGIN: something that the file needs is missing or of
 * another version: libpcre2-8, which splits text, libunistring, for normalization forms, or the C
 * library's locale C.UTF-8, for lower case. */
dt_status *dt_tokenizer_read(dt_arena *arena, const char *path,
                             const dt_tokenizer **out) DT_MUST_USE;
/* Returns the limit of tokens' numbers: all are in [0, size). */
int64_t dt_tokenizer_size(const dt_tokenizer *t);
/* Appends the tokens of a text, without those of the post-processor. A byte that is not UTF-8 is
 * treated as U+FFFD. Error RANGE: the pattern of the file needs too many steps, its normalizer
 * makes the text too long, or its model has no token for a part of the text. Any thread may call
 * it. */
dt_status *dt_tokenizer_encode(const dt_tokenizer *t, const char *text, size_t n,
                               dt_tokens *out) DT_MUST_USE;
/* Writes exactly `length` numbers: the tokens of a text, cut off if there are too many, with those
 * of the post-processor before and after them, and padding. length: at least dt_tokenizer_ends.
 * After an error, as for dt_tokenizer_encode, all numbers are padding. */
dt_status *dt_tokenizer_fill(const dt_tokenizer *t, const char *text, int64_t length,
                             int32_t *out) DT_MUST_USE;
/* Returns the number of tokens that the post-processor adds, at both ends together. */
int64_t dt_tokenizer_ends(const dt_tokenizer *t);
/* Appends the text of a token as the file's decoder writes it, or U+FFFD if no token has that
 * number. first: the token is the first of a text. Tokens of bytes may end within a character. */
void dt_tokenizer_decode(const dt_tokenizer *t, int32_t token, bool first, dt_str *out);

#endif
