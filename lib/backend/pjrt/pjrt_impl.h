/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of the back end pjrt.
 *
 *   pjrt.c     the back end's row: chooses the plug-in and its devices
 *   parts.c    copies arrays to and from devices: whole arrays, or parts by a layout
 *   copies.c   variables on devices: uploaded if the host changed them, fetched if it reads them;
 *              arrays of a later step, which are uploaded in advance
 *   program.c  a graph compiled to StableHLO and by the plug-in
 *   step.c     checks row numbers that cpu checks while it runs, and runs a step in two halves
 *   meet.c     runs a step of a worker that exchanges values with others
 */
#ifndef DT_BACKEND_PJRT_PJRT_IMPL_H
#define DT_BACKEND_PJRT_PJRT_IMPL_H

#include <pthread.h>

#include "export/stablehlo/stablehlo.h"
#include "backend/backend_impl.h"
#include "op/segment.h"
#include "pjrt/client.h"

typedef struct dt_pjrt_copy dt_pjrt_copy;
typedef struct dt_pjrt_lent dt_pjrt_lent;

typedef struct dt_pjrt_device {
    dt_pjrt_client *client;
    int *ordinal; /* [n] indices of the client's devices that compute, in the order of replicas */
    int n;
    dt_pjrt_products products; /* precision with which float32 products are computed */
    /* bytes of the first device's memory that programs can use; 0: unknown */
    int64_t memory;
    dt_pjrt_copy *copies; /* the first of a linked list of copies of variables */
    /* protects the members below, since other threads lend arrays and take them back */
    pthread_mutex_t lock;
    dt_pjrt_lent *lent; /* the first of a linked list of lists of lent arrays */
    /* the first error while memory was taken back; kept until a step returns it */
    dt_status *bad;
} dt_pjrt_device;

/* ---- parts.c ---- */

/* The layout of an array on devices. With mesh NULL, each device has the whole array. */
typedef struct dt_pjrt_lie {
    const dt_mesh *mesh;
    dt_layout layout;
} dt_pjrt_lie;
bool dt_pjrt_is_cut(const dt_pjrt_lie *lie, int rank);
bool dt_pjrt_lies_alike(const dt_pjrt_lie *a, const dt_pjrt_lie *b, int rank);
/* Uploads an array to the first n devices, as one buffer out[i] on each: the whole array, or the
 * device's part of it. After an error all of out[n] are NULL. */
dt_status *dt_pjrt_place(dt_pjrt_device *d, const dt_view *whole, const dt_pjrt_lie *lie, int n,
                         dt_pjrt_buffer **out) DT_MUST_USE;
/* Downloads the parts b[n] of the first n devices into the whole array. If each device has all of
 * it, only the first is read. */
dt_status *dt_pjrt_collect(dt_pjrt_device *d, dt_pjrt_buffer *const *b, int n,
                           const dt_pjrt_lie *lie, const dt_view *whole) DT_MUST_USE;
/* Like dt_pjrt_place and dt_pjrt_collect, but with `stacked` for several arrays of one type that
 * are stacked on the devices. Without it there is a single array. When stacks are collected, arrays
 * without data are left out. */
dt_status *dt_pjrt_place_stack(dt_pjrt_device *d, const dt_view *row, int n_rows, bool stacked,
                               const dt_pjrt_lie *lie, int n, dt_pjrt_buffer **out) DT_MUST_USE;
dt_status *dt_pjrt_collect_stack(dt_pjrt_device *d, dt_pjrt_buffer *const *b, int n,
                                 const dt_pjrt_lie *lie, const dt_view *row, int n_rows,
                                 bool stacked) DT_MUST_USE;
/* Releases n buffers and sets b[] to NULL. */
void dt_pjrt_drop(const dt_pjrt_device *d, dt_pjrt_buffer **b, int n);

/* ---- copies.c ---- */

