/* SPDX-License-Identifier: Apache-2.0 */
/*
 * string_lookup: the index of a text in a vocabulary, from 1; 0 for unknown texts. Keras'
 * StringLookup. With another output_mode than int, a row with 1 at that index: for a single text,
 * one_hot, multi_hot and count are the same.
 */
#include <string.h>

#include "data/map/step.h"
#include "data/map/words.h"
#include "file/cast.h"

enum { UNKNOWN, FIRST };
enum { INT };
static const char *const modes[] = {"int", "one_hot", "multi_hot", "count", NULL};

struct string_lookup {
    int output_mode;
    const dt_tree *vocabulary;
    int64_t max_tokens;
};

static const dt_field fields[] = {
    DT_TREE(struct string_lookup, vocabulary,
            .help = "list of texts, or a file with one per line; default: learned from the "
                    "training data, most frequent first"),
    DT_INT(struct string_lookup, max_tokens, .min = 2, .max = 1 << 26, .preset = "67108864",
           .help = "maximum size of the vocabulary, including the unknown token"),
    DT_ENUM(struct string_lookup, output_mode, modes,
            .help = "int: the index; one_hot, multi_hot, count: a row with 1 at the index"),
    DT_ONLY("num_oov_indices", "1"),
    DT_NOT_YET("mask_token"),
    DT_END};

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
    if (arena)
        out->words = dt_word_counts_list(
            lesson, ((const struct string_lookup *)s->args)->max_tokens - FIRST, arena, NULL);
    dt_word_counts_destroy(lesson);
}

static const dt_map_learning learning = {.wants = learns, .begin = begin, .take = take, .end = end};

/* ---- turning ---- */

static dt_status *infer(dt_map_stage *s, dt_arena *arena) {
    const struct string_lookup *a = s->args;
    dt_texts words = {0};
    const dt_words *made;
    DT_TRY(dt_words_for(s, a->vocabulary, a->max_tokens - FIRST, arena, &words));
    DT_TRY(dt_words_index(arena, &words, s->at, &made));
    s->made = made;
    const int64_t size = FIRST + words.n;
    const bool row = a->output_mode != INT;
    s->out = row ? dt_type_of(DT_FLOAT32, 1, &size) : dt_scalar_type(DT_INT32);
    s->numbers = row ? 0 : size;
    s->names = (dt_texts){FIRST + words.n, dt_arena_array(arena, const char *, FIRST + words.n)};
    s->names.v[UNKNOWN] = "[UNK]"; /* as Keras calls it */
    for (int i = 0; i < words.n; i++) s->names.v[FIRST + i] = words.v[i];
    return NULL;
}

static void run(const dt_map_stage *s, const dt_map_at *at, const void *in, void *out) {
    const int32_t index = FIRST + dt_words_find(s->made, in, strlen(in));
    (void)at;
    if (((const struct string_lookup *)s->args)->output_mode == INT) *(int32_t *)out = index;
    else dt_cast_one_hot(DT_INT32, s->out.dim[0], &index, out, 1);
}

const dt_map_step dt_map_string_lookup = {
    .kind = {"string_lookup", "index of a text in a vocabulary, as Keras' StringLookup", fields,
             sizeof(struct string_lookup), NULL},
    .takes = DT_TAKES_TEXT,
    .keeps_numbers = true,
    .keeps_names = true,
    .learning = &learning,
    .infer = infer,
    .run = run,
};
