/* SPDX-License-Identifier: Apache-2.0 */
/* The op table as a list, for loops over all ops. */
#include "op/op.h"

const dt_op *const *dt_ops(int *n) {
    static const dt_op *const rows[] = {
#define DT_OP(name) &dt_op_##name,
#include "op/ops.h"
    };
    *n = (int)(sizeof rows / sizeof *rows);
    return rows;
}
