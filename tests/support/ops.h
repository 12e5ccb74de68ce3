/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_OPS_H
#define TESTS_SUPPORT_OPS_H

#include "op/op.h"

/* All rows of the op table; *n is their count. */
static inline const dt_op *const *all_ops(int *n) {
    static const dt_op *const rows[] = {
#define DT_OP(name) &dt_op_##name,
#include "op/ops.h"
    };
    *n = (int)(sizeof rows / sizeof *rows);
    return rows;
}

#endif
