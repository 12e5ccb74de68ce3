/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data sets: sources and transformations of them, in tf.data's words.
 *
 *     range(7) -> batch(4) -> repeat(2)          a data set: reference-counted, constant, and
 *                                                shared by the data sets made of it
 *        |           |           |
 *    iterator <- iterator <- iterator            one iteration over it: pulls from its inputs
 *
 * Each source and each transformation has a dt_transform. That and the spec say all that
 * distributing a data set needs to know: the static batch size, the number of examples, and where
 * files are read. So sharding and rebatching are transformations, too, which are put into a
 * rewritten data set (autoshard.c, worker.c).
 *
 * A job's data set has several parts (parts.h). Each is a chain, too: the examples that a format
 * reads, then `take`, and `skip` or `select` for a validation split. To hand out batches, a feed
 * adds the files of a worker, `shuffle` and `repeat` (workers.c), follows the numbers of a batch's
 * examples through the chain to the format, and reads them, usually ahead in threads (batches.c).
 * Transformations do not take a job's data set as a whole.
 *
 * An example is what one transformation hands to the next: a list of tensors in host memory, one
 * per component. A batch is an example, too, whose tensors have a first dimension of rows. The spec
 * of a data set has the names and types of the components; a dimension of -1 is unknown.
 */
#ifndef DT_DATA_DATASET_H
#define DT_DATA_DATASET_H

#include "file/file.h"
#include "graph/tensor.h"

#define DT_UNKNOWN_DIM (-1)
/* Special return values for a number of examples, see dt_dataset_cardinality. */
#define DT_ENDLESS (-1)
#define DT_UNCOUNTED (-2)

/* ---- examples ---- */

/* The kinds of work that preparing a batch takes. */
typedef enum dt_spent_on {
    DT_SPENT_READING,
    DT_SPENT_DECODING,
    DT_SPENT_MAP,
    DT_SPENT_KINDS
} dt_spent_on;

typedef struct dt_example {
    int n;              /* number of components; 0: the end */
    dt_tensor **tensor; /* [n] the components; in a job's batches they are aligned to 64 bytes */
    /* The example has the rows of all replicas in a step: the first row of each replica, int32
     * (replicas + 1). NULL: it is one replica's, or is divided as by dt_cut_rows. */
    dt_tensor *offsets;
    /* The members below are set in the batches of a job's data set (data/data.h); else they are 0.
     *
     * Rows with examples; 0: the end. If examples are read once, a batch ends early when the next
     * example is not available yet. Its tensors are then padded with zero rows up to a power of two
     * or a full batch, because a training step is compiled for each size. */
    int64_t rows;
    int64_t from, to;    /* the rows that were read: all rows, unless dt_batch_options has `own` */
    int64_t epoch, step; /* the batch's epoch, and its index in the epoch, from 0 */
    double waited_s;     /* seconds that the caller waited for the batch */
    double spent_s[DT_SPENT_KINDS]; /* seconds that threads worked on the batch, by kind of work */
} dt_example;

dt_example dt_example_make(int n); /* all tensors are NULL */
/* Sets *out to an example with one component: a vector of n bytes. */
dt_status *dt_example_of_bytes(dt_example *out, const void *bytes, int64_t n) DT_MUST_USE;
dt_example dt_example_ref(const dt_example *example);
void dt_example_release(dt_example *example); /* leaves an empty example; tensors may be NULL */
/* Sets *rows to the number of rows that all components have. Fails if they disagree
 * (ELEMENT_SHAPE), or if one of them is a scalar (NOT_BATCHED). */
dt_status *dt_example_rows(const dt_example *example, int64_t *rows) DT_MUST_USE;
/* Copies row `row`, without the dimension of rows. */
dt_status *dt_example_row(const dt_example *example, int64_t row, dt_example *out) DT_MUST_USE;
/* Copies rows [first, first + n). */
dt_status *dt_example_slice(const dt_example *example, int64_t first, int64_t n,
                            dt_example *out) DT_MUST_USE;
/* Copies piece `piece`, counted from 0, of n pieces. Pieces have ceil(rows / n) rows each until the
 * rows are used up; `rows` is counted for each component separately. */
dt_status *dt_example_piece(const dt_example *example, int64_t piece, int64_t n,
                            dt_example *out) DT_MUST_USE;
/* Stacks n examples: (shape) becomes (n, shape). padded: components may differ in shape, and are
 * padded with zeros to the largest. */
dt_status *dt_examples_stack(const dt_example *examples, int n, bool padded,
                             dt_example *out) DT_MUST_USE;
/* Joins examples by rows: (rows_i, shape) becomes (sum of rows_i, shape). */
dt_status *dt_examples_join(const dt_example *examples, int n, dt_example *out) DT_MUST_USE;
/* Joins only component k of examples by rows. */
dt_status *dt_examples_join_one(const dt_example *examples, int n, int k,
                                dt_tensor **out) DT_MUST_USE;

