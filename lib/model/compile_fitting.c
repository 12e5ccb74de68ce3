/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short words whose meaning depends on shapes: the metric `accuracy` and the loss `crossentropy`.
 * Keras' rule: predictions of one number are binary. For predictions of several numbers, targets
 * are class numbers if they have one dimension less, or size 1 in place of the classes; otherwise
 * they are one-hot vectors. The model decides whether predictions are binary. The data, which is
 * opened later, decides the rest.
 */
#include "model/compile.h"

static dt_status *read_word(dt_arena *arena, const dt_fitting *f, const char *word,
                            dt_named *named) {
    const dt_tree t = {.kind = DT_TREE_SCALAR, .text = word, .at = named->at};
    return f->read(arena, dt_arena_copy(arena, &t, sizeof t), named);
}

dt_status *dt_read_fitting(dt_arena *arena, const dt_fitting *fitting, const dt_type *output,
                           dt_named *named, const dt_named **if_sparse) {
    dt_named sparse = {.at = named->at};
    *if_sparse = NULL;
    if (output && output->rank > 1 && output->dim[output->rank - 1] == 1)
        return read_word(arena, fitting, fitting->binary, named);
    DT_TRY(read_word(arena, fitting, fitting->sparse, &sparse));
    *if_sparse = dt_arena_copy(arena, &sparse, sizeof sparse);
    return read_word(arena, fitting, fitting->categorical, named);
}

static bool are_class_numbers(const dt_type *target, const dt_type *prediction) {
    const bool one = target->rank > 0 && target->dim[target->rank - 1] == 1;
    return target->rank < prediction->rank || (one && prediction->dim[prediction->rank - 1] > 1);
}

void dt_compile_see_targets(const dt_compile_spec *c, int output, const dt_type *target,
                            const dt_type *prediction) {
    dt_output_use *o = &c->output[output];
    const bool sparse = are_class_numbers(target, prediction);
    if (sparse && o->if_sparse) o->loss = *o->if_sparse;
    o->if_sparse = NULL;
    for (int i = 0; i < c->n_metrics; i++) {
        dt_metric_use *m = &c->metric[i];
        if (m->output != output) continue;
        if (sparse && m->if_sparse) {
            m->row = (const dt_metric_row *)m->if_sparse->kind;
            m->args = m->if_sparse->args;
        }
        m->if_sparse = NULL;
    }
}
