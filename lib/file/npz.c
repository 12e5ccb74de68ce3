/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NPZ archives: reading members, see npz.h, and writing rows, with an array for each column. In the
 * archive each array is contiguous, but a row has a part of every array. So the first array is
 * written directly to the archive. The others are collected in a second file, batch by batch, and
 * copied into the archive at the end. Only then are the number of rows and the checksums known.
 *
 *     y.npz.tmp      header, array 0 .............................. | array 1, array 2, directory
 *     y.npz.1.tmp    array 1 | array 2 | array 1 | array 2 | ...      a piece for each batch
 */
#include "file/npz.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "file/array.h"
#include "file/file.h"

/* Returns "/x" for the path "data.npz/x" of an archive's member; NULL for any other path. If
 * data.npz is a folder, x is a file in it. */
static const char *find_member(dt_arena *arena, const char *path) {
    const char *at = strstr(path, ".npz/");
    struct stat st;
    if (!at) return NULL;
    const bool folder =
        stat(dt_arena_printf(arena, "%.*s", (int)(at + 4 - path), path), &st) == 0 &&
        S_ISDIR(st.st_mode);
    return folder ? NULL : at + 4;
}

static const dt_zip_member *find_in(const dt_zip *zip, const char *name) {
    const size_t n = strlen(name);
    for (int i = 0; i < zip->n; i++)
        if (strncmp(zip->member[i].name, name, n) == 0 &&
            (zip->member[i].name[n] == '\0' || strcmp(zip->member[i].name + n, ".npy") == 0))
            return &zip->member[i];
    return NULL;
}

/* Reports a missing member. named: the path names the member, not only the archive. */
static dt_status *no_member(const char *path, const char *name, bool named, const dt_zip *zip) {
    dt_local_str has = {0}, first = {0};
    for (int i = 0; i < zip->n && i < 16; i++) {
        const char *member = zip->member[i].name, *dot = strstr(member, ".npy");
        dt_str_puts(&has, i ? ", " : "");
        dt_str_escaped(&has, member, dot ? (size_t)(dot - member) : strlen(member), 60);
    }
    dt_status *s = dt_fail(DT_E_DATA_FILE, NULL, "%s: no member '%s'; it has: %s%s", path, name,
                           dt_str_text(&has), zip->n > 16 ? ", ..." : "");
    if (!named && zip->n > 0) {
        dt_str_escaped(&first, dt_str_text(&has), strcspn(dt_str_text(&has), ","), 60);
        s = dt_suggest(s, "write a member behind the file, such as %s/%s", path,
                       dt_str_text(&first));
    }
    return s;
}

static dt_status *open_member(dt_arena *arena, const char *path, const char *name, bool named,
                              dt_inflow **out) {
    dt_zip zip;
    DT_TRY(dt_zip_read(arena, path, &zip));
    const dt_zip_member *m = find_in(&zip, name);
    return m ? dt_zip_open(out, path, m) : no_member(path, name, named, &zip);
}

const char *dt_npz_archive(dt_arena *arena, const char *path) {
    const char *member = find_member(arena, path);
    return member ? dt_arena_printf(arena, "%.*s", (int)(member - path), path) : path;
}

dt_status *dt_npz_open(dt_arena *arena, const char *element, const char **file, dt_inflow **out) {
    const char *path = *file, *member = find_member(arena, path);
    if (member) return open_member(arena, dt_npz_archive(arena, path), member + 1, true, out);
    if (!dt_zip_is(path)) return dt_inflow_open(out, path);
    DT_TRY(open_member(arena, path, element, false, out));
    *file = dt_arena_printf(arena, "%s/%s", path, element);
    return NULL;
}

/* ---- writing ---- */

enum { COPIED = 1 << 20 };

typedef struct npz {
    dt_archive archive;
    size_t head;     /* size of the first array's NPY header */
    dt_str *rows;    /* [n] the columns' bytes in the current batch */
    uLong *crc;      /* [n] the CRC of each array's values written so far, without its header */
    dt_writer aside; /* the second file, which collects all arrays but the first */
    char *path;      /* path of the second file; NULL: there is none */
    int64_t *batch;  /* [batches] number of rows in each batch */
    int batches, cap;
    int64_t batched; /* number of rows in all batches */
} npz;

static dt_status *open_aside(const dt_output *o, npz *z) {
    dt_str path = {0};
    dt_str_printf(&path, "%s.1.tmp", o->path);
    dt_status *s = dt_writer_open(&z->aside, dt_str_text(&path));
    /* The existing file may belong to another program, so it is not removed. */
    if (s) dt_str_release(&path);
    else z->path = dt_str_take(&path);
    return s;
}

static dt_status *begin_member(dt_output *o, int i, const dt_archived *facts) {
    npz *z = o->state;
    dt_local_str name = {0};
    dt_str_printf(&name, "%s.npy", o->column[i].name);
    return dt_archive_begin(&z->archive, dt_str_text(&name), facts->crc, facts->size);
}

static dt_status *begin_npz(dt_output *o) {
    npz *z = o->state = dt_alloc(sizeof *z);
    dt_local_str head = {0};
    *z = (npz){.archive.file = &o->file, .aside.fd = -1};
    z->rows = dt_alloc((size_t)o->n * sizeof *z->rows);
    z->crc = dt_alloc((size_t)o->n * sizeof *z->crc);
    if (o->n > 1) DT_TRY(open_aside(o, z));
    const dt_type t = dt_output_type(&o->column[0], DT_MOST_ROWS);
    dt_npy_print_header(&t, 0, &head);
    z->head = head.size;
    DT_TRY(begin_member(o, 0, &(dt_archived){0}));
    return dt_archive_put(&z->archive, head.data, head.size);
}

