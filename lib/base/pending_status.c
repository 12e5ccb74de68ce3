/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors of calls that cannot return one, such as entering a scope, which is a statement. The
 * error is kept for this thread until its next public call that can fail returns it.
 */
#include "base/reserve.h"
#include "base/status.h"

static _Thread_local dt_status *waiting;

void dt_status_keep(dt_status *s) {
    if (waiting) dt_status_free(s);
    else waiting = s;
}

dt_status *dt_status_kept(void) {
    dt_status *s = waiting;
    waiting = NULL;
    return s ? s : dt_reserve_check();
}
