/* SPDX-License-Identifier: Apache-2.0 */
/* A graph that a coordinator sends to a task of type ps. One that is read and written again has the
 * same text when it is read once more. */
#include <string.h>

#include "fuzz.h"
#include "pass/graph_bytes.h"

static dt_status *read(const char *bytes, size_t n, dt_variable *const *v, dt_graph **out) {
    dt_byte_reader from = {bytes, n, false};
    return dt_graph_read(&from, v, 2, out);
}

static void read_again(const dt_graph *g, dt_variable *const *v) {
    dt_graph *again = NULL;
    dt_str bytes = {0}, a = {0}, b = {0};
    dt_graph_write(g, v, 2, &bytes);
    dt_status *s = read(dt_str_text(&bytes), bytes.size, v, &again);
    FUZZ_CHECK(!s, "a graph that cannot be read again");
    dt_graph_print(g, &a);
    dt_graph_print(again, &b);
    FUZZ_CHECK(strcmp(dt_str_text(&a), dt_str_text(&b)) == 0, "another graph");
    dt_graph_destroy(again);
    dt_str_release(&bytes);
    dt_str_release(&a);
    dt_str_release(&b);
}

FUZZ_TARGET(graph) {
    const dt_type scalar = dt_scalar_type(DT_FLOAT32),
                  table = dt_type_of(DT_FLOAT32, 2, (int64_t[]){8, 4});
    dt_variable *v[] = {dt_variable_declare("table", &table, true),
                        dt_variable_declare("rate", &scalar, false)};
    dt_graph *g = NULL;
    dt_status *s = read((const char *)data, size, v, &g);
    if (!s) read_again(g, v);
    fuzz_done(s);
    dt_graph_destroy(g);
    for (int i = 0; i < 2; i++) dt_variable_unref(v[i]);
    return 0;
}
