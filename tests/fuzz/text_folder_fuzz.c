/* SPDX-License-Identifier: Apache-2.0 */
/* Folders of texts: behind a first line with the names of classes and files, the input is what each
 * file holds. A digit before the names says what the job says. */
#include <string.h>

#include "base/str.h"
#include "fuzz.h"

static const char *const words[] = {
    "train: %s, element: {text: {dtype: string, max_bytes: 64}, label: {num_classes: 3}}",
    "train: %s, validation_split: 0.5, element: {text: {dtype: string}, label: {num_classes: 2}}",
    "train: %s, element: {label: {class_names: [b, a]}, text: {dtype: string, max_bytes: 8}}",
    "train: %s/t, validation: %s/v, element: {label: {num_classes: 1}, text: {dtype: string}}",
};
enum { WORDS = sizeof words / sizeof *words };

FUZZ_TARGET(text_folder) {
    const uint8_t *end = size ? memchr(data, 0xff, size) : NULL;
    const size_t first = end ? (size_t)(end - data) : size;
    char *names = fuzz_copy(data, first);
    const int how = *names >= '0' && *names < '0' + WORDS ? *names++ - '0' : 0;
    const char *folder = end ? fuzz_tree(names, end + 1, size - first - 1)
                             : fuzz_tree(names, "a text", strlen("a text"));
    dt_str said = {0};
    for (const char *at = words[how], *next; *at; at = next) {
        next = at + strcspn(at, "%");
        dt_str_add(&said, at, (size_t)(next - at));
        if (*next == '%') {
            dt_str_puts(&said, folder);
            next += strlen("%s");
        }
    }
    fuzz_dataset("{format: text_folder, %s, global_batch_size: 2, map: {text: "
                 "[text_vectorization: {output_sequence_length: 4}]}}",
                 dt_str_text(&said));
    dt_str_release(&said);
    return 0;
}
