/* SPDX-License-Identifier: Apache-2.0 */
/* File names that callbacks make, Python's "{epoch:02d}-{val_loss:.2f}": the first line is the
 * pattern, what a part names is one of two values. */
#include <string.h>

#include "fuzz.h"
#include "train/python_text.h"

FUZZ_TARGET(pattern) {
    char *text = fuzz_copy(data, size);
    const char *at = text, *wrong = NULL;
    dt_str out = {0}, bare = {0};
    dt_python_part part;
    double value = 0.0625;
    for (size_t i = 0; i < size && i < sizeof value; i++)
        ((uint8_t *)&value)[i] = data[size - 1 - i];
    for (const char *before = at; dt_python_next(&at, &out, &part, &wrong); before = at) {
        FUZZ_CHECK(at > before && strlen(part.name) < sizeof part.name && part.width < 1000 &&
                       part.precision < 1000,
                   "a part that cannot be");
        dt_python_put(&out, &part, strcmp(part.name, "epoch") == 0 ? 7 : value,
                      strcmp(part.name, "epoch") == 0);
    }
    FUZZ_CHECK(wrong ? wrong >= text && wrong <= text + strlen(text) : *at == '\0',
               "it stopped for nothing");
    dt_python_float(&bare, value);
    FUZZ_CHECK(bare.size > 0 && bare.size < 40, "a number without digits, or with too many");
    dt_str_release(&bare);
    dt_str_release(&out);
    return 0;
}
