/* SPDX-License-Identifier: Apache-2.0 */
/* WordLevel: each piece is one token, or the unknown one. */
#include <string.h>

#include "file/tokenizer/tokenizer_impl.h"

typedef struct word_level {
    /* The token of unknown pieces; -1: the vocabulary lacks unk_token, and an unknown piece is an
     * error. */
    int32_t unknown;
} word_level;

static dt_status *encode(const dt_tokenizer *t, const char *piece, size_t n, dt_tokens *out) {
    const word_level *m = t->made;
    int32_t token = dt_vocabulary_find(&t->vocabulary, piece, n);
    if (token < 0) token = m->unknown;
    if (token < 0)
        return dt_fail(DT_E_RANGE, NULL, "'model.vocab' lacks the unk_token and the word '%.*s'",
                       n > 40 ? 40 : (int)n, piece);
    dt_tokens_add(out, token);
    return NULL;
}

static dt_status *read(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t) {
    word_level *m = dt_arena_new(r->arena, word_level);
    dt_json_cursor vocab, unknown;
    const char *text;
    const dt_tokenizer_key keys[] = {
        {"type", NULL, NULL}, {"unk_token", &unknown, NULL}, {"vocab", &vocab, NULL}, {0}};
    t->made = m;
    DT_TRY(dt_tokenizer_object(r, at, "model", keys));
    DT_TRY(dt_vocabulary_read(r, vocab, &t->vocabulary));
    DT_TRY(dt_tokenizer_text(r, unknown, "unk_token", &text));
    m->unknown = dt_vocabulary_find(&t->vocabulary, text, strlen(text));
    return NULL;
}

const dt_token_model dt_token_word_level = {"WordLevel", read, encode};
