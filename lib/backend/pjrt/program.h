/* SPDX-License-Identifier: Apache-2.0 */
/* A compiled program, as program.c makes it and step.c runs it. */
#ifndef DT_BACKEND_PJRT_PROGRAM_H
#define DT_BACKEND_PJRT_PROGRAM_H

#include "backend/pjrt/pjrt_impl.h"
#include "export/stablehlo/stablehlo.h"

/* Compiled for these borders. */
typedef struct dt_pjrt_variant {
    int32_t *offsets; /* NULL: for even ones, or any where nothing depends on them */
    dt_pjrt_loaded *loaded;
    /* behind the graph's arguments: variables, and stacks of them; results likewise */
    dt_hlo_signature takes;
    dt_variable ***variable; /* [takes.n_in - args][port's n] */
    const dt_spmd *over;     /* what each device does of the whole; NULL: all of it */
    bool is_checked;         /* a run has given results of the right sizes */
} dt_pjrt_variant;

/* A step on its way: what is to be awaited, and then destroyed. Lists of arrays have the buffers of
 * each one's devices next to each other. */
typedef struct dt_pjrt_flight {
    const dt_spmd *over;
    int n_old;
    int n_fed;             /* arrays that were not lent before */
    dt_pjrt_loan *fed;     /* [args] */
    dt_pjrt_buffer **old;  /* [updates][devices] of the values before */
    dt_pjrt_buffer **made; /* [results][devices] */
    /* [results] on the host; of those that lie in parts nothing is asked before the end */
    void **ready;
    dt_view *host; /* [results] */
} dt_pjrt_flight;

enum { DT_PJRT_FLIGHTS = 2 };

typedef struct dt_pjrt_meetings dt_pjrt_meetings;

typedef struct dt_pjrt_program {
    dt_pjrt_device *device;
    dt_arena *arena;
    const dt_graph *graph; /* lent, or `made` */
    dt_graph *made;
    const dt_spmd *cut; /* lent; NULL: all rows on each device */
    int64_t rows;
    bool exact;   /* products keep float32 */
    int segments; /* whose borders are in the text; 0: none are */
    int n_variants;
    dt_pjrt_variant *variant;
    /* of a worker, which runs other programs in between; NULL: this is one program, and what
     * follows is of it */
    dt_pjrt_meetings *meetings;
    const bool *stays; /* [results] the host does not want it: lent; NULL: it wants all */
    int n_checks, n_updates;
    dt_pjrt_check *check;
    /* [states, at most] of the step that starts, as its program takes them */
    dt_pjrt_copy **copy;
    dt_pjrt_buffer ***argument, ***result; /* [device][..] likewise */
    int oldest, n_flying; /* flights: the one that finishes next, and how many do */
    dt_pjrt_flight flight[DT_PJRT_FLIGHTS]; /* the second is made when it is needed */
} dt_pjrt_program;

/* How argument or variable i lies where this is done. */
static inline dt_pjrt_lie dt_pjrt_lie_of(const dt_spmd *over, const dt_layout *list, int i) {
    return over ? (dt_pjrt_lie){&over->mesh, list[i]} : (dt_pjrt_lie){0};
}
dt_pjrt_loan *dt_pjrt_make_loans(dt_arena *arena, int args, int devices);
/* The program for the borders of a batch, compiled where it is not there. */
dt_status *dt_pjrt_find_variant(dt_pjrt_program *x, const dt_env *env,
                                dt_pjrt_variant **out) DT_MUST_USE;
/* Adds to DOES_NOT_FIT what the step keeps on a device; takes NULL. */
dt_status *dt_pjrt_explain(const dt_pjrt_program *x, dt_status *s) DT_MUST_USE;
/* What steps pass around, and the first flight. */
dt_status *dt_pjrt_make_room(dt_pjrt_program *x) DT_MUST_USE;
/* Ends what flies. */
void dt_pjrt_release_room(dt_pjrt_program *x);

/* ---- meet.c ---- */

/* first: number of the first row in the batch of all workers. */
dt_status *dt_pjrt_meetings_create(const dt_pjrt_program *x, int64_t first,
                                   dt_pjrt_meetings **out) DT_MUST_USE;
void dt_pjrt_meetings_destroy(dt_pjrt_meetings *m); /* takes NULL */
/* All of a step: result[] as dt_executable_start has it. Errors of fabric/fabric.h, too. */
dt_status *dt_pjrt_meet(dt_pjrt_meetings *m, const dt_env *env, const dt_view *arg,
                        dt_view *result) DT_MUST_USE;
int64_t dt_pjrt_meetings_bytes(const dt_pjrt_meetings *m);
void dt_pjrt_meetings_print(const dt_pjrt_meetings *m, dt_str *out);

#endif
