/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the classes, which are folders, and their files; see class_folders.h. */
#include "file/class_folders.h"

#include <stdlib.h>
#include <string.h>

static dt_status *check_folder(const dt_format_request *r, const char *files) {
    const char *part = dt_part_name(r->part), *path;
    if (!r->tree)
        return dt_fail(DT_E_DATASET_KEYS, r->at,
                       "dataset lacks '%s': a folder with a folder of %s for each class", part,
                       files);
    DT_TRY(dt_tree_text(r->tree, part, &path));
    return *path ? NULL
                 : dt_fail(DT_E_DATASET_KEYS, &r->tree->at,
                           "'%s' must name a folder, got an empty string", part);
}

dt_status *dt_class_folders_check(const dt_format_request *r, const char *files,
                                  const dt_tree *element, dt_texts *names) {
    const int n = element && element->kind == DT_TREE_MAP ? element->n : 0;
    names->v = dt_arena_array(r->arena, const char *, n);
    for (int i = 0; i < n; i++) names->v[names->n++] = element->entry[i].key;
    return check_folder(r, files);
}

/* ---- classes ---- */

static const char *name_of(const char *path) { return strrchr(path, '/') + 1; }

/* Lists the folders in a part's folder. */
static dt_status *list_folders(const dt_format_request *r, const dt_tree *part, dt_paths *out) {
    DT_LOCAL char *folder = dt_path_join(r->directory, part->text);
    dt_paths all = {0};
    dt_status *s = dt_paths_list(&all, folder);
    for (int i = 0; !s && i < all.n; i++)
        if (dt_path_is_folder(all.v[i])) dt_paths_add(out, all.v[i]);
    dt_paths_release(&all);
    return dt_at(s, &part->at);
}

static int compare_names(const void *name, const void *element) {
    return strcmp(name, *(const char *const *)element);
}

/* Returns the number of a class, which is the index of its name in `names`, a list sorted by bytes;
 * -1: it is not in the list. */
static int32_t number_of(const dt_texts *names, const char *name) {
    const char **found =
        names->n > 0 ? bsearch(name, names->v, (size_t)names->n, sizeof *names->v, compare_names)
                     : NULL;
    return found ? (int32_t)(found - names->v) : -1;
}

/* Returns the folder of a class that the job lists; NULL: there is none. */
static const char *folder_of(const dt_paths *folders, const char *name) {
    for (int i = 0; i < folders->n; i++)
        if (strcmp(name_of(folders->v[i]), name) == 0) return folders->v[i];
    return NULL;
}

/* Checks that train has a folder for each class that the job lists. */
static dt_status *check_listed(const dt_format_request *r, const dt_class_query *q,
                               const dt_paths *folders) {
    for (int i = 0; i < q->names.n; i++)
        if (!folder_of(folders, q->names.v[i]))
            return dt_fail(DT_E_DATA_FILE, &r->train->at, "%s: has no folder '%.80s'",
                           r->train->text, q->names.v[i]);
    return NULL;
}

/* Sets the label's class names: those that the job lists, else the names of train's folders. Fails
 * if train lacks the folder of a listed class or, without a list, has another number of folders
 * than the job states. */
static dt_status *name_classes(const dt_format_request *r, const dt_class_query *q,
                               dt_element_spec *label) {
    dt_paths folders = {0};
    dt_status *s = list_folders(r, r->train, &folders);
    if (!s) s = check_listed(r, q, &folders);
    if (!s && q->names.n == 0 && folders.n != q->classes)
        s = dt_fail(DT_E_DATA_FILE, &r->train->at,
                    "%s: has %d folders, one per class, but '%s' has %lld classes", r->train->text,
                    folders.n, label->name, (long long)q->classes);
    label->names = q->names;
    if (q->names.n == 0) {
        label->names =
            (dt_texts){.n = folders.n, .v = dt_arena_array(r->arena, const char *, folders.n)};
        for (int i = 0; i < folders.n; i++)
            label->names.v[i] = dt_arena_strdup(r->arena, name_of(folders.v[i]));
    }
    dt_paths_release(&folders);
    return s;
}

/* ---- files ---- */

static dt_status *add_class(const dt_class_query *q, const char *folder, int32_t class,
                            dt_class_folders *x) {
    DT_TRY(q->list(x, folder));
    for (; x->n < x->base.paths.n; x->n++) {
        DT_GROW(x->class, x->cap, x->n + 1);
        x->class[x->n] = class;
    }
    return NULL;
}

