/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policies of rematerialization, with MaxText's names. A policy says which values of a block are
 * kept for the backward pass, on the device or in the host's memory:
 *
 *     rematerialize: minimal
 *     rematerialize: {save: [query_proj, out_proj], offload: [decoder_layer_input]}
 *
 * Products of experts have the names that MaxText's moe.py gives them: mlpwi_0, mlpwi_1, mlpwo.
 */
#include <string.h>

#include "model/model.h"

enum {
    LAYER_INPUT = DT_REMAT_LAYER_INPUT,
    QUERY = DT_REMAT_QUERY,
    KEY = DT_REMAT_KEY,
    VALUE = DT_REMAT_VALUE,
    CONTEXT = DT_REMAT_CONTEXT,
    OUT = DT_REMAT_OUT,
    WI_0 = DT_REMAT_WI_0,
    WI_1 = DT_REMAT_WI_1,
    WO = DT_REMAT_WO,
    QKV = QUERY | KEY | VALUE,
    WI = WI_0 | WI_1,
    PRODUCTS = QKV | OUT | WI | WO
};

/* Each policy: X(name, bits of values kept on the device, bits of values kept on the host). With
 * "none", nothing is recomputed. */
#define POLICIES(X)                                                                                \
    X(none, 0, 0)                                                                                  \
    X(full, 0, 0)                                                                                  \
    X(minimal, PRODUCTS, 0)                                                                        \
    X(minimal_with_context, PRODUCTS | CONTEXT, 0)                                                 \
    X(minimal_flash, PRODUCTS | CONTEXT, 0)                                                        \
    X(minimal_offloaded, 0, PRODUCTS)                                                              \
    X(save_dot_except_mlpwi, QKV | OUT | WO, 0)                                                    \
    X(save_dot_except_mlp, QKV | OUT, 0)                                                           \
    X(save_dot_with_context_except_mlp, QKV | CONTEXT | OUT, 0)                                    \
    X(save_qkv_proj, QKV, 0)                                                                       \
    X(save_out_proj, OUT, 0)                                                                       \
    X(qkv_proj_offloaded, 0, QKV)

#define NAME(name, save, offload) #name,
const char *const dt_rematerialize_names[] = {POLICIES(NAME) NULL};
#define POLICY(name, save, offload) {#name, true, save, offload},
static const dt_rematerialize policies[] = {POLICIES(POLICY)};

/* Each name of values: X(name, bits of values). Some names stand for several values. */
#define VALUES(X)                                                                                  \
    X(decoder_layer_input, LAYER_INPUT)                                                            \
    X(query_proj, QUERY)                                                                           \
    X(key_proj, KEY)                                                                               \
    X(value_proj, VALUE)                                                                           \
    X(qkv_proj, QKV)                                                                               \
    X(context, CONTEXT)                                                                            \
    X(out_proj, OUT)                                                                               \
    X(mlpwi_0, WI_0)                                                                               \
    X(mlpwi_1, WI_1)                                                                               \
    X(mlpwi, WI)                                                                                   \
    X(mlpwo, WO)

#define VALUE_NAME(name, values) #name,
const char *const dt_remat_value_names[] = {VALUES(VALUE_NAME) NULL};
#define VALUE_SET(name, values) values,
static const unsigned value_sets[] = {VALUES(VALUE_SET)};
enum { N_VALUES = sizeof value_sets / sizeof *value_sets };

unsigned dt_remat_values_of(const char *name) {
    for (int k = 0; k < N_VALUES; k++)
        if (strcmp(dt_remat_value_names[k], name) == 0) return value_sets[k];
    return 0;
}

const dt_remat_product dt_remat_products[DT_REMAT_PRODUCTS] = {
    {DT_REMAT_QUERY, "query"},
    {DT_REMAT_KEY, "key"},
    {DT_REMAT_VALUE, "value"},
    {DT_REMAT_OUT, "attention_output"},
    {DT_REMAT_WI_0, "feedforward_gate_dense"},
    {DT_REMAT_WI_1, "feedforward_intermediate_dense"},
    {DT_REMAT_WO, "feedforward_output_dense"},
    {DT_REMAT_WI_0, "experts/expert_feedforward_gate_dense"},
    {DT_REMAT_WI_1, "experts/expert_feedforward_intermediate_dense"},
    {DT_REMAT_WO, "experts/expert_feedforward_output_dense"},
};

bool dt_is_kernel_of(const char *path, const char *layer) {
    static const char end[] = "/kernel";
    const size_t own = strlen(layer), after = dt_ends_with(path, end) ? sizeof end - 1 : 0,
                 n = strlen(path) - after;
    if (n < own) return false;
    const char *at = path + n - own;
    return strncmp(at, layer, own) == 0 && (at == path || at[-1] == '/');
}

static unsigned join(const dt_items *values) {
    unsigned all = 0;
    for (int i = 0; i < values->n; i++) all |= value_sets[((const int *)values->v)[i]];
    return all;
}

dt_rematerialize dt_rematerialize_of(const dt_remat_lists *lists, int policy) {
    dt_rematerialize out = policies[policy];
    out.on = policy != 0;
    if (!lists->given) return out;
    const unsigned offload = join(&lists->offload);
    return (dt_rematerialize){"custom", true, join(&lists->save) & ~offload, offload};
}
