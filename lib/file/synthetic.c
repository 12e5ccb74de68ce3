/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Examples generated from (seed, part, index), for trying things out without files:
 *
 *     dataset:
 *       format: synthetic
 *       examples: 10000
 *       validation: 1000              # number of examples; or give validation_split
 *       element:
 *         image: {shape: [784], dtype: float32}
 *         label: {num_classes: 10}
 *
 * An element with num_classes is a label, uniformly distributed. Every other element is the
 * template of its class plus noise, so that the label can be learned from it; the class is the
 * first value of the first label. Without a label there is one class. Template values are uniform
 * in [-0.5, 0.5), noise in [-1, 1). Integers are 64 times the sum; unsigned ones are centred at
 * 128. A bool says whether the sum is at least 0. Nothing is stored: a row is generated again each
 * time it is read.
 */
#include <string.h>

#include "base/random.h"
#include "base/hash.h"
#include "file/examples.h"

#define LARGEST_EXAMPLE ((int64_t)1 << 30)

enum { BLOCK = 16 }; /* bytes of a Philox block, one for each value */

struct synthetic {
    int64_t examples;
    const dt_tree *element;
};

/* ---- the job's keys ---- */

static const char *const dtype_names[] = {"bool",  "uint8",   "int8",    "int16", "int32",
                                          "int64", "float32", "float64", NULL};

struct element {
    dt_ints shape;
    int dtype;
    bool has_dtype;
    int64_t num_classes; /* number of classes; 0: the element is not a label */
};

static const dt_field element_fields[] = {
    DT_INTS(struct element, shape, .min = 1, .max = 1e12,
            .help = "shape of one example; default: [], a single value"),
    DT_ENUM(struct element, dtype, dtype_names, .preset = "float32",
            .set = 1 + offsetof(struct element, has_dtype),
            .help = "dtype; default: float32, or int32 for labels"),
    DT_INT(struct element, num_classes, .min = 1, .max = 1 << 24,
           .help = "marks a label; labels are in [0, num_classes)"),
    DT_END};

static const dt_field fields[] = {
    DT_INT(struct synthetic, examples, .min = 1, .max = 1e12, .required = true,
           .help = "number of training examples"),
    DT_ELEMENTS(struct synthetic, element_fields,
                .help = "elements: {name: {shape, dtype}} or {name: {num_classes}} for labels"),
    DT_END};

/* Whether the largest label fits the dtype. */
static bool holds(dt_dtype d, int64_t num_classes) {
    static const int64_t most[] = {
        [DT_BOOL] = 1,          [DT_UINT8] = UINT8_MAX, [DT_INT8] = INT8_MAX,
        [DT_INT16] = INT16_MAX, [DT_INT32] = INT32_MAX, [DT_INT64] = INT64_MAX,
        [DT_FLOAT32] = -1,      [DT_FLOAT64] = -1};
    return num_classes == 0 || num_classes - 1 <= most[d];
}

static dt_status *check_element(const dt_entry *e, const struct element *x, const dt_type *t) {
    if (!holds(t->dtype, x->num_classes))
        return dt_fail(DT_E_DATASET_KEYS, &e->value->at, "'%s': %lld classes do not fit %s", e->key,
                       (long long)x->num_classes, dt_dtype_name(t->dtype));
    if (dt_type_bytes(t) > LARGEST_EXAMPLE)
        return dt_fail(DT_E_DATASET_KEYS, &e->value->at,
                       "'%s': an example may not exceed %lld bytes", e->key,
                       (long long)LARGEST_EXAMPLE);
    return NULL;
}

static dt_status *read_element(dt_arena *arena, const dt_entry *e, dt_type *type,
                               int64_t *num_classes) {
    struct element x;
    DT_TRY(dt_tree_expect(e->value, DT_TREE_MAP, e->key));
    DT_TRY(dt_fields_read(arena, element_fields, e->value, &e->value->at, e->key, &x));
    if (x.shape.n > DT_MAX_RANK - 1)
        return dt_fail(DT_E_DATASET_KEYS, &e->value->at, "'%s' has %d dimensions; at most %d",
                       e->key, x.shape.n, DT_MAX_RANK - 1);
    dt_dtype d = x.num_classes > 0 && !x.has_dtype ? DT_INT32 : (dt_dtype)x.dtype;
    *type = dt_type_of(d, x.shape.n, x.shape.v);
    *num_classes = x.num_classes;
    return check_element(e, &x, type);
}

