/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models as ONNX files: a graph of one replica, with its arguments as inputs and its results as
 * outputs. Opset 18, IR version 8; weights are initializers by their paths, the batch is a
 * dimension named `batch`, nodes are named by their layers. Composites are written as their parts,
 * so that a reader needs only the operators of forms.c.
 */
#ifndef DT_ONNX_ONNX_H
#define DT_ONNX_ONNX_H

#include "graph/graph.h"

typedef struct dt_onnx_request {
    const dt_graph *graph;
    const char *name; /* name of the model */
    /* [graph->n_results] their names in the file; NULL: those of the graph */
    const char *const *result;
    const dt_pair *metadata; /* [n_metadata] */
    int n_metadata;
} dt_onnx_request;

/* Writes the file's bytes. NO_ONNX names the op that cannot be exported, or reports that the
 * file would be too large. */
dt_status *dt_onnx_write(const dt_onnx_request *q, dt_str *out) DT_MUST_USE;

#endif
