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

static dt_status *check(const dt_format_request *r, dt_texts *names) {
    const dt_tree *element = ((const struct image_folder *)r->args)->element;
    dt_image_layout ignored;
    dt_status *s = dt_class_folders_check(r, "pictures", element, names);
    if (element && r->part == DT_PART_TRAIN) /* checked once, for train */
        dt_status_append(&s, dt_image_layout_read(r->arena, element, &ignored));
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
    dt_class_folders folders;
    int image;
    dt_image_layout layout;
    bool stops;     /* a picture of an unknown format is an error at once */
    int64_t others; /* files that are not pictures */
    char *other;    /* the first of them; NULL: none */
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

/* ---- pictures ---- */

static dt_status *read_example(dt_examples *base, int64_t row, dt_read_buffer *buffer,
                               void *const *out) {
    folder_part *x = (folder_part *)base;
    const dt_element_spec *image = &base->stored[x->image];
    const dt_image_name name = {base->paths.v[row], image->name};
    if (out[x->folders.label])
        memcpy(out[x->folders.label], &x->folders.class[row], sizeof x->folders.class[row]);
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
    dt_class_folders_close(base);
    free(((folder_part *)base)->other);
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
    for (int e = 0; e < 2; e++)
        base->stored[e] =
            (dt_element_spec){.name = element->entry[e].key,
                              .type = e == l->image ? l->type : dt_type_of(DT_INT32, 0, NULL),
                              .at = r->tree->at,
                              .file = r->tree->text};
    base->stored[l->label].classes = l->num_classes;
}

/* Removes the pictures with faults; *n: their number, *first: what is wrong with the first. */
static void remove_broken(dt_class_folders *x, dt_status *const *fault, int64_t *n,
                          const char **first) {
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
    x->base.paths.n = x->n = kept;
    x->base.count = kept;
}

/* Leaves out the pictures that cannot be decoded. */
static dt_status *skip_broken(const dt_format_request *r, dt_class_folders *x) {
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
    dt_examples *base = &x->folders.base;
    const char *before = base->left_out;
    if (x->others == 0) return;
    base->left_out = dt_arena_printf(
        r->arena, "%s%s%s: left out %lld %s, such as %s", before ? before : "", before ? "; " : "",
        r->tree->text, (long long)x->others,
        x->others == 1 ? "file that is not an image" : "files that are not images", x->other);
}

static dt_status *open_part(const dt_format_request *r, dt_examples **out) {
    static const dt_example_reader reader = {.source = dt_class_folders_source,
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
    DT_TRY(dt_class_folders_find(r, &q, &x->folders));
    if (keys->on_error == SKIP && !r->checks_all) DT_TRY(skip_broken(r, &x->folders));
    count_others(r, x);
    if (r->splits && !r->checks_all) dt_class_folders_spread(&x->folders, l.num_classes);
    return r->checks_all ? NULL : dt_class_folders_try(&x->folders, x->image);
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
