/* SPDX-License-Identifier: Apache-2.0 */
/* Exports a job's model: the weights of a checkpoint, or the model as an ONNX file or a .keras
 * archive. */

#include "job/session.h"
#include "export/onnx/onnx.h"
#include "model/keras/keras.h"

typedef struct exporting {
    dt_job *job;
    const dt_export_request *q;
    const dt_run_options *options;
    dt_session session;
    dt_saved checkpoint;
    dt_digest weights;
} exporting;

/* ---- metadata of exported files ---- */

enum { FACTS = 5 };

static int list_facts(const exporting *e, dt_pair facts[FACTS]) {
    dt_arena *arena = e->job->arena;
    facts[0] = (dt_pair){"job", e->job->name};
    facts[1] = (dt_pair){"weights_sha256", e->weights.hex};
    if (e->checkpoint.only_weights || !e->checkpoint.state.job_sha256) return 2;
    facts[2] = (dt_pair){"job_sha256", e->checkpoint.state.job_sha256};
    facts[3] =
        (dt_pair){"step", dt_arena_printf(arena, "%lld", (long long)e->checkpoint.state.step)};
    facts[4] = (dt_pair){"classes", e->checkpoint.state.classes};
    return e->checkpoint.state.classes ? FACTS : FACTS - 1;
}

/* ---- formats ---- */

/* Traces the model. The data set, which has the types of examples, is opened unless the model is
 * exported without `map`. */
static dt_status *trace(const exporting *e, dt_graph **out) {
    dt_match match;
    if (e->q->without_map) return dt_export_trace(e->session.model, NULL, NULL, NULL, out);
    DT_TRY(dt_job_open_data(e->job));
    DT_TRY(dt_match_types(e->job->data, &e->job->model, NULL, &match));
    return dt_export_trace(e->session.model, e->job->data, &match,
                           e->job->has_compile ? &e->job->compile : NULL, out);
}

static dt_status *write_onnx(const exporting *e) {
    const dt_model_spec *m = &e->job->model;
    dt_graph *g = NULL;
    dt_local_str text = {0};
    dt_pair facts[FACTS];
    DT_TRY(trace(e, &g));
    const char *result[DT_MAX_OUTPUTS];
    for (int i = 0; i < m->n_outputs; i++) result[i] = m->output[i].name;
    const dt_onnx_request q = {.graph = g,
                               .name = e->job->name,
                               .result = result,
                               .metadata = facts,
                               .n_metadata = list_facts(e, facts)};
    dt_status *bad = dt_onnx_write(&q, &text);
    if (!bad) bad = dt_file_output(e->q->path, dt_str_text(&text), text.size);
    dt_graph_destroy(g);
    return bad;
}

static dt_status *list_weights(const exporting *e, dt_arrays *out) {
    const dt_init_from from = dt_job_first_weights(e->job);
    return e->q->torch_names ? dt_torch_arrays(e->session.model, &from, e->job->arena, out)
                             : dt_model_arrays(e->session.model, e->job->arena, out);
}

static dt_status *write_safetensors(const exporting *e) {
    dt_pair facts[FACTS];
    dt_arrays weights;
    DT_TRY(list_weights(e, &weights));
    int n = list_facts(e, facts);
    return dt_safetensors_export(e->q->path, &weights, facts, n);
}

static dt_status *write_npz(const exporting *e) {
    dt_arrays weights;
    DT_TRY(list_weights(e, &weights));
    return dt_npz_write(e->q->path, &weights);
}

/* Warns that a .keras archive has no steps of `map`, which are not layers. Its inputs and targets
 * are those after `map`. */
static void warn_of_map(const exporting *e) {
    const dt_tree *map = dt_tree_get(e->job->dataset.tree, "map");
    dt_local_str names = {0};
    for (int i = 0; map && map->kind == DT_TREE_MAP && i < map->n; i++)
        if (map->entry[i].value->kind != DT_TREE_NULL)
            dt_str_printf(&names, "%s%.80s", names.size ? ", " : "", map->entry[i].key);
    const char *text = dt_arena_printf(
        e->job->arena,
        "the file is without dataset.map: values of %.400s are those after its steps",
        dt_str_text(&names));
    if (names.size && e->options->event)
        e->options->event(&(dt_event){.kind = DT_EVENT_WARNING, .text = text}, e->options->user);
}

static dt_status *write_keras(const exporting *e) {
    dt_arrays weights;
    warn_of_map(e);
    DT_TRY(dt_model_arrays(e->session.model, e->job->arena, &weights));
    return dt_keras_save(e->session.model, &weights, e->job->name, e->q->path);
}

static dt_status *write_keras_weights(const exporting *e) {
    dt_arrays weights;
    DT_TRY(dt_model_arrays(e->session.model, e->job->arena, &weights));
    return dt_keras_save_weights(e->session.model, &weights, e->q->path);
}

/* ---- exporting ---- */

static dt_status *export(exporting *e) {
    const dt_run_options *o = e->options;
    static dt_status *(*const writers[])(const exporting *) = {
        [DT_EXPORT_ONNX] = write_onnx,
        [DT_EXPORT_SAFETENSORS] = write_safetensors,
        [DT_EXPORT_NPZ] = write_npz,
        [DT_EXPORT_KERAS] = write_keras,
        [DT_EXPORT_KERAS_WEIGHTS] = write_keras_weights,
    };
    DT_TRY(dt_job_find_checkpoint(e->job, e->q->checkpoint, o, &e->checkpoint));
    DT_TRY(dt_job_take_learned(e->job, &e->checkpoint));
    DT_TRY(dt_session_open_model(e->job, o, &e->session));
    DT_TRY(dt_job_load_weights(e->job, &e->checkpoint, &e->session));
    DT_TRY(dt_weights_digest(e->session.model, &e->weights));
    return writers[e->q->format](e);
}

static void report_end(const exporting *e) {
    const dt_run_options *o = e->options;
    if (o->event)
        o->event(&(dt_event){.kind = DT_EVENT_END,
                             .step = e->checkpoint.state.step,
                             .checkpoint = e->checkpoint.path,
                             .weights_sha256 = e->weights.hex,
                             .parameters = e->job->model.parameters},
                 o->user);
}

DT_API dt_status *dt_job_export(dt_job *j, const dt_export_request *q,
                                const dt_run_options *options) {
    DT_LIVE(j);
    static const dt_run_options none = {0};
    exporting e = {.job = j, .q = q, .options = options ? options : &none};
    DT_REQUIRE({j, "job"}, {q, "request"});
    DT_TRY(dt_want(q->path, "dt_job_export", "path of the file"));
    dt_status *bad = export(&e);
    if (!bad) report_end(&e);
    dt_session_close(&e.session);
    dt_saved_release(&e.checkpoint);
    return bad;
}
