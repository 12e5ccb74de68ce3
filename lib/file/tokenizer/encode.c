/* SPDX-License-Identifier: Apache-2.0 */
/* Converts texts to tokens. The parts of a tokenizer are applied one after the other. Each part
 * passes every piece to the next part at once, so that lists of pieces are not needed. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "file/tokenizer/tokenizer_impl.h"

enum { REPLACEMENT_CHARACTER = 0xfffd };

void dt_tokens_add(dt_tokens *out, int32_t token) {
    if (out->n == out->cap) {
        out->cap = out->cap ? 2 * out->cap : 64;
        out->v = dt_realloc(out->v, dt_size_mul((size_t)out->cap, sizeof *out->v));
    }
    out->v[out->n++] = token;
}

/* ---- words ---- */

static bool is_cached(const dt_cached_word *c, const char *word, size_t n) {
    return c->size == n && memcmp(c->word, word, n) == 0;
}

static void cache_word(dt_cached_word *c, const char *word, size_t n, const dt_tokens *tokens,
                       int64_t from) {
    const int64_t made = tokens->n - from;
    if (made > (int64_t)(sizeof c->token / sizeof *c->token)) return;
    c->size = (uint8_t)n;
    c->n = (uint8_t)made;
    memcpy(c->word, word, n);
    if (made > 0) memcpy(c->token, tokens->v + from, (size_t)made * sizeof *c->token);
}

static dt_status *encode_word(const dt_tokenizer *t, const char *word, size_t n, dt_tokens *out) {
    const int64_t from = out->n;
    dt_status *s = NULL;
    if (n == 0 || n > sizeof t->cache->word) return t->model->encode(t, word, n, out);
    dt_cached_word *c = &t->cache[dt_siphash(&t->vocabulary.key, word, n) & (DT_CACHED_WORDS - 1)];
    if (atomic_flag_test_and_set_explicit(&c->in_use, memory_order_acquire))
        return t->model->encode(t, word, n, out);
    if (is_cached(c, word, n))
        for (int i = 0; i < c->n; i++) dt_tokens_add(out, c->token[i]);
    else {
        s = t->model->encode(t, word, n, out);
        if (!s) cache_word(c, word, n, out, from);
    }
    atomic_flag_clear_explicit(&c->in_use, memory_order_release);
    return s;
}

/* ---- pre-tokenizer ---- */

typedef struct stage {
    const dt_tokenizer *t;
    dt_tokens *out;
    int i; /* index of the next stage */
    /* The piece at the beginning of the whole text; NULL: it is not among the pieces of this
     * stage. */
    const char *begin;
    /* A stretch (a match or a gap) to which the next stretch may be joined; NULL: none. */
    const char *open;
    const char *end; /* the end of the piece that is being split */
} stage;

static dt_status *split(const stage *s, const char *text, size_t n);

/* Joins two neighbouring stretches of a text: a gap and the match after it, or a match and the gap
 * after it. */
static dt_status *join(stage *s, const char *text, size_t n, bool is_second) {
    const char *from = s->open ? s->open : text;
    s->open = NULL;
    if (!is_second && from < text) DT_TRY(split(s, from, (size_t)(text - from)));
    if (!is_second) from = text;
    if (is_second || text + n == s->end) return split(s, from, (size_t)(text + n - from));
    s->open = text;
    return NULL;
}

static dt_status *see(void *user, const char *text, size_t n, bool is_match) {
    stage *s = user;
    const dt_splitter *by = &s->t->split[s->i - 1];
    if (by->joins_before || by->joins_after) return join(s, text, n, is_match == by->joins_before);
    return (is_match ? by->drops_matches : by->drops_gaps) ? NULL : split(s, text, n);
}

/* Appends the prefix and the piece, with its spaces replaced. The prefix is left out if the changed
 * piece begins with it. */
static void change(const dt_splitter *by, const char *first, const char *text, size_t n,
                   dt_str *out) {
    const size_t prefix = strlen(first);
    dt_str_puts(out, first);
    for (size_t i = 0; i < n; i++)
        if (text[i] == ' ' && by->blank) dt_str_puts(out, by->blank);
        else dt_str_putc(out, text[i]);
    if (out->size >= 2 * prefix && memcmp(out->data, out->data + prefix, prefix) == 0) {
        out->size -= prefix;
        memmove(out->data, out->data + prefix, out->size + 1);
    }
}

