/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The graph: a static, typed, device-free program in StableHLO's terms. A node is one op applied to
 * earlier nodes and has one result; nodes are ordered so that every input comes before its use. A
 * graph is never changed: a pass reads one and emits another. Step functions and passes both build
 * graphs with a dt_trace.
 *
 * Everything specific to a kind of node is in its op's row (a dt_op, lib/op), so that passes loop
 * over nodes and never switch on names.
 */
#ifndef DT_GRAPH_GRAPH_H
#define DT_GRAPH_GRAPH_H

#include "base/arena.h"
#include "graph/variable.h"

#define DT_MAX_IN 5

/* ---- nodes and graphs ---- */

typedef struct dt_op dt_op;

typedef struct dt_node {
    const dt_op *op;
    dt_type type;
    int n_in;
    int in[DT_MAX_IN];
    /* The attributes: op->attr.size bytes with zeroed padding, so that they can be compared by
     * memcmp. NULL if the size is 0. */
    const void *attr;
    /* The path of the layer that emitted the node ("dense", "optimizer/dense/kernel"); "": no layer
     * did. */
    const char *path;
} dt_node;

typedef struct dt_named_node {
    const char *name;
    int node;
} dt_named_node;

typedef struct dt_state {
    dt_variable *variable; /* the variable, which the graph keeps alive */
    int node;              /* the node that is the variable's value at the start of the step */
    int update;            /* the node that is the variable's value after the step; -1: no change */
} dt_state;

typedef struct dt_graph {
    dt_arena *arena;
    const char *name;
    int n_nodes, n_args, n_states, n_results;
    const dt_node *node;
    const dt_named_node *arg; /* [n_args] the arguments, in the order of declaration */
    const dt_state *state;
    const dt_named_node *result;
    /* A size -k in a type is k * B / batch_parts. batch_parts is 1, except in programs that divide
     * the batch over devices (op/mesh.h). */
    int batch_parts;
    int n_values; /* number of nodes of the trace that the graph was made from */
    /* [n_values] became[i] is the node of this graph that was node i of the trace; -1: the graph
     * does not need that node. */
    const int *became;
} dt_graph;

void dt_graph_destroy(dt_graph *g);
/* Prints the graph's name with its arguments, then one line for each variable, node, result and
 * update. A node's line ends with its layer, if it has one: `%3 = dot_general(%0, %2) contracting
 * [1]x[0] : f32[B,128] // dense`; see graph.c. */
void dt_graph_print(const dt_graph *g, dt_str *out);
/* Prints like dt_graph_print; `note(g, node, out, user)` appends to the line of each node. note
 * NULL: nothing is appended. */
void dt_graph_print_notes(const dt_graph *g, void (*note)(const dt_graph *, int, dt_str *, void *),
                          void *user, dt_str *out);
/* Checks that each node has as many inputs as its op and comes after them, that arguments, results,
 * variables and updates refer to nodes of the graph, and that a variable's node and its update have
 * the variable's type. Fails with INTERNAL about the first fault. Does not infer the types of nodes
 * again. */
dt_status *dt_graph_verify(const dt_graph *g) DT_MUST_USE;
/* Return the index in g->arg of the argument, or in g->result of the result, of that name; -1:
 * there is none. */
int dt_graph_find_argument(const dt_graph *g, const char *name);
int dt_graph_find_result(const dt_graph *g, const char *name);
/* Returns an array of n_nodes in `arena` with the number of uses of each node, as an input, a
 * result or an update. */
int *dt_graph_uses(const dt_graph *g, dt_arena *arena);

/* ---- ops ---- */

/* An array of known shape: its type has no batch dimension. The memory is lent. */
typedef struct dt_view {
    dt_type type;
    void *data;
} dt_view;

/* A view with a name, such as that of a weight. */
typedef struct dt_named_view {
    const char *name;
    dt_type type;
    void *data;
} dt_named_view;

/* An input that an op found invalid while it ran: a row number that is not in [0, rows). The code
 * that runs a graph checks this at the end; until then the op's definition says what it returns for
 * such inputs. The first one that is found is kept. */
