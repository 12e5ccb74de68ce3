/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unigram (Kudo 2018): each token has a score, the logarithm of how likely it is. Of all ways to
 * divide a piece, the one with the highest sum of scores is taken (Viterbi). A character without a
 * token scores 10 less than the least likely token. Adjacent ones become the token of their whole
 * text, if there is one; else one unknown token or, with byte_fallback, one token per byte
 * ("<0x0A>").
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "file/tokenizer/tokenizer_impl.h"

enum { MOST_NODES = 1 << 22, LONGEST_PIECE = 512 };
#define UNKNOWN_PENALTY 10.0

/* An edge of the trie of all tokens: from a node, by a byte, to another node. */
typedef struct edge {
    uint64_t from; /* number of the node, and the byte: node << 8 | byte */
    int32_t to;    /* number of the node that the edge leads to; 0: the slot is free */
    int32_t token; /* the token that ends at node `to`; -1: none */
} edge;

typedef struct unigram {
    double *score; /* [tokens of the model] the score of each token */
    edge *edges;   /* [mask + 1] a hash table with open addressing */
    uint64_t mask;
    dt_siphash_key key;
    double unknown_score;
    int32_t unknown; /* the unknown token; -1: none */
    /* The token of each byte; byte[0] is -1 without byte_fallback. */
    int32_t byte[256];
} unigram;

static edge *find_edge(const unigram *u, int32_t node, unsigned char byte) {
    const uint64_t from = (uint64_t)node << 8 | byte;
    uint64_t i = dt_siphash(&u->key, &from, sizeof from) & u->mask;
    while (u->edges[i].to && u->edges[i].from != from) i = (i + 1) & u->mask;
    return &u->edges[i];
}

/* ---- one piece ---- */

/* The best division of the text up to a byte: its score, and its last token. */
typedef struct way {
    double score;
    /* Position where the last token begins; -1: the text up to here cannot be divided. */
    int64_t from;
    int32_t token;
} way;

static void offer(way *to, double score, int64_t from, int32_t token) {
    if (to->from < 0 || score > to->score) *to = (way){score, from, token};
}

static void walk(const unigram *u, const char *piece, size_t n, way *ways) {
    uint32_t code;
    for (size_t at = 0, size; at < n; at += size) {
        bool is_known = false;
        size = dt_utf8_next(piece + at, n - at, &code);
        int32_t node = 0;
        for (size_t end = at; end < n;) {
            const edge *e = find_edge(u, node, (unsigned char)piece[end++]);
            if (!e->to) break;
            node = e->to;
            if (e->token < 0) continue;
            offer(&ways[end], u->score[e->token] + ways[at].score, (int64_t)at, e->token);
            is_known |= end - at == size;
        }
        if (!is_known)
            offer(&ways[at + size], u->unknown_score + ways[at].score, (int64_t)at, u->unknown);
    }
}

/* Adds the tokens of adjacent characters none of which has a token itself: the token of their whole
 * text, if there is one; else with byte_fallback the tokens of their bytes, without it the unknown
 * token (-1 if there is none). */
static void add_unknown(const dt_tokenizer *t, const char *text, size_t n, dt_tokens *out) {
    const unigram *u = t->made;
    const int32_t whole = dt_vocabulary_find(&t->vocabulary, text, n);
    if (whole >= 0 || u->byte[0] < 0) dt_tokens_add(out, whole >= 0 ? whole : u->unknown);
    else
        for (size_t i = 0; i < n; i++) dt_tokens_add(out, u->byte[(unsigned char)text[i]]);
}

/* Adds the tokens of the best division. Follows it back from the end first, and reverses its
 * links. */
static void add_path(const dt_tokenizer *t, const char *piece, size_t n, way *ways,
                     dt_tokens *out) {
    const unigram *u = t->made;
    int64_t next = -1;
    for (int64_t at = (int64_t)n; at > 0;) {
        const int64_t from = ways[at].from;
        ways[at].from = next; /* position where the next token ends; -1: this is the last one */
        next = at;
        at = from;
    }
    for (int64_t from = 0, at = next; at >= 0;) {
        const int32_t token = ways[at].token;
        int64_t end = at;
        while (token == u->unknown && ways[end].from >= 0 &&
               ways[ways[end].from].token == u->unknown)
            end = ways[end].from;
        if (token == u->unknown) add_unknown(t, piece + from, (size_t)(end - from), out);
        else dt_tokens_add(out, token);
        from = end;
        at = ways[end].from;
    }
}

static dt_status *encode(const dt_tokenizer *t, const char *piece, size_t n, dt_tokens *out) {
    const unigram *u = t->made;
    way *ways = dt_try_alloc((n + 1) * sizeof *ways);
    if (!ways) return dt_fail(DT_E_NO_MEMORY, NULL, "out of memory for a piece of %zu bytes", n);
    for (size_t i = 0; i <= n; i++) ways[i] = (way){0, -1, 0};
    walk(u, piece, n, ways);
    const int64_t before = out->n;
    add_path(t, piece, n, ways, out);
    free(ways);
    for (int64_t i = before; i < out->n; i++)
        if (out->v[i] < 0)
            return dt_fail(DT_E_RANGE, NULL,
                           "%s: a text has a character without a token, and "
                           "'model.unk_id' is null",
                           t->path);
    return NULL;
}

