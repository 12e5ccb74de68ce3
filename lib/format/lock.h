/* SPDX-License-Identifier: Apache-2.0 */
/* The lock on a run directory. */
#ifndef DT_FORMAT_LOCK_H
#define DT_FORMAT_LOCK_H

#include "base/file.h"

/* Takes dir/.lock and writes the holder into it; held until the writer is abandoned. IN_USE naming
 * the holder. */
dt_status *dt_lock_take(dt_writer *lock, const char *dir) DT_MUST_USE;
/* IN_USE with the text of the lock file; NULL: the file names no process that could hold the
 * lock. */
dt_status *dt_lock_refusal(const char *dir, const char *text) DT_MUST_USE;

#endif
