/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stored elements of a data set, as checkpoints describe them. With this description, rows to
 * be predicted later can be read without the training data.
 *
 *     {"x": {"dtype": "float32", "shape": [2]},
 *      "kind": {"dtype": "int32", "shape": [], "vocabulary": ["iris", "lily"]},
 *      "note": {"dtype": "string", "max_bytes": 65535}}
 *
 * Columns that a job names by patterns are written out.
 */
#include <string.h>

#include "base/json.h"
#include "file/json_read.h"
#include "train/train.h"

#define LARGEST_EXAMPLE ((int64_t)1 << 40)

/* ---- printing ---- */

static void put_texts(dt_json *j, const char *key, const dt_texts *x) {
    if (x->n == 0) return;
    dt_json_strings(j, key, x->v, x->n);
}

/* Writes the type of an element; for windows, the type of one row. */
static void put_element(dt_json *j, const dt_element_spec *e) {
    const dt_type row = dt_element_row(e);
    dt_json_open(j, e->name, '{');
    dt_json_string(j, "dtype", e->text ? "string" : dt_dtype_name(e->type.dtype));
    if (e->text) {
        dt_json_int(j, "max_bytes", row.dim[0] - 1);
    } else {
        dt_json_ints(j, "shape", row.dim, row.rank);
    }
    put_texts(j, "vocabulary", &e->vocabulary);
    if (e->choice != DT_CHOICE_NAMES) put_texts(j, "columns", &e->columns);
    dt_json_close(j, '}');
}

const char *dt_stored_print(const dt_dataset *d, dt_arena *arena) {
    const dt_element_spec *elements;
    const int n = dt_dataset_elements(d, &elements);
    dt_str out = {0};
    dt_json j = {.out = &out};
    if (n == 0 || !dt_dataset_stored(d, 0)) return NULL;
    dt_json_open(&j, NULL, '{');
    for (int e = 0; e < n; e++) put_element(&j, dt_dataset_stored(d, e));
    dt_json_close(&j, '}');
    return dt_arena_take(arena, &out);
}

/* ---- reading ---- */

static bool get_dtype(const char *name, dt_dtype *out) {
    for (int d = 0; name && d <= DT_FLOAT64; d++)
        if (strcmp(dt_dtype_name((dt_dtype)d), name) == 0) {
            *out = (dt_dtype)d;
            return true;
        }
    return false;
}

/* Reads a shape. Its size is limited, so that an example fits into memory. */
static bool get_shape(const json_t *list, dt_type *t) {
    int64_t values = 1;
    t->rank = (int)json_array_size(list);
    if (!json_is_array(list) || json_array_size(list) >= DT_MAX_RANK) return false;
    for (int i = 0; i < t->rank; i++) {
        const json_t *dim = json_array_get(list, (size_t)i);
        t->dim[i] = json_integer_value(dim);
        if (!json_is_integer(dim) || t->dim[i] < 1 || t->dim[i] > LARGEST_EXAMPLE / 8 ||
            !dt_mul_fits(values, t->dim[i], &values) || values > LARGEST_EXAMPLE / 8)
            return false;
    }
    return true;
}

static bool get_text(const json_t *entry, dt_element_spec *out) {
    int64_t most;
    if (!dt_json_get_int(entry, "max_bytes", &most) || most < 1 || most > 1 << 20) return false;
    most++;
    out->text = true;
    out->type = dt_type_of(DT_UINT8, 1, &most);
    return true;
}

static bool get_element(dt_arena *arena, const json_t *entry, dt_element_spec *out) {
    const char *dtype = json_string_value(json_object_get(entry, "dtype"));
    if (!dt_json_texts(arena, json_object_get(entry, "vocabulary"), &out->vocabulary)) return false;
    out->numbers = out->classes = out->vocabulary.n;
    out->names = out->vocabulary;
    if (dtype && strcmp(dtype, "string") == 0) return get_text(entry, out);
    return get_dtype(dtype, &out->type.dtype) &&
           get_shape(json_object_get(entry, "shape"), &out->type) &&
           dt_json_texts(arena, json_object_get(entry, "columns"), &out->columns) &&
           (out->columns.n == 0 || out->columns.n == dt_type_elements(&out->type));
}

static bool get_elements(dt_arena *arena, json_t *root, dt_dataset_spec *out) {
    const char *name;
    json_t *entry;
    dt_element_spec *all = dt_arena_array(arena, dt_element_spec, json_object_size(root));
    int n = 0;
    json_object_foreach(root, name, entry) {
        all[n].name = dt_arena_strdup(arena, name);
        if (!get_element(arena, entry, &all[n++])) return false;
    }
    out->stored = all;
    out->n_stored = n;
    return true;
}

dt_status *dt_stored_read(const dt_saved *c, dt_arena *arena, dt_dataset_spec *out) {
    json_t *root = NULL;
    if (!c->state.elements) return NULL;
    const dt_json_text text = {.path = c->path,
                               .part = "'elements' of state.json",
                               .member = "element",
                               .text = c->state.elements,
                               .size = strlen(c->state.elements),
                               .fault = DT_E_CHECKPOINT};
    DT_TRY(dt_json_parse(&text, &root));
    const bool ok = get_elements(arena, root, out);
    json_decref(root);
    return ok ? NULL
              : dt_fail(DT_E_CHECKPOINT, NULL,
                        "%s/state.json: 'elements' must hold 'dtype', 'shape' and 'vocabulary' of "
                        "what the data set stores",
                        c->path);
}

/* ---- comparing ---- */

static bool equal(const dt_texts *a, const dt_texts *b) {
    bool same = a->n == b->n;
    for (int i = 0; i < a->n && same; i++) same = strcmp(a->v[i], b->v[i]) == 0;
    return same;
}

/* Compares the elements that the checkpoint describes with those of the data set. Others are not
 * compared. */
dt_status *dt_stored_compare(const dt_saved *c, const dt_dataset *d, dt_arena *arena) {
    dt_dataset_spec then = {0};
    const dt_element_spec *elements;
    const int n = dt_dataset_elements(d, &elements);
    DT_TRY(dt_stored_read(c, arena, &then));
    for (int k = 0; k < n * then.n_stored; k++) {
        const dt_element_spec *now = dt_dataset_stored(d, k % n), *old = &then.stored[k / n];
        if (!now || now->choice == DT_CHOICE_NAMES || old->columns.n == 0 ||
            strcmp(old->name, elements[k % n].name) != 0 || equal(&now->columns, &old->columns))
            continue;
        return dt_suggest(dt_fail(DT_E_OTHER_JOB, NULL,
                                  "the columns of '%s' stand in another order, or are others, than "
                                  "those that checkpoint %s was trained with",
                                  old->name, c->path),
                          "the files have changed: start over with --fresh, or restore the old "
                          "ones");
    }
    return NULL;
}
