/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a model: see onnx.h. */
#include "export/onnx/onnx.h"

#include <stdlib.h>
#include <string.h>

#include "export/onnx/forms.h"
#include "export/stablehlo/stablehlo.h"

typedef struct writing {
    const dt_onnx_request *q;
    const dt_graph *g; /* the graph, after composites were decomposed */
    dt_onnx o;
    dt_onnx_value *value; /* [nodes] the ONNX value of each node */
} writing;

static void put_end(dt_str *out, int tag, const char *name, const dt_type *t) {
    size_t mark = dt_pb_open(out, tag);
    dt_pb_put_text(out, VALUE_NAME, name);
    size_t type = dt_pb_open(out, VALUE_TYPE), tensor = dt_pb_open(out, TYPE_TENSOR);
    dt_pb_put_int(out, TENSOR_TYPE_ELEMENT, dt_onnx_dtype(t->dtype));
    size_t shape = dt_pb_open(out, TENSOR_TYPE_SHAPE);
    for (int i = 0; i < t->rank; i++) {
        size_t dim = dt_pb_open(out, SHAPE_DIMENSION);
        if (t->dim[i] >= 0) dt_pb_put_int(out, DIMENSION_VALUE, t->dim[i]);
        else if (t->dim[i] == DT_BATCH) dt_pb_put_text(out, DIMENSION_NAME, "batch");
        dt_pb_close(out, dim);
    }
    dt_pb_close(out, shape);
    dt_pb_close(out, tensor);
    dt_pb_close(out, type);
    dt_pb_close(out, mark);
}

static bool is_used(const dt_graph *g, int node) {
    for (int i = 0; i < g->n_nodes; i++)
        for (int k = 0; k < g->node[i].n_in; k++)
            if (g->node[i].in[k] == node) return true;
    for (int i = 0; i < g->n_results; i++)
        if (g->result[i].node == node) return true;
    return false;
}

static dt_status *put_node(writing *w, int i) {
    const dt_node *n = &w->g->node[i];
    dt_onnx_form form;
    DT_TRY(dt_onnx_form_of(n, &form));
    dt_onnx_call c = {.onnx = &w->o, .node = n, .name = form.name, .of_bools = form.of_bools};
    for (int k = 0; k < n->n_in; k++) c.in[k] = w->value[n->in[k]];
    w->o.path = n->path;
    DT_TRY(form.write(&c, &w->value[i]));
    if (!form.moves) w->value[i] = dt_onnx_rounded(&w->o, &w->value[i]);
    return NULL;
}

static dt_status *put_nodes(writing *w) {
    for (int i = 0; i < w->g->n_nodes; i++)
        if (!w->value[i].name) DT_TRY(put_node(w, i));
    return NULL;
}

static dt_status *put_graph(writing *w) {
    size_t mark = dt_pb_open(w->o.out, MODEL_GRAPH);
    dt_pb_put_text(w->o.out, GRAPH_NAME, w->q->name);
    for (int i = 0; i < w->g->n_args; i++) {
        const dt_named_node *a = &w->g->arg[i];
        const dt_type *t = &w->g->node[a->node].type;
        put_end(w->o.out, GRAPH_INPUT, a->name, t);
        w->value[a->node] = dt_onnx_value_of(a->name, t);
        if (t->rank > 0 && t->dim[0] == DT_BATCH) w->o.fed = a->name;
    }
    /* Variables that only training uses, such as counters of random numbers, are left out, since
     * readers warn about tensors that no node reads. */
    for (int i = 0; i < w->g->n_states; i++) {
        w->value[w->g->state[i].node] =
            dt_onnx_value_of(w->g->state[i].variable->path, &w->g->state[i].variable->type);
        if (!is_used(w->g, w->g->state[i].node)) continue;
        const dt_variable *v = w->g->state[i].variable;
        dt_onnx_initializer(&w->o, v->path, &(dt_view){v->type, (void *)dt_host_data(v)});
    }
    DT_TRY(put_nodes(w));
    w->o.path = "";
    for (int i = 0; i < w->g->n_results; i++) {
        const char *name = w->q->result ? w->q->result[i] : w->g->result[i].name;
        const dt_onnx_value y = dt_onnx_whole(&w->o, &w->value[w->g->result[i].node]);
        dt_onnx_put(&w->o, &(dt_onnx_node){.op = "Identity", .in = {y.name}, .result = name});
        put_end(w->o.out, GRAPH_OUTPUT, name, &y.type);
    }
    dt_pb_close(w->o.out, mark);
    return NULL;
}

/* Fails with NO_ONNX if the variables and 64 MiB for all else need more than 2 GiB, the limit of
 * protocol buffers. */
static dt_status *check_size(const dt_graph *g) {
    int64_t bytes = 64 << 20;
    for (int i = 0; i < g->n_states && bytes <= INT32_MAX; i++) {
        int64_t more = dt_type_bytes(&g->state[i].variable->type);
        bytes = more > INT32_MAX ? more : bytes + more;
    }
    if (bytes <= INT32_MAX) return NULL;
    return dt_fail(DT_E_NO_ONNX, NULL,
                   "an ONNX file holds 2 GiB at most, and the weights need more");
}

static dt_status *write_plain(const dt_onnx_request *q, const dt_graph *g, dt_str *out) {
    writing w = {.q = q, .g = g, .o = {.arena = dt_arena_create(), .out = out, .path = ""}};
    w.value = dt_arena_array(w.o.arena, dt_onnx_value, g->n_nodes + 1);
    dt_pb_put_int(out, MODEL_IR_VERSION, DT_ONNX_IR_VERSION);
    dt_pb_put_text(out, MODEL_PRODUCER, "dtrain");
    dt_pb_put_text(out, MODEL_PRODUCER_VERSION, dt_version());
    size_t opset = dt_pb_open(out, MODEL_OPSET);
    dt_pb_put_text(out, OPSET_DOMAIN, "");
    dt_pb_put_int(out, OPSET_VERSION, DT_ONNX_OPSET);
    dt_pb_close(out, opset);
    for (int i = 0; i < q->n_metadata; i++) {
        size_t entry = dt_pb_open(out, MODEL_METADATA);
        dt_pb_put_text(out, ENTRY_KEY, q->metadata[i].key);
        dt_pb_put_text(out, ENTRY_VALUE, q->metadata[i].value);
        dt_pb_close(out, entry);
    }
    dt_status *bad = put_graph(&w);
    free(w.o.memo);
    dt_arena_destroy(w.o.arena);
    return bad;
}

dt_status *dt_onnx_write(const dt_onnx_request *q, dt_str *out) {
    dt_graph *plain = NULL;
    DT_TRY(check_size(q->graph));
    DT_TRY(dt_decompose(q->graph, dt_onnx_has_form, &plain));
    dt_status *bad = write_plain(q, plain, out);
    dt_graph_destroy(plain);
    return bad;
}
