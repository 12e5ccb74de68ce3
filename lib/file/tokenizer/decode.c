/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoders: tokens back to text, as the Python package `tokenizers` does it:
 *
 *     ByteLevel    the bytes that the token's characters stand for; the token itself if a character
 *                  stands for none
 *     WordPiece    a blank before each token, except the first one and those that begin with "##",
 *                  whose "##" is left out; with `cleanup`, none before punctuation and English
 *                  endings
 *     BPEDecoder   a blank for the suffix of each token that ends a word
 *     Metaspace    blanks for "\u2581", which is left out of the first token, unless prepend_scheme
 *                  is "never"
 *     Sequence     of Replace (a text becomes a blank), ByteFallback ("<0x0A>" is a byte), Fuse,
 *                  and behind it Strip (of the first blank), as files of Llama have it
 *
 * A file without a decoder gets that of its model and pre-tokenizer. Special tokens are written as
 * any other.
 */
#include <limits.h>
#include <string.h>

#include "file/tokenizer/tokenizer_impl.h"

enum { REPLACEMENT_CHARACTER = 0xfffd };

/* ---- reading ---- */

static dt_status *read_word_piece(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t) {
    dt_json_cursor prefix, cleanup;
    const char *text;
    const dt_tokenizer_key keys[] = {
        {"type", NULL, NULL}, {"prefix", &prefix, NULL}, {"cleanup", &cleanup, NULL}, {0}};
    DT_TRY(dt_tokenizer_object(r, at, "decoder", keys));
    DT_TRY(dt_tokenizer_text(r, prefix, "decoder.prefix", &text));
    t->continues = dt_arena_strdup(r->arena, text);
    return dt_tokenizer_bool(r, cleanup, "decoder.cleanup", &t->cleans_up);
}

static dt_status *read_metaspace(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t) {
    dt_json_cursor replacement, scheme;
    const char *text;
    const dt_tokenizer_key keys[] = {{"type", NULL, NULL},
                                     {"replacement", &replacement, NULL},
                                     {"prepend_scheme", &scheme, "\"always\"|\"never\"|\"first\""},
                                     /* a key of older files */
                                     {"add_prefix_space", NULL, NULL},
                                     {"split", NULL, NULL}, /* this key does not affect the text */
                                     {0}};
    DT_TRY(dt_tokenizer_object(r, at, "decoder", keys));
    DT_TRY(dt_tokenizer_text(r, replacement, "decoder.replacement", &text));
    t->blank = dt_arena_strdup(r->arena, text);
    t->first_blanks = INT_MAX;
    if (!scheme.at) return NULL;
    DT_TRY(dt_tokenizer_text(r, scheme, "decoder.prepend_scheme", &text));
    if (strcmp(text, "never") == 0) t->first_blanks = 0;
    return NULL;
}

static dt_status *read_byte_level(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t) {
    (void)r, (void)at;
    t->decodes_bytes = true;
    return NULL;
}

static dt_status *read_replace(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t) {
    dt_json_cursor pattern;
    const dt_regex *compiled;
    const dt_tokenizer_key keys[] = {
        {"type", NULL, NULL}, {"pattern", &pattern, NULL}, {"content", NULL, "\" \""}, {0}};
    DT_TRY(dt_tokenizer_object(r, at, "decoder", keys));
    DT_TRY(dt_tokenizer_pattern(r, pattern, "decoder.pattern", &compiled, &t->blank));
    return t->blank ? NULL : dt_tokenizer_fail(r, &pattern, "decoder: Regex is not supported");
}

/* Reads the decoder of BPE. It puts a space after each token that ends a word, even after the last
 * token of a text. */
static dt_status *read_bpe(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t) {
    dt_json_cursor suffix;
    const char *text;
    const dt_tokenizer_key keys[] = {{"type", NULL, NULL}, {"suffix", &suffix, NULL}, {0}};
    DT_TRY(dt_tokenizer_object(r, at, "decoder", keys));
    DT_TRY(dt_tokenizer_text(r, suffix, "decoder.suffix", &text));
    t->blank = dt_arena_strdup(r->arena, text);
    return NULL;
}

static dt_status *read_fallback(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t) {
    (void)r, (void)at;
    t->falls_back = true;
    return NULL;
}

static dt_status *read_fuse(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t) {
    (void)r, (void)at;
    t->fuses = true;
    return NULL;
}

