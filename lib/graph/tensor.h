/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors: counted arrays of known shape. A tensor owns its memory, or is a part of another one,
 * whose memory it keeps alive. Once a tensor is shared it is not changed any more, so data sets,
 * values and threads can share it without locks. A dt_view (graph/graph.h) refers to an array
 * without counting.
 */
#ifndef DT_GRAPH_TENSOR_H
#define DT_GRAPH_TENSOR_H

#include "graph/graph.h"

struct dt_tensor {
    _Atomic int refs;
    dt_type type; /* the type, which is concrete: it has no batch dimension B */
    char *data;   /* the elements, aligned to 64 bytes unless the tensor is a part of another one */
    /* The tensor that this one is a part of; a counted reference. NULL: this tensor owns its
     * memory. */
    dt_tensor *base;
    char *device; /* the full name of the device that has the tensor; NULL: the host's CPU:0 */
};

/* Makes a tensor on the host with its own memory, which is not initialized. Fails with
 * NO_MEMORY. */
dt_status *dt_tensor_new(dt_tensor **out, const dt_type *type) DT_MUST_USE;
/* Makes a tensor of type *type, on the host, that consists of the elements of t from index
 * `element` on (row-major; type->dtype is that of t). It shares the memory of t and keeps t
 * alive. */
dt_tensor *dt_tensor_part(dt_tensor *t, const dt_type *type, int64_t element);
dt_tensor *dt_tensor_ref(dt_tensor *t);
/* Records the full name of the device that holds the tensor; NULL: the host's CPU:0. The name is
 * copied. */
void dt_tensor_set_device(dt_tensor *t, const char *device);
/* Checks a type from outside. Fails with TENSOR if the dtype is unknown, if the rank is not in 0 ..
 * DT_MAX_RANK, if shape is NULL with a rank above 0, if a size is negative, or if there are more
 * than INT64_MAX / 16 elements. */
dt_status *dt_tensor_check(dt_dtype dtype, int rank, const int64_t *shape) DT_MUST_USE;

#endif
