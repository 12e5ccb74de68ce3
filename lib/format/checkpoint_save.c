/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Saving a checkpoint, and deleting old ones.
 *
 *     step-00000310.tmp/   model, optimizer, what callbacks and loops keep: written, synced, read
 *                          back and compared, while other threads hash them; state.json with their
 *                          SHA-256: written, synced, read back; the directory synced
 *     step-00000310/       by one rename, or, where an older one has the name, by letting the two
 *                          change places
 *     ckpt/                synced: from here on the new one counts
 *     step-00000280.tmp/   the oldest, if there are too many: renamed; ckpt/ synced; deleted
 *
 * If the process stops at any point, the last complete checkpoint is intact, unless it is just
 * being replaced by one of the same step where names cannot be exchanged. At the next start
 * dt_checkpoints_clean removes names that end in .tmp.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/reserve.h"
#include "format/contents.h"
#include "format/state.h"

/* A checkpoint that is being written. */
typedef struct saving {
    dt_arena *arena;
    const dt_run_dir *run;
    const dt_state_file *state;
    const dt_arrays *model, *optimizer;
    const char *ckpt, *name, *final, *temporary;
} saving;

static bool exists(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0;
}

/* Removes a directory with its files, a file, or a link. */
static dt_status *remove_any(const char *path) {
    struct stat st;
    if (lstat(path, &st) != 0) return errno == ENOENT ? NULL : dt_fail_errno(DT_E_IO, path);
    return S_ISDIR(st.st_mode) ? dt_dir_remove(path) : dt_file_remove(path);
}

/* ---- writing ---- */

static dt_status *write_state(const char *path, const dt_str *text) {
    dt_writer w;
    dt_status *s = dt_writer_open(&w, path);
    if (!s) s = dt_writer_put(&w, text->data, text->size);
    if (!s) s = dt_writer_sync(&w);
    if (!s) s = dt_writer_close(&w);
    if (s) dt_writer_abandon(&w);
    return s;
}

static const char *tensor_file(const saving *v, int i) {
    return dt_arena_printf(v->arena, "%s/%s", v->temporary, dt_tensor_files[i].name);
}

/* Returns the tensors of file i of dt_tensor_files; NULL: the checkpoint does not have that
 * file. */
static const dt_arrays *tensors_of(const saving *v, int i) {
    if (i < DT_REQUIRED_FILES) return i == 0 ? v->model : v->optimizer;
    const dt_arrays *arrays = dt_state_arrays(v->state, i);
    return arrays && arrays->n > 0 ? arrays : NULL;
}

/* Hashes of files that are being computed in threads; NULL: not computed. */
typedef struct hashes {
    dt_hash_thread *file[DT_TENSOR_FILES], *weights;
} hashes;

static dt_status *compare_tensors(const saving *v) {
    for (int i = 0; i < DT_TENSOR_FILES; i++)
        if (tensors_of(v, i)) DT_TRY(dt_safetensors_compare(tensor_file(v, i), tensors_of(v, i)));
    return NULL;
}

static dt_status *read_state(const saving *v) {
    dt_state_read r = {.arena = v->arena, .path = v->temporary};
    return dt_state_load(&r);
}

/* Reads back what was written, since an unreadable file is not a checkpoint. read: returns an error
 * if a file differs; damage becomes an IO error. */
static dt_status *read_back(const saving *v, dt_status *(*read)(const saving *)) {
    dt_status *s = read(v);
    if (!s || !dt_state_is_damage(s)) return s;
    dt_status *unlike =
        dt_fail(DT_E_IO, NULL, "%s: reads back differently from what was written: %s", v->temporary,
                dt_status_text(s));
    dt_status_free(s);
    return unlike;
}

static dt_status *write_tensors(const saving *v, hashes *h) {
    if (v->state->weights) h->weights = dt_weights_hash(v->model, v->arena);
    for (int i = 0; i < DT_TENSOR_FILES; i++)
        if (tensors_of(v, i))
            DT_TRY(dt_safetensors_write_hashing(tensor_file(v, i), tensors_of(v, i), &h->file[i]));
    return read_back(v, compare_tensors);
}

/* Waits for all hashes, even after an error, since they use the caller's arrays. Stores them in
 * digest[] and *v->state->weights. */
static void end_hashes(const saving *v, hashes *h, dt_digest digest[DT_TENSOR_FILES]) {
    for (int i = 0; i < DT_TENSOR_FILES; i++)
        if (h->file[i]) digest[i] = dt_hash_end(h->file[i]);
    if (h->weights) *v->state->weights = dt_hash_end(h->weights);
}

