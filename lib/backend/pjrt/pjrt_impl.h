/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of the back end pjrt.
 *
 *   pjrt.c     the row: which plug-in, which of its devices
 *   parts.c    what a device holds of an array: all of it, or a part that a layout says
 *   copies.c   variables on devices: uploaded when the host has changed them, fetched when it asks
 *   program.c  a graph compiled to StableHLO and by the plug-in
 *   lent.c     arrays that a step to come will take, on their way to the devices before it starts
 *   step.c     one step of it, in two halves
 *   meet.c     one step of a worker that exchanges something with others in the middle
 *   check.c    what cpu would refuse while it runs, looked for in arguments before they are
 *              uploaded
 */
#ifndef DT_BACKEND_PJRT_PJRT_IMPL_H
#define DT_BACKEND_PJRT_PJRT_IMPL_H

#include <pthread.h>

#include "backend/backend_impl.h"
#include "op/segment.h"
#include "pjrt/client.h"

typedef struct dt_pjrt_copy dt_pjrt_copy;
typedef struct dt_pjrt_lent dt_pjrt_lent;

typedef struct dt_pjrt_device {
    dt_pjrt_client *client;
    int *ordinal; /* [n] the plug-in's devices that compute, in the order of replicas */
    int n;
    dt_pjrt_products products; /* precision of float32 products */
    int64_t memory;            /* bytes for programs on the first device; 0: unknown */
    dt_pjrt_copy *copies;      /* copies of variables: a list */
    /* protects the following members, since other threads lend arrays and take them back */
    pthread_mutex_t lock;
    dt_pjrt_lent *lent; /* a list */
    /* the first error of arrays that were taken back, until a step returns it */
    dt_status *bad;
} dt_pjrt_device;

/* ---- parts.c ---- */

/* The layout of an array on devices; mesh NULL: each device has all of it. */
typedef struct dt_pjrt_lie {
    const dt_mesh *mesh;
    dt_layout layout;
} dt_pjrt_lie;
bool dt_pjrt_is_cut(const dt_pjrt_lie *lie, int rank);
bool dt_pjrt_lies_alike(const dt_pjrt_lie *a, const dt_pjrt_lie *b, int rank);
/* The type of a device's part. */
dt_type dt_pjrt_part_type(const dt_type *whole, const dt_pjrt_lie *lie);
/* Copies the device's part out of the whole, or (`into`) into it. */
void dt_pjrt_copy_part(const dt_view *whole, const dt_pjrt_lie *lie, int device,
                       const dt_view *part, bool into);
/* Uploads an array: a buffer on each device. After an error none is left. */
dt_status *dt_pjrt_place(dt_pjrt_device *d, const dt_view *whole, const dt_pjrt_lie *lie, int n,
                         dt_pjrt_buffer **out) DT_MUST_USE;
/* Downloads the parts of all devices into the whole array. If each device has all of it, the
 * first is read. */
dt_status *dt_pjrt_collect(dt_pjrt_device *d, dt_pjrt_buffer *const *b, int n,
                           const dt_pjrt_lie *lie, const dt_view *whole) DT_MUST_USE;
/* dt_pjrt_place and dt_pjrt_collect for arrays of one type that are stacked on the devices
 * (`stacked`), or for a single one. collect: arrays without data are left out. */
dt_status *dt_pjrt_place_stack(dt_pjrt_device *d, const dt_view *row, int n_rows, bool stacked,
                               const dt_pjrt_lie *lie, int n, dt_pjrt_buffer **out) DT_MUST_USE;
dt_status *dt_pjrt_collect_stack(dt_pjrt_device *d, dt_pjrt_buffer *const *b, int n,
                                 const dt_pjrt_lie *lie, const dt_view *row, int n_rows,
                                 bool stacked) DT_MUST_USE;
/* Releases n buffers and sets b[] to NULL. */
void dt_pjrt_drop(const dt_pjrt_device *d, dt_pjrt_buffer **b, int n);

/* ---- copies.c ---- */

/* One variable of a copy. */
typedef struct dt_pjrt_member {
    dt_variable_holder holder; /* attached to the variable */
    dt_pjrt_copy *copy;
    dt_variable *variable; /* NULL: it was destroyed, or another device holds it */
    unsigned written;      /* the variable's `written` when the buffers were made */
    bool wanted;           /* while they are fetched */
} dt_pjrt_member;

