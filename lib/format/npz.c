/* SPDX-License-Identifier: Apache-2.0 */
/* Writing NPZ, what numpy.savez writes: a ZIP archive with a member NAME.npy for each array, stored as it is, little-endian. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "file/archive.h"
#include "file/array.h"
#include "format/format.h"
#include "strategy/values.h"

/* crc32 takes 32 bits of a length at a time. */
static uint32_t crc_of(const dt_str *header, const dt_named_array *a)
{
    int64_t n = dt_type_bytes(&a->type), step = 1 << 30;
    uLong crc = crc32(crc32(0, NULL, 0), (const Bytef *)header->data, (uInt)header->size);
    for (int64_t at = 0; at < n; at += step)
        crc = crc32(crc, (const Bytef *)a->data + at, (uInt)(n - at < step ? n - at : step));
    return (uint32_t)crc;
}

/* Before bytes are counted that would be too many: a checksum of what is not written is a waste. */
static dt_status *check_room(const dt_archive *a, const dt_named_array *x)
{
    dt_status *s = dt_archive_has_room(a, dt_type_bytes(&x->type));
    return s ? dt_note(s, "'%.80s' does not fit; safetensors has no such limit", x->name) : NULL;
}

static dt_status *put_member(dt_archive *a, const dt_named_array *x)
{
    dt_str name = {0}, header = {0};
    DT_TRY(check_room(a, x));
    dt_str_printf(&name, "%s.npy", x->name);
    dt_npy_print_header(&x->type, 0, &header);
    const int64_t bytes = dt_type_bytes(&x->type);
    dt_status *s = dt_archive_begin(a, dt_str_text(&name), crc_of(&header, x), (int64_t)header.size + bytes);
    if (!s)
        s = dt_archive_put(a, header.data, header.size);
    if (!s)
        s = dt_archive_put(a, x->data, (size_t)bytes);
    dt_str_release(&header);
    dt_str_release(&name);
    return s;
}

static dt_status *put_all(dt_archive *a, const dt_arrays *x)
{
    for (int i = 0; i < x->n; i++)
        DT_TRY(put_member(a, &x->array[i]));
    DT_TRY(dt_archive_put_directory(a));
    DT_TRY(dt_writer_sync(a->file));
    return dt_writer_close(a->file);
}

static dt_status *write_beside(const char *temporary, const dt_arrays *x)
{
    dt_writer file;
    DT_TRY(dt_writer_open(&file, temporary));
    dt_archive a = {.file = &file};
    dt_status *s = put_all(&a, x);
    if (s)
        dt_writer_abandon(&file);
    dt_archive_release(&a);
    return s;
}

dt_status *dt_npz_write(const char *path, const dt_arrays *x)
{
    dt_str temporary = {0};
    char *target;
    DT_TRY(dt_file_target(path, &target));
    dt_str_printf(&temporary, "%s.tmp", target);
    dt_status *s = write_beside(dt_str_text(&temporary), x);
    if (!s)
        s = dt_file_adopt(dt_str_text(&temporary), target);
    dt_str_release(&temporary);
    free(target);
    return s;
}
