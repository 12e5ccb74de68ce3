/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of this machine: what this process uses, and how much it may use. The size of the machine
 * does not show a container's limit, and a process that exceeds that is killed without a message.
 * So the limits of the process' control group and of its parents are read.
 */
#ifndef DT_BASE_MEMORY_H
#define DT_BASE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/str.h"

/* Returns the number of resident bytes of this process, libraries included; 0: unknown. */
int64_t dt_memory_resident(void);

typedef struct dt_memory_limit {
    int64_t bytes;
    /* the file that has the limit; "": the limit is the machine's memory and swap */
    char path[256];
} dt_memory_limit;
/* Finds the smallest limit that applies to this process. Returns false if no limit is known. */
bool dt_memory_limit_find(dt_memory_limit *l);
/* Finds the limit of control groups alone, from the files below `root` ("": those of this
 * machine). */
bool dt_memory_limit_of_group(const char *root, dt_memory_limit *l);
/* Sets *l to the limit of this process. Returns whether the process would stay within it if it used
 * `bytes` more; true: also if no limit is known. Counts resident memory, not memory that was
 * requested and never used. */
bool dt_memory_has_room(int64_t bytes, dt_memory_limit *l);
/* Checks that there is memory for `bytes` more bytes. Otherwise fails with DOES_NOT_FIT: "the
 * weights need 8.0 GiB of memory, but only 3.9 GiB are left of the limit of 4.0 GiB
 * (/sys/fs/cgroup/memory.max)". who: "the weights need". */
dt_status *dt_memory_check_room(int64_t bytes, const char *who) DT_MUST_USE;
/* Prints a limit: "8.0 GiB (/sys/fs/cgroup/memory.max)", "24.0 GiB on this machine". */
void dt_memory_limit_print(const dt_memory_limit *l, dt_str *out);

#endif
