/* SPDX-License-Identifier: Apache-2.0 */
/* What evaluate found out about outputs, as tables for people. */
#ifndef CMD_EXPLAINED_H
#define CMD_EXPLAINED_H

#include "base/str.h"
#include "dtrain.h"

/* Text for a terminal, or Markdown. */
void explained_put(dt_str *to, const dt_evaluation *e, bool markdown);

#endif
