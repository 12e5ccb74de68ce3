/* SPDX-License-Identifier: Apache-2.0 */
/* Two toy ops, so that the room graph is tested without the op table: a source of any type, and a
 * join of two equal types. */
#ifndef TESTS_GRAPH_TOYS_H
#define TESTS_GRAPH_TOYS_H

#include "graph/graph.h"

typedef struct toy_attr {
    dt_type type;
    int64_t number;
} toy_attr;

static inline dt_status *toy_source_infer(dt_infer *q) {
    q->out = ((const toy_attr *)q->attr)->type;
    return NULL;
}

static inline void toy_source_print(const void *attr, dt_str *out) {
    dt_str_printf(out, "#%d", (int)((const toy_attr *)attr)->number);
}

static inline dt_status *toy_join_infer(dt_infer *q) {
    if (!dt_type_equal(&q->in[0], &q->in[1]))
        return dt_bad_shape(q, "wants two values of one type");
    q->out = q->in[0];
    return NULL;
}

static const dt_op toy_source = {
    .name = "source",
    .attr = {.size = sizeof(toy_attr), .print = toy_source_print},
    .infer = toy_source_infer,
};
static const dt_op toy_join = {.name = "join", .n_in = 2, .infer = toy_join_infer};

static inline dt_value toy_make(dt_trace *t, const dt_type *type, int64_t number) {
    toy_attr attr = {*type, number};
    return dt_emit(t, &toy_source, NULL, 0, &attr);
}

static inline dt_value toy_add(dt_value a, dt_value b) {
    return dt_emit(a.trace ? a.trace : b.trace, &toy_join, (dt_value[]){a, b}, 2, NULL);
}

/* f32[B,n] */
static inline dt_type toy_rows(int64_t n) {
    return dt_type_of(DT_FLOAT32, 2, (int64_t[]){DT_BATCH, n});
}

#endif
