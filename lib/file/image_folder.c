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
 * Pictures must have the rows and columns of the shape, and are converted to its channels. With
 * `interpolation: bilinear` (which gives float32) or `nearest` they may have any size and are
 * resized to it.
 *
 * Alternatively, pictures and masks, which have a class for each pixel, in two folders:
 *
 *       train: {image: data/street/images, mask: data/street/masks}
 *       element:
 *         image: {shape: [256, 256, 3], interpolation: bilinear}
 *         mask: {shape: [256, 256], num_classes: 3}
 *
 * A picture and its mask have the same path in their folders, except for the extension and the
 * mask's `suffix`.
 *
 * Classes and the order of examples are those of class_folders.h. Files in folders of a class's
 * folder belong to that class. Other files (notes.txt, Thumbs.db) are left out with a warning, and
 * hidden files are skipped. A picture that cannot be read is an error, because examples would be
 * missing without notice; `on_error: skip` decodes all pictures when the data set is opened and
 * leaves such pictures out, so the examples are known before training and do not depend on threads,
 * replicas or workers. The threads that read ahead decode a picture when its example is needed.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "file/class_folders.h"
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

/* Returns the folder that the part names for element number `e` of `element`; NULL: it names
 * none. */
static const dt_tree *folder_of(const dt_format_request *r, int e) {
    const dt_tree *element = ((const struct image_folder *)r->args)->element;
    return dt_given(dt_tree_get(r->tree, element->entry[e].key));
}

static dt_status *check_pair(const dt_format_request *r, const dt_tree *element, dt_texts *names) {
    const char *part = dt_part_name(r->part), *path;
    const char *image = element->entry[0].key, *mask = element->entry[1].key;
    dt_status *s = NULL;
    if (!r->tree || r->tree->kind != DT_TREE_MAP)
        return dt_fail(DT_E_DATASET_KEYS, r->tree ? &r->tree->at : r->at,
                       "'%s' must name a folder for each element: {%s: FOLDER, %s: FOLDER}", part,
                       image, mask);
    names->v = dt_arena_array(r->arena, const char *, r->tree->n);
    for (int i = 0; i < r->tree->n; i++) {
        const dt_entry *e = &r->tree->entry[i];
        if (strcmp(e->key, image) != 0 && strcmp(e->key, mask) != 0)
            dt_status_append(&s,
                             dt_fail(DT_E_DATASET_KEYS, &e->key_at,
                                     "%s names '%.80s', which is not in 'element'", part, e->key));
        dt_status_append(&s, dt_tree_text(e->value, e->key, &path));
        names->v[names->n++] = e->key;
    }
    for (int i = 0; i < 2; i++)
        if (!folder_of(r, i))
            dt_status_append(&s, dt_fail(DT_E_DATASET_KEYS, &r->tree->at,
                                         "%s lacks the folder of '%.80s'", part,
                                         element->entry[i].key));
    return s;
}

static dt_status *check(const dt_format_request *r, dt_texts *names) {
    const dt_tree *element = ((const struct image_folder *)r->args)->element;
    dt_image_layout l = {0};
    dt_status *s = element ? dt_image_layout_read(r->arena, element, &l) : NULL;
    if (s && r->part != DT_PART_TRAIN) { /* the error is reported once, for train */
        dt_status_free(s);
        return NULL;
    }
    if (s && r->tree && r->tree->kind == DT_TREE_MAP)
        return s; /* a map of folders is not checked without a valid layout */
    dt_status_append(&s, l.mask ? check_pair(r, element, names)
                                : dt_class_folders_check(r, "pictures", element, names));
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
                             .type = image     ? l->type
                                     : l->mask ? l->mask->type
                                               : dt_scalar_type(DT_INT32),
                             .at = entry->value->at,
                             .classes = image || l->mask ? 0 : l->num_classes,
                             .follows = image || !l->mask ? NULL : element->entry[l->image].key,
                             .own = l};
    return NULL;
}

/* ---- folders ---- */

typedef struct folder_part {
    dt_class_folders folders;
    int image;
    dt_image_layout layout;
    /* pictures of formats that cannot be read, and pictures without a mask, are errors when files
     * are listed */
    bool stops;
    int64_t others; /* number of files that are not pictures */
    char *other;    /* the first of them; NULL: none */
    char **mask;    /* path of each picture's mask, NULL if it has none; NULL: no masks are used */
    char *masks;    /* the folder of masks */
    int64_t unused; /* number of masks without a picture */
    char *other_mask; /* the first mask without a picture; NULL: none */
} folder_part;

