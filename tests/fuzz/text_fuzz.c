/* SPDX-License-Identifier: Apache-2.0 */
/* Text files and their tokens, as elements of a job's data set. The first byte says what the job
 * says of them, and of which texts. */
#include <stdlib.h>
#include <string.h>

#include "data/data.h"
#include "fuzz.h"

static const char *const words[] = {
    "element: {tokens: {shape: [5], dtype: int32}}",
    "tokenizer: {type: char}, element: {tokens: {shape: [2]}}, validation_split: 0.5",
    "element: {tokens: {shape: [1]}}, validation: ",
};
static const char documents[] = "{format: text, train: %s/given.jsonl, end_of_text: '|', element: "
                                "{tokens: {shape: [3]}}, global_batch_size: 4}";
enum { WORDS = sizeof words / sizeof *words, LONGEST_TEXT = 4096 };

static const char given[] = "to be or not";

/* What a text is in tokens, and those as text, which is the same. */
static void there_and_back(dt_dataset *d, const char *text) {
    dt_tokens token = {0};
    dt_str out = {0};
    dt_status *s = strlen(text) < LONGEST_TEXT ? dt_dataset_encode(d, text, &token) : NULL;
    for (int64_t i = 0; !s && i < token.n; i++) dt_dataset_decode(d, token.v[i], i == 0, &out);
    FUZZ_CHECK(s || token.n == 0 || strcmp(dt_str_text(&out), text) == 0, "other text");
    fuzz_done(s);
    free(token.v);
    dt_str_release(&out);
}

static void tokens(const char *path, const char *text) {
    dt_dataset *d = NULL;
    dt_status *s = dt_dataset_open(
        &d, "{format: text, train: %s, element: {tokens: {shape: [1]}}, global_batch_size: 1}",
        path);
    if (!s) {
        there_and_back(d, text);
        there_and_back(d, given);
    }
    fuzz_done(s);
    dt_dataset_unref(d);
}

FUZZ_TARGET(text) {
    if (size == 0) return 0;
    if (data[0] == WORDS) fuzz_dataset(documents, fuzz_folder("given.jsonl", data + 1, size - 1));
    const char *path = fuzz_file(data + 1, size - 1);
    const int how = data[0] % WORDS;
    const char *folder = how == WORDS - 1 ? fuzz_folder("given.txt", given, strlen(given)) : "";
    fuzz_dataset("{format: text, train: %s, %s%s%s, global_batch_size: 4}", path, words[how],
                 folder, *folder ? "/given.txt" : "");
    if (data[0] >= 128) tokens(path, fuzz_string(data + 1, size - 1));
    return 0;
}
