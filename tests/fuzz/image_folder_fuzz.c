/* SPDX-License-Identifier: Apache-2.0 */
/* Folders of pictures: the names of classes and files are the input, each file is one small
 * picture. A digit before them says what the job says. */
#include <string.h>

#include "base/str.h"
#include "fuzz.h"

/* 2 x 2, grey. */
static const unsigned char picture[] = {
    137, 'P', 'N', 'G', 13,  10,  26,  10, 0,  0,   0,   13,  'I', 'H', 'D', 'R', 0,   0,
    0,   2,   0,   0,   0,   2,   8,   0,  0,  0,   0,   87,  221, 82,  248, 0,   0,   0,
    14,  'I', 'D', 'A', 'T', 120, 156, 99, 96, 100, 98,  96,  102, 1,   0,   0,   29,  0,
    11,  13,  181, 82,  6,   0,   0,   0,  0,  'I', 'E', 'N', 'D', 174, 66,  96,  130,
};

static const char *const words[] = {
    "train: %s, element: {image: {shape: [2, 2, 1], dtype: uint8}, label: {num_classes: 3}}",
    "train: %s, validation_split: 0.5, element: {image: {shape: [2, 2, 1]}, label: {num_classes: "
    "2}}",
    "train: %s, element: {image: {shape: [3, 5, 1], interpolation: bilinear}, label: {num_classes: "
    "3}}",
    "train: %s/t, validation: %s/v, element: {label: {num_classes: 1}, image: {shape: [4,1,3], "
    "interpolation: nearest, crop_to_aspect_ratio: true}}",
};
enum { WORDS = sizeof words / sizeof *words };

FUZZ_TARGET(image_folder) {
    char *names = fuzz_copy(data, size);
    const int how = *names >= '0' && *names < '0' + WORDS ? *names++ - '0' : 0;
    const char *folder = fuzz_tree(names, picture, sizeof picture);
    dt_str said = {0};
    for (const char *at = words[how], *next; *at; at = next) {
        next = at + strcspn(at, "%");
        dt_str_add(&said, at, (size_t)(next - at));
        if (*next == '%') {
            dt_str_puts(&said, folder);
            next += strlen("%s");
        }
    }
    fuzz_dataset("{format: image_folder, %s, global_batch_size: 2}", dt_str_text(&said));
    dt_str_release(&said);
    return 0;
}
