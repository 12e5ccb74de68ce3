/* SPDX-License-Identifier: Apache-2.0 */
/* The lock on a run directory. */
#ifndef DT_FORMAT_LOCK_H
#define DT_FORMAT_LOCK_H

#include "base/file.h"

/* Takes dir/.lock and writes the holder into it; held until the writer is abandoned. IN_USE naming
 * the holder. */
dt_status *dt_lock_take(dt_writer *lock, const char *dir) DT_MUST_USE;
/* That error, from the text of the file; NULL: it names no process that could have the lock. */
dt_status *dt_lock_refusal(const char *dir, const char *text) DT_MUST_USE;

#endif