/* One of the variables whose values a dt_pjrt_copy holds on the devices. */
typedef struct dt_pjrt_member {
    /* connects the copy with the variable, so that reading the variable fetches the value */
    dt_variable_holder holder;
    dt_pjrt_copy *copy;
    /* the variable; NULL after it was destroyed or detached from this copy */
    dt_variable *variable;
    /* what variable->written was when the host and the buffers last had the same value; a larger
     * number means that the host has written since */
    unsigned written;
    bool wanted; /* whether the value is being fetched for the host */
} dt_pjrt_member;

struct dt_pjrt_copy {
    dt_pjrt_device *device;
    dt_type row;  /* type of a single variable, without the dimension that stacks several */
    bool stacked; /* whether variables are stacked along an additional first dimension */
    /* a program that changes variables takes these in this form, stacked or single, so programs
     * that are compiled later take them in the same form if they can */
    bool settled;
    /* number of variables; number of those attached now, plus 1 while dt_pjrt_copy_of attaches
     * them */
    int n_members, n_held;
    dt_pjrt_member *member;  /* [n_members] the variables of the copy */
    dt_mesh mesh;            /* the mesh that `lie` points to */
    dt_pjrt_lie lie;         /* the layout of a single variable on the devices */
    int n;                   /* number of devices with a buffer; 0: there are no buffers */
    dt_pjrt_buffer **buffer; /* [device->n] the copy's buffer on each device */
    /* the value counts as lost, because a step failed that may have taken its memory */
    bool lost;
    dt_pjrt_copy *next, **link;
};

/* Finds or makes the copy of n variables on this device, and attaches it to them. Its buffers may
 * be out of date. If it is not `stacked`, n is 1. */
dt_status *dt_pjrt_copy_of(dt_pjrt_device *d, dt_variable *const *v, int n, bool stacked,
                           dt_pjrt_copy **out) DT_MUST_USE;
/* Makes sure that n devices have the current values of the copy in that layout. */
dt_status *dt_pjrt_copy_ready(dt_pjrt_copy *c, const dt_pjrt_lie *lie, int n) DT_MUST_USE;
/* Replaces the buffers by result[device][i], the new values. The old buffers go to old[devices], to
 * be destroyed when the step is done. */
void dt_pjrt_copy_replace(dt_pjrt_copy *c, dt_pjrt_buffer *const *const *result, int i,
                          dt_pjrt_buffer **old);
/* Marks the copy of v as lost. Called after a step has failed that may have overwritten its
 * memory. */
void dt_pjrt_lose(dt_pjrt_device *d, dt_variable *v);
/* Fixes whether a copy is stacked: programs that are compiled later take it as it is if they
 * can. */
void dt_pjrt_copy_settle(dt_pjrt_copy *c);
/* Returns the copy that v belongs to if dt_pjrt_copy_settle was called for it, else NULL. */
const dt_pjrt_copy *dt_pjrt_settled(const dt_pjrt_device *d, const dt_variable *v);
/* Releases all copies when the device closes. First fetches values that are newer than the
 * host's. */
void dt_pjrt_copies_release(dt_pjrt_device *d);

/* ---- checks of row numbers (step.c) ---- */

/* A check of row numbers that can be computed from arguments, with the number of rows of the
 * table. */
typedef struct dt_pjrt_check dt_pjrt_check;
/* Lists in *out, in `arena`, the checks for the gathers of a graph whose row numbers can be
 * computed cheaply from arguments and constants alone. Returns their number. */
int dt_pjrt_checks_of(const dt_graph *g, dt_arena *arena, dt_pjrt_check **out);

/* ---- lent arrays (copies.c) ---- */

/* An array of the host that is lent to the devices of a program, or a result on them
 * (dt_pjrt_lend_made). Of the host's, divided parts are copied, and a whole array is read from the
 * host's memory until the loan is dropped. */
typedef struct dt_pjrt_loan {
    dt_view array;
    dt_pjrt_lie lie;
    dt_pjrt_buffer **buffer; /* [device->n] the loan's buffer on each device */
    /* [device->n] for each device, the event after which nothing reads the array any more */
    void **free;
} dt_pjrt_loan;
/* Creates the buffers of *l. Its array and lie must be set. After an error *l must be dropped, too,
 * since some buffers may exist. */
