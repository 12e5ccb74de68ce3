/* SPDX-License-Identifier: Apache-2.0 */
/* Guesses formats and elements of files; see guess.h. */
#include "data/guess.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "file/file.h"
#include "file/other_tables.h"
#include "file/records.h"
#include "file/zip.h"

enum { FIRST = 4096, MOST_FILES = 1000, MOST_ARRAYS = 1000 };

/* Reads the first bytes of a file, decompressed if it is gzip or (as TFRecord files may be)
 * zlib. */
static dt_status *first_bytes(const char *path, unsigned char *b, int64_t *n) {
    dt_records r;
    DT_TRY(dt_records_open(&r, path, &(dt_record_options){.kind = DT_TFRECORD}));
    dt_status *s = dt_inflow_read(r.file, b, FIRST, n);
    if (!s && *n == 0) s = dt_fail(DT_E_DATA_FILE, NULL, "%s: file is empty", path);
    dt_records_close(&r);
    return s;
}

/* Whether a format can be guessed. Other formats need a job that describes their examples. */
static bool is_guessed(const dt_format *f) {
    return f->survey || f->content == DT_CONTENT_ARRAY || f->content == DT_CONTENT_ARCHIVE;
}

/* Whether a file is a ZIP archive that is not NPZ. The format of such a file is not guessed,
 * whatever its members are. */
static bool is_other_archive(const unsigned char *b, int64_t n) {
    const dt_file_sort *sort = dt_file_sort_of(b, (size_t)n);
    return dt_format_npz.sniff(b, n) && sort && !strstr(sort->what, "NPZ archive");
}

static dt_status *find_format(const char *path, const dt_format **out) {
    unsigned char b[FIRST];
    int64_t n = 0;
    DT_TRY(first_bytes(path, b, &n));
    const dt_format *const *f = dt_file_formats;
    while (*f && !(is_guessed(*f) && (*f)->sniff && (*f)->sniff(b, n))) f++;
    *out = is_other_archive(b, n) ? NULL : *f;
    if (!*out)
        DT_TRY(dt_text_look(&(dt_text_file){.path = path,
                                            .wanted = "NPY, NPZ, IDX, TFRecord, JSON lines or CSV",
                                            .fault = DT_E_DATA_FILE},
                            b, (size_t)n, &(size_t){0}));
    if (!*out) DT_TRY(dt_other_table_look(path, (const char *)b, (size_t)n));
    if (!*out)
        return dt_note(
            dt_fail(DT_E_DATA_FILE, NULL,
                    "%s: unknown format; npy, npz, idx, tfrecord, jsonl, libsvm and csv are "
                    "recognized by "
                    "their contents",
                    path),
            "for text and images, give a job that describes the examples instead of the file");
    return NULL;
}

const char *dt_guess_path(const char *file, size_t *name) {
    const size_t n = strcspn(file, "=/");
    const bool named = file[n] == '=' && *file != '.';
    *name = named ? n : 0;
    return named ? file + n + 1 : file;
}

/* Appends the file's name without its folder and up to its first dot. */
static void put_stem(const char *path, dt_str *out) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    dt_str_add(out, name, strcspn(name, "."));
}

static void name_of(const char *file, dt_str *out) {
    size_t given;
    const char *path = dt_guess_path(file, &given);
    dt_str_clear(out);
    if (given) dt_str_add(out, file, given);
    else put_stem(path, out);
}

/* Subtracts a file's arrays from *room, the number of arrays that this and further files may still
 * have. Fails if it becomes negative. */
static dt_status *check_room(const char *path, int64_t arrays, int64_t *room) {
    *room -= arrays;
    if (*room >= 0) return NULL;
    return dt_suggest(dt_fail(DT_E_DATA_FILE, NULL,
                              "%s: has %lld array%s; at most %d are inspected at once", path,
                              (long long)arrays, arrays == 1 ? "" : "s", MOST_ARRAYS),
                      "give those that you want as NAME=%s", path);
}

