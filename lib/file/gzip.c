/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads files, and decompresses with bounded memory: a window of compressed bytes, and as many
 * decompressed bytes as the caller asks for. So a small file that expands to a terabyte takes no
 * more memory than any other. gzip allows several members one after the other (cat a.gz b.gz);
 * their contents are joined. Anything else after the last member is an error, because ignoring it
 * would hide a damaged file.
 */
#include "file/gzip.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/arena.h"
#include "base/file.h"

enum {
    WINDOW = 65536,
    GZIP_ONLY = 15 + 16, /* zlib's windowBits for the largest window and a gzip header */
    ZLIB_ONLY = 15,
    RAW = -15,            /* zlib's windowBits for deflate without header and checksum */
    MOST_PER_BYTE = 1032, /* best case of deflate: 258 bytes from 2 bits (zlib's technical notes) */
    LARGEST_READ = 1 << 30,
    AHEAD = 1 << 17, /* bytes to read at a time if the caller asks for less than half as many */
};

struct dt_inflow {
    int fd;
    char *path;
    int64_t size;
    /* base: offset of the member in an archive, else 0; left: number of its bytes that may still be
     * read; practically unlimited if it is not a member. */
    int64_t base, left;
    bool gzip, zlib, between_members, end;
    const char *what; /* name of the format, for messages about damage, such as "gzip" */
    bool raw;         /* a deflated member of an archive, whose size and CRC are in the archive */
    int64_t raw_size, raw_got;
    uLong raw_crc, crc;
    z_stream z;
    /* [WINDOW] compressed bytes that were read; NULL: nothing is decompressed */
    unsigned char *window;
    struct {
        int n, at;
        unsigned char byte[DT_PEEK];
        /* bytes that were read in advance and will be read again: `front` is from the file itself,
         * `peeked` from its decompressed contents */
    } front, peeked;
    /* [AHEAD] bytes read ahead, of which [ahead_at, ahead_n) are left; NULL: nothing was read ahead
     * so far */
    char *ahead;
    size_t ahead_at, ahead_n;
};

static dt_status *read_file(dt_inflow *f, void *buffer, size_t n, size_t *got) {
    ssize_t r;
    if ((uint64_t)f->left < n) n = (size_t)f->left;
    do r = read(f->fd, buffer, n);
    while (r < 0 && errno == EINTR);
    if (r < 0) return dt_fail_errno(DT_E_IO, f->path);
    *got = (size_t)r;
    f->left -= r;
    return NULL;
}

static dt_status *read_some(dt_inflow *f, void *buffer, size_t n, size_t *got) {
    const size_t again = (size_t)(f->front.n - f->front.at);
    if (again > 0) {
        *got = n < again ? n : again;
        memcpy(buffer, f->front.byte + f->front.at, *got);
        f->front.at += (int)*got;
        return NULL;
    }
    if (f->ahead_at == f->ahead_n && n >= AHEAD / 2) return read_file(f, buffer, n, got);
    if (f->ahead_at == f->ahead_n) {
        f->ahead = f->ahead ? f->ahead : dt_alloc(AHEAD);
        f->ahead_at = f->ahead_n = 0;
        DT_TRY(read_file(f, f->ahead, AHEAD, &f->ahead_n));
    }
    *got = n < f->ahead_n - f->ahead_at ? n : f->ahead_n - f->ahead_at;
    memcpy(buffer, f->ahead + f->ahead_at, *got);
    f->ahead_at += *got;
    return NULL;
}

static dt_status *out_of_memory(const dt_inflow *f) {
    return dt_fail(DT_E_NO_MEMORY, NULL, "%s: out of memory (to read %s)", f->path, f->what);
}

static dt_status *begin(dt_inflow *f, int window_bits) {
    if (inflateInit2(&f->z, window_bits) != Z_OK) return out_of_memory(f);
    f->window = dt_alloc(WINDOW);
    return NULL;
}

/* Looks for gzip's first bytes. Reads them by offset, so the file's position stays at the front. */
static dt_status *detect_gzip(dt_inflow *f) {
    unsigned char magic[2];
    if (f->size < 2) return NULL;
    DT_TRY(dt_file_pread(f->fd, f->path, magic, sizeof magic, 0));
    f->gzip = magic[0] == 0x1f && magic[1] == 0x8b;
    return f->gzip ? begin(f, GZIP_ONLY) : NULL;
}

dt_status *dt_inflow_take_zlib(dt_inflow *f) {
    f->gzip = f->zlib = true;
    f->what = "zlib";
    return begin(f, ZLIB_ONLY);
}

/* Begins a member of an archive; zip.c has checked that all of its bytes are in the file. */
static dt_status *begin_member(dt_inflow *f, const dt_inflow_member *m) {
    f->base = m->offset;
    f->size = f->left = m->packed;
    f->gzip = f->raw = m->deflated;
    f->what = "deflate";
    f->raw_size = m->size;
    f->raw_crc = m->crc;
    f->crc = crc32(0, NULL, 0);
    if (lseek(f->fd, m->offset, SEEK_SET) != m->offset) return dt_fail_errno(DT_E_IO, f->path);
    return m->deflated ? begin(f, RAW) : NULL;
}

