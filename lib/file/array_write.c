/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows as arrays (rows, ...): NPY and IDX hold one column, NPZ an array for each. An array's header stands first and says how many rows
 * there are: where that is not known it leaves room, and is written again at the end. An archive's arrays stand one after the other, and
 * rows come with a piece of each: the first array goes straight into the archive, the others wait in one file beside it, batch by batch,
 * and are copied behind it at the end. Members' checksums are known only then, too.
 *
 *     y.npz.tmp      header, array 0 .............................. | array 1, array 2, directory
 *     y.npz.1.tmp    array 1 | array 2 | array 1 | array 2 | ...      a piece for each batch
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/arena.h"
#include "file/array.h"
#include "file/cast.h"
#include "file/file.h"
#include "file/zip.h"

#define MOST_ROWS 9000000000000000000 /* as many digits as there can be */
enum { COPIED = 1 << 20 };

/* All rows of a column. */
static dt_type type_of(const dt_output_column *c, int64_t rows)
{
    dt_type t = dt_type_of(c->row.dtype, c->row.rank + 1, (const int64_t[DT_MAX_RANK]){0});
    memcpy(t.dim + 1, c->row.dim, (size_t)c->row.rank * sizeof *t.dim);
    t.dim[0] = rows;
    return t;
}

/* ---- NPY ---- */

static dt_status *begin_npy(dt_output *o)
{
    if (o->of < 0 && !o->temporary)
        return dt_fail(DT_E_ROW_FORMAT, NULL, "an NPY file begins with the number of rows, which is not known in advance: write to a file, "
                       "or csv or jsonl");
    const dt_type t = type_of(&o->column[0], o->of >= 0 ? o->of : MOST_ROWS);
    dt_npy_print_header(&t, 0, &o->text);
    return NULL;
}

static dt_status *put_npy(dt_output *o, const void *const *row)
{
    dt_str_add(&o->text, row[0], (size_t)dt_type_bytes(&o->column[0].row));
    return NULL;
}

static dt_status *finish_npy(dt_output *o)
{
    dt_str room = {0}, head = {0};
    const dt_type was = type_of(&o->column[0], MOST_ROWS), is = type_of(&o->column[0], o->rows);
    if (o->of == o->rows)
        return NULL;
    if (!o->temporary)
        return dt_fail(DT_E_INTERNAL, NULL, "%lld rows were announced, %lld came", (long long)o->of, (long long)o->rows);
    dt_npy_print_header(&was, 0, &room);
    dt_npy_print_header(&is, room.size, &head);
    dt_status *s = dt_writer_seek(&o->file, 0);
    if (!s)
        s = dt_writer_put(&o->file, head.data, head.size);
    dt_str_release(&room);
    dt_str_release(&head);
    return s;
}

/* ---- IDX ---- */

/* int64, which IDX lacks, is written as int32: a value that does not fit is an error. */
static dt_dtype idx_dtype(dt_dtype d)
{
    return d == DT_BOOL ? DT_UINT8 : d == DT_INT64 ? DT_INT32 : d;
}

static dt_status *begin_idx(dt_output *o)
{
    static const unsigned char codes[] = {[DT_UINT8] = 8, [DT_INT8] = 9, [DT_INT16] = 11, [DT_INT32] = 12, [DT_FLOAT32] = 13, [DT_FLOAT64] = 14};
    const dt_type t = type_of(&o->column[0], o->of);
    dt_str_add(&o->text, (char[]){0, 0, (char)codes[idx_dtype(t.dtype)], (char)t.rank}, 4);
    for (int i = 0; i < t.rank; i++) {
        if (t.dim[i] > UINT32_MAX)
            return dt_fail(DT_E_OUTPUT_FORMAT, NULL, "%lld examples do not fit an IDX file: write .npy", (long long)t.dim[i]);
        for (int shift = 24; shift >= 0; shift -= 8)
            dt_str_putc(&o->text, (char)(t.dim[i] >> shift & 255));
    }
    return NULL;
}

