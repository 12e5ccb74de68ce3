/* SPDX-License-Identifier: Apache-2.0 */
/* The layer that decompresses: gzip and zlib, from a file, from standard input, and of a member of
 * an archive. The first byte says which; half of them compress the rest first, so that what comes
 * behind the checksums is met too. */
#define _GNU_SOURCE /* pipe2 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "file/gzip.h"
#include "fuzz.h"

enum {
    AS_ZLIB = 1,
    COMPRESS = 2,
    TWICE = 4,
    DAMAGE = 8,
    RAW = 16,
    BITS_GZIP = 15 + 16,
    BITS_ZLIB = 15,
    MOST_READ = 1 << 22
};

/* How a file, or a part of one, is read. */
typedef struct reading {
    bool zlib, peeks;
    int64_t piece;
} reading;

/* Takes what opening it gave. */
static void read_all(dt_status *s, dt_inflow *file, const reading *how) {
    static unsigned char bytes[1 << 16];
    int64_t got = 1, all = 0;
    if (!s && how->zlib && !dt_inflow_is_gzip(file)) s = dt_inflow_take_zlib(file);
    else if (!s && how->peeks) s = dt_inflow_peek(file, bytes, DT_PEEK, &got);
    for (got = 1; !s && got > 0 && all < MOST_READ; all += got)
        s = how->piece % 2 ? dt_inflow_read(file, bytes, how->piece, &got)
                           : dt_inflow_some(file, bytes, how->piece, &got);
    FUZZ_CHECK(s || all <= dt_inflow_most(file), "more than there can be");
    fuzz_done(s);
    dt_inflow_close(file);
}

static void read_file(const char *path, const reading *how) {
    dt_inflow *file = NULL;
    dt_status *s = dt_inflow_open(&file, path);
    read_all(s, file, how);
}

/* The same bytes as standard input, which comes back after that. */
static void read_stdin(const char *path, const reading *how) {
    const int kept = dup(STDIN_FILENO), fd = open(path, O_RDONLY | O_CLOEXEC);
    dt_inflow *file = NULL;
    FUZZ_CHECK(kept >= 0 && fd >= 0 && dup2(fd, STDIN_FILENO) == STDIN_FILENO, "no standard input");
    dt_status *s = dt_inflow_stdin(&file);
    read_all(s, file, how);
    dup2(kept, STDIN_FILENO);
    close(kept);
    close(fd);
}

/* And as what an archive's directory says of it: its sizes and CRC are bytes of the input, or those
 * of what was packed. */
static void read_member(const char *path, const dt_inflow_member *m, const reading *how) {
    dt_inflow *file = NULL;
    dt_status *s = dt_inflow_open_member(&file, path, m);
    if (!s) FUZZ_CHECK(dt_inflow_size(file) == m->packed, "another size");
    if (!s && m->packed > 0) s = dt_inflow_pread(file, &(char){0}, 1, m->packed - 1);
    read_all(s, file, how);
}

/* Appends one stream. */
static size_t compress_into(unsigned char *out, size_t room, const uint8_t *data, size_t size,
                            int bits) {
    z_stream z = {.next_in = (Bytef *)(uintptr_t)data,
                  .avail_in = (uInt)size,
                  .next_out = out,
                  .avail_out = (uInt)room};
    FUZZ_CHECK(deflateInit2(&z, 1, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY) == Z_OK,
               "zlib has no memory");
    deflate(&z, Z_FINISH);
    deflateEnd(&z);
    return z.total_out;
}

/* A pipe whose writer has stopped, so that there is no end: what is there is read, the rest is an
 * error of the system. */
static void read_pipe(const uint8_t *bytes, size_t n, const reading *how) {
    int end[2];
    const int kept = dup(STDIN_FILENO);
    dt_inflow *file = NULL;
    FUZZ_CHECK(kept >= 0 && pipe2(end, O_CLOEXEC | O_NONBLOCK) == 0 &&
                   dup2(end[0], STDIN_FILENO) == STDIN_FILENO,
               "no pipe");
    FUZZ_CHECK(write(end[1], bytes, n) == (ssize_t)n, "no room in the pipe");
    dt_status *s = dt_inflow_stdin(&file);
    read_all(s, file, how);
    dup2(kept, STDIN_FILENO);
    close(kept);
    close(end[0]);
    close(end[1]);
}

static void read_ways(const char *path, const dt_inflow_member *m, int how) {
    const reading file = {how & AS_ZLIB, true, 1 + (how >> 5) * 4099};
    const reading stdin_as_well = {false, how & AS_ZLIB, file.piece},
                  member = {false, false, file.piece};
    read_file(path, &file);
    read_stdin(path, &stdin_as_well);
    read_member(path, m, &member);
}

FUZZ_TARGET(gzip) {
    if (size < 2) return 0;
    int how = data[0], bits = how & AS_ZLIB ? BITS_ZLIB : BITS_GZIP;
    size_t room = 2 * size + 256, n = 0;
    unsigned char *packed = calloc(1, room);
    FUZZ_CHECK(packed, "no memory for the input");
    for (int i = 0; how & COMPRESS && i < (how & TWICE ? 2 : 1); i++)
        n += compress_into(packed + n, room - n, data + 2, size - 2, how & RAW ? -BITS_ZLIB : bits);
    if (n > 0 && how & DAMAGE) packed[data[1] * n / 256] ^= 1;
    const size_t all = n ? n : size - 2;
    const dt_inflow_member m = {.packed = (int64_t)all,
                                .deflated = n > 0,
                                .size = (int64_t)size - 2 + data[1] % 3 - 1,
                                .crc = data[1] % 2 ? crc32(0, data + 2, (uInt)size - 2) : data[1]};
    read_ways(fuzz_file(n ? packed : data + 2, all), &m, how);
    if (all <= 4096)
        read_pipe(n ? packed : data + 2, all, &(reading){.peeks = true, .piece = 4100});
    free(packed);
    return 0;
}