dt_status *dt_inflow_open(dt_inflow **out, const char *path) {
    return dt_inflow_open_member(out, path, NULL);
}

dt_status *dt_inflow_open_member(dt_inflow **out, const char *path, const dt_inflow_member *m) {
    dt_inflow *f = dt_alloc(sizeof *f);
    f->path = dt_strdup(path);
    f->fd = -1;
    f->left = INT64_MAX;
    f->what = "gzip";
    dt_status *s = dt_file_open(path, &f->fd, &f->size);
    if (!s) s = m ? begin_member(f, m) : detect_gzip(f);
    if (s) {
        dt_inflow_close(f);
        f = NULL;
    }
    *out = f;
    return s;
}

/* Looks for gzip's first bytes in a pipe, and keeps them, since they cannot be read again. */
static dt_status *look_at_pipe(dt_inflow *f) {
    size_t got = 1;
    int n = 0;
    for (; n < 2 && got > 0; n += (int)got)
        DT_TRY(read_some(f, f->front.byte + n, (size_t)(2 - n), &got));
    f->front.n = n;
    f->gzip = n == 2 && f->front.byte[0] == 0x1f && f->front.byte[1] == 0x8b;
    return f->gzip ? begin(f, GZIP_ONLY) : NULL;
}

dt_status *dt_inflow_stdin(dt_inflow **out) {
    dt_inflow *f = dt_alloc(sizeof *f);
    f->path = dt_strdup("standard input");
    f->size = f->left = INT64_MAX;
    f->what = "gzip";
    f->fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    dt_status *s = f->fd < 0 ? dt_fail_errno(DT_E_NOT_REGULAR, f->path) : look_at_pipe(f);
    if (s) {
        dt_inflow_close(f);
        f = NULL;
    }
    *out = f;
    return s;
}

void dt_inflow_close(dt_inflow *f) {
    if (!f) return;
    if (f->window) inflateEnd(&f->z);
    if (f->fd >= 0) close(f->fd);
    free(f->window);
    free(f->ahead);
    free(f->path);
    free(f);
}

bool dt_inflow_is_gzip(const dt_inflow *f) { return f->gzip; }

int64_t dt_inflow_size(const dt_inflow *f) { return f->size; }

int64_t dt_inflow_most(const dt_inflow *f) {
    int64_t most;
    if (!f->gzip) return f->size;
    return dt_mul_fits(f->size, MOST_PER_BYTE, &most) ? most : INT64_MAX;
}

dt_status *dt_inflow_pread(const dt_inflow *f, void *buffer, int64_t n, int64_t offset) {
    return dt_file_pread(f->fd, f->path, buffer, (size_t)n, f->base + offset);
}

static dt_status *read_plain(dt_inflow *f, unsigned char *buffer, int64_t n, int64_t *got) {
    size_t more = 1;
    for (*got = 0; *got < n && more > 0; *got += (int64_t)more)
        DT_TRY(read_some(f, buffer + *got, (size_t)(n - *got), &more));
    return NULL;
}

static dt_status *damaged(const dt_inflow *f) {
    const char *why = f->z.msg ? f->z.msg : "no message", *what = f->what;
    if (strcmp(why, "incorrect data check") == 0)
        return dt_fail(DT_E_GZIP_DAMAGED, NULL, "%s: %s checksum mismatch", f->path, what);
    if (strcmp(why, "incorrect length check") == 0)
        return dt_fail(DT_E_GZIP_DAMAGED, NULL, "%s: %s length mismatch", f->path, what);
    return dt_fail(DT_E_GZIP_DAMAGED, NULL, "%s: %s data is damaged: %s", f->path, what, why);
}

/* Reads compressed bytes if the window is empty. At the end of the file it stays empty. */
static dt_status *refill(dt_inflow *f) {
    size_t got = 0;
    if (f->z.avail_in > 0) return NULL;
    DT_TRY(read_some(f, f->window, WINDOW, &got));
    f->z.next_in = f->window;
    f->z.avail_in = (uInt)got;
    return NULL;
}

/* Prepares for what follows a gzip member: the next member, or the end of the file. Anything else
 * is an error. */
static dt_status *next_member(dt_inflow *f) {
    f->between_members = false;
    if (f->z.avail_in == 0) f->end = true;
    else if (f->zlib || f->raw || *f->z.next_in != 0x1f)
        return dt_fail(DT_E_GZIP_DAMAGED, NULL,
                       "%s: something that is not %s follows the compressed data", f->path,
                       f->what);
    else inflateReset(&f->z);
    return NULL;
}

/* Adds decompressed bytes of an archive's member to its checksum; at its end, checks size and
 * checksum. */
