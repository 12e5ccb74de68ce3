/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors: the header as a whole, then tensors by name; what is read is written, and read again
 * with its checksum. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "format/contents.h"
#include "fuzz.h"

typedef struct model {
    float x[4];
    int64_t y;
} model;

enum { ARRAYS = 2 };

static void arrays_of(model *m, dt_named_view array[ARRAYS]) {
    array[0] = (dt_named_view){"x", dt_type_of(DT_FLOAT32, 2, (int64_t[]){2, 2}), m->x};
    array[1] = (dt_named_view){"y", dt_type_of(DT_INT64, 0, NULL), &m->y};
}

/* With a digest of all bytes, and with words of its own beside the tensors. */
static void write_again(model *m) {
    static const dt_pair said[] = {{"format", "pt"}};
    model again = {0};
    dt_named_view from[ARRAYS], to[ARRAYS];
    dt_digest digest;
    dt_str path = {0};
    arrays_of(m, from);
    arrays_of(&again, to);
    dt_str_printf(&path, "%s/x", fuzz_folder("x", "", 0));
    dt_status *s = dt_safetensors_write(dt_str_text(&path), &(dt_arrays){ARRAYS, from}, &digest);
    if (!s) s = dt_safetensors_read(dt_str_text(&path), &(dt_arrays){ARRAYS, to}, digest.hex);
    FUZZ_CHECK(!s && memcmp(m->x, again.x, sizeof m->x) == 0 && m->y == again.y, "other values");
    s = dt_safetensors_export(dt_str_text(&path), &(dt_arrays){ARRAYS, from}, said, 1);
    if (!s) s = dt_safetensors_read(dt_str_text(&path), &(dt_arrays){ARRAYS, to}, digest.hex);
    FUZZ_CHECK(s, "another file with the same checksum");
    fuzz_done(s);
    dt_str_release(&path);
}

static void read_by_name(const char *path) {
    model m = {0};
    dt_named_view array[ARRAYS];
    arrays_of(&m, array);
    dt_status *s = dt_safetensors_read(path, &(dt_arrays){ARRAYS, array}, NULL);
    if (!s) write_again(&m);
    fuzz_done(s);
    dt_held_file some = {.path = path, .some = true};
    s = dt_file_open(path, &some.fd, &some.size);
    if (!s) {
        s = dt_safetensors_read_held(&some, &(dt_arrays){1, array}, NULL);
        close(some.fd);
    }
    fuzz_done(s);
}

FUZZ_TARGET(safetensors) {
    const char *path = fuzz_file(data, size);
    dt_stored_arrays s;
    dt_status *bad = dt_stored_open(&s, path);
    for (int i = 0; !bad && i < s.n && i < 64; i++) {
        void *values = NULL;
        bad = dt_contents_read(&s, &s.array[i], &values);
        free(values);
    }
    dt_stored_close(&s);
    fuzz_done(bad);
    read_by_name(path);
    return 0;
}