static dt_status *split(const stage *s, const char *text, size_t n) {
    if (n == 0) return NULL;
    if (s->i == s->t->n_splits) return encode_word(s->t, text, n, s->out);
    const dt_splitter *by = &s->t->split[s->i];
    const bool begins = text == s->begin;
    dt_local_str changed = {0};
    if (by->prefix) {
        change(by, by->prefixes_once && !begins ? "" : by->prefix, text, n, &changed);
        text = changed.data;
        n = changed.size;
    }
    stage next = {
        .t = s->t, .out = s->out, .i = s->i + 1, .begin = begins ? text : NULL, .end = text + n};
    return by->pattern ? dt_regex_split(by->pattern, text, n, see, &next) : split(&next, text, n);
}

/* ---- added tokens, blanks around them, and the text between ---- */

/* Returns the index of the first of the tokens [from, to) whose byte k is at least `byte`; `to`:
 * there is none. All of them have the same first k bytes. */
static int find_byte(const dt_added_tokens *a, int from, int to, size_t k, int byte) {
    while (from < to) {
        const int half = (from + to) / 2;
        if ((unsigned char)a->v[half].text[k] < byte) from = half + 1;
        else to = half;
    }
    return from;
}

/* Returns the longest added token at the front of the text; NULL: none. */
static const dt_added_token *added_at(const dt_added_tokens *a, const char *text, size_t n) {
    const dt_added_token *longest = NULL;
    int from = a->from[(unsigned char)*text], to = a->from[(unsigned char)*text + 1];
    for (size_t k = 1; from < to; k++) {
        if ((size_t)a->v[from].size == k) longest = &a->v[from];
        if (k == n) break;
        from = find_byte(a, from, to, k, (unsigned char)text[k]);
        to = find_byte(a, from, to, k, (unsigned char)text[k] + 1);
    }
    return longest;
}

bool dt_is_blank(uint32_t c) {
    return c == ' ' || (c >= '\t' && c <= '\r') || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
           c == 0x205f || c == 0x3000;
}

/* Returns the number of bytes of the last character of a text of n bytes, which is not empty. */
static size_t last_size(const char *text, size_t n) {
    size_t size = 1;
    while (size < n && size < 4 && ((unsigned char)text[n - size] & 0xc0) == 0x80) size++;
    return size;
}

size_t dt_blank_before(const char *text, size_t n) {
    const size_t size = last_size(text, n);
    uint32_t code;
    return n > 0 && dt_utf8_next(text + n - size, size, &code) && dt_is_blank(code) ? size : 0;
}

size_t dt_blank_after(const char *text, size_t n) {
    uint32_t code;
    const size_t size = n > 0 ? dt_utf8_next(text, n, &code) : 0;
    return size && dt_is_blank(code) ? size : 0;
}

static dt_status *see_word(void *is_word, const char *text, size_t n, bool matches) {
    (void)text, (void)n;
    *(bool *)is_word |= matches;
    return NULL;
}

/* Sets *joins to whether the token x at `at` has a letter or another character of words before or
 * after it. */
static dt_status *joins_word(const dt_tokenizer *t, dt_bytes in, size_t at, const dt_added_token *x,
                             bool *joins) {
    const char *text = in.data;
    const size_t end = at + (size_t)x->size, before = at ? last_size(text, at) : 0;
    uint32_t code;
    *joins = false;
    if (before) DT_TRY(dt_regex_split(t->word, text + at - before, before, see_word, joins));
    const size_t after = end < in.n ? dt_utf8_next(text + end, in.n - end, &code) : 0;
    return after ? dt_regex_split(t->word, text + end, after, see_word, joins) : NULL;
}

/* A function that handles a stretch of text without added tokens, before, between or after them.
 * begins: it is at the beginning of the whole text. */
typedef dt_status *see_gap(const dt_tokenizer *t, dt_bytes gap, bool begins, dt_tokens *out);

static see_gap normalize, pre_tokenize;

