/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What array files share: bytes of a header that must be there, files that are something else, and values as files have them, turned into
 * ours: byte order, order of dimensions, and the types that we do not have widened to those that we have.
 */
#define _GNU_SOURCE /* madvise */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "file/array.h"

/* ---- headers ---- */

dt_status *dt_header_bytes(dt_inflow *f, const char *path, void *buffer, int64_t n, int64_t *at)
{
    int64_t got;
    DT_TRY(dt_inflow_read(f, buffer, n, &got));
    *at += got;
    if (got < n)
        return dt_fail(DT_E_DATA_FILE, NULL, "%s: header cut at byte %lld of %lld", path, (long long)*at,
                       (long long)(*at - got + n));
    return NULL;
}

dt_status *dt_not_this_file(const char *path, const char *wanted, const unsigned char *first, int64_t n)
{
    static const struct {
        const char *bytes; /* four at most: an IDX header has no more to begin with */
        int size;
        const char *what;
    } known[] = {
        {"\x89HDF", 4, "an HDF5 file"}, {"\x93NUM", 4, "an NPY file"}, {"PK\x03\x04", 4, "a ZIP archive (as NPZ files are)"},
        {"\x80\x02", 2, "a Python pickle"}, {"\x80\x03", 2, "a Python pickle"}, {"\x80\x04", 2, "a Python pickle"},
        {"\x80\x05", 2, "a Python pickle"}, {"PAR1", 4, "a Parquet file"}, {"\x89PNG", 4, "a PNG image"},
        {"\xff\xd8\xff", 3, "a JPEG image"}, {"BZh", 3, "a bzip2 file"}, {"\xfd" "7zX", 4, "an xz file"},
        {"\x28\xb5\x2f\xfd", 4, "a zstd file"}, {"\0\0\x08\x01", 4, "an IDX file"}, {"\0\0\x08\x03", 4, "an IDX file"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (n >= known[i].size && memcmp(first, known[i].bytes, (size_t)known[i].size) == 0)
            return dt_fail(DT_E_DATA_FILE, NULL, "%s: is %s, not %s", path, known[i].what, wanted);
    char hex[3 * 4 + 1] = "";
    for (int i = 0; i < 4 && i < n; i++)
        snprintf(hex + 3 * i, 4, " %02x", first[i]);
    return dt_fail(DT_E_DATA_FILE, NULL, "%s: not %s (first bytes%s)", path, wanted, hex);
}

/* ---- values ---- */

int dt_wire_size(dt_dtype dtype, dt_wire wire)
{
    switch (wire) {
    case DT_WIRE_U16:
    case DT_WIRE_F16:
        return 2;
    case DT_WIRE_U32:
        return 4;
    default:
        return (int)dt_dtype_size(dtype);
    }
}

void dt_swap_values(void *values, int64_t n, int size)
{
    unsigned char *p = values;
    uint16_t a;
    uint32_t b;
    uint64_t c;
    for (int64_t i = 0; i < n; i++, p += size)
        switch (size) {
        case 2:
            memcpy(&a, p, 2);
            a = __builtin_bswap16(a);
            memcpy(p, &a, 2);
            break;
        case 4:
            memcpy(&b, p, 4);
            b = __builtin_bswap32(b);
            memcpy(p, &b, 4);
            break;
        case 8:
            memcpy(&c, p, 8);
            c = __builtin_bswap64(c);
            memcpy(p, &c, 8);
            break;
        }
}

/* IEEE half precision: the exponent moves by 112, the fraction by 13 bits; denormals are multiples of 2^-24. */
static float half_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 1023, bits;
    float f;
    if (exponent == 0) {
        f = (float)fraction * 0x1p-24f;
        return sign ? -f : f;
    }
    bits = sign | (exponent == 31 ? 255 : exponent + 112) << 23 | fraction << 13;
    memcpy(&f, &bits, 4);
    return f;
}

/* in and out overlap, in being at the end of out's memory: hence memcpy, and from the front. */
static void widen(dt_wire wire, const unsigned char *in, unsigned char *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint16_t u16;
        uint32_t u32;
        switch (wire) {
        case DT_WIRE_U16:
            memcpy(&u16, in + 2 * i, 2);
            memcpy(out + 4 * i, &(int32_t){u16}, 4);
            break;
        case DT_WIRE_F16:
            memcpy(&u16, in + 2 * i, 2);
            memcpy(out + 4 * i, &(float){half_to_float(u16)}, 4);
            break;
        case DT_WIRE_U32:
            memcpy(&u32, in + 4 * i, 4);
            memcpy(out + 8 * i, &(int64_t){u32}, 8);
            break;
        default:
            break;
        }
    }
}

static bool all_fit_int64(const unsigned char *p, int64_t n, int64_t *bad)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t v;
        memcpy(&v, p + 8 * i, 8);
        if (v < 0) {
            *bad = i;
            return false;
        }
    }
    return true;
}

