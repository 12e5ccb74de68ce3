/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pre-tokenizers. Most have a pattern, and a rule for the matches and the gaps between them:
 *
 *     ByteLevel            GPT-2's pattern; keeps matches and gaps, as bytes
 *     Split                the pattern of the file; Isolated keeps matches and gaps, Removed drops
 *                          matches, MergedWithPrevious appends each match to the gap before it,
 *                          MergedWithNext puts it before the gap after it
 *     Punctuation          the same with punctuation characters; Contiguous joins neighbours
 *     BertPreTokenizer     words, and punctuation characters one by one
 *     Whitespace           words, and runs of other characters except blanks
 *     WhitespaceSplit      splits at blanks
 *     Digits               digits are separate from other characters
 *     Metaspace            replaces each space by a character, often "\u2581", which begins a piece
 *     Sequence             one after the other; ByteLevel must be the last
 */
#include <limits.h>
#include <string.h>

#include "file/tokenizer/tokenizer_impl.h"

#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define BEHAVIORS "\"Isolated\"|\"Removed\"|\"MergedWithPrevious\"|\"MergedWithNext\""
#define PUNCTUATION "\\p{P}\\$\\+<=>\\^`\\|~"

static dt_status *compile(dt_tokenizer_reader *r, const dt_json_cursor *at, const char *source,
                          dt_splitter *out) {
    const char *fault;
    DT_TRY(dt_regex_compile(r->arena, source, &out->pattern, &fault));
    return fault ? dt_tokenizer_fail(r, at, "the pattern '%.80s': %s", source, fault) : NULL;
}

static dt_status *read_byte_level(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t,
                                  dt_splitter *out) {
    dt_json_cursor prefix, regex;
    bool splits = true;
    /* "trim_offsets" is ignored: it does not affect tokens. */
    const dt_tokenizer_key keys[] = {{"type", NULL, NULL},
                                     {"add_prefix_space", &prefix, NULL},
                                     {"trim_offsets", NULL, NULL},
                                     {"use_regex", &regex, NULL},
                                     {0}};
    DT_TRY(dt_tokenizer_object(r, at, "pre_tokenizer", keys));
    bool prefixes = true;
    DT_TRY(dt_tokenizer_bool(r, prefix, "add_prefix_space", &prefixes));
    if (prefixes) out->prefix = " ";
    DT_TRY(dt_tokenizer_bool(r, regex, "use_regex", &splits));
    t->byte_level = t->decodes_bytes = true;
    return splits ? compile(r, &at, GPT2, out) : NULL;
}

/* Appends a text as a pattern, with a backslash before characters that are special in patterns. */
static void put_literal(const char *text, dt_str *out) {
    for (; *text; text++) {
        if (strchr("\\[](){}.|?*+^$", *text)) dt_str_putc(out, '\\');
        dt_str_putc(out, *text);
    }
}

dt_status *dt_tokenizer_pattern(dt_tokenizer_reader *r, dt_json_cursor at, const char *what,
                                const dt_regex **out, const char **literal) {
    dt_json_cursor regex, plain;
    dt_splitter split = {0};
    dt_local_str source = {0};
    const char *text;
    const dt_tokenizer_key keys[] = {{"Regex", &regex, NULL}, {"String", &plain, NULL}, {0}};
    DT_TRY(dt_tokenizer_object(r, at, what, keys));
    DT_TRY(dt_tokenizer_text(r, regex.at ? regex : plain, what, &text));
    if (!*text) return dt_tokenizer_fail(r, &at, "the pattern is empty");
    *literal = regex.at ? NULL : dt_arena_strdup(r->arena, text);
    if (regex.at) dt_str_puts(&source, text);
    else put_literal(text, &source);
    dt_status *s = compile(r, &at, dt_str_text(&source), &split);
    *out = split.pattern;
    return s;
}

/* Sets the rule for matches and gaps from `behavior`. `inverts` exchanges the roles of matches and
 * gaps. */
static void behave(const char *behavior, bool inverts, dt_splitter *out) {
    const bool removes = strcmp(behavior, "Removed") == 0,
               previous = strcmp(behavior, "MergedWithPrevious") == 0,
               next = strcmp(behavior, "MergedWithNext") == 0;
    out->drops_matches = removes && !inverts;
    out->drops_gaps = removes && inverts;
    out->joins_before = inverts ? next : previous;
    out->joins_after = inverts ? previous : next;
}

static dt_status *read_split(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t,
                             dt_splitter *out) {
    dt_json_cursor pattern, behavior, invert;
    const char *word;
    bool inverts = false;
    const dt_tokenizer_key keys[] = {{"type", NULL, NULL},
                                     {"pattern", &pattern, NULL},
                                     {"behavior", &behavior, BEHAVIORS},
                                     {"invert", &invert, NULL},
                                     {0}};
    (void)t;
    DT_TRY(dt_tokenizer_object(r, at, "pre_tokenizer", keys));
    DT_TRY(dt_tokenizer_bool(r, invert, "invert", &inverts));
    DT_TRY(dt_tokenizer_text(r, behavior, "pre_tokenizer.behavior", &word));
    behave(word, inverts, out);
    return dt_tokenizer_pattern(r, pattern, "pre_tokenizer.pattern", &out->pattern, &word);
}

