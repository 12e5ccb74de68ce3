/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes, constants and values of an ONNX graph: see emit.h. */
#include "export/onnx/emit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "op/cells.h"

/* ---- nodes ---- */

dt_onnx_attribute dt_onnx_list(const char *name, const int64_t *number, int n) {
    dt_onnx_attribute a = {.name = name, .list = true, .n = n};
    memcpy(a.number, number, (size_t)n * sizeof *number);
    return a;
}

/* Values of AttributeProto's field `type`. */
enum { TYPE_INT = 2, TYPE_TEXT = 3, TYPE_INTS = 7 };

static void put_attribute(dt_str *out, const dt_onnx_attribute *a) {
    size_t mark = dt_pb_open(out, NODE_ATTRIBUTE);
    dt_pb_put_text(out, ATTRIBUTE_NAME, a->name);
    dt_pb_put_int(out, ATTRIBUTE_TYPE, a->text ? TYPE_TEXT : a->list ? TYPE_INTS : TYPE_INT);
    if (a->text) dt_pb_put_text(out, ATTRIBUTE_TEXT, a->text);
    for (int i = 0; i < a->n; i++)
        dt_pb_put_int(out, a->list ? ATTRIBUTE_INTS : ATTRIBUTE_INT, a->number[i]);
    dt_pb_close(out, mark);
}

const char *dt_onnx_put(dt_onnx *o, const dt_onnx_node *n) {
    size_t mark = dt_pb_open(o->out, GRAPH_NODE);
    const char *name =
        dt_arena_printf(o->arena, "%s%s%s:%d", o->path, o->path[0] ? "/" : "", n->op, o->nodes++);
    const char *result = n->result ? n->result : name;
    for (int i = 0; i < DT_ONNX_MOST_IN && n->in[i]; i++)
        dt_pb_put_text(o->out, NODE_INPUT, n->in[i]);
    dt_pb_put_text(o->out, NODE_OUTPUT, result);
    dt_pb_put_text(o->out, NODE_NAME, name);
    dt_pb_put_text(o->out, NODE_OP, n->op);
    for (int i = 0; i < DT_ONNX_MOST_ATTRIBUTES && n->attribute[i].name; i++)
        put_attribute(o->out, &n->attribute[i]);
    dt_pb_close(o->out, mark);
    return result;
}

const char *dt_onnx_put1(dt_onnx *o, const char *op, const char *x) {
    return dt_onnx_put(o, &(dt_onnx_node){.op = op, .in = {x}});
}

const char *dt_onnx_put2(dt_onnx *o, const char *op, const char *x, const char *y) {
    return dt_onnx_put(o, &(dt_onnx_node){.op = op, .in = {x, y}});
}

/* ---- dtypes, constants and initializers ---- */

int64_t dt_onnx_dtype(dt_dtype dtype) {
    static const int8_t number[] = {
        [DT_BOOL] = 9,    [DT_UINT8] = 2,    [DT_INT8] = 3,     [DT_INT16] = 5,  [DT_INT32] = 6,
        [DT_INT64] = 7,   [DT_FLOAT32] = 1,  [DT_FLOAT64] = 11, [DT_UINT16] = 4, [DT_UINT32] = 12,
        [DT_UINT64] = 13, [DT_FLOAT16] = 10, [DT_BFLOAT16] = 1,
    };
    return number[dtype];
}

void dt_onnx_initializer(dt_onnx *o, const char *name, const dt_view *v) {
    size_t mark = dt_pb_open(o->out, GRAPH_INITIALIZER);
    for (int i = 0; i < v->type.rank; i++) dt_pb_put_int(o->out, TENSOR_DIMENSION, v->type.dim[i]);
    dt_pb_put_int(o->out, TENSOR_ELEMENT, dt_onnx_dtype(v->type.dtype));
    dt_pb_put_text(o->out, TENSOR_NAME, name);
    dt_pb_put_bytes(o->out, TENSOR_DATA, v->data, (size_t)dt_type_bytes(&v->type));
    dt_pb_close(o->out, mark);
}

static const char *recall(const dt_onnx *o, const char *key) {
    for (int i = 0; i < o->n_memos; i++)
        if (strcmp(o->memo[i].key, key) == 0) return o->memo[i].value;
    return NULL;
}

static const char *remember(dt_onnx *o, const char *key, const char *name) {
    DT_GROW(o->memo, o->memo_cap, o->n_memos + 1);
    o->memo[o->n_memos++] = (dt_pair){key, name};
    return name;
}

/* Returns the name of the constant that is stored under that key. If it is new, writes it as an
 * initializer with the elements of `v`. */
