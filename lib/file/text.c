/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text for language models, whose tokens are characters or those of a tokenizer.json:
 *
 *     dataset:
 *       format: text
 *       train: shakespeare.txt
 *       tokenizer: {type: char}
 *       element: {tokens: {shape: [256], dtype: int32}}
 *
 * Lines end with LF; CRLF is read as LF. The vocabulary consists of the characters of the training
 * text in code point order; a token is the index of a character in it. Example i has `tokens`, the
 * L tokens from i * L on, and `targets`, the L tokens from i * L + 1 on. Both are windows on the
 * same array of tokens, which is in memory once.
 *
 * With `tokenizer: {path: tokenizer.json}` that file defines the tokens. The text of a part is
 * tokenized as a whole.
 *
 * A file named .jsonl, or .jsonl.gz, has a document in each row, {"text": "..."}. The documents
 * follow one another in the text, each followed by end_of_text or, if the job does not give it, a
 * line end. Windows may extend across the end of a document; `reset_attention_mask` keeps attention
 * within a document.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "file/documents.h"
#include "file/part_files.h"
#include "file/tokenizer/tokenizer.h"

enum { CODES = 0x110000, PAGE = 256, PAGES = CODES / PAGE, PIECE = 1 << 16 };

/* ---- the job's keys ---- */

struct text {
    const dt_tree *element;
    int tokenizer;
    bool has_type;                      /* the job contains the key `type` */
    const char *path;                   /* path of a tokenizer.json; NULL: tokens are characters */
    const char *text_key, *end_of_text; /* keys for JSON lines, as in documents.h */
    bool reset_attention_mask, reset_position_ids;
};

static const char *const dtype_names[] = {"int32", NULL}, *const tokenizer_names[] = {"char", NULL};

struct tokens {
    dt_ints shape;
    int dtype;
};

static const dt_field token_fields[] = {
    DT_INTS(struct tokens, shape, .min = 1, .max = 1 << 24, .required = true, .help = "[L]"),
    DT_ENUM(struct tokens, dtype, dtype_names, .preset = "int32", .help = "dtype of the tokens"),
    DT_END};

static const dt_field tokenizer_fields[] = {
    DT_KEY(ENUM, "type", struct text, tokenizer, .choices = tokenizer_names, .preset = "char",
           .set = 1 + offsetof(struct text, has_type), .help = "kind of tokenizer"),
    DT_TEXT(struct text, path,
            .help = "instead: path of a tokenizer.json, of the "
                    "Python package tokenizers"),
    DT_END};

static const dt_field fields[] = {
    DT_ELEMENTS(struct text, token_fields,
                .help = "{tokens: {shape: [L], dtype: int32}}: L characters per example"),
    DT_ONE_OF(tokenizer, DT_FORMS(DT_FORM(DT_FIELD_TABLE, .table = tokenizer_fields)),
              .help = "{type: char}: one token per character, in code point order; {path: "
                      "tokenizer.json}: that file's tokens"),
    DT_TEXT(struct text, text_key, .min = 1, .preset = "text",
            .help = "for .jsonl: key of a document's text in its row"),
    DT_TEXT(struct text, end_of_text,
            .help =
                "for .jsonl: text behind each document, such as the token <|endoftext|>; a line "
                "break if left out"),
    DT_FLAG(struct text, reset_attention_mask,
            .help = "attention stays within the document of a token; needs end_of_text"),
    DT_FLAG(struct text, reset_position_ids,
            .help = "learned positions count from the beginning of a document; needs end_of_text"),
    DT_END};

/* Reads the length of `tokens`, which must be the only element. */
static dt_status *read_length(dt_arena *arena, const dt_tree *element, int64_t *length) {
    struct tokens x;
    DT_TRY(dt_tree_expect(element, DT_TREE_MAP, "element"));
    if (element->n != 1 || strcmp(element->entry[0].key, "tokens") != 0)
        return dt_fail(DT_E_DATASET_KEYS, &element->at,
                       "'element' must have one key, 'tokens'; 'targets' are derived from it");
    const dt_tree *t = element->entry[0].value;
    DT_TRY(dt_tree_expect(t, DT_TREE_MAP, "tokens"));
    DT_TRY(dt_fields_read(arena, token_fields, t, &t->at, "tokens", &x));
    if (x.shape.n != 1)
        return dt_fail(DT_E_DATASET_KEYS, &t->at, "'tokens' must have one dimension, got %d",
                       x.shape.n);
    *length = x.shape.v[0];
    return NULL;
}

