/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening the run directory: problems that would prevent the first checkpoint are detected here,
 * before the first step. The order matters: before the lock is taken, only the directory and its
 * parents are created, if they are missing.
 */
#define _GNU_SOURCE /* F_OFD_SETLK */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "format/format.h"

/* ---- the lock ---- */

/*
 * The lock is the kernel's (an open file description lock): it is released when its process ends
 * for any reason, and works between hosts on NFSv4. The text in the file only names the holder for
 * messages of other processes:
 *
 *     pid 4412 on node-b since 2025-11-21T09:53:07Z
 *     boot 1b4e28ba-2fa1-11d2-883f-0016d3cca427
 *
 * Between taking the lock and writing the text a moment passes in which the file is empty or names
 * a dead holder. A killed process keeps its lock until the kernel has freed its memory, which takes
 * seconds if it has much. A process that is refused in either case retries. The file is never
 * removed: another process may have it open and would lock the removed file, while a third process
 * locks the new one.
 */

enum {
    PAUSE_MS = 10,       /* milliseconds between two tries to take the lock */
    ENDING_TRIES = 1000, /* most tries while the process that holds the lock is ending */
    NAMELESS_TRIES = 40, /* number of tries while the text does not name a process that is alive */
    LONGEST_NAME = 255,
    /* the flags PF_EXITING and PF_SIGNALED in /proc/PID/stat, see proc_pid_stat(5) */
    EXITING = 0x4 | 0x400,
};

typedef struct holder {
    long pid;
    char host[LONGEST_NAME + 1];
    char since[32];
    char boot[64];
} holder;

/* ---- this process ---- */

static void read_boot_id(char *out, size_t size) {
    dt_local_str text = {0};
    dt_status *s = dt_file_read("/proc/sys/kernel/random/boot_id", 64, &text);
    snprintf(out, size, "%.*s", (int)strcspn(dt_str_text(&text), "\n"), dt_str_text(&text));
    if (s || !*out) snprintf(out, size, "unknown");
    dt_status_free(s);
}

static holder ourselves(void) {
    holder h = {.pid = getpid()};
    struct tm utc;
    time_t now = time(NULL);
    if (gethostname(h.host, sizeof h.host - 1) != 0 || !*h.host)
        snprintf(h.host, sizeof h.host, "unknown");
    strftime(h.since, sizeof h.since, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    read_boot_id(h.boot, sizeof h.boot);
    return h;
}

static dt_status *put_text(dt_writer *w, const char *path) {
    holder h = ourselves();
    dt_local_str text = {0};
    dt_str_printf(&text, "pid %ld on %s since %s\nboot %s\n", h.pid, h.host, h.since, h.boot);
    DT_TRY(dt_writer_open(w, path));
    DT_TRY(dt_writer_put(w, text.data, text.size));
    return dt_writer_close(w);
}

/* Writes the text that names this process into the lock file, through a second descriptor, which
 * truncates. Unlike POSIX locks, an OFD lock is not released when that one is closed. */
static dt_status *write_text(const char *path) {
    dt_writer w;
    dt_status *s = put_text(&w, path);
    w.keep = true; /* keeps the file when this writer is abandoned */
    if (s) dt_writer_abandon(&w);
    return s;
}

/* ---- the holder ---- */

static bool parse_text(const char *text, holder *h) {
    *h = (holder){0};
    return sscanf(text, "pid %ld on %255s since %31s boot %63s", &h->pid, h->host, h->since,
                  h->boot) == 4 &&
           text[strlen(text) - 1] == '\n';
}

/* Returns the text after `key` in a file of /proc/PID; NULL: the file or the key is missing. */
static const char *read_process(long pid, const char *file, const char *key, dt_str *text) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/%s", pid, file);
    dt_str_clear(text);
    dt_status *unread = dt_file_read(path, 8192, text);
    const char *at = unread ? NULL : strstr(dt_str_text(text), key);
    dt_status_free(unread);
    return at ? at + strlen(key) : NULL;
}