static dt_status *write_files(const saving *v) {
    dt_digest digest[DT_TENSOR_FILES];
    dt_state_file state = *v->state;
    dt_local_str text = {0};
    hashes h = {0};
    DT_TRY(remove_any(v->temporary));
    DT_TRY(dt_dir_make(v->temporary));
    dt_status *s = write_tensors(v, &h);
    end_hashes(v, &h, digest);
    if (s) return s;
    for (int i = DT_REQUIRED_FILES; i < DT_TENSOR_FILES; i++)
        if (tensors_of(v, i)) *dt_state_sha256(&state, i) = digest[i].hex;
    dt_state_print(&state, &digest[0], &digest[1], &text);
    s = write_state(dt_arena_printf(v->arena, "%s/" DT_STATE_FILE, v->temporary), &text);
    DT_TRY(s);
    DT_TRY(read_back(v, read_state));
    return dt_dir_sync(v->temporary);
}

/* Gives the new checkpoint its name. If an old one has that name, the two are exchanged in one step
 * where the file system can do so; otherwise the old one is deleted first. */
static dt_status *take_name(const saving *v) {
    bool done = false;
    if (exists(v->final)) {
        DT_TRY(dt_file_swap(v->temporary, v->final, &done));
        if (!done) DT_TRY(remove_any(v->final));
    }
    return done ? NULL : dt_rename(v->temporary, v->final);
}

/* Gives the checkpoint its final name, makes that durable, and removes the older checkpoint that
 * had the name. Syncs the run's directory as well, because ckpt may be new in it. */
static dt_status *commit(const saving *v) {
    DT_TRY(take_name(v));
    DT_TRY(dt_dir_sync(v->ckpt));
    if (v->run) DT_TRY(dt_dir_sync(v->run->path));
    return remove_any(v->temporary);
}

/* ---- deleting ---- */

/* Renames the directory before its files are removed: a partly deleted directory must not have a
 * checkpoint's name, not even after a power failure. */
static dt_status *delete_checkpoint(dt_arena *arena, const char *ckpt, const char *name) {
    const char *from = dt_arena_printf(arena, "%s/%s", ckpt, name),
               *to = dt_arena_printf(arena, "%s.tmp", from);
    DT_TRY(remove_any(to));
    DT_TRY(dt_rename(from, to));
    DT_TRY(dt_dir_sync(ckpt));
    return remove_any(to);
}

static dt_status *delete_oldest(const saving *v, int max_to_keep) {
    dt_step_list list;
    DT_TRY(dt_steps_list(v->arena, v->ckpt, false, &list, NULL));
    int surplus = list.n - max_to_keep;
    if (surplus <= 0) return NULL;
    DT_TRY(dt_steps_rank(v->ckpt, &list, NULL));
    for (int i = 0; i < list.n && surplus > 0; i++) {
        if (strcmp(list.item[i].name, v->name) == 0) continue;
        DT_TRY(delete_checkpoint(v->arena, v->ckpt, list.item[i].name));
        surplus--;
    }
    return NULL;
}

static dt_status *delete_temporary(dt_arena *arena, const char *ckpt) {
    dt_step_list list;
    DT_TRY(dt_steps_list(arena, ckpt, true, &list, NULL));
    for (int i = 0; i < list.n; i++)
        DT_TRY(remove_any(dt_arena_printf(arena, "%s/%s", ckpt, list.item[i].name)));
    return dt_file_remove(dt_arena_printf(arena, "%s/probe.tmp", ckpt));
}

/* Returns the last part of a path, in the arena, ignoring slashes at its end; "" if path is
 * NULL. */
static const char *last_part(dt_arena *arena, const char *path) {
    size_t end = path ? strlen(path) : 0;
    while (end > 0 && path[end - 1] == '/') end--;
    size_t begin = end;
    while (begin > 0 && path[begin - 1] != '/') begin--;
    return dt_arena_printf(arena, "%.*s", (int)(end - begin), path ? path + begin : "");
}

static dt_status *delete_all_but(dt_arena *arena, const char *ckpt, const char *keep) {
    dt_step_list list;
    const char *kept = last_part(arena, keep);
    DT_TRY(dt_steps_list(arena, ckpt, false, &list, NULL));
    for (int i = 0; i < list.n; i++)
        if (strcmp(list.item[i].name, kept) != 0)
            DT_TRY(delete_checkpoint(arena, ckpt, list.item[i].name));
    return NULL;
}

