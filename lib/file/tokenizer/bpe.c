/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Byte pair encoding (Sennrich, Haddow, Birch 2016). At first, each byte or character of a piece is
 * a token. The pair of neighbours whose merge has the lowest rank, and of equal ones the leftmost,
 * is replaced by one token, until there are no more pairs with a merge. A heap finds this pair, so
 * that a piece of n bytes takes n log n steps.
 */
#include <stdlib.h>
#include <string.h>

#include "file/tokenizer/tokenizer_impl.h"

enum { MOST_MERGES = 1 << 21, ON_STACK = 64 };

typedef struct merge {
    uint64_t pair; /* the two tokens to be merged: left << 32 | right */
    int32_t rank, token;
} merge;

typedef struct bpe {
    merge *merges; /* [mask + 1] a hash table with open addressing; rank -1: the slot is free */
    uint64_t mask;
    dt_siphash_key key;
    int32_t byte[256];     /* with ByteLevel: the token of each byte; -1: it has none */
    const char *suffix;    /* text that is appended to the last character of a piece; NULL: none */
    int32_t unknown;       /* the token for unknown characters; -1: these are left out */
    int32_t fallback[256]; /* with byte_fallback: the token "<0x..>" of each byte; else [0] is -1 */
    bool fuse_unknown, ignore_merges;
} bpe;

static merge *find_merge(const bpe *b, int32_t left, int32_t right) {
    const uint64_t pair = (uint64_t)left << 32 | (uint32_t)right;
    uint64_t i = dt_siphash(&b->key, &pair, sizeof pair) & b->mask;
    while (b->merges[i].rank >= 0 && b->merges[i].pair != pair) i = (i + 1) & b->mask;
    return &b->merges[i];
}

/* ---- one piece ---- */

typedef struct symbol {
    /* after, before: indices of the neighbours, -1: none; token -1: the symbol was merged into
     * another. */
    int32_t token, before, after;
} symbol;

typedef struct candidate {
    int32_t rank, at, token; /* merging symbol `at` with the next one yields `token` */
} candidate;

typedef struct work {
    const bpe *model;
    symbol *symbol;
    candidate *heap; /* a heap whose first element is the least */
    int n, n_heap;
} work;