static dt_status *put_idx(dt_output *o, const void *const *row)
{
    const dt_output_column *c = &o->column[0];
    const dt_dtype from = c->row.dtype, to = idx_dtype(from);
    const int64_t n = dt_type_elements(&c->row), *wide = row[0];
    const size_t at = o->text.size, size = dt_dtype_size(to);
    for (int64_t i = 0; i < n && from == DT_INT64; i++)
        if (wide[i] < INT32_MIN || wide[i] > INT32_MAX)
            return dt_fail(DT_E_OUTPUT_FORMAT, NULL, "'%s' has values that do not fit int32, IDX's widest integers: write .npy instead of '%s'",
                           c->name, o->named);
    dt_str_add(&o->text, row[0], (size_t)n * size); /* makes room */
    dt_cast(from, to, row[0], o->text.data + at, n);
    if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
        dt_swap_values(o->text.data + at, n, (int)size);
    return NULL;
}

/* ---- NPZ ---- */

typedef struct npz {
    dt_archive archive;
    size_t head;         /* bytes of the first array's NPY header */
    dt_str *rows;        /* [n] of the batch at hand */
    uLong *crc;          /* [n] of what was written of them */
    dt_writer aside;     /* where all but the first wait */
    char *path;          /* of that file; NULL: there is none */
    int64_t *batch;      /* [batches] rows of each */
    int batches, cap;
    int64_t batched;     /* rows in batches */
} npz;

static dt_status *open_aside(const dt_output *o, npz *z)
{
    dt_str path = {0};
    dt_str_printf(&path, "%s.1.tmp", o->path);
    dt_status *s = dt_writer_open(&z->aside, dt_str_text(&path));
    if (s)
        dt_str_release(&path); /* whatever has that name is not ours */
    else
        z->path = dt_str_take(&path);
    return s;
}

static dt_status *begin_member(dt_output *o, int i, const dt_archived *facts)
{
    npz *z = o->state;
    dt_str name = {0};
    dt_str_printf(&name, "%s.npy", o->column[i].name);
    dt_status *s = dt_archive_begin(&z->archive, dt_str_text(&name), facts->crc, facts->size);
    dt_str_release(&name);
    return s;
}

static dt_status *begin_npz(dt_output *o)
{
    npz *z = o->state = dt_alloc(sizeof *z);
    dt_str head = {0};
    *z = (npz){.archive.file = &o->file, .aside.fd = -1};
    z->rows = dt_alloc((size_t)o->n * sizeof *z->rows);
    z->crc = dt_alloc((size_t)o->n * sizeof *z->crc);
    if (o->n > 1)
        DT_TRY(open_aside(o, z));
    const dt_type t = type_of(&o->column[0], MOST_ROWS);
    dt_npy_print_header(&t, 0, &head);
    z->head = head.size;
    dt_status *s = begin_member(o, 0, &(dt_archived){0});
    if (!s)
        s = dt_archive_put(&z->archive, head.data, head.size);
    dt_str_release(&head);
    return s;
}

static dt_status *flush_npz(dt_output *o)
{
    npz *z = o->state;
    if (o->rows == z->batched)
        return NULL;
    DT_GROW(z->batch, z->cap, z->batches + 1);
    z->batch[z->batches++] = o->rows - z->batched;
    z->batched = o->rows;
    for (int i = 0; i < o->n; i++) {
        dt_str *r = &z->rows[i];
        z->crc[i] = crc32_z(z->crc[i], (const Bytef *)r->data, r->size);
        DT_TRY(i == 0 ? dt_archive_put(&z->archive, r->data, r->size) : dt_writer_put(&z->aside, r->data, r->size));
        dt_str_clear(r);
    }
    return NULL;
}

static dt_status *put_npz(dt_output *o, const void *const *row)
{
    npz *z = o->state;
    size_t all = 0;
    for (int i = 0; i < o->n; i++) {
        dt_str_add(&z->rows[i], row[i], (size_t)dt_type_bytes(&o->column[i].row));
        all += z->rows[i].size;
    }
    if (all < COPIED)
        return NULL;
    o->rows++; /* this one, too */
    dt_status *s = flush_npz(o);
    o->rows--;
    return s;
}

