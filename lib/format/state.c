/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state.json is one line of JSON. Its last member is the SHA-256 of all bytes before that member,
 * so that a changed seed or step is found like a changed weight.
 *
 *     {"format": 1, "step": 295, ..., "files": {"model.safetensors": "8c1e...", ...}, "job": "{...}", "sha256": "51f0..."}
 *
 * The files' names are fixed: what the text names is compared with them and never opened.
 */
#include "format/state.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "file/json_read.h"

enum {
    FORMAT = 1,
    LARGEST = 64 << 20,
    TAIL_BYTES = 80, /* `, "sha256": "` 64 digits `"}` newline */
};

/* ---- fields that need no thought ---- */

static const struct {
    const char *key;
    size_t offset;
} counts[] =
    {
        {"generation", offsetof(dt_state_file, generation)},
        {"step", offsetof(dt_state_file, step)},
        {"epoch", offsetof(dt_state_file, epoch)},
        {"epoch_step", offsetof(dt_state_file, epoch_step)},
},
  strings[] = {
      {"weights_sha256", offsetof(dt_state_file, weights_sha256)},
      {"kernels", offsetof(dt_state_file, kernels)},
      {"job_sha256", offsetof(dt_state_file, job_sha256)},
      {"job", offsetof(dt_state_file, job)},
};
enum {
    N_COUNTS = sizeof counts / sizeof *counts,
    N_STRINGS = sizeof strings / sizeof *strings,
};

const dt_tensor_file dt_tensor_files[DT_TENSOR_FILES] = {
    {.name = DT_MODEL_FILE, .title = "weights"},
    {.name = DT_OPTIMIZER_FILE, .title = "optimizer"},
    {DT_CALLBACKS_FILE, "callbacks", offsetof(dt_state_file, callback_arrays),
     offsetof(dt_state_file, callbacks_sha256)},
    {DT_VARIABLES_FILE, "variables", offsetof(dt_state_file, variable_arrays),
     offsetof(dt_state_file, variables_sha256)},
};

const dt_arrays *dt_state_arrays(const dt_state_file *s, int i) {
    return *(const dt_arrays *const *)((const char *)s + dt_tensor_files[i].arrays);
}

const char **dt_state_sha256(dt_state_file *s, int i) {
    return (const char **)((char *)s + dt_tensor_files[i].sha256);
}

static int64_t *count_at(dt_state_file *s, int i) {
    return (int64_t *)((char *)s + counts[i].offset);
}

static const char **string_at(dt_state_file *s, int i) {
    return (const char **)((char *)s + strings[i].offset);
}

/* ---- writing ---- */

static void put_tail(dt_json *j) {
    dt_digest digest = dt_sha256_of(j->out->data, j->out->size);
    dt_json_string(j, "sha256", digest.hex);
    dt_json_close(j, '}');
    dt_str_putc(j->out, '\n');
}

/* Seeds have 64 bits, of which JSON's readers keep 53: as text. */
static void put_seed(dt_json *j, uint64_t seed) {
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, seed);
    dt_json_string(j, "seed", text);
}

static void put_files(dt_json *j, dt_state_file *s, const dt_digest *model,
                      const dt_digest *optimizer) {
    dt_json_open(j, "files", '{');
    dt_json_string(j, DT_MODEL_FILE, model->hex);
    dt_json_string(j, DT_OPTIMIZER_FILE, optimizer->hex);
    for (int i = DT_REQUIRED_FILES; i < DT_TENSOR_FILES; i++)
        if (*dt_state_sha256(s, i))
            dt_json_string(j, dt_tensor_files[i].name, *dt_state_sha256(s, i));
    dt_json_close(j, '}');
}

void dt_state_print(const dt_state_file *state, const dt_digest *model, const dt_digest *optimizer,
                    dt_str *out) {
    dt_state_file s = *state;
    dt_json j = {.out = out};
    dt_str_clear(out);
    dt_json_open(&j, NULL, '{');
    dt_json_int(&j, "format", FORMAT);
    for (int i = 0; i < N_COUNTS; i++) dt_json_int(&j, counts[i].key, *count_at(&s, i));
    dt_json_bool(&j, "finished", s.finished);
    put_seed(&j, s.seed);
    dt_json_double(&j, "wall_s", s.wall_s);
    dt_json_open(&j, "sums", '[');
    for (int i = 0; i < s.n_sums; i++) dt_json_double(&j, NULL, s.sum[i]);
    dt_json_close(&j, ']');
    put_files(&j, &s, model, optimizer);
    for (int i = 0; i < N_STRINGS; i++) dt_json_string(&j, strings[i].key, *string_at(&s, i));
    if (s.workers > 0) dt_json_int(&j, "workers", s.workers);
    if (s.callbacks) dt_json_string(&j, "callbacks", s.callbacks);
    if (s.map) dt_json_string(&j, "map", s.map);
    if (s.elements) dt_json_string(&j, "elements", s.elements);
    if (s.classes) dt_json_string(&j, "classes", s.classes);
    if (s.loop) dt_json_string(&j, "loop", s.loop);
    put_tail(&j);
}

