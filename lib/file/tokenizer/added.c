/* SPDX-License-Identifier: Apache-2.0 */
/* Added tokens, which are recognized as parts of a text before it is split, and tokens that a
 * post-processor adds at the beginning and the end of a text. */
#include <stdlib.h>
#include <string.h>

#include "file/tokenizer/tokenizer_impl.h"

/* ---- added tokens ---- */

/* Enters an added token under the number `token` that the file gives it. Fails unless that is its
 * number in the vocabulary or, if the vocabulary lacks it and has no gaps, the next one: only then
 * does the Python package `tokenizers` use the same number. */
static dt_status *number(dt_tokenizer_reader *r, const dt_json_cursor *at, dt_vocabulary *v,
                         const char *text, int64_t token) {
    const size_t n = strlen(text);
    uint32_t *slot = dt_vocabulary_slot(v, text, n);
    if (*slot && (int64_t)*slot - 1 != token)
        return dt_tokenizer_fail(r, at,
                                 "the added token '%.60s' has number %lld, but %lld in "
                                 "'model.vocab'",
                                 text, (long long)token, (long long)*slot - 1);
    if (*slot) return NULL;
    if (v->has_gaps)
        return dt_tokenizer_fail(r, at,
                                 "the added token '%.60s' is not in 'model.vocab', which leaves "
                                 "numbers out; this is not supported",
                                 text);
    if (token != v->size)
        return dt_tokenizer_fail(r, at,
                                 "the added token '%.60s' has number %lld; the next one "
                                 "behind all others, %d, is supported",
                                 text, (long long)token, (int)v->size);
    v->text[v->size] = text;
    v->length[v->size] = n;
    *slot = (uint32_t)++v->size;
    return NULL;
}

static dt_status *read_added(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t) {
    dt_json_cursor id, content, single_word, lstrip, rstrip, normalized;
    dt_added_token x = {0};
    int64_t token = 0;
    bool is_normalized = false;
    const char *text;
    /* The keys "id" to "normalized" affect encoding; "special" does not. */
    const dt_tokenizer_key keys[] = {{"id", &id, NULL},
                                     {"content", &content, NULL},
                                     {"single_word", &single_word, NULL},
                                     {"lstrip", &lstrip, NULL},
                                     {"rstrip", &rstrip, NULL},
                                     {"normalized", &normalized, NULL},
                                     {"special", NULL, NULL},
                                     {0}};
    DT_TRY(dt_tokenizer_object(r, at, "added_tokens", keys));
    DT_TRY(dt_tokenizer_int(r, id, "added_tokens.id", DT_MOST_TOKENS - 1, &token));
    DT_TRY(dt_tokenizer_bool(r, single_word, "added_tokens.single_word", &x.single_word));
    DT_TRY(dt_tokenizer_bool(r, lstrip, "added_tokens.lstrip", &x.lstrip));
    DT_TRY(dt_tokenizer_bool(r, rstrip, "added_tokens.rstrip", &x.rstrip));
    DT_TRY(dt_tokenizer_bool(r, normalized, "added_tokens.normalized", &is_normalized));
    DT_TRY(dt_tokenizer_text(r, content, "added_tokens.content", &text));
    if (!*text || strlen(text) > DT_LONGEST_ADDED)
        return dt_tokenizer_fail(r, &content, "an added token must have 1 to %d bytes",
                                 DT_LONGEST_ADDED);
    x.text = dt_arena_strdup(r->arena, text);
    x.token = (int32_t)token;
    DT_TRY(number(r, &content, &t->vocabulary, x.text, token));
    if (is_normalized) {
        dt_str changed = {0};
        dt_status *s = dt_normalize(&t->normalizer, x.text, strlen(x.text), &changed);
        x.text = dt_arena_take(r->arena, &changed);
        if (s) return s;
    }
    x.size = (int)strlen(x.text);
    if (x.single_word && !t->word) {
        const char *fault;
        DT_TRY(dt_regex_compile(r->arena, "[" DT_WORD "]", &t->word, &fault));
        if (fault) return dt_tokenizer_fail(r, &single_word, "characters of words: %s", fault);
    }
    dt_added_tokens *to = is_normalized ? &t->normalized : &t->raw;
    if (x.size > 0) to->v[to->n++] = x;
    return NULL;
}

static int compare(const void *a, const void *b) {
    const dt_added_token *x = a, *y = b;
    const int order = strcmp(x->text, y->text);
    return order ? order : x->token - y->token;
}

