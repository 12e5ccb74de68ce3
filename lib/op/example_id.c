/* SPDX-License-Identifier: Apache-2.0 */
/*
 * example_id: y[i] = the number of example i in the global batch, (B) of int32. A replica's
 * numbers follow those of the previous replica, so random numbers keyed by them do not depend on
 * how the batch is divided.
 *
 * dt_fold stacks the rows of all replicas and replaces the op by iota. In one memory space the op
 * cannot be split, since a part does not know the number of its first example. Over devices that is
 * known.
 */
#include "op/cells.h"
#include "op/elementwise.h"
#include "op/partition.h"
#include "op/shapes.h"
#include "op/stablehlo.h"

static dt_status *infer(dt_infer *q) {
    q->out = dt_type_of(DT_INT32, 1, (int64_t[]){DT_BATCH});
    return NULL;
}

static void eval(const dt_call *c) {
    for (int64_t i = 0; i < c->out.type.dim[0]; i++) dt_cell_set_int(&c->out, i, c->env->first + i);
}

/* Emits the op as iota: the folded value counts all examples, and devices have parts of it. */
static dt_value emit_iota(dt_partition_call *c) {
    dt_type type = dt_partition_type(c);
    return c->factor[0] ? dt_convert(dt_partition_iota(c, &type, 0, c->factor[0]), DT_INT32)
                        : dt_iota(c->trace, &type, 0);
}

static const dt_partition_row over_devices = {.rule = dt_rule_elementwise, .emit = emit_iota};

/* Writes the op for the program that each replica runs. All replicas have the same number of
 * rows. */
static dt_hlo_value stablehlo(const dt_hlo_call *c) {
    dt_hlo_value own =
                     dt_hlo_op(c->hlo, "iota", NULL, 0, &c->type, "%s", "iota_dimension = 0 : i64"),
                 device = dt_hlo_convert(c->hlo, dt_hlo_device(c->hlo), DT_INT32);
    dt_hlo_value first = dt_hlo_binary(c->hlo, "multiply", device,
                                       dt_hlo_like(c->hlo, device, (double)c->type.dim[0]));
    return dt_hlo_binary(c->hlo, "add", own, dt_hlo_broadcast(c->hlo, first, &c->type, NULL));
}

const dt_op dt_op_example_id = {
    .name = "example_id",
    .n_in = 0,
    .role = DT_ROLE_COUNTER,
    .infer = infer,
    .rule = dt_rule_none,
    .eval = eval,
    .over_devices = &over_devices,
    .forms.stablehlo = stablehlo,
};
