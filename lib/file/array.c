/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by array files: reads the bytes of headers, names the format of other files in errors, and
 * reads values and converts them: byte order, order of dimensions, and dtypes that dtrain lacks.
 */
#define _GNU_SOURCE /* madvise */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/text.h"
#include "file/array.h"

/* ---- headers ---- */

dt_status *dt_header_bytes(dt_inflow *f, const char *path, void *buffer, int64_t n, int64_t *at) {
    int64_t got;
    DT_TRY(dt_inflow_read(f, buffer, n, &got));
    *at += got;
    if (got < n)
        return dt_fail(DT_E_DATA_FILE, NULL, "%s: header cut at byte %lld of %lld", path,
                       (long long)*at, (long long)(*at - got + n));
    return NULL;
}

dt_status *dt_not_this_file(const char *path, const char *wanted, const unsigned char *first,
                            int64_t n) {
    const dt_file_sort *sort = dt_file_sort_of(first, n > 0 ? (size_t)n : 0);
    if (sort) {
        dt_status *s = dt_fail(DT_E_DATA_FILE, NULL, "%s: is %s, not %s", path, sort->what, wanted);
        return sort->remedy ? dt_suggest(s, "%s", sort->remedy) : s;
    }
    char hex[3 * 4 + 1] = "";
    for (int i = 0; i < 4 && i < n; i++) snprintf(hex + 3 * i, 4, " %02x", first[i]);
    return dt_fail(DT_E_DATA_FILE, NULL, "%s: not %s (first bytes%s)", path, wanted, hex);
}

/* ---- values ---- */

int dt_wire_size(dt_dtype dtype, dt_wire wire) {
    switch (wire) {
    case DT_WIRE_U16:
    case DT_WIRE_F16: return 2;
    case DT_WIRE_U32: return 4;
    default: return (int)dt_dtype_size(dtype);
    }
}

void dt_swap_values(void *values, int64_t n, int size) {
    unsigned char *p = values;
    uint16_t a;
    uint32_t b;
    uint64_t c;
    for (int64_t i = 0; i < n; i++, p += size) switch (size) {
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

/* Converts an IEEE half. The exponent's bias grows by 112 and the fraction by 13 bits; denormals
 * are multiples of 2^-24. */
static float half_to_float(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 1023,
             bits;
    float f;
    if (exponent == 0) {
        f = (float)fraction * 0x1p-24f;
        return sign ? -f : f;
    }
    bits = sign | (exponent == 31 ? 255 : exponent + 112) << 23 | fraction << 13;
    memcpy(&f, &bits, 4);
    return f;
}

/* Widens n values. `in` is at the end of the memory of `out`, so the values are widened from the
 * front, with memcpy. */
static void widen(dt_wire wire, const unsigned char *in, unsigned char *out, int64_t n) {
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
        default: break;
        }
    }
}

