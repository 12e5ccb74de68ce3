/* SPDX-License-Identifier: Apache-2.0 */
/* ZIP archives: the directory, and every member read to its end. */
#include "file/zip.h"
#include "fuzz.h"
#include "repair.h"

enum { MOST_MEMBERS = 16, MOST_READ = 1 << 20 };

static void read_member(const char *path, const dt_zip_member *m) {
    static unsigned char bytes[4096];
    dt_inflow *file = NULL;
    int64_t got = 1, all = 0;
    dt_status *s = dt_zip_open(&file, path, m);
    for (; !s && got > 0 && all < MOST_READ; all += got)
        s = dt_inflow_read(file, bytes, sizeof bytes, &got);
    FUZZ_CHECK(s || all <= m->size, "more than the directory says");
    fuzz_done(s);
    dt_inflow_close(file);
}

FUZZ_TARGET(zip) {
    dt_zip zip = {0};
    dt_arena *arena = dt_arena_create();
    const char *path = fuzz_file(data, size);
    if (dt_zip_is(path)) {
        dt_status *s = dt_zip_read(arena, path, &zip);
        for (int i = 0; !s && i < zip.n && i < MOST_MEMBERS; i++) read_member(path, &zip.member[i]);
        fuzz_done(s);
    }
    dt_arena_destroy(arena);
    return 0;
}

FUZZ_REPAIRED_BY(repair_zip)
