/* SPDX-License-Identifier: Apache-2.0 */
/* Files of one part; see files.h. */
#include "data/files.h"

static dt_status *check_name(const dt_format_request *r, const dt_tree *t)
{
    const char *path;
    DT_TRY(dt_tree_text(t, dt_part_name(r->part), &path));
    return *path ? NULL : dt_fail(DT_E_DATASET_KEYS, &t->at, "'%s' must name a file, got an empty string", dt_part_name(r->part));
}

dt_status *dt_files_check(const dt_format_request *r)
{
    const char *part = dt_part_name(r->part);
    dt_status *s = NULL;
    if (!r->tree)
        return dt_fail(DT_E_DATASET_KEYS, r->at, "dataset lacks '%s': a file, a pattern such as part-*.tfrecord, or a list of them", part);
    if (r->tree->kind != DT_TREE_LIST)
        return check_name(r, r->tree);
    if (r->tree->n == 0)
        return dt_fail(DT_E_DATASET_KEYS, &r->tree->at, "'%s' must name at least one file", part);
    for (int i = 0; i < r->tree->n; i++)
        dt_status_append(&s, check_name(r, r->tree->item[i]));
    return s;
}

dt_status *dt_files_find(const dt_format_request *r, const dt_tree *names, dt_paths *out)
{
    dt_status *s = NULL;
    int n = names->kind == DT_TREE_LIST ? names->n : 1;
    for (int i = 0; i < n; i++) {
        const dt_tree *t = names->kind == DT_TREE_LIST ? names->item[i] : names;
        dt_status_append(&s, dt_at(dt_paths_match(out, r->directory, t->text), &t->at));
    }
    return s;
}
