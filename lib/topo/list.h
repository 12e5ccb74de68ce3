/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of sizes in messages: "[2,2,1,2]". */
#ifndef DT_TOPO_LIST_H
#define DT_TOPO_LIST_H

#include "base/str.h"

void dt_list_print(dt_str *out, const int64_t *v, int n);
void dt_list_print_4(dt_str *out, const int v[4]);
/* The text of a list of at most 8 numbers, for messages. */
dt_text dt_text_of_list(const int64_t *v, int n);
dt_text dt_text_of_4(const int v[4]);

#endif
