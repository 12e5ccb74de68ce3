/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models as ONNX files: a graph of one replica, with its arguments as inputs and its results as
 * outputs. The files have opset 18 and IR version 8. Weights are initializers named by their paths,
 * the batch is a dimension named `batch`, and nodes are named by their layers. Composites are
 * decomposed, so that a reader needs only common operators.
 */
#ifndef DT_ONNX_ONNX_H
#define DT_ONNX_ONNX_H

#include "graph/graph.h"

typedef struct dt_onnx_request {
    const dt_graph *graph;
    const char *name; /* name of the model */
    /* [graph->n_results] names of the results in the file; NULL: the names that they have in the
     * graph */
    const char *const *result;
    const dt_pair *metadata; /* [n_metadata] keys and values */
    int n_metadata;
} dt_onnx_request;

/* Appends the file's bytes to *out. Fails with NO_ONNX if an op cannot be exported (the message
 * names it), or if the variables and 64 MiB for all else need more than 2 GiB. */
dt_status *dt_onnx_write(const dt_onnx_request *q, dt_str *out) DT_MUST_USE;

#endif
