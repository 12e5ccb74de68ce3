/* SPDX-License-Identifier: Apache-2.0 */
/* A compiled program: program.c creates it, step.c runs it. */
#ifndef DT_BACKEND_PJRT_PROGRAM_H
#define DT_BACKEND_PJRT_PROGRAM_H

#include "backend/pjrt/pjrt_impl.h"
#include "export/stablehlo/stablehlo.h"

/* A program compiled for certain borders of segments. */
typedef struct dt_pjrt_variant {
    /* the borders; NULL: all segments have equal numbers of rows, or nothing depends on borders */
    int32_t *offsets;
    dt_pjrt_loaded *loaded;
    /* what the program takes and returns: the graph's arguments, then variables and stacks of
     * variables; results in the same order */
    dt_hlo_signature takes;
    dt_variable ***variable; /* [takes.n_in - args][n of the port] the variables of each port */
    /* the division of the program over devices; NULL: each computes all of it */
    const dt_spmd *over;
    bool is_checked; /* a run has returned results of the right sizes */
} dt_pjrt_variant;

/* A step that has started: the events to await and buffers to destroy. In lists of arrays, the
 * buffers of one array on all devices are adjacent. */
typedef struct dt_pjrt_flight {
    const dt_spmd *over;
    int n_old;
    int n_fed;             /* number of arrays that the step itself uploaded */
    dt_pjrt_loan *fed;     /* [args] arrays uploaded by the step */
    dt_pjrt_buffer **old;  /* [updates][devices] buffers of the old values */
    dt_pjrt_buffer **made; /* [results][devices] buffers of the results */
    /* [results] memory of results on the host; NULL until the end for results that are divided over
     * devices */
    void **ready;
    dt_view *host; /* [results] views of the results on the host */
} dt_pjrt_flight;

enum { DT_PJRT_FLIGHTS = 2 };

typedef struct dt_pjrt_meetings dt_pjrt_meetings;

typedef struct dt_pjrt_program {
    dt_pjrt_device *device;
    dt_arena *arena;
    const dt_graph *graph; /* the graph that the program computes; lent, or equal to `made` */
    dt_graph *made;
    /* how the program is divided over devices; lent; NULL: each device computes all rows */
    const dt_spmd *cut;
    int64_t rows;
    bool exact;   /* products are computed in float32 */
    int segments; /* number of segments whose borders are in the text; 0: there are none */
    int n_variants;
    dt_pjrt_variant *variant;
    /* for a worker whose step has several programs; NULL: there is only this one, which the members
     * below belong to */
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

/* Returns the layout of argument or variable i. */
static inline dt_pjrt_lie dt_pjrt_lie_of(const dt_spmd *over, const dt_layout *list, int i) {
    return over ? (dt_pjrt_lie){&over->mesh, list[i]} : (dt_pjrt_lie){0};
}
dt_pjrt_loan *dt_pjrt_make_loans(dt_arena *arena, int args, int devices);
/* Finds the program for the borders of a batch, and compiles it if necessary. */
dt_status *dt_pjrt_find_variant(dt_pjrt_program *x, const dt_env *env,
                                dt_pjrt_variant **out) DT_MUST_USE;
/* If s is DOES_NOT_FIT, adds the memory that the step needs on a device. s may be NULL. */
dt_status *dt_pjrt_explain(const dt_pjrt_program *x, dt_status *s) DT_MUST_USE;
/* Allocates the arrays that steps use, and the first flight. */
dt_status *dt_pjrt_make_room(dt_pjrt_program *x) DT_MUST_USE;
/* Waits for steps that have started and releases the arrays. */
void dt_pjrt_release_room(dt_pjrt_program *x);

/* ---- meet.c ---- */

/* Makes the programs of a worker's step. first: the number of the worker's first row in the batch
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
