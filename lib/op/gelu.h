/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by gelu and its gradient. */
#ifndef DT_OP_GELU_H
#define DT_OP_GELU_H

#include "op/partition.h"

void dt_gelu_print(const void *attr, dt_str *out);
int dt_gelu_loop(const void *attr);
/* P(x) of gelu, expressed in ops. */
dt_value dt_gelu_share(dt_value x, bool approximate);

#endif
