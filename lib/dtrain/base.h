/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The basis of the API: how functions are declared and report errors, and the values that they
 * exchange. Values are tensors, and named lists in which an entry is either one tensor for all
 * replicas or one per replica.
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

/* ---- status ---- */

typedef struct dt_status dt_status;

/* Returns from a function that returns a status itself if `expression` fails. */
#define DT_TRY(expression)                                                                         \
    do {                                                                                           \
        dt_status *dt_try_ = (expression);                                                         \
        if (dt_try_) return dt_try_;                                                               \
    } while (0)
/* Jumps to the label `out` if `expression` fails; s holds the status. */
#define DT_GO(s, expression)                                                                       \
    do {                                                                                           \
        if (((s) = (expression)) != NULL) goto out;                                                \
    } while (0)

DT_API int dt_status_code(const dt_status *s);   /* exit code (docs/exit-codes.md); 0 for NULL */
DT_API int dt_status_number(const dt_status *s); /* the error's number: 17 for DT017 */
/* the kind of error, named like an exception of Python or TensorFlow: "ValueError",
 * "NotFoundError", ... */
DT_API const char *dt_status_kind(const dt_status *s);
/* the message without the place of the mistake (FILE:LINE:COLUMN), number and notes */
DT_API const char *dt_status_text(const dt_status *s);
/* name of the file that has the mistake, such as the job file; NULL: none */
DT_API const char *dt_status_file(const dt_status *s);
DT_API int dt_status_line(const dt_status *s);   /* the line, counted from 1; 0: none */
DT_API int dt_status_column(const dt_status *s); /* column in characters, from 1; 0: none */
DT_API const char *dt_status_suggestion(const dt_status *s); /* a suggestion; NULL: none */
/* the next error of the list; NULL: this is the last one. A list has at most 20 errors */
DT_API const dt_status *dt_status_next(const dt_status *s);
DT_API int dt_status_count(const dt_status *s);    /* number of errors, including those left out */
DT_API char *dt_status_format(const dt_status *s); /* dt_report's text; the caller frees it */
DT_API void dt_status_free(dt_status *s);          /* frees the whole list; accepts NULL */
/* Creates an error of your own. `number` is an error number from the catalogue (`dtrain explain`);
 * any other number gives an internal error, exit code 70. */
DT_API dt_status *dt_status_create(int number, const char *format, ...) DT_CHECKED DT_FORMAT(2, 3);
/* Prints the errors to stderr, frees them and returns the exit code; 0 for NULL. */
DT_API int dt_report(dt_status *s);
/* The long explanation of an error number: what it means, an example, and what to do. NULL: no such
 * number. */
DT_API const char *dt_explain(int number);
/* The entry of names[n] that `name` probably means, ignoring case, for "did you mean" hints: one
 * that begins with `name`, else the closest by edit distance, else one that is the last word of
 * `name`. NULL: there is none. */
DT_API const char *dt_nearest(const char *name, const char *const *names, int n);
/* Returns the error DT129 for a name that does not mean a file on this machine, such as
 * s3://bucket/run, dbfs:/run, me@host:run, C:\run or ~/run. The library calls it for paths of files
 * that it writes. */
DT_API dt_status *dt_path_check(const char *path) DT_CHECKED;
/* Whether the character with this Unicode code point must be escaped before it is printed to a
 * terminal or a page: control characters (C0, DEL, C1), line separators, spaces other than ' ',
 * characters that are invisible or change the direction of text, surrogates, and numbers above
 * 0x10FFFF. */
DT_API bool dt_is_unseen(uint32_t code);

/* ---- tensors and distributed values ---- */

typedef enum dt_dtype {
    DT_BOOL,
    DT_UINT8,
    DT_INT8,
    DT_INT16,
    DT_INT32,
    DT_INT64,
    DT_FLOAT32,
    DT_FLOAT64,
    DT_UINT16,
    DT_UINT32,
    DT_UINT64,
    DT_FLOAT16,
    DT_BFLOAT16 /* computed in float32, with results rounded to nearest, ties to even */
} dt_dtype;

/* An array of known shape, in row-major order. */
typedef struct dt_tensor dt_tensor;
/* Creates a tensor of shape[rank]. `data` is copied; NULL: zeros. */
DT_API dt_status *dt_tensor_create(dt_tensor **out, dt_dtype dtype, int rank, const int64_t *shape,
                                   const void *data) DT_CHECKED;
DT_API void dt_tensor_unref(dt_tensor *t);
DT_API dt_dtype dt_tensor_dtype(const dt_tensor *t);
DT_API int dt_tensor_rank(const dt_tensor *t);
DT_API int64_t dt_tensor_dim(const dt_tensor *t, int axis);
DT_API int64_t dt_tensor_elements(const dt_tensor *t);
DT_API const void *dt_tensor_data(const dt_tensor *t); /* the elements, lent */
/* The value of a tensor with exactly one element, as a double; NaN for other tensors. */
DT_API double dt_tensor_item(const dt_tensor *t);
/* Writes an NPY file, readable by numpy.load. An existing file is replaced only when the new one is
 * complete. */
DT_API dt_status *dt_tensor_save(const dt_tensor *t, const char *path) DT_CHECKED;
/* The tensor as TensorFlow prints it: "<tf.Tensor: shape=(2,), dtype=int64, numpy=array([0, 2])>".
 * Large tensors are abbreviated to their first and last values. The caller frees the text. */
DT_API char *dt_tensor_text(const dt_tensor *t);
/* The full name of the device that holds the tensor:
 * "/job:localhost/replica:0/task:0/device:CPU:0"; lent. */
DT_API const char *dt_tensor_device(const dt_tensor *t);

typedef struct dt_variable dt_variable; /* a variable: see strategy.h */

/* A list of named entries. Each entry is a single tensor or one tensor per replica. Nested
 * structures use paths as names: "a", "b/0". */
typedef struct dt_values dt_values;
DT_API dt_status *dt_values_create(dt_values **out) DT_CHECKED;
DT_API void dt_values_unref(dt_values *v);
DT_API int dt_values_count(const dt_values *v);
DT_API const char *dt_values_name(const dt_values *v, int i);
/* Adds or replaces an entry: a single tensor, or n tensors in replica order. Tensors are not
 * copied; the list keeps a reference. */
DT_API dt_status *dt_values_set(dt_values *v, const char *name, dt_tensor *t) DT_CHECKED;
DT_API dt_status *dt_values_set_per_replica(dt_values *v, const char *name, dt_tensor *const *t,
                                            int n) DT_CHECKED;
/* Adds or replaces an entry with the current values of a variable's copies, like
 * experimental_local_results of the variable. */
DT_API dt_status *dt_values_set_variable(dt_values *v, const char *name,
                                         dt_variable *variable) DT_CHECKED;
/* The tf.distribute type of an entry: "Tensor" (single), "PerReplica", "MirroredVariable", ...;
 * NULL: no such entry. */
DT_API const char *dt_values_kind(const dt_values *v, const char *name);
/* The number of tensors in an entry (experimental_local_results): 1, or the number of replicas; 0:
 * no such entry. */
DT_API int dt_values_locals(const dt_values *v, const char *name);
DT_API bool dt_values_is_per_replica(const dt_values *v, const char *name);
/* the tensor of one replica, lent; NULL: no such tensor */
DT_API const dt_tensor *dt_values_local(const dt_values *v, const char *name, int replica);
/* The entry as TensorFlow prints it: the tensor, or "PerReplica:{...}" with one tensor per line.
 * The caller frees the text; NULL: no such entry. */
DT_API char *dt_values_text(const dt_values *v, const char *name);

DT_END_C

#endif
