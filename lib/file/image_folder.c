/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures in folders, one folder per class:
 *
 *     dataset:
 *       format: image_folder
 *       train: data/slides/train                  # train/clear/a.png, train/clear/b.jpg,
 *                                                 # train/tumour/c.png, ...
 *       validation: data/slides/val
 *       element:
 *         image: {shape: [1024, 1024, 3], dtype: uint8}
 *         label: {num_classes: 2}
 *
 * Pictures must have the given shape. With `interpolation: bilinear` (which gives float32) or
 * `nearest` they may have any size and are resized to it.
 *
 * Classes are numbered in the order of the training folder's names, sorted by bytes. Files in folders
 * of a class's folder belong to that class. Examples are in the order of class, folder and file name.
 * With `validation_split` classes are spread evenly, because otherwise the last examples, which
 * validate, would all be from the last classes. Other files (notes.txt, Thumbs.db) are left out with
 * a warning, and hidden files are skipped. A picture that cannot be read is an error, because
 * examples would be missing without notice; `on_error: skip` decodes all pictures when the data set
 * is opened and leaves such pictures out, so the examples are known before training and do not
 * depend on threads, replicas or workers. The threads that read ahead decode a picture when its
 * example is needed.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "file/examples.h"
#include "file/image/layout.h"
#include "file/pictures.h"

#define LARGEST_FILE ((size_t)1 << 30)

/* ---- the job's keys ---- */

struct image_folder {
    const dt_tree *element;
    int on_error;
};
enum { STOP, SKIP };

static const char *const on_errors[] = {"stop", "skip", NULL};
static const dt_field fields[] = {
    DT_ELEMENTS(struct image_folder, dt_image_element_fields,
                .help = "{image: {shape: [rows, columns, channels]}, label: {num_classes: N}}"),
    DT_ENUM(struct image_folder, on_error, on_errors,
            .help = "what to do about images that cannot be read. stop: report the first; skip: "
                    "decode all images at the start and leave broken ones out, with a warning"),
    DT_END};

static dt_status *check_folder(const dt_format_request *r) {
    const char *part = dt_part_name(r->part), *path;
    if (!r->tree)
        return dt_fail(DT_E_DATASET_KEYS, r->at,
                       "dataset lacks '%s': a folder with a folder of pictures for each class",
                       part);
    DT_TRY(dt_tree_text(r->tree, part, &path));
    return *path ? NULL
                 : dt_fail(DT_E_DATASET_KEYS, &r->tree->at,
                           "'%s' must name a folder, got an empty string", part);
}

static dt_status *check(const dt_format_request *r, dt_texts *names) {
    const dt_tree *element = ((const struct image_folder *)r->args)->element;
    dt_image_layout ignored;
    dt_status *s = check_folder(r);
    if (!element) return s;
    if (r->part == DT_PART_TRAIN) /* checked once, for train */
        dt_status_append(&s, dt_image_layout_read(r->arena, element, &ignored));
    names->v =
        dt_arena_array(r->arena, const char *, element->kind == DT_TREE_MAP ? element->n : 0);
    for (int i = 0; element->kind == DT_TREE_MAP && i < element->n; i++)
        names->v[names->n++] = element->entry[i].key;
    return s;
}

/* Declares an element; `own` is the layout of the pictures. */
static dt_status *declare(dt_arena *arena, const dt_entry *entry, const dt_tree *keys,
                          dt_element_spec *out) {
    const dt_tree *element = dt_tree_without_nulls(arena, dt_tree_get(keys, "element"));
    dt_image_layout *l = dt_arena_new(arena, dt_image_layout);
    DT_TRY(dt_image_layout_read(arena, element, l));
    const bool image = strcmp(element->entry[l->image].key, entry->key) == 0;
    *out = (dt_element_spec){.name = entry->key,
                             .type = image ? l->type : dt_scalar_type(DT_INT32),
                             .at = entry->value->at,
                             .classes = image ? 0 : l->num_classes,
                             .own = l};
    return NULL;
}

/* ---- folders ---- */

typedef struct folder_part {
    dt_examples base;
    int image, label;
    dt_image_layout layout;
    int32_t *class; /* [paths.n] class of each picture */
    int cap;
    bool stops;     /* a picture of an unknown format is an error at once */
    size_t folder;  /* length of the part's folder and the slash after it, in each path */
    int64_t others; /* files that are not pictures */
    char *other;    /* the first of them; NULL: none */
} folder_part;

static const char *name_of(const char *path) { return strrchr(path, '/') + 1; }

/* Lists the folders in a part's folder, one for each class. */
static dt_status *list_classes(const dt_format_request *r, const dt_tree *part, dt_paths *out) {
    char *folder = dt_path_join(r->directory, part->text);
    dt_paths all = {0};
    dt_status *s = dt_paths_list(&all, folder);
    for (int i = 0; !s && i < all.n; i++)
        if (dt_path_is_folder(all.v[i])) dt_paths_add(out, all.v[i]);
    dt_paths_release(&all);
    free(folder);
    return dt_at(s, &part->at);
}

static int compare_names(const void *name, const void *path) {
    return strcmp(name, name_of(*(char *const *)path));
}

