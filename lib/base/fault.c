/* SPDX-License-Identifier: Apache-2.0 */
/* DTRAIN_FAULT_WRITE needs a counter of calls, a mutable static variable. Ordinary builds have
 * none of this. */
#include "base/fault.h"

#ifdef DT_FAULTS
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int number;
} faults[] = {{"ENOSPC", ENOSPC}, {"EIO", EIO},       {"EDQUOT", EDQUOT}, {"EROFS", EROFS},
              {"EMFILE", EMFILE}, {"EACCES", EACCES}, {"EINTR", EINTR},   {"ENOENT", ENOENT},
              {"EINVAL", EINVAL}, {"SHORT", -1},      {"KILL", -2}};

static int fault_number(const char *name) {
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (strcmp(faults[i].name, name) == 0) return faults[i].number;
    abort(); /* The test that set a misspelt fault would pass without testing anything. */
}

bool dt_fault(size_t *n) {
    static _Atomic long calls;
    const char *spec = getenv("DTRAIN_FAULT_WRITE");
    if (!spec) return false;
    char *end;
    long call = atomic_fetch_add(&calls, 1) + 1, wanted = strtol(spec, &end, 10);
    bool persistent = *end == '+';
    if (call < wanted || (call > wanted && !persistent)) return false;
    int number = fault_number(end + persistent + 1);
    if (number == -2) raise(SIGKILL);
    if (number == -1) {
        if (n && *n > 1) *n /= 2;
        return false;
    }
    errno = number;
    return true;
}
#else
/* ISO C requires at least one declaration in every file. */
typedef int dt_no_faults;
#endif
