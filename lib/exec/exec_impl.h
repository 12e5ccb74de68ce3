/* SPDX-License-Identifier: Apache-2.0 */
/* Internal declarations of the executor. */
#ifndef DT_EXEC_EXEC_IMPL_H
#define DT_EXEC_EXEC_IMPL_H

#include <stdatomic.h>

#include "exec/exec.h"
#include "exec/gemm.h"
#include "exec/lane_choice.h"
#include "exec/strip.h"
#include "exec/vex.h"

typedef struct dt_packed dt_packed;

struct dt_engine {
    dt_pool *pool;
    const dt_simd *simd;
    dt_kernels kernels; /* the option as choose_kernels resolves it; not AUTO */
    /* `gemm` is the library that computes matrix products. `own` is dtrain's implementation, which
     * also computes float32 products that the library refuses, unless the user named the library */
    dt_gemm_library gemm, own;
    /* the processor has instructions that multiply bfloat16, and our own loops use them
     * (dot_bf16.c) */
    bool packs_bf16;
    dt_packed *packed; /* the first of a linked list of packed weights (packed.c) */
    char *description;
    /* from so many bytes on, a bucket of values that workers exchange is full (exchange.c) */
    int64_t bucket_bytes;
    /* bytes of the libraries' working memory for all products that were planned so far, also for
     * those that were released (dt_engine_held) */
    int64_t held;
    /* the recorder that tasks are recorded with; NULL: nothing is recorded */
    dt_recorder *recorder;
    /* [lanes] the recorder's track for each lane; not valid if `recorder` is NULL */
    dt_track **track;
    /* counts the calls of dt_engine_record. When the count changes and there is a recorder,
     * executables register their spans again */
    int recordings;
    /* the recorder's numbers for the spans that record waiting for other lanes, and waking them */
    int wait_mark, wake_mark;
};

/* Whether products take bfloat16 operands directly, and compute faster with these than with
 * float32. */
static inline bool dt_engine_multiplies_bf16(const dt_engine *e) {
    return e->gemm.bf16 || e->packs_bf16;
}

/* The plan of a matrix product (exec/product.c): either `plan`, made by `library`, or `tiles`, of
 * which each is computed by `library` or by our own loops. Both are NULL before planning and after
 * dt_product_release. */
typedef struct dt_product {
    const dt_gemm_library *library;
    void *plan;
    struct dt_tiles *tiles;
    size_t scratch; /* bytes of working memory, besides the matrices */
} dt_product;
dt_status *dt_product_plan(dt_engine *e, const dt_gemm *g, dt_product *out) DT_MUST_USE;
/* Runs a product. scratch: p->scratch bytes of working memory. */
void dt_product_run(const dt_product *p, const void *a, const void *b, void *c, void *scratch);
void dt_product_release(dt_product *p);
/* dt_product_packs: whether the operands are packed as bfloat16 and multiplied without conversion
 * to float32. dt_product_panels: how many floats g->panels->room must have for such a product. */
bool dt_product_packs(const dt_engine *e, const dt_gemm *g);
int64_t dt_product_panels(const dt_gemm *g);

/* Where the memory of a node's value is. */
typedef enum dt_home {
    /* the value needs no memory: it is computed within a fused step or by its reader, or it is a
     * constant that only fused steps read */
    DT_HOME_NONE,
    DT_HOME_ARG,
    DT_HOME_VARIABLE,
    DT_HOME_ARENA,
    /* each piece of the value is in the memory of the task that computes and reads it
     * (task_memory.c) */
    DT_HOME_TASK
} dt_home;