/* ---- reading: the file ---- */

/* A link could lead out of the run directory, to a file that nobody meant to be read. */
static dt_status *check_kind(const char *path, mode_t kind, dt_error missing) {
    struct stat st;
    if (lstat(path, &st) != 0) {
        if (errno == ENOENT || errno == ENOTDIR)
            return missing == DT_E_CHECKPOINT ? dt_fail(missing, NULL, "%s: is missing", path)
                                              : dt_fail_errno(missing, path);
        return dt_fail_errno(missing == DT_E_CHECKPOINT ? DT_E_IO : missing, path);
    }
    if (S_ISLNK(st.st_mode))
        return dt_fail(DT_E_CHECKPOINT, NULL, "%s: is a symbolic link; refused", path);
    if ((st.st_mode & S_IFMT) != kind)
        return dt_fail(DT_E_CHECKPOINT, NULL, "%s: is not a %s", path,
                       kind == S_IFDIR ? "directory" : "regular file");
    return NULL;
}

dt_status *dt_check_plain(const char *path) { return check_kind(path, S_IFREG, DT_E_CHECKPOINT); }

bool dt_state_is_damage(const dt_status *s) {
    int code = dt_status_code(s);
    return code == 65 || code == 66 || code == 74;
}

/* ---- reading: the text ---- */

/* The file at hand. */
typedef struct source {
    const char *path;
    const dt_str *text;
    json_t *root;
} source;

static dt_status *bad(const source *f, const char *format, ...) DT_PRINTF(2, 3);
static dt_status *bad(const source *f, const char *format, ...) {
    dt_str what = {0};
    va_list args;
    va_start(args, format);
    dt_str_vprintf(&what, format, args);
    va_end(args);
    dt_status *s = dt_fail(DT_E_CHECKPOINT, NULL, "%s: %s", f->path, dt_str_text(&what));
    dt_str_release(&what);
    return s;
}

/* Before the checksum, whose form belongs to the version. */
static dt_status *check_format(const source *f) {
    int64_t format;
    if (!dt_json_get_int(f->root, "format", &format)) return bad(f, "has no format version");
    if (format == FORMAT) return NULL;
    return dt_fail(DT_E_CHECKPOINT_VERSION, NULL,
                   "%s: format version %" PRId64 "; this dtrain reads %d", f->path, format, FORMAT);
}

static dt_status *read_digest(const source *f, const json_t *files, const char *name,
                              char out[65]) {
    const char *hex = json_string_value(json_object_get(files, name));
    if (!hex || strlen(hex) != 64 || strspn(hex, "0123456789abcdef") != 64)
        return bad(f, "has no checksum of '%s'", name);
    memcpy(out, hex, 65);
    return NULL;
}

static bool is_file(const char *name) {
    bool is = false;
    for (int i = 0; i < DT_TENSOR_FILES; i++) is |= strcmp(name, dt_tensor_files[i].name) == 0;
    return is;
}

static dt_status *read_files(const source *f, dt_state_read *r) {
    const char *name;
    json_t *value;
    json_t *files = json_object_get(f->root, "files");
    json_object_foreach(files, name, value) {
        if (strchr(name, '/')) return bad(f, "'%.80s' leaves the checkpoint directory", name);
        if (!is_file(name)) return bad(f, "'%.80s' is not a file of a checkpoint", name);
    }
    DT_TRY(read_digest(f, files, DT_MODEL_FILE, r->model_sha256));
    DT_TRY(read_digest(f, files, DT_OPTIMIZER_FILE, r->optimizer_sha256));
    for (int i = DT_REQUIRED_FILES; i < DT_TENSOR_FILES; i++) {
        char digest[65];
        if (!json_object_get(files, dt_tensor_files[i].name)) continue;
        DT_TRY(read_digest(f, files, dt_tensor_files[i].name, digest));
        *dt_state_sha256(&r->state, i) = dt_arena_strdup(r->arena, digest);
    }
    return NULL;
}

/* The file must end as we would end it. */
static dt_status *check_tail(const source *f) {
    dt_str again = {0};
    dt_json j = {.out = &again, .comma = true};
    size_t n = f->text->size;
    if (n > TAIL_BYTES) dt_str_add(&again, f->text->data, n - TAIL_BYTES);
    put_tail(&j);
    bool same = again.size == n && memcmp(again.data, f->text->data, n) == 0;
    dt_str_release(&again);
    return same ? NULL : bad(f, "checksum mismatch");
}