static dt_status *declare(dt_arena *arena, const dt_entry *entry, const dt_tree *keys,
                          dt_element_spec *out) {
    (void)keys;
    *out = (dt_element_spec){.name = entry->key, .at = entry->value->at, .file = "synthetic data"};
    return read_element(arena, entry, &out->type, &out->classes);
}

/* Gets the number of examples in a part, such as `validation: 1000`; for train, `examples`. */
static dt_status *read_count(const dt_format_request *r, int64_t *count) {
    const struct synthetic *a = r->args;
    if (r->part == DT_PART_TRAIN && r->tree)
        return dt_fail(DT_E_DATASET_KEYS, &r->tree->at,
                       "synthetic data has no 'train'; set 'examples' to the number to generate");
    if (r->part == DT_PART_TRAIN) {
        *count = a->examples;
        return NULL;
    }
    return dt_tree_int(r->tree, dt_part_name(r->part), 1, 1e12, count);
}

static dt_status *check(const dt_format_request *r, dt_texts *names) {
    const struct synthetic *a = r->args;
    int64_t count, num_classes;
    dt_type type;
    dt_status *s = read_count(r, &count);
    if (!a->element) return s;
    dt_status_append(&s, dt_tree_expect(a->element, DT_TREE_MAP, "element"));
    int n = a->element->kind == DT_TREE_MAP ? a->element->n : 0;
    names->v = dt_arena_array(r->arena, const char *, n);
    for (int i = 0; i < n; i++) {
        names->v[names->n++] = a->element->entry[i].key;
        if (r->part == DT_PART_TRAIN) /* checked only once, for train */
            dt_status_append(&s,
                             read_element(r->arena, &a->element->entry[i], &type, &num_classes));
    }
    if (a->element->kind == DT_TREE_MAP && n == 0)
        dt_status_append(&s, dt_fail(DT_E_DATASET_KEYS, &a->element->at,
                                     "'element' must name at least one element"));
    return s;
}

/* ---- generating values, and the format ---- */

typedef struct synthetic_part {
    dt_examples base;
    uint64_t part_key, seed;
    int label;            /* index of the first label; -1: there is none */
    int64_t *num_classes; /* [n] number of classes; 0: the element is not a label */
} synthetic_part;

/* Returns the key of a random stream for a purpose, an element, a part (0: shared by all parts),
 * and a row or class; the stream gives 16 bytes per block. */
static uint64_t stream_key(const synthetic_part *x, const char *purpose, int e, uint64_t part,
                           uint64_t row) {
    uint32_t word[4];
    dt_philox(x->seed ^ dt_name_hash(purpose), part + dt_name_hash(x->base.stored[e].name), row,
              word);
    return word[0] | (uint64_t)word[1] << 32;
}

static int64_t draw_label(const synthetic_part *x, int e, int64_t row, int64_t i) {
    uint32_t word[4];
    dt_philox(stream_key(x, "synthetic label", e, x->part_key, (uint64_t)row), (uint64_t)i, 0,
              word);
    return (int64_t)((word[0] | (uint64_t)word[1] << 32) % (uint64_t)x->num_classes[e]);
}

static void put(dt_dtype d, void *out, int64_t i, double value) {
    switch (d) {
    case DT_BOOL: ((uint8_t *)out)[i] = value >= 0; break;
    case DT_UINT8: ((uint8_t *)out)[i] = (uint8_t)(128 + 64 * value); break;
    case DT_INT8: ((int8_t *)out)[i] = (int8_t)(64 * value); break;
    case DT_INT16: ((int16_t *)out)[i] = (int16_t)(64 * value); break;
    case DT_INT32: ((int32_t *)out)[i] = (int32_t)(64 * value); break;
    case DT_INT64: ((int64_t *)out)[i] = (int64_t)(64 * value); break;
    case DT_FLOAT32: ((float *)out)[i] = (float)value; break;
    case DT_FLOAT64: ((double *)out)[i] = value; break;
    default: /* other dtypes are refused before */ break;
    }
}

