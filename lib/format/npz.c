/*
 * Writing NPZ, what numpy.savez writes: a ZIP archive with a member NAME.npy for each array, stored as it is.
 *
 *     for each member    local header: "PK\3\4", CRC-32, sizes, name;  the NPY header;  the numbers
 *     directory          for each member "PK\1\2", the same and where it begins
 *     end                "PK\5\6", how many, where the directory is
 *
 * Numbers are little-endian, sizes of 32 bits: archives end at 4 GiB.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "format/format.h"
#include "strategy/values.h"

enum { VERSION = 20, UTF8 = 0x800, STORED = 0, DAY = 1 << 5 | 1 /* 1 January 1980, as numpy writes it */ };

typedef struct member {
    char *name;
    uint32_t crc, size, offset;
    dt_str header; /* of the NPY file */
} member;

typedef struct archive {
    dt_writer file;
    int64_t at;
    int n;
    member *member; /* [n] */
} archive;

static void put16(dt_str *out, unsigned v)
{
    dt_str_add(out, (const unsigned char[]){v & 255, v >> 8 & 255}, 2);
}

static void put32(dt_str *out, uint32_t v)
{
    put16(out, v & 0xffff);
    put16(out, v >> 16);
}

/* What both headers of a member have in common. */
static void put_facts(dt_str *out, const member *m)
{
    const unsigned head[] = {VERSION, UTF8, STORED, 0, DAY};
    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        put16(out, head[i]);
    put32(out, m->crc);
    put32(out, m->size);
    put32(out, m->size);
    put16(out, (unsigned)strlen(m->name));
    put16(out, 0);
}

static void put_local(dt_str *out, const member *m)
{
    dt_str_add(out, "PK\3\4", 4);
    put_facts(out, m);
    dt_str_puts(out, m->name);
}

static void put_entry(dt_str *out, const member *m)
{
    dt_str_add(out, "PK\1\2", 4);
    put16(out, VERSION);
    put_facts(out, m);
    for (int i = 0; i < 3; i++) /* comment, disk, attributes inside */
        put16(out, 0);
    put32(out, 0);
    put32(out, m->offset);
    dt_str_puts(out, m->name);
}

static void put_end(dt_str *out, const archive *a, uint32_t directory)
{
    dt_str_add(out, "PK\5\6", 4);
    put32(out, 0);
    put16(out, (unsigned)a->n);
    put16(out, (unsigned)a->n);
    put32(out, directory);
    put32(out, (uint32_t)a->at);
    put16(out, 0);
}

/* crc32 takes 32 bits of a length at a time. */
static uint32_t crc_of(const dt_str *header, const dt_named_array *a)
{
    int64_t n = dt_type_bytes(&a->type), step = 1 << 30;
    uLong crc = crc32(crc32(0, NULL, 0), (const Bytef *)header->data, (uInt)header->size);
    for (int64_t at = 0; at < n; at += step)
        crc = crc32(crc, (const Bytef *)a->data + at, (uInt)(n - at < step ? n - at : step));
    return (uint32_t)crc;
}

static dt_status *put(archive *a, const void *bytes, size_t n)
{
    a->at += (int64_t)n;
    return dt_writer_put(&a->file, bytes, n);
}

static dt_status *put_text(archive *a, dt_str *text)
{
    dt_status *s = put(a, text->data, text->size);
    dt_str_release(text);
    return s;
}

static dt_status *put_member(archive *a, member *m, const dt_named_array *x)
{
    dt_str local = {0}, name = {0};
    int64_t bytes = dt_type_bytes(&x->type);
    dt_str_printf(&name, "%s.npy", x->name);
    m->name = dt_str_take(&name);
    dt_npy_print_header(&x->type, 0, &m->header);
    if (strlen(m->name) > UINT16_MAX || bytes > UINT32_MAX - (1 << 20) - a->at)
        return dt_fail(DT_E_TOO_LARGE, NULL, "%s: an NPZ file holds 4 GiB at most, which '%.80s' exceeds; safetensors has no such limit", a->file.path,
                       x->name);
    m->size = (uint32_t)(m->header.size + (size_t)bytes);
    m->offset = (uint32_t)a->at;
    m->crc = crc_of(&m->header, x);
    put_local(&local, m);
    DT_TRY(put_text(a, &local));
    DT_TRY(put(a, m->header.data, m->header.size));
    return put(a, x->data, (size_t)bytes);
}

static dt_status *put_directory(archive *a)
{
    dt_str text = {0};
    for (int i = 0; i < a->n; i++)
        put_entry(&text, &a->member[i]);
    put_end(&text, a, (uint32_t)text.size);
    return put_text(a, &text);
}

static dt_status *put_all(archive *a, const dt_arrays *x)
{
    if (x->n > UINT16_MAX)
        return dt_fail(DT_E_TOO_LARGE, NULL, "%s: an NPZ file holds 65,535 arrays at most", a->file.path);
    for (int i = 0; i < x->n; i++)
        DT_TRY(put_member(a, &a->member[i], &x->array[i]));
    DT_TRY(put_directory(a));
    DT_TRY(dt_writer_sync(&a->file));
    return dt_writer_close(&a->file);
}

static void release(archive *a)
{
    for (int i = 0; i < a->n; i++) {
        free(a->member[i].name);
        dt_str_release(&a->member[i].header);
    }
    free(a->member);
}

static dt_status *write_beside(const char *temporary, const dt_arrays *x)
{
    archive a = {.n = x->n};
    DT_TRY(dt_writer_open(&a.file, temporary));
    a.member = dt_alloc(dt_size_mul((size_t)x->n + 1, sizeof *a.member));
    dt_status *s = put_all(&a, x);
    if (s)
        dt_writer_abandon(&a.file);
    release(&a);
    return s;
}

dt_status *dt_npz_write(const char *path, const dt_arrays *x)
{
    dt_str temporary = {0};
    dt_str_printf(&temporary, "%s.tmp", path);
    dt_status *s = write_beside(dt_str_text(&temporary), x);
    if (!s)
        s = dt_file_adopt(dt_str_text(&temporary), path);
    dt_str_release(&temporary);
    return s;
}
