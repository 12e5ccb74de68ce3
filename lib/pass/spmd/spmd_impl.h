/* SPDX-License-Identifier: Apache-2.0 */
/* Internal declarations of the partition over devices, shared by the files of this folder. */
#ifndef DT_PASS_SPMD_IMPL_H
#define DT_PASS_SPMD_IMPL_H

#include "pass/spmd.h"

/* The value of a node of the whole graph, as devices compute it. */
typedef struct dt_made {
    dt_value value;
    dt_layout layout;
    /* a partial sum that the node's only reader must add to `value`; without a trace: there is
     * none */
    dt_value pending;
    dt_layout pending_layout;
    /* whether the value depends on constants only, so that every device can compute it */
    bool anywhere;
} dt_made;

/* Remembers how nodes were split, so that the choice is made once for all nodes with equal op,
 * attributes, types and layouts of operands. */
typedef struct dt_spmd_memo dt_spmd_memo;

typedef struct dt_spmd_work {
    const dt_graph *g;
    dt_arena *arena; /* memory of this search; it is freed when the program is complete */
    dt_mesh mesh;
    /* batch: the batch size B; parts: number of parts into which batch_axes divide the batch, 0
     * until all layouts are found */
    int64_t batch, parts;
    const dt_spmd_options *o;
    dt_rule *rule;     /* [nodes] rule of each op */
    dt_layout *layout; /* [nodes] the layout that the node's value is to have */
    /* [nodes] whether the layout must not change: an annotation has set it, or it is that of a
     * variable and has been decided (states.c) */
    bool *fixed;
    unsigned now;      /* counts changes of layouts; the count serves as a clock */
    unsigned *changed; /* [nodes] the value of `now` at the last change of the node's layout */
    /* [nodes] the value of `now` at the node's last visit, in a backward [0] and a forward [1]
     * walk */
    unsigned *visited[2];
    unsigned batch_changed; /* the value of `now` at the last change of batch_axes */
    dt_mesh_axes *only;     /* [nodes] the axes of the mesh that may divide the node's value */
    /* [nodes] whether the node is computed for each reader, in the layout that the reader needs; it
     * then has no layout itself and does not affect others */
    bool *free;
    dt_spmd_memo *alike; /* how ops have been split so far; used while the program is emitted */
    /* [nodes] uses: number of times that the node is read, by nodes and as a result or an update;
     * reader: the last node that reads it */
    int *uses, *reader;
    dt_mesh_axes batch_axes; /* all axes of the mesh that divide the batch */
    dt_trace *t;             /* the program of a device, under construction */
    dt_made *made; /* [nodes] what devices have computed for each node of the whole graph */
    /* [states] the variable that stands for the state in the program of a device */
    dt_variable **variable;
    /* [states] for a slot of the optimizer: index of the weight whose layout it has; -1: it follows
     * no weight */
    int *owner;
    /* capacities of the following arrays, which have an entry for each node of the trace */
    int cap, cap_notes;
    dt_layout *lies;
    const char **note;
} dt_spmd_work;

/* ---- meshes, notes (annotations.c) ---- */

/* Returns the mesh of a replica's devices. If there are several micro-batches, they are its first
 * axis. The sizes of the other axes are primes: first those of the parts of the first annotation of
 * g that cuts a value, in its order, then those of the remaining devices. */
dt_mesh dt_spmd_mesh(const dt_graph *g, const dt_spmd_options *o);
/* Sets w->layout and w->fixed of all annotations, and of the arguments and variables that have
 * one. */
void dt_spmd_read_notes(dt_spmd_work *w);

/* ---- the replicas' axes (replicas.c) ---- */

/* Adds an innermost axis for replicas to the mesh, if there are several. With `apart`, adds an axis
 * for each prime factor of the sizes in o->grid, or of the number of replicas without a grid. */
void dt_spmd_add_replicas(dt_mesh *m, const dt_spmd_options *o, bool apart);
/* Divides dimension 0 of arguments with rows, of stacked arguments, and of annotated values with
 * rows among the replicas, where these divide it evenly. */
void dt_spmd_deal_rows(dt_spmd_work *w);

/* ---- variables (states.c) ---- */

/* Finds slots and gives them the layouts of their weights, as far as annotations set these. */
void dt_spmd_place_slots(dt_spmd_work *w);
/* Called when all other layouts are known: slots get the layouts of their weights, and variables
 * are divided among the replicas as o->how.over_replicas requests. */