/* ---- saving ---- */

/* Returns an error if the run's directory was removed, or created again by another job, so that it
 * no longer belongs to this run. */
static dt_status *check_lock(const saving *v) {
    struct stat ours, there;
    const char *path = v->run->path;
    if (!exists(path)) return dt_fail(DT_E_CANT_CREATE, NULL, "%s: was removed while in use", path);
    if (fstat(v->run->lock.fd, &ours) != 0) return dt_fail_errno(DT_E_IO, path);
    if (stat(dt_arena_printf(v->arena, "%s/.lock", path), &there) == 0 &&
        (ours.st_ino != there.st_ino || ours.st_dev != there.st_dev))
        return dt_fail(DT_E_IN_USE, NULL,
                       "%s: was replaced while in use; another job now holds its lock", path);
    return NULL;
}

/* If a file is missing, says that another program removed it, since saving opens only files that it
 * has made. */
static dt_status *name_removal(const saving *v, dt_status *s) {
    if (!s || dt_status_number(s) != DT_E_NO_INPUT) return s;
    dt_status *removed =
        dt_note(dt_fail(DT_E_CANT_CREATE, NULL, "%s: was removed while in use", v->run->path), "%s",
                dt_status_text(s));
    dt_status_free(s);
    return removed;
}

static dt_status *write_whole(const saving *v) {
    dt_status *s = write_files(v);
    if (s) /* What cannot be removed now is removed at a later start or saving. */
        dt_status_free(remove_any(v->temporary));
    return s;
}

static dt_status *save(const saving *v, int max_to_keep) {
    DT_TRY(dt_reserve_check());
    DT_TRY(check_lock(v));
    dt_status *s = write_whole(v);
    if (s) return dt_note(s, "checkpoint of step %lld not written", (long long)v->state->step);
    DT_TRY(commit(v));
    return delete_oldest(v, max_to_keep);
}

dt_status *dt_run_dir_save(const dt_run_dir *r, const dt_state_file *state, const dt_arrays *model,
                           const dt_arrays *optimizer, int max_to_keep, char **path) {
    saving v = {dt_arena_create(), r, state, model, optimizer, NULL, NULL, NULL, NULL};
    v.ckpt = dt_arena_printf(v.arena, "%s/ckpt", r->path);
    v.name = dt_step_format(v.arena, state->step);
    v.final = dt_arena_printf(v.arena, "%s/%s", v.ckpt, v.name);
    v.temporary = dt_arena_printf(v.arena, "%s.tmp", v.final);
    dt_status *s = name_removal(&v, save(&v, max_to_keep));
    *path = s ? NULL : dt_strdup(v.final);
    dt_arena_destroy(v.arena);
    return s;
}

/* ---- checkpoints outside of runs, and cleaning up ---- */

/* Refuses to replace anything but a checkpoint, so that a mistyped path does not destroy another
 * folder. */
static dt_status *check_place(const saving *v) {
    if (!exists(v->final) || exists(dt_arena_printf(v->arena, "%s/" DT_STATE_FILE, v->final)))
        return NULL;
    return dt_fail(DT_E_CANT_CREATE, NULL, "%s: exists and is not a checkpoint; not replaced",
                   v->final);
}

dt_status *dt_saved_write(const char *path, const dt_state_file *state, const dt_arrays *model,
                          const dt_arrays *optimizer) {
    saving v = {.arena = dt_arena_create(), .state = state, .model = model, .optimizer = optimizer};
    char *parent = NULL;
    v.final = dt_path_trimmed(v.arena, path);
    /* no other program uses this name, so existing files with it are removed first */
    v.temporary = dt_arena_printf(v.arena, "%s.dtrain-tmp", v.final);
    parent = dt_path_dir(v.final);
    v.ckpt = parent;
    dt_status *s = check_place(&v);
    if (!s) s = write_whole(&v);
    if (!s) s = commit(&v);
    free(parent);
    dt_arena_destroy(v.arena);
    return s;
}

dt_status *dt_checkpoints_clean(const dt_run_dir *r, bool all, const char *keep) {
    dt_local_arena arena = dt_arena_create();
    const char *ckpt = dt_arena_printf(arena, "%s/ckpt", r->path);
    dt_status *s = delete_temporary(arena, ckpt);
    if (!s && all) s = delete_all_but(arena, ckpt, keep);
    return s;
}
