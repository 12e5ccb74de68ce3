/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rings through blocks of chips, the same as tf.tpu's, so that replicas get the coordinates that
 * TensorFlow gives them. A flat ring goes out and back along pairs of rows and returns through
 * column 0, so that every step is one link, including the last one back to the start:
 *
 *     0 - 1 - 2 - 3
 *     |           |        4 x 4
 *    15   6 - 5 - 4
 *     |   |
 *    14   7 - 8 - 9
 *     |           |
 *    13 -12 -11 -10
 *
 * In three dimensions each layer is a flat ring without its corner (0,0), in forward direction on
 * even layers and backwards on odd ones; the corners of all layers lead back to the start. That
 * needs even sizes; a block with an odd size is visited row by row, which is not a ring of
 * neighbours.
 */
#include <stdbool.h>
#include <string.h>

#include "topo/ring.h"

typedef struct path {
    int (*out)[3];
    int n;
    int fast, slow; /* the two axes of the flat ring */
} path;

static void visit(path *p, int fast, int slow) {
    int *at = p->out[p->n++];
    memset(at, 0, sizeof *p->out);
    at[p->fast] = fast;
    at[p->slow] = slow;
}

static void flat(path *p, int a, int b) {
    visit(p, 0, 0);
    for (int row = 0; row < b; row++) {
        for (int i = 1; i < a; i++) visit(p, row % 2 ? a - i : i, row);
    }
    for (int row = b - 1; row > 0; row--) visit(p, 0, row);
}

static void rows(const int size[3], int (*out)[3]) {
    for (int z = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++)
            for (int x = 0; x < size[0]; x++, out++) memcpy(*out, (int[3]){x, y, z}, sizeof *out);
}

/* Makes the ring of a block. out[0 .. layer-1] holds the ring of layer 0; the other layers are
 * copies of it without its first point. */
static void solid(const int size[3], int (*out)[3]) {
    path p = {.out = out, .fast = 0, .slow = 1};
    flat(&p, size[0], size[1]);
    int layer = p.n;
    for (int z = 1; z < size[2]; z++)
        for (int i = 1; i < layer; i++) {
            const int *from = out[z % 2 ? layer - i : i];
            memcpy(out[p.n++], (int[3]){from[0], from[1], z}, sizeof *out);
        }
    for (int z = size[2] - 1; z > 0; z--) memcpy(out[p.n++], (int[3]){0, 0, z}, sizeof *out);
}

void dt_ring(const int size[3], int (*out)[3]) {
    int above_one = 0;
    bool odd = false;
    for (int axis = 0; axis < 3; axis++) {
        above_one += size[axis] > 1;
        odd = odd || (size[axis] > 1 && size[axis] % 2);
    }
    if (above_one <= 1 || odd) {
        rows(size, out);
    } else if (above_one == 3) {
        solid(size, out);
    } else {
        path p = {.out = out, .fast = size[0] > 1 ? 0 : 1, .slow = size[2] > 1 ? 2 : 1};
        flat(&p, size[p.fast], size[p.slow]);
    }
}