/* The number of a class, which is its position in train's list; -1: train lacks it. */
static int32_t number_of(const dt_paths *classes, const char *name) {
    char **found = bsearch(name, classes->v, (size_t)classes->n, sizeof *classes->v, compare_names);
    return found ? (int32_t)(found - classes->v) : -1;
}

static dt_status *refuse_other(const char *path) {
    return dt_suggest(
        dt_fail(DT_E_DATA_FILE, NULL, "%s: only " DT_IMAGE_FORMATS " images can be read", path),
        "convert it, or move it out of the folder");
}

static dt_status *add_pictures(folder_part *x, const char *folder, int32_t class) {
    const int first = x->base.paths.n;
    DT_TRY(dt_pictures_list(folder, &x->base.paths, &x->others, &x->other));
    DT_GROW(x->class, x->cap, x->base.paths.n);
    for (int i = first; i < x->base.paths.n; i++) {
        x->class[i] = class;
        if (x->stops && dt_image_is_other(x->base.paths.v[i]))
            return refuse_other(x->base.paths.v[i]);
    }
    return NULL;
}

static dt_status *add_classes(folder_part *x, const dt_paths *folders, const dt_paths *classes) {
    for (int i = 0; i < folders->n; i++) {
        int32_t class = number_of(classes, name_of(folders->v[i]));
        if (class < 0)
            return dt_fail(DT_E_DATA_FILE, NULL, "%s: the training data has no class '%s'",
                           folders->v[i], name_of(folders->v[i]));
        DT_TRY(add_pictures(x, folders->v[i], class));
    }
    return NULL;
}

static void name_classes(const dt_format_request *r, const dt_paths *classes,
                         dt_element_spec *label) {
    label->names = (dt_texts){classes->n, dt_arena_array(r->arena, const char *, classes->n)};
    for (int i = 0; i < classes->n; i++)
        label->names.v[i] = dt_arena_strdup(r->arena, name_of(classes->v[i]));
}

static dt_status *find_pictures(const dt_format_request *r, const dt_image_layout *l,
                                folder_part *x) {
    dt_paths classes = {0}, folders = {0};
    dt_status *s = list_classes(r, r->train, &classes);
    if (!s && classes.n != l->num_classes)
        s = dt_fail(DT_E_DATA_FILE, &r->train->at,
                    "%s: has %d folders, one per class, but '%s' has %lld classes", r->train->text,
                    classes.n, x->base.stored[l->label].name, (long long)l->num_classes);
    name_classes(r, &classes, &x->base.stored[x->label]);
    if (!s) s = list_classes(r, r->tree, &folders);
    if (folders.n > 0) x->folder = (size_t)(name_of(folders.v[0]) - folders.v[0]);
    if (!s) s = dt_at(add_classes(x, &folders, &classes), &r->tree->at);
    if (!s && x->base.paths.n == 0)
        s = dt_fail(DT_E_DATA_EMPTY, &r->tree->at, "%s: no pictures", r->tree->text);
    dt_paths_release(&classes);
    dt_paths_release(&folders);
    return s;
}

static void spread(const dt_image_layout *l, folder_part *x) {
    int n = x->base.paths.n, *order = dt_alloc((size_t)n * sizeof *order);
    char **path = dt_alloc((size_t)n * sizeof *path);
    int32_t *class = dt_alloc((size_t)n * sizeof *class);
    dt_image_spread(x->class, n, l->num_classes, order);
    for (int i = 0; i < n; i++) {
        path[i] = x->base.paths.v[order[i]];
        class[i] = x->class[order[i]];
    }
    free(order);
    free(x->base.paths.v);
    free(x->class);
    x->base.paths.v = path;
    x->class = class;
}

/* ---- pictures ---- */

static dt_status *read_example(dt_examples *base, int64_t row, dt_read_buffer *buffer,
                               void *const *out) {
    folder_part *x = (folder_part *)base;
    const dt_element_spec *image = &x->base.stored[x->image];
    const dt_image_name name = {x->base.paths.v[row], image->name};
    if (out[x->label]) memcpy(out[x->label], &x->class[row], sizeof x->class[row]);
    if (!out[x->image]) return NULL;
    DT_TRY(dt_at(dt_file_read(name.path, LARGEST_FILE, &buffer->bytes), &image->at));
    buffer->fetched_ns = dt_now_ns();
    return dt_at(dt_image_fit(&x->layout, &name, dt_str_text(&buffer->bytes), buffer->bytes.size,
                              out[x->image]),
                 &image->at);
}

/* Bytes for decoding; the first picture has been decoded, so its size is known. */
static int64_t decoding(const dt_examples *base, int threads) {
    const folder_part *x = (const folder_part *)base;
    return dt_image_room_bytes(x->layout.room, threads);
}

/* ---- the format ---- */

static void close_part(dt_examples *base) {
    folder_part *x = (folder_part *)base;
    dt_paths_release(&x->base.paths);
    free(x->class);
    free(x->other);
}

