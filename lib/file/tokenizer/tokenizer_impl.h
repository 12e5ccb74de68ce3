/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a tokenizer, for the files of this folder. All of it lies in one arena and does not
 * change once it has been read, except the cache of words. */
#ifndef DT_FILE_TOKENIZER_TOKENIZER_IMPL_H
#define DT_FILE_TOKENIZER_TOKENIZER_IMPL_H

#include <stdatomic.h>

#include "base/siphash.h"
#include "file/json_text.h"
#include "file/json_values.h"
#include "file/tokenizer/tokenizer.h"

/* ---- regular expressions: pattern.c ---- */

typedef struct dt_regex dt_regex;
/* Compiles a regular expression of the file, in the syntax of Oniguruma, of which those parts are
 * accepted that mean the same in PCRE2. *fault: what is wrong with it; NULL: nothing. */
dt_status *dt_regex_compile(dt_arena *arena, const char *source, const dt_regex **out,
                            const char **fault) DT_MUST_USE;
/* Calls `see` for the stretches of a text in order: matches, and what is between them. */
typedef dt_status *dt_see_stretch(void *user, const char *text, size_t n, bool is_match);
dt_status *dt_regex_split(const dt_regex *p, const char *text, size_t n, dt_see_stretch *see,
                          void *user) DT_MUST_USE;

/* ---- tokens by text: vocabulary.c ---- */

typedef struct dt_vocabulary {
    int32_t size;         /* numbers are below it */
    int32_t own;          /* numbers of the model are below it, those of added tokens are not */
    bool has_gaps;        /* the model does not use all numbers below `own` */
    const char **text;    /* [size] NUL-terminated; NULL: no token has the number */
    size_t *length;       /* [size] in bytes */
    uint32_t *slot, mask; /* [mask + 1] number + 1; 0: free */
    dt_siphash_key key;
} dt_vocabulary;
enum { DT_MOST_TOKENS = 1 << 21, DT_LONGEST_TOKEN = 1 << 16 };
/* The place of a text in the table. */
uint32_t *dt_vocabulary_slot(const dt_vocabulary *v, const char *text, size_t n);
/* The model's token of that text; -1: none. A model does not see added tokens. */
int32_t dt_vocabulary_find(const dt_vocabulary *v, const char *text, size_t n);

/* ---- reading: json.c ---- */

typedef struct dt_tokenizer_reader {
    dt_json_place place;
    dt_arena *arena;
    dt_str text; /* the last text */
} dt_tokenizer_reader;

/* A key of an object. Keys that a table lacks are errors. */
typedef struct dt_tokenizer_key {
    const char *name;
    dt_json_cursor *value; /* receives the value; at NULL: missing, or null */
    const char *only;      /* "null|\"\"": the values that are accepted, as JSON; NULL: any */
} dt_tokenizer_key;

/* Reads the keys of an object up to the one whose name is NULL. `what` is its name in messages,
 * "model". */
dt_status *dt_tokenizer_object(dt_tokenizer_reader *r, dt_json_cursor at, const char *what,
                               const dt_tokenizer_key *keys) DT_MUST_USE;
/* The value of an object's "type", lent until the next text is read. */
dt_status *dt_tokenizer_type(dt_tokenizer_reader *r, dt_json_cursor at, const char *what,
                             const char **out) DT_MUST_USE;
/* Values; a missing one leaves *out as it is, except texts, which must be there. Texts with NUL are
 * refused. */
dt_status *dt_tokenizer_text(dt_tokenizer_reader *r, dt_json_cursor at, const char *what,
                             const char **out) DT_MUST_USE;
dt_status *dt_tokenizer_int(dt_tokenizer_reader *r, dt_json_cursor at, const char *what,
                            int64_t most, int64_t *out) DT_MUST_USE;
dt_status *dt_tokenizer_bool(dt_tokenizer_reader *r, dt_json_cursor at, const char *what,
                             bool *out) DT_MUST_USE;
/* Begins a list or an object; dt_json_more goes through it. */
dt_status *dt_tokenizer_enter(dt_tokenizer_reader *r, dt_json_cursor *at, const char *what,
                              char open) DT_MUST_USE;
dt_status *dt_tokenizer_fail(const dt_tokenizer_reader *r, const dt_json_cursor *at,
                             const char *format, ...) DT_MUST_USE DT_PRINTF(3, 4);
/* The fault of the cursor, or NULL. */
dt_status *dt_tokenizer_fault(const dt_tokenizer_reader *r, const dt_json_cursor *at) DT_MUST_USE;

/* An empty vocabulary with room for `size` numbers, n texts, and added tokens. */
void dt_vocabulary_create(dt_arena *arena, int64_t size, int64_t n, dt_vocabulary *out);
/* Adds r->text, which the file has at `at`, as a token. */
dt_status *dt_vocabulary_add(dt_tokenizer_reader *r, const dt_json_cursor *at, dt_vocabulary *v,
                             int64_t number) DT_MUST_USE;
/* Reads {"text": number, ...}. */
dt_status *dt_vocabulary_read(dt_tokenizer_reader *r, dt_json_cursor at,
                              dt_vocabulary *out) DT_MUST_USE;
/* With byte_fallback, finds the tokens of all bytes, such as "<0x0A>"; otherwise byte[0] is -1. */
dt_status *dt_vocabulary_bytes(dt_tokenizer_reader *r, dt_json_cursor at, const dt_vocabulary *v,
                               bool falls_back, int32_t byte[256]) DT_MUST_USE;

