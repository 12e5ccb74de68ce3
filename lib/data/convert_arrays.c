/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays as NPY, NPZ and IDX. An archive's members are stored, not deflated, so that they can be read in any order; their sizes stand in the
 * directory behind them, as ZIP64 allows:
 *
 *     header of member 0 | NPY file | descriptor (CRC, sizes) | header of member 1 ... | directory | ZIP64 end | locator | end
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "file/cast.h"
#include "data/convert.h"

/* ---- NPY ---- */

static dt_status *npy_header(const dt_type *type, dt_str *out)
{
    static const char *const codes[] = {[DT_BOOL] = "|b1", [DT_UINT8] = "|u1", [DT_INT8] = "|i1", [DT_INT16] = "i2", [DT_INT32] = "i4",
                                        [DT_INT64] = "i8", [DT_FLOAT32] = "f4", [DT_FLOAT64] = "f8"};
    const char *code = codes[type->dtype], order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '<' : '>';
    dt_str d = {0};
    dt_str_puts(&d, "{'descr': '");
    if (*code != '|')
        dt_str_putc(&d, order);
    dt_str_printf(&d, "%s', 'fortran_order': False, 'shape': (", code);
    for (int i = 0; i < type->rank; i++)
        dt_str_printf(&d, "%s%lld%s", i ? " " : "", (long long)type->dim[i], i + 1 < type->rank || type->rank == 1 ? "," : "");
    dt_str_puts(&d, "), }");
    while ((10 + d.size + 1) % 64 != 0)
        dt_str_putc(&d, ' ');
    dt_str_putc(&d, '\n');
    dt_str_add(out, "\x93NUMPY\1\0", 8);
    dt_str_putc(out, (char)(d.size & 255));
    dt_str_putc(out, (char)(d.size >> 8));
    dt_str_add(out, dt_str_text(&d), d.size);
    dt_str_release(&d);
    return NULL;
}

const dt_array_writer dt_npy_writer = {.header = npy_header};

/* ---- IDX ---- */

/* int64, which IDX lacks, is written as int32: a value that does not fit is an error. */
static dt_dtype idx_dtype(dt_dtype d)
{
    return d == DT_BOOL ? DT_UINT8 : d == DT_INT64 ? DT_INT32 : d;
}

static void put_big(dt_str *out, uint32_t x)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        dt_str_putc(out, (char)(x >> shift & 255));
}

static dt_status *idx_header(const dt_type *type, dt_str *out)
{
    static const unsigned char codes[] = {[DT_UINT8] = 8, [DT_INT8] = 9, [DT_INT16] = 11, [DT_INT32] = 12, [DT_FLOAT32] = 13, [DT_FLOAT64] = 14};
    dt_str_add(out, (char[]){0, 0, (char)codes[type->dtype], (char)type->rank}, 4);
    for (int i = 0; i < type->rank; i++) {
        if (type->dim[i] > UINT32_MAX)
            return dt_fail(DT_E_OUTPUT_FORMAT, NULL, "%lld examples do not fit an IDX file: write .npy", (long long)type->dim[i]);
        put_big(out, (uint32_t)type->dim[i]);
    }
    return NULL;
}

const dt_array_writer dt_idx_writer = {.header = idx_header, .dtype = idx_dtype, .big_endian = true};

void dt_swap_values(void *values, int64_t n, int size)
{
    unsigned char *p = values;
    for (int64_t i = 0; i < n; i++, p += size)
        for (int a = 0, b = size - 1; a < b; a++, b--) {
            const unsigned char x = p[a];
            p[a] = p[b];
            p[b] = x;
        }
}

/* ---- one element ---- */

typedef struct job {
    const dt_conversion *q;
    const dt_array_writer *w;
    dt_sink *sink;
    uLong crc;
} job;

static dt_status *put(job *j, const void *bytes, size_t n)
{
    j->crc = crc32(j->crc, bytes, (uInt)n);
    return dt_sink_put(j->sink, bytes, n);
}

static dt_status *too_wide(const dt_conversion *q, const char *name)
{
    return dt_fail(DT_E_OUTPUT_FORMAT, NULL, "'%s' has values that do not fit int32, IDX's widest integers: write .npy instead of '%s'", name, q->output);
}

static bool fits_int32(const int64_t *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (x[i] < INT32_MIN || x[i] > INT32_MAX)
            return false;
    return true;
}

