/* SPDX-License-Identifier: Apache-2.0 */
/* Removing a file, and exchanging two names in one step. */
#define _GNU_SOURCE /* renameat2 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/file.h"

dt_status *dt_file_remove(const char *path) {
    while (dt_fault(NULL) || unlink(path) != 0) {
        if (errno == ENOENT) return NULL;
        if (errno != EINTR) return dt_note(dt_fail_errno(DT_E_IO, path), "removing it");
    }
    return NULL;
}

/* Error numbers of file systems and kernels that lack the operation. */
static bool is_unsupported(int number) {
    return number == EINVAL || number == ENOSYS || number == EOPNOTSUPP;
}

dt_status *dt_file_swap(const char *a, const char *b, bool *done) {
    *done = true;
    while (dt_fault(NULL) || renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE) != 0) {
        if (errno == EINTR) continue;
        *done = false;
        return is_unsupported(errno)
                   ? NULL
                   : dt_note(dt_fail_errno(DT_E_IO, b), "replacing it by '%s'", a);
    }
    return NULL;
}