static dt_status *refuse_other(const char *path) {
    return dt_suggest(
        dt_fail(DT_E_DATA_FILE, NULL, "%s: only " DT_IMAGE_FORMATS " images can be read", path),
        "convert it, or move it out of the folder");
}

static dt_status *list_pictures(dt_class_folders *folders, const char *folder) {
    folder_part *x = (folder_part *)folders;
    dt_paths *all = &folders->base.paths;
    int i = all->n;
    DT_TRY(dt_pictures_list(folder, all, &x->others, &x->other));
    for (; x->stops && i < all->n; i++)
        if (dt_image_is_other(all->v[i])) return refuse_other(all->v[i]);
    return NULL;
}

/* ---- matching pictures and masks ---- */

/* The name of a picture or mask: its path in the folder, without the extension. */
typedef struct mask_name {
    const char *name;
    size_t n;
    char **file; /* *file becomes NULL when a picture takes the mask */
} mask_name;

static mask_name name_of(char **file, size_t root) {
    const char *name = *file + root, *dot;
    name += strspn(name, "/");
    dot = strrchr(name, '.');
    return (mask_name){name, dot ? (size_t)(dot - name) : strlen(name), file};
}

static int compare_names(const void *a, const void *b) {
    const mask_name *x = a, *y = b;
    const int order = memcmp(x->name, y->name, x->n < y->n ? x->n : y->n);
    return order ? order : (x->n > y->n) - (x->n < y->n);
}

/* Sorts the masks by name; two with the same name are an error. */
static dt_status *sort_masks(dt_paths *masks, size_t root, mask_name *out) {
    for (int i = 0; i < masks->n; i++) out[i] = name_of(&masks->v[i], root);
    qsort(out, (size_t)masks->n, sizeof *out, compare_names);
    for (int i = 1; i < masks->n; i++)
        if (compare_names(&out[i - 1], &out[i]) == 0)
            return dt_fail(DT_E_DATA_FILE, NULL, "%s and %s are masks of the same image",
                           *out[i - 1].file, *out[i].file);
    return NULL;
}

/* Moves the mask of each picture from `masks` to x->mask. */
static dt_status *match_masks(folder_part *x, dt_paths *masks) {
    const dt_paths *images = &x->folders.base.paths;
    DT_LOCAL mask_name *sorted = dt_alloc(dt_size_mul((size_t)masks->n + 1, sizeof *sorted));
    dt_status *s = sort_masks(masks, strlen(x->masks), sorted);
    dt_local_str wanted = {0};
    x->mask = dt_alloc(dt_size_mul((size_t)images->n + 1, sizeof *x->mask));
    for (int i = 0; i < images->n && !s; i++) {
        const mask_name image = name_of(&images->v[i], x->folders.root);
        dt_str_clear(&wanted);
        dt_str_add(&wanted, image.name, image.n);
        dt_str_puts(&wanted, x->layout.mask->suffix);
        const mask_name key = {dt_str_text(&wanted), wanted.size, NULL};
        const mask_name *found =
            bsearch(&key, sorted, (size_t)masks->n, sizeof *sorted, compare_names);
        if (!found) continue;
        x->mask[i] = *found->file;
        if (!x->mask[i])
            s = dt_fail(DT_E_DATA_FILE, NULL, "%s: another image has the same mask", images->v[i]);
        *found->file = NULL;
    }
    return s;
}

/* Fails if some pictures have no mask; the message names the first five of them. */
static dt_status *check_masks(const folder_part *x, const char *images, const char *masks) {
    enum { LISTED = 5 };
    const dt_examples *base = &x->folders.base;
    dt_local_str list = {0};
    int n = 0;
    for (int i = 0; i < base->paths.n; i++) {
        if (x->mask[i] || n++ >= LISTED) continue;
        const char *name = base->paths.v[i] + x->folders.root;
        dt_str_printf(&list, "%s%s", n > 1 ? ", " : "", name + strspn(name, "/"));
    }
    dt_status *s = NULL;
    if (n > 0)
        s = dt_suggest(dt_fail(DT_E_DATA_FILE, NULL, "%s: %d of %d images have no mask in %s: %s%s",
                               images, n, base->paths.n, masks, dt_str_text(&list),
                               n > LISTED ? ", ..." : ""),
                       "on_error: skip leaves them out; 'suffix' of the mask says how its name "
                       "differs from the image's");
    return s;
}

