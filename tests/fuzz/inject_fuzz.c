/* SPDX-License-Identifier: Apache-2.0 */
/* --inject: the grammar of faults, sizes with units among them, a fault a line; held against no
 * slice and against one of four chips. */
#include <string.h>

#include "fuzz.h"
#include "train/faults.h"

enum { MOST_FAULTS = 4, STEP = 50 };

static void look(const dt_faults *faults) {
    dt_slice slice;
    dt_slow_links slow[MOST_FAULTS];
    dt_status *s = dt_slice_find("v4:2x2x1", DT_E_UNKNOWN_SLICE, NULL, &slice);
    dt_topology *t = s ? NULL : dt_topology_of_slice(&slice);
    FUZZ_CHECK(t, "no slice");
    fuzz_done(dt_faults_check(faults, t));
    FUZZ_CHECK(dt_faults_slow_links(faults, STEP, slow) <= faults->n,
               "more slow links than faults");
    dt_topology_unref(t);
}

FUZZ_TARGET(inject) {
    const char *line[MOST_FAULTS];
    char *rest;
    int n = 0;
    for (char *at = strtok_r(fuzz_copy(data, size), "\n", &rest); at && n < MOST_FAULTS;
         at = strtok_r(NULL, "\n", &rest))
        line[n++] = at;
    dt_arena *arena = dt_arena_create();
    dt_faults faults = {0};
    dt_status *s = dt_faults_read(arena, line, n, &faults);
    if (!s) {
        look(&faults);
        s = dt_faults_check(&faults, NULL);
    }
    if (!s) FUZZ_CHECK(dt_faults_hbm(&faults) >= 0, "a negative size");
    fuzz_done(s);
    dt_arena_destroy(arena);
    return 0;
}
