/* SPDX-License-Identifier: Apache-2.0 */
/* Finds entries in the table that scripts/published makes, and the family of a step. */
#include "cost/expected_error.h"

#include <stddef.h>
#include <string.h>

#include "op/op.h"

const dt_plan_kind dt_compiler_estimate = {"compiler-estimate", "", "", ""};

static const dt_expected_error table[] = {
#define DT_EXPECTED_ERROR(family, precision, split, policy, generation, rows, median, worst)       \
    {{family, precision, split, policy}, generation, rows, median, worst},
#include "cost/expected_errors.h"
#undef DT_EXPECTED_ERROR
};

static bool is_equal(const dt_plan_kind *a, const dt_plan_kind *b) {
    return strcmp(a->family, b->family) == 0 && strcmp(a->precision, b->precision) == 0 &&
           strcmp(a->split, b->split) == 0 && strcmp(a->policy, b->policy) == 0;
}

const dt_expected_error *dt_expected_error_of(const dt_plan_kind *kind, const char *generation) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (is_equal(&table[i].kind, kind) && strcmp(table[i].generation, generation) == 0)
            return &table[i];
    return NULL;
}

static bool counts(const dt_graph *g, int i) { return g->node[i].op->role == DT_ROLE_COUNTER; }

/* Whether the node is a causal mask of attention that is not fused, such as one with dropout: a
 * comparison of rank 2 whose two inputs are counters, of rows and of columns. */
static bool is_causal_mask(const dt_graph *g, const dt_node *n) {
    return n->op == &dt_op_compare && n->type.rank == 2 && counts(g, n->in[0]) &&
           counts(g, n->in[1]);
}

/* Whether the node is the mask of a window in attention that is not fused: a comparison of rank 2
 * whose first input is the absolute value of an int32 value, the distance between two steps. */
static bool is_window_mask(const dt_graph *g, const dt_node *n) {
    return n->op == &dt_op_compare && n->type.rank == 2 && g->node[n->in[0]].op == &dt_op_abs &&
           g->node[n->in[0]].type.dtype == DT_INT32;
}

/* Whether the graph has weights of experts, judging by the names that MixtureOfExperts uses. */
static bool has_experts(const dt_graph *g) {
    for (int i = 0; i < g->n_states; i++)
        if (strstr(g->state[i].variable->path, "/expert_feedforward_")) return true;
    return false;
}

const char *dt_family_of(const dt_graph *step) {
    int attends = 0, convolves = 0;
    bool causal = false, whole = false, windows = false;
    for (int i = 0; i < step->n_nodes; i++) {
        const dt_node *n = &step->node[i];
        bool fused = n->op == &dt_op_attention;
        attends += fused || (n->op == &dt_op_softmax && n->type.rank >= 4);
        whole |= fused && !((const dt_attention_attr *)n->attr)->causal;
        causal |=
            (fused && ((const dt_attention_attr *)n->attr)->causal) || is_causal_mask(step, n);
        windows |=
            (fused && ((const dt_attention_attr *)n->attr)->window > 0) || is_window_mask(step, n);
        convolves += dt_convolution_of(n) != NULL;
    }
    return has_experts(step)     ? "mixtures of experts"
           : attends && windows  ? "windowed attention"
           : causal && whole     ? "encoders with decoders"
           : attends && causal   ? "decoders"
           : convolves > attends ? attends ? "convnets with attention" : "convnets"
           : attends             ? "encoders"
                                 : "others";
}