/* ---- reading, and the model's row ---- */

/* Reads [text, score] and leaves the text in r->text. */
static dt_status *read_piece(dt_tokenizer_reader *r, dt_json_cursor at, double *score) {
    const dt_json_cursor begin = at;
    char number[DT_JSON_LONGEST_NUMBER + 1];
    const char *text;
    bool first = true, good = false;
    DT_TRY(dt_tokenizer_enter(r, &at, "a token of model.vocab", '['));
    if (dt_json_more(&at, ']', &first)) {
        dt_json_peek(&at);
        DT_TRY(dt_tokenizer_text(r, at, "a token of model.vocab", &text));
        dt_json_skip(&at, 0);
        good = dt_json_more(&at, ']', &first) && strchr("-0123456789", dt_json_peek(&at)) &&
               dt_json_read_number(&at, number) && dt_parse_double(number, score) &&
               isfinite(*score) && !dt_json_more(&at, ']', &first) && !at.fault;
    }
    return good ? NULL
                : dt_tokenizer_fail(r, &begin,
                                    "a token of 'model.vocab' must be a text and its "
                                    "score");
}

static dt_status *count(dt_tokenizer_reader *r, dt_json_cursor at, int64_t *n, int64_t *bytes) {
    const dt_json_cursor begin = at;
    double score;
    bool first = true;
    *n = *bytes = 0;
    DT_TRY(dt_tokenizer_enter(r, &at, "model.vocab", '['));
    for (; dt_json_more(&at, ']', &first); ++*n) {
        dt_json_peek(&at);
        DT_TRY(read_piece(r, at, &score));
        if (r->text.size == 0 || r->text.size > LONGEST_PIECE)
            return dt_tokenizer_fail(r, &at, "a token must have 1 to %d bytes", LONGEST_PIECE);
        *bytes += (int64_t)r->text.size;
        dt_json_skip(&at, 0);
    }
    if (*n == 0 || *n > DT_MOST_TOKENS || *bytes >= MOST_NODES)
        return dt_tokenizer_fail(r, &begin,
                                 "'model.vocab' must have 1 to %d tokens with less than "
                                 "%d bytes in all",
                                 DT_MOST_TOKENS, MOST_NODES);
    return NULL;
}

static void add_to_trie(unigram *u, const char *text, size_t n, int32_t token, int32_t *nodes) {
    edge *e = NULL;
    for (size_t i = 0; i < n; i++) {
        const int32_t node = e ? e->to : 0;
        e = find_edge(u, node, (unsigned char)text[i]);
        if (!e->to) *e = (edge){(uint64_t)node << 8 | (unsigned char)text[i], ++*nodes, -1};
    }
    if (e) e->token = token;
}

static dt_status *read_vocabulary(dt_tokenizer_reader *r, dt_json_cursor at, dt_vocabulary *v,
                                  unigram *u) {
    int64_t n, bytes, slots = 16;
    int32_t nodes = 0;
    double least = INFINITY;
    bool first = true;
    DT_TRY(count(r, at, &n, &bytes));
    while (slots < 2 * bytes) slots *= 2;
    u->edges = dt_arena_array(r->arena, edge, slots);
    u->mask = (uint64_t)slots - 1;
    u->key = dt_siphash_process_key();
    u->score = dt_arena_array(r->arena, double, n);
    dt_vocabulary_create(r->arena, n, n, v);
    DT_TRY(dt_tokenizer_enter(r, &at, "model.vocab", '['));
    for (int32_t i = 0; dt_json_more(&at, ']', &first); i++) {
        dt_json_peek(&at);
        DT_TRY(read_piece(r, at, &u->score[i]));
        DT_TRY(dt_vocabulary_add(r, &at, v, i));
        add_to_trie(u, v->text[i], v->length[i], i, &nodes);
        if (u->score[i] < least) least = u->score[i];
        dt_json_skip(&at, 0);
    }
    u->unknown_score = least - UNKNOWN_PENALTY;
    return NULL;
}

static dt_status *read(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t) {
    unigram *u = dt_arena_new(r->arena, unigram);
    dt_json_cursor vocab, unknown, fallback;
    int64_t token = -1;
    bool falls_back = false;
    const dt_tokenizer_key keys[] = {{"type", NULL, NULL},
                                     {"unk_id", &unknown, NULL},
                                     {"vocab", &vocab, NULL},
                                     {"byte_fallback", &fallback, NULL},
                                     {0}};
    t->made = u;
    DT_TRY(dt_tokenizer_object(r, at, "model", keys));
    DT_TRY(read_vocabulary(r, vocab, &t->vocabulary, u));
    DT_TRY(dt_tokenizer_int(r, unknown, "unk_id", t->vocabulary.size - 1, &token));
    DT_TRY(dt_tokenizer_bool(r, fallback, "byte_fallback", &falls_back));
    u->unknown = (int32_t)token;
    return dt_vocabulary_bytes(r, fallback, &t->vocabulary, falls_back, u->byte);
}

const dt_token_model dt_token_unigram = {"Unigram", read, encode};
