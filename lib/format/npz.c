/* SPDX-License-Identifier: Apache-2.0 */
/* Writes NPZ files like numpy.savez: a ZIP archive with an uncompressed, little-endian member
 * NAME.npy for each array. */
#include <zlib.h>

#include "file/file.h"
#include "file/zip.h"
#include "file/array.h"
#include "format/format.h"

/* crc32 accepts lengths of 32 bits, so the bytes are processed in parts. */
static uint32_t crc_of(const dt_str *header, const dt_named_view *a) {
    int64_t n = dt_type_bytes(&a->type), step = 1 << 30;
    uLong crc = crc32(crc32(0, NULL, 0), (const Bytef *)header->data, (uInt)header->size);
    for (int64_t at = 0; at < n; at += step)
        crc = crc32(crc, (const Bytef *)a->data + at, (uInt)(n - at < step ? n - at : step));
    return (uint32_t)crc;
}

static dt_status *put_member(dt_archive *a, const dt_named_view *x) {
    dt_local_str name = {0}, header = {0};
    dt_str_printf(&name, "%s.npy", x->name);
    dt_npy_print_header(&x->type, 0, &header);
    const int64_t bytes = dt_type_bytes(&x->type);
    DT_TRY(
        dt_archive_begin(a, dt_str_text(&name), crc_of(&header, x), (int64_t)header.size + bytes));
    DT_TRY(dt_archive_put(a, header.data, header.size));
    return dt_archive_put(a, x->data, (size_t)bytes);
}

static dt_status *put_all(dt_archive *a, const dt_arrays *x) {
    for (int i = 0; i < x->n; i++) DT_TRY(put_member(a, &x->array[i]));
    return dt_archive_put_directory(a);
}

dt_status *dt_npz_write(const char *path, const dt_arrays *x) {
    dt_output o = {0};
    dt_archive a = {.file = &o.file};
    dt_status *s = dt_output_open(&o, path);
    if (!s) s = put_all(&a, x);
    if (!s) s = dt_output_finish(&o);
    dt_archive_release(&a);
    dt_output_close(&o);
    return s;
}