typedef struct dt_refusal {
    _Atomic int finders;
    int64_t number, rows;
    char layer[128];
    int rank;
    int64_t at[DT_MAX_RANK]; /* where that number is in the array of row numbers */
} dt_refusal;
/* Returns the error about what an op has refused; NULL: nothing was refused. */
dt_status *dt_refusal_status(const dt_refusal *r) DT_MUST_USE;

/* Properties of the run that an op may read besides its inputs. */
typedef struct dt_env {
    int64_t batch; /* B: the number of rows that the graph runs with */
    int64_t first; /* index in the global batch of the first of these rows */
    int replica, replicas;
    /* [segments + 1] the index of the first row of each replica in the folded batch, then the
     * number of rows of that batch; NULL: the graph is not folded. */
    const int32_t *offsets;
    int segments;
    /* [n_shards + 1] the index of the first row of each shard (strategies that are `reproducible`),
     * then the number of rows of the batch; NULL: the batch has no shards. */
    const int32_t *shards;
    int n_shards;
    /* where ops report row numbers that are out of range; NULL: they do not report them */
    dt_refusal *refusal;
    /* The number of threads of this process that work beside the step at the moment, such as those
     * that prepare batches; NULL: unknown. */
    const _Atomic uint32_t *beside;
    /* This worker's membership in the group of workers that share the batch (net/fabric.h); NULL:
     * all rows are in this process. */
    struct dt_member *member;
} dt_env;

/* The application of an op to views of its inputs. */
typedef struct dt_call {
    const dt_node *node;
    const dt_env *env;
    const dt_view *in;
    dt_view out;
    /* if `out` is a range of rows of the result: the index of its first row in the result */
    int64_t first_row;
} dt_call;

typedef struct dt_infer {
    const dt_op *op;
    const dt_type *in;
    int n_in;
    const void *attr;
    dt_type out; /* the type of the result, which the op's shape rule sets */
} dt_infer;
/* Returns a MODEL_SHAPE error that begins with the op's name: dt_bad_shape(q, "cannot join ...")
 * reports "dot_general cannot join ...". */
dt_status *dt_bad_shape(const dt_infer *q, const char *format, ...) DT_MUST_USE DT_PRINTF(2, 3);

/* The arguments of an op's gradient rule. The rule reads in, out and dout, and sets din[i] for each
 * i with wants[i] that has a gradient. A din[i] without a trace counts as 0, such as that of
 * select's predicate. */
typedef struct dt_grad {
    dt_trace *trace;
    const dt_node *node;
    dt_value in[DT_MAX_IN], out, dout;
    bool wants[DT_MAX_IN];
    dt_value din[DT_MAX_IN];
} dt_grad;

/*
 * How an op may be split: every dimension names a factor (0, 1, ...). Splitting a factor splits all
 * dimensions that name it; a factor that the output lacks is reduced (to a sum or a maximum), so
 * each part of a split has a partial result. -1: this dimension must be whole. dot_general of (m,
 * k), (k, n): in {{0, 1}, {1, 2}}, out {0, 2}. A dimension that is SHARED is shorter than its
 * factor: one element of it belongs to several consecutive elements of the factor. Over devices
 * (pass/spmd) it is divided as the factor is. Once its parts are single elements it is divided by
 * the first axes only, and every device that needs an element has it.
 */
typedef struct dt_rule {
    int8_t in[DT_MAX_IN][DT_MAX_RANK];
    int8_t out[DT_MAX_RANK];
    /* bit d: dimension d of the input, or of the output, is SHARED */
    uint8_t shared_in[DT_MAX_IN], shared_out;
} dt_rule;

#define DT_MAX_PRODUCTS 2

