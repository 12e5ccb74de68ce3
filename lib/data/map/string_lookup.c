/* SPDX-License-Identifier: Apache-2.0 */
/*
 * string_lookup: converts a text to its index in a vocabulary, as Keras' StringLookup. Indices
 * begin at 1; unknown texts get 0. With `mask_token`, that text gets 0, unknown texts get 1, and
 * words begin at 2. With `num_oov_indices: 0`, unknown texts get -1, which is refused as a class
 * and as a row of a table, and words begin at 0, or at 1 with a mask token. With an output_mode
 * other than int, the output is a row with 1, or the word's weight, at the index; unknown texts
 * have index 0 in it, and the row of the mask token is all zeros. For a single text, one_hot,
 * multi_hot and count are the same.
 *
 * integer_lookup is the same for integers, as Keras' IntegerLookup. Words are their decimal digits.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/map/step.h"
#include "data/map/words.h"
#include "file/cast.h"
#include "op/cells.h"

enum { INT, ONE_HOT, MULTI_HOT, COUNT, TF_IDF };
static const char *const modes[] = {"int", "one_hot", "multi_hot", "count", "tf_idf", NULL};

struct string_lookup {
    int output_mode;
    const dt_tree *vocabulary;
    int64_t max_tokens;
    int64_t num_oov_indices; /* number of indices for unknown texts: 0 or 1 */
    const char *mask_token;  /* NULL: no text is masked */
    const char *oov_token;   /* NULL: the token is -1, the default of integer_lookup */
    bool has_max, pad_to_max_tokens;
    dt_reals idf_weights;
};

#define LOOKUP_FIELDS(word)                                                                        \
    DT_TREE(struct string_lookup, vocabulary,                                                      \
            .help = "list of " word "s, or a file with one per line; default: learned from the "   \
                    "training data, most frequent first"),                                         \
        DT_INT(struct string_lookup, max_tokens, .min = 2, .max = 1 << 26, .preset = "67108864",   \
               .set = 1 + offsetof(struct string_lookup, has_max),                                 \
               .help = "maximum size of the vocabulary, including the tokens for masked and "      \
                       "unknown " word "s"),                                                       \
        DT_ENUM(struct string_lookup, output_mode, modes,                                          \
                .help = "int: the index; one_hot, multi_hot, count: a row with 1 at the index; "   \
                        "tf_idf: with the weight of the word"),                                    \
        DT_INT(struct string_lookup, num_oov_indices, .max = 1, .preset = "1",                     \
               .help = "1: an index is for unknown " word "s; 0: indices begin with the first "    \
                       "word, as labels do, and an unknown " word " is an error"),                 \
        DT_FLAG(struct string_lookup, pad_to_max_tokens, .preset = "false",                        \
                .help = "for rows: pad the output to max_tokens values"),                          \
        DT_REALS(struct string_lookup, idf_weights, .max = INFINITY,                               \
                 .help = "for tf_idf with a vocabulary: weight of each word; default: learned"),   \
        DT_NOT_YET_BUT("invert", "false"), DT_NOT_YET_BUT("sparse", "false")

static const dt_field fields[] = {
    LOOKUP_FIELDS("text"),
    DT_TEXT(struct string_lookup, mask_token, .max = 1000,
            .help = "text that marks a missing value: index 0, or a row of zeros"),
    DT_TEXT(struct string_lookup, oov_token, .preset = DT_UNKNOWN_TEXT, .min = 1, .max = 1000,
            .help = "text that stands for unknown texts; it is not learned as a word"),
    DT_ONLY("encoding", "utf-8"), DT_END};

static const dt_field integer_fields[] = {
    LOOKUP_FIELDS("integer"),
    DT_ONE_OF(mask_token, DT_FORMS(DT_INT(struct string_lookup, mask_token, .lone = true)),
              .as = DT_TREE_SCALAR,
              .help = "integer that marks a missing value: index 0, or a row of zeros"),
    DT_ONE_OF(
        oov_token, DT_FORMS(DT_INT(struct string_lookup, oov_token, .lone = true)),
        .as = DT_TREE_SCALAR,
        .help =
            "integer that stands for unknown integers; it is not learned as a word; default: -1"),
    DT_END};

