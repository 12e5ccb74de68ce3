/* SPDX-License-Identifier: Apache-2.0 */
/*
 * IDX, the format of the MNIST files: two zero bytes, a type code, the number of dimensions, the sizes as 32-bit big-endian
 * numbers, then the values, big-endian too (http://yann.lecun.com/exdb/mnist/, "THE IDX FILE FORMAT").
 */
#include "file/array.h"

static const struct {
    unsigned char code;
    dt_dtype dtype;
} types[] = {
    {0x08, DT_UINT8}, {0x09, DT_INT8}, {0x0b, DT_INT16}, {0x0c, DT_INT32}, {0x0d, DT_FLOAT32}, {0x0e, DT_FLOAT64},
};

static bool find_type(unsigned char code, dt_dtype *out)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].code == code) {
            *out = types[i].dtype;
            return true;
        }
    return false;
}

static int64_t big_endian(const unsigned char b[4])
{
    return (int64_t)b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3];
}

static dt_status *read_magic(dt_inflow *f, const char *path, dt_header *out, int64_t *at)
{
    unsigned char magic[4];
    DT_TRY(dt_header_bytes(f, path, magic, 4, at));
    if (magic[0] != 0 || magic[1] != 0)
        return dt_not_this_file(path, "an IDX file", magic, 4);
    if (!find_type(magic[2], &out->type.dtype))
        return dt_fail(DT_E_DATA_FILE, NULL, "%s: unknown type code 0x%02x", path, magic[2]);
    if (magic[3] == 0 || magic[3] > DT_MAX_RANK)
        return dt_fail(DT_E_DATA_FILE, NULL, "%s: %d dimensions; at least 1, at most %d", path, magic[3], DT_MAX_RANK);
    out->type.rank = magic[3];
    return NULL;
}

dt_status *dt_idx_header(dt_inflow *f, const char *path, dt_header *out)
{
    unsigned char sizes[4 * DT_MAX_RANK];
    int64_t at = 0;
    *out = (dt_header){.wire = DT_WIRE_SAME, .swap = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__};
    DT_TRY(read_magic(f, path, out, &at));
    DT_TRY(dt_header_bytes(f, path, sizes, 4 * out->type.rank, &at));
    for (int i = 0; i < out->type.rank; i++)
        out->type.dim[i] = big_endian(sizes + 4 * i);
    out->swap &= dt_dtype_size(out->type.dtype) > 1;
    out->offset = at;
    return NULL;
}