/* Work of matrix units: `count` products of (m, k) and (k, n) matrices. */
typedef struct dt_matrix_work {
    double count; /* number of products; 0: the op has no such products */
    int64_t m, k, n;
    dt_dtype dtype; /* the dtype of the operands of the products */
    /* the speed relative to bfloat16 if the operands are quantized; 0: they are not */
    double faster;
    /* whether results are operands of other work in the kernel, which keeps them in 32 bits,
     * whatever their dtype */
    bool stays;
} dt_matrix_work;

typedef struct dt_cost {
    /* number of operations of matrix units; a multiplication with its addition counts as 2 */
    double flops;
    double vector; /* number of operations on elements outside of matrix units */
    double bytes;  /* number of bytes read and written */
    /* The flops by shape. Attention has one entry for the scores and one for the weighted sums.
     * Padding of convolutions is included. */
    dt_matrix_work product[DT_MAX_PRODUCTS];
} dt_cost;

/* An op that a pass gives a leading dimension: an entry for each replica (pass/fold.c), or for each
 * segment of the batch's rows (see dt_cut). */
typedef struct dt_fold_call {
    dt_trace *trace;
    const dt_node *node; /* the node, in the graph that the pass reads */
    const dt_value *in;  /* the inputs of the node, in the graph that the pass emits */
    int segments;        /* the size of the leading dimension (S) */
    int cut;             /* how rows are cut into segments: a dt_cut of op.h */
} dt_fold_call;

struct dt_hlo_call;
struct dt_partition_call;
struct dt_hlo_value;

/*
 * What an op does, for code that need not know the op itself: passes, cost estimates and back ends
 * ask for roles, so a new op needs no change there. All ops of a role whose comment names a type in
 * parentheses have attributes of that type.
 */
typedef enum dt_role {
    DT_ROLE_OTHER,      /* any other op, whose rule, cost and eval say what it does */
    DT_ROLE_ARGUMENT,   /* a value that is fed to the step (dt_index_attr) */
    DT_ROLE_STATE,      /* the value of a variable at the start of the step (dt_index_attr) */
    DT_ROLE_CONSTANT,   /* an array whose elements are all the same number (dt_constant_attr) */
    DT_ROLE_COUNTER,    /* numbers that depend on positions alone; the op has no input */
    DT_ROLE_SIZE,       /* a size of the op's input, whose elements are not read (dt_axis_attr) */
    DT_ROLE_NOTE,       /* the op's input, unchanged, with its layout noted (dt_sharding_attr) */
    DT_ROLE_NAME,       /* the elements of the op's first input, in order; the shape may differ */
    DT_ROLE_REPEAT,     /* the op's input, repeated along some dimensions (dt_broadcast_attr) */
    DT_ROLE_MOVE,       /* elements of the op's inputs in other places, some left out or padded */
    DT_ROLE_CONVERT,    /* the op's input in another dtype (dt_convert_attr) */
    DT_ROLE_ELEMENT,    /* out[i] depends on in[*][i] only, all shapes equal */
    DT_ROLE_REDUCE,     /* reduces dimensions, or parts of the batch, each to one value */
    DT_ROLE_PRODUCT,    /* sums of products, for matrix units */
    DT_ROLE_COLLECTIVE, /* combines or exchanges values of replicas, devices or workers */
    DT_ROLE_LOOKUP,     /* rows of the op's first input, selected by the numbers in its second */
    DT_ROLE_ROW_SUMS /* sums of rows of the first input, by numbers in the second (dt_rows_attr) */
} dt_role;

/* Properties of an op that passes and back ends ask for, besides its role. */
typedef struct dt_op_traits {
    /* Whether 16-bit floats need no rounding, since results are elements of inputs, their
     * negatives, or constants such as 0 and 1. */
    bool exact;
    /* Whether compilers of whole programs emit nothing for the op: its readers read its input
     * directly. */
    bool read_through;
    /* For ops whose result has no batch dimension: whether it may differ between replicas even with
     * equal inputs (replica_id, batch sizes). */
    bool varying;
    /* Whether the op is linear in both inputs together, such as add and subtract: f(a + a', b + b')
     * = f(a, b) + f(a', b'). */
    bool additive;
    /* Whether the op combines the values of all replicas or devices. Its eval then gets the op's
     * input on each of them, in order, as in[0], in[1], ... */
    bool collective;
    /* Whether tests draw only positive inputs, because the op is undefined or not smooth
     * elsewhere. */
    bool positive;
} dt_op_traits;

