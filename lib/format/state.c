/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state.json is one line of JSON. Its last member is the SHA-256 of all bytes before `, "sha256"`,
 * so that a changed seed or step is found like a changed weight.
 *
 *     {"format": 1, "step": 295, ..., "files": {"model.safetensors": "8c1e...", ...},
 *      "job": "{...}", "sha256": "51f0..."}
 *
 * The names of the files are fixed: names in the text are only compared with them and never opened.
 */
#include "format/state.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include "file/json_read.h"

enum {
    FORMAT = 1,
    LARGEST = 64 << 20,
    TAIL_BYTES = 80, /* the number of bytes of `, "sha256": "`, 64 digits, `"}` and a newline */
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

/* What the members of state.json are written from. `state` comes first, so that offsets in
 * dt_state_file are valid here, too. */
typedef struct contents {
    dt_state_file state;
    const dt_digest *model, *optimizer;
} contents;

static void put_files(dt_json *j, const void *of) {
    contents c = *(const contents *)of;
    dt_json_open(j, "files", '{');
    dt_json_string(j, DT_MODEL_FILE, c.model->hex);
    dt_json_string(j, DT_OPTIMIZER_FILE, c.optimizer->hex);
    for (int i = DT_REQUIRED_FILES; i < DT_TENSOR_FILES; i++)
        if (*dt_state_sha256(&c.state, i))
            dt_json_string(j, dt_tensor_files[i].name, *dt_state_sha256(&c.state, i));
    dt_json_close(j, '}');
}

static const dt_json_member members[] = {
    DT_JSON(dt_state_file, generation),
    DT_JSON(dt_state_file, step),
    DT_JSON(dt_state_file, epoch),
    DT_JSON(dt_state_file, epoch_step),
    DT_JSON(dt_state_file, finished),
    DT_JSON(dt_state_file, seed, .quoted = true),
    DT_JSON(dt_state_file, wall_s),
    DT_JSON_AS("sums", dt_state_file, sum, .count = offsetof(dt_state_file, n_sums),
               .most = DT_STATE_SUMS),
    DT_JSON_MORE(put_files, "`files`"),
    DT_JSON(dt_state_file, weights_sha256),
    DT_JSON(dt_state_file, kernels),
    DT_JSON(dt_state_file, job_sha256),
    DT_JSON(dt_state_file, job),
    DT_JSON(dt_state_file, workers, .if_set = true),
    DT_JSON(dt_state_file, callbacks, .if_set = true),
    DT_JSON(dt_state_file, map, .if_set = true),
    DT_JSON(dt_state_file, elements, .if_set = true),
    DT_JSON(dt_state_file, named_files, .if_set = true),
    DT_JSON(dt_state_file, classes, .if_set = true),
    DT_JSON(dt_state_file, loop, .if_set = true),
    {0},
};

static void put_tail(dt_json *j) {
    dt_digest digest = dt_sha256_of(j->out->data, j->out->size);
    dt_json_string(j, "sha256", digest.hex);
    dt_json_close(j, '}');
    dt_str_putc(j->out, '\n');
}

void dt_state_print(const dt_state_file *state, const dt_digest *model, const dt_digest *optimizer,
                    dt_str *out) {
    const contents c = {*state, model, optimizer};
    dt_json j = {.out = out};
    dt_str_clear(out);
    dt_json_open(&j, NULL, '{');
    dt_json_int(&j, "format", FORMAT);
    dt_json_members(&j, members, &c);
    put_tail(&j);
}

/* Fails unless `path` is of the given kind, a directory or a regular file. missing: the error if it
 * does not exist. Symbolic links are refused, since they could lead out of the run directory to a
 * file that must not be read. */
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

/* The file state.json that is being read. */
typedef struct source {
    const char *path;
    const dt_str *text;
    json_t *root;
} source;

static dt_status *bad(const source *f, const char *format, ...) DT_PRINTF(2, 3);
static dt_status *bad(const source *f, const char *format, ...) {
    DT_FORMATTED(what, format);
    return dt_fail(DT_E_CHECKPOINT, NULL, "%s: %s", f->path, dt_str_text(&what));
}

/* Checks the format's version before the checksum, whose form depends on the version. */
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

/* Checks that the last TAIL_BYTES bytes of the file are the checksum of the bytes before them, as
 * put_tail writes it. */
static dt_status *check_tail(const source *f) {
    dt_local_str again = {0};
    dt_json j = {.out = &again, .comma = true};
    size_t n = f->text->size;
    if (n > TAIL_BYTES) dt_str_add(&again, f->text->data, n - TAIL_BYTES);
    put_tail(&j);
    bool same = again.size == n && memcmp(again.data, f->text->data, n) == 0;
    return same ? NULL : bad(f, "checksum mismatch");
}

static dt_status *read_text(source *f, dt_state_read *r) {
    dt_json_text text = {f->path,       "the file",     "key", dt_str_text(f->text),
                         f->text->size, DT_E_CHECKPOINT};
    DT_TRY(dt_json_parse(&text, &f->root));
    DT_TRY(check_format(f));
    DT_TRY(read_files(f, r));
    DT_TRY(check_tail(f));
    const char *wrong = dt_json_members_read(r->arena, f->root, members, &r->state);
    return wrong ? bad(f, "%s", wrong) : NULL;
}

dt_status *dt_state_load(dt_state_read *r) {
    dt_local_str text = {0};
    source f = {.text = &text, .path = dt_arena_printf(r->arena, "%s/" DT_STATE_FILE, r->path)};
    r->state = (dt_state_file){0};
    DT_TRY(check_kind(r->path, S_IFDIR, DT_E_NO_INPUT));
    DT_TRY(dt_check_plain(f.path));
    dt_status *s = dt_file_read(f.path, LARGEST, &text);
    if (!s) s = read_text(&f, r);
    json_decref(f.root);
    return s;
}
