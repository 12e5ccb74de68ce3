/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of data formats: every container that says how its examples are read in any order (file/containers.h), and three formats of
 * their own, which make examples of something else than rows of files.
 */
#include "data/records.h"

#include <string.h>

#define FORMAT(name) .kind = &dt_container_##name.kind, .keys = &dt_container_##name.keys, .container = &dt_container_##name
#define FORMAT_none(name)
#define FORMAT_arrays(name) \
    {FORMAT(name), .check = dt_arrays_check, .open = dt_arrays_open_part, .source = dt_arrays_source, .whole = dt_arrays_whole, \
     .unread = dt_arrays_unread, .read = dt_arrays_read, .close = dt_arrays_close_part},
#define FORMAT_records(name) \
    {FORMAT(name), .check = dt_records_check, .open = dt_records_open_part, .whole = dt_records_whole, .read = dt_records_read, \
     .fetch = dt_records_fetch, .unpack = dt_records_unpack, .close = dt_records_close_part},

static const dt_format of_containers[] = {
#define DT_CONTAINER(name, examples) FORMAT_##examples(name)
#include "file/containers.h"
#undef DT_CONTAINER
};
enum { OF_CONTAINERS = sizeof of_containers / sizeof *of_containers };

extern const dt_format dt_format_image_folder, dt_format_synthetic, dt_format_text;
static const dt_format *const own[] = {&dt_format_image_folder, &dt_format_synthetic, &dt_format_text};
enum { FORMATS = OF_CONTAINERS + sizeof own / sizeof *own };

static const dt_format *row(int i)
{
    return i < OF_CONTAINERS ? &of_containers[i] : own[i - OF_CONTAINERS];
}

static int names_before(const dt_format *f)
{
    int n = 0;
    for (int i = 0; i < FORMATS; i++)
        n += strcmp(row(i)->kind->name, f->kind->name) < 0;
    return n;
}

int dt_formats(void)
{
    return FORMATS;
}

const dt_format *dt_format_at(int place)
{
    int i = 0;
    while (names_before(row(i)) != place)
        i++;
    return row(i);
}
