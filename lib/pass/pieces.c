/*
 * Fine pieces, for graphs that go over images. A row of theirs is tens of kilobytes, so a piece of the usual number of rows (partition.c)
 * is much larger than a core's cache. Cut finer, what a convolution writes is still there when batch normalisation and the next
 * convolution read it:
 *
 *     coarse   conv  conv  conv ... | relu relu relu ...          each value to memory and back
 *     fine     conv relu conv | conv relu conv | ...
 *
 * Sums over the batch of such values become a sum for each piece, made where the piece is, and a sum of these:
 *
 *     reduce(x)  ->  reduce(segment_reduce(x))        (B, h, w, c) -> (pieces, c) -> (c)
 *
 * and so do kernels' gradients. How many pieces there are depends on sizes alone, so the bits do too.
 */
#include <math.h>
#include <stdlib.h>

#include "op/convolution.h"
#include "op/segment.h"
#include "pass/pass.h"

enum { PIECE_BYTES = 512 << 10, MOST_PIECES = 16, HEAVY = 1024 /* elements of a row */, MOST_SUMS = 1024 };

static int64_t row_elements(const dt_type *t)
{
    return t->rank > 0 && t->dim[0] < 0 ? -dt_type_elements(t) : 0; /* with B = 1, a size -k counts as -k */
}
