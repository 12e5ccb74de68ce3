/* SPDX-License-Identifier: Apache-2.0 */
/* Tables, for people, of what evaluate found out about a model's outputs. */
#ifndef CMD_EXPLAINED_H
#define CMD_EXPLAINED_H

#include "base/str.h"
#include "dtrain.h"

/* Writes the tables as text for a terminal, or as Markdown. */
void explained_put(dt_str *to, const dt_evaluation *e, bool markdown);

#endif