typedef struct dt_value_slot {
    dt_home home;
    int index; /* for DT_HOME_ARG and DT_HOME_VARIABLE: index in g->arg or g->state */
    /* index of the node that owns the memory: the node itself; for a reshape or a renamed value,
     * the owner of its input; for an update in place, the variable's node */
    int owner;
    /* for computed nodes and constants: the value needs memory */
    bool stored;
    /* for DT_HOME_VARIABLE: the old value is copied into the arena first, because a result or the
     * update of another variable needs it */
    bool kept;
    /* indices of the first and the last segment that use the memory (last is the number of segments
     * if the memory is in use until the end of the run); for DT_HOME_TASK: of the first and the
     * last step of the node's group that use it */
    int first, last;
    /* offset: in the arena or, for DT_HOME_TASK, in the memory of one task; bytes: those of the
     * value or, for DT_HOME_TASK, of its largest piece, rounded up for alignment */
    int64_t offset, bytes;
} dt_value_slot;

typedef struct dt_step dt_step;

/* A call of a kernel: it computes one piece of one step. */
typedef struct dt_kernel_call {
    const dt_exec *x;
    const dt_step *step;
    int unit, lane;
    /* first row of the result to compute, and the row behind the last one. If the node is divided
     * by time or by heads (dt_division), time steps or key heads of all rows are counted instead */
    int64_t lo, hi;
    char *scratch; /* step->scratch bytes, separate for each lane */
    /* step->kept bytes, separate for each lane and step, preserved between runs; 0 before the
     * first run */
    char *kept;
} dt_kernel_call;

struct dt_exchange;
/* A kernel: code that computes nodes, usually of one op. exec/kernels.h lists all except fused,
 * eval and copy_back. */
typedef struct dt_kernel {
    const char *name;
    /* the op that the kernel computes. NULL: nodes of several ops, which `fits` selects for the
     * kernel `integers`, and dt_build_steps for fused, eval and copy_back */
    const dt_op *op;
    /* the ways in which the result may be divided into pieces, as bits of dt_division; true (1) is
     * the bit DT_BY_ROWS */
    unsigned splits;
    /* returns whether the kernel can compute the node; NULL: it can compute every node of the op */
    bool (*fits)(const dt_graph *g, int node);
    /* calls dt_store_wide for values that must not be stored in 16 bits. NULL, except for fused:
     * neither the result nor the inputs may be stored so */
    void (*narrow)(dt_exec *x, int node);
    /* sets what the kernel uses of step->state, step->scratch and step->kept; NULL: it uses none,
     * or is fused */
    dt_status *(*prepare)(dt_exec *x, dt_step *step);
    void (*run)(const dt_kernel_call *c);
    void (*release)(void *state); /* frees step->state; NULL: nothing to free */
    /* For kernels that exchange values with other workers (exchange.c): makes the exchange e, for
     * all of its nodes at once. NULL: other kernels. */
    dt_status *(*carry)(const dt_exec *x, const struct dt_exchange *e);
    /* bytes of an element of e->item, which has one for each node of the exchange */
    size_t item_bytes;
} dt_kernel;

struct dt_step {
    const dt_kernel *kernel;
    /* node: the node that this step computes; for a fused step, the last of its nodes; for
     * dt_kernel_copy_back, an index in g->state instead. Pieces of the step have the rows of the
     * pieces of node `pieces_of` */
    int node, pieces_of;
    /* the node whose step computes the result of `node`: usually `node` itself; for attention's
     * gradients in one group, the first of them. Not set for fused steps and for copies */
    int made_by;
    void *state;
    size_t scratch, kept, kept_at;
    int mark; /* the recorder's number for the span that records this step */
};

/* Steps whose results are divided into the same pieces. For each piece, one task runs all steps of
 * the group, on one lane (a thread of the engine). */
typedef struct dt_group {
    /* units: number of pieces into which the group's values are divided; node: index of one of the
     * nodes that are divided so, -1 in the group that copies new values back to variables */
    int units, node;
    int segment; /* index of the segment in which the group's tasks run; -1: it has no steps */
    int n_steps, cap_steps;
    dt_step *step; /* [n_steps] the group's steps, in the order in which they run */
    /* estimated work of all pieces together: the number of elements that the group computes, plus
     * an eighth of the floating-point operations */
    double work;
    /* own: [n_own] nodes whose values have DT_HOME_TASK, and nodes that are other names of these;
     * most_own: the elements that `own` has room for */
    int n_own, most_own, *own;
    /* own_bytes: bytes of memory for the values of one piece; own_at: offset of piece 0 in the
     * memory of tasks, unused if lanes have separate memory */
    int64_t own_bytes, own_at;
    /* [n_feeds] indices of the exchanges whose inputs the group's tasks compute */
    int n_feeds, *feeds;
} dt_group;

