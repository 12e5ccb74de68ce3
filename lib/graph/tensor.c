/* SPDX-License-Identifier: Apache-2.0 */
/* Makes, shares and reads tensors. */
#include "graph/tensor.h"

#include <stdlib.h>
#include <string.h>

#include "base/handle.h"

dt_status *dt_tensor_new(dt_tensor **out, const dt_type *type) {
    int64_t bytes = dt_type_bytes(type);
    void *data = bytes < INT64_MAX - 64 ? dt_try_alloc((size_t)bytes + 64) : NULL;

    if (!data)
        return dt_fail(DT_E_NO_MEMORY, NULL, "out of memory: a tensor needs %lld bytes",
                       (long long)bytes);
    dt_tensor *t = dt_alloc(sizeof *t);
    t->refs = 1;
    t->type = *type;
    t->data = data;
    *out = t;
    return NULL;
}

dt_tensor *dt_tensor_part(dt_tensor *t, const dt_type *type, int64_t element) {
    dt_tensor *part = dt_alloc(sizeof *part);

    part->refs = 1;
    part->type = *type;
    part->base = dt_tensor_ref(t);
    part->data = t->data + element * (int64_t)dt_dtype_size(type->dtype);
    return part;
}

dt_status *dt_tensor_check(dt_dtype dtype, int rank, const int64_t *shape) {
    int64_t elements = 1;

    if (!dt_dtype_is_known(dtype))
        return dt_fail(DT_E_TENSOR, NULL, "%d is not a dtype", (int)dtype);
    if (rank < 0 || rank > DT_MAX_RANK)
        return dt_fail(DT_E_TENSOR, NULL, "a tensor can have 0 to %d dimensions, got %d",
                       DT_MAX_RANK, rank);
    if (rank > 0 && !shape)
        return dt_fail(DT_E_TENSOR, NULL, "a tensor with %d dimensions needs a shape", rank);
    for (int d = 0; d < rank; d++)
        if (shape[d] < 0 || !dt_mul_fits(elements, shape[d], &elements))
            return dt_fail(DT_E_TENSOR, NULL, "dimension %d of a tensor cannot be %lld", d,
                           (long long)shape[d]);
    if (elements > INT64_MAX / 16)
        return dt_fail(DT_E_TENSOR, NULL, "a tensor of %lld elements is too large",
                       (long long)elements);
    return NULL;
}

dt_status *dt_tensor_create(dt_tensor **out, dt_dtype dtype, int rank, const int64_t *shape,
                            const void *data) {
    dt_tensor *t = NULL;

    DT_REQUIRE({out, "handle to fill"});
    DT_TRY(dt_tensor_check(dtype, rank, shape));
    dt_type type = dt_type_of(dtype, rank, shape);
    DT_TRY(dt_tensor_new(&t, &type));
    if (data) memcpy(t->data, data, (size_t)dt_type_bytes(&type));
    else memset(t->data, 0, (size_t)dt_type_bytes(&type));
    dt_tensor_unref(*out);
    *out = t;
    return NULL;
}

dt_tensor *dt_tensor_ref(dt_tensor *t) {
    t->refs++;
    return t;
}

void dt_tensor_unref(dt_tensor *t) {
    if (!DT_LAST(t)) return;
    if (t->base) dt_tensor_unref(t->base);
    else free(t->data);
    free(t->device);
    DT_RETIRE(t);
}

dt_dtype dt_tensor_dtype(const dt_tensor *t) { return DT_LIVE(t) ? t->type.dtype : DT_FLOAT32; }

int dt_tensor_rank(const dt_tensor *t) { return DT_LIVE(t) ? t->type.rank : 0; }

int64_t dt_tensor_dim(const dt_tensor *t, int axis) {
    DT_LIVE(t);
    return t && axis >= 0 && axis < t->type.rank ? t->type.dim[axis] : -1;
}

int64_t dt_tensor_elements(const dt_tensor *t) {
    return DT_LIVE(t) ? dt_type_elements(&t->type) : 0;
}

const void *dt_tensor_data(const dt_tensor *t) { return DT_LIVE(t) ? t->data : NULL; }

void dt_tensor_set_device(dt_tensor *t, const char *device) {
    char *copy = device ? dt_strdup(device) : NULL;
    free(t->device);
    t->device = copy;
}

const char *dt_tensor_device(const dt_tensor *t) {
    DT_LIVE(t);
    return t && t->device ? t->device : "/job:localhost/replica:0/task:0/device:CPU:0";
}
