/* SPDX-License-Identifier: Apache-2.0 */
/* Handles of the public API. A handle begins with its count, `int refs` or `_Atomic int refs`. */
#ifndef DT_BASE_HANDLE_H
#define DT_BASE_HANDLE_H

#include <assert.h>
#include <stddef.h>

/* Gives up a reference to a handle or NULL. True: it was the last one, and the caller frees the
 * handle with what it owns. Aborts where the handle has been released already and its memory still
 * has the count 0. */
#define DT_LAST(handle) ((handle) && (assert((handle)->refs > 0), --(handle)->refs == 0))

#endif
