/* SPDX-License-Identifier: Apache-2.0 */
/* Files of one part; see part_files.h. */
#include "file/part_files.h"

static dt_status *check_name(const dt_format_request *r, const dt_tree *t) {
    const char *path;
    DT_TRY(dt_tree_text(t, dt_part_name(r->part), &path));
    return *path ? NULL
                 : dt_fail(DT_E_DATASET_KEYS, &t->at, "'%s' must name a file, got an empty string",
                           dt_part_name(r->part));
}

dt_status *dt_files_check(const dt_format_request *r) {
    const char *part = dt_part_name(r->part);
    dt_status *s = NULL;
    if (!r->tree)
        return dt_fail(
            DT_E_DATASET_KEYS, r->at,
            "dataset lacks '%s': a file, a pattern such as part-*.tfrecord, or a list of them",
            part);
    if (r->tree->kind != DT_TREE_LIST) return check_name(r, r->tree);
    if (r->tree->n == 0)
        return dt_fail(DT_E_DATASET_KEYS, &r->tree->at, "'%s' must name at least one file", part);
    for (int i = 0; i < r->tree->n; i++) dt_status_append(&s, check_name(r, r->tree->item[i]));
    return s;
}

dt_status *dt_files_find(const dt_format_request *r, const dt_tree *names, dt_paths *out) {
    dt_status *s = NULL;
    int n = names->kind == DT_TREE_LIST ? names->n : 1;
    for (int i = 0; i < n; i++) {
        const dt_tree *t = names->kind == DT_TREE_LIST ? names->item[i] : names;
        dt_status_append(&s, dt_at(dt_paths_match(out, r->directory, t->text), &t->at));
    }
    return s;
}

dt_status *
dt_files_check_elements(const dt_format_request *r, const dt_tree *element, dt_texts *names,
                        dt_status *(*read)(const dt_format_request *r, const dt_entry *e)) {
    dt_status *s = element ? dt_tree_expect(element, DT_TREE_MAP, "element") : NULL;
    const int n = element && !s ? element->n : 0;
    names->v = dt_arena_array(r->arena, const char *, n);
    for (int i = 0; i < n; i++) {
        names->v[names->n++] = element->entry[i].key;
        if (r->part == DT_PART_TRAIN) dt_status_append(&s, read(r, &element->entry[i]));
    }
    if (element && !s && n == 0)
        s = dt_fail(DT_E_DATASET_KEYS, &element->at, "'element' must name at least one element");
    return s;
}

dt_status *dt_files_read(const dt_format_request *r, dt_examples *x,
                         dt_status *(*read)(dt_examples *x, int file)) {
    enum { MOST_FILES = 1000 };
    dt_status *missing = NULL, *bad = NULL;
    if (x->paths.n > MOST_FILES)
        return dt_fail(DT_E_TOO_LARGE, &r->tree->at, "%d files; at most %d are read as one part",
                       x->paths.n, MOST_FILES);
    x->first = dt_arena_array(r->arena, int64_t, x->paths.n + 1);
    for (int i = 0; i < x->paths.n; i++) {
        x->first[i] = x->count;
        dt_status *s = read(x, i);
        if (s) dt_status_append(dt_status_code(s) == 66 ? &missing : &bad, dt_at(s, &r->tree->at));
    }
    dt_status_append(&missing, bad);
    x->first[x->paths.n] = x->count;
    if (!missing && x->count == 0)
        return dt_fail(DT_E_DATA_EMPTY, &r->tree->at, "%s: no examples", x->paths.v[0]);
    return missing;
}

int dt_files_at(const dt_examples *x, int64_t row) {
    int file = 0;
    while (file < x->paths.n - 1 && row >= x->first[file + 1]) file++;
    return file;
}