/* The NPY header of all rows, `bytes` long (0: as it comes), and with it the member's checksum and size. */
static dt_archived facts_of(const dt_output *o, int i, size_t bytes, dt_str *head)
{
    const dt_type t = type_of(&o->column[i], o->rows);
    dt_npy_print_header(&t, bytes, head);
    const uLong crc = crc32_z(crc32(0, NULL, 0), (const Bytef *)head->data, head->size);
    return (dt_archived){.crc = (uint32_t)crc32_combine(crc, ((const npz *)o->state)->crc[i], dt_type_bytes(&t)),
                         .size = (int64_t)head->size + dt_type_bytes(&t)};
}

/* Array i out of the file where it waits in pieces. */
static dt_status *copy(const dt_output *o, int i, int fd, char *piece)
{
    npz *z = o->state;
    int64_t before = 0, width = 0, at = 0; /* bytes of a row before array i, in all; where the batch begins */
    for (int k = 1; k < o->n; k++) {
        before += k < i ? dt_type_bytes(&o->column[k].row) : 0;
        width += dt_type_bytes(&o->column[k].row);
    }
    for (int b = 0; b < z->batches; at += z->batch[b++] * width) {
        const int64_t from = at + z->batch[b] * before, bytes = z->batch[b] * dt_type_bytes(&o->column[i].row);
        for (int64_t done = 0; done < bytes; done += COPIED) {
            const size_t n = (size_t)(bytes - done < COPIED ? bytes - done : COPIED);
            DT_TRY(dt_file_pread(fd, z->path, piece, n, from + done));
            DT_TRY(dt_archive_put(&z->archive, piece, n));
        }
    }
    return NULL;
}

static dt_status *append_all(dt_output *o)
{
    npz *z = o->state;
    int fd;
    int64_t size;
    DT_TRY(dt_writer_close(&z->aside));
    DT_TRY(dt_file_open(z->path, &fd, &size));
    char *piece = dt_alloc(COPIED);
    dt_status *s = NULL;
    for (int i = 1; i < o->n && !s; i++) {
        dt_str head = {0};
        const dt_archived facts = facts_of(o, i, 0, &head);
        s = begin_member(o, i, &facts);
        if (!s)
            s = dt_archive_put(&z->archive, head.data, head.size);
        if (!s)
            s = copy(o, i, fd, piece);
        dt_str_release(&head);
    }
    free(piece);
    close(fd);
    return s;
}

static dt_status *finish_npz(dt_output *o)
{
    npz *z = o->state;
    dt_str head = {0};
    const dt_archived facts = facts_of(o, 0, z->head, &head);
    dt_status *s = dt_archive_amend(&z->archive, 0, &facts, head.data, head.size);
    dt_str_release(&head);
    if (!s && o->n > 1)
        s = append_all(o);
    return s ? s : dt_archive_put_directory(&z->archive);
}

static void release_npz(dt_output *o)
{
    npz *z = o->state;
    dt_writer_abandon(&z->aside);
    if (z->path)
        dt_status_free(dt_file_remove(z->path));
    for (int i = 0; i < o->n; i++)
        dt_str_release(&z->rows[i]);
    dt_archive_release(&z->archive);
    free(z->rows);
    free(z->crc);
    free(z->path);
    free(z->batch);
    free(z);
}

const dt_container dt_container_npy = {.name = "npy", .suffix = {".npy"}, .one_array = true, .begin = begin_npy, .put = put_npy, .finish = finish_npy};
const dt_container dt_container_idx = {.name = "idx", .suffix = {".idx", "-ubyte"}, .one_array = true, .begin = begin_idx, .put = put_idx};
const dt_container dt_container_npz = {.name = "npz", .suffix = {".npz"}, .seeks = true, .begin = begin_npz, .put = put_npz, .flush = flush_npz,
                                       .finish = finish_npz, .release = release_npz};
