/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks of type ps: processes that have the variables in place of the coordinator, for `fit` and
 * for functions that a C program schedules. Each task owns some variables, or some rows of
 * variables (parameter_division.c). It updates them by programs that read only these. The
 * coordinator orders the updates. It sends the state, and gets it back when it needs the values:
 *
 *     coordinator ── closure ──▶ worker ── WANT, PUSH ──▶ each ps
 *                 ◀── answer ───
 *                 ──────────── SET, APPLY, GET ─────────▶ each ps
 *
 * A task of `fit` has read the same job. A task of a C program does not have that program's code,
 * so the coordinator first sends it the variables and the programs that update them
 * (DT_FRAME_PROGRAMS, parameter_programs.c).
 */
#ifndef DT_STRATEGY_PARAMETER_TASKS_H
#define DT_STRATEGY_PARAMETER_TASKS_H

#include "strategy/worker_pool.h"

/* A program that applies a push, in the process that has the variables. */
typedef struct dt_parameter_program {
    dt_halves halves;
    dt_compiled *run;              /* the compiled program; NULL: pushes only add to state */
    dt_view *argument, *no_result; /* memory for the program's arguments and results */
} dt_parameter_program;

/* Those variables of one process that workers read, and the programs that apply pushes. */
typedef struct dt_parameter_store {
    dt_variable **variable; /* [n] the variables that workers read */
    int n, n_programs;
    dt_sent *sent; /* [n] how each variable is sent */
    dt_packed_variables packed;
    dt_parameter_program *program; /* [n_programs] the programs that apply pushes */
} dt_parameter_store;

/* Allocates the memory of a program's arguments and results. Its `halves` and `run` must be set. */
void dt_parameter_store_prepare(dt_parameter_program *p, dt_arena *arena);
/* Applies a push with program number `program`. */
dt_status *dt_parameter_store_apply(const dt_parameter_store *h, int program,
                                    const dt_pushed *from) DT_MUST_USE;

/* A task of type ps. The coordinator, every worker and the task itself have one of these. */
typedef struct dt_ps_task {
    /* the variables that workers read, and the programs; the task owns the `run` of each */
    dt_parameter_store held;
    /* all variables that dt_ps_divide gave to the task: those of `held`, others that it updates,
     * and slots of divided ones. The task owns those that are rows of another variable. */
    dt_variables own;
    /* [n_state] The variables of the task's state: those of `held`, then others that its programs
     * use, such as slots. */
    dt_variable **state;
    int n_state;
    int64_t state_bytes;
    char name[32];       /* name for messages, such as "parameter server 0" */
    dt_worker_link link; /* the link to the task; zeros in the task's own process */
    /* whether connecting to the task, or receiving from it, has failed; every call that needs the
     * link then fails */
    bool lost;
    dt_str request; /* in a worker: its last request for rows */
    /* in a worker: memory for messages with weights and with gradients */
    char *weights, *gradients;
} dt_ps_task;

typedef struct dt_ps_tasks {
    dt_ps_task *task; /* [n] the tasks of the cluster; with dt_server_join only its own */
    int n;            /* number of tasks; 0: the coordinator has all variables */
    /* The largest possible number of workers. Tasks know workers by numbers from 0; the coordinator
     * has the number `workers`. */
    int workers;
    const dt_worker_pool_spec *spec; /* how to connect to the tasks; lent */
} dt_ps_tasks;

/* The variables and programs of a coordinator, and how they are divided among tasks. */
typedef struct dt_ps_division {
    /* [n] the variables to divide, without slots. Those that workers read come first. */
    dt_variable *const *variable;
    int n;
    int n_read; /* number of variables that workers read, and so get from the tasks */
    const dt_variable *everywhere; /* a variable that every task has and updates; NULL: none */
    /* Whether an update needs all gradients at once, such as for their norm. One task then gets all
     * variables. */
    bool joint;
    /* [n_programs] the update for a process that has all variables; NULL: the program has no
     * update */
    dt_compiled *const *update;
    int n_programs;
    dt_sent (*way_of)(void *user, const dt_variable *v);
    /* Compiles the part of an update that a task runs. Takes ownership of the graph. */
    dt_status *(*compile)(void *user, int program, dt_graph *g, dt_compiled **out);
    /* Sets `halves` of a program, whose `run` is set: which of its arguments belong to the
     * variables of `packed`. */
    dt_status *(*match)(void *user, const dt_packed_variables *packed, int program,
                        dt_parameter_program *p);
    void *user;
} dt_ps_division;
/* Makes the c->n tasks: their variables, programs and messages. *here describes the messages of
 * this process. If c->n is 0, it has all variables that workers read, else none. */