static dt_status *declare(dt_arena *arena, const dt_entry *entry, const dt_tree *keys,
                          dt_element_spec *out) {
    int64_t length;
    DT_TRY(read_length(arena, dt_tree_get(keys, "element"), &length));
    *out = (dt_element_spec){
        .name = entry->key, .type = dt_type_of(DT_INT32, 1, &length), .at = entry->value->at};
    return NULL;
}

/* Checks that the tokens are either characters or those of a file. */
static dt_status *check_tokenizer(const dt_format_request *r) {
    const struct text *a = r->args;
    if (!a->path || !a->has_type) return NULL;
    return dt_suggest(dt_fail(DT_E_DATASET_KEYS, &dt_tree_get(r->keys, "tokenizer")->at,
                              "tokenizer has both 'type: char' and 'path'; a token is a character "
                              "or one of the file, not both"),
                      "delete one of them");
}

static dt_documents documents_of(const void *args) {
    const struct text *a = args;
    return (dt_documents){.masked = a->reset_attention_mask, .restarts = a->reset_position_ids};
}

static dt_status *check_documents(const dt_format_request *r) {
    const struct text *a = r->args;
    const char *key = a->reset_attention_mask ? "reset_attention_mask" : "reset_position_ids";
    if (a->end_of_text || !dt_tree_get(r->keys, key) ||
        !(a->reset_attention_mask || a->reset_position_ids))
        return NULL;
    return dt_fail(DT_E_DATASET_KEYS, &dt_tree_get(r->keys, key)->at,
                   "%s needs end_of_text, the token that ends a document", key);
}

static dt_status *check(const dt_format_request *r, dt_texts *names) {
    const struct text *a = r->args;
    int64_t length;
    dt_status *s = dt_files_check(r);
    if (r->part == DT_PART_TRAIN) dt_status_append(&s, check_tokenizer(r));
    if (r->part == DT_PART_TRAIN) dt_status_append(&s, check_documents(r));
    if (a->element && r->part == DT_PART_TRAIN) /* the errors are reported once */
        dt_status_append(&s, read_length(r->arena, a->element, &length));
    names->v = dt_arena_array(r->arena, const char *, 2);
    names->v[names->n++] = "tokens";
    names->v[names->n++] = "targets";
    return s;
}

/* ---- files, and their characters ---- */

static const char *const wanted = "text";

/* Appends a file's contents without a byte order mark. */
static dt_status *read_file(const char *path, dt_str *out) {
    dt_inflow *f;
    DT_LOCAL char *piece = dt_alloc(PIECE);
    int64_t got = PIECE;
    size_t skip = 0;
    const size_t before = out->size;
    dt_status *s = dt_inflow_open(&f, path);
    while (!s && got == PIECE) {
        s = dt_inflow_read(f, piece, PIECE, &got);
        if (!s && (int64_t)out->size + got > DT_LARGEST_TEXT)
            s = dt_fail(DT_E_TOO_LARGE, NULL, "%s: more than %lld bytes of text", path,
                        (long long)DT_LARGEST_TEXT);
        if (!s && out->size == before)
            s = dt_text_look(
                &(dt_text_file){
                    .path = path, .wanted = wanted, .fault = DT_E_DATA_FILE, .any_text = true},
                piece, (size_t)got, &skip);
        if (!s) dt_str_add(out, piece + skip, (size_t)got - skip);
        skip = 0;
    }
    dt_inflow_close(f);
    return s;
}

/* Where a file begins in the joined text, so that messages can name the location in the file. */
typedef struct origin {
    const char *path;
    int64_t byte, character;
} origin;

/* Joins all files of a part. A character that is cut off at the end of a file continues in the next
 * file. */
