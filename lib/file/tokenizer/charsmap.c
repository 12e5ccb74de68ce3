/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Precompiled, SentencePiece's normalizer: a map from texts to texts, in base64:
 *
 *     bytes of the trie, uint32 | trie, uint32 each | texts, each with a NUL behind it
 *
 * Numbers are little-endian. The trie is a double array (S. Yata's darts-clone), whose values are
 * offsets of texts. As in the package `tokenizers`, a grapheme of less than 6 bytes becomes the
 * text of its shortest prefix in the map. Longer graphemes, and those without such a prefix, are
 * looked up character by character. Characters that are not in the map are not changed.
 */
#include <string.h>

#include "file/tokenizer/tokenizer_impl.h"

/* A pattern for graphemes (UAX 29). \X of PCRE2 alone would also join adjacent pictographs, which
 * should be joined only by U+200D. U+200C, U+200D, U+1F3FB to U+1F3FF and U+E0020 to U+E007F extend
 * a grapheme, like marks. */
#define PICTOGRAPH "\\p{Extended_Pictographic}"
#define GRAPHEME                                                                                   \
    PICTOGRAPH "(?:\xe2\x80\x8d" PICTOGRAPH                                                        \
               "|[\\p{M}\xe2\x80\x8c\xe2\x80\x8d\xf0\x9f\x8f\xbb-\xf0\x9f\x8f\xbf"                 \
               "\xf3\xa0\x80\xa0-\xf3\xa0\x81\xbf])*|\\X"

enum { LARGEST_MAP = 16 << 20, SHORT_GRAPHEME = 6 };

typedef struct charsmap {
    const dt_regex *graphemes;
    const uint8_t *trie, *text; /* trie: [4 * units] */
    /* units: number of units of the trie; size: number of bytes of `text`. */
    size_t units, size;
} charsmap;

static uint32_t little32(const uint8_t *p) {
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static int digit(char c) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Decodes base64 in place. Returns the number of bytes; -1: it is not base64. */
static int64_t decode(char *text, size_t n) {
    uint8_t *to = (uint8_t *)text;
    size_t pad = 0;
    while (pad < 2 && pad < n && text[n - 1 - pad] == '=') pad++;
    if (n % 4 != 0) return -1;
    for (size_t i = 0; i < n; i += 4) {
        uint32_t bits = 0;
        for (size_t k = 0; k < 4; k++) {
            const int d = i + k >= n - pad ? 0 : digit(text[i + k]);
            if (d < 0) return -1;
            bits = bits << 6 | (uint32_t)d;
        }
        for (int k = 2; k >= 0; k--) *to++ = (uint8_t)(bits >> 8 * k);
    }
    return to - (uint8_t *)text - (int64_t)pad;
}

static dt_status *read_map(dt_tokenizer_reader *r, const dt_json_cursor *at, const char *base64,
                           charsmap *x) {
    enum { HEAD = 4 };
    char *bytes = dt_arena_strdup(r->arena, base64);
    const int64_t n = strlen(base64) > LARGEST_MAP ? -1 : decode(bytes, strlen(base64));
    const uint32_t trie = n < HEAD ? 0 : little32((const uint8_t *)bytes);
    if (n < HEAD || trie < HEAD || trie % 4 != 0 || trie > n - HEAD)
        return dt_tokenizer_fail(r, at, "'precompiled_charsmap' is not a map in base64");
    x->trie = (const uint8_t *)bytes + HEAD;
    x->units = trie / 4;
    x->text = x->trie + trie;
    x->size = (size_t)n - HEAD - trie;
    for (size_t i = 0, length = 0; i < x->size; i++, length++)
        if (!x->text[i]) length = 0;
        else if (length > DT_LONGEST_ADDED)
            return dt_tokenizer_fail(
                r, at, "'precompiled_charsmap' has a text of more than %d bytes", DT_LONGEST_ADDED);
    return NULL;
}

static uint32_t unit(const charsmap *x, uint32_t at) {
    return at < x->units ? little32(x->trie + 4 * (size_t)at) : 0;
}

static uint32_t offset(uint32_t unit) { return unit >> 10 << ((unit & 1u << 9) >> 6); }

/* Returns the text of the shortest prefix of `key` in the map; NULL: no prefix is in the map.
 * *size: number of bytes of that text. */
static const uint8_t *find(const charsmap *x, const char *key, size_t n, size_t *size) {
    uint32_t at = offset(unit(x, 0));
    for (size_t i = 0; i < n; i++) {
        at ^= (unsigned char)key[i];
        const uint32_t u = unit(x, at);
        if ((u & (1u << 31 | 0xff)) != (unsigned char)key[i]) return NULL;
        at ^= offset(u);
        if (!(u >> 8 & 1)) continue;
        const size_t from = unit(x, at) & 0x7fffffff;
        if (from > x->size) return NULL;
        const uint8_t *end = memchr(x->text + from, 0, x->size - from);
        *size = end ? (size_t)(end - (x->text + from)) : x->size - from;
        return x->text + from;
    }
    return NULL;
}

static bool put(const charsmap *x, const char *text, size_t n, dt_str *out) {
    size_t size = 0;
    const uint8_t *y = find(x, text, n, &size);
    if (y) dt_str_add(out, (const char *)y, size);
    return y != NULL;
}

typedef struct mapping {
    const charsmap *map;
    size_t n; /* number of bytes of the text to normalize */
    dt_str *out;
} mapping;

static dt_status *map_grapheme(void *user, const char *text, size_t n, bool is_match) {
    const mapping *m = user;
    uint32_t code;
    (void)is_match;
    if (n < SHORT_GRAPHEME && put(m->map, text, n, m->out))
        return dt_normalizer_check(m->n, m->out);
    for (size_t at = 0, step; at < n; at += step) {
        step = dt_utf8_next(text + at, n - at, &code);
        if (!put(m->map, text + at, step, m->out)) dt_str_add(m->out, text + at, step);
    }
    return dt_normalizer_check(m->n, m->out);
}

static dt_status *apply(const void *made, const char *text, size_t n, dt_str *out) {
    const charsmap *x = made;
    return dt_regex_split(x->graphemes, text, n, map_grapheme, &(mapping){x, n, out});
}

dt_status *dt_step_of_charsmap(dt_tokenizer_reader *r, dt_json_cursor at, const char *type,
                               dt_normalizer_step *out) {
    dt_json_cursor map;
    charsmap *x = dt_arena_new(r->arena, charsmap);
    const char *text, *fault;
    const dt_tokenizer_key keys[] = {
        {"type", NULL, NULL}, {"precompiled_charsmap", &map, NULL}, {0}};
    (void)type;
    *out = (dt_normalizer_step){apply, x};
    DT_TRY(dt_tokenizer_object(r, at, "normalizer", keys));
    DT_TRY(dt_tokenizer_text(r, map, "precompiled_charsmap", &text));
    DT_TRY(read_map(r, &map, text, x));
    DT_TRY(dt_regex_compile(r->arena, GRAPHEME, &x->graphemes, &fault));
    return fault ? dt_fail(DT_E_PLUGIN, NULL, "libpcre2-8 does not know graphemes: %s", fault)
                 : NULL;
}