typedef struct dt_exec_task {
    /* index of the group whose steps the task runs, and of the piece that it computes */
    int group, unit;
    /* a lane takes its own tasks of a segment in ascending order of this number, and then those of
     * others: see dt_exchanges_turn */
    int turn;
    double work; /* the work of one piece of the group, in the unit of dt_group.work */
    /* number of the last run in which a lane took this task; not set in the first n_alone
     * segments */
    _Atomic uint32_t taken;
} dt_exec_task;

typedef struct dt_segment {
    int n_tasks;
    dt_exec_task *task; /* [n_tasks] ordered by `turn`, then by decreasing work */
    /* [lanes][n_tasks] indices of tasks, in the order in which each lane looks for one that is not
     * taken; the tasks that are distributed to the lane come first */
    int *of_lane;
    /* bytes of task memory that each lane has in this segment; 0: each task has separate memory, or
     * there is no task memory */
    int64_t lane_bytes;
} dt_segment;

/* Packed values of a node that products of an executable read. */
typedef struct dt_packed_use {
    dt_packed *of;
    /* number of products that read the values; sum of the rows of A of these products */
    int64_t products, rows;
    /* whether the values are of a variable that runs of the executable update, or are computed in
     * each run; false: they are of a variable that is only read */
    bool is_updated;
} dt_packed_use;

struct dt_exec {
    dt_arena *arena; /* memory of the data structures */
    dt_engine *engine;
    const dt_program *p;
    const dt_graph *g;
    dt_type *type; /* [nodes] the type as stored, with the batch size in place of B */
    /* [nodes] whether the node only rounds a value that is stored rounded already, so that nothing
     * needs to be computed (storage.c) */
    bool *renamed;
    dt_value_slot *slot;
    /* [nodes] address of the node's value in the current run; NULL: it is in no memory, or only in
     * that of tasks (view) */
    void **at;
    /* [nodes] index of the fused step that computes the node, counted over all groups; -1: no fused
     * step computes it */
    int *fused_in;
    /* [nodes] the variable's node whose memory the node's result overwrites; -1: the result has
     * other memory */
    int *overwrites;
    int n_groups, n_segments;
    /* number of segments at the start that have a single task each; lane 0 runs these alone */
    int n_alone;
    dt_group *group;
    dt_segment *segment;
    struct dt_exchanges *exchanges; /* exchanges with other workers; NULL: there are none */
    int n_packed, cap_packed;
    dt_packed_use *packed;
    /* arena_bytes: bytes of the arena, for values with DT_HOME_ARENA and copies of old values
     * (kept); task_bytes: bytes of the memory of tasks (DT_HOME_TASK), which follows it */
    int64_t arena_bytes, task_bytes;
    /* number of elements of `view`: one for each lane, or 0 if no value is in the memory of
     * tasks */
    int n_views;
    /* [n_views] copies of this executable, one for each lane, which differ in the addresses `at` of
     * values in task memory */
    dt_exec *view;
    /* bytes of working memory of one lane, and bytes that one lane keeps between runs */
    size_t scratch_bytes, kept_bytes;
    dt_code code; /* machine code of the loops of fused steps */
    char *memory, *scratch;
    const dt_env *env;    /* environment of the current run */
    dt_status *failure;   /* error of the current run, from an exchange between workers */
    uint32_t run;         /* number of the current run, counted from 1 */
    dt_lane_choice lanes; /* decides whether all lanes take part in the next run */
    /* whether lane 0 executes the current run without the other lanes, by the choice in `lanes` */
    bool alone;
    dt_track *const *track; /* [lanes] tracks of the current run; NULL: nothing is recorded */
    /* value of engine->recordings when the spans of steps were registered */
    int marked;
    int run_mark;
    /* for recorded runs, a time in nanoseconds: the start of the segments after the first n_alone,
     * then the end of lane 0's tasks */
    int64_t since_ns;
};

