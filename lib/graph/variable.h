/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The types of a graph's values, and variables, whose values outlive a step.
 *
 * Sizes: a size >= 0 is a number. A size -k stands for k * B, where B, the number of rows of the
 * batch, is unknown until the program runs. Dimension 0 of each argument that is an element of the
 * examples is B.
 */
#ifndef DT_GRAPH_VARIABLE_H
#define DT_GRAPH_VARIABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/str.h"

#define DT_MAX_RANK 8
#define DT_BATCH (-1)

/* ---- types ---- */

typedef struct dt_type {
    dt_dtype dtype;
    int rank;
    /* the sizes; entries beyond the rank are 0, so that types can be compared by memcmp */
    int64_t dim[DT_MAX_RANK];
} dt_type;

dt_type dt_type_of(dt_dtype dtype, int rank, const int64_t *dim);
dt_type dt_scalar_type(dt_dtype dtype);
bool dt_type_equal(const dt_type *a, const dt_type *b);
/* whether two types have the same sizes; their dtypes may differ */
bool dt_type_same_shape(const dt_type *a, const dt_type *b);
bool dt_type_has_batch(const dt_type *t);
/* Returns the type with each size -k replaced by k * batch, or by INT64_MAX if that overflows. */
dt_type dt_type_at(const dt_type *t, int64_t batch);
/* dt_type_elements returns the number of elements of a type, dt_type_bytes their size in bytes. A
 * size -k counts as k (B = 1). They return INT64_MAX if the result would exceed it. */
int64_t dt_type_elements(const dt_type *t);
int64_t dt_type_bytes(const dt_type *t);
size_t dt_dtype_size(dt_dtype d);
const char *dt_dtype_name(dt_dtype d);  /* returns the name in job files and messages: "float32" */
const char *dt_dtype_short(dt_dtype d); /* returns the name in graph text and StableHLO: "f32" */
bool dt_dtype_parse(const char *name, dt_dtype *out);
bool dt_dtype_is_float(dt_dtype d);
/* Whether d is float16 or bfloat16. An op on these computes in float32 and rounds its result
 * (pass/upcast.c, op/interpret.c). */
bool dt_dtype_is_narrow(dt_dtype d);
bool dt_dtype_is_known(int64_t d); /* whether an integer from outside is a value of dt_dtype */
/* Prints a type as in graph text: "f32[B,784]". */
void dt_type_print(const dt_type *t, dt_str *out);
/* Prints a shape as in messages: "(B, 784)"; "()" for a scalar. */
void dt_shape_print(const dt_type *t, dt_str *out);
/* Return a type ("f32[B,784]"), or its shape ("(B, 784)"), as text for messages. */
dt_text dt_text_of(const dt_type *t);
dt_text dt_text_of_shape(const dt_type *t);

/* ---- variables ---- */

/*
 * State that outlives a step: weights, optimizer slots. Most values are the same on all replicas,
 * so there is one copy per memory space. Variables are reference-counted.
 *
 * A variable whose copies may differ between replicas keeps them all in `stack`, a variable of type
 * (R, ...) whose first entry is its own data. The graph of one replica reads and assigns the
 * variable, the folded graph its stack.
 */
struct dt_variable { /* declared in dtrain.h */
    int refs;
    char *path;   /* the variable's name in files: "dense/kernel" */
    dt_type type; /* the type of the value, which is concrete: it has no batch dimension */
    bool trainable;
    /* whether it is a value that an optimizer keeps for a weight, such as a momentum */
    bool slot;
    /* Of a slot: the weight that it belongs to; lent, for comparison only. NULL: it belongs to
     * none. */
    const dt_variable *of;
    /* Of a slot: whether the host of every worker reads and changes it, as it does the moving
     * average of a weight, so that it is not divided among workers. */
    bool on_all;
    /* Of a slot: 1 + the dimension of `of` over which it is a mean, and which it lacks; 0: it has
     * the shape of `of`. */
    int lacks;
    /* The host's copy of the value: the elements of `type`, row-major, aligned to 64 bytes unless
     * `whole` is set. With a stack it is the stack's memory, which begins with replica 0's value.
     * NULL: the variable was declared without memory. */
    void *host_data;
    /* The device whose copy of the value is newer than host_data; NULL: host_data is current. */
    const struct dt_variable_holder *newer;
    /* The device that has a copy of the value, which is notified when the variable is destroyed;
     * NULL: no device has one. */
    const struct dt_variable_holder *held;
    /* Number of times the host was given the value to change (dt_host_edit), so that devices notice
     * that their copies are old. `stack` or `whole`, if set, counts instead. */
    unsigned written;
    /* the variable with the copies of all replicas; NULL: all replicas share one value */
    dt_variable *stack;
    /* The variable of which this one is the rows from first_row on, in the same memory; a counted
     * reference. NULL: this variable owns its memory. */
    dt_variable *whole;
    int64_t first_row;
    /* Whether replicas may assign different values, so that the variable gets a stack. If false,
     * that is an error. */
    bool may_diverge;
    /* How the variable is divided over the logical devices of a replica (op/op.h); owned. NULL: it
     * is not annotated. */
    struct dt_sharding_attr *sharding;
    /* A constraint that the optimizer applies after each update (model/constraint.c); owned; NULL:
     * none. */
    struct dt_weight_constraint *constraint;
    /* Number of changes that compiled steps depend on, such as a new stack or another sharding. */
    unsigned revision;
    /* The strategy in whose scope the variable was created; NULL: it was created outside of any
     * scope. */
    struct dt_strategy *strategy;
    /* A dt_synchronization and a dt_aggregation of dtrain.h. */
    int synchronization, aggregation;
    /* Releases what the creator attached to the variable; NULL: nothing is attached. */
    void (*forget)(dt_variable *v);
};

