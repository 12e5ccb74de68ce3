/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs of a replica as bytes, for processes of one version of dtrain. A graph is written as its
 * nodes in order, and read by tracing them again, so every shape and every attribute passes the
 * rules of its op. Any program can send such bytes, so everything in them is checked.
 *
 *     int64 batch parts, nodes, results, updates
 *     each node:    text op | int64 input, as many as the op has | attributes as in memory
 *                   parameter: text name | type      variable: int64 variable
 *     each result:  text name | int64 node
 *     each update:  int64 variable, node
 */
#ifndef DT_PASS_GRAPH_BYTES_H
#define DT_PASS_GRAPH_BYTES_H

#include "graph/graph.h"

/* Bytes that are being read. A read that fails sets `failed`. From then on numbers are read as 0,
 * texts as "" and types as a float32 scalar. */
typedef struct dt_byte_reader {
    const char *at;
    size_t left;
    bool failed;
} dt_byte_reader;

void dt_bytes_put(dt_str *out, int64_t x);
void dt_bytes_put_text(dt_str *out, const char *text);
void dt_bytes_put_type(dt_str *out, const dt_type *t);
/* Reads an int64. Sets b->failed and returns 0 if there are too few bytes, or if the number is not
 * within [low, high]. */
int64_t dt_bytes_take(dt_byte_reader *b, int64_t low, int64_t high);
/* Reads a number of items. Each item takes at least `each` bytes, so the number is limited by the
 * bytes that are left. */
int dt_bytes_take_count(dt_byte_reader *b, size_t each);
/* Reads a text, which is copied to the arena. Returns "" after an error; a text of more than 4,096
 * bytes, or with a zero byte, is one. */
const char *dt_bytes_take_text(dt_byte_reader *b, dt_arena *arena);
dt_type dt_bytes_take_type(dt_byte_reader *b);

/* Appends a graph to `out`. variable: [n] contains every variable of the graph, which is written as
 * an index in this list; the reader has an equal list. */
void dt_graph_write(const dt_graph *g, dt_variable *const *variable, int n, dt_str *out);
/* Reads a graph. Fails with WORKERS_DISAGREE if the bytes are not a graph, or it has an op of
 * folded graphs; with the trace's error if a result or an update is refused. */
dt_status *dt_graph_read(dt_byte_reader *from, dt_variable *const *variable, int n,
                         dt_graph **out) DT_MUST_USE;

#endif