static dt_status *put_members(const char *path, int64_t *room, dt_json *j) {
    dt_arena *arena = dt_arena_create();
    dt_zip zip = {0};
    dt_status *s = dt_zip_read(arena, path, &zip);
    if (!s) s = check_room(path, zip.n, room);
    for (int i = 0; !s && i < zip.n; i++) {
        char *name = dt_arena_strdup(arena, zip.member[i].name);
        const size_t n = strlen(name);
        if (n >= 4 && strcmp(name + n - 4, ".npy") == 0) name[n - 4] = '\0';
        dt_json_string(j, name, path);
    }
    dt_arena_destroy(arena);
    return s;
}

static dt_status *put_arrays(dt_guess *g, bool archive, dt_json *j) {
    dt_str name = {0};
    dt_status *s = NULL;
    size_t given;
    int64_t room = MOST_ARRAYS;
    dt_json_open(j, "train", '{');
    g->arrays_from = g->out.size - 1; /* the position includes the bracket that was just written */
    for (int i = 0; i < g->n && !s; i++) {
        const char *path = dt_guess_path(g->files[i], &given);
        name_of(g->files[i], &name);
        if (archive && !given) s = put_members(path, &room, j);
        else dt_json_string(j, dt_str_text(&name), path);
    }
    dt_json_close(j, '}');
    g->arrays_end = g->out.size;
    dt_str_release(&name);
    return s;
}

static dt_status *put_records(dt_guess *g, dt_json *j) {
    const char **path = dt_alloc((size_t)g->n * sizeof *path);
    size_t given;
    dt_json_open(j, "train", '[');
    g->arrays_from = g->out.size - 1; /* the position includes the bracket that was just written */
    for (int i = 0; i < g->n; i++) {
        path[i] = dt_guess_path(g->files[i], &given);
        dt_json_string(j, NULL, path[i]);
    }
    dt_json_close(j, ']');
    g->arrays_end = g->out.size;
    dt_status *s = g->format->survey(
        &(dt_survey_request){path, g->n, j, &g->notes, g->wants_table ? &g->table : NULL});
    g->element_from = g->arrays_end + strcspn(dt_str_text(&g->out) + g->arrays_end, "{");
    g->element_end = g->out.size;
    free(path);
    return s;
}

static dt_status *check_same(const dt_guess *g, const dt_format *format) {
    size_t given;
    const dt_format *other = format;
    for (int i = 1; i < g->n; i++) {
        const char *path = dt_guess_path(g->files[i], &given);
        DT_TRY(find_format(path, &other));
        if (other != format)
            return dt_fail(
                DT_E_DATA_FILE, NULL, "%s is %s, %s %s: files of one data set have one format",
                dt_guess_path(g->files[0], &given), format->kind.name, path, other->kind.name);
    }
    return NULL;
}

dt_status *dt_guess_files(dt_guess *g) {
    dt_json j = {.out = &g->out};
    size_t given;
    const dt_format *format = NULL;
    if (g->n < 1 || g->n > MOST_FILES)
        return dt_fail(DT_E_TOO_LARGE, NULL, "%d files; 1 to %d are read as one data set", g->n,
                       MOST_FILES);
    DT_TRY(find_format(dt_guess_path(g->files[0], &given), &format));
    DT_TRY(check_same(g, format));
    dt_json_open(&j, NULL, '{');
    dt_json_string(&j, "format", format->kind.name);
    g->format = format;
    DT_TRY(format->survey ? put_records(g, &j)
                          : put_arrays(g, format->content == DT_CONTENT_ARCHIVE, &j));
    dt_json_int(&j, "global_batch_size", 1);
    dt_json_close(&j, '}');
    return NULL;
}

void dt_guess_release(dt_guess *g) {
    dt_str_release(&g->out);
    dt_str_release(&g->notes);
    dt_table_release(&g->table);
}
