/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipelines: data sets described by transformations, in tf.data's words.
 *
 *     range(7) -> batch(4) -> repeat(2)          a description: counted, never changed, shared by
 *                                                the pipelines built on it
 *        |           |           |
 *     cursor  <-  cursor  <-  cursor             one iteration over it: pulls from its inputs
 *
 * A transformation is one file with one row (dt_transform) in transforms.h. What the distribution
 * of a pipeline needs to know of it stands in its row and its spec: the static batch size, the
 * number of examples, where files are read. So sharding and rebatching are themselves
 * transformations, put into a rewritten description (autoshard.c, worker.c).
 *
 * An example is what one transformation hands to the next: a list of tensors in the host's memory,
 * one per component. Behind `batch` it is a whole batch. The spec of a pipeline has the names
 * and types of the components; a dimension of -1 is unknown.
 */
#ifndef DT_DATA_PIPELINE_PIPE_H
#define DT_DATA_PIPELINE_PIPE_H

#include "file/file.h"
#include "graph/tensor.h"

#define DT_UNKNOWN_DIM (-1)
/* Special numbers of examples (dt_dataset_cardinality). */
#define DT_ENDLESS (-1)
#define DT_UNCOUNTED (-2)

/* ---- examples ---- */

typedef struct dt_example {
    int n;              /* 0: the end */
    dt_tensor **tensor; /* [n] */
} dt_example;

dt_example dt_example_make(int n); /* tensors are NULL */
/* One vector of n bytes. */
dt_status *dt_example_of_bytes(dt_example *out, const void *bytes, int64_t n) DT_MUST_USE;
dt_example dt_example_ref(const dt_example *example);
void dt_example_release(dt_example *example); /* empties it; tensors may be NULL */
/* Rows of an example whose components all have rows: their number, or ELEMENT_SHAPE when components
 * disagree or have none. */
dt_status *dt_example_rows(const dt_example *example, int64_t *rows) DT_MUST_USE;
/* Row `row` alone, without the dimension of rows. */
dt_status *dt_example_row(const dt_example *example, int64_t row, dt_example *out) DT_MUST_USE;
/* Rows [first, first + n). */
dt_status *dt_example_slice(const dt_example *example, int64_t first, int64_t n,
                            dt_example *out) DT_MUST_USE;
/* Piece `piece` of n, each of ceil(rows / n) rows until they are used up, for each component by its
 * own number of rows. */
dt_status *dt_example_piece(const dt_example *example, int64_t piece, int64_t n,
                            dt_example *out) DT_MUST_USE;
/* (shape) n times -> (n, shape); padded: to the largest, with zeros. */
dt_status *dt_examples_stack(const dt_example *examples, int n, bool padded,
                             dt_example *out) DT_MUST_USE;
/* (rows_i, shape) -> (sum of rows_i, shape) */
dt_status *dt_examples_join(const dt_example *examples, int n, dt_example *out) DT_MUST_USE;
/* The same of component k alone. */
dt_status *dt_examples_join_one(const dt_example *examples, int n, int k,
                                dt_tensor **out) DT_MUST_USE;

/* A list that grows. */
typedef struct dt_example_list {
    int n, cap;
    dt_example *v;
} dt_example_list;
void dt_example_list_push(dt_example_list *list, dt_example *example); /* takes it */
void dt_example_list_clear(dt_example_list *list); /* releases all and the memory */

/* ---- specs ---- */

typedef struct dt_example_spec {
    int n;
    dt_element_spec *c; /* [n] names are its own; "value" where none was given */
} dt_example_spec;

#define DT_ONLY_COMPONENT "value"

dt_example_spec dt_spec_make(int n);
dt_example_spec dt_spec_copy(const dt_example_spec *s);
dt_example_spec dt_spec_single(const char *name, const dt_type *type);
void dt_spec_release(dt_example_spec *s);
/* Each component with a first dimension `rows` before its own, or without its first one. A rank
 * that is too large is an error. */
dt_status *dt_spec_batched(const dt_example_spec *in, int64_t rows,
                           dt_example_spec *out) DT_MUST_USE;
dt_status *dt_spec_unbatched(const dt_example_spec *in, dt_example_spec *out) DT_MUST_USE;
/* The same with `rows` as the first dimension of each. */
dt_example_spec dt_spec_with_rows(const dt_example_spec *in, int64_t rows);
/* The rows of each component divided by n; not known where they do not divide. */
dt_status *dt_spec_divided(const dt_example_spec *in, int64_t n, dt_example_spec *out) DT_MUST_USE;
/* Examples of both: dimensions that differ are unknown; names, dtypes or ranks that differ are an
 * error. */