/* The attributes of an op's nodes. An offset is 1 + the bytes before the member; 0: there is no
 * such member. */
typedef struct dt_op_attr {
    size_t size;
    /* Writes the attributes without blanks around them; NULL: there is nothing to print. */
    void (*print)(const void *attr, dt_str *out);
    size_t type; /* offset of the member that is the type of the result, a dt_type */
    /* Offset of an int64 that asks for intermediate results rounded to bfloat16, as matrix units
     * round them. */
    size_t rounds;
    /* Offset of a uint64 that distinguishes nodes which are otherwise equal, such as streams of
     * random numbers. */
    size_t number;
} dt_op_attr;

/* Forms of the op for the executor, ONNX and StableHLO. Each member may be NULL. */
typedef struct dt_op_forms {
    /* Returns the index of the loop that computes an element-wise op with these attributes, among
     * the op's loops; -1: none of them does. NULL: index 0. */
    int (*loop)(const void *attr);
    /* ONNX' operator with the same inputs and meaning. NULL: export/onnx/forms.c has a form, or the
     * op cannot be exported. */
    const char *onnx;
    /* Writes the op as StableHLO (op/stablehlo.h); NULL: the op has no StableHLO form. */
    struct dt_hlo_value (*stablehlo)(const struct dt_hlo_call *c);
    /* Expresses the op in other ops, on one device (op/partition.h), for formats that lack the op;
     * NULL: that is not possible. */
    dt_value (*decompose)(struct dt_partition_call *c);
} dt_op_forms;

struct dt_op {
    const char *name; /* StableHLO's name of the op; our own if StableHLO has no such op */
    int n_in;
    dt_role role;
    dt_op_traits traits;
    dt_op_attr attr;
    dt_op_forms forms;
    /* bit i: the op is linear in input i while the others are fixed (multiply 3, divide 1, reshape
     * 1) */
    unsigned linear;
    /* Whether an op of one input is linear, if this depends on the attributes or on the input's
     * type. NULL: see `linear`. */
    bool (*linear_when)(const void *attr, const dt_type *in);
    unsigned multiplied; /* bit i: input i is an operand of matrix units */
    /* For an op without `cost`: operations of the vector unit for an element of the result, as the
     * number of additions that take as long; 0 means 1. For functions such as exp this is the time
     * that libtpu 0.0.42.1 adds to a fusion on v5e for one more call (for log1p, expm1 and power
     * the operations were counted). */
    double operations;
    dt_status *(*infer)(dt_infer *q);
    void (*grad)(dt_grad *g); /* Emits the gradient; NULL: no gradient flows through the op. */
    void (*rule)(const dt_type *in, const dt_type *out, const void *attr, dt_rule *rule);
    /* Computes the cost from attributes and types, without values. NULL: `operations` for each
     * element of the output, and the bytes of all inputs and outputs (dt_cost_of). */
    void (*cost)(const dt_call *c, dt_cost *cost);
    /* computes the op in plain C, which is the definition of the op */
    void (*eval)(const dt_call *c);
    /* Emits the op over inputs that have one more, leading dimension. NULL: that is not possible,
     * or the op is element-wise. */
    dt_value (*stack)(const dt_fold_call *c);
    /* Emits the op over stacked rows, with one result per segment; NULL: the op has no such
     * form. */
    dt_value (*segment)(const dt_fold_call *c);
    /* Further ways to divide the op over devices (op/partition.h). NULL: only those of `rule`. */
    const struct dt_partition_row *over_devices;
    /* The form of an op over devices (op/across.h); NULL: the op has no such form. */
    const struct dt_across_row *across;
};

static inline bool dt_is_elementwise(const dt_op *op) {
    return op->role == DT_ROLE_ELEMENT || op->role == DT_ROLE_CONVERT;
}