dt_status *dt_ps_divide(dt_parameter_store *here, dt_ps_tasks *c, const dt_ps_division *q,
                        dt_arena *arena) DT_MUST_USE;
/* Sets the task's `state` from its variables and programs, which must be set. */
void dt_ps_list_state(dt_ps_task *t, dt_arena *arena);

/* Runs this process as the task `own`, until the coordinator ends it. compile: the strategy for
 * which it compiles programs of a coordinator; NULL: its programs are those of its own job. */
dt_status *dt_ps_serve(dt_ps_tasks *c, dt_ps_task *own, dt_strategy *compile) DT_MUST_USE;

/* parameter_programs.c: appends a task's variables and programs, and reads them in the task, whose
 * members are 0. The reader has to free what the task owns even after an error. */
void dt_ps_describe(const dt_ps_task *t, dt_str *out);
dt_status *dt_ps_read(dt_ps_task *t, const dt_arrival *from, dt_strategy *s,
                      dt_arena *arena) DT_MUST_USE;
/* Frees what a task owns, except variables that dt_ps_read has made. */
void dt_ps_release(dt_ps_task *t);

/* Connects this process with the tasks. number: of the worker, or `workers` for the coordinator. */
dt_status *dt_ps_connect(dt_ps_tasks *c, int number) DT_MUST_USE;
/* Sends each task its variables and programs. */
dt_status *dt_ps_send_programs(dt_ps_tasks *c) DT_MUST_USE;
/* Tells the tasks that this coordinator pauses. They forget its variables, programs and pushes, and
 * wait until a coordinator connects again. */
void dt_ps_pause(dt_ps_tasks *c);
/* Closes the links, and frees what the tasks own. well: tells the tasks to end. Otherwise they
 * notice that their link is closed, and report that the coordinator is gone. */
void dt_ps_close(dt_ps_tasks *c, bool well);
/* Sets *into to the memory of n bytes of the task's state, at offset `at`. Returns false if these
 * bytes are not within one variable. */
bool dt_ps_state_at(const dt_ps_task *t, int64_t at, int64_t n, char **into) DT_MUST_USE;
/* A function that gets a piece of a task's state: n bytes at offset `at`. dt_ps_each_piece calls it
 * for the pieces of variable i of the state, in order. */
typedef dt_status *(*dt_ps_piece)(void *user, int64_t at, const char *bytes, int64_t n);
dt_status *dt_ps_each_piece(const dt_ps_task *t, int i, dt_ps_piece send, void *user) DT_MUST_USE;
/* For the coordinator. dt_ps_set sends the tasks their state, which has seen `version` updates, and
 * drops pushes that were not applied; dt_ps_get reads it back; dt_ps_apply orders an update. */
dt_status *dt_ps_set(dt_ps_tasks *c, int64_t version) DT_MUST_USE;
dt_status *dt_ps_get(dt_ps_tasks *c) DT_MUST_USE;
/* Send, and read back, only variable i of a task's state. Pushes that were not applied are kept. */
dt_status *dt_ps_set_one(dt_ps_task *t, int i) DT_MUST_USE;
dt_status *dt_ps_get_one(dt_ps_task *t, int i) DT_MUST_USE;
typedef struct dt_ps_order {
    /* worker: the number of the worker whose push is applied; program: index of the program that
     * applies it */
    int64_t worker, program;
    int64_t first; /* closures with lower numbers than this are finished */
} dt_ps_order;
dt_status *dt_ps_apply(dt_ps_tasks *c, int64_t number, const dt_ps_order *order) DT_MUST_USE;

/* Row numbers: which rows a closure looks up in the tables that are sent by rows. They are the
 * results of a program made by dt_row_numbers. */
typedef struct dt_looked_up {
    /* the program that computes the numbers; NULL: the closure reads no tables that are sent by
     * rows */
    const dt_graph *numbers;
    dt_variable *const *table; /* [results of `numbers`] the table that each result belongs to */
    /* [results of `numbers`] numbers of the rows that are looked up in that table */
    const dt_view *result;
} dt_looked_up;
/* For a worker. dt_ps_pull gets the variables for its closure, but of tables that are sent by rows
 * only the looked-up rows that `rows` lists. dt_ps_push sends what the worker computed, from a
 * batch of `rows` rows, and waits until all tasks have confirmed it. */
dt_status *dt_ps_pull(dt_ps_tasks *c, const dt_frame *work, const dt_looked_up *rows) DT_MUST_USE;
dt_status *dt_ps_push(dt_ps_tasks *c, const dt_frame *work, int program, const dt_view *result,
                      int64_t rows) DT_MUST_USE;

#endif
