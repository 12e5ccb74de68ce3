/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of the normalizer that change a text character by character. BertNormalizer has four, in
 * this order:
 *
 *     clean_text             removes control, format and private-use characters and U+FFFD;
 *                            replaces each blank, also a tab or a line end, by a space
 *     handle_chinese_chars   puts spaces around CJK ideographs
 *     strip_accents          decomposes characters canonically and removes non-spacing marks
 *     lowercase              changes "É" to "é"
 *
 * The normalizer Lowercase does only the last of these steps. StripAccents removes marks of all
 * kinds without decomposing characters.
 *
 * Which characters are marks or control characters is known from PCRE2, the lower case from the C
 * library, and decompositions from accents.h. From the code KNOWN on, marks and control characters
 * are listed in this file, and no character has a lower case.
 */
#include <locale.h>
#include <pthread.h>
#include <string.h>
#include <wctype.h>

#include "file/tokenizer/accents.h"
#include "file/tokenizer/tokenizer_impl.h"

enum {
    KNOWN = 0x20000, /* the tables contain all characters below this code */
    CONTROL = 1,
    MARK = 2, /* a non-spacing mark */
    ANY_MARK = 4,
    HANGUL = 0xac00,
    HANGUL_END = 0xd7a4,
    DOTTED_I = 0x130,
    LINES = sizeof accents / sizeof *accents, /* number of lines of accents.h */
    MOST_OF_A_LINE = 40
};

typedef struct accent {
    uint32_t code;
    /* what remains of it without accents: characters up to a space or the end of the string */
    const char *base;
} accent;

typedef struct characters {
    uint8_t kind[KNOWN];
    uint32_t lower[KNOWN];
    /* [n_accents] the characters with accents, sorted by code */
    accent accents[LINES * MOST_OF_A_LINE];
    int n_accents;
} characters;

typedef struct change {
    bool clean_text, handle_chinese_chars, strip_accents, lowercase, strip_marks;
    const characters *characters;
} change;

/* ---- tables ---- */

typedef struct marking {
    characters *to;
    uint8_t kind;
} marking;

static dt_status *mark_stretch(void *user, const char *text, size_t n, bool is_match) {
    const marking *m = user;
    uint32_t code;
    for (size_t at = 0; is_match && at < n; at += dt_utf8_next(text + at, n - at, &code)) {
        dt_utf8_next(text + at, n - at, &code);
        m->to->kind[code] |= m->kind;
    }
    return NULL;
}

/* Sets the bits `kind` of all characters below KNOWN that a pattern matches. */
static dt_status *mark(dt_arena *arena, const char *pattern, uint8_t kind, characters *to) {
    const dt_regex *p;
    const char *fault;
    dt_local_str all = {0};
    DT_TRY(dt_regex_compile(arena, pattern, &p, &fault));
    if (fault)
        return dt_fail(DT_E_PLUGIN, NULL, "libpcre2-8 does not know '%s': %s", pattern, fault);
    for (uint32_t c = 1; c < KNOWN; c++)
        if (c < 0xd800 || c > 0xdfff) dt_str_utf8(&all, c);
    return dt_regex_split(p, dt_str_text(&all), all.size, mark_stretch, &(marking){to, kind});
}

static dt_status *read_lower(characters *to) {
    locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    if (!locale)
        return dt_fail(DT_E_PLUGIN, NULL, "the C library lacks the locale C.UTF-8, for lowercase");
    for (uint32_t c = 0; c < KNOWN; c++) to->lower[c] = (uint32_t)towlower_l((wint_t)c, locale);
    freelocale(locale);
    return NULL;
}

static void read_accents(characters *to) {
    to->n_accents = 0;
    for (int i = 0; i < LINES; i++)
        for (const char *p = accents[i]; *p; p = strchr(p, ' ') + 1) {
            accent *a = &to->accents[to->n_accents++];
            p += dt_utf8_next(p, strlen(p), &a->code);
            a->base = p;
        }
}

static dt_status *make_tables(dt_arena *arena, characters *to) {
    read_accents(to);
    DT_TRY(mark(arena, "[\\p{Cc}\\p{Cf}\\p{Co}]+", CONTROL, to));
    DT_TRY(mark(arena, "\\p{Mn}+", MARK, to));
    DT_TRY(mark(arena, "\\p{M}+", ANY_MARK, to));
    return read_lower(to);
}

/* Makes the tables, once for all tokenizers, since they are the same for all files and making them
 * takes longer than reading most files. */
static dt_status *find_characters(const characters **out) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static characters all;
    static bool is_made;
    dt_status *s = NULL;
    *out = &all;
    pthread_mutex_lock(&lock);
    if (!is_made) {
        dt_arena *arena = dt_arena_create(); /* memory for compiling the patterns */
        s = make_tables(arena, &all);
        is_made = !s;
        dt_arena_destroy(arena);
    }
    pthread_mutex_unlock(&lock);
    return s;
}

static const accent *find_accent(const characters *x, uint32_t code) {
    int from = 0, to = x->n_accents;
    while (from < to) {
        const int half = (from + to) / 2;
        if (x->accents[half].code < code) from = half + 1;
        else to = half;
    }
    return from < x->n_accents && x->accents[from].code == code ? &x->accents[from] : NULL;
}

