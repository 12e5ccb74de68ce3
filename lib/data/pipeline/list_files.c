/* SPDX-License-Identifier: Apache-2.0 */
/* list_files(patterns): the names of files, sorted within each pattern, each a vector of bytes.
 * The names are looked up immediately, so that a missing file is reported here. */
#include <string.h>

#include "data/pipeline/build.h"
#include "file/records.h"

struct names {
    dt_paths paths;
};

static void release(void *args) { dt_paths_release(&((struct names *)args)->paths); }

static int64_t count(const dt_dataset *p) { return ((const struct names *)p->args)->paths.n; }

static dt_status *at(const dt_dataset *d, int64_t i, const dt_iterator *it, dt_example *out) {
    (void)it;
    const char *path = ((const struct names *)d->args)->paths.v[i];
    return dt_example_of_bytes(out, path, (int64_t)strlen(path));
}

static const dt_transform list_files_row = {
    .name = "list_files",
    .args_size = sizeof(struct names),
    .count = count,
    .at = at,
    .release = release,
};

dt_status *dt_dataset_list_files(dt_dataset **out, const char *const *patterns, int n) {
    const dt_type bytes = dt_type_of(DT_UINT8, 1, (const int64_t[]){DT_UNKNOWN_DIM});
    struct names args = {0};
    dt_status *s = dt_status_kept();
    if (!s && (!patterns || n < 1))
        s = dt_fail(DT_E_PIPELINE, NULL, "list_files: at least one name or pattern is needed");
    for (int i = 0; i < n && !s; i++)
        s = patterns[i] ? dt_paths_match(&args.paths, NULL, patterns[i])
                        : dt_fail(DT_E_PIPELINE, NULL, "list_files: name %d is NULL", i);
    if (!s)
        return dt_dataset_build(out, &list_files_row, NULL, &args,
                                dt_spec_single(DT_ONLY_COMPONENT, &bytes));
    dt_paths_release(&args.paths);
    return s;
}