/* ---- tokens, and checks of arguments ---- */

static const char *oov_token(const struct string_lookup *a) {
    return a->oov_token ? a->oov_token : "-1";
}

/* Returns the index of the vocabulary's first word. Lower indices are those of the mask token and
 * of unknown texts, in this order, as far as there are such. */
static int first_word(const struct string_lookup *a) {
    return (int)a->num_oov_indices + (a->mask_token && a->output_mode == INT);
}

static int64_t most_words(const struct string_lookup *a) { return a->max_tokens - first_word(a); }

static dt_status *check_unknown(const struct string_lookup *a, const dt_location *at) {
    if (a->num_oov_indices > 0 || a->output_mode == INT) return NULL;
    dt_status *s = dt_fail(DT_E_DATASET_KEYS, at,
                           "num_oov_indices: 0 requires output_mode int: no row stands for an "
                           "unknown text");
    return dt_suggest(s, "leave output_mode out, and add one_hot behind string_lookup");
}

static dt_status *check(const void *args, const dt_location *at) {
    const struct string_lookup *a = args;
    DT_TRY(check_unknown(a, at));
    if (a->mask_token && strcmp(a->mask_token, oov_token(a)) == 0)
        return dt_fail(DT_E_DATASET_KEYS, at, "mask_token and oov_token are the same text");
    if (most_words(a) < 1)
        return dt_fail(DT_E_DATASET_KEYS, at, "max_tokens: %lld leaves no room for a word",
                       (long long)a->max_tokens);
    if (a->pad_to_max_tokens && (a->output_mode == INT || !a->has_max))
        return dt_fail(DT_E_DATASET_KEYS, at,
                       "pad_to_max_tokens requires max_tokens and an output_mode other than int");
    if ((a->idf_weights.n > 0) != (a->output_mode == TF_IDF && a->vocabulary))
        return dt_fail(
            DT_E_DATASET_KEYS, at,
            a->idf_weights.n
                ? "idf_weights require a vocabulary and output_mode tf_idf"
                : "a vocabulary with output_mode tf_idf needs 'idf_weights', one number per word");
    return NULL;
}

static bool is_mask(const struct string_lookup *a, const char *text) {
    return a->mask_token && strcmp(a->mask_token, text) == 0;
}

/* Whether a text is the job's mask_token, or its oov_token if that is not "[UNK]". Such a text may
 * stand only at the front of a vocabulary. */
static bool is_token(const struct string_lookup *a, const char *text) {
    return is_mask(a, text) ||
           (strcmp(oov_token(a), DT_UNKNOWN_TEXT) != 0 && strcmp(oov_token(a), text) == 0);
}

/* ---- learning ---- */

static bool learns(const void *args) { return !((const struct string_lookup *)args)->vocabulary; }

static void *begin(const dt_map_stage *s) {
    (void)s;
    return dt_word_counts_create();
}

enum { DIGITS = 24 };

/* Returns word i of an example: its text, or the digits of an integer. */
static const char *word_of(const dt_map_stage *s, const void *in, int64_t i, char digits[DIGITS]) {
    const dt_view view = {.type = s->in, .data = (void *)in};
    if (s->is_text) return in;
    snprintf(digits, DIGITS, "%lld", (long long)dt_cell_int(&view, i));
    return digits;
}

static int64_t words_in(const dt_map_stage *s) { return s->is_text ? 1 : s->values; }

/* Of equally frequent words, the greater text comes first. For integers to be in numerical order,
 * each is counted as a text of 20 digits, after adding 2^63. */
static void to_ordered(char digits[DIGITS]) {
    const uint64_t number = (uint64_t)strtoll(digits, NULL, 10) ^ UINT64_C(1) << 63;
    snprintf(digits, DIGITS, "%020llu", (unsigned long long)number);
}

