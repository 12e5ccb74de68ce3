/* SPDX-License-Identifier: Apache-2.0 */
/* Texts and their words: vocabularies that steps learn from a CSV column, and those in files. The
 * first byte says what the job says. */
#include <string.h>

#include "fuzz.h"

static const char *const steps[] = {
    "text_vectorization: {output_sequence_length: 6}",
    "text_vectorization: {ngrams: 2, output_mode: multi_hot, max_tokens: 9}",
    "text_vectorization: {output_mode: count, split: character, standardize: strip_punctuation}",
    "string_lookup: {}",
    NULL, /* the vocabulary is given in a file */
    "text_vectorization: {output_mode: tf_idf}",
    "text_vectorization: {output_mode: tf_idf, vocabulary: [to, be], idf_weights: [0.5, 2]}",
    "text_vectorization: {output_mode: tf_idf, vocabulary: [to, be], idf_weights: [0.5]}",
    "text_vectorization: {vocabulary: [to, be, or], max_tokens: 3}",
    "text_vectorization: {output_mode: count, output_sequence_length: 3}",
    "text_vectorization: {pad_to_max_tokens: true}",
    "text_vectorization: {idf_weights: [1]}",
    "hashing: {num_bins: 7, salt: [1, 2], mask_value: a}",
    "hashing: 1000",
};
enum { STEPS = sizeof steps / sizeof *steps };

static const char text[] = "x\nto be or not to be\nthat is the question\n";

static void given(const uint8_t *data, size_t size) {
    const char *folder = fuzz_folder("words.txt", data, size);
    fuzz_dataset("{format: csv, train: %s, element: {x: {column: x, dtype: string, max_bytes: "
                 "40}}, map: {x: [text_vectorization: {output_sequence_length: 6, "
                 "vocabulary: %s/words.txt}]}, global_batch_size: 2}",
                 fuzz_file(text, strlen(text)), folder);
}

FUZZ_TARGET(words) {
    if (size == 0) return 0;
    const char *step = steps[data[0] % STEPS];
    if (!step) given(data + 1, size - 1);
    else
        fuzz_dataset("{format: csv, train: %s, element: {x: {column: x, dtype: string, max_bytes: "
                     "40}}, map: {x: [%s]}, global_batch_size: 2}",
                     fuzz_file(data + 1, size - 1), step);
    return 0;
}