/* ---- models ---- */

/* How a model makes tokens of a piece. `bytes`: the piece is bytes, as ByteLevel hands them on. */
typedef struct dt_token_model {
    const char *type; /* "BPE" */
    dt_status *(*read)(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t);
    dt_status *(*encode)(const dt_tokenizer *t, const char *piece, size_t n, dt_tokens *out);
} dt_token_model;
extern const dt_token_model dt_token_bpe, dt_token_word_piece, dt_token_unigram,
    dt_token_word_level;

/* A word with its tokens, in a table with one place for each hash. A thread that finds a place in
 * use works without the cache. */
typedef struct dt_cached_word {
    atomic_flag in_use;
    uint8_t size, n; /* size 0: free */
    char word[22];
    int32_t token[8];
} dt_cached_word;
enum { DT_CACHED_WORDS = 1 << 15 };

/* A stage of the pre-tokenizer: splits pieces by a pattern. */
typedef struct dt_splitter {
    const dt_regex *pattern; /* NULL: does not split */
    bool drops_gaps, drops_matches;
    bool joins_before;  /* a match is appended to the piece before it and ends it */
    bool joins_after;   /* a match begins the piece after it */
    bool prefixes_once; /* only the piece at the beginning of a text gets the prefix */
    const char *prefix; /* put before each piece that does not begin with it; NULL: none */
    const char *blank;  /* replaces each space before splitting; NULL: spaces stay */
} dt_splitter;
enum { DT_MOST_SPLITS = 8, DT_MOST_ADDED = 1 << 14, DT_LONGEST_ADDED = 255 };

typedef struct dt_added_token {
    int32_t token;
    int size;
    const char *text;
    bool lstrip, rstrip; /* takes the blanks before and after it, too */
} dt_added_token;

/* Added tokens in order of their bytes. */
typedef struct dt_added_tokens {
    dt_added_token *v; /* [n] */
    int n, from[257];  /* from: the first whose first byte is not less */
} dt_added_tokens;

/* A step of the normalizer: appends the changed text. */
typedef struct dt_normalizer_step {
    dt_status *(*apply)(const void *made, const char *text, size_t n, dt_str *out);
    const void *made; /* the step's data, in the arena */
} dt_normalizer_step;
enum { DT_MOST_STEPS = 16 };

typedef struct dt_normalizer {
    int n; /* 0: changes nothing */
    dt_normalizer_step step[DT_MOST_STEPS];
} dt_normalizer;

struct dt_tokenizer {
    const char *path;
    dt_vocabulary vocabulary;        /* tokens of the model, and added tokens */
    dt_added_tokens raw, normalized; /* looked for before and after the normalizer */
    dt_normalizer normalizer;
    bool byte_level;    /* pieces are bytes */
    bool decodes_bytes; /* characters of tokens stand for bytes of the text */
    const char *blank;  /* what stands for a space in tokens; NULL: nothing does */
    int first_blanks;   /* how many spaces at the front of a text's first token are dropped */
    bool falls_back;    /* tokens "<0x0A>" are bytes of the text */
    bool fuses;         /* the decoder joins the tokens */
    /* begins tokens that continue a word, "##"; NULL: tokens are joined as they are */
    const char *continues;
    bool cleans_up; /* no space before punctuation; see decode.c */
    int n_splits;
    dt_splitter split[DT_MOST_SPLITS];
    const dt_token_model *model;
    const void *made;        /* the model's own */
    dt_tokens before, after; /* the post-processor's, in the arena */
    int32_t pad;
    bool pad_left;
    dt_cached_word *cache; /* [DT_CACHED_WORDS] */
};

/* Whether Unicode calls the character White_Space. */
bool dt_is_blank(uint32_t c);
/* Bytes of the blank character with which a text begins, or ends; 0: it does not. */
size_t dt_blank_after(const char *text, size_t n);
size_t dt_blank_before(const char *text, size_t n);
/* The character that stands for a byte in byte-level vocabularies. */
uint32_t dt_byte_level_code(unsigned char byte);

/* ---- parts of the file: normalize.c, splits.c, added.c, decode.c ---- */

dt_status *dt_tokenizer_read_added(dt_tokenizer_reader *r, dt_json_cursor at,
                                   dt_tokenizer *t) DT_MUST_USE;
/* Reads one component of a stage: the stage itself, or an element of its "Sequence". */
typedef dt_status *dt_read_component(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t);
dt_read_component dt_tokenizer_read_normalizer, dt_tokenizer_read_split, dt_tokenizer_read_end,
    dt_tokenizer_read_decoder;
/* Appends the text as the normalizer changes it. */
dt_status *dt_normalize(const dt_normalizer *x, const char *text, size_t n,
                        dt_str *out) DT_MUST_USE;
/* RANGE: a text of n bytes has become too long. */
dt_status *dt_normalizer_check(size_t n, const dt_str *out) DT_MUST_USE;
/* Each reads one kind of step: characters.c, unicode_form.c, charsmap.c. */
typedef dt_status *dt_read_step(dt_tokenizer_reader *r, dt_json_cursor at, const char *type,
                                dt_normalizer_step *out);
dt_read_step dt_step_of_characters, dt_step_of_form, dt_step_of_charsmap;
/* Compiles {"String": text} or {"Regex": pattern}; *literal: the text, NULL for a pattern. */
dt_status *dt_tokenizer_pattern(dt_tokenizer_reader *r, dt_json_cursor at, const char *what,
                                const dt_regex **out, const char **literal) DT_MUST_USE;

#endif
