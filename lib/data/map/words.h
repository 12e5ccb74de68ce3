/* SPDX-License-Identifier: Apache-2.0 */
/* Vocabularies: words that are counted, listed by frequency, and found again by number. */
#ifndef DT_DATA_MAP_WORDS_H
#define DT_DATA_MAP_WORDS_H

#include "base/arena.h"
#include "data/map/step.h"

/* ---- counting ---- */

typedef struct dt_word_counts dt_word_counts;
dt_word_counts *dt_word_counts_create(void);
void dt_word_counts_add(dt_word_counts *c, const char *word, size_t n);
/* A text has ended: what comes is of the next one. */
void dt_word_counts_end_text(dt_word_counts *c);
/* The words that occur most, at most so many (-1: all). Of words that are as frequent the one whose
 * bytes are greater comes first, as in Keras. idf, NULL or to be filled: what each word's rareness
 * weighs, log(1 + texts / (1 + texts that have it)). */
dt_texts dt_word_counts_list(const dt_word_counts *c, int64_t most, dt_arena *arena, dt_reals *idf);
/* The word that occurs most; of several the one whose bytes are least. NULL: there is none. */
const char *dt_word_counts_most(const dt_word_counts *c);
void dt_word_counts_destroy(dt_word_counts *c); /* takes NULL */

/* ---- finding ---- */

/* The name of the index for words that a vocabulary lacks, as Keras calls it. */
#define DT_UNKNOWN_TEXT "[UNK]"

typedef struct dt_words dt_words;
/* The words of a step. `vocabulary` is a list of them, or the path of a file with one on each line;
 * NULL: those that the step learned. */
dt_status *dt_words_for(const dt_map_stage *s, const dt_tree *vocabulary, int64_t most,
                        dt_arena *arena, dt_texts *out) DT_MUST_USE;
/* A word that is in the list twice is an error at `at`. */
dt_status *dt_words_index(dt_arena *arena, const dt_texts *list, const dt_location *at,
                          const dt_words **out) DT_MUST_USE;
/* A word's number in the list; -1: it is not there. */
int dt_words_find(const dt_words *w, const char *word, size_t n);

#endif
