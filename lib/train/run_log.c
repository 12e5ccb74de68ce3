/* SPDX-License-Identifier: Apache-2.0 */
/* Implements what run_log.h declares. */
#include "train/run_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const size_t largest = (size_t)1 << 31;

/* Gets the size of a file; -1: it does not exist. Refuses anything but a regular file. */
static dt_status *size_of(const char *path, int64_t *size) {
    struct stat st;
    *size = -1;
    if (lstat(path, &st) != 0)
        return errno == ENOENT || errno == ENOTDIR ? NULL : dt_fail_errno(DT_E_IO, path);
    if (!S_ISREG(st.st_mode))
        return dt_fail(DT_E_CANT_CREATE, NULL, "%s: exists and is not a regular file", path);
    *size = st.st_size;
    return NULL;
}

/* Writes the first `keep` bytes of `from` to `to`; all bytes if `from` has fewer. */
static dt_status *copy_first(const char *from, const char *to, int64_t keep) {
    dt_local_str text = {0};
    DT_TRY(dt_file_read(from, largest, &text));
    return dt_file_commit(to, dt_str_text(&text),
                          (int64_t)text.size < keep ? text.size : (size_t)keep);
}

dt_status *dt_run_log_cut(const char *path, int64_t keep) {
    int64_t size;
    DT_TRY(size_of(path, &size));
    return size > keep ? copy_first(path, path, keep) : NULL;
}

int64_t dt_run_log_kept(const run *r, int64_t size, int64_t end) {
    bool goes_on = r->at.step < r->size.steps && !r->stop_training;
    return goes_on ? size : end;
}

static char *beside(const dt_run_log *l, int64_t generation) {
    dt_str name = {0};
    dt_str_printf(&name, "%s.%lld", l->path, (long long)generation);
    return dt_str_take(&name);
}

/* Handles files that killed runs left beside the log. The file of this generation becomes the log.
 * The file of the next generation is deleted, since that generation has no checkpoint. */
static dt_status *recover_files(const dt_run_log *l) {
    char *own = beside(l, l->generation), *later = beside(l, l->generation + 1);
    int64_t size;
    dt_status *s = size_of(own, &size);
    if (!s && size >= 0) s = dt_rename(own, l->path);
    if (!s) s = dt_file_remove(later);
    free(own);
    free(later);
    return s;
}

static dt_status *make_folder(const char *path) {
    DT_LOCAL char *folder = dt_path_dir(path);
    return *folder ? dt_dir_make(folder) : NULL;
}

/* Opens `path` for appending, after the first l->size bytes of the log were copied to it if
 * needed. */
static dt_status *begin(dt_run_log *l, const char *path) {
    int64_t old, size;
    DT_TRY(size_of(l->path, &old));
    if (old > 0 && (old > l->size || l->aside)) DT_TRY(copy_first(l->path, path, l->size));
    else if (l->aside) /* A run that was killed before its first checkpoint has left this file. */
        DT_TRY(dt_file_remove(path));
    DT_TRY(dt_writer_append(&l->file, path));
    DT_TRY(size_of(path, &size));
    l->size = l->end = size < 0 ? 0 : size;
    return NULL;
}

dt_status *dt_run_log_open(run *r, dt_run_log *l, bool append) {
    if (!r->out.writes) return NULL; /* Only the chief writes logs. */
    l->aside = r->out.aside;
    l->generation = r->out.generation;
    DT_TRY(make_folder(l->path));
    if (!l->aside) DT_TRY(recover_files(l));
    l->size = r->out.resumed ? dt_run_log_kept(r, l->size, l->end) : append ? INT64_MAX : 0;
    DT_LOCAL char *path = l->aside ? beside(l, l->generation) : dt_strdup(l->path);
    return begin(l, path);
}

dt_status *dt_run_log_put(dt_run_log *l, const void *bytes, size_t n, bool provisional) {
    if (!l->file.path) return NULL;
    DT_TRY(dt_writer_put(&l->file, bytes, n));
    l->end += (int64_t)n;
    l->size = provisional ? l->size : l->end;
    return NULL;
}

dt_status *dt_run_log_save(dt_run_log *l, dt_json *j) {
    if (l->file.path) DT_TRY(dt_writer_sync(&l->file));
    dt_json_int(j, "size", l->size);
    dt_json_int(j, "end", l->end);
    return NULL;
}

dt_status *dt_run_log_saved(dt_run_log *l) {
    if (!l->aside) return NULL;
    l->aside = false;
    DT_TRY(dt_rename(l->file.path, l->path));
    char *before = beside(l, l->generation - 1);
    /* A run that was killed before its first checkpoint has left this file. */
    dt_status *gone = dt_file_remove(before);
    free(before);
    DT_TRY(gone);
    char *folder = dt_path_dir(l->path);
    dt_status *s = dt_dir_sync(folder);
    free(folder);
    free(l->file.path);
    l->file.path = dt_strdup(l->path);
    return s;
}

void dt_run_log_restore(dt_run_log *l, const json_t *kept) {
    if (dt_kept_count(kept, "size", &l->size) && !dt_kept_count(kept, "end", &l->end))
        l->end = l->size;
}

/* Closes the log. Deletes it if it is still PATH.GENERATION, because this run has made no
 * checkpoint, so that the old log stays. */
void dt_run_log_close(dt_run_log *l) {
    if (!l->file.path) return;
    l->file.keep = !l->aside;
    dt_writer_abandon(&l->file);
}
