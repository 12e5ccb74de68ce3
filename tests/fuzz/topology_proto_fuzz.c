/* SPDX-License-Identifier: Apache-2.0 */
/* TopologyProto, in which hosts report a slice. */
#include <string.h>

#include "base/arena.h"
#include "dtrain.h"
#include "fuzz.h"
#include "topo/topo.h"

/* Of large ones one is enough at a time: a mesh of many chips takes many megabytes. */
static bool is_small(const dt_topology *t) {
    enum { MOST_CHIPS = 1 << 14 };
    int64_t chips = 1;
    for (int i = 0; i < 4; i++) chips = dt_mul_fits(chips, t->mesh[i], &chips) ? chips : INT64_MAX;
    return chips <= MOST_CHIPS;
}

/* What is written of it is read as the same. */
static void write_again(const dt_topology *t) {
    dt_str out = {0}, again = {0};
    dt_topology *other = NULL;
    dt_topology_write(t, &out);
    dt_status *s = dt_topology_parse(&other, dt_str_text(&out), out.size);
    FUZZ_CHECK(!s, "what was written is not read");
    dt_topology_write(other, &again);
    FUZZ_CHECK(out.size == again.size && memcmp(out.data, again.data, out.size) == 0,
               "another topology");
    dt_topology_unref(other);
    dt_str_release(&out);
    dt_str_release(&again);
}

FUZZ_TARGET(topology_proto) {
    dt_topology *t = NULL;
    int coordinates[4];
    dt_status *s = dt_topology_parse(&t, data, size);
    if (!s) {
        size_t n = 0;
        FUZZ_CHECK(memcmp(dt_topology_serialized(t, &n), data, size) == 0 && n == size,
                   "other bytes");
        if (is_small(t)) write_again(t);
    }
    for (int i = 0; !s && i < 8 && dt_topology_missing_device(t, i, coordinates);) i++;
    fuzz_done(s);
    dt_topology_unref(t);
    return 0;
}
