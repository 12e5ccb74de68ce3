/* SPDX-License-Identifier: Apache-2.0 */
/* See archive.h. */
#include "file/archive.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

enum { VERSION = 20, UTF8 = 0x800, STORED = 0, DAY = 1 << 5 | 1 /* 1 January 1980, as numpy writes it */ };
enum { MARGIN = 1 << 20 /* for headers and the directory */ };

static void put16(dt_str *out, unsigned v)
{
    dt_str_add(out, (const unsigned char[]){v & 255, v >> 8 & 255}, 2);
}

static void put32(dt_str *out, int64_t v)
{
    put16(out, v & 0xffff);
    put16(out, (unsigned)(v >> 16));
}

/* What both headers of a member have in common. */
static void put_facts(dt_str *out, const dt_archived *m)
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

static void put_local(dt_str *out, const dt_archived *m)
{
    dt_str_add(out, "PK\3\4", 4);
    put_facts(out, m);
    dt_str_puts(out, m->name);
}

static void put_entry(dt_str *out, const dt_archived *m)
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

static void put_end(dt_str *out, const dt_archive *a, int64_t directory)
{
    dt_str_add(out, "PK\5\6", 4);
    put32(out, 0);
    put16(out, (unsigned)a->n);
    put16(out, (unsigned)a->n);
    put32(out, directory);
    put32(out, a->at);
    put16(out, 0);
}

dt_status *dt_archive_put(dt_archive *a, const void *bytes, size_t n)
{
    a->at += (int64_t)n;
    return dt_writer_put(a->file, bytes, n);
}

static dt_status *put_text(dt_archive *a, dt_str *text)
{
    dt_status *s = dt_archive_put(a, text->data, text->size);
    dt_str_release(text);
    return s;
}

dt_status *dt_archive_has_room(const dt_archive *a, int64_t bytes)
{
    if (bytes <= (int64_t)UINT32_MAX - MARGIN - a->at)
        return NULL;
    return dt_fail(DT_E_TOO_LARGE, NULL, "%s: an NPZ file (a ZIP archive) holds at most 4 GiB", a->file->path);
}

dt_status *dt_archive_begin(dt_archive *a, const char *name, uint32_t crc, int64_t size)
{
    dt_str local = {0};
    if (strlen(name) > UINT16_MAX || a->n == UINT16_MAX)
        return dt_fail(DT_E_TOO_LARGE, NULL, "%s: a ZIP archive can have at most 65,535 members, and names of at most 65,535 bytes", a->file->path);
    DT_TRY(dt_archive_has_room(a, size));
    DT_GROW(a->member, a->cap, a->n + 1);
    dt_archived *m = &a->member[a->n++];
    *m = (dt_archived){.name = dt_strdup(name), .crc = crc, .size = size, .offset = a->at};
    put_local(&local, m);
    return put_text(a, &local);
}

dt_status *dt_archive_amend(dt_archive *a, int i, const dt_archived *facts, const void *head, size_t n)
{
    dt_archived *m = &a->member[i];
    dt_str local = {0};
    m->crc = facts->crc;
    m->size = facts->size;
    put_local(&local, m);
    dt_str_add(&local, head, n);
    dt_status *s = dt_writer_seek(a->file, m->offset);
    if (!s)
        s = dt_writer_put(a->file, local.data, local.size);
    if (!s)
        s = dt_writer_seek(a->file, a->at);
    dt_str_release(&local);
    return s;
}

dt_status *dt_archive_put_directory(dt_archive *a)
{
    dt_str text = {0};
    for (int i = 0; i < a->n; i++)
        put_entry(&text, &a->member[i]);
    put_end(&text, a, (int64_t)text.size);
    return put_text(a, &text);
}

void dt_archive_release(dt_archive *a)
{
    for (int i = 0; i < a->n; i++)
        free(a->member[i].name);
    free(a->member);
}
