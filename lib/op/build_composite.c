/* SPDX-License-Identifier: Apache-2.0 */
/* Builders of composites: ops that could be expressed in other ops and are kept as one op for
 * speed. */
#include <string.h>

#include "op/op.h"
#include "op/shapes.h"

dt_value dt_positions(dt_value query) {
    dt_type t = dt_type_of_value(query);
    if (t.rank < 3) return (dt_value){0};
    dt_type one = dt_type_of(DT_INT32, t.rank - 2, t.dim);
    return dt_iota(query.trace, &one, t.rank - 3);
}

dt_value dt_attention(dt_value query, dt_value key, dt_value value, const dt_attention_how *how) {
    dt_attention_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.scale = how->scale;
    attr.window = how->window;
    attr.causal = how->causal;
    dt_value position = how->position.trace ? how->position : dt_positions(query);
    return dt_emit(query.trace, &dt_op_attention, (dt_value[]){query, key, value, position}, 4,
                   &attr);
}

dt_value dt_layer_norm(dt_value x, dt_value gamma, dt_value beta, double epsilon) {
    return dt_emit(x.trace, &dt_op_layer_norm, (dt_value[]){x, gamma, beta}, 3,
                   &(dt_norm_attr){epsilon});
}

dt_value dt_gelu(dt_value x, bool approximate) {
    return dt_emit(x.trace, &dt_op_gelu, &x, 1, &(dt_gelu_attr){approximate});
}