/* Finds pictures and their masks. */
static dt_status *find_pairs(const dt_format_request *r, folder_part *x) {
    const dt_tree *image = folder_of(r, x->image), *mask = folder_of(r, x->folders.label);
    DT_LOCAL char *root = dt_path_join(r->directory, image->text);
    dt_paths masks = {0};
    x->masks = dt_path_join(r->directory, mask->text);
    x->folders.root = strlen(root);
    dt_status *s = dt_at(list_pictures(&x->folders, root), &image->at);
    if (!s) s = dt_at(dt_pictures_list(x->masks, &masks, &x->others, &x->other), &mask->at);
    if (!s) s = dt_at(match_masks(x, &masks), &mask->at);
    if (!s && x->stops) s = dt_at(check_masks(x, image->text, mask->text), &mask->at);
    if (!s && x->folders.base.paths.n == 0)
        s = dt_fail(DT_E_DATA_EMPTY, &image->at, "%s: no pictures", image->text);
    x->folders.base.count = x->folders.base.paths.n;
    for (int i = 0; i < masks.n; i++)
        if (masks.v[i] && x->unused++ == 0) x->other_mask = dt_strdup(masks.v[i]);
    dt_paths_release(&masks);
    return s;
}

/* ---- pictures ---- */

static dt_status *read_mask(const folder_part *x, int64_t row, dt_read_buffer *buffer, void *out) {
    const dt_element_spec *mask = &x->folders.base.stored[x->folders.label];
    const dt_image_name name = {x->mask[row], mask->name};
    if (!name.path)
        return dt_fail(DT_E_DATA_FILE, &mask->at, "%s: has no mask in %s",
                       x->folders.base.paths.v[row], x->masks);
    DT_TRY(dt_at(dt_file_read(name.path, LARGEST_FILE, &buffer->bytes), &mask->at));
    buffer->fetched_ns = dt_now_ns();
    return dt_at(
        dt_image_fit(x->layout.mask, &name, dt_str_text(&buffer->bytes), buffer->bytes.size, out),
        &mask->at);
}

static dt_status *read_example(dt_examples *base, int64_t row, dt_read_buffer *buffer,
                               void *const *out) {
    folder_part *x = (folder_part *)base;
    const dt_element_spec *image = &base->stored[x->image];
    const dt_image_name name = {base->paths.v[row], image->name};
    if (x->mask && out[x->folders.label]) DT_TRY(read_mask(x, row, buffer, out[x->folders.label]));
    else if (out[x->folders.label])
        memcpy(out[x->folders.label], &x->folders.class[row], sizeof x->folders.class[row]);
    if (!out[x->image]) return NULL;
    DT_TRY(dt_at(dt_file_read(name.path, LARGEST_FILE, &buffer->bytes), &image->at));
    buffer->fetched_ns = dt_now_ns();
    return dt_at(dt_image_fit(&x->layout, &name, dt_str_text(&buffer->bytes), buffer->bytes.size,
                              out[x->image]),
                 &image->at);
}

/* Returns the number of bytes for decoding, if all pictures are as large as the largest one decoded
 * so far. */
static int64_t decoding(const dt_examples *base, int threads) {
    const folder_part *x = (const folder_part *)base;
    return dt_image_room_bytes(x->layout.room, threads);
}

/* ---- parts, and the format ---- */

/* Returns the path of file number i: of the pictures, then of the masks; NULL after the last. */
static const char *source(const dt_examples *base, int64_t i, const char **what) {
    const folder_part *x = (const folder_part *)base;
    const int64_t n = base->paths.n;
    if (i < n || !x->mask || i >= 2 * n) return dt_class_folders_source(base, i, what);
    *what = base->stored[x->folders.label].name;
    return x->mask[i - n];
}

static void close_part(dt_examples *base) {
    folder_part *x = (folder_part *)base;
    for (int i = 0; x->mask && i < base->paths.n; i++) free(x->mask[i]);
    free(x->mask);
    free(x->masks);
    free(x->other_mask);
    free(x->other);
    dt_class_folders_close(base);
}

static void name_elements(const dt_format_request *r, const dt_image_layout *l, folder_part *x) {
    const dt_tree *element = ((const struct image_folder *)r->args)->element;
    dt_examples *base = &x->folders.base;
    base->n = 2;
    base->stored = dt_arena_array(r->arena, dt_element_spec, 2);
    base->single = base->encoded = true;
    x->layout = *l;
    x->image = l->image;
    x->folders.label = l->label;
    for (int e = 0; e < 2; e++) {
        const dt_tree *folder = l->mask ? folder_of(r, e) : r->tree;
        base->stored[e] = (dt_element_spec){.name = element->entry[e].key,
                                            .type = e == l->image ? l->type
                                                    : l->mask     ? l->mask->type
                                                                  : dt_scalar_type(DT_INT32),
                                            .at = folder->at,
                                            .file = folder->text};
    }
    if (l->mask) base->stored[l->label].follows = base->stored[l->image].name;
    else base->stored[l->label].classes = l->num_classes;
}

