/* SPDX-License-Identifier: Apache-2.0 */
/* Writes rows as JSON lines: {"x": [[0, 1], [2, 3]], "kind": "iris"}. Numbers read back as the same
 * values; indices in a vocabulary are written as words. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "file/cast.h"
#include "file/jsonl_row.h"

typedef struct writing {
    dt_json j;
    const dt_output *o;
    const dt_element_spec *column;
    const char *value; /* the next value to write */
} writing;

static dt_status *put_real(writing *w, const char *key) {
    const dt_dtype d = w->column->type.dtype;
    double x;
    dt_cast(d, DT_FLOAT64, w->value, &x, 1);
    if (!isfinite(x))
        return dt_fail(DT_E_OUTPUT_FORMAT, NULL,
                       "'%s' has a value that is not finite, which JSON cannot hold: write .npy or "
                       ".npz instead of '%s'",
                       w->column->name, w->o->named);
    if (d == DT_FLOAT32) dt_json_float(&w->j, key, (float)x);
    else dt_json_double(&w->j, key, x);
    return NULL;
}

/* Writes an integer or a word. An index that is not in the vocabulary is the default_value, which
 * stands for null. */
static void put_integer(writing *w, const char *key) {
    const dt_element_spec *c = w->column;
    const dt_texts *words = c->vocabulary.n == c->names.n ? &c->vocabulary : &c->names;
    int64_t x;
    dt_cast(w->column->type.dtype, DT_INT64, w->value, &x, 1);
    if (words->n == 0) dt_json_int(&w->j, key, x);
    else if (x >= 0 && x < words->n) dt_json_string(&w->j, key, words->v[x]);
    else dt_json_null(&w->j, key);
}

/* Writes the values of dimension d and below, nested like the shape. Recursion is bounded by the
 * rank. */
static dt_status *put_values(writing *w, const char *key, int d) {
    const dt_type *t = &w->column->type;
    if (d == t->rank) {
        if (dt_dtype_is_float(t->dtype)) DT_TRY(put_real(w, key));
        else put_integer(w, key);
        w->value += dt_dtype_size(t->dtype);
        return NULL;
    }
    dt_json_open(&w->j, key, '[');
    for (int64_t i = 0; i < t->dim[d]; i++) DT_TRY(put_values(w, NULL, d + 1));
    dt_json_close(&w->j, ']');
    return NULL;
}

dt_status *dt_jsonl_write_row(dt_output *o, const void *const *row) {
    writing w = {.j = {.out = &o->text}, .o = o};
    dt_json_open(&w.j, NULL, '{');
    for (int i = 0; i < o->n; i++) {
        w.column = &o->column[i];
        w.value = row[i];
        if (w.column->text && w.value) dt_json_string(&w.j, w.column->name, w.value);
        else if (w.value) DT_TRY(put_values(&w, w.column->name, 0));
    }
    dt_json_close(&w.j, '}');
    dt_str_putc(&o->text, '\n');
    return NULL;
}
