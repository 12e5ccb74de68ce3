/* SPDX-License-Identifier: Apache-2.0 */
/* The header of a safetensors file, checked as a whole, so that its offsets can be trusted. */
#ifndef DT_FORMAT_SAFETENSORS_HEADER_H
#define DT_FORMAT_SAFETENSORS_HEADER_H

#include "graph/graph.h"

/* A type that tensors in files may have. */
typedef struct dt_stored_type {
    const char *name; /* name of the type in files, such as "F32" */
    int size;         /* size of an element in bytes */
    /* the dt_dtype of such tensors in memory; -1: dtrain's own files do not have the type */
    int dtype;
} dt_stored_type;

const dt_stored_type *dt_stored_type_of(dt_dtype dtype);

typedef struct dt_stored_tensor {
    const char *name; /* name of the tensor, owned by the header */
    const dt_stored_type *type;
    int rank;
    int64_t dim[DT_MAX_RANK];
    int64_t begin, end; /* position of the data in bytes, relative to the beginning of all data */
} dt_stored_tensor;

typedef struct dt_safetensors_header {
    char *bytes;  /* the first bytes of the file, including the 8 of the length */
    int64_t size; /* bytes of the header with its length; the data of tensors follow */
    int n;
    /* [n], in the order of `begin`: each begins where the previous one ends, and the last one ends
     * with the file */
    dt_stored_tensor *tensor;
    struct json_t *root;
} dt_safetensors_header;

/* Reads and checks the header of an open file of `size` bytes; `path` is only used in messages. An
 * invalid header is an error CHECKPOINT. The caller must call dt_header_release even after an
 * error. */
dt_status *dt_header_read(dt_safetensors_header *h, int fd, const char *path,
                          int64_t size) DT_MUST_USE;
void dt_header_release(dt_safetensors_header *h);

#endif