/* Appends the tokens of a text: its added tokens, and the tokens of the text between them. */
static dt_status *find_added(const dt_tokenizer *t, const dt_added_tokens *a, dt_bytes in,
                             bool begins, dt_tokens *out) {
    see_gap *const gap = a == &t->raw ? normalize : pre_tokenize;
    const char *text = in.data;
    size_t done = 0, step;
    for (size_t at = 0; a->n > 0 && at < in.n; at += step) {
        const dt_added_token *x = added_at(a, text + at, in.n - at);
        size_t end = at;
        bool joins = false;
        step = 1;
        if (!x) continue;
        if (x->single_word) DT_TRY(joins_word(t, in, at, x, &joins));
        if (joins) {
            step = (size_t)x->size;
            continue;
        }
        for (size_t b; x->lstrip && (b = dt_blank_before(text + done, end - done)) > 0;) end -= b;
        if (end > done)
            DT_TRY(gap(t, (dt_bytes){text + done, end - done}, begins && done == 0, out));
        dt_tokens_add(out, x->token);
        done = at + (size_t)x->size;
        for (size_t b; x->rstrip && (b = dt_blank_after(text + done, in.n - done)) > 0;) done += b;
        step = done - at;
    }
    return done < in.n ? gap(t, (dt_bytes){text + done, in.n - done}, begins && done == 0, out)
                       : NULL;
}

static dt_status *pre_tokenize(const dt_tokenizer *t, dt_bytes gap, bool begins, dt_tokens *out) {
    return split(&(stage){.t = t, .out = out, .begin = begins ? gap.data : NULL}, gap.data, gap.n);
}

static dt_status *normalize(const dt_tokenizer *t, dt_bytes gap, bool begins, dt_tokens *out) {
    dt_local_str changed = {0};
    if (t->normalizer.n == 0) return find_added(t, &t->normalized, gap, begins, out);
    DT_TRY(dt_normalize(&t->normalizer, gap.data, gap.n, &changed));
    return find_added(t, &t->normalized, (dt_bytes){dt_str_text(&changed), changed.size}, begins,
                      out);
}

/* ---- texts ---- */

/* Copies a text with U+FFFD in place of each byte that is not UTF-8. */
static void repair(const char *text, size_t n, dt_str *out) {
    uint32_t code;
    for (size_t at = 0, size; at < n; at += size ? size : 1) {
        size = dt_utf8_next(text + at, n - at, &code);
        if (size) dt_str_add(out, text + at, size);
        else dt_str_utf8(out, REPLACEMENT_CHARACTER);
    }
}

dt_status *dt_tokenizer_encode(const dt_tokenizer *t, const char *text, size_t n, dt_tokens *out) {
    dt_local_str valid = {0};
    if (dt_text_valid(text, n) < n) {
        repair(text, n, &valid);
        text = dt_str_text(&valid);
        n = valid.size;
    }
    return find_added(t, &t->raw, (dt_bytes){text, n}, true, out);
}

dt_status *dt_tokenizer_fill(const dt_tokenizer *t, const char *text, int64_t length,
                             int32_t *out) {
    dt_tokens tokens = {0};
    const int64_t room = length - dt_tokenizer_ends(t);
    dt_status *s = dt_tokenizer_encode(t, text, strlen(text), &tokens);
    if (tokens.n > room) tokens.n = room;
    const int64_t used = tokens.n + dt_tokenizer_ends(t), from = t->pad_left ? length - used : 0;
    for (int64_t i = 0; i < length; i++) out[i] = t->pad;
    if (!s) {
        const dt_tokens *const parts[] = {&t->before, &tokens, &t->after};
        for (int64_t k = 0, at = from; k < 3; at += parts[k++]->n)
            if (parts[k]->n > 0) memcpy(out + at, parts[k]->v, (size_t)parts[k]->n * sizeof *out);
    }
    free(tokens.v);
    return s;
}

/* ---- bytes represented by characters ---- */

static bool is_printable(int b) {
    return (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || (b >= 0xae && b <= 0xff);
}

uint32_t dt_byte_level_code(unsigned char byte) {
    uint32_t others = 0;
    if (is_printable(byte)) return byte;
    for (int b = 0; b < byte; b++) others += !is_printable(b);
    return 256 + others;
}
