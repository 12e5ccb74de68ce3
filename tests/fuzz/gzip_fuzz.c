/* The layer that decompresses: gzip and zlib. The first byte says which; half of them compress the rest first, so that what comes behind the
 * checksums is met too. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "data/gzip.h"
#include "fuzz.h"

enum { AS_ZLIB = 1, COMPRESS = 2, TWICE = 4, DAMAGE = 8, BITS_GZIP = 15 + 16, BITS_ZLIB = 15, MOST_READ = 1 << 22 };

static void read_all(const char *path, bool zlib, int64_t piece)
{
    static unsigned char bytes[1 << 16];
    dt_inflow *file = NULL;
    int64_t got = 1, all = 0;
    dt_status *s = dt_inflow_open(&file, path);
    if (!s && zlib && !dt_inflow_is_gzip(file))
        dt_inflow_take_zlib(file);
    else if (!s)
        s = dt_inflow_peek(file, bytes, DT_PEEK, &got);
    for (got = 1; !s && got > 0 && all < MOST_READ; all += got)
        s = piece % 2 ? dt_inflow_read(file, bytes, piece, &got) : dt_inflow_some(file, bytes, piece, &got);
    FUZZ_CHECK(s || all <= dt_inflow_most(file), "more than there can be");
    fuzz_done(s);
    dt_inflow_close(file);
}

/* Appends one stream. */
static size_t compress_into(unsigned char *out, size_t room, const uint8_t *data, size_t size, int bits)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)size, .next_out = out, .avail_out = (uInt)room};
    FUZZ_CHECK(deflateInit2(&z, 1, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY) == Z_OK, "zlib has no memory");
    deflate(&z, Z_FINISH);
    deflateEnd(&z);
    return z.total_out;
}

FUZZ_TARGET(gzip)
{
    if (size < 2)
        return 0;
    int how = data[0], bits = how & AS_ZLIB ? BITS_ZLIB : BITS_GZIP;
    int64_t piece = 1 + (how >> 4) * 4099;
    size_t room = 2 * size + 256, n = 0;
    unsigned char *packed = calloc(1, room);
    FUZZ_CHECK(packed, "no memory for the input");
    for (int i = 0; how & COMPRESS && i < (how & TWICE ? 2 : 1); i++)
        n += compress_into(packed + n, room - n, data + 2, size - 2, bits);
    if (n > 0 && how & DAMAGE)
        packed[data[1] * n / 256] ^= 1;
    read_all(n ? fuzz_file(packed, n) : fuzz_file(data + 2, size - 2), how & AS_ZLIB, piece);
    free(packed);
    return 0;
}
