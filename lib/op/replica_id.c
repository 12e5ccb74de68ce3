/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replica_id: y = the number of the replica that computes it, an int32 scalar, from 0.
 *
 * call: dt_value dt_replica_id(dt_trace *t)
 * computes: The number of the replica that computes the value, from 0; tf.distribute's
 * replica_id_in_sync_group.
 * shape: an int32 scalar
 * expects: nothing
 * gradient: none
 * stablehlo: replica_id
 */
#include "op/cells.h"
#include "op/shapes.h"
#include "op/stablehlo.h"

static dt_status *infer(dt_infer *q) {
    q->out = dt_scalar_type(DT_INT32);
    return NULL;
}

static void eval(const dt_call *c) { dt_cell_set_int(&c->out, 0, c->env->replica); }

static dt_hlo_value stablehlo(const dt_hlo_call *c) {
    return dt_hlo_convert(c->hlo, dt_hlo_device(c->hlo), DT_INT32);
}

const dt_op dt_op_replica_id = {
    .name = "replica_id",
    .n_in = 0,
    .traits.varying = true,
    .infer = infer,
    .rule = dt_rule_none,
    .eval = eval,
    .forms.stablehlo = stablehlo,
};