static dt_status *read_words(dt_tokenizer_reader *r, const dt_json_cursor *at, const char *pattern,
                             dt_splitter *out) {
    static const dt_tokenizer_key keys[] = {{"type", NULL, NULL}, {0}};
    DT_TRY(dt_tokenizer_object(r, *at, "pre_tokenizer", keys));
    out->drops_gaps = true;
    return compile(r, at, pattern, out);
}

static dt_status *read_bert(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t,
                            dt_splitter *out) {
    (void)t;
    return read_words(r, &at, "[" PUNCTUATION "]|[^\\s" PUNCTUATION "]+", out);
}

static dt_status *read_punctuation(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t,
                                   dt_splitter *out) {
    dt_json_cursor behavior;
    const char *word = "Isolated";
    const dt_tokenizer_key keys[] = {
        {"type", NULL, NULL}, {"behavior", &behavior, BEHAVIORS "|\"Contiguous\""}, {0}};
    (void)t;
    DT_TRY(dt_tokenizer_object(r, at, "pre_tokenizer", keys));
    if (behavior.at) DT_TRY(dt_tokenizer_text(r, behavior, "pre_tokenizer.behavior", &word));
    behave(word, false, out);
    const bool runs = strcmp(word, "Contiguous") == 0;
    return compile(r, &at, runs ? "[" PUNCTUATION "]+" : "[" PUNCTUATION "]", out);
}

static dt_status *read_whitespace(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t,
                                  dt_splitter *out) {
    (void)t;
    return read_words(r, &at, "[" DT_WORD "]+|[^\\s" DT_WORD "]+", out);
}

static dt_status *read_whitespace_split(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t,
                                        dt_splitter *out) {
    (void)t;
    return read_words(r, &at, "\\S+", out);
}

static dt_status *read_digits(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t,
                              dt_splitter *out) {
    dt_json_cursor individual;
    bool apart = false;
    const dt_tokenizer_key keys[] = {
        {"type", NULL, NULL}, {"individual_digits", &individual, NULL}, {0}};
    (void)t;
    DT_TRY(dt_tokenizer_object(r, at, "pre_tokenizer", keys));
    DT_TRY(dt_tokenizer_bool(r, individual, "individual_digits", &apart));
    return compile(r, &at, apart ? "\\p{N}" : "\\p{N}+", out);
}

static dt_status *read_metaspace(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t,
                                 dt_splitter *out) {
    dt_json_cursor replacement, scheme, split;
    bool splits = true;
    const char *text;
    dt_local_str pattern = {0}, literal = {0};
    const dt_tokenizer_key keys[] = {{"type", NULL, NULL},
                                     {"replacement", &replacement, NULL},
                                     {"prepend_scheme", &scheme, "\"always\"|\"never\"|\"first\""},
                                     {"split", &split, NULL},
                                     {0}};
    DT_TRY(dt_tokenizer_object(r, at, "pre_tokenizer", keys));
    DT_TRY(dt_tokenizer_bool(r, split, "split", &splits));
    DT_TRY(dt_tokenizer_text(r, scheme, "pre_tokenizer.prepend_scheme", &text));
    const bool prefixes = strcmp(text, "never") != 0;
    out->prefixes_once = strcmp(text, "first") == 0;
    DT_TRY(dt_tokenizer_text(r, replacement, "pre_tokenizer.replacement", &text));
    if (dt_utf8_count(text, strlen(text)) != 1)
        return dt_tokenizer_fail(r, &replacement, "'replacement' must be one character");
    t->blank = out->blank = dt_arena_strdup(r->arena, text);
    out->prefix = prefixes ? out->blank : "";
    t->first_blanks = prefixes ? INT_MAX : 0;
    put_literal(text, &literal);
    dt_str_printf(&pattern, "%s[^%s]*|[^%s]+", dt_str_text(&literal), dt_str_text(&literal),
                  dt_str_text(&literal));
    return splits ? compile(r, &at, dt_str_text(&pattern), out) : NULL;
}

dt_status *dt_tokenizer_read_split(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t) {
    static const struct {
        const char *type;
        dt_status *(*read)(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t,
                           dt_splitter *out);
    } rows[] = {{"ByteLevel", read_byte_level},  {"Split", read_split},
                {"BertPreTokenizer", read_bert}, {"Punctuation", read_punctuation},
                {"Whitespace", read_whitespace}, {"WhitespaceSplit", read_whitespace_split},
                {"Digits", read_digits},         {"Metaspace", read_metaspace}};
    const char *type;
    DT_TRY(dt_tokenizer_type(r, at, "pre_tokenizer", &type));
    if (t->byte_level)
        return dt_tokenizer_fail(r, &at, "pre_tokenizer: ByteLevel must be the last");
    if (strcmp(type, "ByteLevel") == 0 && t->model != &dt_token_bpe)
        return dt_tokenizer_fail(r, &at, "pre_tokenizer: ByteLevel is supported with BPE only");
    if (t->n_splits == DT_MOST_SPLITS)
        return dt_tokenizer_fail(r, &at, "pre_tokenizer: more than %d in a row", DT_MOST_SPLITS);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(type, rows[i].type) == 0)
            return rows[i].read(r, at, t, &t->split[t->n_splits++]);
    return dt_tokenizer_fail(r, &at, "pre_tokenizer '%.60s' is not supported", type);
}