/* A growing list of examples. */
typedef struct dt_example_list {
    int n, cap;
    dt_example *v;
} dt_example_list;
/* Takes ownership of the example. */
void dt_example_list_push(dt_example_list *list, dt_example *example);
void dt_example_list_clear(dt_example_list *list); /* releases all examples and the list's memory */

/* ---- specs ---- */

typedef struct dt_example_spec {
    int n;
    /* [n] the components; the spec owns their names. A component without a name is "value". */
    dt_element_spec *c;
} dt_example_spec;

#define DT_ONLY_COMPONENT "value"

dt_example_spec dt_spec_make(int n);
dt_example_spec dt_spec_copy(const dt_example_spec *s);
dt_example_spec dt_spec_single(const char *name, const dt_type *type);
void dt_spec_release(dt_example_spec *s);
/* dt_spec_batched adds a first dimension `rows` to each component; dt_spec_unbatched removes the
 * first dimension. A rank that is too large, or a scalar to unbatch, is an error. */
dt_status *dt_spec_batched(const dt_example_spec *in, int64_t rows,
                           dt_example_spec *out) DT_MUST_USE;
dt_status *dt_spec_unbatched(const dt_example_spec *in, dt_example_spec *out) DT_MUST_USE;
/* Returns a copy in which the first dimension of each component, unless it is a scalar, is
 * `rows`. */
dt_example_spec dt_spec_with_rows(const dt_example_spec *in, int64_t rows);
/* Divides the first dimension of each component by n; it becomes unknown if n does not divide it.
 * Fails with NOT_BATCHED if a component is a scalar. */
dt_status *dt_spec_divided(const dt_example_spec *in, int64_t n, dt_example_spec *out) DT_MUST_USE;
/* Sets *out to the spec that examples of both a and b fit. Dimensions that differ become unknown;
 * another number of components, or names, dtypes or ranks that differ, are an error. */
dt_status *dt_spec_common(const dt_example_spec *a, const dt_example_spec *b,
                          dt_example_spec *out) DT_MUST_USE;
/* Sets *rows to the first dimension of all components, if it is known and the same for all, else to
 * -1. Fails with NOT_BATCHED if a component is a scalar. */
dt_status *dt_spec_rows(const dt_example_spec *s, int64_t *rows) DT_MUST_USE;
bool dt_spec_is_static(const dt_example_spec *s);
/* Sets *out to an example with no rows: first and unknown dimensions become 0, and a scalar has the
 * value 0. */
dt_status *dt_spec_empty_example(const dt_example_spec *s, dt_example *out) DT_MUST_USE;
/* Converts a component to the form in the public header; the name is lent. */
void dt_spec_public(const char *name, const dt_type *type, dt_spec *out);
/* Checks that an example fits the spec; else fails with ELEMENT_SHAPE, naming the component. `what`
 * made the example, such as "map". */
dt_status *dt_spec_check(const dt_example_spec *s, const dt_example *example,
                         const char *what) DT_MUST_USE;

/* ---- data sets ---- */

/* Examples of a data set by their numbers, and the pass (iteration) that each belongs to, on which
 * the order of shuffled examples depends. */
typedef struct dt_indices {
    /* [n] number of each example, and the pass over the data (iteration) that it belongs to */
    int64_t n, *example, *pass;
} dt_indices;

typedef struct dt_transform {
    const char *name;
    size_t args_size, state_size;
    /* the transformation opens its inputs itself, later or more than once; false: they are open
     * before `open` is called */
    bool opens_inputs;
    /* `open` starts at example it->at; false: the examples before it are read and dropped */
    bool seeks;
    bool reads_files; /* reads its examples from the files that its input names */
    /* The static batch size, or -1. NULL: that of the input if the row has `index`, else
     * unknown. */
    int64_t (*batch_size)(const dt_dataset *d);
    /* The number of examples, DT_ENDLESS or DT_UNCOUNTED; called once. NULL: DT_UNCOUNTED. */
    int64_t (*count)(const dt_dataset *d);
    /* Makes example i. it NULL: in any order and any thread. Else it is an iterator over d at
     * example i, whose inputs are read from front to back. */
    dt_status *(*at)(const dt_dataset *d, int64_t i, const dt_iterator *it, dt_example *out);
    /* Instead of `at`: replaces the numbers of examples by those that the examples have in the only
     * input; -1: no such example. The new numbers must be in the order of the old ones, unless the
     * row has `next` or its inputs are always indexed. */
    void (*index)(const dt_dataset *d, const dt_indices *q);
    dt_status *(*open)(dt_iterator *it); /* NULL: nothing to do; the state is zeroed before */
    /* *out is empty before; `next` leaves it empty at the end. Called where an input has to be read
     * from front to back. NULL: `at` or `index` does that. */
    dt_status *(*next)(dt_iterator *it, dt_example *out);
    void (*close)(dt_iterator *it); /* NULL: nothing to do */
    void (*release)(void *args);    /* NULL: nothing to do */
} dt_transform;

