/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explains a loss that is not finite, as far as the batch and the step's number show the cause.
 * Most users suspect the learning rate first, and lose much time. A number in the data that is not
 * finite is a certain cause; a sequence of nothing but padding is a likely one, if the model masks
 * it; and before the first update the learning rate cannot be the cause.
 */
#include <math.h>
#include <string.h>

#include "train/faults.h"
#include "train/run.h"
#include "train/trainer.h"

/* The rows of an element of shape (rows, ...), with the bytes and the values of one row. */
typedef struct rows {
    const dt_tensor *tensor;
    /* the rows [from, to) were read; each has `numbers` values and `bytes` bytes */
    int64_t from, to, numbers, bytes;
} rows;

static rows rows_of(const dt_example *b, int element) {
    const dt_tensor *t = b->tensor[element];
    int64_t numbers = b->rows > 0 ? dt_type_elements(&t->type) / b->rows : 0;
    return (rows){t, b->from, b->to, numbers, numbers * dt_dtype_size(t->type.dtype)};
}

static bool is_finite_at(const dt_tensor *t, int64_t i) {
    if (t->type.dtype == DT_FLOAT32) return isfinite(((const float *)t->data)[i]);
    return t->type.dtype != DT_FLOAT64 || isfinite(((const double *)t->data)[i]);
}

/* The first row with a number that is not finite, or -1. */
static int64_t find_not_finite(const rows *r) {
    for (int64_t i = r->from * r->numbers; i < r->to * r->numbers; i++)
        if (!is_finite_at(r->tensor, i)) return i / r->numbers;
    return -1;
}

/* The first row of zeros alone, or -1. */
static int64_t find_padding(const rows *r) {
    const char *at = r->tensor->data + r->from * r->bytes;
    for (int64_t i = r->from; r->bytes > 0 && i < r->to; i++, at += r->bytes)
        if (*at == 0 && memcmp(at, at + 1, (size_t)r->bytes - 1) == 0) return i;
    return -1;
}

/* Whether a layer masks zeros of the element as padding. */
static bool is_masked(const dt_model_spec *m, const char *element) {
    for (int i = 0; i < m->n_layers; i++) {
        const dt_layer_spec *l = &m->layer[i];
        if (l->out_mask && l->n_in == 1 && !dt_dtype_is_float(l->in.dtype) &&
            strcmp(m->layer[l->from[0]].name, element) == 0)
            return true;
    }
    return false;
}

bool dt_find_bad_example(const dt_dataset *d, const dt_model_spec *m, const dt_example *b,
                         dt_not_finite *out) {
    const dt_element_spec *element;
    int n = dt_dataset_elements(d, &element);
    for (int e = 0; e < n && e < b->n; e++) {
        rows its = rows_of(b, e);
        int64_t bad = find_not_finite(&its),
                empty = bad < 0 && is_masked(m, element[e].name) ? find_padding(&its) : -1;
        if (bad < 0 && empty < 0) continue;
        *out = (dt_not_finite){
            .element = e,
            .padding = bad < 0,
            .row = bad >= 0 ? bad : empty,
            .what = bad >= 0 ? "contains NaN or infinity"
                             : "contains only padding, so a mean over its steps is NaN"};
        return true;
    }
    return false;
}

/* Whether the NaN was injected. In that case another note says so. */
static bool is_injected(const run *r) {
    for (int i = 0; i < r->q->faults.n; i++)
        if (r->q->faults.v[i].kind == DT_FAULT_NAN && r->q->faults.v[i].step <= r->at.step)
            return true;
    return false;
}

dt_status *dt_run_explain_loss(const run *r, const dt_example *b, dt_status *s) {
    const dt_element_spec *element;
    dt_not_finite found;
    if (is_injected(r)) return s;
    dt_dataset_elements(r->data, &element);
    if (dt_find_bad_example(r->data, &r->model->spec, b, &found))
        return dt_note(s, "%s'%s' of example %lld of this step's batch %s",
                       found.padding ? "" : "the data has it: ", element[found.element].name,
                       (long long)found.row + 1, found.what);
    if (r->at.step == 1)
        s = dt_note(s, "no weight had changed yet, so the learning rate is not the cause: check "
                       "the data, the layers and the initial weights");
    return s;
}
