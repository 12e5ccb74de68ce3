/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NPZ: an array (rows, ...) for each output, by its name; of the largest values only NAME_class and NAME_score, (rows, K) each. Arrays stand in the
 * archive one after the other, and rows come with a piece of each: the first array goes straight into the archive, the others wait in files
 * beside it and are copied behind it at the end.
 *
 *     y.npz.tmp      header, array 0 ...................... | array 1, array 2, directory
 *     y.npz.1.tmp    array 1 ........   y.npz.2.tmp    array 2 ........
 *
 * How many rows there are and what their checksum is stands at an array's head: the first one's is written again when it is known.
 */
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "base/arena.h"
#include "file/archive.h"
#include "file/array.h"
#include "format/rows/rows.h"
#include "op/cells.h"

#define MOST_ROWS 9000000000000000000 /* as many digits as there can be */
enum { COPIED = 1 << 20 };

typedef struct column {
    char *name;      /* "logits.npy" */
    dt_type type;    /* of all rows */
    dt_str rows;     /* of the batch at hand */
    uLong crc;       /* of what was written of them */
    int64_t bytes;
    dt_writer aside; /* where they wait */
    char *path;      /* of that file; NULL: they do not wait */
} column;

typedef struct npz {
    dt_archive archive;
    size_t head;     /* bytes of the first array's NPY header */
    int64_t waiting; /* bytes in files beside it */
    int n;
    column *column;  /* [n] */
} npz;

/* ---- what arrays there are ---- */

static column *add(npz *z, const char *name, const char *part, dt_type type)
{
    dt_str text = {0};
    column *c = &z->column[z->n++];
    dt_str_printf(&text, "%s%s.npy", name, part);
    *c = (column){.name = dt_str_take(&text), .type = type, .crc = crc32(0, NULL, 0), .aside = {.fd = -1}};
    c->type.dim[0] = MOST_ROWS;
    return c;
}

static void add_columns(dt_row_writer *w, const dt_predicted_rows *p)
{
    npz *z = w->state;
    z->column = dt_alloc(2 * (size_t)p->n_outputs * sizeof *z->column);
    for (int o = 0; o < p->n_outputs; o++) {
        const int64_t top = dt_row_top(w, p, o), shape[] = {0, top};
        if (top == 0) {
            add(z, p->names[o], "", p->values[o]->type);
            continue;
        }
        add(z, p->names[o], "_class", dt_type_of(DT_INT32, 2, shape));
        add(z, p->names[o], "_score", dt_type_of(p->values[o]->type.dtype, 2, shape));
    }
}

static dt_status *open_aside(const dt_row_writer *w, column *c, int i)
{
    dt_str path = {0};
    dt_str_printf(&path, "%s.%d.tmp", w->path, i);
    dt_status *s = dt_writer_open(&c->aside, dt_str_text(&path));
    if (s)
        dt_str_release(&path); /* whatever has that name is not ours */
    else
        c->path = dt_str_take(&path);
    return s;
}

static dt_status *begin(dt_row_writer *w, const dt_predicted_rows *p)
{
    npz *z = w->state = dt_alloc(sizeof *z);
    dt_str head = {0};
    z->archive.file = &w->file;
    add_columns(w, p);
    for (int i = 1; i < z->n; i++)
        DT_TRY(open_aside(w, &z->column[i], i));
    dt_npy_print_header(&z->column[0].type, 0, &head);
    z->head = head.size;
    dt_status *s = dt_archive_begin(&z->archive, z->column[0].name, 0, 0);
    if (!s)
        s = dt_archive_put(&z->archive, head.data, head.size);
    dt_str_release(&head);
    return s;
}

/* ---- rows ---- */

static void put_ranked(dt_row_writer *w, const dt_predicted_rows *p, int o, int64_t row, column *c)
{
    const dt_type score = dt_scalar_type(p->values[o]->type.dtype);
    char bytes[8];
    for (int i = 0, n = dt_row_rank(w, p, o, row); i < n; i++) {
        const int64_t at = w->ranked[i].index;
        dt_str_add(&c[0].rows, &(int32_t){(int32_t)at}, sizeof(int32_t));
        dt_cell_set_double(&(dt_view){.type = score, .data = bytes}, 0, w->score[at]);
        dt_str_add(&c[1].rows, bytes, dt_dtype_size(score.dtype));
    }
}