dt_status *dt_spec_common(const dt_example_spec *a, const dt_example_spec *b,
                          dt_example_spec *out) DT_MUST_USE;
/* The first dimension of all components when it is known and the same; else -1. NOT_BATCHED when
 * one has none. */
dt_status *dt_spec_rows(const dt_example_spec *s, int64_t *rows) DT_MUST_USE;
bool dt_spec_is_static(const dt_example_spec *s);
/* An example of no rows: unknown dimensions are 0. */
dt_status *dt_spec_empty_example(const dt_example_spec *s, dt_example *out) DT_MUST_USE;
/* A component in the public header's form; the name is lent. */
void dt_spec_public(const char *name, const dt_type *type, dt_spec *out);
/* Whether an example fits; ELEMENT_SHAPE naming the component. `what` made it: "map". */
dt_status *dt_spec_check(const dt_example_spec *s, const dt_example *example,
                         const char *what) DT_MUST_USE;

/* ---- descriptions ---- */

typedef struct dt_pipe dt_pipe;
typedef struct dt_cursor dt_cursor;

typedef struct dt_transform {
    const char *name;
    size_t args_size, state_size;
    /* by itself, later or more than once; else they are opened before `open` */
    bool opens_inputs;
    bool reads_files; /* its examples come out of the files that its input names */
    /* The static batch size, or -1; called if the spec lacks it. NULL: unknown. */
    int64_t (*batch_size)(const dt_pipe *p);
    /* Examples in all, or DT_ENDLESS, DT_UNCOUNTED. NULL: not known. */
    int64_t (*count)(const dt_pipe *p);
    dt_status *(*open)(dt_cursor *c); /* NULL: nothing to do; the state is zeroed */
    dt_status *(*next)(dt_cursor *c, dt_example *out); /* out is empty; left so at the end */
    void (*close)(dt_cursor *c);                       /* NULL: nothing to do */
    void (*release)(void *args);                       /* NULL: nothing to do */
} dt_transform;

#define DT_TRANSFORM(name) extern const dt_transform dt_transform_##name;
#include "data/pipeline/transforms.h"
#undef DT_TRANSFORM

enum { DT_MOST_INPUTS = 64 };

struct dt_pipe {
    _Atomic int refs;
    const dt_transform *row;
    int n_in, depth;
    int64_t size; /* of the tree of inputs */
    dt_pipe **in; /* [n_in], counted */
    dt_example_spec spec;
    /* of args: itself, or the description that this one was rewritten from (counted) */
    const dt_pipe *owner;
    void *args; /* row->args_size bytes, not changed */
};

/* What a new description is made of: args (copied) and spec become its own, also in an error;
 * inputs are counted. */
typedef struct dt_pipe_parts {
    const dt_transform *row;
    dt_pipe *const *in;
    int n_in;
    const void *args;
    dt_example_spec spec;
} dt_pipe_parts;
dt_status *dt_pipe_create(dt_pipe **out, const dt_pipe_parts *parts) DT_MUST_USE;
/* The same transformation of other inputs, whose examples have the same spec. */
dt_pipe *dt_pipe_rewrite(const dt_pipe *p, dt_pipe *const *in);
dt_pipe *dt_pipe_ref(const dt_pipe *p);
void dt_pipe_unref(dt_pipe *p);
int64_t dt_pipe_count(const dt_pipe *p);
/* The number of rows of each example as far as it is known before reading, else -1; NOT_BATCHED
 * when examples have no rows. */
dt_status *dt_pipe_batch_size(const dt_pipe *p, int64_t *size) DT_MUST_USE;
/* The same without looking at p's own spec. */
int64_t dt_pipe_search_batch(const dt_pipe *p);
int64_t dt_batch_of_input(const dt_pipe *p);
int64_t dt_count_of_input(const dt_pipe *p);

/* ---- iterations ---- */

struct dt_cursor {
    const dt_pipe *pipe; /* counted */
    uint64_t epoch;      /* which iteration this is: shuffles differ */
    dt_cursor **in;      /* [n_in] */
    void *state;         /* row->state_size bytes */
    bool ended;
};

dt_status *dt_cursor_open(dt_cursor **out, const dt_pipe *p, uint64_t epoch) DT_MUST_USE;
/* The next example; out->n is 0 at the end, and from then on. After an error: the end. */
dt_status *dt_cursor_next(dt_cursor *c, dt_example *out) DT_MUST_USE;
void dt_cursor_close(dt_cursor *c); /* takes NULL */

#endif
