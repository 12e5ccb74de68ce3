/* SPDX-License-Identifier: Apache-2.0 */
/* WordPiece divides a word into the longest token at its front, then the longest one that continues
 * it ("##ing"), and so on. A word that cannot be divided in this way, or has too many characters,
 * becomes one unknown token. */
#include <string.h>

#include "file/tokenizer/tokenizer_impl.h"

/* Limits, since tokens of every length are tried at each position of a word. */
enum { MOST_CHARACTERS = 10000, LONGEST = 512 };

typedef struct word_piece {
    int32_t unknown;
    int64_t most_characters;
    size_t longest; /* number of bytes of the longest token */
    const char *prefix;
} word_piece;

/* Returns the longest token at the front of the text; -1: none. *size: number of bytes of the text
 * that it covers. continues: the text is not the beginning of a word, so the token has the prefix
 * ("##"), which *size does not count. */
static int32_t longest_token(const dt_tokenizer *t, const char *text, size_t n, bool continues,
                             size_t *size) {
    const word_piece *m = t->made;
    dt_local_str word = {0};
    int32_t token = -1;
    const size_t prefix = continues ? strlen(m->prefix) : 0;
    *size = 0;
    if (m->longest <= prefix) return token;
    *size = n < m->longest - prefix ? n : m->longest - prefix;
    dt_str_add(&word, m->prefix, prefix);
    dt_str_add(&word, text, *size);
    for (; token < 0 && *size > 0; *size -= token < 0)
        if (*size == n || ((unsigned char)text[*size] & 0xc0) != 0x80)
            token = dt_vocabulary_find(&t->vocabulary, word.data, prefix + *size);
    return token;
}

static dt_status *encode(const dt_tokenizer *t, const char *piece, size_t n, dt_tokens *out) {
    const word_piece *m = t->made;
    const int64_t before = out->n;
    bool is_known = dt_utf8_count(piece, n) <= (size_t)m->most_characters;
    for (size_t at = 0, size; is_known && at < n; at += size) {
        const int32_t token = longest_token(t, piece + at, n - at, at > 0, &size);
        is_known = token >= 0;
        if (is_known) dt_tokens_add(out, token);
    }
    if (is_known) return NULL;
    out->n = before;
    dt_tokens_add(out, m->unknown);
    return NULL;
}

static dt_status *read(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t) {
    word_piece *m = dt_arena_new(r->arena, word_piece);
    dt_json_cursor vocab, unknown, prefix, most;
    const char *text;
    const dt_tokenizer_key keys[] = {{"type", NULL, NULL},
                                     {"unk_token", &unknown, NULL},
                                     {"continuing_subword_prefix", &prefix, NULL},
                                     {"max_input_chars_per_word", &most, NULL},
                                     {"vocab", &vocab, NULL},
                                     {0}};
    t->made = m;
    m->most_characters = 100;
    DT_TRY(dt_tokenizer_object(r, at, "model", keys));
    DT_TRY(dt_vocabulary_read(r, vocab, &t->vocabulary));
    DT_TRY(dt_tokenizer_int(r, most, "max_input_chars_per_word", MOST_CHARACTERS,
                            &m->most_characters));
    DT_TRY(dt_tokenizer_text(r, prefix, "continuing_subword_prefix", &text));
    t->continues = m->prefix = dt_arena_strdup(r->arena, text);
    t->cleans_up = true;
    for (int32_t i = 0; i < t->vocabulary.size; i++)
        if (t->vocabulary.length[i] > m->longest) m->longest = t->vocabulary.length[i];
    if (m->longest > LONGEST)
        return dt_tokenizer_fail(r, &vocab, "a token of more than %d bytes", LONGEST);
    DT_TRY(dt_tokenizer_text(r, unknown, "unk_token", &text));
    m->unknown = dt_vocabulary_find(&t->vocabulary, text, strlen(text));
    return m->unknown >= 0
               ? NULL
               : dt_tokenizer_fail(r, &unknown, "'model.vocab' lacks the unk_token '%.60s'", text);
}

const dt_token_model dt_token_word_piece = {"WordPiece", read, encode};
