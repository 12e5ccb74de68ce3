/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults on purpose, in builds with -DDT_FAULTS only: the Nth call of the system through which
 * dtrain writes fails.
 *
 *     DTRAIN_FAULT_WRITE=3:ENOSPC     the third call fails, once
 *     DTRAIN_FAULT_WRITE=3+:EIO       the third and all later ones
 *     DTRAIN_FAULT_WRITE=3:SHORT      a write takes half of its bytes
 *     DTRAIN_FAULT_WRITE=3:KILL       the process dies before the call
 *
 * Counted, from 1 and in this process, are open for writing, ftruncate, lseek, write, fsync, close,
 * rename, renameat2, unlink, mkdir and rmdir; most of the clean-up after an error is not counted.
 * So a test that loops over N covers every state in which a crash or a full disk can leave the
 * files.
 */
#ifndef DT_BASE_FAULT_H
#define DT_BASE_FAULT_H

#include <stdbool.h>
#include <stddef.h>

#ifdef DT_FAULTS
/* Whether the next system call must fail, with errno set. For a write of *n bytes, more than 1, the
 * fault SHORT halves *n instead and returns false. n may be NULL. */
bool dt_fault(size_t *n);
#else
static inline bool dt_fault(size_t *n) {
    (void)n;
    return false;
}
#endif

#endif
