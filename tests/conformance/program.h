/* SPDX-License-Identifier: Apache-2.0 */
/* A program in words while it runs: its names, what it calls (program.c), and its lines
 * (scope.c). */
#ifndef TESTS_CONFORMANCE_PROGRAM_H
#define TESTS_CONFORMANCE_PROGRAM_H

#include "pipelines.h"

enum { MOST_NAMES = 16, MOST_OPEN = 8, RUNTIME_ERROR = 172 };

/* What a name stands for: one of these. */
typedef struct bound_name {
    char name[32];
    dt_strategy *strategy; /* lent */
    dt_strategy *made;     /* held: the same, where the program made it */
    dt_variable *variable; /* held */
    size_t line;           /* of a def, plus 1 */
} bound_name;

typedef struct program {
    const golden_case *c;
    verdict *v;
    dt_strategy *s, *t, *base; /* base: current before the program, the default one */
    const json_t *lines;
    json_t *seen;          /* list: of each observation, or of each replica's */
    dt_values *result;     /* of the last call with one */
    dt_tensor *tensor;     /* likewise */
    dt_variable *variable; /* made by a step */
    const py *within;      /* the call in a step; NULL: the block of a def at `block` */
    size_t block;
    dt_trace *trace; /* of the step that is recorded */
    const dt_strategy *running;
    dt_scope open[MOST_OPEN]; /* entered by __enter__, outside of `with` */
    int n_open;
    bound_name name[MOST_NAMES];
    int n_names;
    dt_status *error; /* the first that nothing caught */
} program;

/* The first error that nothing caught counts. */
void program_keep(program *p, dt_status *s);
/* What a name stands for; NULL: nothing. */
bound_name *program_find(program *p, const char *name);
/* A name anew: it stands for nothing yet. */
bound_name *program_bind(program *p, const char *name);
/* x of x.f(...); NULL: the call is of no object. */
const py *program_object(const py *call);
/* The strategy that an expression names, lent; NULL: it names none. */
dt_strategy *program_strategy(program *p, const py *x);
bool program_is_context(const py *x);
/* What code sees here, on that replica. */
json_t *program_observe(const program *p, int replica);
/* The error of entering a scope, which is that of the next call. */
dt_status *program_kept_error(void);
dt_status *program_make_variable(program *p, const py *call, dt_variable **out);
/* A call that can stand in a step, or outside. */
dt_status *program_perform(program *p, const py *call);
/* One that stands in the step that is recorded. */
void program_step_call(program *p, const py *call);
/* A step of one expression; NULL: of the block at p->block. */
void program_run_step(program *p, dt_strategy *s, const py *within);
/* S.run(...) */
void program_run_call(program *p, dt_strategy *s, const py *call);
/* Lines from `at` on that are indented so far; gives the first that is not. scope.c */
size_t program_block(program *p, size_t at, int indent);

#endif