/* ---- changing a text ---- */

static bool is_mark(const characters *x, uint32_t c, uint8_t kind) {
    return c < KNOWN ? (x->kind[c] & kind) != 0 : c >= 0xe0100 && c <= 0xe01ef;
}

static bool is_control(const characters *x, uint32_t c) {
    if (c == '\t' || c == '\n' || c == '\r') return false;
    if (c < KNOWN) return (x->kind[c] & CONTROL) != 0;
    return c == 0xe0001 || (c >= 0xe0020 && c <= 0xe007f) ||
           (c >= 0xf0000 && (c & 0xfffe) != 0xfffe);
}

static bool is_ideograph(uint32_t c) {
    static const uint32_t ranges[][2] = {{0x4e00, 0x9fff},   {0x3400, 0x4dbf},   {0x20000, 0x2a6df},
                                         {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf},
                                         {0xf900, 0xfaff},   {0x2f800, 0x2fa1f}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (c >= ranges[i][0] && c <= ranges[i][1]) return true;
    return false;
}

static void put_lower(const change *x, uint32_t c, dt_str *out) {
    if (x->lowercase && c == DOTTED_I) dt_str_puts(out, "i\xcc\x87");
    else dt_str_utf8(out, x->lowercase && c < KNOWN ? x->characters->lower[c] : c);
}

/* Appends the parts of a Hangul syllable: a leading consonant, a vowel and perhaps a trailing
 * consonant. */
static void put_hangul(const change *x, uint32_t c, dt_str *out) {
    enum { LEADING = 0x1100, VOWEL = 0x1161, TRAILING = 0x11a7, VOWELS = 21, TRAILINGS = 28 };
    const uint32_t i = c - HANGUL;
    put_lower(x, LEADING + i / (VOWELS * TRAILINGS), out);
    put_lower(x, VOWEL + i / TRAILINGS % VOWELS, out);
    if (i % TRAILINGS) put_lower(x, TRAILING + i % TRAILINGS, out);
}

static void put_stripped(const change *x, uint32_t c, dt_str *out) {
    if (is_mark(x->characters, c, MARK)) return;
    if (c >= HANGUL && c < HANGUL_END) {
        put_hangul(x, c, out);
        return;
    }
    const accent *a = c < 0x80 ? NULL : find_accent(x->characters, c);
    if (!a) put_lower(x, c, out);
    for (const char *p = a ? a->base : " "; *p != ' ';) {
        p += dt_utf8_next(p, strlen(p), &c);
        put_lower(x, c, out);
    }
}

static void put(const change *x, uint32_t c, dt_str *out) {
    if (x->clean_text && (c == 0 || c == 0xfffd || is_control(x->characters, c))) return;
    if (x->strip_marks && is_mark(x->characters, c, ANY_MARK)) return;
    if (x->clean_text && dt_is_blank(c)) c = ' ';
    const bool apart = x->handle_chinese_chars && is_ideograph(c);
    if (apart) dt_str_putc(out, ' ');
    if (x->strip_accents) put_stripped(x, c, out);
    else put_lower(x, c, out);
    if (apart) dt_str_putc(out, ' ');
}

static dt_status *apply(const void *made, const char *text, size_t n, dt_str *out) {
    uint32_t code;
    for (size_t at = 0; at < n;) {
        at += dt_utf8_next(text + at, n - at, &code);
        put(made, code, out);
    }
    return NULL;
}

/* ---- reading ---- */

static dt_status *read_bert(dt_tokenizer_reader *r, dt_json_cursor at, change *x) {
    dt_json_cursor clean, chinese, strip, lower;
    const dt_tokenizer_key keys[] = {{"type", NULL, NULL},
                                     {"clean_text", &clean, NULL},
                                     {"handle_chinese_chars", &chinese, NULL},
                                     {"strip_accents", &strip, NULL},
                                     {"lowercase", &lower, NULL},
                                     {0}};
    x->clean_text = x->handle_chinese_chars = x->lowercase = true;
    DT_TRY(dt_tokenizer_object(r, at, "normalizer", keys));
    DT_TRY(dt_tokenizer_bool(r, clean, "clean_text", &x->clean_text));
    DT_TRY(dt_tokenizer_bool(r, chinese, "handle_chinese_chars", &x->handle_chinese_chars));
    DT_TRY(dt_tokenizer_bool(r, lower, "lowercase", &x->lowercase));
    x->strip_accents = x->lowercase;
    return dt_tokenizer_bool(r, strip, "strip_accents", &x->strip_accents);
}

dt_status *dt_step_of_characters(dt_tokenizer_reader *r, dt_json_cursor at, const char *type,
                                 dt_normalizer_step *out) {
    static const dt_tokenizer_key keys[] = {{"type", NULL, NULL}, {0}};
    change *x = dt_arena_new(r->arena, change);
    *out = (dt_normalizer_step){apply, x};
    x->lowercase = strcmp(type, "Lowercase") == 0;
    x->strip_marks = strcmp(type, "StripAccents") == 0;
    if (x->lowercase || x->strip_marks) DT_TRY(dt_tokenizer_object(r, at, "normalizer", keys));
    else DT_TRY(read_bert(r, at, x));
    return find_characters(&x->characters);
}