static dt_status *check_member(dt_inflow *f, const unsigned char *bytes, int64_t n) {
    f->crc = crc32(f->crc, bytes, (uInt)n);
    f->raw_got += n;
    if (f->raw_got > f->raw_size || (f->between_members && f->raw_got < f->raw_size))
        return dt_fail(DT_E_GZIP_DAMAGED, NULL, "%s: %s length mismatch", f->path, f->what);
    if (f->between_members && f->crc != f->raw_crc)
        return dt_fail(DT_E_GZIP_DAMAGED, NULL, "%s: %s checksum mismatch", f->path, f->what);
    return NULL;
}

static dt_status *inflate_some(dt_inflow *f) {
    DT_TRY(refill(f));
    if (f->between_members) return next_member(f);
    /* even without input, zlib may hold the rest of a match that did not fit into the last
     * buffer */
    const bool at_end = f->z.avail_in == 0;
    int r = inflate(&f->z, Z_NO_FLUSH);
    if (at_end && r == Z_BUF_ERROR)
        return dt_fail(DT_E_GZIP_DAMAGED, NULL, "%s: %s stream ends early", f->path, f->what);
    if (r == Z_MEM_ERROR) return out_of_memory(f);
    if (r == Z_STREAM_END) f->between_members = true;
    else if (r != Z_OK && r != Z_BUF_ERROR) return damaged(f);
    return NULL;
}

static dt_status *read_gzip(dt_inflow *f, unsigned char *buffer, int64_t n, int64_t *got) {
    for (*got = 0; *got < n && !f->end;) {
        int64_t room = n - *got < LARGEST_READ ? n - *got : LARGEST_READ;
        f->z.next_out = buffer + *got;
        f->z.avail_out = (uInt)room;
        DT_TRY(inflate_some(f));
        if (f->raw) DT_TRY(check_member(f, buffer + *got, room - f->z.avail_out));
        *got += room - f->z.avail_out;
    }
    return NULL;
}

static dt_status *read_on(dt_inflow *f, unsigned char *buffer, int64_t n, int64_t *got) {
    return f->gzip ? read_gzip(f, buffer, n, got) : read_plain(f, buffer, n, got);
}

/* Takes up to n of the bytes that dt_inflow_peek looked at. */
static int64_t take_peeked(dt_inflow *f, void *buffer, int64_t n) {
    int64_t left = f->peeked.n - f->peeked.at, taken = n < left ? n : left;
    if (taken > 0) memcpy(buffer, f->peeked.byte + f->peeked.at, (size_t)taken);
    f->peeked.at += (int)taken;
    return taken;
}

dt_status *dt_inflow_read(dt_inflow *f, void *buffer, int64_t n, int64_t *got) {
    const bool is_here =
        n > 0 && f->peeked.at == f->peeked.n && (uint64_t)n <= f->ahead_n - f->ahead_at;
    if (is_here) { /* the most frequent case if rows are short */
        memcpy(buffer, f->ahead + f->ahead_at, (size_t)n);
        f->ahead_at += (size_t)n;
        *got = n;
        return NULL;
    }
    int64_t taken = take_peeked(f, buffer, n);
    DT_TRY(read_on(f, (unsigned char *)buffer + taken, n - taken, got));
    *got += taken;
    return NULL;
}

dt_status *dt_inflow_some(dt_inflow *f, void *buffer, int64_t n, int64_t *got) {
    size_t some = 0;
    *got = take_peeked(f, buffer, n);
    if (*got > 0 || n == 0) return NULL;
    if (!f->gzip) {
        DT_TRY(read_some(f, buffer, (size_t)n, &some));
        *got = (int64_t)some;
        return NULL;
    }
    int64_t room = n < LARGEST_READ ? n : LARGEST_READ;
    f->z.next_out = buffer;
    f->z.avail_out = (uInt)room;
    while (*got == 0 && !f->end) {
        DT_TRY(inflate_some(f));
        *got = room - f->z.avail_out;
    }
    return f->raw ? check_member(f, buffer, *got) : NULL;
}

dt_status *dt_inflow_peek(dt_inflow *f, void *buffer, int64_t n, int64_t *got) {
    int64_t more = 1;
    unsigned char *to = f->peeked.byte;
    /* an earlier call has already looked at the bytes */
    if (f->peeked.n > 0 && f->peeked.at == 0) {
        *got = n < f->peeked.n ? n : f->peeked.n;
        memcpy(buffer, to, (size_t)*got);
        return NULL;
    }
    for (*got = 0; *got < n && more > 0; *got += more) {
        /* stops after a line if a terminal or pipe has no more bytes yet */
        if (*got > 0 && to[*got - 1] == '\n' && !dt_inflow_is_ready(f)) break;
        DT_TRY(dt_inflow_some(f, to + *got, n - *got, &more));
    }
    f->peeked.n = (int)*got;
    memcpy(buffer, to, (size_t)*got);
    return NULL;
}

bool dt_inflow_is_ready(const dt_inflow *f) {
    struct pollfd input = {.fd = f->fd, .events = POLLIN};
    bool holds = f->peeked.at < f->peeked.n || f->front.at < f->front.n ||
                 f->ahead_at < f->ahead_n || (f->gzip && f->z.avail_in > 0);
    return holds || f->end || poll(&input, 1, 0) != 0;
}