/* Creates a variable without memory (an outline), with one reference: steps can be traced with it,
 * but not run. The path and the type are copied. */
dt_variable *dt_variable_declare(const char *path, const dt_type *type, bool trainable);
/* Creates a variable of zeros, with one reference. Fails with NO_MEMORY, which names the path, if
 * memory is exhausted or the size in bytes overflows. */
dt_status *dt_variable_alloc(dt_variable **out, const char *path, const dt_type *type,
                             bool trainable) DT_MUST_USE;
/* Creates a variable that is the rows [first, first + rows) of dimension 0 of `whole`. It shares
 * the memory of `whole`, to which it counts a reference, so its data need not be aligned. Its path
 * ends with these rows: "dense/kernel[0:4]". */
dt_variable *dt_variable_rows(dt_variable *whole, int64_t first, int64_t rows);
/* Returns the variable of which v is rows, or else v. */
static inline dt_variable *dt_variable_whole(dt_variable *v) { return v->whole ? v->whole : v; }
/* Gives each replica its own copy in v->stack, all equal to the present value. Does nothing if v
 * has a stack already. Fails with MODEL_SHAPE if v has DT_MAX_RANK dimensions already, with
 * NO_MEMORY, or if the value cannot be fetched from its device. */
dt_status *dt_variable_diverge(dt_variable *v, int replicas) DT_MUST_USE;

/* The path of a counter of random numbers ends with "/" and this text, for which dt_is_seed_counter
 * looks. A layer that draws random numbers has such a counter. Counters are not trained: files of
 * weights may lack them, or have some that no variable needs. */
#define DT_SEED_COUNTER "seed_generator/step"
bool dt_is_seed_counter(const char *path);

/* A device that holds a copy of a variable. A variable has at most one holder. */
typedef struct dt_variable_holder {
    /* Copies the value of v to v->host_data. */
    dt_status *(*fetch)(void *state, dt_variable *v);
    void *state;
    /* Called when the variable is destroyed or gets another holder; NULL: there is nothing to
     * do. */
    void (*forget)(void *state);
} dt_variable_holder;

/* Makes a device the holder of v; *by is lent. If it is the holder already, does nothing. Else
 * fetches the value if the previous holder's copy is newer, and calls that holder's `forget`. by
 * NULL: v has no holder afterwards. Fails only if the fetch fails. */
dt_status *dt_variable_hold(dt_variable *v, const dt_variable_holder *by) DT_MUST_USE;
/* Whether the variable was declared without memory. */
bool dt_variable_is_outline(const dt_variable *v);
/* Updates the host's copy of a variable from its holder if the holder's is newer. Fails if the
 * holder's fetch does, such as that of a device, or of workers among which it is divided.
 * dt_variables_fetch does so for v[0 .. n-1], up to the first error. */
dt_status *dt_variable_fetch(const dt_variable *v) DT_MUST_USE;
dt_status *dt_variables_fetch(dt_variable *const *v, int n) DT_MUST_USE;
/* Returns the host's copy of a variable that has been fetched since the last step: its elements; if
 * it has a stack, those of each replica. Returns NULL for an outline. */
const void *dt_host_data(const dt_variable *v);
/* Prepares a change of a part of the value: fetches the variable, then marks the host's copy as the
 * newest (dt_host_edit). */
dt_status *dt_variable_edit(dt_variable *v) DT_MUST_USE;
/* Returns a number that changes whenever the host may have changed the value. */
unsigned dt_variable_written(const dt_variable *v);
/* Returns the host's copy, which the caller may change. Afterwards it counts as the newest. Call
 * dt_variable_fetch first, unless all of the value is overwritten. */
void *dt_host_edit(dt_variable *v);

/* declared in dtrain.h; only lists made by dt_variables_create hold references to their
 * variables */
struct dt_variables {
    int n;
    dt_variable **v;
};

#endif