static dt_status *read_seed(const source *f, uint64_t *seed) {
    const char *text = json_string_value(json_object_get(f->root, "seed"));
    if (!text || !*text || text[strspn(text, "0123456789")])
        return bad(f, "'seed' must be a number in quotes");
    *seed = 0;
    for (; *text; text++)
        if (__builtin_mul_overflow(*seed, (uint64_t)10, seed) ||
            __builtin_add_overflow(*seed, (uint64_t)(*text - '0'), seed))
            return bad(f, "'seed' is too large");
    return NULL;
}

/* Null is what the writer makes of what JSON lacks. */
static dt_status *read_double(const source *f, const char *key, const json_t *value, double *out) {
    if (!json_is_number(value) && !json_is_null(value)) return bad(f, "'%s' must be a number", key);
    *out = json_is_null(value) ? (double)NAN : json_number_value(value);
    return NULL;
}

static dt_status *read_sums(const source *f, dt_arena *arena, dt_state_file *s) {
    const json_t *sums = json_object_get(f->root, "sums");
    size_t n = json_array_size(sums);
    if (!json_is_array(sums) || n > DT_STATE_SUMS)
        return bad(f, "'sums' must be a list of at most %d numbers", DT_STATE_SUMS);
    s->n_sums = (int)n;
    s->sum = dt_arena_array(arena, double, n + 1);
    for (size_t i = 0; i < n; i++)
        DT_TRY(read_double(f, "sums", json_array_get(sums, i), &s->sum[i]));
    return NULL;
}

/* JSON in a string, which need not be there. */
static dt_status *read_inner(const source *f, dt_state_read *r, const char *key, const char **out) {
    const json_t *text = json_object_get(f->root, key);
    if (text && !json_is_string(text)) return bad(f, "'%s' must be a string", key);
    *out = text ? dt_arena_strdup(r->arena, json_string_value(text)) : NULL;
    return NULL;
}

static dt_status *read_fields(const source *f, dt_state_read *r) {
    for (int i = 0; i < N_COUNTS; i++)
        if (!dt_json_get_int(f->root, counts[i].key, count_at(&r->state, i)) ||
            *count_at(&r->state, i) < 0)
            return bad(f, "'%s' must be a count", counts[i].key);
    for (int i = 0; i < N_STRINGS; i++) {
        const json_t *value = json_object_get(f->root, strings[i].key);
        if (!json_is_string(value) && !json_is_null(value))
            return bad(f, "'%s' must be a string", strings[i].key);
        *string_at(&r->state, i) =
            json_is_string(value) ? dt_arena_strdup(r->arena, json_string_value(value)) : NULL;
    }
    if (json_object_get(f->root, "workers") &&
        (!dt_json_get_int(f->root, "workers", &r->state.workers) || r->state.workers < 0))
        return bad(f, "'workers' must be a count");
    DT_TRY(read_inner(f, r, "callbacks", &r->state.callbacks));
    DT_TRY(read_inner(f, r, "map", &r->state.map));
    DT_TRY(read_inner(f, r, "elements", &r->state.elements));
    DT_TRY(read_inner(f, r, "classes", &r->state.classes));
    DT_TRY(read_inner(f, r, "loop", &r->state.loop));
    const json_t *finished = json_object_get(f->root, "finished");
    if (!json_is_boolean(finished)) return bad(f, "'finished' must be true or false");
    r->state.finished = json_is_true(finished);
    DT_TRY(read_seed(f, &r->state.seed));
    DT_TRY(read_double(f, "wall_s", json_object_get(f->root, "wall_s"), &r->state.wall_s));
    return read_sums(f, r->arena, &r->state);
}

static dt_status *read_text(source *f, dt_state_read *r) {
    dt_json_text text = {f->path,       "the file",     "key", dt_str_text(f->text),
                         f->text->size, DT_E_CHECKPOINT};
    DT_TRY(dt_json_parse(&text, &f->root));
    DT_TRY(check_format(f));
    DT_TRY(read_files(f, r));
    DT_TRY(check_tail(f));
    return read_fields(f, r);
}

dt_status *dt_state_load(dt_state_read *r) {
    dt_str text = {0};
    source f = {.text = &text, .path = dt_arena_printf(r->arena, "%s/" DT_STATE_FILE, r->path)};
    DT_TRY(check_kind(r->path, S_IFDIR, DT_E_NO_INPUT));
    DT_TRY(dt_check_plain(f.path));
    dt_status *s = dt_file_read(f.path, LARGEST, &text);
    if (!s) s = read_text(&f, r);
    json_decref(f.root);
    dt_str_release(&text);
    return s;
}
