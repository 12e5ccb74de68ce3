/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_vectorization: converts a text to the indices of its words, as Keras' TextVectorization.
 *
 *     "The cat, the dog!"  standardize ->  "the cat the dog"
 *                          split       ->  the | cat | the | dog
 *                          look up     ->  2 3 2 1 0 0
 *
 * With output_mode int, 0 pads the output after the last word, and 1 stands for unknown words. With
 * multi_hot, count and tf_idf the output has a number for each word; number 0 is for unknown words.
 * tf_idf multiplies counts by the word's inverse document frequency, and for unknown words by the
 * mean of those. The vocabulary is given or learned from the training part: the most frequent words
 * first; of equally frequent words, the one whose bytes compare greater. Only ASCII letters are
 * lowercased and only ASCII blanks split words, as in Keras, whose strings are bytes.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/map/step.h"
#include "data/map/words.h"

enum { LOWER_AND_STRIP, LOWER, STRIP, AS_IT_IS };
enum { WHITESPACE, CHARACTER, WHOLE };
enum { INT, MULTI_HOT, COUNT, TF_IDF };
static const char *const standards[] = {"lower_and_strip_punctuation", "lower", "strip_punctuation",
                                        "none", NULL};
static const char *const splits[] = {"whitespace", "character", "none", NULL};
static const char *const modes[] = {"int", "multi_hot", "count", "tf_idf", NULL};

struct text_vectorization {
    int standardize, split, output_mode;
    int64_t max_tokens, ngrams, output_sequence_length;
    bool has_max, has_length, pad_to_max_tokens;
    const dt_tree *vocabulary;
    dt_reals idf_weights;
};

#define SET(member) .set = 1 + offsetof(struct text_vectorization, member)

static const dt_field fields[] = {
    DT_INT(struct text_vectorization, max_tokens, .min = 3, .max = 1 << 26, .preset = "67108864",
           SET(has_max),
           .help = "maximum size of the vocabulary, including padding and the unknown token"),
    DT_ENUM(struct text_vectorization, standardize, standards,
            .help = "how to standardize a text (ASCII letters and punctuation)"),
    DT_ENUM(struct text_vectorization, split, splits, .help = "how to split a text"),
    DT_INT(struct text_vectorization, ngrams, .min = 1, .max = 16, .preset = "1",
           .help = "also use n-grams of up to this many words"),
    DT_ENUM(struct text_vectorization, output_mode, modes,
            .help = "int: word indices in order; multi_hot, count, tf_idf: one value per word of "
                    "the vocabulary"),
    DT_INT(struct text_vectorization, output_sequence_length, .min = 1, .max = 1 << 20,
           SET(has_length),
           .help = "for int: length of the output; longer texts are truncated, shorter ones padded "
                   "with 0"),
    DT_FLAG(struct text_vectorization, pad_to_max_tokens, .preset = "false",
            .help = "for multi_hot, count, tf_idf: pad the output to max_tokens values"),
    DT_TREE(
        struct text_vectorization, vocabulary,
        .help =
            "list of words, or a file with one per line; default: learned from the training data"),
    DT_REALS(struct text_vectorization, idf_weights, .max = INFINITY,
             .help = "for tf_idf with a vocabulary: weight of each word; default: learned"),
    DT_NOT_YET("ragged"),
    DT_ONLY("encoding", "utf-8"),
    DT_NOT_YET("sparse"),
    DT_END};

static dt_status *check(const void *args, const dt_location *at) {
    const struct text_vectorization *a = args;
    if (a->has_length != (a->output_mode == INT))
        return dt_fail(
            DT_E_DATASET_KEYS, at,
            a->has_length
                ? "output_sequence_length requires output_mode int"
                : "text_vectorization lacks 'output_sequence_length', the length of its output");
    if (a->pad_to_max_tokens && (a->output_mode == INT || !a->has_max))
        return dt_fail(
            DT_E_DATASET_KEYS, at,
            "pad_to_max_tokens requires max_tokens and output_mode multi_hot, count or tf_idf");
    return dt_words_check_weights(&a->idf_weights, a->output_mode == TF_IDF && a->vocabulary, at);
}

/* Returns the index of the vocabulary's first word. Index 0 is that of padding with output_mode
 * int, and the one before the first word is that of unknown words. */
static int first_word(const struct text_vectorization *a) { return a->output_mode == INT ? 2 : 1; }

/* ---- words of a text ---- */

typedef struct span {
    size_t at, size;
} span;

typedef struct reading {
    const struct text_vectorization *a;
    void (*take)(void *user, const char *word, size_t n);
    void *user;
    dt_str text;
    span *word; /* [n] the words of the text */
    int n, cap;
} reading;

static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static void standardize(const struct text_vectorization *a, const char *text, dt_str *out) {
    const bool lowers = a->standardize == LOWER_AND_STRIP || a->standardize == LOWER,
               strips = a->standardize == LOWER_AND_STRIP || a->standardize == STRIP;
    for (; *text; text++) {
        const char c = *text;
        if (!strips || !strchr("!\"#$%&()*+,-./:;<=>?@[\\]^_`{|}~'", c))
            dt_str_putc(out, lowers && c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c);
    }
}

static void add_word(reading *r, size_t at, size_t size) {
    DT_GROW(r->word, r->cap, r->n + 1);
    r->word[r->n++] = (span){at, size};
}

static void split_at_blanks(reading *r) {
    const char *text = dt_str_text(&r->text);
    size_t at = 0, end;
    for (;; at = end) {
        while (is_blank(text[at])) at++;
        for (end = at; text[end] && !is_blank(text[end]);) end++;
        if (end == at) return;
        add_word(r, at, end - at);
    }
}

