/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the elements of image_folder from the job; see layout.h. */
#include "file/image/layout.h"

#define LARGEST_EXAMPLE ((int64_t)1 << 30)

static const char *const dtype_names[] = {"uint8", "float32", NULL};
enum { AS_THEY_ARE, BILINEAR, NEAREST };
static const char *const interpolations[] = {"none", "bilinear", "nearest", NULL};

struct element {
    dt_ints shape;
    int dtype, interpolation;
    bool has_dtype, crop_to_aspect_ratio, exif;
    int64_t num_classes; /* 0: the element is the picture, not the label */
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
           .help = "marks the label; labels are in [0, num_classes)"),
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

static dt_status *read_element(dt_arena *arena, const dt_tree *element, int i,
                               dt_image_layout *out) {
    const dt_entry *e = &element->entry[i];
    struct element x;
    DT_TRY(dt_tree_expect(e->value, DT_TREE_MAP, e->key));
    DT_TRY(dt_fields_read(arena, dt_image_element_fields, e->value, &e->value->at, e->key, &x));
    if (x.num_classes > 0 && x.shape.n > 0)
        return dt_fail(
            DT_E_DATASET_KEYS, &e->value->at,
            "'%s' has a shape, so it is the picture, and num_classes, so it is the label", e->key);
    if (x.num_classes > 0) {
        out->label = i;
        out->num_classes = x.num_classes;
        return NULL;
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
    return s;
}
