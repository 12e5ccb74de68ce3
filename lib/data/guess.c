/* SPDX-License-Identifier: Apache-2.0 */
/* Formats by first bytes; see guess.h. */
#include "data/guess.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "file/records.h"
#include "file/zip.h"

enum { FIRST = 4096, MOST_FILES = 1000 };

static bool is_npy(const unsigned char *b, size_t n)
{
    return n >= 6 && memcmp(b, "\x93NUMPY", 6) == 0;
}

static bool is_npz(const unsigned char *b, size_t n)
{
    return n >= 4 && (memcmp(b, "PK\3\4", 4) == 0 || memcmp(b, "PK\5\6", 4) == 0);
}

static bool is_idx(const unsigned char *b, size_t n)
{
    return n >= 4 && b[0] == 0 && b[1] == 0 && b[2] >= 8 && b[2] <= 14 && b[3] >= 1 && b[3] <= 8;
}

static bool is_tfrecord(const unsigned char *b, size_t n)
{
    uint32_t crc = 0;
    for (int i = 3; n >= DT_TFRECORD_HEADER && i >= 0; i--)
        crc = crc << 8 | b[8 + i];
    return n >= DT_TFRECORD_HEADER && dt_crc32c_masked(b, 8) == crc;
}

/* UTF-8 or Latin-1, as spreadsheets write it: of control characters those that set text. A binary file of any length has others. */
static bool is_text(const unsigned char *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((b[i] < ' ' && !(b[i] >= '\t' && b[i] <= '\r')) || b[i] == 0x7f)
            return false;
    return true;
}

/* Text with a delimiter in its first line, or numbers one below the other. */
static bool is_csv(const unsigned char *b, size_t n)
{
    const unsigned char *end = memchr(b, '\n', n);
    const size_t line = end ? (size_t)(end - b) : n;
    return n > 0 && is_text(b, n) && (memchr(b, ',', line) || memchr(b, ';', line) || memchr(b, '\t', line) || line < 64);
}

static const struct {
    const char *name;
    bool (*is)(const unsigned char *b, size_t n);
    dt_status *(*keys)(const dt_guessing *g); /* NULL: arrays */
} formats[] = {
    {"npy", is_npy, NULL}, {"npz", is_npz, NULL}, {"idx", is_idx, NULL}, {"tfrecord", is_tfrecord, dt_guess_records}, {"csv", is_csv, dt_guess_csv},
};
enum { FORMATS = sizeof formats / sizeof *formats };

/* Through gzip and, as TFRecords may be, zlib. */
static dt_status *first_bytes(const char *path, unsigned char *b, int64_t *n)
{
    dt_records r;
    DT_TRY(dt_records_open(&r, path, &(dt_record_options){.kind = DT_TFRECORD}));
    dt_status *s = dt_inflow_read(r.file, b, FIRST, n);
    if (!s && *n == 0)
        s = dt_fail(DT_E_DATA_FILE, NULL, "%s: file is empty", path);
    dt_records_close(&r);
    return s;
}

static dt_status *find_format(const char *path, int *out)
{
    unsigned char b[FIRST];
    int64_t n = 0;
    DT_TRY(first_bytes(path, b, &n));
    for (*out = 0; *out < FORMATS && !formats[*out].is(b, (size_t)n); ++*out)
        continue;
    if (*out == FORMATS)
        return dt_note(dt_fail(DT_E_DATA_FILE, NULL, "%s: unknown format; npy, npz, idx, tfrecord and csv are recognized by their contents", path),
                       "for text and images, give a job that describes the examples instead of the file");
    return NULL;
}

/* ---- names ---- */

const char *dt_guess_path(const char *file, size_t *name)
{
    const size_t n = strcspn(file, "=/");
    const bool named = file[n] == '=' && *file != '.';
    *name = named ? n : 0;
    return named ? file + n + 1 : file;
}

/* The file's own name up to its first dot. */
static void put_stem(const char *path, dt_str *out)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    dt_str_add(out, name, strcspn(name, "."));
}

static void name_of(const char *file, dt_str *out)
{
    size_t given;
    const char *path = dt_guess_path(file, &given);
    dt_str_clear(out);
    if (given)
        dt_str_add(out, file, given);
    else
        put_stem(path, out);
}

/* ---- arrays ---- */

static dt_status *put_members(const char *path, dt_json *j)
{
    dt_arena *arena = dt_arena_create();
    dt_zip zip;
    dt_status *s = dt_zip_read(arena, path, &zip);
    for (int i = 0; !s && i < zip.n; i++) {
        char *name = dt_arena_strdup(arena, zip.member[i].name);
        const size_t n = strlen(name);
        if (n >= 4 && strcmp(name + n - 4, ".npy") == 0)
            name[n - 4] = '\0';
        dt_json_string(j, name, path);
    }
    dt_arena_destroy(arena);
    return s;
}

static dt_status *put_arrays(const dt_guess *g, bool archive, dt_json *j)
{
    dt_str name = {0};
    dt_status *s = NULL;
    size_t given;
    dt_json_open(j, "train", '{');
    for (int i = 0; i < g->n && !s; i++) {
        const char *path = dt_guess_path(g->files[i], &given);
        name_of(g->files[i], &name);
        if (archive && !given)
            s = put_members(path, j);
        else
            dt_json_string(j, dt_str_text(&name), path);
    }
    dt_json_close(j, '}');
    dt_str_release(&name);
    return s;
}

/* ---- records ---- */

static dt_status *put_records(const dt_guess *g, int format, dt_json *j, dt_str *notes)
{
    const char **path = dt_alloc((size_t)g->n * sizeof *path);
    size_t given;
    dt_json_open(j, "train", '[');
    for (int i = 0; i < g->n; i++) {
        path[i] = dt_guess_path(g->files[i], &given);
        dt_json_string(j, NULL, path[i]);
    }
    dt_json_close(j, ']');
    dt_status *s = formats[format].keys(&(dt_guessing){path, g->n, j, notes});
    free(path);
    return s;
}

static dt_status *check_same(const dt_guess *g, int format)
{
    size_t given;
    int other = format;
    for (int i = 1; i < g->n; i++) {
        const char *path = dt_guess_path(g->files[i], &given);
        DT_TRY(find_format(path, &other));
        if (other != format)
            return dt_fail(DT_E_DATA_FILE, NULL, "%s is %s, %s %s: files of one data set have one format", dt_guess_path(g->files[0], &given),
                           formats[format].name, path, formats[other].name);
    }
    return NULL;
}

dt_status *dt_guess_files(dt_guess *g)
{
    dt_json j = {.out = &g->out};
    size_t given;
    int format = 0;
    if (g->n < 1 || g->n > MOST_FILES)
        return dt_fail(DT_E_TOO_LARGE, NULL, "%d files; 1 to %d are read as one data set", g->n, MOST_FILES);
    DT_TRY(find_format(dt_guess_path(g->files[0], &given), &format));
    DT_TRY(check_same(g, format));
    dt_json_open(&j, NULL, '{');
    dt_json_string(&j, "format", formats[format].name);
    DT_TRY(formats[format].keys ? put_records(g, format, &j, &g->notes) : put_arrays(g, formats[format].is == is_npz, &j));
    dt_json_int(&j, "global_batch_size", 1);
    dt_json_close(&j, '}');
    return NULL;
}

void dt_guess_release(dt_guess *g)
{
    dt_str_release(&g->out);
    dt_str_release(&g->notes);
}
