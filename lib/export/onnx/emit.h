/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ONNX graph under construction: functions with which forms of ops (forms.h) write nodes.
 *
 * Sizes: the batch is dimension 0 of inputs, and its size is not in the file. So shapes that
 * contain it are tensors that the graph computes, from dt_onnx_rows. Only Reshape needs no such
 * tensor, because it accepts -1.
 *
 * Broadcasting: in dtrain's graphs a separate node broadcasts a value. In ONNX, the operator that
 * reads the value does, by NumPy's rule. So a value has two types: its own, and that of its tensor,
 * in which repeated dimensions have size 1 or are missing. Element-wise forms use the tensor as it
 * is, so that "dense/bias" is added to a product by one Add; most other forms ask for the whole
 * value.
 *
 * bfloat16: runtimes on CPUs have few operators for it. Such values are floats in the file. When
 * one is computed, it is rounded by a cast to bfloat16 and back, unless it is rounded already.
 */
#ifndef DT_ONNX_EMIT_H
#define DT_ONNX_EMIT_H

#include "file/protobuf.h"
#include "op/op.h"

enum { DT_ONNX_OPSET = 18, DT_ONNX_IR_VERSION = 8 };

typedef struct dt_onnx_value {
    const char *name;
    dt_type type; /* type of the value in the graph */
    /* type of the tensor of that name: it may lack leading dimensions, or have size 1 in others,
     * which broadcasting fills */
    dt_type held;
} dt_onnx_value;

typedef struct dt_onnx {
    dt_arena *arena;
    dt_str *out;      /* the file's bytes so far, which end within the message GraphProto */
    const char *path; /* path of the layer whose nodes are being written; "" if there is none */
    /* name of an input of the model that has the batch dimension, from whose shape the graph takes
     * B */
    const char *fed;
    int nodes, n_memos, memo_cap;
    /* tensors that were made before, such as constants: the key that describes a tensor, and its
     * name */
    dt_pair *memo;
} dt_onnx;

/* ---- nodes ---- */

enum { DT_ONNX_MOST_IN = 5, DT_ONNX_MOST_ATTRIBUTES = 4, DT_ONNX_MOST_INTS = 2 * DT_MAX_RANK };
typedef struct dt_onnx_attribute {
    /* text: the value if it is a text; NULL if it is a number or a list */
    const char *name, *text;
    bool list;                         /* whether the value is a list of numbers */
    int n;                             /* number of elements of `number`; 0 for a text */
    int64_t number[DT_ONNX_MOST_INTS]; /* [n] the number, or the elements of the list */
} dt_onnx_attribute;
#define DT_ONNX_NUMBER(name_, value)                                                               \
    ((dt_onnx_attribute){.name = (name_), .n = 1, .number = {(value)}})
#define DT_ONNX_TEXT(name_, value) ((dt_onnx_attribute){.name = (name_), .text = (value)})
dt_onnx_attribute dt_onnx_list(const char *name, const int64_t *number, int n);

typedef struct dt_onnx_node {
    const char *op;
    /* names of the tensors that the node reads; the first NULL ends the list */
    const char *in[DT_ONNX_MOST_IN];
    /* the first attribute without a name ends the list */
    dt_onnx_attribute attribute[DT_ONNX_MOST_ATTRIBUTES];
    const char *result; /* name of the result; NULL: derived from layer, op and number */
} dt_onnx_node;
/* Adds the node and returns the name of its result, which is node->result or in the arena.
 * dt_onnx_put1 and dt_onnx_put2 add a node with one or two inputs and no attributes. */
const char *dt_onnx_put(dt_onnx *o, const dt_onnx_node *node);
const char *dt_onnx_put1(dt_onnx *o, const char *op, const char *x);
const char *dt_onnx_put2(dt_onnx *o, const char *op, const char *x, const char *y);

/* ---- constants, which are added once, the batch size, initializers and dtypes ---- */

/* Makes a tensor of int64 from n numbers, (n). */
const char *dt_onnx_ints(dt_onnx *o, const int64_t *v, int n);
const char *dt_onnx_int(dt_onnx *o, int64_t v); /* Makes a tensor of int64 from one number, (1). */
/* Makes a scalar: a tensor of shape (). */
const char *dt_onnx_scalar(dt_onnx *o, dt_dtype dtype, double value);
/* Makes a tensor (n) of the numbers 0, 1, ..., n - 1. */
const char *dt_onnx_count(dt_onnx *o, dt_dtype dtype, int64_t n);
/* Computes k times the batch size B, as a tensor of int64 (1). */
const char *dt_onnx_rows(dt_onnx *o, int64_t k);
/* Adds an initializer of that name: a weight or a constant. */
void dt_onnx_initializer(dt_onnx *o, const char *name, const dt_view *v);
/* Returns ONNX's number of a dtype. bfloat16 has the number of float, since it is stored as
 * that. */
int64_t dt_onnx_dtype(dt_dtype dtype);

/* ---- values ---- */

/* Makes a value from the name of a tensor that has all dimensions of the type. */
dt_onnx_value dt_onnx_value_of(const char *name, const dt_type *type);
/* Returns the value with a tensor that has all of its dimensions. Adds an Expand if necessary. */
dt_onnx_value dt_onnx_whole(dt_onnx *o, const dt_onnx_value *v);
/* The following functions, except dt_onnx_cast and dt_onnx_rounded, take and return values whose
 * tensors have all of their dimensions. */
