/* SPDX-License-Identifier: Apache-2.0 */
/*
 * string_lookup: converts a text to its index in a vocabulary, as Keras' StringLookup. Indices
 * begin at 1; unknown texts get 0. With `num_oov_indices: 0` indices begin at 0, and an unknown
 * text becomes -1, which is neither a class nor a row of a table. With an output_mode other than
 * int, the output is a row with 1 at that index; for a single text, one_hot, multi_hot and count
 * are the same.
 */
#include <string.h>

#include "data/map/step.h"
#include "data/map/words.h"
#include "file/cast.h"

enum { INT };
static const char *const modes[] = {"int", "one_hot", "multi_hot", "count", NULL};

struct string_lookup {
    int output_mode;
    const dt_tree *vocabulary;
    int64_t max_tokens;
    int64_t num_oov_indices; /* number of indices for unknown texts, which come first: 0 or 1 */
};

static const dt_field fields[] = {
    DT_TREE(struct string_lookup, vocabulary,
            .help = "list of texts, or a file with one per line; default: learned from the "
                    "training data, most frequent first"),
    DT_INT(struct string_lookup, max_tokens, .min = 2, .max = 1 << 26, .preset = "67108864",
           .help = "maximum size of the vocabulary, including the unknown token"),
    DT_ENUM(struct string_lookup, output_mode, modes,
            .help = "int: the index; one_hot, multi_hot, count: a row with 1 at the index"),
    DT_INT(struct string_lookup, num_oov_indices, .max = 1, .preset = "1",
           .help = "1: index 0 is for unknown texts; 0: indices begin with the first word, as "
                   "labels do, and an unknown text is an error"),
    DT_NOT_YET("mask_token"),
    DT_NOT_YET("oov_token"),
    DT_NOT_YET("invert"),
    DT_NOT_YET("encoding"),
    DT_NOT_YET("idf_weights"),
    DT_NOT_YET("sparse"),
    DT_NOT_YET("pad_to_max_tokens"),
    DT_END};

static int64_t most_words(const struct string_lookup *a) {
    return a->max_tokens - a->num_oov_indices;
}

static dt_status *check(const void *args, const dt_location *at) {
    const struct string_lookup *a = args;
    if (a->num_oov_indices > 0 || a->output_mode == INT) return NULL;
    dt_status *s = dt_fail(DT_E_DATASET_KEYS, at,
                           "num_oov_indices: 0 requires output_mode int: no row stands for an "
                           "unknown text");
    return dt_suggest(s, "leave output_mode out, and add one_hot behind string_lookup");
}

/* ---- learning ---- */

static bool learns(const void *args) { return !((const struct string_lookup *)args)->vocabulary; }

static void *begin(const dt_map_stage *s) {
    (void)s;
    return dt_word_counts_create();
}

static void take(void *lesson, const dt_map_stage *s, const void *in) {
    (void)s;
    dt_word_counts_add(lesson, in, strlen(in));
}

static void end(void *lesson, const dt_map_stage *s, dt_arena *arena, dt_lesson *out) {
    if (arena) out->words = dt_word_counts_list(lesson, most_words(s->args), arena, NULL);
    dt_word_counts_destroy(lesson);
}

static const dt_map_learning learning = {.wants = learns, .begin = begin, .take = take, .end = end};

/* ---- application ---- */

static dt_texts index_names(dt_arena *arena, const dt_texts *words, int64_t unknown) {
    const int before = (int)unknown;
    dt_texts names = {before + words->n, dt_arena_array(arena, const char *, before + words->n)};
    if (before > 0) names.v[0] = DT_UNKNOWN_TEXT;
    for (int i = 0; i < words->n; i++) names.v[before + i] = words->v[i];
    return names;
}

static dt_status *infer(dt_map_stage *s, dt_arena *arena) {
    const struct string_lookup *a = s->args;
    dt_texts words = {0};
    const dt_words *made;
    DT_TRY(dt_words_for(s, a->vocabulary, most_words(a), arena, &words));
    DT_TRY(dt_words_index(arena, &words, s->at, &made));
    s->made = made;
    s->names = index_names(arena, &words, a->num_oov_indices);
    const int64_t size = s->names.n;
    const bool row = a->output_mode != INT;
    s->out = row ? dt_type_of(DT_FLOAT32, 1, &size) : dt_scalar_type(DT_INT32);
    s->numbers = row ? 0 : size;
    return NULL;
}

static void run(const dt_map_stage *s, const dt_map_at *at, const void *in, void *out) {
    const struct string_lookup *a = s->args;
    const int32_t index = (int32_t)a->num_oov_indices + dt_words_find(s->made, in, strlen(in));
    (void)at;
    if (a->output_mode == INT) *(int32_t *)out = index;
    else dt_cast_one_hot(DT_INT32, s->out.dim[0], &index, out, 1);
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
