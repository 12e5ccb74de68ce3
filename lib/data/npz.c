/* SPDX-License-Identifier: Apache-2.0 */
/* Members of NPZ archives; see npz.h. */
#include "data/npz.h"

#include <string.h>
#include <sys/stat.h>

/* "data.npz/x" is a member, unless data.npz is a folder: then it is a file in it. Returns "/x", or NULL. */
static const char *find_member(dt_arena *arena, const char *path)
{
    const char *at = strstr(path, ".npz/");
    struct stat st;
    if (!at)
        return NULL;
    const bool folder = stat(dt_arena_printf(arena, "%.*s", (int)(at + 4 - path), path), &st) == 0 && S_ISDIR(st.st_mode);
    return folder ? NULL : at + 4;
}

static const dt_zip_member *find_in(const dt_zip *zip, const char *name)
{
    const size_t n = strlen(name);
    for (int i = 0; i < zip->n; i++)
        if (strncmp(zip->member[i].name, name, n) == 0 && (zip->member[i].name[n] == '\0' || strcmp(zip->member[i].name + n, ".npy") == 0))
            return &zip->member[i];
    return NULL;
}

static dt_status *no_member(const char *path, const char *name, const dt_zip *zip)
{
    dt_str has = {0};
    for (int i = 0; i < zip->n && i < 16; i++) {
        const char *member = zip->member[i].name, *dot = strstr(member, ".npy");
        dt_str_puts(&has, i ? ", " : "");
        dt_str_escaped(&has, member, dot ? (size_t)(dot - member) : strlen(member), 60);
    }
    dt_status *s = dt_fail(DT_E_DATA_FILE, NULL, "%s: no member '%s'; it has: %s%s", path, name, dt_str_text(&has), zip->n > 16 ? ", ..." : "");
    dt_str_release(&has);
    return s;
}

static dt_status *open_member(dt_arena *arena, const char *path, const char *name, dt_inflow **out)
{
    dt_zip zip;
    DT_TRY(dt_zip_read(arena, path, &zip));
    const dt_zip_member *m = find_in(&zip, name);
    return m ? dt_zip_open(out, path, m) : no_member(path, name, &zip);
}

const char *dt_npz_archive(dt_arena *arena, const char *path)
{
    const char *member = find_member(arena, path);
    return member ? dt_arena_printf(arena, "%.*s", (int)(member - path), path) : path;
}

dt_status *dt_npz_open(dt_arena *arena, dt_stored *stored, dt_inflow **out)
{
    const char *path = stored->file, *member = find_member(arena, path);
    if (member)
        return open_member(arena, dt_npz_archive(arena, path), member + 1, out);
    if (!dt_zip_is(path))
        return dt_inflow_open(out, path);
    DT_TRY(open_member(arena, path, stored->name, out));
    stored->file = dt_arena_printf(arena, "%s/%s", path, stored->name);
    return NULL;
}