dt_status *dt_pjrt_loan_give(dt_pjrt_device *d, dt_pjrt_loan *l) DT_MUST_USE;
dt_status *dt_pjrt_loan_drop(const dt_pjrt_device *d, dt_pjrt_loan *l) DT_MUST_USE;
/* Returns the buffers of an array that was lent before in that layout; NULL: it was not lent. They
 * are valid until the array is taken back. */
dt_pjrt_buffer *const *dt_pjrt_find_lent(dt_pjrt_device *d, const dt_view *array,
                                         const dt_pjrt_lie *lie);
dt_status *dt_pjrt_lend_arrays(void *executable, const dt_view *arg, void **lent) DT_MUST_USE;
/* Makes n results of a program available to other programs. They are only on the devices, and are
 * recognized by their data pointers. The loan owns their buffers, and dt_pjrt_take_back ends it. */
dt_pjrt_lent *dt_pjrt_lend_made(dt_pjrt_device *d, int n, const dt_pjrt_loan *made);
/* Takes lent memory back. Any thread may call this. An error is stored for the next step. */
void dt_pjrt_take_back(void *lent);
/* Returns the first error that was stored when arrays were taken back, and forgets it; NULL: there
 * was none. */
dt_status *dt_pjrt_late_fault(dt_pjrt_device *d) DT_MUST_USE;

/* ---- program.c ---- */

/* Compiles a program. stays[i]: result i is not fetched to the host (dt_pjrt_program); NULL: all
 * results are fetched. */
dt_status *dt_pjrt_make_program(dt_pjrt_device *d, const dt_compile_request *r, const bool *stays,
                                void **state) DT_MUST_USE;
dt_status *dt_pjrt_compile_graph(dt_device *d, const dt_compile_request *r,
                                 void **state) DT_MUST_USE;
void dt_pjrt_release(void *executable);
int64_t dt_pjrt_host_bytes(const void *executable);
void dt_pjrt_print(const void *executable, dt_str *out);

/* ---- step.c ---- */

dt_status *dt_pjrt_start(void *executable, const dt_env *env, const dt_view *arg,
                         dt_view *result) DT_MUST_USE;
dt_status *dt_pjrt_finish(void *executable) DT_MUST_USE;

/* ---- a compiled program: program.c creates it, step.c runs it ---- */

/* A program compiled for certain first rows of the segments of a batch. */
typedef struct dt_pjrt_variant {
    /* [segments + 1] first rows of the segments, and the number of rows; NULL: all segments have
     * equal numbers of rows, or nothing depends on them */
    int32_t *offsets;
    dt_pjrt_loaded *loaded;
    /* what the program takes: the graph's arguments, then variables and stacks of variables; and
     * what it returns: the graph's results, then the new values of those that change */
    dt_hlo_signature takes;
    dt_variable ***variable; /* [takes.n_in - args][n of the port] the variables of each port */
    /* the division of the program over devices; NULL: each computes all of it */
    const dt_spmd *over;
    bool is_checked; /* whether a run has shown that undivided results have the right sizes */
} dt_pjrt_variant;

/* A step that has started: the events to await and buffers to destroy. In lists of arrays, the
 * buffers of one array on all devices are adjacent. */
typedef struct dt_pjrt_flight {
    /* the division over devices of the variant that runs; NULL: each device computes all rows */
    const dt_spmd *over;
    int n_old;         /* number of variables and stacks whose old values are in `old` */
    int n_fed;         /* number of arrays that this step has uploaded itself */
    dt_pjrt_loan *fed; /* [args] loans, of which the first n_fed are of these arrays */
    /* [updates][devices] buffers of the variables' old values, which are destroyed at the end of
     * the step */
    dt_pjrt_buffer **old;
    dt_pjrt_buffer **made; /* [results][devices] buffers of the step's results */
    /* [results] the event after which the result is in the host's memory; NULL: there is nothing to
     * wait for, because the result stays on the devices or is collected from its parts in finish */
    void **ready;
    dt_view *host; /* [results] memory of the host that each result is downloaded to */
} dt_pjrt_flight;

