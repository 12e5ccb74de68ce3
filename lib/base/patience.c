/* SPDX-License-Identifier: Apache-2.0 */
#include "base/patience.h"

enum { MORE = DT_MOST_PATIENCE / 20, SHORT = 100000, LONG = 200000 }; /* in ns */

int64_t dt_patience_after(int64_t patience, dt_wait w) {
    if (w.ns > LONG) return w.excused ? patience : patience / 2;
    if (w.slept && w.ns < SHORT)
        return patience + MORE < DT_MOST_PATIENCE ? patience + MORE : DT_MOST_PATIENCE;
    return patience;
}
