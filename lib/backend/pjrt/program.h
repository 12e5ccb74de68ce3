/* SPDX-License-Identifier: Apache-2.0 */
/* A compiled program: program.c creates it, step.c runs it. */
#ifndef DT_BACKEND_PJRT_PROGRAM_H
#define DT_BACKEND_PJRT_PROGRAM_H

#include "backend/pjrt/pjrt_impl.h"
#include "export/stablehlo/stablehlo.h"

/* A program compiled for these borders. */
typedef struct dt_pjrt_variant {
    int32_t *offsets; /* NULL: equal numbers of rows, or nothing depends on borders */
    dt_pjrt_loaded *loaded;
    /* after the graph's arguments: variables and stacks of variables; the same order for results */
    dt_hlo_signature takes;
    dt_variable ***variable; /* [takes.n_in - args][port's n] */
    /* the division of the program over devices; NULL: each computes all of it */
    const dt_spmd *over;
    bool is_checked; /* a run has returned results of the right sizes */
} dt_pjrt_variant;

/* A step that has started: the events to await and buffers to destroy. In lists of arrays, the
 * buffers of one array on all devices are adjacent. */
typedef struct dt_pjrt_flight {
    const dt_spmd *over;
    int n_old;
    int n_fed;             /* arrays that the step itself uploaded */
    dt_pjrt_loan *fed;     /* [args] */
    dt_pjrt_buffer **old;  /* [updates][devices] buffers of the old values */
    dt_pjrt_buffer **made; /* [results][devices] */
    /* [results] on the host; NULL until the end for results that are divided over devices */
    void **ready;
    dt_view *host; /* [results] */
} dt_pjrt_flight;

enum { DT_PJRT_FLIGHTS = 2 };

typedef struct dt_pjrt_meetings dt_pjrt_meetings;

typedef struct dt_pjrt_program {
    dt_pjrt_device *device;
    dt_arena *arena;
    const dt_graph *graph; /* lent, or equal to `made` */
    dt_graph *made;
    const dt_spmd *cut; /* lent; NULL: all rows on each device */
    int64_t rows;
    bool exact;   /* products are computed in float32 */
    int segments; /* number of segments whose borders are in the text; 0: there are none */
    int n_variants;
    dt_pjrt_variant *variant;
    /* for a worker that runs other programs in between; NULL: this is the only program, which
     * the following members belong to */
    dt_pjrt_meetings *meetings;
    /* [results] stays on the device, since the host does not read it: lent; NULL: the host reads
     * all */
    const bool *stays;
    int n_checks, n_updates;
    dt_pjrt_check *check;
    /* [states, at most] copies that the step to be started uses */
    dt_pjrt_copy **copy;
    dt_pjrt_buffer ***argument, ***result; /* [device][..] of the step to be started */
    int oldest, n_flying; /* index of the flight that finishes next; number of started flights */
    dt_pjrt_flight flight[DT_PJRT_FLIGHTS]; /* the second one is allocated when it is needed */
} dt_pjrt_program;

/* The layout of argument or variable i. */
static inline dt_pjrt_lie dt_pjrt_lie_of(const dt_spmd *over, const dt_layout *list, int i) {
    return over ? (dt_pjrt_lie){&over->mesh, list[i]} : (dt_pjrt_lie){0};
}
dt_pjrt_loan *dt_pjrt_make_loans(dt_arena *arena, int args, int devices);
/* The program for the borders of a batch, which is compiled if necessary. */
dt_status *dt_pjrt_find_variant(dt_pjrt_program *x, const dt_env *env,
                                dt_pjrt_variant **out) DT_MUST_USE;
/* Adds to a DOES_NOT_FIT the memory that the step needs on a device; accepts NULL. */
dt_status *dt_pjrt_explain(const dt_pjrt_program *x, dt_status *s) DT_MUST_USE;
/* Allocates the arrays of steps, and the first flight. */
dt_status *dt_pjrt_make_room(dt_pjrt_program *x) DT_MUST_USE;
/* Waits for steps that have started and releases the arrays. */
void dt_pjrt_release_room(dt_pjrt_program *x);

/* ---- meet.c ---- */

/* Makes the programs of a worker's step. first: number of its first row in the batch of all
 * workers. */
dt_status *dt_pjrt_meetings_create(const dt_pjrt_program *x, int64_t first,
                                   dt_pjrt_meetings **out) DT_MUST_USE;
void dt_pjrt_meetings_destroy(dt_pjrt_meetings *m); /* accepts NULL */
/* Runs a whole step: result[] as for dt_executable_start. Also returns errors of net/fabric.h. */
dt_status *dt_pjrt_meet(dt_pjrt_meetings *m, const dt_env *env, const dt_view *arg,
                        dt_view *result) DT_MUST_USE;
int64_t dt_pjrt_meetings_bytes(const dt_pjrt_meetings *m);
void dt_pjrt_meetings_print(const dt_pjrt_meetings *m, dt_str *out);

#endif
