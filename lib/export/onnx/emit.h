/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ONNX graph under construction: functions with which forms of ops (forms.h) write nodes.
 *
 * Sizes. The batch is dimension 0 of inputs, and its size is not in the file. So shapes that
 * contain it are tensors which the graph computes (dt_onnx_shape), except in Reshape, where -1 is
 * enough.
 *
 * Broadcasting. In dtrain's graphs a separate node broadcasts a value; in ONNX the reading
 * operator does, by NumPy's rule. So a value has two types: its own, and that of its tensor, which
 * has sizes of 1 (or fewer dimensions) where the value is repeated. Element-wise forms use the
 * tensor as it is, so that "dense/bias" is added to a product by one Add; other forms ask for the
 * whole value.
 *
 * bfloat16. Runtimes on CPUs have few operators for it. Its values are floats in the file, which
 * are rounded where they are computed, by a cast to bfloat16 and back.
 */
#ifndef DT_ONNX_EMIT_H
#define DT_ONNX_EMIT_H

#include "op/op.h"
#include "export/onnx/proto.h"

enum { DT_ONNX_OPSET = 18, DT_ONNX_IR_VERSION = 8 };

typedef struct dt_onnx_value {
    const char *name;
    dt_type type; /* the value's type in the graph */
    /* type of the tensor of that name: it may lack leading dimensions, which broadcasting adds */
    dt_type held;
} dt_onnx_value;

typedef struct dt_onnx {
    dt_arena *arena;
    dt_str *out;      /* the message of the graph */
    const char *path; /* layer of the current node; "" */
    const char *fed;  /* an input that has the batch */
    int nodes, n_memos, memo_cap;
    dt_pair *memo; /* the name of a tensor that is determined by its key, such as a constant */
} dt_onnx;

/* ---- nodes ---- */

enum { DT_ONNX_MOST_IN = 5, DT_ONNX_MOST_ATTRIBUTES = 4, DT_ONNX_MOST_INTS = 2 * DT_MAX_RANK };
typedef struct dt_onnx_attribute {
    /* text: the value, if it is a text; else the value is one number or a list */
    const char *name, *text;
    bool list;
    int n;
    int64_t number[DT_ONNX_MOST_INTS];
} dt_onnx_attribute;
#define DT_ONNX_NUMBER(name_, value)                                                               \
    ((dt_onnx_attribute){.name = (name_), .n = 1, .number = {(value)}})
#define DT_ONNX_TEXT(name_, value) ((dt_onnx_attribute){.name = (name_), .text = (value)})
dt_onnx_attribute dt_onnx_list(const char *name, const int64_t *number, int n);

typedef struct dt_onnx_node {
    const char *op;
    const char *in[DT_ONNX_MOST_IN];                      /* up to the first NULL */
    dt_onnx_attribute attribute[DT_ONNX_MOST_ATTRIBUTES]; /* up to the first without a name */
    const char *result; /* name of the result; NULL: derived from layer, op and number */
} dt_onnx_node;
/* Adds the node; returns the name of its result. */
const char *dt_onnx_put(dt_onnx *o, const dt_onnx_node *node);
const char *dt_onnx_put1(dt_onnx *o, const char *op, const char *x);
const char *dt_onnx_put2(dt_onnx *o, const char *op, const char *x, const char *y);

/* ---- constants, each once ---- */

const char *dt_onnx_ints(dt_onnx *o, const int64_t *v, int n);        /* int64 (n) */
const char *dt_onnx_int(dt_onnx *o, int64_t v);                       /* int64 (1) */
const char *dt_onnx_scalar(dt_onnx *o, dt_dtype dtype, double value); /* () */
const char *dt_onnx_count(dt_onnx *o, dt_dtype dtype, int64_t n);     /* (n): 0, 1, ... */
const char *dt_onnx_rows(dt_onnx *o, int64_t k);                      /* int64 (1): k * B */
/* Adds an initializer of that name: a weight or a constant. */
void dt_onnx_initializer(dt_onnx *o, const char *name, const dt_view *v);
/* ONNX' number of a dtype; bfloat16 has that of float. */
int64_t dt_onnx_dtype(dt_dtype dtype);

/* ---- values ---- */

/* A value whose tensor has all of its dimensions. */
dt_onnx_value dt_onnx_value_of(const char *name, const dt_type *type);
/* The value with a tensor of all of its dimensions; an Expand is added if necessary. */
dt_onnx_value dt_onnx_whole(dt_onnx *o, const dt_onnx_value *v);
/* The following functions take and return values whose tensors have all of their dimensions. */
dt_onnx_value dt_onnx_reshape(dt_onnx *o, const dt_onnx_value *x, const dt_type *type);
/* dimension i of the result is perm[i] of x */
dt_onnx_value dt_onnx_transpose(dt_onnx *o, const dt_onnx_value *x, const int8_t *perm);
/* accepts any value; the result lacks the same dimensions */
dt_onnx_value dt_onnx_cast(dt_onnx *o, const dt_onnx_value *x, dt_dtype dtype);
/* The value rounded to its type, if that is bfloat16. */
dt_onnx_value dt_onnx_rounded(dt_onnx *o, const dt_onnx_value *x);
/* Pads by `low` and `high` per dimension; negative numbers cut elements off. */
dt_onnx_value dt_onnx_pad(dt_onnx *o, const dt_onnx_value *x, const int64_t *low,
                          const int64_t *high, double value);
/* Inserts `holes` elements of that value between neighbours along dimension d. */
dt_onnx_value dt_onnx_spread(dt_onnx *o, const dt_onnx_value *x, int d, int64_t holes,
                             double value);
/* Elements from, from + step, ... of dimension d, up to but without `to`. */
const char *dt_onnx_slice(dt_onnx *o, const char *x, int d, int64_t from, int64_t to, int64_t step);

#endif