enum { DT_MOST_INPUTS = 64 };

/* A data set is made (dt_dataset_make) from a struct in which only the row, the inputs, the args
 * and the spec are set. It takes ownership of a copy of `args` and of `spec`, even if making it
 * fails, and a reference to each input. */
struct dt_dataset {
    _Atomic int refs;
    const dt_transform *row;
    const dt_dataset *const *in; /* [n_in] the inputs, one reference each */
    int n_in, depth;
    const void *args; /* arguments of the transformation: row->args_size bytes, constant */
    dt_example_spec spec;
    int64_t length; /* number of examples, DT_ENDLESS or DT_UNCOUNTED */
    /* dt_dataset_at works: the transformation has `at` or `index`, the length is not DT_UNCOUNTED,
     * and all inputs are indexed */
    bool indexed;
    int64_t size; /* number of data sets in the tree of inputs */
    /* the data set that owns args: this one, or the one it was rewritten from (a reference) */
    const dt_dataset *owner;
    _Atomic uint64_t iterations; /* number that the next iteration of a program over it gets */
};

dt_dataset *dt_dataset_make(const dt_dataset *of);
/* Sets *out to a data set that it takes, and releases what *out was. Fails if out is NULL. */
dt_status *dt_dataset_replace(dt_dataset **out, dt_dataset *made) DT_MUST_USE;
/* Like dt_dataset_make, for programs: replaces *out, and fails with PIPELINE if there are too many
 * transformations, or if they are nested too deep. */
dt_status *dt_dataset_build_of(dt_dataset **out, const dt_dataset *of) DT_MUST_USE;
/* Like dt_dataset_build_of, for a source (`in` is NULL) or the transformation of one input. */
dt_status *dt_dataset_build(dt_dataset **out, const dt_transform *row, const dt_dataset *in,
                            const void *args, dt_example_spec spec) DT_MUST_USE;
/* Returns a data set like d with other inputs, whose examples have the same spec. */
dt_dataset *dt_dataset_rewrite(const dt_dataset *d, const dt_dataset *const *in);
dt_dataset *dt_dataset_ref(const dt_dataset *d);
/* Like dt_dataset_static_batch_size, but looks only at d's transformation and its inputs, not at
 * d's spec. */
int64_t dt_dataset_search_batch(const dt_dataset *d);
int64_t dt_batch_of_input(const dt_dataset *d);
int64_t dt_length_of_input(const dt_dataset *d);
void dt_same_index(const dt_dataset *d, const dt_indices *q); /* numbers are those of the input */
/* Replaces the numbers of examples of d by those that they have in `to`, from which d was made by
 * rows with `index`; NULL: in the source. */
void dt_dataset_index(const dt_dataset *d, const dt_dataset *to, const dt_indices *q);
/* Gets example i of an indexed data set; out->n is 0 if it has no such example. */
dt_status *dt_dataset_at(const dt_dataset *d, int64_t i, dt_example *out) DT_MUST_USE;
/* Gets example i of an input of d; with an iterator over d, the next one of that input. */
dt_status *dt_input_at(const dt_dataset *d, int input, int64_t i, const dt_iterator *it,
                       dt_example *out) DT_MUST_USE;

/* ---- iterations ---- */

struct dt_iterator {
    int refs;            /* handles of a program, see strategy/iterators.h; else 1 */
    dt_dataset *dataset; /* a reference */
    uint64_t epoch;      /* number of the iteration, so that shuffles differ */
    int64_t at;          /* the position: number of the next example */
    dt_iterator **in;    /* [n_in] iterators over the inputs; NULL: not open */
    void *state;         /* state of the transformation's iteration: row->state_size bytes */
    bool ended, failed;
    /* The members below are those of a program's iterator: a reference to the distributed data set
     * that it reads, NULL for a plain data set; whether it keeps its last batch; the tensors of
     * that batch. */
    dt_dist_dataset *of;
    bool tracked;
    dt_example last;
};

/* Begins an iteration at example `first`, counted from 0; at the end if there are fewer
 * examples. */
dt_status *dt_iterator_open(dt_iterator **out, const dt_dataset *d, uint64_t epoch,
                            int64_t first) DT_MUST_USE;
/* Gets the next example. out->n is 0 at the end, and in all calls after it or after an error. */
dt_status *dt_iterator_next_example(dt_iterator *it, dt_example *out) DT_MUST_USE;
/* Releases everything but the iterator's own memory. */
void dt_iterator_release(dt_iterator *it);
void dt_iterator_close(dt_iterator *it); /* it may be NULL */

#endif