static const char *constant(dt_onnx *o, const char *key, const dt_view *v) {
    const char *name = recall(o, key);
    if (name) return name;
    dt_onnx_initializer(o, key, v);
    return remember(o, key, key);
}

const char *dt_onnx_ints(dt_onnx *o, const int64_t *v, int n) {
    dt_str key = {0};
    int64_t held[DT_ONNX_MOST_INTS];
    memcpy(held, v, (size_t)n * sizeof *v);
    for (int i = 0; i < n; i++) dt_str_printf(&key, "%s%" PRId64, i ? "," : "[", v[i]);
    dt_str_puts(&key, n ? "]:i64" : "[]:i64");
    const char *kept = dt_arena_take(o->arena, &key);
    return constant(o, kept, &(dt_view){dt_type_of(DT_INT64, 1, (int64_t[]){n}), held});
}

const char *dt_onnx_int(dt_onnx *o, int64_t v) { return dt_onnx_ints(o, &v, 1); }

/* Returns the type in which the file stores values of a dtype. */
static dt_dtype held_as(dt_dtype dtype) { return dtype == DT_BFLOAT16 ? DT_FLOAT32 : dtype; }

static double nearest(dt_dtype dtype, double value) {
    int64_t cell = 0;
    const dt_view v = {dt_scalar_type(dtype), &cell};
    dt_cell_set_double(&v, 0, value);
    return dt_cell_double(&v, 0);
}

const char *dt_onnx_scalar(dt_onnx *o, dt_dtype dtype, double value) {
    int64_t cell = 0;
    if (dtype == DT_BFLOAT16) return dt_onnx_scalar(o, held_as(dtype), nearest(dtype, value));
    const dt_view v = {dt_scalar_type(dtype), &cell};
    const char *key = dt_arena_printf(o->arena, "%.17g:%s", value, dt_dtype_short(dtype));
    if (dt_dtype_is_float(dtype)) dt_cell_set_double(&v, 0, value);
    else dt_cell_set_int(&v, 0, (int64_t)value);
    return constant(o, key, &v);
}

const char *dt_onnx_count(dt_onnx *o, dt_dtype dtype, int64_t n) {
    dtype = held_as(dtype);
    const char *key = dt_arena_printf(o->arena, "0..%" PRId64 ":%s", n - 1, dt_dtype_short(dtype));
    if (recall(o, key)) return key;
    dt_view v = {dt_type_of(dtype, 1, &n),
                 dt_alloc(dt_size_mul((size_t)n + 1, dt_dtype_size(dtype)))};
    for (int64_t i = 0; i < n; i++)
        if (dt_dtype_is_float(dtype)) dt_cell_set_double(&v, i, (double)i);
        else dt_cell_set_int(&v, i, i);
    constant(o, key, &v);
    free(v.data);
    return key;
}

/* ---- sizes ---- */

const char *dt_onnx_rows(dt_onnx *o, int64_t k) {
    const char *one = recall(o, "rows"), *path = o->path;
    o->path = "";
    if (!one)
        one = remember(o, "rows",
                       dt_onnx_put(o, &(dt_onnx_node){.op = "Shape",
                                                      .in = {o->fed},
                                                      .attribute = {DT_ONNX_NUMBER("start", 0),
                                                                    DT_ONNX_NUMBER("end", 1)}}));
    const char *rows = k == 1 ? one : dt_onnx_put2(o, "Mul", one, dt_onnx_int(o, k));
    o->path = path;
    return rows;
}

/* Returns the name of a tensor, int64 (rank), that has the sizes of a type when the graph runs. */
static const char *shape_of(dt_onnx *o, const dt_type *t) {
    if (!dt_type_has_batch(t)) return dt_onnx_ints(o, t->dim, t->rank);
    const char *kept = dt_arena_strdup(o->arena, dt_text_of_shape(t).s), *known = recall(o, kept);
    if (known) return known;
    const char *rows = dt_onnx_rows(o, -t->dim[0]),
               *rest = t->rank > 1 ? dt_onnx_ints(o, t->dim + 1, t->rank - 1) : NULL;
    return remember(o, kept,
                    dt_onnx_put(o, &(dt_onnx_node){.op = "Concat",
                                                   .in = {rows, rest},
                                                   .attribute = {DT_ONNX_NUMBER("axis", 0)}}));
}

/* ---- values ---- */

dt_onnx_value dt_onnx_value_of(const char *name, const dt_type *type) {
    return (dt_onnx_value){.name = name, .type = *type, .held = *type};
}

dt_onnx_value dt_onnx_whole(dt_onnx *o, const dt_onnx_value *v) {
    if (dt_type_equal(&v->held, &v->type)) return *v;
    return dt_onnx_value_of(dt_onnx_put2(o, "Expand", v->name, shape_of(o, &v->type)), &v->type);
}

