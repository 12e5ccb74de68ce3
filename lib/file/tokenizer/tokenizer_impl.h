/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a tokenizer, for the files of this folder. All parts are in one arena, except tables
 * that all tokenizers share. They do not change after reading, except for the cache of words. */
#ifndef DT_FILE_TOKENIZER_TOKENIZER_IMPL_H
#define DT_FILE_TOKENIZER_TOKENIZER_IMPL_H

#include <stdatomic.h>

#include "base/siphash.h"
#include "file/json_text.h"
#include "file/json_values.h"
#include "file/tokenizer/tokenizer.h"

/* ---- regular expressions: pattern.c ---- */

typedef struct dt_regex dt_regex;
/* The characters of words, \w in the package `tokenizers`; stands in brackets of a pattern. */
#define DT_WORD "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}"
/* Compiles a regular expression of the file, which has the syntax of Oniguruma. Only constructs
 * with the same meaning in PCRE2 are accepted. *fault: what is wrong with the expression, as the
 * end of a message, in the arena or a literal; NULL: nothing. Error PLUGIN: libpcre2-8 is not
 * installed, or of another version. */
dt_status *dt_regex_compile(dt_arena *arena, const char *source, const dt_regex **out,
                            const char **fault) DT_MUST_USE;
/* Calls `see` for the stretches of a text in order: the matches, and the gaps before, between and
 * after them that are not empty. Stops at the first error of `see`. Errors of its own: RANGE if
 * matching takes too many steps or too much memory, NO_MEMORY. */
typedef dt_status *dt_see_stretch(void *user, const char *text, size_t n, bool is_match);
dt_status *dt_regex_split(const dt_regex *p, const char *text, size_t n, dt_see_stretch *see,
                          void *user) DT_MUST_USE;

/* ---- tokens by text: vocabulary.c ---- */

typedef struct dt_vocabulary {
    int32_t size; /* all numbers are below this limit */
    /* Numbers of the model's tokens are below this limit. Added tokens that the model lacks have
     * numbers from it on. */
    int32_t own;
    bool has_gaps;        /* some numbers below `own` have no token */
    const char **text;    /* [size] NUL-terminated; NULL: no token has the number */
    size_t *length;       /* [size] number of bytes of each text */
    uint32_t *slot, mask; /* slot: [mask + 1] number of a token + 1; 0: the slot is free */
    dt_siphash_key key;
} dt_vocabulary;
enum { DT_MOST_TOKENS = 1 << 21, DT_LONGEST_TOKEN = 1 << 16 };
/* Returns the slot of a text in the hash table, or the free slot where it belongs. */
uint32_t *dt_vocabulary_slot(const dt_vocabulary *v, const char *text, size_t n);
/* Returns the number of the model's token with that text; -1: there is none. Added tokens that the
 * model lacks are not found. */
int32_t dt_vocabulary_find(const dt_vocabulary *v, const char *text, size_t n);

/* ---- reading: json.c, vocabulary.c ---- */

typedef struct dt_tokenizer_reader {
    dt_json_place place;
    dt_arena *arena;
    dt_str text; /* the text that was read last */
} dt_tokenizer_reader;

/* A key of an object. Keys that a table lacks are errors. */
typedef struct dt_tokenizer_key {
    const char *name;
    /* Receives the position of the value; its `at` is NULL if the value is missing or null. NULL:
     * the value is not used. */
    dt_json_cursor *value;
    /* The JSON values that are accepted, such as "null|\"\""; NULL: any value. */
    const char *only;
} dt_tokenizer_key;

/* Reads the keys of an object. `keys` ends with an entry whose name is NULL. `what` is the object's
 * name in messages, such as "model". */
dt_status *dt_tokenizer_object(dt_tokenizer_reader *r, dt_json_cursor at, const char *what,
                               const dt_tokenizer_key *keys) DT_MUST_USE;
/* Reads the text of an object's "type". *out is valid until the next text is read. */
dt_status *dt_tokenizer_type(dt_tokenizer_reader *r, dt_json_cursor at, const char *what,
                             const char **out) DT_MUST_USE;