static dt_status *add_listed(const dt_class_query *q, const dt_paths *folders,
                             dt_class_folders *x) {
    for (int i = 0; i < q->names.n; i++) {
        const char *folder = folder_of(folders, q->names.v[i]);
        if (folder) DT_TRY(add_class(q, folder, i, x));
    }
    return NULL;
}

static dt_status *add_all(const dt_class_query *q, const dt_paths *folders, dt_class_folders *x) {
    const dt_texts *names = &x->base.stored[x->label].names;
    for (int i = 0; i < folders->n; i++) {
        const int32_t class = number_of(names, name_of(folders->v[i]));
        if (class < 0)
            return dt_fail(DT_E_DATA_FILE, NULL, "%s: the training data has no class '%s'",
                           folders->v[i], name_of(folders->v[i]));
        DT_TRY(add_class(q, folders->v[i], class, x));
    }
    return NULL;
}

/* ---- spreading classes ---- */

/* The position of a file among the `size` files of its class: (2 k + 1) / size for file k of the
 * class, counted from 0. row: the file's index among all files. */
typedef struct standing {
    int64_t numerator, size;
    int row;
} standing;

static int compare(const void *a, const void *b) {
    const standing *x = a, *y = b;
    int64_t l = x->numerator * y->size, r = y->numerator * x->size;
    return l != r ? (l > r) - (l < r) : (x->row > y->row) - (x->row < y->row);
}

void dt_class_folders_spread(dt_class_folders *x, int64_t classes) {
    const int n = x->base.paths.n;
    DT_LOCAL standing *s = dt_alloc((size_t)n * sizeof *s);
    DT_LOCAL int64_t *seen = dt_alloc((size_t)classes * sizeof *seen);
    char **path = dt_alloc((size_t)n * sizeof *path);
    int32_t *class = dt_alloc((size_t)n * sizeof *class);
    for (int i = 0; i < n; i++)
        s[i] = (standing){.numerator = 2 * seen[x->class[i]]++ + 1, .row = i};
    for (int i = 0; i < n; i++) s[i].size = seen[x->class[i]];
    qsort(s, (size_t)n, sizeof *s, compare);
    for (int i = 0; i < n; i++) {
        path[i] = x->base.paths.v[s[i].row];
        class[i] = x->class[s[i].row];
    }
    free(x->base.paths.v);
    free(x->class);
    x->base.paths.v = path;
    x->class = class;
}

/* ---- a part ---- */

dt_status *dt_class_folders_find(const dt_format_request *r, const dt_class_query *q,
                                 dt_class_folders *x) {
    dt_paths folders = {0};
    char *root = dt_path_join(r->directory, r->tree->text);
    x->root = strlen(root);
    free(root);
    DT_TRY(name_classes(r, q, &x->base.stored[x->label]));
    dt_status *s = list_folders(r, r->tree, &folders);
    if (!s) s = dt_at((q->names.n > 0 ? add_listed : add_all)(q, &folders, x), &r->tree->at);
    dt_paths_release(&folders);
    if (!s && x->base.paths.n == 0)
        s = dt_fail(DT_E_DATA_EMPTY, &r->tree->at, "%s: no %s", r->tree->text, q->files);
    x->base.count = x->base.paths.n;
    return s;
}

dt_status *dt_class_folders_try(dt_class_folders *x, int e) {
    const dt_element_spec *of = &x->base.stored[e];
    void *room = dt_try_alloc((size_t)dt_type_bytes(&of->type)), *out[2] = {NULL, NULL};
    dt_read_buffer buffer = {0};
    out[e] = room;
    dt_status *s =
        room ? x->base.reader->at(&x->base, 0, &buffer, out)
             : dt_fail(DT_E_NO_MEMORY, &of->at, "out of memory for an example of '%s'", of->name);
    dt_str_release(&buffer.bytes);
    free(room);
    return s;
}

/* Returns the path of a file; *what is the rest of it after the part's folder, such as
 * "class/file". */
const char *dt_class_folders_source(const dt_examples *base, int64_t i, const char **what) {
    const dt_class_folders *x = (const dt_class_folders *)base;
    if (i >= x->base.paths.n) return NULL;
    *what = x->base.paths.v[i] + x->root;
    *what += strspn(*what, "/");
    return x->base.paths.v[i];
}

dt_status *dt_class_folders_whole(dt_examples *base, int e, const void **rows) {
    dt_class_folders *x = (dt_class_folders *)base;
    *rows = e == x->label ? x->class : NULL;
    return NULL;
}

void dt_class_folders_close(dt_examples *base) {
    dt_class_folders *x = (dt_class_folders *)base;
    dt_paths_release(&x->base.paths);
    free(x->class);
}