/* Sets the rule to -1 for all dimensions: the op cannot be split. */
void dt_rule_whole(dt_rule *rule);

/* ---- tracing ---- */

/* A trace is a graph under construction, which keeps its first error. After an error, all emitting
 * calls on the trace do nothing. */
dt_trace *dt_trace_create(const char *name);
void dt_trace_destroy(dt_trace *t); /* destroys a trace; t may be NULL */
/*
 * Ends and destroys the trace t. Sets *out to the verified graph, which the caller owns. If the
 * trace has an error, or the graph is malformed, returns that error and sets *out to NULL. Nodes
 * are numbered anew (out->became): arguments, variables, then what results and updates need; the
 * rest is dropped. The order depends on what is computed, not on how a compiler evaluates the
 * arguments of dt_add(f(x), g(x)), and puts updates behind the readers of old values where that is
 * possible (freeze.c). Variables stay in the order in which they were first read, so read each in a
 * statement of its own.
 */
dt_status *dt_trace_end(dt_trace *t, dt_graph **out) DT_MUST_USE;
bool dt_trace_lives(const dt_trace *t); /* whether t is a trace of this thread that has not ended */
/* Like dt_trace_lives. If the result is false and t is not NULL, the next public call of this
 * thread that can fail returns an error. */
bool dt_trace_is_live(const dt_trace *t);
/* Returns the first error, lent; NULL: no error so far. */
dt_status *dt_trace_error(const dt_trace *t);
/* Whether v may be used in t. It may not if it is empty, of another trace, or of a trace that has
 * ended. Then t fails, unless it has an error already; the error names `user`, the call that was
 * given v. */
bool dt_trace_owns(dt_trace *t, dt_value v, const char *user);
/* Whether v belongs to a trace of this thread that has not ended; false for an empty v. If its
 * trace has ended, the latest trace of this thread that has not, if there is one, fails with an
 * error that names `user`. */
bool dt_trace_has(dt_value v, const char *user);
dt_arena *dt_trace_arena(dt_trace *t);

/* Emits a node and returns its value. in: [n_in] values of t; attr (op->attr.size bytes) is copied.
 * A node with the same op, inputs and attributes is reused. Returns an empty value if t has ended
 * or has an error already; also, with an error in t, if an input is not a value of t, the op
 * refuses the inputs, the result is too large or memory is short. */
dt_value dt_emit(dt_trace *t, const dt_op *op, const dt_value *in, int n_in, const void *attr);
/* Returns the type of a value. Returns the type of a float32 scalar if v is the empty value of a
 * failed call, or if its trace has ended. */
dt_type dt_type_of_value(dt_value v);
/* Returns the node of v, lent until the trace ends. Returns NULL if v is the empty value of a
 * failed call, or if its trace has ended. */
const dt_node *dt_node_of(dt_value v);
/* Sets the layer path of nodes that are emitted from now on, copied. Returns the previous one, lent
 * until the trace ends, which the caller sets again. Does nothing and returns "" if t is NULL or
 * has ended. */
const char *dt_trace_path(dt_trace *t, const char *path);
/* Whether a node's path is that of the layer or of a part of it: "loss" has "loss" and
 * "loss/total", but not "lossy". */
bool dt_path_is_within(const char *path, const char *layer);

/* Declares the argument `name` if it does not exist yet, and returns it. If it exists with another
 * type, t fails. */
dt_value dt_trace_declare(dt_trace *t, const char *name, const dt_type *type);
/* Returns the value of a variable at the start of the step, or the one of the latest dt_assign. */
dt_value dt_read(dt_trace *t, dt_variable *v);
/* Returns the value of a variable at the start of the step, whatever was assigned to it. */
dt_value dt_read_first(dt_trace *t, dt_variable *v);
/* Sets the value of v after the step, which later calls of dt_read in t return. Its type must be
 * that of v. */
void dt_assign(dt_trace *t, dt_variable *v, dt_value value);