/* Read a text, an integer from 0 to `most`, and a boolean. If an integer or a boolean is missing,
 * *out is not changed; a missing text is an error. Texts with NUL are refused. A text is valid
 * until the next one is read. */
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
/* Returns the syntax error at which the cursor stopped; NULL: there is none. */
dt_status *dt_tokenizer_fault(const dt_tokenizer_reader *r, const dt_json_cursor *at) DT_MUST_USE;

/* Makes an empty vocabulary with space for `size` numbers, n texts, and the added tokens. */
void dt_vocabulary_create(dt_arena *arena, int64_t size, int64_t n, dt_vocabulary *out);
/* Adds r->text, which the file has at `at`, as a token. */
dt_status *dt_vocabulary_add(dt_tokenizer_reader *r, const dt_json_cursor *at, dt_vocabulary *v,
                             int64_t number) DT_MUST_USE;
/* Reads {"text": number, ...}. */
dt_status *dt_vocabulary_read(dt_tokenizer_reader *r, dt_json_cursor at,
                              dt_vocabulary *out) DT_MUST_USE;
/* With byte_fallback, finds the tokens of all bytes, such as "<0x0A>", and fails if one is missing.
 * Otherwise sets byte[0] to -1. */
dt_status *dt_vocabulary_bytes(dt_tokenizer_reader *r, dt_json_cursor at, const dt_vocabulary *v,
                               bool falls_back, int32_t byte[256]) DT_MUST_USE;

/* ---- models, and the other parts of a tokenizer ---- */

/* A model, which converts a piece to tokens. */
typedef struct dt_token_model {
    const char *type; /* the "type" in tokenizer.json, such as "BPE" */
    dt_status *(*read)(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t);
    dt_status *(*encode)(const dt_tokenizer *t, const char *piece, size_t n, dt_tokens *out);
} dt_token_model;
extern const dt_token_model dt_token_bpe, dt_token_word_piece, dt_token_unigram,
    dt_token_word_level;

/* A word of at most 22 bytes with its tokens, at most 8. The cache is a table with DT_CACHED_WORDS
 * slots; the hash of a word selects its slot. A thread that finds the slot in use works without the
 * cache. */
typedef struct dt_cached_word {
    atomic_flag in_use;
    /* size: number of bytes of the word, 0: the slot is free; n: number of its tokens */
    uint8_t size, n;
    char word[22];
    int32_t token[8];
} dt_cached_word;
enum { DT_CACHED_WORDS = 1 << 15 };

/* A stage of the pre-tokenizer: splits pieces by a pattern. */
typedef struct dt_splitter {
    const dt_regex *pattern; /* NULL: pieces are not split */
    bool drops_gaps, drops_matches;
    bool joins_before;  /* a match is appended to the gap before it, if there is one */
    bool joins_after;   /* a match is put before the gap after it, if there is one */
    bool prefixes_once; /* only the piece at the beginning of a text gets the prefix */
    const char *prefix; /* put before each piece that does not begin with it; NULL: none */
    /* replaces each space before splitting, if `prefix` is not NULL; NULL: spaces stay */
    const char *blank;
} dt_splitter;
enum { DT_MOST_SPLITS = 8, DT_MOST_ADDED = 1 << 14, DT_LONGEST_ADDED = 255 };

typedef struct dt_added_token {
    int32_t token;
    int size;
    const char *text;
    bool lstrip, rstrip; /* blanks before or after the token become part of it */
    bool single_word;    /* the token is not recognized as a part of a word */
} dt_added_token;

/* Added tokens, sorted by their bytes. */
typedef struct dt_added_tokens {
    dt_added_token *v; /* [n] the tokens */
    int n, from[257];  /* from[b]: index of the first token whose first byte is at least b */
} dt_added_tokens;

