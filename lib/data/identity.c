/* SPDX-License-Identifier: Apache-2.0 */
/* See identity.h. Files are read in small pieces, so that a caller who stops the reading waits for
 * one piece only. */
#include "data/identity.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/parts.h"

#define MOST_BYTES ((int64_t)256 << 20)

enum { MOST_FILES = 10000, END = 64 << 10, PIECE = 256 << 10 };

typedef struct taking {
    const dt_examples *x;
    const atomic_bool *stop;
    dt_hashed hashed;
    void *piece; /* [PIECE] memory that files are read into */
} taking;

const char *dt_hashed_name(dt_hashed h) {
    static const char *const names[] = {"whole", "ends", "sizes"};
    return names[h];
}

/* Returns the i-th file of the part; its path is NULL if there are not that many. */
static dt_file_identity file_of(const taking *t, int64_t i) {
    dt_file_identity f = {.what = ""};
    if (t->x->reader->source) f.path = t->x->reader->source(t->x, i, &f.what);
    else if (i < t->x->paths.n) f.path = t->x->paths.v[i];
    return f;
}

static dt_status *stopped(const taking *t) {
    return atomic_load_explicit(t->stop, memory_order_relaxed)
               ? dt_fail(DT_E_STOPPED, NULL, "the data was not read to its end")
               : NULL;
}

static dt_status *measure(dt_file_identity *f) {
    struct stat st;
    if (stat(f->path, &st) != 0) return dt_fail_errno(DT_E_NO_INPUT, f->path);
    f->bytes = st.st_size;
    f->modified_s = st.st_mtime;
    return NULL;
}

static dt_status *count(const taking *t, dt_identity *out) {
    dt_file_identity f;
    for (int64_t i = 0; f = file_of(t, i), f.path; i++) {
        DT_TRY(stopped(t));
        DT_TRY(measure(&f));
        out->files++;
        out->bytes += f.bytes;
    }
    return NULL;
}

static dt_status *add_bytes(const taking *t, int fd, const char *path, int64_t from, int64_t to,
                            dt_sha256 *h) {
    for (int64_t at = from; at < to; at += PIECE) {
        const size_t n = to - at < PIECE ? (size_t)(to - at) : PIECE;
        DT_TRY(stopped(t));
        DT_TRY(dt_file_pread(fd, path, t->piece, n, at));
        dt_sha256_add(h, t->piece, n);
    }
    return NULL;
}

static dt_status *hash_file(const taking *t, dt_file_identity *f) {
    int fd;
    DT_TRY(dt_file_open(f->path, &fd, &f->bytes));
    const int64_t n = f->bytes;
    const bool whole = t->hashed == DT_HASHED_WHOLE || n <= 2 * END;
    dt_sha256 *h = dt_sha256_create();
    dt_status *s = add_bytes(t, fd, f->path, 0, whole ? n : END, h);
    if (!s && !whole) s = add_bytes(t, fd, f->path, n - END, n, h);
    f->sha256 = dt_sha256_end(h);
    close(fd);
    return s;
}

/* Adds a file's line to the text whose SHA-256 identifies all files together. */
static void add_line(dt_sha256 *all, const dt_file_identity *f) {
    dt_str line = {0};
    dt_str_printf(&line, "%s %lld %s\n", *f->sha256.hex ? f->sha256.hex : "-", (long long)f->bytes,
                  f->what);
    dt_sha256_add(all, line.data, line.size);
    dt_str_release(&line);
}

static dt_status *hash_all(const taking *t, dt_identity *out, dt_sha256 *all) {
    for (int64_t i = 0; i < out->files; i++) {
        dt_file_identity f = file_of(t, i);
        DT_TRY(measure(&f));
        if (t->hashed != DT_HASHED_SIZES) DT_TRY(hash_file(t, &f));
        add_line(all, &f);
        if (out->n < DT_IDENTITY_FILES) out->file[out->n++] = f;
    }
    return NULL;
}

static dt_status *hash_files(taking *t, dt_identity *out) {
    DT_TRY(count(t, out));
    t->hashed = out->hashed = out->files > MOST_FILES   ? DT_HASHED_SIZES
                              : out->bytes > MOST_BYTES ? DT_HASHED_ENDS
                                                        : DT_HASHED_WHOLE;
    dt_sha256 *all = dt_sha256_create();
    t->piece = dt_alloc(PIECE);
    dt_status *s = hash_all(t, out, all);
    free(t->piece);
    out->sha256 = dt_sha256_end(all);
    if (!s && out->files == 1 && t->hashed == DT_HASHED_WHOLE) out->sha256 = out->file[0].sha256;
    return s;
}

dt_status *dt_identity_take(const dt_dataset *data, dt_part part, const atomic_bool *stop,
                            dt_identity *out) {
    taking t = {.x = dt_rows_of(data, part)->x, .stop = stop};
    *out = (dt_identity){0};
    if (!t.x || (part != DT_PART_TRAIN && t.x == dt_rows_of(data, DT_PART_TRAIN)->x)) return NULL;
    return hash_files(&t, out);
}