/* Splits a text into characters. A byte that does not begin a valid UTF-8 character counts as one
 * character. */
static void split_characters(reading *r) {
    const char *text = dt_str_text(&r->text);
    uint32_t code;
    for (size_t at = 0, n; at < r->text.size; at += n) {
        n = dt_utf8_next(text + at, r->text.size - at, &code);
        n = n ? n : 1;
        add_word(r, at, n);
    }
}

/* Forms the n-grams: words joined by single spaces, shorter n-grams first. */
static void take_runs(reading *r) {
    const char *text = dt_str_text(&r->text);
    dt_str run = {0};
    for (int width = 1; width <= r->a->ngrams; width++)
        for (int i = 0; i + width <= r->n; i++) {
            dt_str_clear(&run);
            for (int k = i; k < i + width; k++) {
                dt_str_puts(&run, k > i ? " " : "");
                dt_str_add(&run, text + r->word[k].at, r->word[k].size);
            }
            r->take(r->user, dt_str_text(&run), run.size);
        }
    dt_str_release(&run);
}

static void read_text(const struct text_vectorization *a, const char *text,
                      void (*take)(void *user, const char *word, size_t n), void *user) {
    reading r = {.a = a, .take = take, .user = user};
    standardize(a, text, &r.text);
    if (a->split == WHITESPACE) split_at_blanks(&r);
    else if (a->split == CHARACTER) split_characters(&r);
    else if (r.text.size > 0) add_word(&r, 0, r.text.size);
    take_runs(&r);
    dt_str_release(&r.text);
    free(r.word);
}

/* ---- learning ---- */

static bool learns(const void *args) {
    return !((const struct text_vectorization *)args)->vocabulary;
}

static void *begin(const dt_map_stage *s) {
    (void)s;
    return dt_word_counts_create();
}

/* Counts a word, unless it is the name of unknown words, which Keras does not learn as a word
 * either. */
static void count_word(void *user, const char *word, size_t n) {
    if (strcmp(word, DT_UNKNOWN_TEXT) != 0) dt_word_counts_add(user, word, n);
}

static void learn_value(void *lesson, const dt_map_stage *s, const dt_map_at *at, const void *in) {
    (void)at;
    read_text(s->args, in, count_word, lesson);
    dt_word_counts_end_text(lesson);
}

static void end(void *lesson, const dt_map_stage *s, dt_arena *arena, dt_lesson *out) {
    const struct text_vectorization *a = s->args;
    if (arena)
        out->words = dt_word_counts_list(lesson, a->max_tokens - first_word(a), arena,
                                         a->output_mode == TF_IDF ? &out->idf : NULL);
    dt_word_counts_destroy(lesson);
}

static const dt_map_learning learning = {
    .wants = learns, .begin = begin, .take = learn_value, .end = end};

/* ---- application ---- */

typedef struct made {
    const dt_words *words;
    const float *weight; /* [1 + words] weight of each number, from dt_words_weigh; NULL: all 1 */
} made;

static dt_status *infer(dt_map_stage *s, dt_arena *arena) {
    const struct text_vectorization *a = s->args;
    made *m = dt_arena_new(arena, made);
    dt_texts words = {0};
    DT_TRY(dt_words_for(s, a->vocabulary, a->max_tokens - first_word(a), arena, &words));
    DT_TRY(dt_words_index(arena, &words, s->at, &m->words));
    if (a->output_mode == TF_IDF)
        DT_TRY(dt_words_weigh(s, a->vocabulary ? &a->idf_weights : &s->learned->idf, words.n, arena,
                              &m->weight));
    const int64_t places = a->pad_to_max_tokens ? a->max_tokens : words.n + first_word(a);
    s->made = m;
    s->numbers = a->output_mode == INT ? words.n + first_word(a) : 0;
    s->out = a->output_mode == INT ? dt_type_of(DT_INT32, 1, &a->output_sequence_length)
                                   : dt_type_of(DT_FLOAT32, 1, &places);
    return NULL;
}

typedef struct answer {
    const dt_map_stage *s;
    const made *made;
    void *out;
    int64_t n;
} answer;

static void put_number(void *user, const char *word, size_t n) {
    answer *x = user;
    if (x->n < x->s->out.dim[0])
        ((int32_t *)x->out)[x->n++] = 2 + dt_words_find(x->made->words, word, n);
}

static void put_place(void *user, const char *word, size_t n) {
    answer *x = user;
    const struct text_vectorization *a = x->s->args;
    float *place = (float *)x->out + 1 + dt_words_find(x->made->words, word, n);
    *place = a->output_mode == MULTI_HOT ? 1 : *place + 1;
}

static void run(const dt_map_stage *s, const dt_map_at *at, const void *in, void *out) {
    const struct text_vectorization *a = s->args;
    (void)at;
    memset(out, 0, (size_t)dt_type_bytes(&s->out));
    read_text(a, in, a->output_mode == INT ? put_number : put_place,
              &(answer){.s = s, .made = s->made, .out = out});
    const made *m = s->made;
    for (int64_t i = 0; m->weight && i < s->out.dim[0]; i++)
        if (((float *)out)[i] != 0) ((float *)out)[i] *= m->weight[i];
}

static const char *file(const void *args) {
    return dt_words_file(((const struct text_vectorization *)args)->vocabulary);
}

const dt_map_step dt_map_text_vectorization = {
    .kind = {"text_vectorization", "word indices of a text, as Keras' TextVectorization", fields,
             sizeof(struct text_vectorization), NULL},
    .takes = DT_TAKES_TEXT,
    .keeps_numbers = true,
    .learning = &learning,
    .check = check,
    .infer = infer,
    .run = run,
    .file = file,
};
