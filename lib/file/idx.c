/* SPDX-License-Identifier: Apache-2.0 */
/*
 * IDX, the format of the MNIST files: two zero bytes, a type code, the number of dimensions, the
 * sizes as 32-bit big-endian numbers, then the values, big-endian too
 * (http://yann.lecun.com/exdb/mnist/, "THE IDX FILE FORMAT").
 */
#include "file/array.h"
#include "file/cast.h"
#include "file/examples.h"

static const struct {
    unsigned char code;
    dt_dtype dtype;
} types[] = {
    {0x08, DT_UINT8}, {0x09, DT_INT8},    {0x0b, DT_INT16},
    {0x0c, DT_INT32}, {0x0d, DT_FLOAT32}, {0x0e, DT_FLOAT64},
};

static bool find_type(unsigned char code, dt_dtype *out) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].code == code) {
            *out = types[i].dtype;
            return true;
        }
    return false;
}

static int64_t big_endian(const unsigned char b[4]) {
    return (int64_t)b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3];
}

static dt_status *read_magic(dt_inflow *f, const char *path, dt_header *out, int64_t *at) {
    unsigned char magic[4], first[DT_PEEK];
    int64_t n;
    DT_TRY(dt_inflow_peek(f, first, DT_PEEK, &n));
    DT_TRY(dt_header_bytes(f, path, magic, 4, at));
    if (magic[0] != 0 || magic[1] != 0) return dt_not_this_file(path, "an IDX file", first, n);
    if (!find_type(magic[2], &out->type.dtype))
        return dt_fail(DT_E_DATA_FILE, NULL, "%s: unknown type code 0x%02x", path, magic[2]);
    if (magic[3] == 0 || magic[3] > DT_MAX_RANK)
        return dt_fail(DT_E_DATA_FILE, NULL, "%s: %d dimensions; at least 1, at most %d", path,
                       magic[3], DT_MAX_RANK);
    out->type.rank = magic[3];
    return NULL;
}

dt_status *dt_idx_header(dt_inflow *f, const char *path, dt_header *out) {
    unsigned char sizes[4 * DT_MAX_RANK];
    int64_t at = 0;
    *out = (dt_header){.wire = DT_WIRE_SAME, .swap = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__};
    DT_TRY(read_magic(f, path, out, &at));
    DT_TRY(dt_header_bytes(f, path, sizes, 4 * out->type.rank, &at));
    for (int i = 0; i < out->type.rank; i++) out->type.dim[i] = big_endian(sizes + 4 * i);
    out->swap &= dt_dtype_size(out->type.dtype) > 1;
    out->offset = at;
    return NULL;
}

/* ---- writing ---- */

/* Returns the dtype to write. IDX lacks bool, which is written as uint8, and int64, which is
 * written as int32; a value that does not fit is an error. */
static dt_dtype idx_dtype(dt_dtype d) {
    return d == DT_BOOL ? DT_UINT8 : d == DT_INT64 ? DT_INT32 : d;
}

static dt_status *begin_idx(dt_output *o) {
    static const unsigned char codes[] = {[DT_UINT8] = 8,  [DT_INT8] = 9,     [DT_INT16] = 11,
                                          [DT_INT32] = 12, [DT_FLOAT32] = 13, [DT_FLOAT64] = 14};
    const dt_type t = dt_output_type(&o->column[0], o->of);
    dt_str_add(&o->text, (char[]){0, 0, (char)codes[idx_dtype(t.dtype)], (char)t.rank}, 4);
    for (int i = 0; i < t.rank; i++) {
        if (t.dim[i] > UINT32_MAX)
            return dt_fail(DT_E_OUTPUT_FORMAT, NULL,
                           "%lld examples do not fit an IDX file: write .npy", (long long)t.dim[i]);
        for (int shift = 24; shift >= 0; shift -= 8)
            dt_str_putc(&o->text, (char)(t.dim[i] >> shift & 255));
    }
    return NULL;
}

static dt_status *put_idx(dt_output *o, const void *const *row) {
    const dt_element_spec *c = &o->column[0];
    const dt_dtype from = c->type.dtype, to = idx_dtype(from);
    const int64_t n = dt_type_elements(&c->type), *wide = row[0];
    const size_t at = o->text.size, size = dt_dtype_size(to);
    for (int64_t i = 0; i < n && from == DT_INT64; i++)
        if (wide[i] < INT32_MIN || wide[i] > INT32_MAX)
            return dt_fail(DT_E_OUTPUT_FORMAT, NULL,
                           "'%s' has values that do not fit int32, IDX's widest integers: write "
                           ".npy instead of '%s'",
                           c->name, o->named);
    dt_str_add(&o->text, row[0], (size_t)n * size);
    /* int32 values are aligned in o->text, because the header and each row of them take a multiple
     * of 4 bytes. */
    if (to != from) dt_cast(from, to, row[0], o->text.data + at, n);
    if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) dt_swap_values(o->text.data + at, n, (int)size);
    return NULL;
}

/* ---- the format ---- */

static bool sniff(const unsigned char *first, int64_t n) {
    return n >= 4 && first[0] == 0 && first[1] == 0 && first[2] >= 0x08 && first[2] <= 0x0e &&
           first[3] >= 1;
}

static dt_status *open_idx(dt_row_source *s) { return dt_array_source_open(s, dt_idx_header); }

static dt_status *open_part(const dt_format_request *r, dt_examples **out) {
    return dt_arrays_open_part(r, dt_idx_header, false, out);
}

static const dt_format_writer writer = {.begin = begin_idx, .put = put_idx};

const dt_format dt_format_idx = {
    .kind = {.name = "idx",
             .about = "IDX files, the format of MNIST: one file per element; may be gzipped"},
    .suffix = {".idx", "-ubyte"},
    .content = DT_CONTENT_ARRAY,
    .sniff = sniff,
    .open = open_idx,
    .check = dt_arrays_check,
    .open_part = open_part,
    .writer = &writer,
};