static dt_status *flush_npz(dt_output *o) {
    npz *z = o->state;
    if (o->rows == z->batched) return NULL;
    DT_GROW(z->batch, z->cap, z->batches + 1);
    z->batch[z->batches++] = o->rows - z->batched;
    z->batched = o->rows;
    for (int i = 0; i < o->n; i++) {
        dt_str *r = &z->rows[i];
        z->crc[i] = crc32_z(z->crc[i], (const Bytef *)r->data, r->size);
        DT_TRY(i == 0 ? dt_archive_put(&z->archive, r->data, r->size)
                      : dt_writer_put(&z->aside, r->data, r->size));
        dt_str_clear(r);
    }
    return NULL;
}

static dt_status *put_npz(dt_output *o, const void *const *row) {
    npz *z = o->state;
    size_t all = 0;
    for (int i = 0; i < o->n; i++) {
        dt_str_add(&z->rows[i], row[i], (size_t)dt_type_bytes(&o->column[i].type));
        all += z->rows[i].size;
    }
    if (all < COPIED) return NULL;
    o->rows++; /* counts the current row */
    dt_status *s = flush_npz(o);
    o->rows--;
    return s;
}

/* Makes the final NPY header, with at least `bytes` bytes. Returns the checksum and the size of the
 * whole member. */
static dt_archived facts_of(const dt_output *o, int i, size_t bytes, dt_str *head) {
    const dt_type t = dt_output_type(&o->column[i], o->rows);
    dt_npy_print_header(&t, bytes, head);
    const uLong crc = crc32_z(crc32(0, NULL, 0), (const Bytef *)head->data, head->size);
    return (dt_archived){
        .crc = (uint32_t)crc32_combine(crc, ((const npz *)o->state)->crc[i], dt_type_bytes(&t)),
        .size = (int64_t)head->size + dt_type_bytes(&t)};
}

/* Copies the pieces of array i from the second file into the archive. */
static dt_status *copy(const dt_output *o, int i, int fd, char *piece) {
    npz *z = o->state;
    /* before: bytes of the arrays 1 to i - 1 in a row; width: bytes of a row in the second file;
     * at: where the batch begins in it */
    int64_t before = 0, width = 0, at = 0;
    for (int k = 1; k < o->n; k++) {
        before += k < i ? dt_type_bytes(&o->column[k].type) : 0;
        width += dt_type_bytes(&o->column[k].type);
    }
    for (int b = 0; b < z->batches; at += z->batch[b++] * width) {
        const int64_t from = at + z->batch[b] * before,
                      bytes = z->batch[b] * dt_type_bytes(&o->column[i].type);
        for (int64_t done = 0; done < bytes; done += COPIED) {
            const size_t n = (size_t)(bytes - done < COPIED ? bytes - done : COPIED);
            DT_TRY(dt_file_pread(fd, z->path, piece, n, from + done));
            DT_TRY(dt_archive_put(&z->archive, piece, n));
        }
    }
    return NULL;
}

/* Removes the second file before the archive gets its name, so that nothing is left beside a
 * complete archive. */
static dt_status *remove_aside(npz *z) {
    DT_TRY(dt_file_remove(z->path)); /* if this fails, release_npz tries again */
    free(z->path);
    z->path = NULL;
    return NULL;
}

static dt_status *append_all(dt_output *o) {
    npz *z = o->state;
    int fd;
    int64_t size;
    DT_TRY(dt_writer_close(&z->aside));
    DT_TRY(dt_file_open(z->path, &fd, &size));
    DT_LOCAL char *piece = dt_alloc(COPIED);
    dt_status *s = NULL;
    for (int i = 1; i < o->n && !s; i++) {
        dt_local_str head = {0};
        const dt_archived facts = facts_of(o, i, 0, &head);
        s = begin_member(o, i, &facts);
        if (!s) s = dt_archive_put(&z->archive, head.data, head.size);
        if (!s) s = copy(o, i, fd, piece);
    }
    close(fd);
    return s ? s : remove_aside(z);
}

static dt_status *finish_npz(dt_output *o) {
    npz *z = o->state;
    dt_local_str head = {0};
    const dt_archived facts = facts_of(o, 0, z->head, &head);
    dt_status *s = dt_archive_amend(&z->archive, 0, &facts, head.data, head.size);
    if (!s && o->n > 1) s = append_all(o);
    return s ? s : dt_archive_put_directory(&z->archive);
}

static void release_npz(dt_output *o) {
    npz *z = o->state;
    dt_writer_abandon(&z->aside);
    if (z->path) dt_status_free(dt_file_remove(z->path));
    for (int i = 0; i < o->n; i++) dt_str_release(&z->rows[i]);
    dt_archive_release(&z->archive);
    free(z->rows);
    free(z->crc);
    free(z->path);
    free(z->batch);
    free(z);
}

/* ---- the format ---- */

static const dt_format_writer writer = {.begin = begin_npz,
                                        .put = put_npz,
                                        .flush = flush_npz,
                                        .finish = finish_npz,
                                        .release = release_npz};

const dt_format dt_format_npz = {
    .kind.name = "npz",
    .suffix = {".npz"},
    .content = DT_CONTENT_ARCHIVE,
    .sniff = dt_zip_sniff,
    .open = dt_array_source_npz,
    .writer = &writer,
};
