/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stored elements of a data set, as checkpoints describe them, its learned values, and the
 * names of classes. With these descriptions, rows to be predicted later can be read without the
 * training data. The elements:
 *
 *     {"x": {"dtype": "float32", "shape": [2]},
 *      "kind": {"dtype": "int32", "shape": [], "vocabulary": ["iris", "lily"]},
 *      "note": {"dtype": "string", "max_bytes": 65535}}
 *
 * Columns that a job chooses by a pattern are listed by name.
 */
#include <string.h>

#include "base/json.h"
#include "file/json_read.h"
#include "train/train.h"

#define LARGEST_EXAMPLE ((int64_t)1 << 40)

static void put_texts(dt_json *j, const char *key, const dt_texts *x) {
    if (x->n == 0) return;
    dt_json_strings(j, key, x->v, x->n);
}

/* Writes an element: its dtype, its shape (of a text its largest length, max_bytes), its
 * vocabulary, and the columns that a pattern chose. For windows, the type is that of one row. */
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

static bool get_dtype(const char *name, dt_dtype *out) {
    for (int d = 0; name && d <= DT_FLOAT64; d++)
        if (strcmp(dt_dtype_name((dt_dtype)d), name) == 0) {
            *out = (dt_dtype)d;
            return true;
        }
    return false;
}

/* Reads a shape without a batch dimension. Returns false if it is malformed or has more than 2^37
 * values. */
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

static bool equal(const dt_texts *a, const dt_texts *b) {
    bool same = a->n == b->n;
    for (int i = 0; i < a->n && same; i++) same = strcmp(a->v[i], b->v[i]) == 0;
    return same;
}

/* Elements that only the checkpoint or only the data set has are not compared. */
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

/*
 * The values that steps of `map` learned, as checkpoints store them: a JSON object with an entry
 * for each step. A number is written as the shortest decimal that is read back bit for bit.
 *
 *     {"map/normalize/x/0": {"mean": [5.84, 3.06], "variance": [0.68, 0.19]},
 *      "map/text_vectorization/review/0": {"words": ["the", "a"]}}
 */

static void put_reals(dt_json *j, const char *key, const dt_reals *x) {
    if (x->n == 0) return;
    dt_json_doubles(j, key, x->v, x->n);
}

const char *dt_learned_print(const dt_learned *l, dt_arena *arena) {
    dt_str out = {0};
    dt_json j = {.out = &out};
    if (l->n == 0) return NULL;
    dt_json_open(&j, NULL, '{');
    for (int i = 0; i < l->n; i++) {
        dt_json_open(&j, l->lesson[i].step, '{');
        put_reals(&j, "mean", &l->lesson[i].mean);
        put_reals(&j, "variance", &l->lesson[i].variance);
        put_texts(&j, "words", &l->lesson[i].words);
        put_reals(&j, "idf", &l->lesson[i].idf);
        put_reals(&j, "fill", &l->lesson[i].fill);
        put_reals(&j, "gaps", &l->lesson[i].gaps);
        dt_json_close(&j, '}');
    }
    dt_json_close(&j, '}');
    return dt_arena_take(arena, &out);
}

static bool get_reals(dt_arena *arena, const json_t *list, dt_reals *out) {
    const int n = (int)json_array_size(list);
    *out = (dt_reals){.n = n, .v = dt_arena_array(arena, double, n)};
    for (int i = 0; i < n; i++) {
        if (!json_is_number(json_array_get(list, (size_t)i))) return false;
        out->v[i] = json_number_value(json_array_get(list, (size_t)i));
    }
    return !list || json_is_array(list);
}

static bool get_lessons(dt_arena *arena, json_t *root, dt_learned *out) {
    const char *step;
    json_t *entry;
    out->lesson = dt_arena_array(arena, dt_lesson, json_object_size(root));
    json_object_foreach(root, step, entry) {
        dt_lesson *l = &out->lesson[out->n++];
        l->step = dt_arena_strdup(arena, step);
        if (!json_is_object(entry) || !get_reals(arena, json_object_get(entry, "mean"), &l->mean) ||
            !get_reals(arena, json_object_get(entry, "variance"), &l->variance) ||
            !get_reals(arena, json_object_get(entry, "idf"), &l->idf) ||
            !get_reals(arena, json_object_get(entry, "fill"), &l->fill) ||
            !get_reals(arena, json_object_get(entry, "gaps"), &l->gaps) ||
            !dt_json_texts(arena, json_object_get(entry, "words"), &l->words))
            return false;
    }
    return true;
}