static dt_status *read_files(const dt_format_request *r, const dt_paths *paths,
                             const dt_location *at, origin *from, dt_str *out) {
    const struct text *a = r->args;
    for (int i = 0; i < paths->n; i++) {
        const char *path = paths->v[i];
        const dt_documents_file f = {path, a->text_key, a->end_of_text};
        from[i] = (origin){.path = path, .byte = (int64_t)out->size, .character = INT64_MAX};
        DT_TRY(dt_at(dt_is_documents_file(path) ? dt_documents_read(&f, out) : read_file(path, out),
                     at));
    }
    return NULL;
}

typedef struct codes {
    uint32_t *v; /* [n] code points, which are later replaced by tokens */
    int64_t n;
    origin *from; /* [files] where each file begins */
    int files;
} codes;

static dt_status *decode(const dt_str *text, codes *out) {
    out->v = dt_try_alloc((text->size + 1) * sizeof *out->v);
    if (!out->v)
        return dt_fail(DT_E_NO_MEMORY, NULL, "%s: out of memory for %zu characters",
                       out->from->path, text->size);
    const char *start = dt_str_text(text), *end = start + text->size;
    int file = -1;
    for (const char *p = start; p < end; out->n++) {
        p += *p == '\r' && p + 1 < end && p[1] == '\n'; /* reads CRLF as LF */
        /* if CR and LF are in two files, the LF is the second file's first character */
        while (file + 1 < out->files && p - start >= out->from[file + 1].byte)
            out->from[++file].character = out->n;
        size_t size = dt_utf8_next(p, (size_t)(end - p), &out->v[out->n]);
        if (size == 0 || *p == '\0') {
            /* Skips bytes at the beginning of the file that complete a character which the previous
             * file began. */
            const char *begin = start + out->from[file].byte;
            while (begin < p && ((unsigned char)*begin & 0xc0) == 0x80) begin++;
            return dt_text_check(&(dt_text_file){.path = out->from[file].path,
                                                 .wanted = wanted,
                                                 .fault = DT_E_DATA_FILE},
                                 begin, (size_t)(end - begin), 1);
        }
        p += size;
    }
    return NULL;
}

/* The token of each code point, or -1, in pages of PAGE code points. Only pages that the text needs
 * are allocated. */
typedef struct numbering {
    int32_t *page[PAGES];
} numbering;

static void numbering_release(numbering *x) {
    for (int p = 0; p < PAGES; p++) free(x->page[p]);
}

static int32_t *page_of(numbering *x, uint32_t code) {
    int32_t **page = &x->page[code / PAGE];
    if (!*page) *page = memset(dt_alloc(PAGE * sizeof **page), -1, PAGE * sizeof **page);
    return *page;
}

/* Numbers the characters of a text in code point order. Returns the vocabulary, in the arena; *n:
 * its size. */
static const uint32_t *number_codes(const codes *c, numbering *x, dt_arena *arena, int64_t *n) {
    *n = 0;
    for (int64_t i = 0; i < c->n; i++) {
        int32_t *token = &page_of(x, c->v[i])[c->v[i] % PAGE];
        *n += *token < 0;
        *token = 0;
    }
    uint32_t *code = dt_arena_array(arena, uint32_t, *n), *to = code;
    for (uint32_t p = 0; p < PAGES; p++)
        for (uint32_t i = 0; x->page[p] && i < PAGE; i++)
            if (x->page[p][i] == 0) {
                x->page[p][i] = (int32_t)(to - code);
                *to++ = p * PAGE + i;
            }
    return code;
}

static dt_status *unknown(const codes *c, int64_t at) {
    const origin *from = &c->from[c->files - 1];
    while (from->character > at) from--;
    return dt_fail(DT_E_DATA_FILE, NULL,
                   "%s: character %lld (U+%04X) does not occur in the training text", from->path,
                   (long long)(at - from->character), (unsigned)c->v[at]);
}

/* Replaces code points by tokens in place, since both have 32 bits. Fails at a character that has
 * no token. */
static dt_status *replace_codes(codes *c, const numbering *x) {
    for (int64_t i = 0; i < c->n; i++) {
        const int32_t *page = x->page[c->v[i] / PAGE];
        const int32_t t = page ? page[c->v[i] % PAGE] : -1;
        if (t < 0) return unknown(c, i);
        c->v[i] = (uint32_t)t;
    }
    return NULL;
}