/* A step of the normalizer. `apply` appends the changed text to `out`. */
typedef struct dt_normalizer_step {
    dt_status *(*apply)(const void *made, const char *text, size_t n, dt_str *out);
    const void *made; /* data of the step, in the arena */
} dt_normalizer_step;
enum { DT_MOST_STEPS = 16 };

typedef struct dt_normalizer {
    int n; /* number of steps; 0: texts are not changed */
    dt_normalizer_step step[DT_MOST_STEPS];
} dt_normalizer;

struct dt_tokenizer {
    const char *path;
    dt_vocabulary vocabulary; /* the tokens of the model, and the added tokens */
    /* raw: added tokens that are recognized in a text as it is given; normalized: those that are
     * recognized in what the normalizer made of the rest. */
    dt_added_tokens raw, normalized;
    const dt_regex *word; /* matches a character of words; NULL: no added token needs it */
    dt_normalizer normalizer;
    bool byte_level;    /* tokens are spelled in characters that stand for bytes */
    bool decodes_bytes; /* characters of tokens stand for bytes of the text */
    const char *blank;  /* text that stands for a space in tokens; NULL: none */
    /* how many spaces are removed from the first token of a text: 0, 1 (one at its front), or
     * INT_MAX (all) */
    int first_blanks;
    bool falls_back; /* tokens such as "<0x0A>" stand for bytes of the text */
    bool fuses;      /* the decoder joins the texts of all tokens */
    /* the prefix of tokens that continue a word, such as "##"; NULL: texts of tokens are joined
     * without spaces */
    const char *continues;
    bool cleans_up; /* no spaces before punctuation and endings such as "n't"; see decode.c */
    int n_splits;
    dt_splitter split[DT_MOST_SPLITS];
    const dt_token_model *model;
    const void *made; /* data of the model */
    /* Tokens that the post-processor adds before and after the text, in the arena. */
    dt_tokens before, after;
    int32_t pad;
    bool pad_left;
    dt_cached_word *cache; /* [DT_CACHED_WORDS] the slots of the cache */
};

/* Whether the character has Unicode's property White_Space. */
bool dt_is_blank(uint32_t c);
/* Returns the number of bytes of the blank character that a text begins with (after) or ends with
 * (before); 0: it does not. */
size_t dt_blank_after(const char *text, size_t n);
size_t dt_blank_before(const char *text, size_t n);
/* Returns the character that stands for a byte in the tokens of byte-level vocabularies. */
uint32_t dt_byte_level_code(unsigned char byte);

/* ---- parts of the file: normalize.c, splits.c, added.c, decode.c ---- */

dt_status *dt_tokenizer_read_added(dt_tokenizer_reader *r, dt_json_cursor at,
                                   dt_tokenizer *t) DT_MUST_USE;
/* A function that reads one component of a stage, which is the stage itself or an element of its
 * "Sequence". */
typedef dt_status *dt_read_component(dt_tokenizer_reader *r, dt_json_cursor at, dt_tokenizer *t);
dt_read_component dt_tokenizer_read_normalizer, dt_tokenizer_read_split, dt_tokenizer_read_end,
    dt_tokenizer_read_decoder;
/* Appends the text after all steps of the normalizer. */
dt_status *dt_normalize(const dt_normalizer *x, const char *text, size_t n,
                        dt_str *out) DT_MUST_USE;
/* Returns the error RANGE if a text of n bytes has become too long. */
dt_status *dt_normalizer_check(size_t n, const dt_str *out) DT_MUST_USE;
/* Functions that read one kind of step: characters.c, unicode_form.c, charsmap.c. */
typedef dt_status *dt_read_step(dt_tokenizer_reader *r, dt_json_cursor at, const char *type,
                                dt_normalizer_step *out);
dt_read_step dt_step_of_characters, dt_step_of_form, dt_step_of_charsmap;
/* Compiles {"String": text} or {"Regex": pattern}; *literal: the text; NULL if it is a pattern. */
dt_status *dt_tokenizer_pattern(dt_tokenizer_reader *r, dt_json_cursor at, const char *what,
                                const dt_regex **out, const char **literal) DT_MUST_USE;

#endif
