/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `auto_shard_policy` comes to for input workers of a run, one on each host that has replicas. AUTO shares files where a format has files whose
 * examples follow one another and there are enough of them, else single examples. One process reads for all simulated hosts, and
 * gives each the rows of the global batch that are its replicas'; the rule is held against the files all the same, so that a job
 * which real hosts would refuse is refused here.
 */
#include <string.h>

#include "data/dataset.h"

static dt_status *check_files(const dt_dataset *d, int64_t files, int64_t workers)
{
    const dt_place *at = &d->spec.at;
    if (workers == 1 || files >= workers)
        return NULL;
    if (files == 0)
        return dt_fail(DT_E_UNSHARDABLE, at, "auto_shard_policy: file: format '%s' has no files that follow one another", d->spec.format->kind.name);
    return dt_fail(DT_E_TOO_FEW_FILES, at, "auto_shard_policy: file: %lld file%s cannot be shared by %lld workers", (long long)files, files == 1 ? "" : "s",
                   (long long)workers);
}

dt_status *dt_dataset_sharing(const dt_dataset *d, int64_t workers, dt_str *out)
{
    const dt_format *f = d->spec.format;
    const char *policy = d->spec.auto_shard_policy;
    const int64_t *first;
    const int64_t files = f->files ? f->files(d->rows[DT_PART_TRAIN].x, &first) : 0;
    const bool is_auto = strcmp(policy, "auto") == 0, by_file = strcmp(policy, "file") == 0;
    if (by_file)
        DT_TRY(check_files(d, files, workers));
    if (strcmp(policy, "off") == 0 || strcmp(policy, "hint") == 0)
        dt_str_puts(out, "not sharded");
    else
        dt_str_puts(out, by_file || (is_auto && files > 0 && files >= workers) ? "sharded by file" : "sharded by element");
    if (is_auto && files > 0 && files < workers)
        dt_str_printf(out, ", %lld file%s < %lld workers", (long long)files, files == 1 ? "" : "s", (long long)workers);
    return NULL;
}