/* ---- a part ---- */

typedef struct text_part {
    dt_examples base;
    codes tokens;
    int64_t length, vocabulary;
    /* [vocabulary] code points in ascending order; NULL: `tokenizer` has the tokens */
    const uint32_t *code;
    const dt_tokenizer *tokenizer; /* tokenizer of a file; NULL: tokens are characters */
} text_part;

static dt_status *read_codes(const dt_format_request *r, const dt_tree *names, dt_paths *paths,
                             codes *out) {
    dt_local_str text = {0};
    dt_status *s = dt_files_find(r, names, paths);
    *out = (codes){.from = dt_arena_array(r->arena, origin, paths->n), .files = paths->n};
    if (!s) s = read_files(r, paths, &names->at, out->from, &text);
    if (!s) s = dt_at(decode(&text, out), &names->at);
    return s;
}

/* Converts a part's characters to tokens. Parts other than train use train's vocabulary, so the
 * training text is read again. */
static dt_status *tokenize(const dt_format_request *r, text_part *x, numbering *numbers) {
    codes train = {0};
    dt_paths paths = {0};
    dt_status *s = NULL;
    if (r->part != DT_PART_TRAIN) s = read_codes(r, r->train, &paths, &train);
    dt_paths_release(&paths);
    x->code = number_codes(r->part == DT_PART_TRAIN ? &x->tokens : &train, numbers, r->arena,
                           &x->vocabulary);
    free(train.v);
    dt_str text = {0};
    for (int64_t i = 0; i < x->vocabulary; i++) dt_str_utf8(&text, x->code[i]);
    x->base.characters = dt_arena_take(r->arena, &text);
    return s ? s : dt_at(replace_codes(&x->tokens, numbers), &r->tree->at);
}

/* Replaces a part's characters by the tokens of the job's tokenizer.json. */
static dt_status *encode_part(const dt_format_request *r, const char *written, text_part *x) {
    char *path = dt_path_join(r->directory, written);
    dt_local_str text = {0};
    dt_tokens tokens = {0};
    dt_status *s = dt_tokenizer_read(r->arena, path, &x->tokenizer);
    free(path);
    for (int64_t i = 0; !s && i < x->tokens.n; i++) dt_str_utf8(&text, x->tokens.v[i]);
    free(x->tokens.v);
    x->tokens.v = NULL;
    if (!s) s = dt_tokenizer_encode(x->tokenizer, dt_str_text(&text), text.size, &tokens);
    x->vocabulary = dt_tokenizer_size(x->tokenizer);
    x->base.named = written;
    x->tokens.v = (uint32_t *)tokens.v;
    x->tokens.n = tokens.n;
    return dt_at(s, &r->tree->at);
}

static dt_status *number_part(const dt_format_request *r, text_part *x) {
    const char *path = ((const struct text *)r->args)->path;
    if (path) return encode_part(r, path, x);
    DT_LOCAL numbering *numbers = dt_alloc(sizeof *numbers);
    dt_status *s = tokenize(r, x, numbers);
    numbering_release(numbers);
    return s;
}

static dt_status *read_part(const dt_format_request *r, text_part *x) {
    DT_TRY(read_length(r->arena, ((const struct text *)r->args)->element, &x->length));
    DT_TRY(read_codes(r, r->tree, &x->base.paths, &x->tokens));
    const char *file = x->base.paths.v[0];
    DT_TRY(number_part(r, x));
    x->base.count = x->tokens.n > 0 ? (x->tokens.n - 1) / x->length : 0;
    if (x->base.count == 0)
        return dt_fail(DT_E_DATA_EMPTY, &r->tree->at,
                       "%s: %lld %s are too few: an example needs %lld and the next one", file,
                       (long long)x->tokens.n, x->tokenizer ? "tokens" : "characters",
                       (long long)x->length);
    x->base.n = 2;
    x->base.stored = dt_arena_array(r->arena, dt_element_spec, 2);
    for (int e = 0; e < 2; e++)
        x->base.stored[e] = (dt_element_spec){.name = e ? "targets" : "tokens",
                                              .type = dt_type_of(DT_INT32, 1, &x->length),
                                              .at = r->tree->at,
                                              .file = file,
                                              .classes = x->vocabulary,
                                              .numbers = x->vocabulary};
    return NULL;
}