static bool all_fit_int64(const unsigned char *p, int64_t n, int64_t *bad) {
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

/* Converts n values in place. The n values of the file are at the end of `values`, which has room
 * for n converted values, so widening from the front never overwrites values that are still needed.
 * Returns false if a value does not fit; *bad is its index. */
static bool unwire(const dt_header *h, void *values, int64_t n, int64_t *bad) {
    int size = dt_wire_size(h->type.dtype, h->wire), ours = (int)dt_dtype_size(h->type.dtype);
    unsigned char *out = values, *in = out + n * (ours - size);
    if (h->swap) dt_swap_values(in, n, size);
    if (size < ours) widen(h->wire, in, out, n);
    if (h->wire == DT_WIRE_BOOL)
        for (int64_t i = 0; i < n; i++) out[i] = out[i] != 0;
    return h->wire != DT_WIRE_U64 || all_fit_int64(out, n, bad);
}

/* ---- arrays ---- */

/* PIECE: number of values to read and convert at a time, so that they stay in the cache; HUGE_PAGE:
 * bytes of a large page of memory */
enum { PIECE = 1 << 18, HUGE_PAGE = 2 << 20 };

dt_status *dt_array_check_rows(const char *path, const dt_type *t) {
    if (t->rank == 0)
        return dt_fail(DT_E_DATA_FILE, NULL, "%s: holds a single value, not rows of examples",
                       path);
    return t->dim[0] > 0 ? NULL : dt_fail(DT_E_DATA_EMPTY, NULL, "%s: no examples", path);
}

static dt_status *cut_short(const dt_array_file *a, int64_t bytes) {
    const dt_header *h = &a->header;
    const int64_t row = a->row_values * dt_wire_size(h->type.dtype, h->wire);
    if (a->streamed)
        return dt_fail(DT_E_DATA_SIZE, NULL, "%s: %lld of %lld rows present", a->path,
                       (long long)(bytes / row), (long long)h->type.dim[0]);
    return dt_fail(DT_E_DATA_SIZE, NULL, "%s: %lld of %lld data bytes present (offset %lld)",
                   a->path, (long long)bytes, (long long)(h->type.dim[0] * row),
                   (long long)h->offset);
}

dt_status *dt_array_values(const dt_array_file *a, int64_t first, int64_t n, void *out) {
    const dt_header *h = &a->header;
    const int64_t size = dt_wire_size(h->type.dtype, h->wire),
                  ours = (int64_t)dt_dtype_size(h->type.dtype);
    char *in = (char *)out + n * (ours - size);
    int64_t got = n * size, bad;
    if (a->streamed || dt_inflow_is_gzip(a->file))
        DT_TRY(dt_inflow_read(a->file, in, n * size, &got));
    else DT_TRY(dt_inflow_pread(a->file, in, n * size, h->offset + first * size));
    if (got < n * size) return cut_short(a, first * size + got);
    if (unwire(h, out, n, &bad)) return NULL;
    const int64_t row = h->fortran ? (first + bad) % h->type.dim[0] : (first + bad) / a->row_values;
    return dt_fail(DT_E_DATA_TYPE, NULL, "%s: a value of row %lld does not fit int64", a->path,
                   (long long)row);
}

/* Allocates memory, and asks for large pages if it fills at least one. They make far fewer page
 * faults, and fewer TLB misses when batches are gathered. NULL: out of memory. */
static void *allocate_rows(int64_t bytes) {
    if (bytes < HUGE_PAGE) return dt_try_alloc((size_t)bytes);
    void *p = NULL;
    if (posix_memalign(&p, HUGE_PAGE, (size_t)bytes) != 0) return NULL;
    /* Madvise is only a hint, so its failure is ignored. */
    madvise(p, (size_t)bytes, MADV_HUGEPAGE);
    return p;
}

/* Copies n consecutive values to positions that are `step` values apart. */
static void scatter(const char *in, int64_t n, size_t size, char *out, int64_t step) {
#define SCATTER(type)                                                                              \
    for (int64_t i = 0; i < n; i++) ((type *)out)[i * step] = ((const type *)in)[i];               \
    break
    switch (size) {
    case 1: SCATTER(uint8_t);
    case 2: SCATTER(uint16_t);
    case 4: SCATTER(uint32_t);
    default: SCATTER(uint64_t);
    }
#undef SCATTER
}

/* BAND: number of rows that are copied at a time; LINE: bytes of a cache line; SHORTEST_COLUMN:
 * columns of fewer bytes are not read one by one */
enum { BAND = 64, LINE = 64, SHORTEST_COLUMN = 4096 };

/* Writes n columns, together at most LINE bytes wide, side by side into rows that are row_bytes
 * apart. They go through a tile that stays in the cache, because rows that are a power of two apart
 * would evict each other from it. */
static void put_columns(const char *const *column, int n, const dt_type *t, char *out,
                        int64_t row_bytes) {
    const int64_t rows = t->dim[0], size = (int64_t)dt_dtype_size(t->dtype);
    _Alignas(LINE) char tile[BAND * LINE];
    for (int64_t first = 0; first < rows; first += BAND) {
        const int64_t band = rows - first < BAND ? rows - first : BAND;
        for (int j = 0; j < n; j++)
            scatter(column[j] + first * size, band, (size_t)size, tile + j * size, LINE / size);
        for (int64_t r = 0; r < band; r++)
            memcpy(out + (first + r) * row_bytes, tile + r * LINE, (size_t)(n * size));
    }
}

/*
 * Reorders dimensions from Fortran order (first index fastest) to C order (last index fastest).
 * all: all values in the file's order; NULL: columns are read from the file into `room`, which has
 * space for as many columns as a cache line holds values, or for all if there are fewer.
 */
static dt_status *turn(const dt_array_file *a, const char *all, char *room, char *out) {
    const dt_type *t = &a->header.type;
    const int64_t rows = t->dim[0], size = (int64_t)dt_dtype_size(t->dtype), wide = LINE / size;
    int64_t index[DT_MAX_RANK] = {0}, stride[DT_MAX_RANK] = {1}, from = 0;
    const char *column[LINE];
    for (int d = 1; d < t->rank; d++) stride[d] = stride[d - 1] * t->dim[d - 1];
    for (int64_t i = 0, n; i < a->row_values; i += n) {
        for (n = 0; n < wide && i + n < a->row_values; n++) {
            column[n] = all ? all + from * size : room + n * rows * size;
            if (!all) DT_TRY(dt_array_values(a, from, rows, room + n * rows * size));
            for (int d = t->rank - 1; d > 0; d--) {
                from += stride[d];
                if (++index[d] < t->dim[d]) break;
                from -= stride[d] * t->dim[d];
                index[d] = 0;
            }
        }
        put_columns(column, (int)n, t, out + i * size, a->row_values * size);
    }
    return NULL;
}

/* Reads all values, in the file's order. */
static dt_status *load_values(const dt_array_file *a, char *rows) {
    const int64_t values = a->header.type.dim[0] * a->row_values,
                  size = (int64_t)dt_dtype_size(a->header.type.dtype);
    for (int64_t at = 0; at < values; at += PIECE)
        DT_TRY(dt_array_values(a, at, values - at < PIECE ? values - at : PIECE, rows + at * size));
    return NULL;
}

/* Reads all values and reorders them. A file that can be read at any offset is read by columns,
 * which takes less memory than to read all values first. It is read in the file's order if columns
 * are short, or if values may not fit int64, so that the first such value is reported. */
static dt_status *load_turned(const dt_array_file *a, char *rows) {
    const int64_t column = a->header.type.dim[0] * (int64_t)dt_dtype_size(a->header.type.dtype);
    const bool in_order = a->streamed || dt_inflow_is_gzip(a->file) ||
                          a->header.wire == DT_WIRE_U64 || column < SHORTEST_COLUMN;
    const int64_t wide = LINE / (int64_t)dt_dtype_size(a->header.type.dtype);
    const int64_t bytes = column * (in_order || a->row_values < wide ? a->row_values : wide);
    char *room = allocate_rows(bytes);
    if (!room)
        return dt_fail(DT_E_NO_MEMORY, NULL, "%s: out of memory (wanted %lld bytes for its rows)",
                       a->path, (long long)bytes);
    dt_status *s = in_order ? load_values(a, room) : NULL;
    if (!s) s = turn(a, in_order ? room : NULL, room, rows);
    free(room);
    return s;
}

dt_status *dt_array_load(dt_array_file *a) {
    const int64_t bytes =
        a->header.type.dim[0] * a->row_values * (int64_t)dt_dtype_size(a->header.type.dtype);
    char *rows = allocate_rows(bytes);
    if (!rows)
        return dt_fail(DT_E_NO_MEMORY, NULL, "%s: out of memory (wanted %lld bytes for its rows)",
                       a->path, (long long)bytes);
    dt_status *s = a->header.fortran ? load_turned(a, rows) : load_values(a, rows);
    if (s) free(rows);
    else a->rows = rows;
    return s;
}