/* Returns the kernel for a node: the first row of the table that fits, or the op's eval. */
const dt_kernel *dt_kernel_find(const dt_graph *g, int node);
#define DT_KERNEL(name) extern const dt_kernel dt_kernel_##name;
#include "exec/kernels.h"
#undef DT_KERNEL
extern const dt_kernel dt_kernel_fused, dt_kernel_eval, dt_kernel_copy_back;

/* Returns the memory from which the value of a result or of an update is read at the end of the
 * run: the copy of a variable's old value if one is kept (dt_value_slot.kept), else the node's
 * value. */
const void *dt_final_value(const dt_exec *x, int node);
/* Returns the number of elements of one row of a node's value: the product of all dimensions except
 * dimension 0. */
int64_t dt_row_elements(const dt_exec *x, int node);
/* dt_steps_of returns the number of time steps of a row if pieces of the node are divided by time,
 * else 1. dt_piece_elements returns the number of elements of a row divided by that number; 0 if
 * there are no time steps. */
int64_t dt_steps_of(const dt_exec *x, int node);
int64_t dt_piece_elements(const dt_exec *x, int node);
static inline float *dt_floats(const dt_exec *x, int node) { return x->at[node]; }

/* ---- values in 16 bits (storage.c, kernel_eval.c) ---- */

/* Sets the dtype in x->type to bfloat16 or float16 for those float32 values that are stored in 16
 * bits. */
void dt_choose_storage(dt_exec *x);
bool dt_is_stored_narrow(const dt_exec *x, int node);
void dt_store_wide(dt_exec *x, int node);
/* Return the instruction that converts stored elements to float, and the one for the other
 * direction; DT_S_COPY for float32. */
dt_strip_op dt_strip_load(dt_dtype d);
dt_strip_op dt_strip_store(dt_dtype d);
/* dt_fetch_floats converts n elements of a float value, beginning at element `from`, from the
 * stored type to float32 memory at `to`. dt_store_floats converts float32 numbers at `from` to the
 * stored type of n elements, beginning at element `to`. Both do nothing if that memory is the
 * value's own. */
void dt_fetch_floats(const dt_exec *x, int node, int64_t from, int64_t n, float *to);
void dt_store_floats(const dt_exec *x, int node, int64_t to, int64_t n, const float *from);
/* The function `narrow` for kernels whose inputs and result must have the same stored type. */
void dt_narrow_alike(dt_exec *x, int node);
dt_gemm_float dt_gemm_float_of(dt_dtype d);
/* Returns the number of bytes of a stored element. */
static inline int64_t dt_element_bytes(const dt_exec *x, int node) {
    return (int64_t)dt_dtype_size(x->type[node].dtype);
}

/* ---- packed weights (packed.c) ---- */

/* Returns the packed copy, owned by the engine, of the matrix B of a number of equal products,
 * where B is the value of a node, or the g->n columns of it that begin at `column`. Returns NULL if
 * B is not kept packed: it is not a variable and has a batch dimension, n or k is 0, or the
 * products are neither of float32 by our own loops nor of packed bfloat16. */
dt_panels *dt_packed_for(dt_exec *x, int node, int64_t column, const dt_gemm *g, int64_t products);
void dt_packed_release(dt_exec *x);
/* Called when x is compiled: decides which packed copies of weights x counts. Each is counted by at
 * most one of the executables that share it. */
void dt_packed_count(const dt_exec *x);
/* Returns the bytes of packed copies of weights that runs of x may make, without those that another
 * executable counts. */