static void put_label(dt_dtype d, void *out, int64_t i, int64_t value) {
    switch (dt_dtype_size(d)) {
    case 1: ((uint8_t *)out)[i] = (uint8_t)value; break;
    case 2: ((int16_t *)out)[i] = (int16_t)value; break;
    case 4: ((int32_t *)out)[i] = (int32_t)value; break;
    default: ((int64_t *)out)[i] = value;
    }
}

/* Generates the values of an element in a row. Before they are converted to its dtype, they are
 * multiples of 1/256 in [-1.5, 1.5), which every float dtype represents exactly. */
static void draw_features(const synthetic_part *x, int e, int64_t row, int64_t n, void *out) {
    int64_t class = x->label < 0 ? 0 : draw_label(x, x->label, row, 0);
    uint64_t template = stream_key(x, "synthetic template", e, 0, (uint64_t) class);
    uint64_t noise = stream_key(x, "synthetic noise", e, x->part_key, (uint64_t)row);
    for (int64_t i = 0; i < n; i += BLOCK) {
        uint32_t a[4], b[4];
        int8_t t[BLOCK], z[BLOCK];
        dt_philox(template, (uint64_t)i, 0, a);
        dt_philox(noise, (uint64_t)i, 0, b);
        memcpy(t, a, BLOCK);
        memcpy(z, b, BLOCK);
        for (int64_t j = 0; j < BLOCK && i + j < n; j++)
            put(x->base.stored[e].type.dtype, out, i + j, t[j] / 256.0 + z[j] / 128.0);
    }
}

static void draw_row(const synthetic_part *x, int e, int64_t row, void *out) {
    const dt_type *t = &x->base.stored[e].type;
    int64_t n = dt_type_elements(t);
    if (x->num_classes[e] == 0) draw_features(x, e, row, n, out);
    else
        for (int64_t i = 0; i < n; i++) put_label(t->dtype, out, i, draw_label(x, e, row, i));
}

static dt_status *read_example(dt_examples *base, int64_t row, dt_read_buffer *buffer,
                               void *const *out) {
    (void)buffer;
    for (int e = 0; e < base->n; e++)
        if (out[e]) draw_row((const synthetic_part *)base, e, row, out[e]);
    return NULL;
}

static dt_status *open_part(const dt_format_request *r, dt_examples **out) {
    static const dt_example_reader reader = {.at = read_example};
    const dt_tree *e = ((const struct synthetic *)r->args)->element;
    synthetic_part *x = dt_arena_new(r->arena, synthetic_part);
    *x = (synthetic_part){.base = {.reader = &reader, .n = e->n},
                          .part_key = dt_name_hash(dt_part_name(r->part)),
                          .seed = r->seed,
                          .label = -1};
    x->base.stored = dt_arena_array(r->arena, dt_element_spec, e->n);
    x->num_classes = dt_arena_array(r->arena, int64_t, e->n);
    DT_TRY(read_count(r, &x->base.count));
    for (int i = 0; i < e->n; i++) {
        DT_TRY(declare(r->arena, &e->entry[i], r->keys, &x->base.stored[i]));
        x->num_classes[i] = x->base.stored[i].classes;
        if (x->num_classes[i] > 0 && x->label < 0) x->label = i;
    }
    *out = &x->base;
    return NULL;
}

const dt_format dt_format_synthetic = {
    .kind = {.name = "synthetic",
             .about = "examples generated from the seed: class templates with noise; no files",
             .fields = fields,
             .size = sizeof(struct synthetic)},
    .content = DT_CONTENT_NONE,
    .check = check,
    .declare = declare,
    .open_part = open_part,
};
