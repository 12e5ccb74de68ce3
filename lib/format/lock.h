/* SPDX-License-Identifier: Apache-2.0 */
/* The lock on a run directory. */
#ifndef DT_FORMAT_LOCK_H
#define DT_FORMAT_LOCK_H

#include "base/file.h"

/* Takes the lock dir/.lock, and writes the holder into the file. The lock is held until the writer
 * is abandoned. Error IN_USE, naming the holder. */
dt_status *dt_lock_take(dt_writer *lock, const char *dir) DT_MUST_USE;
/* The IN_USE error for the text of a lock file; NULL: the text does not name a process that could
 * hold the lock. */
dt_status *dt_lock_refusal(const char *dir, const char *text) DT_MUST_USE;

#endif
