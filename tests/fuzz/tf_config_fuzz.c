/* SPDX-License-Identifier: Apache-2.0 */
/* TF_CONFIG: who this process is, and where the others are. */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"
#include "strategy/cluster.h"

FUZZ_TARGET(tf_config) {
    static char variable[1 << 14]; /* setenv keeps whatever it was ever given */
    dt_launch l;
    snprintf(variable, sizeof variable, "TF_CONFIG=%s", fuzz_string(data, size));
    putenv(variable);
    dt_status *s = dt_launch_find(&l, &(dt_rank_option){0});
    FUZZ_CHECK(s || l.workers == 0 || (l.workers >= 1 && l.rank >= 0 && l.addresses == l.workers),
               "a worker without a number, or not an address for each");
    FUZZ_CHECK(s || l.task != DT_TASK_WORKER || l.rank < l.workers || l.workers == 0,
               "a worker that is not in the cluster");
    if (!s) dt_launch_release(&l);
    fuzz_done(s);
    unsetenv("TF_CONFIG");
    return 0;
}