static void sort(dt_added_tokens *x) {
    qsort(x->v, (size_t)x->n, sizeof *x->v, compare);
    for (int byte = 0, i = 0; byte <= 256; byte++) {
        while (i < x->n && (unsigned char)*x->v[i].text < byte) i++;
        x->from[byte] = i;
    }
}

dt_status *dt_tokenizer_read_added(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t) {
    dt_json_cursor count = at;
    bool first = true;
    int n = 0;
    if (!at.at) return NULL;
    DT_TRY(dt_tokenizer_enter(r, &count, "added_tokens", '['));
    for (; dt_json_more(&count, ']', &first); n++) dt_json_skip(&count, 0);
    if (n > DT_MOST_ADDED)
        return dt_tokenizer_fail(r, &at, "more than %d added tokens", DT_MOST_ADDED);
    t->raw.v = dt_arena_array(r->arena, dt_added_token, n);
    t->normalized.v = dt_arena_array(r->arena, dt_added_token, n);
    first = true;
    DT_TRY(dt_tokenizer_enter(r, &at, "added_tokens", '['));
    while (dt_json_more(&at, ']', &first)) {
        dt_json_peek(&at);
        DT_TRY(read_added(r, at, t));
        dt_json_skip(&at, 0);
    }
    sort(&t->raw);
    sort(&t->normalized);
    return NULL;
}

/* ---- tokens at the beginning and the end ---- */

enum { MOST_ENDS = 64 };

static dt_status *add_end(dt_tokenizer_reader *r, const dt_json_cursor *at, dt_tokenizer *t,
                          int64_t token, dt_tokens *to) {
    if (token >= t->vocabulary.size || !t->vocabulary.text[token])
        return dt_tokenizer_fail(r, at, "there is no token %lld", (long long)token);
    if (to->n == MOST_ENDS)
        return dt_tokenizer_fail(r, at, "more than %d tokens at an end", MOST_ENDS);
    if (!to->v) to->v = dt_arena_array(r->arena, int32_t, MOST_ENDS);
    to->v[to->n++] = (int32_t)token;
    return NULL;
}

/* Adds the numbers of a special token, {"id": name, "ids": [...], "tokens": [...]}. */
static dt_status *add_special(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t,
                              dt_tokens *to) {
    dt_json_cursor ids;
    int64_t token = 0;
    bool first = true;
    const dt_tokenizer_key keys[] = {
        {"id", NULL, NULL}, {"ids", &ids, NULL}, {"tokens", NULL, NULL}, {0}};
    DT_TRY(dt_tokenizer_object(r, at, "special_tokens", keys));
    DT_TRY(dt_tokenizer_enter(r, &ids, "ids", '['));
    while (dt_json_more(&ids, ']', &first)) {
        dt_json_peek(&ids);
        DT_TRY(dt_tokenizer_int(r, ids, "ids", DT_MOST_TOKENS, &token));
        DT_TRY(add_end(r, &ids, t, token, to));
        dt_json_skip(&ids, 0);
    }
    return NULL;
}

static dt_status *find_special(dt_tokenizer_reader *r, dt_json_cursor at, const char *name,
                               dt_json_cursor *out) {
    const dt_json_cursor begin = at;
    bool first = true;
    DT_TRY(dt_tokenizer_enter(r, &at, "special_tokens", '{'));
    while (dt_json_more(&at, '}', &first) && dt_json_read_key(&at, &r->text)) {
        dt_json_peek(&at);
        *out = at;
        if (strcmp(dt_str_text(&r->text), name) == 0) return NULL;
        dt_json_skip(&at, 0);
    }
    return dt_tokenizer_fail(r, &begin, "'special_tokens' lacks '%.60s'", name);
}

/* Reads an item of a template: {"SpecialToken": {...}}, or {"Sequence": {...}}, which stands for
 * the text. */
static dt_status *read_item(dt_tokenizer_reader *r, dt_json_cursor at, dt_json_cursor specials,
                            dt_tokenizer *t, int *texts) {
    dt_json_cursor special, sequence, id, found;
    const char *name;
    const dt_tokenizer_key keys[] = {
        {"SpecialToken", &special, NULL}, {"Sequence", &sequence, NULL}, {0}};
    DT_TRY(dt_tokenizer_object(r, at, "single", keys));
    const dt_tokenizer_key inner[] = {
        {"id", &id, sequence.at ? "\"A\"" : NULL}, {"type_id", NULL, NULL}, {0}};
    DT_TRY(dt_tokenizer_object(r, sequence.at ? sequence : special, "single", inner));
    if (sequence.at && ++*texts > 1)
        return dt_tokenizer_fail(r, &at, "a template with the text twice is not supported");
    if (sequence.at) return NULL;
    DT_TRY(dt_tokenizer_text(r, id, "single.id", &name));
    dt_local_str copy = {0};
    dt_str_puts(&copy, name);
    dt_status *s = find_special(r, specials, dt_str_text(&copy), &found);
    return s ? s : add_special(r, found, t, *texts ? &t->after : &t->before);
}