bool dt_unwire(const dt_header *h, void *values, int64_t n, int64_t *bad)
{
    int size = dt_wire_size(h->type.dtype, h->wire), ours = (int)dt_dtype_size(h->type.dtype);
    unsigned char *out = values, *in = out + n * (ours - size);
    if (h->swap)
        dt_swap_values(in, n, size);
    if (size < ours)
        widen(h->wire, in, out, n);
    if (h->wire == DT_WIRE_BOOL)
        for (int64_t i = 0; i < n; i++)
            out[i] = out[i] != 0;
    return h->wire != DT_WIRE_U64 || all_fit_int64(out, n, bad);
}

/* ---- a file of one array ---- */

enum { PIECE = 1 << 18, HUGE_PAGE = 2 << 20 }; /* values turned at a time, while they are in the cache */

dt_status *dt_array_check_rows(const char *path, const dt_type *t)
{
    if (t->rank == 0)
        return dt_fail(DT_E_DATA_FILE, NULL, "%s: holds a single value, not rows of examples", path);
    return t->dim[0] > 0 ? NULL : dt_fail(DT_E_DATA_EMPTY, NULL, "%s: no examples", path);
}

static dt_status *cut_short(const dt_array_file *a, int64_t bytes)
{
    const dt_header *h = &a->header;
    const int64_t row = a->row_values * dt_wire_size(h->type.dtype, h->wire);
    if (a->streamed)
        return dt_fail(DT_E_DATA_SIZE, NULL, "%s: %lld of %lld rows present", a->path, (long long)(bytes / row), (long long)h->type.dim[0]);
    return dt_fail(DT_E_DATA_SIZE, NULL, "%s: %lld of %lld data bytes present (offset %lld)", a->path, (long long)bytes,
                   (long long)(h->type.dim[0] * row), (long long)h->offset);
}

dt_status *dt_array_values(const dt_array_file *a, int64_t first, int64_t n, void *out)
{
    const dt_header *h = &a->header;
    const int64_t size = dt_wire_size(h->type.dtype, h->wire), ours = (int64_t)dt_dtype_size(h->type.dtype);
    char *in = (char *)out + n * (ours - size);
    int64_t got = n * size, bad;
    if (a->streamed || dt_inflow_is_gzip(a->file))
        DT_TRY(dt_inflow_read(a->file, in, n * size, &got));
    else
        DT_TRY(dt_inflow_pread(a->file, in, n * size, h->offset + first * size));
    if (got < n * size)
        return cut_short(a, first * size + got);
    if (dt_unwire(h, out, n, &bad))
        return NULL;
    const int64_t row = h->fortran ? (first + bad) % h->type.dim[0] : (first + bad) / a->row_values;
    return dt_fail(DT_E_DATA_TYPE, NULL, "%s: a value of row %lld does not fit int64", a->path, (long long)row);
}

/* Large pages make 25 page faults of the 11,500 that MNIST's images would take, and spare the gather most TLB misses. */
static void *allocate_rows(int64_t bytes)
{
    if (bytes < HUGE_PAGE)
        return dt_try_alloc((size_t)bytes);
    void *p = NULL;
    if (posix_memalign(&p, HUGE_PAGE, (size_t)bytes) != 0)
        return NULL;
    madvise(p, (size_t)bytes, MADV_HUGEPAGE); /* advice: it may say no */
    return p;
}

/* From Fortran's order, where the first index runs fastest, into C's, where the last does. */
static void reorder(const dt_type *t, const char *in, char *out)
{
    const size_t size = dt_dtype_size(t->dtype);
    int64_t index[DT_MAX_RANK] = {0}, stride[DT_MAX_RANK], n = dt_type_elements(t), from = 0;
    for (int d = 0; d < t->rank; d++)
        stride[d] = d ? stride[d - 1] * t->dim[d - 1] : 1;
    for (int64_t i = 0; i < n; i++, out += size) {
        memcpy(out, in + from * (int64_t)size, size);
        for (int d = t->rank - 1; d >= 0; d--) {
            from += stride[d];
            if (++index[d] < t->dim[d])
                break;
            from -= stride[d] * t->dim[d];
            index[d] = 0;
        }
    }
}

/* Takes the rows, gives them in C's order; NULL: out of memory. */
static char *into_c_order(const dt_type *t, char *rows)
{
    char *out = allocate_rows(dt_type_bytes(t));
    if (out)
        reorder(t, rows, out);
    free(rows);
    return out;
}

dt_status *dt_array_load(dt_array_file *a)
{
    const dt_type *t = &a->header.type;
    const int64_t values = t->dim[0] * a->row_values, size = (int64_t)dt_dtype_size(t->dtype);
    char *rows = allocate_rows(values * size);
    dt_status *s = NULL;
    for (int64_t at = 0; rows && at < values && !s; at += PIECE)
        s = dt_array_values(a, at, values - at < PIECE ? values - at : PIECE, rows + at * size);
    if (s) {
        free(rows);
        return s;
    }
    a->rows = rows && a->header.fortran ? into_c_order(t, rows) : rows;
    return a->rows ? NULL : dt_fail(DT_E_NO_MEMORY, NULL, "%s: out of memory (wanted %lld bytes for its rows)", a->path, (long long)(values * size));
}