int64_t dt_packed_bytes(const dt_exec *x);
/* dt_packed_begin is called before a run. It decides which values products keep packed in this run,
 * allocates memory for these (NO_MEMORY), and gives changed values a new version; the products then
 * pack them. dt_packed_end is called after a run and counts the changes of variables that the run
 * has updated. */
dt_status *dt_packed_begin(const dt_exec *x) DT_MUST_USE;
void dt_packed_end(const dt_exec *x);

/* ---- recording of runs (record.c) ---- */

/* Called before a run. Sets x->track, to NULL if the run is not recorded. Registers the spans of x
 * in the first run after a recorder was set, whether or not it is switched on. */
void dt_exec_listen(dt_exec *x);

/* ---- fused steps (strip_program.c, strip_rows.c) ---- */

/* Whether a node can be computed in a fused step, as an element-wise instruction or as a sum. */
bool dt_can_fuse(const dt_graph *g, int node);
typedef struct dt_node_list {
    int n, cap, *v;
} dt_node_list;
/* Nodes that are computed as one step, in order. */
typedef struct dt_fused_list {
    dt_node_list node;
    /* index of a node over whose elements the step iterates, and of the segment in which the step
     * runs */
    int shape, segment;
    /* nodes of other lists that this list computes as well, instead of reading their values */
    dt_node_list again;
} dt_fused_list;
/* Whether a node is a sum over each tile of the batch (DT_CUT_TILES) that a fused step can compute
 * together with the sum's input. The sum's shape differs from the shape over which the step
 * iterates. */
bool dt_is_fused_sum(const dt_graph *g, int node);
/* Decides about values that one list computes and another one reads: stores them (slot[].stored),
 * or lets the other list compute them again, or both (recompute.c). */
void dt_plan_recomputing(dt_exec *x, dt_fused_list *list, int n_lists);
/* Makes a fused step. slot[].stored says which results it writes to memory. */
dt_status *dt_fused_step(dt_exec *x, const dt_fused_list *list, dt_step *step) DT_MUST_USE;
/* Prints the step's passes over memory: ": loop of 13" ops, or the name of each op that has its own
 * loop; ": sums" if it only computes sums. */
void dt_fused_print(const dt_step *step, dt_str *out);
typedef void dt_reader(dt_exec *x, int node, int number);
/* Calls read(x, node, number) for each node whose memory the step reads; `number` is passed on. */
void dt_fused_reads(dt_exec *x, const dt_step *step, dt_reader *read, int number);

/* ---- steps and memory (compile.c, storage.c, task_memory.c) ---- */

dt_status *dt_build_steps(dt_exec *x) DT_MUST_USE;
void dt_plan_memory(dt_exec *x);
typedef struct dt_taken {
    int node;
    int64_t bytes;
} dt_taken;
/* Assigns offsets in one memory to the slots of `blocks`, so that blocks that are in use at the
 * same time do not overlap. Returns the bytes of that memory. Sorts `blocks`. */
int64_t dt_place_blocks(dt_exec *x, dt_taken *blocks, int n);
/* Returns a + b, or INT64_MAX if that overflows. */
int64_t dt_memory_sum(int64_t a, int64_t b);
/* Called when the segments in which values are used are known. Decides which values have
 * DT_HOME_TASK, and assigns offsets to these. Each of their pieces is used by one task only. */
void dt_plan_task_memory(dt_exec *x);
/* Returns the bytes of a value with DT_HOME_TASK in a segment, for all pieces that have memory at a
 * time; 0 if the node's group runs in another segment. */
int64_t dt_task_memory_in(const dt_exec *x, int node, int segment);
/* Called when the memory of x has been allocated. Fills in the lanes' views of the executable. */
void dt_open_views(dt_exec *x);
/* Called at the start of each run. Copies its env and its number to the views. */
void dt_begin_views(dt_exec *x);
/* Returns the executable, or the lane's view of it with the addresses of the task's values, that is
 * passed to the kernels of a task. */
const dt_exec *dt_view_of_task(const dt_exec *x, const dt_exec_task *t, int lane);

#endif
