/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds and reads checkpoints. A damaged checkpoint is skipped with a warning if an older one is
 * intact; training never silently starts over because of damage.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/thread.h"
#include "format/contents.h"
#include "format/state.h"

enum { CHECKERS = 2 };

/* ---- one checkpoint ---- */

static dt_status *hash_open(int fd, const char *path, int64_t size, dt_sha256 *hash) {
    static const size_t block = 1 << 18;
    DT_LOCAL char *buffer = dt_alloc(block);
    dt_status *s = NULL;
    for (int64_t at = 0; at < size && !s; at += (int64_t)block) {
        size_t part = size - at < (int64_t)block ? (size_t)(size - at) : block;
        s = dt_file_pread(fd, path, buffer, part, at);
        if (!s) dt_sha256_add(hash, buffer, part);
    }
    return s;
}

/* One file of a checkpoint to be checked against its checksum in state.json, and the result of the
 * check. */
typedef struct check {
    int file; /* index of the file in dt_tensor_files */
    const char *path, *sha256;
    dt_status *bad;
    dt_file_stamp stamp; /* stamp of the file before it was read; all 0 if `bad` is set */
    int fd;              /* descriptor of the open file; invalid if `bad` is set */
} check;

static int64_t nanoseconds(const struct timespec *t) {
    return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

static dt_file_stamp stamp_of(const struct stat *st) {
    return (dt_file_stamp){(int64_t)st->st_dev, (int64_t)st->st_ino, st->st_size,
                           nanoseconds(&st->st_mtim), nanoseconds(&st->st_ctim)};
}

static bool is_unchanged(int fd, const dt_file_stamp *since) {
    struct stat st;
    if (fstat(fd, &st) != 0) return false;
    const dt_file_stamp now = stamp_of(&st);
    return memcmp(&now, since, sizeof now) == 0;
}

static dt_status *check_open(const check *k, int64_t size) {
    dt_sha256 *hash = dt_sha256_create();
    dt_status *s = hash_open(k->fd, k->path, size, hash);
    dt_digest found = dt_sha256_end(hash);
    if (!s && strcmp(found.hex, k->sha256) != 0)
        s = dt_fail(DT_E_CHECKPOINT, NULL, "%s: checksum mismatch", k->path);
    return s;
}

/* Checks the file. An intact file stays open. */
static dt_status *check_file(check *k) {
    int64_t size;
    struct stat st;
    DT_TRY(dt_check_plain(k->path));
    DT_TRY(dt_file_open(k->path, &k->fd, &size));
    dt_status *s = fstat(k->fd, &st) == 0 ? check_open(k, size) : dt_fail_errno(DT_E_IO, k->path);
    if (s) close(k->fd);
    else k->stamp = stamp_of(&st);
    return s;
}

typedef struct checks {
    int n;
    check of[DT_TENSOR_FILES];
} checks;

static void check_some(int lane, void *user) {
    checks *k = user;
    for (int i = lane; i < k->n; i += CHECKERS) k->of[i].bad = check_file(&k->of[i]);
}

/* Checks all files: on CHECKERS threads, or one after the other if there is only one core or the
 * system refuses threads. */
static void check_all_files(checks *k) {
    dt_pool *pool = NULL;
    dt_status *refused = dt_cores() > 1 ? dt_pool_create(&pool, CHECKERS) : NULL;
    dt_status_free(refused);
    if (pool) {
        dt_pool_run(pool, check_some, k);
        dt_pool_destroy(pool);
        return;
    }
    for (int lane = 0; lane < CHECKERS; lane++) check_some(lane, k);
}

/* Compares the files of the checkpoint with their checksums. Returns the error of the first damaged
 * file. */
static dt_status *check_files(dt_saved *c) {
    checks k = {0};
    dt_status *first = NULL;
    const char *required[DT_REQUIRED_FILES] = {c->model_sha256, c->optimizer_sha256};
    for (int i = 0; i < DT_TENSOR_FILES; i++) {
        const char *sum = i < DT_REQUIRED_FILES ? required[i] : *dt_state_sha256(&c->state, i);
        if (sum)
            k.of[k.n++] = (check){
                .file = i,
                .path = dt_arena_printf(c->arena, "%s/%s", c->path, dt_tensor_files[i].name),
                .sha256 = sum};
    }
    check_all_files(&k);
    for (int i = 0; i < k.n; i++) {
        c->checked[k.of[i].file] = k.of[i].stamp;
        c->fd[k.of[i].file] = k.of[i].fd;
    }
    for (int i = 0; i < k.n; i++)
        if (first) dt_status_free(k.of[i].bad);
        else first = k.of[i].bad;
    return first;
}

static dt_status *open_into(dt_saved *c) {
    dt_state_read r = {.arena = c->arena, .path = c->path};
    DT_TRY(dt_state_load(&r));
    c->state = r.state;
    memcpy(c->model_sha256, r.model_sha256, sizeof c->model_sha256);
    memcpy(c->optimizer_sha256, r.optimizer_sha256, sizeof c->optimizer_sha256);
    return check_files(c);
}

dt_status *dt_saved_open(dt_saved *c, const char *path) {
    *c = (dt_saved){.arena = dt_arena_create()};
    c->path = dt_arena_strdup(c->arena, path);
    dt_status *s = open_into(c);
    if (s) dt_saved_release(c);
    return s;
}

void dt_saved_release(dt_saved *c) {
    for (int i = 0; i < DT_TENSOR_FILES; i++)
        if (c->checked[i].inode != 0) close(c->fd[i]);
    dt_arena_destroy(c->arena);
    *c = (dt_saved){0};
}

/* ---- the newest ---- */

/* Returns the error that no checkpoint of the run is intact. The warnings about them become its
 * notes. */
static dt_status *none_verifies(const char *ckpt, const dt_step_list *list,
                                const dt_status *warnings) {
    dt_status *s =
        dt_fail(DT_E_CHECKPOINT_NONE, NULL, "%s: has %d checkpoint%s, none of which verifies", ckpt,
                list->n, list->n > 1 ? "s" : "");
    for (; warnings; warnings = dt_status_next(warnings))
        s = dt_note(s, "%s", dt_status_text(warnings));
    return s;
}

static dt_status *open_newest(dt_saved *c, const char *ckpt, const dt_step_list *list,
                              dt_status **warnings) {
    for (int i = list->n - 1; i >= 0 && list->item[i].generation >= 0; i--) {
        char *path = dt_path_join(ckpt, list->item[i].name);
        dt_status *s = dt_saved_open(c, path);
        free(path);
        if (!s || !dt_state_is_damage(s)) return s;
        dt_status_append(warnings, s);
    }
    return list->n > 0 ? none_verifies(ckpt, list, *warnings) : NULL;
}

/* Sets stamp[i] to the stamp of the directory of list->item[i]; all 0 if it is missing. The system
 * reuses inode numbers of removed files, so the stamps contain times, too. */
static void stamp_all(const char *ckpt, const dt_step_list *list, dt_file_stamp *stamp) {
    for (int i = 0; i < list->n; i++) {
        struct stat st;
        DT_LOCAL char *path = dt_path_join(ckpt, list->item[i].name);
        stamp[i] = lstat(path, &st) == 0 ? stamp_of(&st) : (dt_file_stamp){0};
    }
}

/* Whether a checkpoint was added, removed or replaced since the list and the stamps were made. A
 * checkpoint that was removed after the list and before the stamps has no stamp, which counts as a
 * change. */
static bool has_changed(const char *ckpt, const dt_step_list *list, const dt_file_stamp *stamp) {
    dt_step_list now;
    dt_local_arena arena = dt_arena_create();
    dt_status *s = dt_steps_list(arena, ckpt, false, &now, NULL);
    bool changed = s || now.n != list->n;
    dt_file_stamp *new = dt_arena_array(arena, dt_file_stamp, now.n + 1);
    stamp_all(ckpt, &now, new);
    for (int i = 0; i < now.n && !changed; i++)
        changed = strcmp(now.item[i].name, list->item[i].name) != 0 || new[i].inode == 0 ||
                  memcmp(&new[i], &stamp[i], sizeof *stamp) != 0;
    dt_status_free(s);
    return changed;
}

/* Searches once for the newest checkpoint. *moved: whether checkpoints changed during a search that
 * failed, had warnings or found none. */
static dt_status *look_for_newest(dt_saved *c, const char *ckpt, dt_status **warnings,
                                  bool *moved) {
    dt_step_list list;
    dt_local_arena arena = dt_arena_create();
    dt_status *s = dt_steps_list(arena, ckpt, false, &list, warnings);
    if (!s) {
        /* The list is copied, because ranking sorts it. */
        dt_step_list listed = {.n = list.n,
                               .item = dt_arena_array(arena, dt_step_name, list.n + 1)};
        dt_file_stamp *stamp = dt_arena_array(arena, dt_file_stamp, list.n + 1);
        for (int i = 0; i < list.n; i++) listed.item[i] = list.item[i];
        stamp_all(ckpt, &listed, stamp);
        s = dt_steps_rank(ckpt, &list, warnings);
        if (!s) s = open_newest(c, ckpt, &list, warnings);
        *moved = (s || *warnings || list.n == 0) && has_changed(ckpt, &listed, stamp);
    }
    return s;
}

/* If a checkpoint is removed during the search, it is not damaged, so the search is repeated. */
dt_status *dt_saved_newest(dt_saved *c, const char *dir, dt_status **warnings) {
    enum { MOST_LOOKS = 100 };
    DT_LOCAL char *ckpt = dt_path_join(dir, "ckpt");
    dt_status *s = NULL, *found = NULL;
    *c = (dt_saved){0};
    bool moved = true;
    for (int i = 0; moved && i < MOST_LOOKS; i++) {
        dt_status_free(s);
        dt_status_free(found);
        dt_saved_release(c);
        found = NULL;
        moved = false;
        s = look_for_newest(c, ckpt, &found, &moved);
    }
    dt_status_append(warnings, found);
    return s;
}

dt_status *dt_checkpoints_generation(const char *dir, int64_t *generation) {
    dt_step_list list;
    dt_local_arena arena = dt_arena_create();
    DT_LOCAL char *ckpt = dt_path_join(dir, "ckpt");
    *generation = -1;
    dt_status *s = dt_steps_list(arena, ckpt, false, &list, NULL);
    if (!s) s = dt_steps_rank(ckpt, &list, NULL);
    if (!s && list.n > 0) *generation = list.item[list.n - 1].generation;
    return s;
}

/* ---- finding a checkpoint by any name ---- */

static dt_status *take_file(dt_saved *c, const char *path) {
    *c = (dt_saved){.arena = dt_arena_create(), .only_weights = true};
    c->path = dt_arena_strdup(c->arena, path);
    return NULL;
}

static dt_status *take_run(dt_saved *c, const char *path, dt_status **warnings) {
    DT_TRY(dt_saved_newest(c, path, warnings));
    return c->path ? NULL : dt_fail(DT_E_NO_INPUT, NULL, "%s: has no checkpoint", path);
}

/* Whether a folder is not a checkpoint: neither its name is that of a step, nor does it contain any
 * file with a name that files of checkpoints have. */
static bool is_other(const char *path) {
    int64_t step;
    bool any = dt_step_of_path(path, &step);
    for (int i = 0; i <= DT_TENSOR_FILES && !any; i++) {
        const char *name = i < DT_TENSOR_FILES ? dt_tensor_files[i].name : DT_STATE_FILE;
        DT_LOCAL char *file = dt_path_join(path, name);
        any = access(file, F_OK) == 0;
    }
    return !any;
}

dt_status *dt_saved_find(dt_saved *c, const char *path, dt_status **warnings) {
    struct stat st;
    if (dt_is_run(path)) return take_run(c, path, warnings);
    const bool is_there = stat(path, &st) == 0;
    if (is_there && !S_ISDIR(st.st_mode)) return take_file(c, path);
    return !is_there || is_other(path) ? dt_no_run(path, "neither a run nor a checkpoint")
                                       : dt_saved_open(c, path);
}

/* ---- tensors of a checkpoint ---- */

const char *dt_saved_weights(const dt_saved *c) {
    return c->only_weights ? c->path : dt_arena_printf(c->arena, "%s/" DT_MODEL_FILE, c->path);
}

dt_held_file dt_saved_held(const dt_saved *c, int file) {
    return (dt_held_file){
        .path = dt_arena_printf(c->arena, "%s/%s", c->path, dt_tensor_files[file].name),
        .fd = c->fd[file],
        .size = c->checked[file].bytes};
}

enum { RUN = 4096 };

static int is_odd(uint32_t bits) { return (bits & 0x7f800000) == 0x7f800000; }

/* Returns the number of infinities and NaNs among the bits of n floats. The inner loop has a fixed
 * length, so that compilers vectorize it. */
static int64_t count_float32(const uint32_t *x, int64_t n) {
    int64_t bad = 0;
    for (; n >= RUN; x += RUN, n -= RUN) {
        int here = 0;
        for (int i = 0; i < RUN; i++) here += is_odd(x[i]);
        bad += here;
    }
    for (int64_t i = 0; i < n; i++) bad += is_odd(x[i]);
    return bad;
}

static int64_t count_float64(const double *x, int64_t n) {
    int64_t bad = 0;
    for (int64_t i = 0; i < n; i++) bad += !isfinite(x[i]);
    return bad;
}

int64_t dt_count_not_finite(const dt_named_view *a) {
    const int64_t n = dt_type_elements(&a->type);
    return a->type.dtype == DT_FLOAT32   ? count_float32(a->data, n)
           : a->type.dtype == DT_FLOAT64 ? count_float64(a->data, n)
                                         : 0;
}

static dt_status *check_finite(const char *path, const dt_named_view *a) {
    const int64_t bad = dt_count_not_finite(a);
    if (bad == 0) return NULL;
    return dt_fail(DT_E_CHECKPOINT_NOT_FINITE, NULL,
                   "%s: tensor '%s' holds %" PRId64 " non-finite value%s", path, a->name, bad,
                   bad > 1 ? "s" : "");
}

static dt_status *check_all(const char *path, const dt_arrays *a) {
    for (int i = 0; i < a->n; i++) DT_TRY(check_finite(path, &a->array[i]));
    return NULL;
}

static const char *sum_of(const dt_saved *c, int file) {
    const char *const sums[DT_TENSOR_FILES] = {
        c->model_sha256, c->optimizer_sha256, c->state.callbacks_sha256, c->state.variables_sha256};
    return sums[file];
}

/* Reads the arrays of an open file of the checkpoint. A file that was hashed when the checkpoint
 * was opened is not hashed again if its stamp is the same before and after reading. */
static dt_status *load_held(const dt_saved *c, int file, const dt_held_file *held,
                            const dt_arrays *a) {
    const dt_file_stamp *stamp = &c->checked[file];
    const bool known = is_unchanged(held->fd, stamp);
    DT_TRY(dt_safetensors_read_held(held, a, known ? NULL : sum_of(c, file)));
    if (known && !is_unchanged(held->fd, stamp))
        DT_TRY(dt_safetensors_read_held(held, a, sum_of(c, file)));
    return NULL;
}

static dt_status *load(const dt_saved *c, int file, const dt_arrays *a, bool only_weights) {
    if (!a) return NULL;
    dt_held_file held = dt_saved_held(c, file);
    held.only_weights = only_weights;
    DT_TRY(load_held(c, file, &held, a));
    return check_all(held.path, a);
}

/* Loads a file that only some checkpoints have. If state.json has its checksum, it has been checked
 * and is open; otherwise returns an error. some: the file may contain tensors that are not
 * requested. */
static dt_status *load_optional(const dt_saved *c, int file, const dt_arrays *a, bool some) {
    dt_held_file held = dt_saved_held(c, file);
    held.some = some;
    if (c->checked[file].inode != 0) return load_held(c, file, &held, a);
    DT_TRY(dt_check_plain(held.path));
    return dt_fail(DT_E_CHECKPOINT, NULL, "%s: state.json has no checksum of this file", held.path);
}

dt_status *dt_saved_load(const dt_saved *c, const dt_arrays *model, const dt_arrays *optimizer) {
    DT_TRY(load(c, 0, model, false));
    return load(c, 1, optimizer, false);
}

dt_status *dt_saved_load_weights(const dt_saved *c, const dt_arrays *model) {
    if (!c->only_weights) return load(c, 0, model, true);
    const dt_weights_request q = {.path = c->path, .arrays = model};
    DT_TRY(dt_weights_read(&q));
    return check_all(c->path, model);
}

dt_status *dt_saved_load_callbacks(const dt_saved *c, const dt_arrays *wanted) {
    return wanted->n == 0 ? NULL : load_optional(c, DT_CALLBACK_TENSORS, wanted, true);
}

dt_status *dt_saved_load_variables(const dt_saved *c, const dt_arrays *variables) {
    if (variables->n == 0 && !c->state.variables_sha256) return NULL;
    return load_optional(c, DT_VARIABLE_TENSORS, variables, false);
}
