/* SPDX-License-Identifier: Apache-2.0 */
/* Describes the effect of `auto_shard_policy` for messages; see workers.h. */
#include <string.h>

#include "data/dataset.h"
#include "data/workers.h"

dt_status *dt_dataset_sharing(const dt_dataset *d, int64_t workers, dt_str *out) {
    const char *policy = d->spec.auto_shard_policy;
    dt_dealing dealing;
    DT_TRY(dt_workers_dealing(d, NULL, workers, &dealing));
    if (strcmp(policy, "off") == 0 || strcmp(policy, "hint") == 0) dt_str_puts(out, "not sharded");
    else dt_str_puts(out, strcmp(policy, "file") == 0 ? "sharded by file" : "sharded by element");
    if (dealing != DT_DEAL_GLOBAL)
        dt_str_printf(out, " (results depend on the number of workers: %lld)", (long long)workers);
    return NULL;
}
