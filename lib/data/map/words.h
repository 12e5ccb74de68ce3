/* SPDX-License-Identifier: Apache-2.0 */
/* Vocabularies: counts words, lists them by frequency, and finds the index of a word. */
#ifndef DT_DATA_MAP_WORDS_H
#define DT_DATA_MAP_WORDS_H

#include "base/arena.h"
#include "data/map/step.h"

/* ---- counting ---- */

typedef struct dt_word_counts dt_word_counts;
dt_word_counts *dt_word_counts_create(void);
void dt_word_counts_add(dt_word_counts *c, const char *word, size_t n);
/* Ends a text; the words that are added next belong to the next text. */
void dt_word_counts_end_text(dt_word_counts *c);
/* Returns the most frequent words, the most frequent first, at most `most` of them (-1: all). Of
 * equally frequent words, the one whose bytes compare greater comes first, as in Keras. If idf is
 * not NULL, *idf receives the inverse document frequency of each word, log(1 + texts / (1 + texts
 * that contain it)). */
dt_texts dt_word_counts_list(const dt_word_counts *c, int64_t most, dt_arena *arena, dt_reals *idf);
/* Returns the most frequent word; if several are, the one whose bytes compare least; NULL if no
 * word was counted. */
const char *dt_word_counts_most(const dt_word_counts *c);
void dt_word_counts_destroy(dt_word_counts *c); /* c may be NULL */

/* ---- vocabularies ---- */

/* Keras' name for the index of words that a vocabulary lacks. */
#define DT_UNKNOWN_TEXT "[UNK]"

typedef struct dt_words dt_words;
/* Gets the vocabulary of a step. `vocabulary` is a list of words, the path of a file with one word
 * per line, or NULL for the words that the step learned. More than `most` words are an error. */
dt_status *dt_words_for(const dt_map_stage *s, const dt_tree *vocabulary, int64_t most,
                        dt_arena *arena, dt_texts *out) DT_MUST_USE;
/* Returns the path that a `vocabulary` consists of; NULL if it is a list or not given. */
const char *dt_words_file(const dt_tree *vocabulary);
/* Makes an index of a list of words. A word that occurs twice is reported as an error at the
 * location `at`. */
dt_status *dt_words_index(dt_arena *arena, const dt_texts *list, const dt_location *at,
                          const dt_words **out) DT_MUST_USE;
/* Returns the index of a word in the list; -1 if the list does not contain it. */
int dt_words_find(const dt_words *w, const char *word, size_t n);

/* Checks that idf_weights are given exactly if they are needed: for a given vocabulary with
 * output_mode tf_idf. */
dt_status *dt_words_check_weights(const dt_reals *idf, bool needed,
                                  const dt_location *at) DT_MUST_USE;
/* Computes the weights of the numbers of an output row, in which number 0 counts unknown words: the
 * idf of each word and, for unknown words, the mean of all. Sets *out to an array [1 + words].
 * Fails if idf does not have one number per word. */
dt_status *dt_words_weigh(const dt_map_stage *s, const dt_reals *idf, int words, dt_arena *arena,
                          const float **out) DT_MUST_USE;

#endif
