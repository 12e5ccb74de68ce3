/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reserve of memory, so that running out of it is an error like any other. The small allocations
 * of dt_alloc and of arenas have no way to report a failure. When the system refuses one, the
 * reserve is given back to the system and the allocation is tried again; calls that can fail ask
 * dt_reserve_check at their start and in their long loops, and end with NO_MEMORY if the reserve
 * cannot be set aside again.
 */
#ifndef DT_BASE_RESERVE_H
#define DT_BASE_RESERVE_H

#include <stdbool.h>

#include "base/status.h"

/* Sets the reserve aside, if there is none. Fails with NO_MEMORY if that is not possible. Costs one
 * load while there is a reserve. Any thread may call it. */
dt_status *dt_reserve_check(void) DT_MUST_USE;
/* Frees the reserve. Returns false if there is none. Any thread may call it. */
bool dt_reserve_spend(void);

#endif
