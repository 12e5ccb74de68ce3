/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files. Reading: regular files only (a FIFO or a device is refused, not waited for), sizes checked
 * before memory for them is allocated. Writing: these functions call write(2) directly, so that
 * every error is seen, EINTR and short writes are continued, a failed fsync is final, and tests can
 * make the Nth call fail (DTRAIN_FAULT_WRITE=N:ERRNO in builds with -DDT_FAULTS).
 *
 * Committing a file: open a temporary name, write, fsync, close, rename, fsync the directory. So a
 * committed file is never incomplete under its final name.
 */
#ifndef DT_BASE_FILE_H
#define DT_BASE_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"

/* Opens a regular file for reading, and sets *size to its length. The caller closes *fd. */
dt_status *dt_file_open(const char *path, int *fd, int64_t *size) DT_MUST_USE;
/* Reads a whole regular file into *out, which is cleared first. Fails with TOO_LARGE if the file
 * has more than `limit` bytes. */
dt_status *dt_file_read(const char *path, size_t limit, dt_str *out) DT_MUST_USE;
/* Reads n bytes at `offset`. Fails with FILE_CHANGED if the file is shorter. */
dt_status *dt_file_pread(int fd, const char *path, void *buffer, size_t n,
                         int64_t offset) DT_MUST_USE;

/* A file that is being written at `path`. Opening creates it if it does not exist, with mode 0644
 * at most, and fails if `path` itself is a symbolic link. */
typedef struct dt_writer {
    int fd;
    char *path; /* the file's path; NULL: the file was closed, or could not be opened */
    /* Whether dt_writer_abandon closes the file without removing it: set by dt_writer_append, not
     * by dt_writer_open. */
    bool keep;
} dt_writer;
/* Opens a file for writing. An existing file of that name loses its contents. */
dt_status *dt_writer_open(dt_writer *w, const char *path) DT_MUST_USE;
/* Opens a file to write at its end. An existing file keeps its contents. */
dt_status *dt_writer_append(dt_writer *w, const char *path) DT_MUST_USE;
dt_status *dt_writer_put(dt_writer *w, const void *bytes, size_t n) DT_MUST_USE;
/* Moves the position of writing to byte `at` of a file that dt_writer_open has opened. */
dt_status *dt_writer_seek(dt_writer *w, int64_t at) DT_MUST_USE;
dt_status *dt_writer_sync(dt_writer *w) DT_MUST_USE;
dt_status *dt_writer_close(dt_writer *w) DT_MUST_USE;
/* After an error: closes the file, and removes it unless w->keep. Accepts a writer that is closed
 * or could not be opened. */
void dt_writer_abandon(dt_writer *w);
/* Writes a whole file so that readers see the old one or the new one: temporary name, write, fsync,
 * rename, fsync of the directory. */
dt_status *dt_file_commit(const char *path, const void *bytes, size_t n) DT_MUST_USE;

/* Finds the path at which an output that a user has named is to be committed: symbolic links are
 * followed, as in shell redirection, even to a file that does not exist yet. The caller frees
 * *path. Fails with CANT_CREATE if the name is empty, links form a cycle, or a device, a FIFO or a
 * directory is found, and otherwise if dt_path_check refuses the path or a link cannot be followed;
 * *path is then NULL. */
dt_status *dt_file_target(const char *named, char **path) DT_MUST_USE;
/* Writes a whole file like dt_file_commit, to the path that dt_file_target finds. */
dt_status *dt_file_output(const char *named, const void *bytes, size_t n) DT_MUST_USE;

/* Renames a closed and synced temporary file to its target, and syncs the directory, as
 * dt_file_commit does at its end. Removes the temporary file if that fails. */
dt_status *dt_file_adopt(const char *temporary, const char *path) DT_MUST_USE;

/* Creates a directory and its parents, with mode 0755 at most. Succeeds if the directory exists. */
dt_status *dt_dir_make(const char *path) DT_MUST_USE;
dt_status *dt_dir_sync(const char *path) DT_MUST_USE;
/* Opens a directory, for fdopendir or fsync. Returns its descriptor, or -1 with errno. A symbolic
 * link of that name is refused unless `follow`. */
int dt_dir_open(const char *path, bool follow);
dt_status *dt_rename(const char *from, const char *to) DT_MUST_USE;
/* Removes a directory of plain files: does not descend into sub-directories or follow links.
 * Succeeds if the directory does not exist. Fails if it has a sub-directory; some files may be
 * removed then. */
dt_status *dt_dir_remove(const char *path) DT_MUST_USE;

/* Removes a file or a symbolic link (the link itself). Succeeds if there is nothing of that
 * name. */
dt_status *dt_file_remove(const char *path) DT_MUST_USE;
/* Exchanges two existing names atomically. If the file system cannot do that, succeeds with *done
 * false and changes nothing. */
dt_status *dt_file_swap(const char *a, const char *b, bool *done) DT_MUST_USE;

/* Checks a path of a job like dt_path_check (dtrain/base.h), and also refuses $HOME/run, %TEMP%/run
 * and `x`, which only a shell would expand. "~name/..." is refused, too. If the path is "~" or
 * begins with "~/", sets *path to it with the home directory in place of '~', owned by the caller;
 * otherwise to NULL, since the path needs no change. */
dt_status *dt_path_local(const char *written, char **path) DT_MUST_USE;

/* Returns dir/name, or a copy of name if name is absolute or dir is "" or NULL. The caller frees
 * it. */
char *dt_path_join(const char *dir, const char *name);
/* Returns the directory part of a path: "a/b" of "a/b/c", "" of "c". The caller frees it. */
char *dt_path_dir(const char *path);
/* Returns a copy of the path without slashes at its end; "/" stays. */
const char *dt_path_trimmed(dt_arena *arena, const char *path);

#endif