static dt_status *put_view(job *j, const dt_view *v, const char *name)
{
    const dt_dtype from = v->type.dtype, to = j->w->dtype ? j->w->dtype(from) : from;
    const int64_t n = dt_type_elements(&v->type), size = (int64_t)dt_dtype_size(to);
    if (from == DT_INT64 && to == DT_INT32 && !fits_int32(v->data, n))
        return too_wide(j->q, name);
    if (from == to && !j->w->big_endian)
        return put(j, v->data, (size_t)(n * size));
    char *values = dt_alloc((size_t)(n * size) + 1);
    dt_cast(from, to, v->data, values, n);
    if (j->w->big_endian && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
        dt_swap_values(values, n, (int)size);
    dt_status *s = put(j, values, (size_t)(n * size));
    free(values);
    return s;
}

static dt_status *put_rows(job *j, int e, const char *name)
{
    dt_feed *feed = NULL;
    dt_batch b;
    DT_TRY(dt_convert_feed(j->q, &feed));
    dt_status *s = dt_feed_next(feed, &b);
    while (!s && b.rows > 0) {
        s = put_view(j, &b.element[e], name);
        if (!s)
            s = dt_feed_next(feed, &b);
    }
    dt_feed_close(feed);
    return s;
}

static dt_status *put_array(job *j, const dt_element *element, int e)
{
    dt_str header = {0};
    dt_type type = element->type;
    type.dim[0] = dt_dataset_count(j->q->data, j->q->part);
    type.dtype = j->w->dtype ? j->w->dtype(type.dtype) : type.dtype;
    dt_status *s = j->w->header(&type, &header);
    if (!s)
        s = put(j, dt_str_text(&header), header.size);
    dt_str_release(&header);
    return s ? s : put_rows(j, e, element->name);
}

/* ---- files ---- */

#define PLACE "{element}"

static void file_name(const char *output, const char *element, dt_str *out)
{
    const char *at = strstr(output, PLACE);
    dt_str_clear(out);
    dt_str_add(out, output, at ? (size_t)(at - output) : strlen(output));
    if (at)
        dt_str_printf(out, "%s%s", element, at + strlen(PLACE));
}

static dt_status *write_file(const dt_conversion *q, const dt_array_writer *w, const dt_element *element, int e, const char *path)
{
    dt_sink sink = {0};
    job j = {q, w, &sink, 0};
    dt_status *s = dt_sink_open(&sink, path);
    if (!s)
        s = put_array(&j, element, e);
    if (!s)
        s = dt_sink_commit(&sink);
    if (s)
        dt_sink_abandon(&sink);
    return s;
}

/* Names of elements may come from the data: none may lead to another folder. */
static dt_status *check_place(const char *output, const char *element)
{
    if (!strstr(output, PLACE) || (*element && !strchr(element, '/') && strcmp(element, ".") != 0 && strcmp(element, "..") != 0))
        return NULL;
    return dt_fail(DT_E_OUTPUT_FORMAT, NULL, "no file can be named after element '%.200s': write .npz", element);
}

static dt_status *write_files(const dt_conversion *q, const dt_array_writer *w, dt_str *files)
{
    const dt_element *element;
    const int n = dt_dataset_elements(q->data, &element);
    dt_str path = {0};
    dt_status *s = NULL;
    if (n > 1 && !strstr(q->output, PLACE))
        return dt_fail(DT_E_OUTPUT_FORMAT, NULL, "'%s' holds one array, but the data has %d elements: put %s in the name, or write .npz", q->output, n, PLACE);
    for (int e = 0; e < n; e++)
        DT_TRY(check_place(q->output, element[e].name));
    for (int e = 0; e < n && !s; e++) {
        file_name(q->output, element[e].name, &path);
        s = write_file(q, w, &element[e], e, dt_str_text(&path));
        if (!s)
            dt_str_printf(files, "%s\n", dt_str_text(&path));
    }
    dt_str_release(&path);
    return s;
}

/* ---- archives ---- */

static void put_little(dt_str *out, uint64_t x, int bytes)
{
    for (int i = 0; i < bytes; i++)
        dt_str_putc(out, (char)(x >> 8 * i & 255));
}

enum { DESCRIPTOR = 8, DATE = 0x21, VERSION = 45 }; /* flags: sizes stand behind the data; 1 January 1980; ZIP64 */

typedef struct member {
    dt_str name;
    int64_t offset, size;
    uint32_t crc;
} member;

/* What a member's header and its entry in the directory have in common, up to the lengths of name and extra field. */
static void put_common(const member *m, bool entry, dt_str *out)
{
    put_little(out, VERSION, 2);
    put_little(out, DESCRIPTOR, 2);
    put_little(out, 0, 2); /* stored */
    put_little(out, 0, 2);
    put_little(out, DATE, 2);
    put_little(out, entry ? m->crc : 0, 4);
    put_little(out, UINT32_MAX, 4);
    put_little(out, UINT32_MAX, 4);
    put_little(out, m->name.size, 2);
}

static dt_status *put_member(job *j, const dt_element *element, int e, member *m)
{
    dt_str s = {0};
    dt_str_printf(&m->name, "%s.npy", element->name);
    m->offset = j->sink->written;
    put_little(&s, 0x04034b50, 4);
    put_common(m, false, &s);
    put_little(&s, 20, 2);
    dt_str_add(&s, dt_str_text(&m->name), m->name.size);
    put_little(&s, 1, 2); /* ZIP64: both sizes, which are not known yet */
    put_little(&s, 16, 2);
    put_little(&s, 0, 8);
    put_little(&s, 0, 8);
    dt_status *bad = dt_sink_put(j->sink, dt_str_text(&s), s.size);
    const int64_t from = j->sink->written;
    j->crc = crc32(0, NULL, 0);
    if (!bad)
        bad = put_array(j, element, e);
    m->size = j->sink->written - from;
    m->crc = (uint32_t)j->crc;
    dt_str_clear(&s);
    put_little(&s, 0x08074b50, 4);
    put_little(&s, m->crc, 4);
    put_little(&s, (uint64_t)m->size, 8);
    put_little(&s, (uint64_t)m->size, 8);
    if (!bad)
        bad = dt_sink_put(j->sink, dt_str_text(&s), s.size);
    dt_str_release(&s);
    return bad;
}

static void put_entry(const member *m, dt_str *out)
{
    put_little(out, 0x02014b50, 4);
    put_little(out, VERSION, 2);
    put_common(m, true, out);
    put_little(out, 28, 2);
    put_little(out, 0, 2); /* no comment, first disk, no attributes */
    put_little(out, 0, 2);
    put_little(out, 0, 2);
    put_little(out, 0, 4);
    put_little(out, UINT32_MAX, 4);
    dt_str_add(out, dt_str_text(&m->name), m->name.size);
    put_little(out, 1, 2);
    put_little(out, 24, 2);
    put_little(out, (uint64_t)m->size, 8);
    put_little(out, (uint64_t)m->size, 8);
    put_little(out, (uint64_t)m->offset, 8);
}

static void put_end(int64_t n, int64_t at, int64_t bytes, dt_str *out)
{
    put_little(out, 0x06064b50, 4);
    put_little(out, 44, 8);
    put_little(out, VERSION, 2);
    put_little(out, VERSION, 2);
    put_little(out, 0, 8); /* disks */
    put_little(out, (uint64_t)n, 8);
    put_little(out, (uint64_t)n, 8);
    put_little(out, (uint64_t)bytes, 8);
    put_little(out, (uint64_t)at, 8);
    put_little(out, 0x07064b50, 4);
    put_little(out, 0, 4);
    put_little(out, (uint64_t)(at + bytes), 8);
    put_little(out, 1, 4);
    put_little(out, 0x06054b50, 4);
    put_little(out, 0, 4);
    put_little(out, n < UINT16_MAX ? (uint64_t)n : UINT16_MAX, 2);
    put_little(out, n < UINT16_MAX ? (uint64_t)n : UINT16_MAX, 2);
    put_little(out, UINT32_MAX, 4);
    put_little(out, UINT32_MAX, 4);
    put_little(out, 0, 2);
}

static dt_status *put_directory(dt_sink *sink, const member *m, int n)
{
    dt_str s = {0};
    const int64_t at = sink->written;
    for (int i = 0; i < n; i++)
        put_entry(&m[i], &s);
    put_end(n, at, (int64_t)s.size, &s);
    dt_status *bad = dt_sink_put(sink, dt_str_text(&s), s.size);
    dt_str_release(&s);
    return bad;
}

static dt_status *write_members(const dt_conversion *q, const dt_array_writer *w, dt_sink *sink)
{
    const dt_element *element;
    const int n = dt_dataset_elements(q->data, &element);
    member *m = dt_alloc((size_t)n * sizeof *m);
    job j = {q, w, sink, 0};
    dt_status *s = dt_sink_open(sink, q->output);
    for (int e = 0; e < n && !s; e++)
        s = put_member(&j, &element[e], e, &m[e]);
    if (!s)
        s = put_directory(sink, m, n);
    for (int e = 0; e < n; e++)
        dt_str_release(&m[e].name);
    free(m);
    return s ? s : dt_sink_commit(sink);
}

dt_status *dt_convert_arrays(const dt_conversion *q, const dt_output_format *f, dt_str *files)
{
    dt_sink sink = {0};
    if (!f->archive)
        return write_files(q, f->array, files);
    dt_status *s = write_members(q, f->array, &sink);
    if (s)
        dt_sink_abandon(&sink);
    else
        dt_str_printf(files, "%s\n", q->output);
    return s;
}