static void put_row(dt_row_writer *w, const dt_predicted_rows *p, int64_t row)
{
    column *c = ((npz *)w->state)->column;
    for (int o = 0; o < p->n_outputs; o++, c++) {
        const dt_tensor *t = p->values[o];
        const size_t bytes = (size_t)dt_row_values(p, o) * dt_dtype_size(t->type.dtype);
        if (dt_row_top(w, p, o) > 0)
            put_ranked(w, p, o, row, c++);
        else
            dt_str_add(&c->rows, t->data + (size_t)row * bytes, bytes);
    }
}

static dt_status *flush_column(npz *z, column *c)
{
    const int64_t bytes = (int64_t)c->rows.size;
    DT_TRY(dt_archive_has_room(&z->archive, z->waiting + bytes));
    c->crc = crc32_z(c->crc, (const Bytef *)c->rows.data, c->rows.size);
    c->bytes += bytes;
    z->waiting += c->path ? bytes : 0;
    dt_status *s = c->path ? dt_writer_put(&c->aside, c->rows.data, c->rows.size) : dt_archive_put(&z->archive, c->rows.data, c->rows.size);
    dt_str_clear(&c->rows);
    return s;
}

static dt_status *flush(dt_row_writer *w)
{
    npz *z = w->state;
    for (int i = 0; i < z->n; i++)
        DT_TRY(flush_column(z, &z->column[i]));
    return NULL;
}

/* ---- the end ---- */

/* The NPY header of all rows, `bytes` long (0: as it comes), and with it the member's checksum and size. */
static dt_archived facts_of(column *c, int64_t rows, size_t bytes, dt_str *head)
{
    c->type.dim[0] = rows;
    dt_npy_print_header(&c->type, bytes, head);
    const uLong crc = crc32_z(crc32(0, NULL, 0), (const Bytef *)head->data, head->size);
    return (dt_archived){.crc = (uint32_t)crc32_combine(crc, c->crc, c->bytes), .size = (int64_t)head->size + c->bytes};
}

static dt_status *copy(npz *z, const column *c, int fd)
{
    char *piece = dt_alloc(COPIED);
    dt_status *s = NULL;
    for (int64_t at = 0; at < c->bytes && !s; at += COPIED) {
        const size_t n = (size_t)(c->bytes - at < COPIED ? c->bytes - at : COPIED);
        s = dt_file_pread(fd, c->path, piece, n, at);
        if (!s)
            s = dt_archive_put(&z->archive, piece, n);
    }
    free(piece);
    return s;
}

static dt_status *copy_file(npz *z, column *c)
{
    int fd;
    int64_t size;
    DT_TRY(dt_writer_close(&c->aside));
    DT_TRY(dt_file_open(c->path, &fd, &size));
    dt_status *s = copy(z, c, fd);
    close(fd);
    return s;
}

static dt_status *append(npz *z, column *c, int64_t rows)
{
    dt_str head = {0};
    const dt_archived facts = facts_of(c, rows, 0, &head);
    dt_status *s = dt_archive_begin(&z->archive, c->name, facts.crc, facts.size);
    if (!s)
        s = dt_archive_put(&z->archive, head.data, head.size);
    dt_str_release(&head);
    return s ? s : copy_file(z, c);
}

static dt_status *finish(dt_row_writer *w)
{
    npz *z = w->state;
    dt_str head = {0};
    if (!w->begun)
        return NULL;
    const dt_archived facts = facts_of(&z->column[0], w->rows, z->head, &head);
    dt_status *s = dt_archive_amend(&z->archive, 0, &facts, head.data, head.size);
    dt_str_release(&head);
    for (int i = 1; i < z->n && !s; i++)
        s = append(z, &z->column[i], w->rows);
    return s ? s : dt_archive_put_directory(&z->archive);
}

static void release(dt_row_writer *w)
{
    npz *z = w->state;
    for (int i = 0; i < z->n; i++) {
        column *c = &z->column[i];
        dt_writer_abandon(&c->aside);
        if (c->path)
            dt_status_free(dt_file_remove(c->path));
        dt_str_release(&c->rows);
        free(c->name);
        free(c->path);
    }
    dt_archive_release(&z->archive);
    free(z->column);
    free(z);
}

const dt_row_kind dt_row_npz = {.name = "npz", .suffix = ".npz", .only_files = true, .begin = begin, .row = put_row, .flush = flush, .finish = finish,
                                .release = release};
