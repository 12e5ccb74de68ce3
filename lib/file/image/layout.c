/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the elements of image_folder from the job; see layout.h. */
#include "file/image/layout.h"

#include <string.h>

#define LARGEST_EXAMPLE ((int64_t)1 << 30)

static const char *const dtype_names[] = {"uint8", "float32", NULL};
enum { AS_THEY_ARE, BILINEAR, NEAREST };
static const char *const interpolations[] = {"none", "bilinear", "nearest", NULL};

/* limited because masks are stored as bytes */
enum { MOST_CLASSES = 256 };

struct element {
    dt_ints shape;
    dt_items colors; /* a dt_ints for each class */
    dt_location colors_at;
    const char *suffix;
    int dtype, interpolation;
    bool has_dtype, crop_to_aspect_ratio, exif;
    int64_t num_classes; /* number of classes of a label or a mask; 0: the element is the picture */
};

const dt_field dt_image_element_fields[] = {
    DT_INTS(struct element, shape, .min = 1, .max = 1 << 24,
            .help = "shape of an image: [rows, columns, channels] with 1, 3 or 4 channels, or "
                    "[rows, columns] for grey"),
    DT_ENUM(struct element, dtype, dtype_names, .set = 1 + offsetof(struct element, has_dtype),
            .help = "dtype of an image"),
    DT_ENUM(struct element, interpolation, interpolations,
            .help = "how to resize images to shape: bilinear or nearest; none: all images must "
                    "have that size"),
    DT_FLAG(struct element, crop_to_aspect_ratio, .preset = "false",
            .help = "with interpolation: crop instead of distorting"),
    DT_FLAG(struct element, exif, .preset = "true",
            .help = "turn images upright as their Exif orientation says; false: leave them as "
                    "stored, like Keras"),
    DT_INT(struct element, num_classes, .min = 1, .max = 1 << 24,
           .help = "marks the label; labels are in [0, num_classes). With a shape: marks the mask, "
                   "which has a class for each pixel"),
    DT_FIELD(ONE_OF, struct element, colors, DT_AT(struct element, colors_at),
             .forms = DT_FORMS(DT_LIST_AS(
                 dt_ints, DT_FORM(DT_FIELD_INTS, .max = 255, .lone = true, .noun = "colors"))),
             .help = "of a mask: the color of each class, [red, green, blue] or a grey; default: "
                     "masks hold class numbers, as palettes or grey"),
    DT_TEXT(struct element, suffix,
            .help = "of a mask: what follows the name of its image: _mask for a.jpg and "
                    "a_mask.png"),
    DT_END};

static dt_status *check_shape(const dt_entry *e, const struct element *x) {
    const dt_ints *s = &x->shape;
    bool fits = s->n == 2 || (s->n == 3 && (s->v[2] == 1 || s->v[2] == 3 || s->v[2] == 4));
    if (!fits)
        return dt_fail(DT_E_DATASET_KEYS, &e->value->at,
                       "'%s' must have a shape [rows, columns, channels] with 1, 3 or 4 channels",
                       e->key);
    dt_type type = dt_type_of(DT_UINT8, s->n, s->v);
    if (dt_type_bytes(&type) > LARGEST_EXAMPLE)
        return dt_fail(DT_E_DATASET_KEYS, &e->value->at,
                       "'%s': an example may not exceed %lld bytes", e->key,
                       (long long)LARGEST_EXAMPLE);
    return NULL;
}

static dt_status *check_dtype(const dt_entry *e, const struct element *x) {
    dt_dtype made = x->interpolation == BILINEAR ? DT_FLOAT32 : DT_UINT8,
             stated = x->dtype == 1 ? DT_FLOAT32 : DT_UINT8;
    if (!x->has_dtype || stated == made) return NULL;
    return dt_fail(DT_E_DATASET_KEYS, &e->value->at,
                   "'%s' is %s with interpolation %s; cast it in map", e->key, dt_dtype_name(made),
                   interpolations[x->interpolation]);
}

/* ---- masks ---- */

/* Sets the colors of the classes, if the job lists them. Each is [red, green, blue], or a single
 * number for all three. */
static dt_status *set_colors(dt_arena *arena, const dt_entry *e, const struct element *x,
                             dt_image_layout *mask) {
    const dt_ints *given = x->colors.v;
    const int n = x->colors.n;
    if (!x->colors.entry) return NULL;
    if (n != x->num_classes)
        return dt_fail(DT_E_DATASET_KEYS, &x->colors_at,
                       "'%s' has %lld classes, but 'colors' lists %d", e->key,
                       (long long)x->num_classes, n);
    uint8_t(*color)[3] = dt_arena_alloc(arena, sizeof *color * (size_t)n);
    for (int i = 0; i < n; i++) {
        const dt_location *at = &x->colors.entry[i].value->at;
        if (!given[i].lone && given[i].n != 3)
            return dt_fail(DT_E_DATASET_KEYS, at, "a color is [red, green, blue], got %d numbers",
                           given[i].n);
        for (int k = 0; k < 3; k++) color[i][k] = (uint8_t)given[i].v[given[i].lone ? 0 : k];
        for (int k = 0; k < i; k++)
            if (memcmp(color[i], color[k], sizeof *color) == 0)
                return dt_fail(DT_E_DATASET_KEYS, at, "class %d has the color of class %d", i, k);
    }
    mask->color = (const uint8_t(*)[3])color;
    mask->n_colors = n;
    return NULL;
}