static dt_status *read_strip(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t) {
    static const dt_tokenizer_key keys[] = {{"type", NULL, NULL},
                                            {"content", NULL, "\" \""},
                                            {"start", NULL, "1"},
                                            {"stop", NULL, "0"},
                                            {0}};
    t->first_blanks = 1;
    DT_TRY(dt_tokenizer_object(r, at, "decoder", keys));
    return t->fuses ? NULL
                    : dt_tokenizer_fail(r, &at, "decoder 'Strip' is supported behind 'Fuse' only");
}

dt_status *dt_tokenizer_read_decoder(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t) {
    static const struct {
        const char *type;
        dt_status *(*read)(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t);
    } rows[] = {{"ByteLevel", read_byte_level},
                {"WordPiece", read_word_piece},
                {"Metaspace", read_metaspace},
                {"BPEDecoder", read_bpe},
                {"Replace", read_replace},
                {"ByteFallback", read_fallback},
                {"Fuse", read_fuse},
                {"Strip", read_strip}};
    const char *type;
    DT_TRY(dt_tokenizer_type(r, at, "decoder", &type));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(type, rows[i].type) == 0) return rows[i].read(r, at, t);
    return dt_tokenizer_fail(r, &at, "decoder '%.60s' is not supported", type);
}

/* ---- tokens to text ---- */

/* Returns the byte that a character of a token stands for; -1: it does not stand for a byte. */
static int byte_of(uint32_t code) {
    for (int b = 0; b < 256; b++)
        if (dt_byte_level_code((unsigned char)b) == code) return b;
    return -1;
}

/* Appends the bytes that the characters of a token stand for. If one of them does not stand for a
 * byte, as may be in an added token, the token is appended as it is. */
static void put_bytes(const char *text, size_t n, dt_str *out) {
    const size_t before = out->size;
    uint32_t code;
    for (size_t at = 0; at < n;) {
        at += dt_utf8_next(text + at, n - at, &code);
        const int byte = byte_of(code);
        if (byte < 0) {
            out->size = before;
            dt_str_add(out, text, n);
            return;
        }
        dt_str_putc(out, (char)byte);
    }
}

/* Whether a token begins with punctuation or an ending, such as a comma or "n't", before which
 * English has no blank. */
static bool joins(const char *text) {
    static const char *const begins[] = {".", "?", "!", ",", "n't", "'m", "'s", "'ve", "'re"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(text, begins[i], strlen(begins[i])) == 0) return true;
    return false;
}

static void put_word_piece(const dt_tokenizer *t, const char *text, bool first, dt_str *out) {
    const size_t prefix = strlen(t->continues);
    const bool continues = !first && prefix > 0 && strncmp(text, t->continues, prefix) == 0;
    if (!first && !continues && !(t->cleans_up && joins(text))) dt_str_putc(out, ' ');
    dt_str_puts(out, continues ? text + prefix : text);
}

static void put_blanks(const dt_tokenizer *t, const char *text, bool first, dt_str *out) {
    const size_t blank = t->blank ? strlen(t->blank) : 0;
    int left = first ? t->first_blanks : 0;
    while (*text) {
        const bool is_blank = blank && strncmp(text, t->blank, blank) == 0;
        if (!is_blank || left == 0) dt_str_putc(out, is_blank ? ' ' : *text);
        else left--;
        if (!is_blank && left == 1) left = 0; /* Strip may remove blanks only at the front */
        text += is_blank ? blank : 1;
    }
}

/* Returns the byte that a token such as "<0x0A>" stands for; -1: it is not such a token. */
static int fallback_of(const char *text) {
    static const char digits[] = "0123456789ABCDEF";
    const char *high = strncmp(text, "<0x", 3) == 0 && text[3] ? strchr(digits, text[3]) : NULL,
               *low = high && text[4] ? strchr(digits, text[4]) : NULL;
    return low && strcmp(text + 5, ">") == 0 ? (int)(16 * (high - digits) + (low - digits)) : -1;
}

void dt_tokenizer_decode(const dt_tokenizer *t, int32_t token, bool first, dt_str *out) {
    const dt_vocabulary *v = &t->vocabulary;
    int byte = -1;
    if (token < 0 || token >= v->size || !v->text[token]) dt_str_utf8(out, REPLACEMENT_CHARACTER);
    else if (t->decodes_bytes) put_bytes(v->text[token], v->length[token], out);
    else if (t->falls_back && (byte = fallback_of(v->text[token])) >= 0)
        dt_str_putc(out, (char)byte);
    else if (t->continues) put_word_piece(t, v->text[token], first, out);
    else put_blanks(t, v->text[token], first, out);
}
