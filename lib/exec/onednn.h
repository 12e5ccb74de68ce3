/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oneDNN, loaded with dlopen, for the files that create its primitives. Its C interface changed
 * between 2.x (descriptor structs, filled by the library) and 3.x (everything behind handles);
 * dnnl_version says which one it is. Structs of 2.x are treated as bytes of sufficient size, so
 * that no header of the library is needed and one binary works with both.
 */
#ifndef DT_EXEC_ONEDNN_H
#define DT_EXEC_ONEDNN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef void *dt_dnnl;
typedef struct dt_dnnl_arg {
    int arg;
    dt_dnnl memory;
} dt_dnnl_arg;

enum { DT_DNNL_BF16 = 2, DT_DNNL_F32 = 3, DT_DNNL_ANY = 1 /* ANY: oneDNN chooses the layout */ };
enum { /* the numbers by which oneDNN knows a primitive's arguments */
       DT_DNNL_SRC = 1,
       DT_DNNL_DST = 17,
       DT_DNNL_WEIGHTS = 33,
       DT_DNNL_SCRATCHPAD = 80,
       DT_DNNL_DIFF_SRC = 129,
       DT_DNNL_DIFF_DST = 145,
       DT_DNNL_DIFF_WEIGHTS = 161
};
/* Memory for structs of oneDNN, larger than in 2.x: there, a dnnl_memory_desc_t has 696 bytes, and
 * the descriptor of an op about 3,500. */
typedef union dt_dnnl_desc {
    char bytes[2048];
    dt_dnnl h;
    int64_t align;
} dt_dnnl_desc;
typedef union dt_dnnl_op {
    char bytes[16384];
    int64_t align;
} dt_dnnl_op;

/* The functions of oneDNN that are called. A function whose name ends in _2 or _3 is NULL if the
 * library has the other version's interface. */
typedef struct dt_dnnl_api {
    void *library;
    /* the engine, the stream, and attributes for primitives whose caller provides the working
     * memory */
    dt_dnnl engine, stream, own_scratchpad;
    void (*omp_set_num_threads)(int);
    const int *(*version)(void); /* returns the version as three numbers: major, minor, patch */
    /* limits the instruction set; NULL if the library lacks the function */
    int (*set_max_cpu_isa)(int);
    int (*engine_create)(dt_dnnl *, int, size_t);
    int (*engine_destroy)(dt_dnnl);
    int (*stream_create)(dt_dnnl *, dt_dnnl, unsigned);
    int (*stream_destroy)(dt_dnnl);
    int (*attr_create)(dt_dnnl *);
    int (*attr_scratchpad)(dt_dnnl, int);
    int (*attr_post_ops)(dt_dnnl attr, dt_dnnl list);
    int (*attr_destroy)(dt_dnnl);
    int (*post_ops_create)(dt_dnnl *);
    int (*post_ops_destroy)(dt_dnnl);
    int (*memory_create)(dt_dnnl *, const void *desc, dt_dnnl engine, void *data);
    int (*memory_set)(dt_dnnl, void *data);
    int (*memory_destroy)(dt_dnnl);
    size_t (*desc_size)(const void *desc);
    const void *(*query_desc)(dt_dnnl primitive_desc, int what, int index);
    int (*query)(dt_dnnl primitive_desc, int what, int index, void *out);
    int (*reorder_desc)(dt_dnnl *, const void *from, dt_dnnl engine, const void *to,
                        dt_dnnl to_engine, dt_dnnl attr);
    int (*primitive_create)(dt_dnnl *, dt_dnnl desc);
    int (*primitive_desc_destroy)(dt_dnnl);
    int (*primitive_destroy)(dt_dnnl);
    int (*execute)(dt_dnnl, dt_dnnl stream, int n, const dt_dnnl_arg *);
    int (*desc_strides_2)(void *desc, int n, const int64_t *dims, int type, const int64_t *strides);
    int (*desc_tag_2)(void *desc, int n, const int64_t *dims, int type, int tag);
    int (*matmul_desc_2)(void *op, const void *src, const void *weights, const void *bias,
                         const void *dst);
    int (*forward_2)(void *op, int prop, int alg, const void *src, const void *weights,
                     const void *bias, const void *dst, const int64_t *strides,
                     const int64_t *dilates, const int64_t *low, const int64_t *high);
    int (*data_2)(void *op, int alg, const void *src, const void *weights, const void *dst,
                  const int64_t *strides, const int64_t *dilates, const int64_t *low,
                  const int64_t *high);
    int (*weights_2)(void *op, int alg, const void *src, const void *weights, const void *bias,
                     const void *dst, const int64_t *strides, const int64_t *dilates,
                     const int64_t *low, const int64_t *high);
    int (*append_sum_2)(dt_dnnl list, float scale);
    int (*primitive_desc_2)(dt_dnnl *, const void *op, dt_dnnl attr, dt_dnnl engine, dt_dnnl hint);
    int (*append_sum_3)(dt_dnnl list, float scale, int32_t zero_point, int type);
    int (*desc_strides_3)(dt_dnnl *desc, int n, const int64_t *dims, int type,
                          const int64_t *strides);
    int (*desc_tag_3)(dt_dnnl *desc, int n, const int64_t *dims, int type, int tag);
    int (*desc_destroy_3)(dt_dnnl);
    int (*matmul_desc_3)(dt_dnnl *, dt_dnnl engine, dt_dnnl src, dt_dnnl weights, dt_dnnl bias,
                         dt_dnnl dst, dt_dnnl attr);
    int (*forward_3)(dt_dnnl *, dt_dnnl engine, int prop, int alg, dt_dnnl src, dt_dnnl weights,
                     dt_dnnl bias, dt_dnnl dst, const int64_t *strides, const int64_t *dilates,
                     const int64_t *low, const int64_t *high, dt_dnnl attr);
    int (*data_3)(dt_dnnl *, dt_dnnl engine, int alg, dt_dnnl src, dt_dnnl weights, dt_dnnl dst,
                  const int64_t *strides, const int64_t *dilates, const int64_t *low,
                  const int64_t *high, dt_dnnl hint, dt_dnnl attr);
    int (*weights_3)(dt_dnnl *, dt_dnnl engine, int alg, dt_dnnl src, dt_dnnl weights, dt_dnnl bias,
                     dt_dnnl dst, const int64_t *strides, const int64_t *dilates,
                     const int64_t *low, const int64_t *high, dt_dnnl hint, dt_dnnl attr);
} dt_dnnl_api;

/* Loads the library. Fails with KERNELS if it is missing, lacks a function or does not start, and
 * with NO_MEMORY. */
dt_status *dt_dnnl_open(dt_dnnl_api **out) DT_MUST_USE;
void dt_dnnl_close(dt_dnnl_api *a);

/* Describes an array of `type` with `rank` dimensions. Strides are in elements; NULL: oneDNN
 * chooses the layout. */
bool dt_dnnl_describe(const dt_dnnl_api *a, int type, int rank, const int64_t *dims,
                      const int64_t *strides, dt_dnnl_desc *out);
/* Returns a pointer to an array's description, in the form that the library's version takes. */
const void *dt_dnnl_pointer(const dt_dnnl_api *a, const dt_dnnl_desc *d);
void dt_dnnl_forget(const dt_dnnl_api *a, dt_dnnl_desc *d);

#endif
