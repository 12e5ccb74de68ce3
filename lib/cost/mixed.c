/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mixed precision for estimates: finds the type in which each value of a program is stored with
 * Keras' policies. Layers cast what they read, so a weight is gathered from other replicas in the
 * narrow dtype; gradients of variables are cast back before they are summed. Both narrow types have
 * the same size. The program that is marked here was traced in float32. The conversions of a real
 * run (model/precision.c) cost nothing on a chip, since its compiler makes them part of the kernels
 * around them. Outputs are stored in float32, because the loss reads them so: libtpu 0.0.42.1 keeps
 * logits as one float32 array, which their gradient then overwrites (docs/simulator.md).
 */
#include <string.h>

#include "cost/cost_impl.h"
#include "op/across.h"
#include "op/op.h"

/* Whether a node belongs to a layer. Nodes without a layer work on gradients between the passes
 * and the optimizer. */
static bool is_of_layers(const char *path) {
    static const char *const wide[] = {"optimizer", "loss", "metrics"};
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
        size_t n = strlen(wide[i]);
        if (strncmp(path, wide[i], n) == 0 && (path[n] == '/' || path[n] == '\0')) return false;
    }
    return *path != '\0';
}

/* Whether the loss or a metric computes a node. If only layers read such a node, it is a gradient,
 * and is converted where it is computed. */
static bool is_of_loss(const char *path) {
    return strncmp(path, "loss", 4) == 0 || strncmp(path, "metrics", 7) == 0;
}

static bool is_float(const dt_graph *g, int i) { return g->node[i].type.dtype == DT_FLOAT32; }

/* Finds the type of each node for estimates. A collective has the type that its readers need: sums
 * of gradients are read by the optimizer, other sums by layers. */
int8_t *dt_mixed_dtypes(const dt_spmd *s, dt_dtype narrow, dt_arena *arena) {
    const dt_graph *g = s->local;
    int8_t *dtype = dt_arena_array(arena, int8_t, g->n_nodes + 1);
    bool *for_layers = dt_arena_array(arena, bool, g->n_nodes + 1);
    bool *for_others = dt_arena_array(arena, bool, g->n_nodes + 1);
    bool *for_loss = dt_arena_array(arena, bool, g->n_nodes + 1);
    for (int i = 0; i < g->n_results; i++) for_others[g->result[i].node] = true;
    for (int i = g->n_nodes - 1; i >= 0; i--) {
        const dt_node *n = &g->node[i];
        const bool logits = for_loss[i] && is_of_layers(n->path) && !is_of_loss(n->path);
        bool passes = n->op->across || *n->path == '\0';
        bool layers = passes                ? for_layers[i]
                      : is_of_loss(n->path) ? for_layers[i] && !for_others[i]
                                            : is_of_layers(n->path);
        dtype[i] =
            (int8_t)(is_float(g, i) && layers && !logits && n->n_in > 0 ? narrow : n->type.dtype);
        for (int k = 0; k < n->n_in; k++) {
            for_layers[n->in[k]] |= layers;
            for_others[n->in[k]] |= !layers;
            for_loss[n->in[k]] |= is_of_loss(n->path);
        }
    }
    return dtype;
}
