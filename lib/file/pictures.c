/* SPDX-License-Identifier: Apache-2.0 */
/* Reads one picture, all pictures in a folder, or those that match a pattern, as rows; see
 * pictures.h. */
#include "file/pictures.h"

#include <string.h>

#include "file/image/layout.h"
#include "file/records.h"

#define LARGEST_FILE ((size_t)1 << 30)

typedef struct pictures {
    dt_image_layout layout;
    dt_paths paths;
} pictures;

bool dt_pictures_sniff(const unsigned char *first, int64_t n) {
    return n < 0 || dt_image_is(first, (size_t)n);
}

/* Sets the type of a picture: that of the data set's pictures, if the format is the data set's own;
 * else that of the model's input, (rows, columns) or (rows, columns, channels), as uint8. */
static dt_status *describe(dt_row_source *s) {
    pictures *p = s->state = dt_arena_new(s->arena, pictures);
    dt_type *t = &s->element[0].type;
    int channels = t->rank == 3 && t->dim[2] <= 4 ? (int)t->dim[2] : t->rank == 2;
    if (s->n != 1 || (channels != 1 && channels != 3 && channels != 4))
        return dt_fail(DT_E_ELEMENTS, NULL,
                       "%s: the model does not accept images: it has %d input%s, and exactly one "
                       "of (rows, columns) "
                       "or (rows, columns, channels) is needed",
                       s->path, s->n, s->n == 1 ? "" : "s");
    t->dtype = DT_UINT8;
    p->layout =
        s->native ? *(const dt_image_layout *)s->element[0].own : (dt_image_layout){.type = *t};
    *t = p->layout.type;
    return NULL;
}

dt_status *dt_pictures_list(const char *folder, dt_paths *out, int64_t *others, char **other) {
    dt_paths all = {0};
    dt_status *s = dt_paths_list_below(&all, folder);
    for (int i = 0; i < all.n && !s; i++) {
        if (dt_image_is_named(all.v[i]) || dt_image_is_other(all.v[i])) {
            dt_paths_add(out, all.v[i]);
            continue;
        }
        ++*others;
        if (other && !*other) *other = dt_strdup(all.v[i]);
    }
    dt_paths_release(&all);
    return s;
}

/* Lists the files that match a pattern; all of them must have a suffix of pictures that can be
 * read. */
static dt_status *list_matches(const char *pattern, dt_paths *out) {
    DT_TRY(dt_paths_match(out, NULL, pattern));
    for (int i = 0; i < out->n; i++)
        if (!dt_image_is_named(out->v[i]))
            return dt_fail(DT_E_DATA_FILE, NULL,
                           "%s: is not a " DT_IMAGE_FORMATS
                           " image; a pattern may match images only",
                           out->v[i]);
    return NULL;
}

static dt_status *list_folder(const dt_row_source *s, pictures *p) {
    if (!dt_path_is_folder(s->path)) return list_matches(s->path, &p->paths);
    int64_t others = 0;
    DT_TRY(dt_pictures_list(s->path, &p->paths, &others, NULL));
    return p->paths.n > 0
               ? NULL
               : dt_fail(DT_E_DATA_EMPTY, NULL,
                         "%s: no " DT_IMAGE_FORMATS " images in the folder or its subfolders",
                         s->path);
}

static void close_pictures(dt_row_source *s) { dt_paths_release(&((pictures *)s->state)->paths); }

static const char *file_of(const dt_row_source *s, int64_t row) {
    const pictures *p = s->state;
    return row < p->paths.n ? p->paths.v[row] : NULL;
}

static dt_status *read_all(dt_inflow *f, const char *path, dt_str *out) {
    char piece[4096];
    int64_t got = 1;
    while (got > 0) {
        DT_TRY(dt_inflow_some(f, piece, sizeof piece, &got));
        dt_str_add(out, piece, (size_t)got);
        if (out->size > LARGEST_FILE)
            return dt_fail(DT_E_TOO_LARGE, NULL, "%s: a picture of more than 1 GiB", path);
    }
    return NULL;
}

/* Reads the next picture: the next of the files in the folder or of those that match the pattern,
 * or the picture in the source's own file. */
static dt_status *next_picture(dt_row_source *s, void *const *row, bool *more) {
    const pictures *p = s->state;
    dt_local_str bytes = {0};
    *more = s->row < s->count;
    if (!*more) return NULL;
    const dt_image_name name = {s->file ? s->path : p->paths.v[s->row], s->element[0].name};
    DT_TRY(s->file ? read_all(s->file, s->path, &bytes)
                   : dt_file_read(name.path, LARGEST_FILE, &bytes));
    return dt_image_fit(&p->layout, &name, dt_str_text(&bytes), bytes.size, row[0]);
}

dt_status *dt_pictures_open(dt_row_source *s) {
    static const dt_row_reader reader = {
        .next = next_picture, .file = file_of, .close = close_pictures};
    DT_TRY(describe(s));
    pictures *p = s->state;
    dt_status *bad = s->file ? NULL : list_folder(s, p);
    s->count = s->file ? 1 : p->paths.n;
    if (bad) dt_paths_release(&p->paths);
    else s->reader = &reader;
    return bad;
}