/* Whether a process was killed: a kill signal is pending, or the process is already ending. */
static bool is_ending(long pid) {
    dt_local_str text = {0};
    const char *pending = read_process(pid, "status", "\nSigPnd:", &text);
    unsigned long flags = 0;
    bool killed = pending && strtoull(pending, NULL, 16) & 1ULL << (SIGKILL - 1);
    const char *stat = killed ? NULL : read_process(pid, "stat", "", &text),
               *name_end = stat ? strrchr(stat, ')') : NULL;
    if (name_end) /* the program's name may contain any characters, even parentheses */
        sscanf(name_end, ") %*c %*d %*d %*d %*d %*d %lu", &flags);
    return killed || flags & EXITING;
}

static bool is_here(const holder *h) {
    holder us = ourselves();
    return strcmp(h->host, us.host) == 0 && strcmp(h->boot, us.boot) == 0 && h->pid > 0;
}

/* Whether the text names a process of this host and boot that does not exist: the text is older
 * than the lock. */
static bool is_dead(const holder *h) {
    return is_here(h) && kill((pid_t)h->pid, 0) != 0 && errno == ESRCH;
}

dt_status *dt_lock_refusal(const char *dir, const char *text) {
    holder h;
    if (!parse_text(text, &h) || is_dead(&h)) return NULL;
    return dt_fail(DT_E_IN_USE, NULL, "%s: in use by pid %ld on %s since %s", dir, h.pid, h.host,
                   h.since);
}

/* Returns the error that names the holder. NULL: the text cannot be read, names no process, or
 * names one that does not exist any more; or *ending is set, because the holder is ending. */
static dt_status *read_holder(const char *dir, const char *path, bool *ending) {
    holder h;
    dt_local_str text = {0};
    /* an error of reading the file is ignored: the holder of the lock is then unknown */
    dt_status *unread = dt_file_read(path, 1024, &text);
    *ending = !unread && parse_text(dt_str_text(&text), &h) && is_here(&h) && is_ending(h.pid);
    dt_status *s = unread || *ending ? NULL : dt_lock_refusal(dir, dt_str_text(&text));
    dt_status_free(unread);
    return s;
}

/* ---- taking the lock ---- */

static dt_status *set_lock(int fd, const char *dir, const char *path) {
    const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000};
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    bool ending = false;
    for (int tries = 0; fcntl(fd, F_OFD_SETLK, &whole) != 0; tries++) {
        if (errno == EINTR) continue;
        if (errno != EAGAIN && errno != EACCES)
            return dt_note(dt_fail_errno(DT_E_CANT_CREATE, path),
                           "locking it; output.dir must be on a file system that supports locks");
        DT_TRY(read_holder(dir, path, &ending));
        if (tries >= (ending ? ENDING_TRIES : NAMELESS_TRIES))
            return dt_fail(DT_E_IN_USE, NULL,
                           "%s: in use by a process that is ending, or that is not named in '%s'",
                           dir, path);
        nanosleep(&pause, NULL);
    }
    return write_text(path);
}

dt_status *dt_lock_take(dt_writer *lock, const char *dir) {
    DT_LOCAL char *path = dt_path_join(dir, ".lock");
    dt_status *s = dt_writer_append(lock, path);
    if (!s) s = set_lock(lock->fd, dir, path);
    if (s) dt_writer_abandon(lock);
    return s;
}

/* ---- the directory ---- */

enum { PROBE_BYTES = 4096 };

/* Returns the error NO_INPUT if `path` is relative and the current directory was removed. No file
 * can be created in it, and the error must not blame the file's name. */
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

/* Creates a directory and its missing parents, and syncs the parent of each new one. */
static dt_status *make_durable(const char *path) {
    struct stat st;
    DT_TRY(dt_path_check(path));
    if (stat(path, &st) == 0)
        return dt_dir_make(path); /* dt_dir_make reports the error if the path is not a directory */
    DT_LOCAL char *parent = dt_path_dir(path);
    DT_TRY(*parent ? make_durable(parent) : NULL);
    DT_TRY(dt_dir_make(path));
    return dt_dir_sync(parent);
}

/* Creates ckpt and checks its mode. output.dir itself may be a link, which the user made, but ckpt
 * in it may not. */
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

/* In an r that is all zeros, path is NULL, so that descriptor 0 is not mistaken for the file of its
 * lock. */
void dt_run_dir_close(dt_run_dir *r) {
    if (r->path) dt_writer_abandon(&r->lock);
    free(r->path);
    *r = (dt_run_dir){.lock.fd = -1};
}
