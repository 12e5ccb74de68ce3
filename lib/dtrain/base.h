/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all parts of the API stand on: how its functions are declared, how they fail, and what they pass around: tensors, and
 * named lists of tensors with one for all replicas or one for each.
 */
#ifndef DTRAIN_BASE_H
#define DTRAIN_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
#define DT_BEGIN_C extern "C" {
#define DT_END_C }
#else
#define DT_BEGIN_C
#define DT_END_C
#endif

#define DT_API __attribute__((visibility("default")))
#define DT_CHECKED __attribute__((warn_unused_result))
#define DT_FORMAT(at, first) __attribute__((format(printf, at, first)))

DT_BEGIN_C

/* ---- status ------------------------------------------------------------------------------------------------------- */

typedef struct dt_status dt_status;

/* Leaves to the label `out` when `expression` fails; s holds the status. */
#define DT_GO(s, expression)                 \
    do {                                     \
        if (((s) = (expression)) != NULL)    \
            goto out;                        \
    } while (0)

DT_API int dt_status_code(const dt_status *s);            /* exit code (sysexits numbers), 0 for NULL */
DT_API int dt_status_number(const dt_status *s);          /* 17 for DT017 */
DT_API const char *dt_status_kind(const dt_status *s);    /* "ValueError", "RuntimeError", ...: tf.distribute's kinds */
DT_API const char *dt_status_text(const dt_status *s);    /* the message without place, number and notes */
DT_API const char *dt_status_file(const dt_status *s);    /* NULL when there is no place */
DT_API int dt_status_line(const dt_status *s);            /* from 1; 0: none */
DT_API int dt_status_column(const dt_status *s);          /* from 1, in characters; 0: none */
DT_API const char *dt_status_suggestion(const dt_status *s); /* NULL when there is none */
DT_API const dt_status *dt_status_next(const dt_status *s);  /* a job file's faults come all at once */
DT_API int dt_status_count(const dt_status *s);
DT_API char *dt_status_format(const dt_status *s); /* as dt_report prints it; free it */
DT_API void dt_status_free(dt_status *s);          /* takes NULL; frees the whole list */
/* An error of the caller's own, with a number of the catalogue (`dtrain explain`); any other number is 70, an internal error. */
DT_API dt_status *dt_status_create(int number, const char *format, ...) DT_CHECKED DT_FORMAT(2, 3);
/* Prints to stderr, frees, returns the exit code. dt_report(NULL) is 0. */
DT_API int dt_report(dt_status *s);
/* The long text for an error number, or NULL: what it means, an example, what helps. */
DT_API const char *dt_explain(int number);
/* The entry of names[n] nearest to `name` by edit distance (letter case is ignored), or NULL if none is near: "did you mean". */
DT_API const char *dt_nearest(const char *name, const char *const *names, int n);
/* Whether a terminal or a page must not get the character of this code as it is: control characters (C0, DEL, C1), line separators, and characters
 * that are invisible or change the direction of the text after them. */
DT_API bool dt_is_unseen(uint32_t code);

/* ---- tensors and distributed values ------------------------------------------------------------------------------- */

typedef enum dt_dtype {
    DT_BOOL, DT_UINT8, DT_INT8, DT_INT16, DT_INT32, DT_INT64, DT_FLOAT32, DT_FLOAT64,
    DT_UINT16, DT_UINT32, DT_UINT64,
    DT_FLOAT16, DT_BFLOAT16 /* an op on them is the op on float32, its result rounded to the nearest, ties to even */
} dt_dtype;

/* A concrete array in row-major order. */
typedef struct dt_tensor dt_tensor;
/* data is copied; NULL: zeros. */
DT_API dt_status *dt_tensor_create(dt_tensor **out, dt_dtype dtype, int rank, const int64_t *shape, const void *data) DT_CHECKED;
DT_API void dt_tensor_unref(dt_tensor *t);
DT_API dt_dtype dt_tensor_dtype(const dt_tensor *t);
DT_API int dt_tensor_rank(const dt_tensor *t);
DT_API int64_t dt_tensor_dim(const dt_tensor *t, int axis);
DT_API int64_t dt_tensor_elements(const dt_tensor *t);
DT_API const void *dt_tensor_data(const dt_tensor *t); /* lent */
/* The value of a tensor with one element, as a double; NaN for any other. */
DT_API double dt_tensor_item(const dt_tensor *t);
/* Writes an NPY file, which numpy.load reads; an older one is replaced when the new one is whole. */
DT_API dt_status *dt_tensor_save(const dt_tensor *t, const char *path) DT_CHECKED;
/* As TensorFlow prints it: "<tf.Tensor: shape=(2,), dtype=int64, numpy=array([0, 2])>", of large ones the ends alone; free it. */
DT_API char *dt_tensor_text(const dt_tensor *t);
/* The full name of the device it lies on: "/job:localhost/replica:0/task:0/device:CPU:0". */
DT_API const char *dt_tensor_device(const dt_tensor *t);

typedef struct dt_variable dt_variable; /* see strategy.h */

/* A named list; each entry is a single tensor or one tensor per replica. Paths ("a", "b/0") carry nests. */
typedef struct dt_values dt_values;
DT_API dt_status *dt_values_create(dt_values **out) DT_CHECKED;
DT_API void dt_values_unref(dt_values *v);
DT_API int dt_values_count(const dt_values *v);
DT_API const char *dt_values_name(const dt_values *v, int i);
/* Adds (or replaces) a single tensor, or one per replica (n tensors, in replica order). Tensors are kept by reference. */
DT_API dt_status *dt_values_set(dt_values *v, const char *name, dt_tensor *t) DT_CHECKED;
DT_API dt_status *dt_values_set_per_replica(dt_values *v, const char *name, dt_tensor *const *t, int n) DT_CHECKED;
/* The copies of a variable, as experimental_local_results of it: of their values now. */
DT_API dt_status *dt_values_set_variable(dt_values *v, const char *name, dt_variable *variable) DT_CHECKED;
/* What an entry is in tf.distribute's words: "Tensor" (single), "PerReplica", "MirroredVariable", ...; NULL: there is no such entry. */
DT_API const char *dt_values_kind(const dt_values *v, const char *name);
/* Tensors in an entry: 1, or the number of replicas; 0 when there is no such entry (experimental_local_results). */
DT_API int dt_values_locals(const dt_values *v, const char *name);
DT_API bool dt_values_is_per_replica(const dt_values *v, const char *name);
DT_API const dt_tensor *dt_values_local(const dt_values *v, const char *name, int replica); /* lent; NULL: none */
/* As TensorFlow prints it: the tensor, or "PerReplica:{...}" with one tensor a line; NULL when there is no such entry; free it. */
DT_API char *dt_values_text(const dt_values *v, const char *name);

DT_END_C

#endif