/* Sets the number of replicas of the strategy that traces, for num_replicas_in_sync; 1 by default.
 * dt_trace_replicas returns it, or 1 if t is NULL or has ended. */
void dt_trace_set_replicas(dt_trace *t, int replicas);
int dt_trace_replicas(const dt_trace *t);
/* Sets the number of logical devices of a replica, 1 by default. Annotations of variables for
 * that number become nodes where variables are read. */
void dt_trace_set_logical(dt_trace *t, int logical);
/* Sets the number of rows of all replicas together. -1, the default: any number. */
void dt_trace_set_rows(dt_trace *t, int64_t rows);
/*
 * Replicas whose arguments have different shapes are traced one by one. all_gather in one of them
 * needs the sizes of the others, so each trace notes its own, and all are traced again until no
 * size changes.
 */
typedef struct dt_each {
    int replica; /* index of the replica that is being traced */
    /* number of all-reduces that this replica has had so far, those in gathers included */
    int collectives;
    int gathers; /* number of all-gathers that this replica has had so far */
    /* n: the largest number of gathers of a replica; cap: the number of sizes that `size` has room
     * for */
    int n, cap;
    /* [n][replicas] for each gather, the size along its axis in each replica; -1: not known yet */
    int64_t *size;
    bool learnt; /* whether a size has changed during the latest tracing */
} dt_each;
/* Sets the sizes that a trace of one replica uses, and restarts the counts of collectives and
 * gathers in *each at 0. *each is lent until it is replaced or the trace ends. */
void dt_trace_set_each(dt_trace *t, dt_each *each);
/* Sets whether the function that is traced runs in cross-replica context; returns the previous
 * value. */
bool dt_trace_set_merging(dt_trace *t, bool merging);

/*
 * For variables that other processes keep, such as parameter servers: the changes that a step makes
 * are passed to `write` and `update` in their order instead of being made. Inside the step, reads
 * see what dt_variable_assign assigned, but not an optimizer's update.
 */
typedef struct dt_deferral {
    void (*write)(void *user, dt_variable *v, int how,
                  dt_value value); /* called for each assignment; `how` is a dt_write */
    void (*update)(void *user, struct dt_optimizer *o, const struct dt_variables *v,
                   const dt_value *gradient);
    void *user;
} dt_deferral;
/* Passes the changes that the step makes to variables to the functions of d, instead of making
 * them; *d is lent. */
void dt_trace_set_deferral(dt_trace *t, const dt_deferral *d);
/* Returns the functions that changes of variables are passed to; NULL: changes are made. */
const dt_deferral *dt_trace_deferral(const dt_trace *t);

/* Fills order[] (room for dt_trace_count) with the nodes root[0 .. n_roots-1] and all that they
 * need, inputs before users, depth first from left to right; returns their count. The order depends
 * on the structure alone. */
int dt_trace_order(const dt_trace *t, const int *root, int n_roots, int *order);
int dt_trace_count(const dt_trace *t); /* returns the number of nodes so far */
const dt_node *dt_trace_node(const dt_trace *t, int i);
/* Sets `batch_parts` of the graph that the trace becomes. */
void dt_trace_set_batch_parts(dt_trace *t, int parts);
/* Puts node i first where the order is free: only after arguments, variables and the nodes that it
 * needs. If several nodes are put first, they keep the order of the calls. A node that nothing
 * needs is still dropped. */
void dt_trace_put_first(dt_trace *t, int i);
/* Emits in t the op of node i of g, with its attributes and path, but with the inputs `in`. */
dt_value dt_emit_like(dt_trace *t, const dt_graph *g, int i, const dt_value *in);
/* Declares the arguments of g in t, reads its variables, and sets map[node] to these values of t. t
 * gets the batch_parts of g. */
void dt_trace_import(dt_trace *t, const dt_graph *g, dt_value *map);
/* Declares the results and updates of g in t, as the values that `map` has for their nodes. */
void dt_trace_export(dt_trace *t, const dt_graph *g, const dt_value *map);

#endif
