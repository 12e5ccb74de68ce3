/* SPDX-License-Identifier: Apache-2.0 */
/* Prints lists of sizes the way a job file writes them. */
#include "topo/list.h"

void dt_list_print(dt_str *out, const int64_t *v, int n) {
    dt_str_putc(out, '[');
    for (int i = 0; i < n; i++) dt_str_printf(out, "%s%lld", i ? "," : "", (long long)v[i]);
    dt_str_putc(out, ']');
}

void dt_list_print_4(dt_str *out, const int v[4]) {
    dt_list_print(out, (int64_t[4]){v[0], v[1], v[2], v[3]}, 4);
}

dt_text dt_text_of_list(const int64_t *v, int n) {
    dt_str s = {0};
    dt_list_print(&s, v, n);
    return dt_text_take(&s);
}

dt_text dt_text_of_4(const int v[4]) {
    dt_str s = {0};
    dt_list_print_4(&s, v);
    return dt_text_take(&s);
}
