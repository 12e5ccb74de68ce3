/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Normalizers, one after the other:
 *
 *     BertNormalizer, Lowercase, StripAccents   characters.c
 *     NFC, NFD, NFKC, NFKD                      unicode_form.c
 *     Precompiled                               charsmap.c
 *     Replace                                   replaces each match of a pattern by a text
 *     Prepend                                   puts a text before each text that is not empty
 *     Strip                                     leaves out blanks at one end or both
 *     Sequence                                  a list of these
 */
#include <string.h>

#include "file/tokenizer/tokenizer_impl.h"

/* The steps of a normalizer together may expand a text of n bytes to at most n * MOST_TIMES + MORE
 * bytes. NFKD alone replaces a character by up to 11 times as many bytes. */
enum { MOST_TIMES = 32, MORE = 1 << 16 };

dt_status *dt_normalizer_check(size_t n, const dt_str *out) {
    if (out->size <= n * MOST_TIMES + MORE) return NULL;
    return dt_fail(DT_E_RANGE, NULL, "the normalizer makes a text %d times as long", MOST_TIMES);
}

/* Reads a text that a step inserts. Its size is limited. */
static dt_status *read_content(dt_tokenizer_reader *r, dt_json_cursor at, const char *what,
                               const char **out) {
    DT_TRY(dt_tokenizer_text(r, at, what, out));
    if (strlen(*out) > DT_LONGEST_ADDED)
        return dt_tokenizer_fail(r, &at, "'%s' has more than %d bytes", what, DT_LONGEST_ADDED);
    *out = dt_arena_strdup(r->arena, *out);
    return NULL;
}

/* ---- Replace ---- */

typedef struct replacement {
    const dt_regex *pattern;
    const char *content;
} replacement;

typedef struct replacing {
    const char *content;
    size_t n; /* number of bytes of the text to normalize */
    dt_str *out;
} replacing;

static dt_status *replace_stretch(void *user, const char *text, size_t n, bool is_match) {
    const replacing *x = user;
    if (is_match) dt_str_puts(x->out, x->content);
    else dt_str_add(x->out, text, n);
    return dt_normalizer_check(x->n, x->out);
}

static dt_status *replace(const void *made, const char *text, size_t n, dt_str *out) {
    const replacement *x = made;
    return dt_regex_split(x->pattern, text, n, replace_stretch, &(replacing){x->content, n, out});
}

static dt_status *read_replace(dt_tokenizer_reader *r, dt_json_cursor at, const char *type,
                               dt_normalizer_step *out) {
    dt_json_cursor pattern, content;
    replacement *x = dt_arena_new(r->arena, replacement);
    const char *text;
    const dt_tokenizer_key keys[] = {
        {"type", NULL, NULL}, {"pattern", &pattern, NULL}, {"content", &content, NULL}, {0}};
    (void)type;
    *out = (dt_normalizer_step){replace, x};
    DT_TRY(dt_tokenizer_object(r, at, "normalizer", keys));
    DT_TRY(dt_tokenizer_pattern(r, pattern, "normalizer.pattern", &x->pattern, &text));
    return read_content(r, content, "normalizer.content", &x->content);
}

/* ---- Prepend, Strip ---- */

static dt_status *prepend(const void *made, const char *text, size_t n, dt_str *out) {
    if (n > 0) dt_str_puts(out, made);
    dt_str_add(out, text, n);
    return NULL;
}

static dt_status *read_prepend(dt_tokenizer_reader *r, dt_json_cursor at, const char *type,
                               dt_normalizer_step *out) {
    dt_json_cursor content;
    const char *text;
    const dt_tokenizer_key keys[] = {{"type", NULL, NULL}, {"prepend", &content, NULL}, {0}};
    (void)type;
    DT_TRY(dt_tokenizer_object(r, at, "normalizer", keys));
    DT_TRY(read_content(r, content, "normalizer.prepend", &text));
    *out = (dt_normalizer_step){prepend, text};
    return NULL;
}

typedef struct ends {
    bool left, right;
} ends;

static dt_status *strip(const void *made, const char *text, size_t n, dt_str *out) {
    const ends *x = made;
    for (size_t b; x->left && (b = dt_blank_after(text, n)) > 0; n -= b) text += b;
    for (size_t b; x->right && (b = dt_blank_before(text, n)) > 0;) n -= b;
    dt_str_add(out, text, n);
    return NULL;
}

static dt_status *read_strip(dt_tokenizer_reader *r, dt_json_cursor at, const char *type,
                             dt_normalizer_step *out) {
    dt_json_cursor left, right;
    ends *x = dt_arena_new(r->arena, ends);
    const dt_tokenizer_key keys[] = {
        {"type", NULL, NULL}, {"strip_left", &left, NULL}, {"strip_right", &right, NULL}, {0}};
    (void)type;
    *out = (dt_normalizer_step){strip, x};
    DT_TRY(dt_tokenizer_object(r, at, "normalizer", keys));
    DT_TRY(dt_tokenizer_bool(r, left, "strip_left", &x->left));
    return dt_tokenizer_bool(r, right, "strip_right", &x->right);
}

/* ---- all steps ---- */

dt_status *dt_normalize(const dt_normalizer *x, const char *text, size_t n, dt_str *out) {
    const size_t all = n;
    dt_str before = {0}, after = {0};
    dt_status *s = NULL;
    for (int i = 0; !s && i < x->n; i++) {
        dt_str_clear(&after);
        s = x->step[i].apply(x->step[i].made, text, n, &after);
        if (!s) s = dt_normalizer_check(all, &after);
        const dt_str done = after;
        after = before;
        before = done;
        text = dt_str_text(&before);
        n = before.size;
    }
    if (!s) dt_str_add(out, text, n);
    dt_str_release(&before);
    dt_str_release(&after);
    return s;
}

dt_status *dt_tokenizer_read_normalizer(dt_tokenizer_reader *r, dt_json_cursor at,
                                        dt_tokenizer *t) {
    static const struct {
        const char *type;
        dt_read_step *read;
    } rows[] = {{"BertNormalizer", dt_step_of_characters},
                {"Lowercase", dt_step_of_characters},
                {"StripAccents", dt_step_of_characters},
                {"NFC", dt_step_of_form},
                {"NFD", dt_step_of_form},
                {"NFKC", dt_step_of_form},
                {"NFKD", dt_step_of_form},
                {"Precompiled", dt_step_of_charsmap},
                {"Replace", read_replace},
                {"Prepend", read_prepend},
                {"Strip", read_strip}};
    dt_normalizer *x = &t->normalizer;
    const char *type;
    DT_TRY(dt_tokenizer_type(r, at, "normalizer", &type));
    if (x->n == DT_MOST_STEPS)
        return dt_tokenizer_fail(r, &at, "normalizer: more than %d in a row", DT_MOST_STEPS);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(type, rows[i].type) == 0)
            return rows[i].read(r, at, rows[i].type, &x->step[x->n++]);
    return dt_tokenizer_fail(r, &at, "normalizer '%.60s' is not supported", type);
}
