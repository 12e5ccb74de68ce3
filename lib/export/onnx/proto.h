/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages of ONNX files for models without control flow, field by field, from onnx.proto (IR
 * version 8). A field is given by its tag (file/protobuf.h). Tests check files with onnx.checker.
 */
#ifndef DT_ONNX_PROTO_H
#define DT_ONNX_PROTO_H

#include "file/protobuf.h"

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