static void name_elements(const dt_format_request *r, const dt_image_layout *l, folder_part *x) {
    const dt_tree *element = ((const struct image_folder *)r->args)->element;
    x->base.n = 2;
    x->base.stored = dt_arena_array(r->arena, dt_element_spec, 2);
    x->base.single = x->base.encoded = true;
    x->layout = *l;
    x->image = l->image;
    x->label = l->label;
    for (int e = 0; e < 2; e++)
        x->base.stored[e] =
            (dt_element_spec){.name = element->entry[e].key,
                              .type = e == l->image ? l->type : dt_type_of(DT_INT32, 0, NULL),
                              .at = r->tree->at,
                              .file = r->tree->text};
    x->base.stored[l->label].classes = l->num_classes;
}

/* Decodes the first picture, so that a wrong shape is reported before training. */
static dt_status *try_first(folder_part *x) {
    const dt_element_spec *e = &x->base.stored[x->image];
    void *room = dt_try_alloc((size_t)dt_type_bytes(&e->type)), *out[2] = {NULL, NULL};
    dt_read_buffer buffer = {0};
    out[x->image] = room;
    dt_status *s =
        room ? read_example(&x->base, 0, &buffer, out)
             : dt_fail(DT_E_NO_MEMORY, &e->at, "out of memory for an example of '%s'", e->name);
    dt_str_release(&buffer.bytes);
    free(room);
    return s;
}

/* Removes the pictures with faults; *n: their number, *first: what is wrong with the first. */
static void remove_broken(folder_part *x, dt_status *const *fault, int64_t *n, const char **first) {
    int kept = 0;
    for (int i = 0; i < x->base.paths.n; i++) {
        if (fault[i]) {
            if (!*first) *first = dt_status_text(fault[i]);
            free(x->base.paths.v[i]);
            ++*n;
            continue;
        }
        x->base.paths.v[kept] = x->base.paths.v[i];
        x->class[kept++] = x->class[i];
    }
    x->base.paths.n = kept;
    x->base.count = kept;
}

/* Leaves out the pictures that cannot be decoded. */
static dt_status *skip_broken(const dt_format_request *r, folder_part *x) {
    const int all = x->base.paths.n;
    dt_status **fault = dt_alloc((size_t)all * sizeof *fault);
    int64_t n = 0;
    const char *first = NULL;
    dt_status *s = dt_examples_check(&x->base, fault);
    if (!s) remove_broken(x, fault, &n, &first);
    if (!s && x->base.count == 0)
        s = dt_fail(DT_E_DATA_EMPTY, &r->tree->at, "%s: no picture can be read; the first: %s",
                    r->tree->text, first ? first : "");
    if (!s && n > 0)
        x->base.left_out =
            dt_arena_printf(r->arena, "%s: left out %lld of %d images, which cannot be read%s: %s",
                            r->tree->text, (long long)n, all, n > 1 ? "; the first" : "", first);
    for (int i = 0; i < all; i++) dt_status_free(fault[i]);
    free(fault);
    return s;
}

/* Adds the files that are not pictures to the text of the warning. */
static void count_others(const dt_format_request *r, folder_part *x) {
    const char *before = x->base.left_out;
    if (x->others == 0) return;
    x->base.left_out = dt_arena_printf(
        r->arena, "%s%s%s: left out %lld %s, such as %s", before ? before : "", before ? "; " : "",
        r->tree->text, (long long)x->others,
        x->others == 1 ? "file that is not an image" : "files that are not images", x->other);
}

/* The path of a picture; *what identifies it as "class/file", with the folders between them. */
static const char *source(const dt_examples *base, int64_t i, const char **what) {
    const folder_part *x = (const folder_part *)base;
    if (i >= x->base.paths.n) return NULL;
    const char *path = x->base.paths.v[i];
    *what = path + x->folder;
    return path;
}

static dt_status *whole(dt_examples *base, int e, const void **rows) {
    folder_part *x = (folder_part *)base;
    *rows = e == x->label ? x->class : NULL;
    return NULL;
}

static dt_status *open_part(const dt_format_request *r, dt_examples **out) {
    static const dt_example_reader reader = {.source = source,
                                             .whole = whole,
                                             .at = read_example,
                                             .decoding = decoding,
                                             .close = close_part};
    const struct image_folder *keys = r->args;
    dt_image_layout l;
    DT_TRY(dt_image_layout_read(r->arena, keys->element, &l));
    folder_part *x = dt_arena_new(r->arena, folder_part);
    x->stops = keys->on_error == STOP && !r->checks_all;
    *out = &x->base;
    x->base.reader = &reader;
    name_elements(r, &l, x);
    DT_TRY(find_pictures(r, &l, x));
    x->base.count = x->base.paths.n;
    if (keys->on_error == SKIP && !r->checks_all) DT_TRY(skip_broken(r, x));
    count_others(r, x);
    if (r->splits) spread(&l, x);
    return r->checks_all ? NULL : try_first(x);
}

const dt_format dt_format_image_folder = {
    .kind = {.name = "image_folder", .about = "image files, one folder per class"},
    .keys = {fields, sizeof(struct image_folder)},
    .sniff = dt_pictures_sniff,
    .open = dt_pictures_open,
    .check = check,
    .declare = declare,
    .open_part = open_part,
};
