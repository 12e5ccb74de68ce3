/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of an open data set: the number of examples, its elements, its learned values; and the two
 * settings that a program may change. */
#include <string.h>

#include "data/parts.h"

int64_t dt_dataset_examples(const dt_dataset *d) { return dt_dataset_cardinality(d); }

const _Atomic uint32_t *dt_dataset_preparing(const dt_dataset *data) {
    return &dt_parts_of(data)->preparing;
}

dt_status *dt_dataset_declare(const dt_dataset *data, int element, dt_trace *t, dt_value *out) {
    const dt_parts *d = dt_parts_of(data);
    const dt_rows *r = &d->rows[DT_PART_TRAIN];
    dt_type stored = dt_map_batch_type(&r->stored[r->index[element]].type);
    return dt_map_emit(r->plan[element], dt_trace_declare(t, d->element[element].name, &stored),
                       out);
}

int dt_dataset_elements(const dt_dataset *data, const dt_element_spec **elements) {
    const dt_parts *d = dt_parts_of(data);
    *elements = d->element;
    return d->n;
}

const dt_location *dt_dataset_combines(const dt_dataset *data, int element) {
    return dt_map_plan_combines(dt_rows_of(data, DT_PART_TRAIN)->plan[element]);
}

const dt_element_spec *dt_dataset_stored(const dt_dataset *data, int element) {
    const dt_rows *train = dt_rows_of(data, DT_PART_TRAIN);
    return train->stored ? &train->stored[train->index[element]] : NULL;
}

int dt_dataset_find(const dt_dataset *data, const char *name) {
    const dt_parts *d = dt_parts_of(data);
    for (int e = 0; e < d->n; e++)
        if (strcmp(d->element[e].name, name) == 0) return e;
    return -1;
}

dt_status *dt_dataset_encode(const dt_dataset *data, const char *text, dt_tokens *out) {
    const dt_examples *x = dt_rows_of(data, DT_PART_TRAIN)->x;
    return x->reader->encode(x, text, out);
}

dt_documents dt_dataset_documents(const dt_dataset *data) {
    const dt_examples *x = dt_rows_of(data, DT_PART_TRAIN)->x;
    return x ? x->documents : (dt_documents){0};
}

void dt_dataset_decode(const dt_dataset *data, int32_t token, bool first, dt_str *out) {
    const dt_examples *x = dt_rows_of(data, DT_PART_TRAIN)->x;
    x->reader->decode(x, token, first, out);
}

int64_t dt_dataset_count(const dt_dataset *data, dt_part part) {
    const dt_parts *d = dt_parts_of(data);
    return d->rows[part].count * (part == DT_PART_TRAIN ? d->spec.repeat : 1);
}

bool dt_dataset_is_once(const dt_dataset *data) { return dt_parts_are_once(dt_parts_of(data)); }

const char *dt_dataset_part_name(const dt_dataset *data, dt_part part) {
    return dt_parts_of(data)->spec.rows ? "input" : dt_part_name(part);
}

const char *dt_dataset_example_file(const dt_dataset *data, dt_part part, int64_t example) {
    const dt_rows *r = dt_rows_of(data, part);
    return r->x->single ? r->x->paths.v[dt_rows_number(r, dt_rows_in_pass(r, example))] : NULL;
}

void dt_dataset_undo_group(const dt_dataset *data, dt_part part, const char *target,
                           int64_t example, float *x, int64_t n) {
    const dt_parts *d = dt_parts_of(data);
    const dt_rows *r = &d->rows[part];
    if (r->single)
        dt_map_undo_group(d->spec.map, &d->learned, target,
                          dt_rows_group(r, dt_rows_in_pass(r, example)), x, n);
}

const dt_learned *dt_dataset_learned(const dt_dataset *data) { return &dt_parts_of(data)->learned; }

/* Returns the warning about rounding in a column, from the first part that has one; NULL if none
 * has. */
static const char *rounded_in(const dt_parts *d, int e, int column) {
    for (dt_part p = 0; p < DT_PARTS; p++) {
        const dt_rows *r = &d->rows[p];
        const dt_element_spec *x = r->x ? &r->stored[r->index[e]] : NULL;
        if (x && x->rounded && x->rounded[column]) return x->rounded[column];
    }
    return NULL;
}

void dt_dataset_rounded(const dt_dataset *data, dt_arena *arena, dt_texts *out) {
    const dt_parts *d = dt_parts_of(data);
    enum { MOST_LISTED = 8 };
    *out = (dt_texts){.v = dt_arena_array(arena, const char *, d->n *MOST_LISTED)};
    for (int e = 0; e < d->n; e++) {
        const dt_rows *train = &d->rows[DT_PART_TRAIN];
        const int columns = train->stored[train->index[e]].columns.n;
        for (int i = 0, listed = 0; i < columns && listed < MOST_LISTED; i++) {
            const char *what = rounded_in(d, e, i);
            if (!what) continue;
            out->v[out->n++] = dt_arena_printf(
                arena,
                "%s, because float32 rounds whole numbers beyond 16777216; to keep them, set "
                "'dtype: float64' in dataset.element.%s, with normalize or rescale in dataset.map",
                what, d->element[e].name);
            listed++;
        }
    }
}

void dt_dataset_left_out(const dt_dataset *data, dt_texts *out) {
    const dt_parts *d = dt_parts_of(data);
    *out = (dt_texts){.v = dt_arena_array(d->arena, const char *, DT_PARTS)};
    for (dt_part p = 0; p < DT_PARTS; p++) {
        const dt_examples *x = d->rows[p].x;
        const bool is_train = p != DT_PART_TRAIN && x == d->rows[DT_PART_TRAIN].x;
        if (x && !is_train && x->left_out) out->v[out->n++] = x->left_out;
    }
}

const dt_dataset_spec *dt_dataset_spec_of(const dt_dataset *data) {
    return &dt_parts_of(data)->spec;
}

void dt_dataset_set_global_batch(dt_dataset *data, int64_t global_batch_size) {
    dt_parts *d = dt_parts_of(data);
    d->spec.global_batch_size = global_batch_size;
}

void dt_dataset_set_seed(dt_dataset *data, uint64_t seed) {
    dt_parts *d = dt_parts_of(data);
    if (!dt_dataset_has_parts(data)) return;
    d->spec.map_seed = seed;
    if (!d->spec.own_shuffle_seed) d->spec.shuffle_seed = seed;
}

dt_status *dt_dataset_check_job(const dt_dataset *d) {
    if (!d) return dt_fail(DT_E_PIPELINE, NULL, "no data set given");
    return dt_dataset_has_parts(d)
               ? NULL
               : dt_fail(DT_E_PIPELINE, NULL,
                         "fit, evaluate and predict do not take a pipeline; call "
                         "dt_dataset_collect to make a data set of it");
}