static dt_status *read_template(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t) {
    dt_json_cursor single, specials;
    bool first = true;
    int texts = 0;
    /* "pair" is ignored: a template for pairs does not affect a single text. */
    const dt_tokenizer_key keys[] = {{"type", NULL, NULL},
                                     {"single", &single, NULL},
                                     {"pair", NULL, NULL},
                                     {"special_tokens", &specials, NULL},
                                     {0}};
    DT_TRY(dt_tokenizer_object(r, at, "post_processor", keys));
    DT_TRY(dt_tokenizer_enter(r, &single, "single", '['));
    for (int n = 0; dt_json_more(&single, ']', &first); n++) {
        dt_json_peek(&single);
        if (n > 2 * MOST_ENDS)
            return dt_tokenizer_fail(r, &single, "more than %d items in 'single'", 2 * MOST_ENDS);
        DT_TRY(read_item(r, single, specials, t, &texts));
        dt_json_skip(&single, 0);
    }
    return texts ? NULL : dt_tokenizer_fail(r, &at, "the template 'single' lacks the text");
}

/* Reads a pair such as ["[SEP]", 102]. */
static dt_status *read_named(dt_tokenizer_reader *r, dt_json_cursor at, const char *what,
                             dt_tokenizer *t, dt_tokens *to) {
    const dt_json_cursor begin = at;
    const char *name;
    int64_t token = -1;
    bool first = true;
    DT_TRY(dt_tokenizer_enter(r, &at, what, '['));
    for (int i = 0; dt_json_more(&at, ']', &first); i++) {
        dt_json_peek(&at);
        if (i == 0) DT_TRY(dt_tokenizer_text(r, at, what, &name));
        else DT_TRY(dt_tokenizer_int(r, at, what, DT_MOST_TOKENS, &token));
        dt_json_skip(&at, 0);
    }
    return token >= 0 ? add_end(r, &begin, t, token, to)
                      : dt_tokenizer_fail(r, &begin, "'%s' must be a token and its number", what);
}

static dt_status *read_bert(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t) {
    dt_json_cursor sep, cls;
    const dt_tokenizer_key keys[] = {{"type", NULL, NULL},
                                     {"sep", &sep, NULL},
                                     {"cls", &cls, NULL},
                                     {"trim_offsets", NULL, NULL},
                                     {"add_prefix_space", NULL, NULL},
                                     {0}};
    DT_TRY(dt_tokenizer_object(r, at, "post_processor", keys));
    DT_TRY(read_named(r, cls, "cls", t, &t->before));
    return read_named(r, sep, "sep", t, &t->after);
}

/* Checks the keys of a post-processor that only changes offsets, which dtrain does not compute. */
static dt_status *read_offsets(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t) {
    static const dt_tokenizer_key keys[] = {{"type", NULL, NULL},
                                            {"add_prefix_space", NULL, NULL},
                                            {"trim_offsets", NULL, NULL},
                                            {"use_regex", NULL, NULL},
                                            {0}};
    (void)t;
    return dt_tokenizer_object(r, at, "post_processor", keys);
}

dt_status *dt_tokenizer_read_end(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t) {
    static const struct {
        const char *type;
        dt_status *(*read)(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t);
    } rows[] = {{"TemplateProcessing", read_template},
                {"BertProcessing", read_bert},
                {"RobertaProcessing", read_bert},
                {"ByteLevel", read_offsets}};
    const char *type;
    const bool had = t->before.n + t->after.n > 0;
    DT_TRY(dt_tokenizer_type(r, at, "post_processor", &type));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(type, rows[i].type) == 0) {
            if (had && rows[i].read != read_offsets)
                return dt_tokenizer_fail(r, &at,
                                         "post_processor: two that add tokens are not "
                                         "supported");
            return rows[i].read(r, at, t);
        }
    return dt_tokenizer_fail(r, &at, "post_processor '%.60s' is not supported", type);
}
