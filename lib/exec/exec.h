/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executor: runs a program (dt_program) on the cores of this machine.
 *
 * A program is a sequence of segments, and a segment consists of groups of nodes. Compiling turns
 * each group into a list of prepared steps: fused element-wise nodes, kernels, and the op's own
 * eval where there is no kernel. It assigns offsets in memory to the values that outlive a step and
 * are not in arguments or variables, and distributes the groups' pieces over the lanes, which are
 * the threads of the engine. Running executes the segments in order; the lanes that take part join
 * after each one.
 */
#ifndef DT_EXEC_EXEC_H
#define DT_EXEC_EXEC_H

#include "base/recorder.h"
#include "base/thread.h"
#include "pass/pass.h"

/* ---- the engine ---- */

typedef struct dt_engine dt_engine;
typedef struct dt_engine_options {
    int threads; /* number of threads; 0: one per core */
    dt_kernels kernels;
    /* instruction set of our own loops: "base", "avx2", "avx512"; NULL: that of
     * DTRAIN_INSTRUCTIONS, or else the best one of the processor */
    const char *isa;
    /* from so many bytes on, a bucket of values that workers exchange is full (exchange.c); must
     * be the same on all workers; 0: 4 MiB */
    int64_t bucket_bytes;
} dt_engine_options;
/* Opens an engine. Fails with KERNELS if a library that is needed cannot be loaded, or if the
 * instruction set is unknown or the processor lacks it, and with NO_MEMORY if threads cannot be
 * started, or there is no address space for the library's buffers. */
dt_status *dt_engine_open(dt_engine **out, const dt_engine_options *o) DT_MUST_USE;
void dt_engine_close(dt_engine *e); /* e may be NULL */
int dt_engine_threads(const dt_engine *e);
/* Returns the bytes of working memory that libraries hold for all products planned so far,
 * including those of executables that were destroyed. The memory is touched when products run. */
int64_t dt_engine_held(const dt_engine *e);
/* Returns the libraries and instructions that results depend on: "openblas 0.3.21 SkylakeX,
 * avx512"; "own" alone if they depend on neither. */
const char *dt_engine_describe(const dt_engine *e);
/* Sets a recorder. While it is switched on, lanes record each step of a run, piece by piece, and
 * their waits for each other. Lane 0 records on track "main". The recorder must exist until this
 * function is called again. Must not be called during a run. */
void dt_engine_record(dt_engine *e, dt_recorder *r);

/* ---- executables ---- */

typedef struct dt_exec dt_exec;
/* Whether the pieces into which `by` divides a node can be computed separately
 * (dt_partition_options.can_split). */
bool dt_exec_can_split(const dt_graph *g, int node, dt_division by);
/* Compiles a program for batches of p->batch rows. e and p must outlive *out. The memory of values
 * is allocated in the first run, not here. */
dt_status *dt_exec_compile(dt_exec **out, dt_engine *e, const dt_program *p) DT_MUST_USE;
void dt_exec_destroy(dt_exec *x); /* x may be NULL */
/* Returns the bytes that runs of x need: the arena, the memory of tasks, the lanes' scratch memory,
 * and packed weights, except those that another executable counts. */
int64_t dt_exec_arena_bytes(const dt_exec *x);
/* Finds the segment in which values take the most memory. Returns the layer whose values take the
 * most in it, such as "dense", or "optimizer" for the optimizer's values, in `arena`; "" if no
 * layer is known. Sets *bytes to the bytes of that layer; 0 for "". */
const char *dt_exec_largest_layer(const dt_exec *x, dt_arena *arena, int64_t *bytes);
/*
 * Runs one step. arg[i]: concrete arrays in the order of the graph's arguments, read only.
 * env->batch must be the program's. Variables are read and updated in place. result[i], in the
 * order of the graph's results, is set to a view into the arena, which is valid until the next run.
 * A result that is an argument, or a variable that the step does not change, is a view of that.
 * Fails with NO_MEMORY if memory could not be allocated in the first run, or for packed weights,
 * and with the error of an exchange with other workers.
 */
dt_status *dt_exec_run(dt_exec *x, const dt_env *env, const dt_view *arg,
                       dt_view *result) DT_MUST_USE;
/* Prints segments, their groups and steps, and the memory of values. */
void dt_exec_print(const dt_exec *x, dt_str *out);

#endif
