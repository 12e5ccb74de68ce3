/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_HOSTS_H
#define TESTS_SUPPORT_HOSTS_H

#include "topo/topo_impl.h"

static inline int hosts_of(const dt_slice *s) {
    int host[3], n = 1;
    dt_slice_host(s, host);
    for (int axis = 0; axis < 3; axis++) n *= (s->chips[axis] + host[axis] - 1) / host[axis];
    return n;
}

#endif