dt_status *dt_learned_read(const dt_saved *c, dt_arena *arena, const dt_learned **out) {
    dt_learned *l = dt_arena_new(arena, dt_learned);
    json_t *root = NULL;
    *out = NULL;
    if (!c->state.map) return NULL;
    const dt_json_text text = {.path = c->path,
                               .part = "'map' of state.json",
                               .member = "step",
                               .text = c->state.map,
                               .size = strlen(c->state.map),
                               .fault = DT_E_CHECKPOINT};
    DT_TRY(dt_json_parse(&text, &root));
    bool ok = get_lessons(arena, root, l);
    json_decref(root);
    if (!ok)
        return dt_fail(DT_E_CHECKPOINT, NULL,
                       "%s/state.json: 'map' must hold what steps learned: lists 'mean', "
                       "'variance', 'words', 'idf', 'fill' and 'gaps'",
                       c->path);
    *out = l;
    return NULL;
}

/*
 * Class names. A target gets them from a vocabulary, from folders or from columns, and checkpoints
 * keep them, so that predictions and exported models can name classes without the data.
 *
 *     {"logits": ["circle", "cross", "ring"]}
 */

/* Whether the names fit the classes of an output. An output (B, n) has at most n names, one of
 * shape (B) or (B, 1) at most two. An output of higher rank has no class names. */
static bool fit(const dt_texts *names, const dt_type *output) {
    const int64_t last = output->dim[output->rank - 1];
    return output->rank <= 2 && names->n <= (output->rank < 2 || last == 1 ? 2 : last);
}

void dt_class_names_of(const dt_dataset *d, const dt_compile_spec *c, const dt_match *m,
                       dt_class_names *out) {
    const dt_element_spec *element;
    *out = (dt_class_names){0};
    dt_dataset_elements(d, &element);
    for (int i = 0; i < c->n_outputs; i++) {
        /* Every row of a table of losses begins with its dt_kind. */
        const dt_loss_row *loss = (const dt_loss_row *)c->output[i].loss.kind;
        if (loss && loss->of != DT_OUTPUT_VALUES && m->target[i] >= 0)
            out->of[i] = element[m->target[i]].names;
    }
}

const char *dt_class_names_print(const dt_class_names *n, const dt_model_spec *m, dt_arena *arena) {
    dt_local_str out = {0};
    dt_json j = {.out = &out};
    bool any = false;
    dt_json_open(&j, NULL, '{');
    for (int i = 0; i < m->n_outputs; i++) {
        if (n->of[i].n == 0 || !fit(&n->of[i], &m->output[i].type)) continue;
        any = true;
        dt_json_strings(&j, m->output[i].name, n->of[i].v, n->of[i].n);
    }
    dt_json_close(&j, '}');
    return any ? dt_arena_strdup(arena, dt_str_text(&out)) : NULL;
}

dt_status *dt_class_names_read(const dt_saved *c, const dt_model_spec *m, dt_arena *arena,
                               dt_class_names *out) {
    json_t *root = NULL;
    bool ok = true;
    *out = (dt_class_names){0};
    if (!c->state.classes) return NULL;
    const dt_json_text text = {.path = c->path,
                               .part = "'classes' of state.json",
                               .member = "output",
                               .text = c->state.classes,
                               .size = strlen(c->state.classes),
                               .fault = DT_E_CHECKPOINT};
    DT_TRY(dt_json_parse(&text, &root));
    for (int i = 0; ok && i < m->n_outputs; i++) {
        ok = dt_json_texts(arena, json_object_get(root, m->output[i].name), &out->of[i]);
        if (!fit(&out->of[i], &m->output[i].type))
            /* Names that do not fit belong to another model. That is reported when its weights are
             * read. */
            out->of[i] = (dt_texts){0};
    }
    json_decref(root);
    return ok ? NULL
              : dt_fail(DT_E_CHECKPOINT, NULL,
                        "%s/state.json: 'classes' must hold a list of names for each output",
                        c->path);
}