static const char *from_ordered(dt_arena *arena, const char *digits) {
    const uint64_t number = strtoull(digits, NULL, 10) ^ UINT64_C(1) << 63;
    return dt_arena_printf(arena, "%lld", (long long)(int64_t)number);
}

static void learn_value(void *lesson, const dt_map_stage *s, const dt_map_at *at, const void *in) {
    const struct string_lookup *a = s->args;
    char digits[DIGITS];
    (void)at;
    for (int64_t i = 0; i < words_in(s); i++) {
        const char *word = word_of(s, in, i, digits);
        if (is_mask(a, word) || strcmp(oov_token(a), word) == 0) continue;
        if (!s->is_text) to_ordered(digits);
        dt_word_counts_add(lesson, word, strlen(word));
    }
    dt_word_counts_end_text(lesson);
}

static void end(void *lesson, const dt_map_stage *s, dt_arena *arena, dt_lesson *out) {
    const struct string_lookup *a = s->args;
    if (arena)
        out->words = dt_word_counts_list(lesson, most_words(a), arena,
                                         a->output_mode == TF_IDF ? &out->idf : NULL);
    for (int i = 0; arena && !s->is_text && i < out->words.n; i++)
        out->words.v[i] = from_ordered(arena, out->words.v[i]);
    dt_word_counts_destroy(lesson);
}

static const dt_map_learning learning = {
    .wants = learns, .begin = begin, .take = learn_value, .end = end};

/* ---- application ---- */

typedef struct made {
    const dt_words *words;
    /* [1 + words] weight at each index of the row, from dt_words_weigh; NULL if all weights are
     * 1 */
    const float *weight;
} made;

/* Skips the mask_token and the oov_token at the front of a vocabulary, as get_vocabulary returns
 * them; elsewhere they are an error, as the mask is in Keras. The oov_token "[UNK]" is a token only
 * after the mask_token. */
static dt_status *drop_tokens(const dt_map_stage *s, dt_texts *words) {
    const struct string_lookup *a = s->args;
    bool masked = false;
    while (words->n > 0 &&
           (is_token(a, words->v[0]) || (masked && strcmp(oov_token(a), words->v[0]) == 0))) {
        masked = masked || is_mask(a, words->v[0]);
        words->v++;
        words->n--;
    }
    for (int i = 0; i < words->n; i++)
        if (is_token(a, words->v[i]))
            return dt_fail(DT_E_DATASET_KEYS, s->at,
                           "word %d of the vocabulary, '%.80s', is the %s: it may stand at the "
                           "front only",
                           i, words->v[i], is_mask(a, words->v[i]) ? "mask_token" : "oov_token");
    return NULL;
}

static dt_texts index_names(const struct string_lookup *a, dt_arena *arena, const dt_texts *words) {
    const int before = first_word(a);
    dt_texts names = {.n = before + words->n,
                      .v = dt_arena_array(arena, const char *, before + words->n)};
    if (before > a->num_oov_indices) names.v[0] = a->mask_token;
    if (a->num_oov_indices > 0) names.v[before - 1] = oov_token(a);
    for (int i = 0; i < words->n; i++) names.v[before + i] = words->v[i];
    return names;
}

/* Refuses words that differ from what "%lld" prints, such as 02, because no integer would match
 * them. */
static dt_status *check_integers(const struct string_lookup *a, const dt_texts *words) {
    char digits[DIGITS];
    int64_t number;
    for (int i = 0; i < words->n; i++) {
        const bool is = dt_parse_int64(words->v[i], &number);
        snprintf(digits, sizeof digits, "%lld", is ? (long long)number : 0);
        if (!is || strcmp(digits, words->v[i]) != 0)
            return dt_fail(DT_E_DATASET_KEYS, &a->vocabulary->at,
                           "word %d of the vocabulary, '%.80s', is not an integer", i, words->v[i]);
    }
    return NULL;
}