void dt_spmd_place_states(dt_spmd_work *w);
/* Whether a variable can be divided among more replicas if these form several axes. */
bool dt_spmd_wants_replicas_apart(const dt_spmd_work *w);
/* Counts the variables that replicas cannot divide evenly, and the bytes that a device has of them
 * beyond an equal share. */
void dt_spmd_count_undivided(const dt_spmd_work *w, dt_spmd *s);

/* ---- layouts of all values (propagate.c) ---- */

/* Whether `axes` divide dimension d of a value of type t evenly; for rows of the batch, together
 * with the axes that divide the batch already. */
bool dt_spmd_divides(const dt_spmd_work *w, const dt_type *t, int d, dt_mesh_axes axes);
/* dt_spmd_propagate_updates propagates layouts only through the optimizer's nodes. It is called
 * before dt_spmd_propagate, which propagates through all nodes, so that the layouts of weights and
 * slots reach the gradients before the layouts of activations do. */
void dt_spmd_propagate_updates(dt_spmd_work *w);
void dt_spmd_propagate(dt_spmd_work *w);
/* Adds to factor[] the axes of `layout`, the layout of operand k of node i (-1: its result), as
 * far as they are compatible. */
void dt_spmd_add_factors(const dt_spmd_work *w, int i, int k, const dt_layout *layout,
                         dt_mesh_axes *factor);
/* Returns the layout of operand k of node i (-1: its result) that the factors imply. */
dt_layout dt_spmd_by_factors(const dt_spmd_work *w, int i, int k, const dt_mesh_axes *factor);
/* Removes axes from each factor, the last axes first, until node i can be divided evenly by the
 * rest, at worst by none. */
void dt_spmd_drop_factors(const dt_spmd_work *w, int i, dt_mesh_axes *factor);
/* Divides the batch of all arguments and annotated values into micro-batches, the axis `time` of
 * the mesh, where these divide it evenly. */
void dt_spmd_cut_time(dt_spmd_work *w);
/* Returns the axes of factors that inputs of node i have but its result lacks. The result is a
 * partial sum over these axes. */
dt_mesh_axes dt_spmd_summed(const dt_spmd_work *w, int i, const dt_mesh_axes *factor);

/* ---- from one layout to another (convert.c) ---- */

/* Converts a value to the layout `to`. The collectives for it are added to the trace, and their
 * layouts are recorded. */
dt_value dt_spmd_convert(dt_spmd_work *w, const dt_made *m, const dt_type *whole,
                         const dt_layout *to);
/* Estimates the cost of converting a value from one layout to another: the bytes that a device
 * receives, of which those of gathers count more (convert.c). */
double dt_spmd_convert_bytes(const dt_spmd_work *w, const dt_type *whole, const dt_layout *from,
                             const dt_layout *to);

/* ---- how each op is split (choose.c) ---- */

/* Finds the cheapest factors for node i, given the layouts of its inputs. They are computed only
 * once for all nodes of a kind with equal layouts. */
void dt_spmd_choose(const dt_spmd_work *w, int i, dt_mesh_axes *factor);
dt_spmd_memo *dt_spmd_memo_create(void);
void dt_spmd_memo_destroy(dt_spmd_memo *a);
/* Returns the axes over which the result of node i may remain partial, because the node is linear
 * and all its inputs are partial over them. 0: none. */
dt_mesh_axes dt_spmd_handed_on(const dt_spmd_work *w, int i);

/* ---- when partial sums are added up (sums.c) ---- */

/* Called after node i is emitted. Adds up its partial sums over devices, unless its only reader can
 * add partial sums or pass them on. */
void dt_spmd_settle(dt_spmd_work *w, int i);
/* Emits node i, the addition of complete and partial values, as a complete value and a partial one
 * that is still to be added (dt_made.pending). Returns false if the node is not such an addition;
 * partial values of its inputs that wait to be added are then added up. */
bool dt_spmd_emit_sum(dt_spmd_work *w, int i);

/* ---- the order (order.c) ---- */

/* Whether the node belongs to the optimizer: its path is within "optimizer". */
bool dt_spmd_is_optimizers(const dt_node *n);

/* Called when all nodes are emitted: if some value depends on the gradients of several variables,
 * moves gradients to the front, in the order in which they can be computed. */
void dt_spmd_order_gradients(dt_spmd_work *w);

/* ---- the program (emit.c) ---- */

/* Records `l` as the layout of value v of the trace. */
void dt_spmd_lies(dt_spmd_work *w, dt_value v, const dt_layout *l);

#endif
