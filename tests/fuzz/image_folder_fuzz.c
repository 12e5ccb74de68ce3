/* Folders of pictures: the names of classes and files are the input, each file is one small picture. */
#include "fuzz.h"

/* 2 x 2, grey. */
static const unsigned char picture[] = {
    137, 'P', 'N', 'G', 13, 10, 26, 10, 0, 0, 0, 13, 'I', 'H', 'D', 'R', 0, 0, 0, 2, 0, 0, 0, 2, 8, 0, 0, 0, 0, 87, 221, 82, 248, 0, 0, 0, 14, 'I', 'D', 'A', 'T',
    120, 156, 99, 96, 100, 98, 96, 102, 1, 0, 0, 29, 0, 11, 13, 181, 82, 6, 0, 0, 0, 0, 'I', 'E', 'N', 'D', 174, 66, 96, 130,
};

FUZZ_TARGET(image_folder)
{
    const char *folder = fuzz_tree(fuzz_copy(data, size), picture, sizeof picture);
    fuzz_dataset("{format: image_folder, train: %s, element: {image: {shape: [2, 2, 1], dtype: uint8}, label: {num_classes: 3}}, global_batch_size: 2}", folder);
    return 0;
}
