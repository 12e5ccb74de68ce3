/* What gelu and its gradient share. */
#ifndef DT_OP_GELU_H
#define DT_OP_GELU_H

#include "op/op.h"

void dt_gelu_print(const void *attr, dt_str *out);

#endif