static dt_status *set_output(dt_map_stage *s, const struct string_lookup *a) {
    const int64_t size = a->pad_to_max_tokens ? a->max_tokens : s->names.n;
    const bool row = a->output_mode != INT;
    if (row && words_in(s) != 1)
        return dt_fail(DT_E_DATASET_KEYS, s->at,
                       "output_mode %s needs a single integer, and an example has %lld",
                       modes[a->output_mode], (long long)s->values);
    if (row) s->out = dt_type_of(DT_FLOAT32, 1, &size);
    else if (s->is_text) s->out = dt_scalar_type(DT_INT32);
    else s->out.dtype = DT_INT32;
    s->numbers = row ? 0 : size;
    return NULL;
}

static dt_status *infer(dt_map_stage *s, dt_arena *arena) {
    const struct string_lookup *a = s->args;
    made *m = dt_arena_new(arena, made);
    dt_texts words = {0};
    DT_TRY(dt_words_for(s, a->vocabulary, INT32_MAX, arena, &words));
    if (a->vocabulary && !s->is_text) DT_TRY(check_integers(a, &words));
    DT_TRY(drop_tokens(s, &words));
    if (words.n > most_words(a))
        return dt_fail(DT_E_DATASET_KEYS, a->vocabulary ? &a->vocabulary->at : s->at,
                       "the vocabulary has %d words, but max_tokens allows only %lld", words.n,
                       (long long)most_words(a));
    DT_TRY(dt_words_index(arena, &words, s->at, &m->words));
    if (a->output_mode == TF_IDF)
        DT_TRY(dt_words_weigh(s, a->vocabulary ? &a->idf_weights : &s->learned->idf, words.n, arena,
                              &m->weight));
    s->made = m;
    s->names = index_names(a, arena, &words);
    return set_output(s, a);
}

/* Returns the index for a text that is number `found` of the vocabulary; -1: it is unknown. */
static int32_t index_of(const struct string_lookup *a, int found) {
    return found < 0 && a->num_oov_indices == 0 ? -1 : first_word(a) + found;
}

static void run(const dt_map_stage *s, const dt_map_at *at, const void *in, void *out) {
    const struct string_lookup *a = s->args;
    const made *m = s->made;
    char digits[DIGITS];
    int32_t index = 0;
    bool masked = false;
    (void)at;
    for (int64_t i = 0; i < words_in(s); i++) {
        const char *word = word_of(s, in, i, digits);
        masked = is_mask(a, word);
        index = masked ? 0 : index_of(a, dt_words_find(m->words, word, strlen(word)));
        if (a->output_mode == INT) ((int32_t *)out)[i] = index;
    }
    if (a->output_mode == INT) return;
    if (masked) memset(out, 0, (size_t)dt_type_bytes(&s->out));
    else dt_cast_one_hot(DT_INT32, s->out.dim[0], &index, out, 1);
    if (m->weight && !masked) ((float *)out)[index] = m->weight[index];
}

static const char *file(const void *args) {
    return dt_words_file(((const struct string_lookup *)args)->vocabulary);
}

const dt_map_step dt_map_string_lookup = {
    .kind = {"string_lookup", "index of a text in a vocabulary, as Keras' StringLookup", fields,
             sizeof(struct string_lookup), NULL},
    .takes = DT_TAKES_TEXT,
    .keeps_numbers = true,
    .keeps_names = true,
    .check = check,
    .learning = &learning,
    .infer = infer,
    .run = run,
    .file = file,
};

const dt_map_step dt_map_integer_lookup = {
    .kind = {"integer_lookup", "index of an integer in a vocabulary, as Keras' IntegerLookup",
             integer_fields, sizeof(struct string_lookup), NULL},
    .takes = DT_TAKES_INTEGERS,
    .keeps_numbers = true,
    .keeps_names = true,
    .check = check,
    .learning = &learning,
    .infer = infer,
    .run = run,
    .file = file,
};