dt_onnx_value dt_onnx_reshape(dt_onnx *o, const dt_onnx_value *x, const dt_type *type) {
    int64_t dim[DT_MAX_RANK];
    if (dt_type_equal(&x->held, type)) return *x;
    for (int i = 0; i < type->rank; i++) dim[i] = type->dim[i] < 0 ? -1 : type->dim[i];
    return dt_onnx_value_of(dt_onnx_put2(o, "Reshape", x->name, dt_onnx_ints(o, dim, type->rank)),
                            type);
}

dt_onnx_value dt_onnx_transpose(dt_onnx *o, const dt_onnx_value *x, const int8_t *perm) {
    dt_type t = x->type;
    int64_t list[DT_MAX_RANK];
    bool same = true;
    for (int i = 0; i < t.rank; i++) {
        t.dim[i] = x->type.dim[perm[i]];
        list[i] = perm[i];
        same &= perm[i] == i;
    }
    if (same) return *x;
    return dt_onnx_value_of(
        dt_onnx_put(o, &(dt_onnx_node){.op = "Transpose",
                                       .in = {x->name},
                                       .attribute = {dt_onnx_list("perm", list, t.rank)}}),
        &t);
}

static const char *put_cast(dt_onnx *o, const char *x, int64_t to) {
    return dt_onnx_put(
        o, &(dt_onnx_node){.op = "Cast", .in = {x}, .attribute = {DT_ONNX_NUMBER("to", to)}});
}

dt_onnx_value dt_onnx_cast(dt_onnx *o, const dt_onnx_value *x, dt_dtype dtype) {
    dt_onnx_value y = *x;
    y.type.dtype = y.held.dtype = dtype;
    if (held_as(x->type.dtype) != held_as(dtype))
        y.name = put_cast(o, x->name, dt_onnx_dtype(dtype));
    return x->type.dtype == dtype ? y : dt_onnx_rounded(o, &y);
}

dt_onnx_value dt_onnx_rounded(dt_onnx *o, const dt_onnx_value *x) {
    enum { FLOAT = 1, BFLOAT16 = 16 };
    dt_onnx_value y = *x;
    if (x->type.dtype == DT_BFLOAT16) y.name = put_cast(o, put_cast(o, x->name, BFLOAT16), FLOAT);
    return y;
}

dt_onnx_value dt_onnx_pad(dt_onnx *o, const dt_onnx_value *x, const int64_t *low,
                          const int64_t *high, double value) {
    int64_t pads[2 * DT_MAX_RANK] = {0};
    dt_type t = x->type;
    bool any = false;
    for (int i = 0; i < t.rank; i++) {
        pads[i] = low[i];
        pads[t.rank + i] = high[i];
        any |= low[i] || high[i];
        t.dim[i] += low[i] + high[i];
    }
    if (!any) return *x;
    const char *by = dt_onnx_ints(o, pads, 2 * t.rank), *with = dt_onnx_scalar(o, t.dtype, value);
    return dt_onnx_value_of(dt_onnx_put(o, &(dt_onnx_node){.op = "Pad", .in = {x->name, by, with}}),
                            &t);
}

/* Reshapes (.., n, ..) to (.., n, 1, ..), pads it to (.., n, 1 + holes, ..), reshapes it to (.., n
 * (1 + holes), ..), and cuts off the last holes. */
dt_onnx_value dt_onnx_spread(dt_onnx *o, const dt_onnx_value *x, int d, int64_t holes,
                             double value) {
    dt_type apart = x->type, joined = x->type;
    int64_t none[DT_MAX_RANK] = {0}, high[DT_MAX_RANK] = {0};
    if (holes == 0) return *x;
    memmove(apart.dim + d + 2, apart.dim + d + 1, (size_t)(apart.rank - d - 1) * sizeof *apart.dim);
    apart.dim[d + 1] = 1;
    apart.rank++;
    high[d + 1] = holes;
    joined.dim[d] *= 1 + holes;
    dt_onnx_value y = dt_onnx_reshape(o, x, &apart);
    y = dt_onnx_pad(o, &y, none, high, value);
    y = dt_onnx_reshape(o, &y, &joined);
    high[d + 1] = 0;
    high[d] = -holes;
    return dt_onnx_pad(o, &y, none, high, value);
}

const char *dt_onnx_slice(dt_onnx *o, const char *x, int d, int64_t from, int64_t to,
                          int64_t step) {
    return dt_onnx_put(o, &(dt_onnx_node){.op = "Slice",
                                          .in = {x, dt_onnx_int(o, from), dt_onnx_int(o, to),
                                                 dt_onnx_int(o, d), dt_onnx_int(o, step)}});
}