dt_onnx_value dt_onnx_reshape(dt_onnx *o, const dt_onnx_value *x, const dt_type *type);
/* Transposes x: dimension i of the result is dimension perm[i] of x. */
dt_onnx_value dt_onnx_transpose(dt_onnx *o, const dt_onnx_value *x, const int8_t *perm);
/* Converts x to a dtype. If x lacks dimensions that broadcasting adds, the result lacks them,
 * too. */
dt_onnx_value dt_onnx_cast(dt_onnx *o, const dt_onnx_value *x, dt_dtype dtype);
/* Rounds the value to its type if that is bfloat16; else returns it unchanged. */
dt_onnx_value dt_onnx_rounded(dt_onnx *o, const dt_onnx_value *x);
/* Pads each dimension by `low` and `high` elements. Negative numbers cut elements off. */
dt_onnx_value dt_onnx_pad(dt_onnx *o, const dt_onnx_value *x, const int64_t *low,
                          const int64_t *high, double value);
/* Inserts `holes` elements, each equal to `value`, between adjacent elements of dimension d. */
dt_onnx_value dt_onnx_spread(dt_onnx *o, const dt_onnx_value *x, int d, int64_t holes,
                             double value);
/* Returns the name of a tensor with the elements from, from + step, ... of dimension d of x, up to
 * but not including `to`. */
const char *dt_onnx_slice(dt_onnx *o, const char *x, int d, int64_t from, int64_t to, int64_t step);

/* ---- the messages of ONNX files ---- */

/*
 * The messages of ONNX files for models without control flow, field by field, from onnx.proto (IR
 * version 8). A field is given by its tag (file/protobuf.h). Tests check files with onnx.checker.
 */

enum {
    /* fields of ModelProto */
    MODEL_IR_VERSION = DT_PB_TAG(1, DT_PB_VARINT),
    MODEL_PRODUCER = DT_PB_TAG(2, DT_PB_BYTES),
    MODEL_PRODUCER_VERSION = DT_PB_TAG(3, DT_PB_BYTES),
    MODEL_GRAPH = DT_PB_TAG(7, DT_PB_BYTES),
    MODEL_OPSET = DT_PB_TAG(8, DT_PB_BYTES),
    MODEL_METADATA = DT_PB_TAG(14, DT_PB_BYTES),
    /* fields of OperatorSetIdProto and StringStringEntryProto */
    OPSET_DOMAIN = DT_PB_TAG(1, DT_PB_BYTES),
    OPSET_VERSION = DT_PB_TAG(2, DT_PB_VARINT),
    ENTRY_KEY = DT_PB_TAG(1, DT_PB_BYTES),
    ENTRY_VALUE = DT_PB_TAG(2, DT_PB_BYTES),
    /* fields of GraphProto */
    GRAPH_NODE = DT_PB_TAG(1, DT_PB_BYTES),
    GRAPH_NAME = DT_PB_TAG(2, DT_PB_BYTES),
    GRAPH_INITIALIZER = DT_PB_TAG(5, DT_PB_BYTES),
    GRAPH_INPUT = DT_PB_TAG(11, DT_PB_BYTES),
    GRAPH_OUTPUT = DT_PB_TAG(12, DT_PB_BYTES),
    /* fields of NodeProto */
    NODE_INPUT = DT_PB_TAG(1, DT_PB_BYTES),
    NODE_OUTPUT = DT_PB_TAG(2, DT_PB_BYTES),
    NODE_NAME = DT_PB_TAG(3, DT_PB_BYTES),
    NODE_OP = DT_PB_TAG(4, DT_PB_BYTES),
    NODE_ATTRIBUTE = DT_PB_TAG(5, DT_PB_BYTES),
    /* fields of AttributeProto */
    ATTRIBUTE_NAME = DT_PB_TAG(1, DT_PB_BYTES),
    ATTRIBUTE_INT = DT_PB_TAG(3, DT_PB_VARINT),
    ATTRIBUTE_TEXT = DT_PB_TAG(4, DT_PB_BYTES),
    ATTRIBUTE_INTS = DT_PB_TAG(8, DT_PB_VARINT),
    ATTRIBUTE_TYPE = DT_PB_TAG(20, DT_PB_VARINT),
    /* fields of ValueInfoProto, TypeProto, TypeProto.Tensor, TensorShapeProto and
     * TensorShapeProto.Dimension */
    VALUE_NAME = DT_PB_TAG(1, DT_PB_BYTES),
    VALUE_TYPE = DT_PB_TAG(2, DT_PB_BYTES),
    TYPE_TENSOR = DT_PB_TAG(1, DT_PB_BYTES),
    TENSOR_TYPE_ELEMENT = DT_PB_TAG(1, DT_PB_VARINT),
    TENSOR_TYPE_SHAPE = DT_PB_TAG(2, DT_PB_BYTES),
    SHAPE_DIMENSION = DT_PB_TAG(1, DT_PB_BYTES),
    DIMENSION_VALUE = DT_PB_TAG(1, DT_PB_VARINT),
    DIMENSION_NAME = DT_PB_TAG(2, DT_PB_BYTES),
    /* fields of TensorProto */
    TENSOR_DIMENSION = DT_PB_TAG(1, DT_PB_VARINT),
    TENSOR_ELEMENT = DT_PB_TAG(2, DT_PB_VARINT),
    TENSOR_NAME = DT_PB_TAG(8, DT_PB_BYTES),
    TENSOR_DATA = DT_PB_TAG(9, DT_PB_BYTES),
};

#endif
