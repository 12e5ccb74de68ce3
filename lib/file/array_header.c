/* SPDX-License-Identifier: Apache-2.0 */
/* What readers of headers share: bytes that must be there, and files that are something else. */
#include <stdio.h>
#include <string.h>

#include "file/array.h"

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
