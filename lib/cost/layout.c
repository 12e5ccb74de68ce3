/* How arrays lie in HBM: the last two dimensions in tiles of 8 sublanes by 128 lanes of 32 bits; narrower numbers are packed along sublanes. */
#include "cost/cost.h"

static int64_t up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

int64_t dt_padded_bytes(const dt_type *t)
{
    int64_t size = (int64_t)dt_dtype_size(t->dtype), rows = size >= 4 ? 8 : 32 / size, bytes = size;
    if (t->rank < 2)
        return t->rank == 0 ? size : up(dt_type_bytes(t), 512);
    for (int d = 0; d < t->rank - 2; d++)
        bytes *= t->dim[d];
    return bytes * up(t->dim[t->rank - 2], rows) * up(t->dim[t->rank - 1], 128);
}