/* Removes the pictures with faults; *n: their number, *first: what is wrong with the first. */
static void remove_broken(folder_part *part, dt_status *const *fault, int64_t *n,
                          const char **first) {
    dt_class_folders *x = &part->folders;
    int kept = 0;
    for (int i = 0; i < x->base.paths.n; i++) {
        if (fault[i]) {
            if (!*first) *first = dt_status_text(fault[i]);
            free(x->base.paths.v[i]);
            if (part->mask) free(part->mask[i]);
            ++*n;
            continue;
        }
        x->base.paths.v[kept] = x->base.paths.v[i];
        if (part->mask) part->mask[kept++] = part->mask[i];
        else x->class[kept++] = x->class[i];
    }
    x->base.paths.n = x->n = kept;
    x->base.count = kept;
}

/* Decodes all pictures and masks. Leaves out each picture that cannot be decoded, or whose mask
 * cannot be decoded or is missing; base.left_out becomes the warning about them. Fails if no
 * picture is left. */
static dt_status *skip_broken(const dt_format_request *r, folder_part *part) {
    dt_class_folders *x = &part->folders;
    const char *name = x->base.stored[part->image].file;
    const int all = x->base.paths.n;
    DT_LOCAL dt_status **fault = dt_alloc((size_t)all * sizeof *fault);
    int64_t n = 0;
    const char *first = NULL;
    dt_status *s = dt_examples_check(&x->base, fault);
    if (!s) remove_broken(part, fault, &n, &first);
    if (!s && x->base.count == 0)
        s = dt_fail(DT_E_DATA_EMPTY, &r->tree->at, "%s: no picture can be read; the first: %s",
                    name, first ? first : "");
    if (!s && n > 0)
        x->base.left_out = dt_arena_printf(
            r->arena, "%s: left out %lld of %d images, which cannot be read%s%s: %s", name,
            (long long)n, all, part->mask ? " or have no mask" : "", n > 1 ? "; the first" : "",
            first);
    for (int i = 0; i < all; i++) dt_status_free(fault[i]);
    return s;
}

/* Adds files that are left out to the text of the warning. */
static void add_left_out(const dt_format_request *r, folder_part *x, int64_t n, const char *what,
                         const char *first) {
    dt_examples *base = &x->folders.base;
    const char *before = base->left_out;
    if (n == 0) return;
    base->left_out =
        dt_arena_printf(r->arena, "%s%s%s: left out %lld %s, such as %s", before ? before : "",
                        before ? "; " : "", base->stored[x->image].file, (long long)n, what, first);
}

static dt_status *open_part(const dt_format_request *r, dt_examples **out) {
    static const dt_example_reader reader = {.source = source,
                                             .whole = dt_class_folders_whole,
                                             .at = read_example,
                                             .decoding = decoding,
                                             .close = close_part};
    const struct image_folder *keys = r->args;
    dt_image_layout l;
    DT_TRY(dt_image_layout_read(r->arena, keys->element, &l));
    folder_part *x = dt_arena_new(r->arena, folder_part);
    x->stops = keys->on_error == STOP && !r->checks_all;
    *out = &x->folders.base;
    (*out)->reader = &reader;
    name_elements(r, &l, x);
    const dt_class_query q = {.files = "pictures", .classes = l.num_classes, .list = list_pictures};
    DT_TRY(l.mask ? find_pairs(r, x) : dt_class_folders_find(r, &q, &x->folders));
    if (keys->on_error == SKIP && !r->checks_all) DT_TRY(skip_broken(r, x));
    add_left_out(r, x, x->others,
                 x->others == 1 ? "file that is not an image" : "files that are not images",
                 x->other);
    add_left_out(r, x, x->unused,
                 x->unused == 1 ? "mask without an image" : "masks without an image",
                 x->other_mask);
    if (r->checks_all) return NULL;
    if (r->splits && !l.mask) dt_class_folders_spread(&x->folders, l.num_classes);
    DT_TRY(dt_class_folders_try(&x->folders, x->image));
    return l.mask ? dt_class_folders_try(&x->folders, x->folders.label) : NULL;
}

const dt_format dt_format_image_folder = {
    .kind = {.name = "image_folder",
             .about = "image files, one folder per class",
             .fields = fields,
             .size = sizeof(struct image_folder)},
    .sniff = dt_pictures_sniff,
    .open = dt_pictures_open,
    .check = check,
    .declare = declare,
    .open_part = open_part,
};
