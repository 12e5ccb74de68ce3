/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX files are protocol buffers. What stands here is the few messages that a model without control flow is made of, field by field, from
 * onnx.proto (IR version 8), and a writer for them.
 *
 * Why no generated code: onnx.proto would have to be carried along and compiled by protoc-c at build time, for 31 fields that have not changed
 * since 2017; and generated structs hold a second copy of every weight and of the text that is made of them. Here a message is written straight
 * into the text of the file, and a weight is copied once. That the bytes are right is for onnx.checker to say, in the tests.
 *
 * A field is its number and its wire type in one byte, which is the tag that stands in the file: all numbers are below 16, but one.
 */
#ifndef DT_ONNX_PROTO_H
#define DT_ONNX_PROTO_H

#include "base/str.h"

enum { WIRE_VARINT = 0, WIRE_BYTES = 2, WIRE_FLOAT = 5 };
#define DT_PROTO(number, wire) ((number) << 3 | (wire))

typedef enum dt_proto {
    /* ModelProto */
    MODEL_IR_VERSION = DT_PROTO(1, WIRE_VARINT), MODEL_PRODUCER = DT_PROTO(2, WIRE_BYTES), MODEL_PRODUCER_VERSION = DT_PROTO(3, WIRE_BYTES),
    MODEL_GRAPH = DT_PROTO(7, WIRE_BYTES), MODEL_OPSET = DT_PROTO(8, WIRE_BYTES), MODEL_METADATA = DT_PROTO(14, WIRE_BYTES),
    /* OperatorSetIdProto, StringStringEntryProto */
    OPSET_DOMAIN = DT_PROTO(1, WIRE_BYTES), OPSET_VERSION = DT_PROTO(2, WIRE_VARINT),
    ENTRY_KEY = DT_PROTO(1, WIRE_BYTES), ENTRY_VALUE = DT_PROTO(2, WIRE_BYTES),
    /* GraphProto */
    GRAPH_NODE = DT_PROTO(1, WIRE_BYTES), GRAPH_NAME = DT_PROTO(2, WIRE_BYTES), GRAPH_INITIALIZER = DT_PROTO(5, WIRE_BYTES),
    GRAPH_INPUT = DT_PROTO(11, WIRE_BYTES), GRAPH_OUTPUT = DT_PROTO(12, WIRE_BYTES),
    /* NodeProto */
    NODE_INPUT = DT_PROTO(1, WIRE_BYTES), NODE_OUTPUT = DT_PROTO(2, WIRE_BYTES), NODE_NAME = DT_PROTO(3, WIRE_BYTES),
    NODE_OP = DT_PROTO(4, WIRE_BYTES), NODE_ATTRIBUTE = DT_PROTO(5, WIRE_BYTES),
    /* AttributeProto; its type (20) has a tag of two bytes and is written as a varint */
    ATTRIBUTE_NAME = DT_PROTO(1, WIRE_BYTES), ATTRIBUTE_INT = DT_PROTO(3, WIRE_VARINT), ATTRIBUTE_TEXT = DT_PROTO(4, WIRE_BYTES),
    ATTRIBUTE_INTS = DT_PROTO(8, WIRE_VARINT), ATTRIBUTE_TYPE = DT_PROTO(20, WIRE_VARINT),
    /* ValueInfoProto, TypeProto, TypeProto.Tensor, TensorShapeProto, its Dimension */
    VALUE_NAME = DT_PROTO(1, WIRE_BYTES), VALUE_TYPE = DT_PROTO(2, WIRE_BYTES), TYPE_TENSOR = DT_PROTO(1, WIRE_BYTES),
    TENSOR_TYPE_ELEMENT = DT_PROTO(1, WIRE_VARINT), TENSOR_TYPE_SHAPE = DT_PROTO(2, WIRE_BYTES), SHAPE_DIMENSION = DT_PROTO(1, WIRE_BYTES),
    DIMENSION_VALUE = DT_PROTO(1, WIRE_VARINT), DIMENSION_NAME = DT_PROTO(2, WIRE_BYTES),
    /* TensorProto */
    TENSOR_DIMENSION = DT_PROTO(1, WIRE_VARINT), TENSOR_ELEMENT = DT_PROTO(2, WIRE_VARINT), TENSOR_NAME = DT_PROTO(8, WIRE_BYTES),
    TENSOR_DATA = DT_PROTO(9, WIRE_BYTES),
} dt_proto;

void dt_proto_int(dt_str *out, dt_proto field, int64_t value);
void dt_proto_text(dt_str *out, dt_proto field, const char *text);
void dt_proto_bytes(dt_str *out, dt_proto field, const void *bytes, size_t n);

/* A message within the message: what is written between the two is its. The first returns what the second takes. */
size_t dt_proto_open(dt_str *out, dt_proto field);
void dt_proto_close(dt_str *out, size_t mark);

#endif