struct dt_pjrt_copy {
    dt_pjrt_device *device;
    dt_type row;  /* type of one variable */
    bool stacked; /* variables are stacked along an additional dimension */
    /* a program that changes the variables expects this layout, so other programs must accept it */
    bool settled;
    int n_members, n_held;   /* variables, and how many are still attached */
    dt_pjrt_member *member;  /* [n_members] */
    dt_mesh mesh;            /* mesh of `lie` */
    dt_pjrt_lie lie;         /* layout of each variable */
    int n;                   /* buffers; 0: none yet */
    dt_pjrt_buffer **buffer; /* [device->n] */
    bool lost;               /* its memory was given to a step that failed */
    dt_pjrt_copy *next, **link;
};

/* Finds or makes the copy of n variables on this device, and attaches it to them. Its buffers may
 * be out of date. If not stacked, n is 1. */
dt_status *dt_pjrt_copy_of(dt_pjrt_device *d, dt_variable *const *v, int n, bool stacked,
                           dt_pjrt_copy **out) DT_MUST_USE;
/* Makes sure that n devices have the current values in that layout. */
dt_status *dt_pjrt_copy_ready(dt_pjrt_copy *c, const dt_pjrt_lie *lie, int n) DT_MUST_USE;
/* Replaces the buffers by result[device][i], the new values. The old buffers go to old[devices], to
 * be destroyed when the step is done. */
void dt_pjrt_copy_replace(dt_pjrt_copy *c, dt_pjrt_buffer *const *const *result, int i,
                          dt_pjrt_buffer **old);
/* Marks the variable's copy as lost, after a step has failed that may have overwritten its
 * memory. */
void dt_pjrt_lose(dt_pjrt_device *d, dt_variable *v);
/* Fixes the layout: programs compiled later must accept it. */
void dt_pjrt_copy_settle(dt_pjrt_copy *c);
/* The copy that v belongs to, if its layout is fixed; or NULL. */
const dt_pjrt_copy *dt_pjrt_settled(const dt_pjrt_device *d, const dt_variable *v);
/* Called before the device closes: fetches values that are newer than the host's. */
void dt_pjrt_copies_release(dt_pjrt_device *d);

/* ---- check.c ---- */

/* Row numbers that can be computed from arguments, and the number of rows. */
typedef struct dt_pjrt_check {
    int index;          /* the node that computes the row numbers */
    const bool *needed; /* [nodes] the nodes that this depends on */
    int64_t rows;
    const char *layer;
} dt_pjrt_check;
/* Lists the checks for the gathers of a graph whose row numbers depend on arguments alone. */
int dt_pjrt_checks_of(const dt_graph *g, dt_arena *arena, dt_pjrt_check **out);
/* Sets env->refusal to the first row number that is out of range. */
void dt_pjrt_check_rows(const dt_graph *g, const dt_pjrt_check *c, const dt_env *env,
                        const dt_view *arg);

/* ---- lent.c ---- */

/* A host array on the devices of a program. Divided parts are copied; a whole array is read from
 * the host's memory until the loan is dropped. */
typedef struct dt_pjrt_loan {
    dt_view array;
    dt_pjrt_lie lie;
    dt_pjrt_buffer **buffer; /* [device->n] */
    void **free;             /* [device->n] events after which nothing reads the array any more */
} dt_pjrt_loan;
/* Creates the buffers of *l, whose array and lie are set. Buffers that exist after an error must
 * be dropped, too. */
dt_status *dt_pjrt_loan_give(dt_pjrt_device *d, dt_pjrt_loan *l) DT_MUST_USE;
dt_status *dt_pjrt_loan_drop(const dt_pjrt_device *d, dt_pjrt_loan *l) DT_MUST_USE;
/* The buffers of an array that was lent before in that layout; NULL: there are none. They are
 * valid until it is taken back. */
dt_pjrt_buffer *const *dt_pjrt_find_lent(dt_pjrt_device *d, const dt_view *array,
                                         const dt_pjrt_lie *lie);
dt_status *dt_pjrt_lend_arrays(void *executable, const dt_view *arg, void **lent) DT_MUST_USE;
/* Registers results of one program for others: n arrays on the devices only, recognized by their
 * data pointers. The loan owns their buffers, and dt_pjrt_take_back ends it. */
dt_pjrt_lent *dt_pjrt_lend_made(dt_pjrt_device *d, int n, const dt_pjrt_loan *made);
/* May be called by any thread. An error is stored for the next step. */
void dt_pjrt_take_back(void *lent);
/* Returns the error that was stored when arrays were taken back. */
dt_status *dt_pjrt_late_fault(dt_pjrt_device *d) DT_MUST_USE;

/* ---- program.c ---- */

/* stays[i]: result i is not fetched (dt_pjrt_program); NULL: all are. */
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

#endif
