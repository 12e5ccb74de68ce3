/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening the run directory: problems that would prevent the first checkpoint are detected here,
 * before the first step. The order matters: nothing is written before the lock is taken.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/arena.h"
#include "format/format.h"
#include "format/lock.h"

enum { PROBE_BYTES = 4096 };

/* Checks that the directory still exists. No file can be created in a deleted directory, and the
 * error must not blame the file's name. */
static dt_status *check_here(const char *path) {
    char *here = getcwd(NULL, 0);
    bool gone = !here && errno == ENOENT;
    free(here);
    return gone && *path != '/'
               ? dt_fail(DT_E_NO_INPUT, NULL, "%s: the current directory was removed", path)
               : NULL;
}

/* Refuses a world-writable directory without the sticky bit, in which other users could replace
 * files. */
static dt_status *check_mode(const char *path) {
    struct stat st;
    if (stat(path, &st) != 0) return dt_fail_errno(DT_E_CANT_CREATE, path);
    if ((st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX))
        return dt_fail(DT_E_PERMISSION, NULL,
                       "%s: is world-writable without the sticky bit; run 'chmod o-w' on it", path);
    return NULL;
}

/* Like dt_dir_make, but also syncs the parent of each new directory. */
static dt_status *make_durable(const char *path) {
    struct stat st;
    DT_TRY(dt_path_check(path));
    if (stat(path, &st) == 0)
        return dt_dir_make(path); /* reports an error if it is not a directory */
    DT_LOCAL char *parent = dt_path_dir(path);
    DT_TRY(*parent ? make_durable(parent) : NULL);
    DT_TRY(dt_dir_make(path));
    return dt_dir_sync(parent);
}

/* Creates ckpt. output.dir itself may be a link, which the user made, but ckpt in it may not. */
static dt_status *make_ckpt(const char *path) {
    struct stat st;
    if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
        return dt_fail(DT_E_CANT_CREATE, NULL,
                       "%s: is a symbolic link; checkpoints are not written through links", path);
    DT_TRY(make_durable(path));
    return check_mode(path);
}

/* Writes a probe file. It is removed in any case; dt_checkpoints_clean removes files of this name,
 * too. */
static dt_status *write_probe(const char *path) {
    static const char zeros[PROBE_BYTES];
    dt_writer w;
    dt_status *s = dt_writer_open(&w, path);
    if (!s) s = dt_writer_put(&w, zeros, sizeof zeros);
    if (!s) s = dt_writer_sync(&w);
    dt_writer_abandon(&w);
    return s;
}

static dt_status *check_space(const char *path, int64_t checkpoint_bytes) {
    struct statvfs fs;
    int64_t needed;
    if (statvfs(path, &fs) != 0) return dt_fail_errno(DT_E_IO, path);
    if (!dt_mul_fits(checkpoint_bytes, 2, &needed)) needed = INT64_MAX;
    double free_bytes = (double)fs.f_bavail * (double)fs.f_frsize;
    if (free_bytes >= (double)needed) return NULL;
    return dt_fail(DT_E_IO, NULL, "%s: %s free, two checkpoints need %s", path,
                   dt_text_of_bytes(free_bytes).s, dt_text_of_bytes((double)needed).s);
}

static dt_status *prepare(const char *ckpt, const char *probe, int64_t checkpoint_bytes) {
    DT_TRY(make_ckpt(ckpt));
    DT_TRY(write_probe(probe));
    return check_space(ckpt, checkpoint_bytes);
}

dt_status *dt_run_dir_open(dt_run_dir *r, const char *path, int64_t checkpoint_bytes) {
    *r = (dt_run_dir){.lock.fd = -1};
    DT_TRY(check_here(path));
    DT_TRY(make_durable(path));
    DT_TRY(check_mode(path));
    DT_TRY(dt_lock_take(&r->lock, path));
    r->path = dt_strdup(path);
    char *ckpt = dt_path_join(path, "ckpt"), *probe = dt_path_join(ckpt, "probe.tmp");
    dt_status *s = prepare(ckpt, probe, checkpoint_bytes);
    if (s) dt_run_dir_close(r);
    free(probe);
    free(ckpt);
    return s;
}

/* In a zeroed r, path is NULL, so that descriptor 0 is not mistaken for its lock. */
void dt_run_dir_close(dt_run_dir *r) {
    if (r->path) dt_writer_abandon(&r->lock);
    free(r->path);
    *r = (dt_run_dir){.lock.fd = -1};
}