static dt_status *read_mask(dt_arena *arena, const dt_entry *e, const struct element *x,
                            dt_image_layout *out) {
    const dt_ints *s = &x->shape;
    if (!(s->n == 2 || (s->n == 3 && s->v[2] == 1)) || x->num_classes > MOST_CLASSES)
        return dt_fail(DT_E_DATASET_KEYS, &e->value->at,
                       "'%s' has a shape and num_classes, so it is a mask: it needs a shape [rows, "
                       "columns] and at most %d classes",
                       e->key, MOST_CLASSES);
    if (x->interpolation == BILINEAR || x->crop_to_aspect_ratio || x->dtype == 1)
        return dt_fail(DT_E_DATASET_KEYS, &e->value->at,
                       "'%s' is a mask of class numbers: it is uint8, and resized as its image "
                       "is, but to the nearest pixel",
                       e->key);
    dt_image_layout *mask = dt_arena_new(arena, dt_image_layout);
    *mask = (dt_image_layout){.type = dt_type_of(DT_UINT8, s->n, s->v),
                              .interpolation = DT_NEAREST,
                              .as_stored = !x->exif,
                              .num_classes = x->num_classes,
                              .room = out->room,
                              .suffix = x->suffix ? x->suffix : ""};
    out->mask = mask;
    return set_colors(arena, e, x, mask);
}

/* Checks that the mask has as many rows and columns as its image, and copies `resizes` and `crop`
 * from the image. */
static dt_status *join_mask(const dt_tree *element, dt_image_layout *l) {
    const dt_entry *e = &element->entry[l->label];
    if (l->mask->type.dim[0] != l->type.dim[0] || l->mask->type.dim[1] != l->type.dim[1])
        return dt_suggest(dt_fail(DT_E_DATASET_KEYS, &e->value->at,
                                  "'%s' must have the rows and columns of '%s', %lld x %lld",
                                  e->key, element->entry[l->image].key, (long long)l->type.dim[0],
                                  (long long)l->type.dim[1]),
                          "'resize' in dataset.map changes them");
    l->mask->resizes = l->resizes;
    l->mask->crop = l->crop;
    return NULL;
}

/* ---- elements ---- */

static dt_status *read_element(dt_arena *arena, const dt_tree *element, int i,
                               dt_image_layout *out) {
    const dt_entry *e = &element->entry[i];
    struct element x;
    DT_TRY(dt_tree_expect(e->value, DT_TREE_MAP, e->key));
    DT_TRY(dt_fields_read(arena, dt_image_element_fields, e->value, &e->value->at, e->key, &x));
    const bool is_mask = x.num_classes > 0 && x.shape.n > 0;
    if ((x.colors.entry || x.suffix) && !is_mask)
        return dt_fail(DT_E_DATASET_KEYS, &e->value->at,
                       "'%s': %s belongs to a mask, which has a shape and num_classes", e->key,
                       x.colors.entry ? "colors" : "suffix");
    if (x.num_classes > 0) {
        out->label = i;
        out->num_classes = x.num_classes;
        return is_mask ? read_mask(arena, e, &x, out) : NULL;
    }
    DT_TRY(check_shape(e, &x));
    DT_TRY(check_dtype(e, &x));
    out->image = i;
    out->type =
        dt_type_of(x.interpolation == BILINEAR ? DT_FLOAT32 : DT_UINT8, x.shape.n, x.shape.v);
    out->resizes = x.interpolation != AS_THEY_ARE;
    out->interpolation = x.interpolation == NEAREST ? DT_NEAREST : DT_BILINEAR;
    out->as_stored = !x.exif;
    out->crop = x.crop_to_aspect_ratio;
    return NULL;
}

dt_status *dt_image_layout_read(dt_arena *arena, const dt_tree *element, dt_image_layout *out) {
    dt_status *s = NULL;
    *out = (dt_image_layout){.image = -1, .label = -1, .room = dt_image_room_create(arena)};
    DT_TRY(dt_tree_expect(element, DT_TREE_MAP, "element"));
    for (int i = 0; i < element->n; i++) dt_status_append(&s, read_element(arena, element, i, out));
    if (!s && (element->n != 2 || out->image < 0 || out->label < 0))
        return dt_fail(
            DT_E_DATASET_KEYS, &element->at,
            "a folder of pictures has two elements, one with a shape and one with num_classes");
    return !s && out->mask ? join_mask(element, out) : s;
}