enum { DT_PJRT_FLIGHTS = 2 };

typedef struct dt_pjrt_meetings dt_pjrt_meetings;

typedef struct dt_pjrt_program {
    dt_pjrt_device *device;
    dt_arena *arena;
    /* the graph that the program computes: lent by the caller, or owned as `made` */
    const dt_graph *graph;
    dt_graph *made;
    /* how the program is divided over devices, owned by the caller; NULL: each device computes all
     * rows */
    const dt_spmd *cut;
    int64_t rows;
    /* whether products of float32 have the device's precision `products`, not the compiler's
     * default */
    bool exact;
    int segments; /* number of segments whose borders are in the text; 0: there are none */
    int n_variants;
    dt_pjrt_variant *variant;
    /* the programs of a worker's step, one for each superstep, which run in place of this one;
     * NULL: this one is the whole step */
    dt_pjrt_meetings *meetings;
    /* [results] the result stays on the device, because the host does not read it; lent; NULL: the
     * host reads all results */
    const bool *stays;
    int n_checks, n_updates;
    dt_pjrt_check *check;
    /* [states] copies of variables that the step being started uses */
    dt_pjrt_copy **copy;
    dt_pjrt_buffer ***argument, ***result; /* [device][..] buffers of the step being started */
    int oldest, n_flying; /* index of the flight that finishes next; number of started flights */
    /* steps that have started; memory of the second one is allocated when it is first needed */
    dt_pjrt_flight flight[DT_PJRT_FLIGHTS];
} dt_pjrt_program;

/* Returns the layout of value i of `list`: the arguments, states or results of `over`. over NULL:
 * each device has the whole value. */
static inline dt_pjrt_lie dt_pjrt_lie_of(const dt_spmd *over, const dt_layout *list, int i) {
    return over ? (dt_pjrt_lie){&over->mesh, list[i]} : (dt_pjrt_lie){0};
}
dt_pjrt_loan *dt_pjrt_make_loans(dt_arena *arena, int args, int devices);
/* Finds the program for the borders of a batch, and compiles it if necessary. */
dt_status *dt_pjrt_find_variant(dt_pjrt_program *x, const dt_env *env,
                                dt_pjrt_variant **out) DT_MUST_USE;
/* If s is DOES_NOT_FIT, adds to it the bytes of weights, of the optimizer's variables and of the
 * batch. Returns s, which may be NULL. */
dt_status *dt_pjrt_explain(const dt_pjrt_program *x, dt_status *s) DT_MUST_USE;
/* Allocates the arrays that steps use, and the first flight. Fails with NO_MEMORY if the results do
 * not fit into this machine's memory. */
dt_status *dt_pjrt_make_room(dt_pjrt_program *x) DT_MUST_USE;
/* Waits for steps that have started and releases the arrays. */
void dt_pjrt_release_room(dt_pjrt_program *x);

/* ---- meet.c ---- */

/* Makes the programs of a worker's step. first: the index of the worker's first row in the batch
 * of all workers. */
dt_status *dt_pjrt_meetings_create(const dt_pjrt_program *x, int64_t first,
                                   dt_pjrt_meetings **out) DT_MUST_USE;
void dt_pjrt_meetings_destroy(dt_pjrt_meetings *m); /* m may be NULL */
/* Runs a whole step. result[] is as in dt_executable_start. Also returns errors of exchanges
 * (net/fabric.h). */
dt_status *dt_pjrt_meet(dt_pjrt_meetings *m, const dt_env *env, const dt_view *arg,
                        dt_view *result) DT_MUST_USE;
int64_t dt_pjrt_meetings_bytes(const dt_pjrt_meetings *m);
void dt_pjrt_meetings_print(const dt_pjrt_meetings *m, dt_str *out);

#endif