static void close_part(dt_examples *base) {
    text_part *x = (text_part *)base;
    free(x->tokens.v);
    dt_paths_release(&x->base.paths);
}

static dt_status *whole(dt_examples *base, int e, const void **rows) {
    text_part *x = (text_part *)base;
    *rows = x->tokens.v + e;
    return NULL;
}

static dt_status *read_example(dt_examples *base, int64_t row, dt_read_buffer *buffer,
                               void *const *out) {
    text_part *x = (text_part *)base;
    (void)buffer;
    for (int e = 0; e < base->n; e++)
        if (out[e])
            memcpy(out[e], x->tokens.v + e + row * x->length,
                   (size_t)x->length * sizeof *x->tokens.v);
    return NULL;
}

/* ---- text and tokens, and the format ---- */

static int compare_codes(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static dt_status *find_tokens(const dt_examples *base, const char *text, dt_tokens *out) {
    const text_part *x = (const text_part *)base;
    size_t size = strlen(text), step;
    uint32_t code = 0;
    if (x->tokenizer) return dt_tokenizer_encode(x->tokenizer, text, size, out);
    for (size_t i = 0; i < size; i += step) {
        step = dt_utf8_next(text + i, size - i, &code);
        const uint32_t *at =
            step ? bsearch(&code, x->code, (size_t)x->vocabulary, sizeof code, compare_codes)
                 : NULL;
        if (!at)
            return dt_fail(DT_E_RANGE, NULL,
                           "character %lld, U+%04X, does not occur in the training text",
                           (long long)out->n, (unsigned)code);
        dt_tokens_add(out, (int32_t)(at - x->code));
    }
    return NULL;
}

/* Appends the text of a token: without a tokenizer, its character. A model may have more tokens
 * than the text has characters; those without a character become U+FFFD. */
static void put_token(const dt_examples *base, int32_t token, bool first, dt_str *out) {
    const text_part *x = (const text_part *)base;
    enum { REPLACEMENT_CHARACTER = 0xfffd };
    if (x->tokenizer) {
        dt_tokenizer_decode(x->tokenizer, token, first, out);
        return;
    }
    bool is_known = token >= 0 && token < x->vocabulary;
    dt_str_utf8(out, is_known ? x->code[token] : REPLACEMENT_CHARACTER);
}

/* Sets `documents` and, if attention or positions are reset, the token that ends a document. Then
 * it fails unless end_of_text is exactly one token. */
static dt_status *find_end(const dt_format_request *r, text_part *x) {
    const struct text *a = r->args;
    dt_tokens end = {0};
    x->base.documents = documents_of(a);
    if (!a->reset_attention_mask && !a->reset_position_ids) return NULL;
    dt_status *s = find_tokens(&x->base, a->end_of_text, &end);
    if (!s && end.n == 1) x->base.documents.end = end.v[0];
    if (s || end.n != 1) {
        dt_status_free(s);
        s = dt_fail(DT_E_DATASET_KEYS, &dt_tree_get(r->keys, "end_of_text")->at,
                    "end_of_text '%.80s' is not one token%s", a->end_of_text,
                    x->tokenizer ? " of the tokenizer" : " of the training text, a character");
    }
    free(end.v);
    return s;
}

static dt_status *open_part(const dt_format_request *r, dt_examples **out) {
    static const dt_example_reader reader = {.whole = whole,
                                             .at = read_example,
                                             .encode = find_tokens,
                                             .decode = put_token,
                                             .close = close_part};
    text_part *x = dt_arena_new(r->arena, text_part);
    *out = &x->base;
    x->base.reader = &reader;
    DT_TRY(read_part(r, x));
    return find_end(r, x);
}

const dt_format dt_format_text = {
    .kind = {.name = "text",
             .about = "text in UTF-8: each example is L characters, its targets the same shifted "
                      "by one; may be gzipped",
             .fields = fields,
             .size = sizeof(struct text)},
    .content = DT_CONTENT_TEXT,
    .check = check,
    .declare = declare,
    .open_part = open_part,
    .documents = documents_of,
};