static bool is_less(const candidate *a, const candidate *b) {
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static void push(work *w, int32_t at) {
    const int32_t right = at < 0 ? -1 : w->symbol[at].after;
    if (right < 0) return;
    const merge *m = find_merge(w->model, w->symbol[at].token, w->symbol[right].token);
    if (m->rank < 0) return;
    const candidate c = {m->rank, at, m->token};
    int i = w->n_heap++;
    for (; i > 0 && is_less(&c, &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
        w->heap[i] = w->heap[(i - 1) / 2];
    w->heap[i] = c;
}

static candidate pop(work *w) {
    const candidate least = w->heap[0], last = w->heap[--w->n_heap];
    int i = 0;
    for (int k; (k = 2 * i + 1) < w->n_heap; i = k) {
        k += k + 1 < w->n_heap && is_less(&w->heap[k + 1], &w->heap[k]);
        if (!is_less(&w->heap[k], &last)) break;
        w->heap[i] = w->heap[k];
    }
    w->heap[i] = last;
    return least;
}

/* Whether merging the two symbols of a candidate still yields the candidate's token. */
static bool holds(const work *w, const candidate *c) {
    const symbol *left = &w->symbol[c->at];
    if (left->token < 0 || left->after < 0) return false;
    const merge *m = find_merge(w->model, left->token, w->symbol[left->after].token);
    return m->rank >= 0 && m->token == c->token;
}

static void merge_all(work *w) {
    for (int i = 0; i < w->n; i++) {
        w->symbol[i].before = i - 1;
        w->symbol[i].after = i + 1 < w->n ? i + 1 : -1;
    }
    for (int i = 0; i < w->n; i++) push(w, i);
    while (w->n_heap > 0) {
        const candidate c = pop(w);
        if (!holds(w, &c)) continue;
        symbol *left = &w->symbol[c.at], *right = &w->symbol[left->after];
        left->token = c.token;
        left->after = right->after;
        right->token = -1;
        if (left->after >= 0) w->symbol[left->after].before = c.at;
        push(w, left->before);
        push(w, c.at);
    }
}

/* Returns the token of the last byte or character of a piece, together with the suffix; -1: there
 * is none. */
static int32_t last_token(const dt_tokenizer *t, const char *text, size_t n) {
    const bpe *b = t->made;
    dt_local_str last = {0};
    if (t->byte_level) dt_str_utf8(&last, dt_byte_level_code((unsigned char)*text));
    else dt_str_add(&last, text, n);
    dt_str_puts(&last, b->suffix);
    return dt_vocabulary_find(&t->vocabulary, dt_str_text(&last), last.size);
}

/* Returns the token of the byte or character at the front of a piece; -1: there is none. *size: its
 * number of bytes. */
static int32_t first_token(const dt_tokenizer *t, const char *piece, size_t n, size_t *size) {
    const bpe *b = t->made;
    uint32_t code;
    *size = t->byte_level ? 1 : dt_utf8_next(piece, n, &code);
    if (b->suffix && *size == n) return last_token(t, piece, n);
    return t->byte_level ? b->byte[(unsigned char)*piece]
                         : dt_vocabulary_find(&t->vocabulary, piece, *size);
}

/* Adds the tokens of the bytes of a character that has no token itself. With ByteLevel, these are
 * the one or two bytes of the character that stands for a byte. */
static void put_bytes(const dt_tokenizer *t, const char *text, size_t n, work *w) {
    const bpe *b = t->made;
    dt_local_str code = {0};
    if (t->byte_level) dt_str_utf8(&code, dt_byte_level_code((unsigned char)*text));
    else dt_str_add(&code, text, n);
    for (size_t i = 0; i < code.size; i++)
        w->symbol[w->n++].token = b->fallback[(unsigned char)code.data[i]];
}

static void begin(const dt_tokenizer *t, const char *piece, size_t n, work *w) {
    const bpe *b = t->made;
    bool was_unknown = false;
    for (size_t at = 0, size; at < n; at += size) {
        const int32_t token = first_token(t, piece + at, n - at, &size);
        if (token < 0 && b->fallback[0] >= 0) {
            put_bytes(t, piece + at, size, w);
            continue;
        }
        const bool is_unknown = token < 0, fused = is_unknown && was_unknown && b->fuse_unknown;
        if ((!is_unknown || b->unknown >= 0) && !fused)
            w->symbol[w->n++].token = is_unknown ? b->unknown : token;
        was_unknown = is_unknown;
    }
}

static int32_t whole_piece(const dt_tokenizer *t, const char *piece, size_t n) {
    dt_local_str text = {0};
    if (!t->byte_level) return dt_vocabulary_find(&t->vocabulary, piece, n);
    for (size_t i = 0; i < n; i++) dt_str_utf8(&text, dt_byte_level_code((unsigned char)piece[i]));
    return dt_vocabulary_find(&t->vocabulary, dt_str_text(&text), text.size);
}

static dt_status *encode(const dt_tokenizer *t, const char *piece, size_t n, dt_tokens *out) {
    const bpe *b = t->made;
    symbol few[ON_STACK];
    candidate few_candidates[3 * ON_STACK];
    work w = {.model = b, .symbol = few, .heap = few_candidates};
    const int32_t whole = b->ignore_merges && n <= DT_LONGEST_TOKEN ? whole_piece(t, piece, n) : -1;
    if (whole >= 0) {
        dt_tokens_add(out, whole);
        return NULL;
    }
    /* Upper limit of the number of symbols. */
    const size_t most = t->byte_level && b->fallback[0] >= 0 ? 2 * n : n;
    if (most > ON_STACK) {
        w.symbol = dt_try_alloc(most * sizeof *w.symbol);
        w.heap = dt_try_alloc(3 * most * sizeof *w.heap);
    }
    if (w.symbol && w.heap) {
        begin(t, piece, n, &w);
        merge_all(&w);
        for (int32_t i = w.n > 0 ? 0 : -1; i >= 0; i = w.symbol[i].after)
            dt_tokens_add(out, w.symbol[i].token);
    }
    const bool lacks = !w.symbol || !w.heap;
    if (most > ON_STACK) {
        free(w.symbol);
        free(w.heap);
    }
    return lacks ? dt_fail(DT_E_NO_MEMORY, NULL, "out of memory for a word of %zu bytes", n) : NULL;
}

/* ---- reading, and the model's row ---- */

/* Reads the two texts of a merge, "a b" or ["a", "b"], and joins them. *left: number of bytes of
 * the first. */
static dt_status *read_pair(dt_tokenizer_reader *r, dt_json_cursor *at, dt_str *out, size_t *left) {
    const dt_json_cursor begin = *at;
    const char *text;
    bool first = true;
    int n = 0;
    dt_str_clear(out);
    if (dt_json_peek(at) == '"') {
        DT_TRY(dt_tokenizer_text(r, *at, "a merge", &text));
        const char *blank = strchr(text, ' ');
        if (!blank || blank == text || !blank[1] || strchr(blank + 1, ' '))
            return dt_tokenizer_fail(r, &begin, "a merge must be two texts with a space between");
        *left = (size_t)(blank - text);
        dt_str_add(out, text, *left);
        dt_str_puts(out, blank + 1);
        dt_json_skip(at, 0);
        return NULL;
    }
    DT_TRY(dt_tokenizer_enter(r, at, "a merge", '['));
    for (; n < 3 && dt_json_more(at, ']', &first); n++) {
        dt_json_peek(at);
        DT_TRY(dt_tokenizer_text(r, *at, "a part of a merge", &text));
        dt_json_skip(at, 0);
        dt_str_puts(out, text);
        if (n == 0) *left = out->size;
    }
    return n == 2 ? NULL : dt_tokenizer_fail(r, &begin, "a merge must have two texts");
}

static dt_status *read_merge(dt_tokenizer_reader *r, dt_json_cursor *at, const dt_vocabulary *v,
                             bpe *b, int32_t rank, dt_str *pair) {
    const dt_json_cursor begin = *at;
    size_t left = 0;
    DT_TRY(read_pair(r, at, pair, &left));
    const char *text = dt_str_text(pair);
    const int32_t tokens[] = {dt_vocabulary_find(v, text, left),
                              dt_vocabulary_find(v, text + left, pair->size - left),
                              dt_vocabulary_find(v, text, pair->size)};
    for (int i = 0; i < 3; i++)
        if (tokens[i] < 0)
            return dt_tokenizer_fail(r, &begin, "'model.vocab' lacks %s of a merge to '%.60s'",
                                     i < 2 ? "a part" : "the result", text);
    merge *m = find_merge(b, tokens[0], tokens[1]);
    if (m->rank >= 0)
        return dt_tokenizer_fail(r, &begin, "the merge to '%.60s' is there twice", text);
    *m = (merge){(uint64_t)tokens[0] << 32 | (uint32_t)tokens[1], rank, tokens[2]};
    return NULL;
}

static dt_status *count_items(dt_tokenizer_reader *r, dt_json_cursor at, int64_t *n) {
    bool first = true;
    DT_TRY(dt_tokenizer_enter(r, &at, "model.merges", '['));
    for (*n = 0; dt_json_more(&at, ']', &first); ++*n)
        if (!dt_json_skip(&at, 0)) break;
    DT_TRY(dt_tokenizer_fault(r, &at));
    return *n <= MOST_MERGES ? NULL : dt_tokenizer_fail(r, &at, "more than %d merges", MOST_MERGES);
}

static dt_status *read_merges(dt_tokenizer_reader *r, dt_json_cursor at, const dt_vocabulary *v,
                              bpe *b) {
    int64_t n, slots = 16;
    bool first = true;
    dt_local_str pair = {0};
    dt_status *s = NULL;
    DT_TRY(count_items(r, at, &n));
    while (slots < 2 * n) slots *= 2;
    b->merges = dt_arena_array(r->arena, merge, slots);
    b->mask = (uint64_t)slots - 1;
    b->key = dt_siphash_process_key();
    for (int64_t i = 0; i < slots; i++) b->merges[i].rank = -1;
    DT_TRY(dt_tokenizer_enter(r, &at, "model.merges", '['));
    for (int32_t rank = 0; !s && dt_json_more(&at, ']', &first); rank++)
        s = read_merge(r, &at, v, b, rank, &pair);
    return s;
}

static dt_status *read_suffix(dt_tokenizer_reader *r, dt_json_cursor at, bool falls_back, bpe *b) {
    const char *text;
    if (!at.at) return NULL;
    DT_TRY(dt_tokenizer_text(r, at, "end_of_word_suffix", &text));
    if (!*text) return NULL;
    b->suffix = dt_arena_strdup(r->arena, text);
    return falls_back ? dt_tokenizer_fail(
                            r, &at, "'end_of_word_suffix' with byte_fallback is not supported")
                      : NULL;
}

static dt_status *read(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t) {
    bpe *b = dt_arena_new(r->arena, bpe);
    dt_json_cursor vocab, merges, unknown, suffix, fuse, ignore, fallback;
    bool falls_back = false;
    const char *text;
    const dt_tokenizer_key keys[] = {{"type", NULL, NULL},
                                     {"dropout", NULL, "null|0.0|0"},
                                     {"unk_token", &unknown, NULL},
                                     {"continuing_subword_prefix", NULL, "null|\"\""},
                                     {"end_of_word_suffix", &suffix, NULL},
                                     {"fuse_unk", &fuse, NULL},
                                     {"byte_fallback", &fallback, NULL},
                                     {"ignore_merges", &ignore, NULL},
                                     {"vocab", &vocab, NULL},
                                     {"merges", &merges, NULL},
                                     {0}};
    t->made = b;
    b->unknown = -1;
    DT_TRY(dt_tokenizer_object(r, at, "model", keys));
    DT_TRY(dt_vocabulary_read(r, vocab, &t->vocabulary));
    DT_TRY(read_merges(r, merges, &t->vocabulary, b));
    DT_TRY(dt_tokenizer_bool(r, fuse, "fuse_unk", &b->fuse_unknown));
    DT_TRY(dt_tokenizer_bool(r, ignore, "ignore_merges", &b->ignore_merges));
    DT_TRY(dt_tokenizer_bool(r, fallback, "byte_fallback", &falls_back));
    DT_TRY(read_suffix(r, suffix, falls_back, b));
    DT_TRY(dt_vocabulary_bytes(r, fallback, &t->vocabulary, falls_back, b->fallback));
    for (int i = 0; i < 256; i++) {
        dt_local_str code = {0};
        dt_str_utf8(&code, dt_byte_level_code((unsigned char)i));
        b->byte[i] = dt_vocabulary_find(&t->vocabulary, dt_str_text(&code), code.size);
    }
    if (!unknown.at) return NULL;
    DT_TRY(dt_tokenizer_text(r, unknown, "unk_token", &text));
    b->unknown = dt_vocabulary_find(&t->vocabulary, text, strlen(text));
    return b->unknown >= 0
               ? NULL
               : dt_tokenizer_fail(r, &unknown, "'model.vocab' lacks the unk_token '%.60s'", text);
}

const dt_token_model dt_token_bpe = {"BPE", read, encode};
