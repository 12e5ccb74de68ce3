/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that something else started together. No strategy is spread over them yet, and each would train the whole job by itself. */
#include <stdlib.h>

#include "strategy/strategy.h"

const char *dt_launched_by(const char **value)
{
    static const char *const names[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        *value = getenv(names[i]);
        int64_t n;
        if (*value && dt_parse_int64(*value, &n) && n > 1)
            return names[i];
    }
    return NULL;
}
