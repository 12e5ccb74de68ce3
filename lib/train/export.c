/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace of a model to be exported: one replica's forward pass. With a data set, it begins with
 * that data set's `map`, so that the exported file takes the same raw examples as dtrain; with
 * compile.original_units its outputs are in the original units of the targets.
 */
#include "train/train.h"

static dt_status *declare_input(const dt_model *m, const dt_dataset *data, const dt_match *match,
                                int i, dt_trace *t, dt_value *out) {
    if (data) return dt_dataset_declare(data, match->input[i], t, out);
    *out = dt_trace_declare(t, m->spec.input[i].name, &m->spec.input[i].type);
    return NULL;
}

static dt_status *emit(const dt_model *m, const dt_dataset *data, const dt_match *match,
                       const dt_compile_spec *c, dt_trace *t) {
    dt_value input[DT_MAX_INPUTS], output[DT_MAX_OUTPUTS];
    for (int i = 0; i < m->spec.n_inputs; i++)
        DT_TRY(declare_input(m, data, match, i, t, &input[i]));
    dt_model_emit_outputs(m, input, m->spec.n_inputs, DT_INFERENCE, output);
    for (int i = 0; i < m->spec.n_outputs; i++) {
        dt_value y = dt_convert(output[i], m->spec.output[i].type.dtype);
        if (data && c) y = dt_original_units(c, i, data, c->output[i].target, y);
        dt_return(t, dt_output_result(dt_trace_arena(t), &m->spec, i), y);
    }
    return NULL;
}

dt_status *dt_export_trace(const dt_model *m, const dt_dataset *data, const dt_match *match,
                           const dt_compile_spec *c, dt_graph **out) {
    dt_trace *t = dt_trace_create("export");
    dt_status *bad = emit(m, data, match, c, t);
    if (!bad) return dt_trace_end(t, out);
    dt_trace_destroy(t);
    return bad;
}
