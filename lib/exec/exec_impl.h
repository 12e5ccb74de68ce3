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

struct dt_engine {
    dt_pool *pool;
    const dt_simd *simd;
    dt_kernels kernels;        /* kernels chosen for this processor; not AUTO */
    dt_gemm_library gemm, own; /* own: under LIBRARIES also for what `gemm` refuses */
    /* the processor multiplies bfloat16, and our own loops compute products (dot_bf16.c) */
    bool packs_bf16;
    char *description;
    int64_t bucket_bytes;  /* bucket size of exchanges between workers */
    int64_t held;          /* bytes that libraries hold for products, see dt_engine_held */
    dt_recorder *recorder; /* NULL: nothing is recorded */
    dt_track **track;      /* (lanes), with a recorder */
    /* counts calls that set a recorder, after which executables register their marks again */
    int recordings;
    int wait_mark, wake_mark; /* waiting for other lanes; starting them */
};

/* Whether products take bfloat16 operands directly, faster than float32. */
static inline bool dt_engine_multiplies_bf16(const dt_engine *e) {
    return e->gemm.bf16 || e->packs_bf16;
}

/* exec/product.c: a product and its implementation: one plan of a library, or tiles. All NULL:
 * none. */
typedef struct dt_product {
    const dt_gemm_library *library;
    void *plan;
    struct dt_tiles *tiles;
    size_t scratch; /* bytes of working memory, besides its matrices */
} dt_product;
dt_status *dt_product_plan(dt_engine *e, const dt_gemm *g, dt_product *out) DT_MUST_USE;
/* scratch: p->scratch bytes. */
void dt_product_run(const dt_product *p, const void *a, const void *b, void *c, void *scratch);
void dt_product_release(dt_product *p);

/* The memory of a node's value. */
typedef enum dt_home {
    DT_HOME_NONE, /* no memory: computed within a fused step, absorbed by its reader, or a splat */
    DT_HOME_ARG,
    DT_HOME_VARIABLE,
    DT_HOME_ARENA,
    /* one piece of the value, in memory of the task that writes and reads it, see task_memory.c */
    DT_HOME_TASK
} dt_home;

typedef struct dt_value_slot {
    dt_home home;
    int index;   /* ARG, VARIABLE: its number */
    int owner;   /* the node that owns the memory: itself, or the input of a reshape */
    bool stored; /* read outside its fused step, so it needs memory */
    /* VARIABLE: its old value is copied into the arena first, for a result or for another
     * variable's update */
    bool kept;
    /* first and last segment that use the memory; TASK: first and last step of its group */
    int first, last;
    int64_t offset, bytes; /* ARENA: in the arena; TASK: for the largest piece */
} dt_value_slot;

typedef struct dt_step dt_step;

/* The computation of one piece of one step. */
typedef struct dt_kernel_call {
    const dt_exec *x;
    const dt_step *step;
    int unit, lane;
    int64_t lo, hi; /* rows of the result */
    char *scratch;  /* step->scratch bytes, separate for each lane */
    /* step->kept bytes, separate for each lane and step, preserved between runs; 0 before the
     * first run */
    char *kept;
} dt_kernel_call;

struct dt_exchange;
/* A kernel: a row in exec/kernels.h. */
typedef struct dt_kernel {
    const char *name;
    /* NULL: any op that fits; such rows are not in the table, but chosen by the compiler (fused,
     * eval, copy) */
    const dt_op *op;
    unsigned splits; /* ranges that it can compute: bits of dt_division; true: ranges of rows */
    bool (*fits)(const dt_graph *g, int node); /* NULL: fits every node of the op */
    /* calls dt_store_wide for values that cannot be stored in 16 bits; NULL: there are none */
    void (*narrow)(dt_exec *x, int node);
    /* sets step->state and step->scratch; may be NULL */
    dt_status *(*prepare)(dt_exec *x, dt_step *step);
    void (*run)(const dt_kernel_call *c);
    void (*release)(void *state); /* NULL: nothing to free */
    /* For kernels that exchange values with other workers (exchange.c): exchanges all nodes at
     * once. */
    dt_status *(*carry)(const dt_exec *x, const struct dt_exchange *e);
    size_t item_bytes; /* bytes of its list entry for the fabric, for each node */
} dt_kernel;

struct dt_step {
    const dt_kernel *kernel;
    int node, pieces_of; /* pieces_of: the node whose pieces the step's are */
    /* of a kernel's step: the node whose step computes the result, usually `node` */
    int made_by;
    void *state;
    size_t scratch, kept, kept_at;
    int mark; /* its mark in recordings */
};

typedef struct dt_group {
    int units, node; /* number of pieces, and a node whose pieces have the same borders */
    int segment, n_steps, cap_steps;
    dt_step *step;
    double work;               /* estimated work, for distributing tasks over lanes */
    int n_own, most_own, *own; /* values with DT_HOME_TASK, and other names of them */
    /* bytes of a piece's values; offset of piece 0, unless lanes have separate memory */
    int64_t own_bytes, own_at;
    int n_feeds, *feeds; /* exchanges whose inputs its tasks compute */
} dt_group;

typedef struct dt_exec_task {
    int group, unit;
    int turn; /* priority, by the exchanges that the group's tasks feed */
    double work;
    _Atomic uint32_t taken; /* number of the last run in which a lane took the task */
} dt_exec_task;

typedef struct dt_segment {
    int n_tasks;
    dt_exec_task *task; /* by priority, then by decreasing work */
    int *of_lane; /* [lanes][n_tasks]: the order in which a lane looks for tasks: its own first */
    /* bytes that a lane has for the values of its task; 0: each task has separate memory */
    int64_t lane_bytes;
} dt_segment;

struct dt_exec {
    dt_arena *arena; /* arena of the data structures */
    dt_engine *engine;
    const dt_program *p;
    const dt_graph *g;
    dt_type *type; /* by node: type as stored, for this batch */
    /* by node: rounds a value that is stored rounded, so it does nothing, see storage.c */
    bool *renamed;
    dt_value_slot *slot;
    void **at;       /* by node: its memory now; NULL: none */
    int *fused_in;   /* by node: the fused step it runs in, -1: none */
    int *overwrites; /* by node: the variable that it updates in place, as a node, -1: none */
    int n_groups, n_segments;
    int n_alone; /* segments at the start that are one task each: run without waking the lanes */
    dt_group *group;
    dt_segment *segment;
    struct dt_exchanges *exchanges; /* NULL: none */
    /* bytes of values of several tasks; then bytes of values of single tasks */
    int64_t arena_bytes, task_bytes;
    int n_views;                      /* lanes, 0 without such values */
    dt_exec *view;                    /* by lane: the same executable with another `at` */
    size_t scratch_bytes, kept_bytes; /* bytes of one lane */
    dt_code code;                     /* machine code of the loops of fused steps */
    char *memory, *scratch;
    const dt_env *env;      /* environment of the current run */
    dt_status *failure;     /* error of the current run: an exchange between workers failed */
    uint32_t run;           /* counts runs */
    dt_lane_choice lanes;   /* decides whether all lanes take part in the next run */
    bool alone;             /* lane 0 runs the current run alone */
    dt_track *const *track; /* (lanes) of the current run; NULL: nothing is recorded */
    int marked;             /* the engine's recording that steps have marks of */
    int run_mark;
    /* in a recorded run: when lane 0 began to wake the others, later when it had finished its
     * part */
    int64_t since_ns;
};

/* The kernel for a node: a fitting row of the table, or the op's eval. */
const dt_kernel *dt_kernel_find(const dt_graph *g, int node);
#define DT_KERNEL(name) extern const dt_kernel dt_kernel_##name;
#include "exec/kernels.h"
#undef DT_KERNEL
extern const dt_kernel dt_kernel_fused, dt_kernel_eval, dt_kernel_copy_back;

/* The memory that a result or a copied update is read from: the node's value, or the old value
 * of a variable that the step overwrites. */
const void *dt_final_value(const dt_exec *x, int node);
/* Elements of one row of a node's value: all dimensions but dimension 0. */
int64_t dt_row_elements(const dt_exec *x, int node);
/* What pieces of a node divide: the parts of a row (1, or by time its steps), and the elements of
 * such a part. */
int64_t dt_steps_of(const dt_exec *x, int node);
int64_t dt_piece_elements(const dt_exec *x, int node);
static inline float *dt_floats(const dt_exec *x, int node) { return x->at[node]; }

/* ---- values in 16 bits (storage.c) ---- */

/* Sets x->type to bfloat16 or float16 for the float32 values that are stored so. */
void dt_choose_storage(dt_exec *x);
bool dt_is_stored_narrow(const dt_exec *x, int node);
void dt_store_wide(dt_exec *x, int node);
/* The instruction that converts stored elements to float, and back; DT_S_COPY for float32. */
dt_strip_op dt_strip_load(dt_dtype d);
dt_strip_op dt_strip_store(dt_dtype d);
/* Converts n elements of a float value, beginning at element `from`, from the stored type to
 * float32 memory; and back. Does nothing if that memory is the value's own. */
void dt_fetch_floats(const dt_exec *x, int node, int64_t from, int64_t n, float *to);
void dt_store_floats(const dt_exec *x, int node, int64_t to, int64_t n, const float *from);
/* A kernel's `narrow` for kernels whose inputs and result have the same stored type. */
void dt_narrow_alike(dt_exec *x, int node);
/* Whether a node does no work and shares the memory of its first input. */
bool dt_is_renamed(const dt_exec *x, int node);
dt_gemm_float dt_gemm_float_of(dt_dtype d);
/* Bytes of a stored element. */
static inline int64_t dt_element_bytes(const dt_exec *x, int node) {
    return (int64_t)dt_dtype_size(x->type[node].dtype);
}

/* ---- what is recorded (record.c) ---- */

/* Called before a run: sets x->track, and registers the marks of x if they are recorded. */
void dt_exec_listen(dt_exec *x);

/* ---- fused steps (strip_program.c) ---- */

/* Whether a node can be an instruction of a strip program. */
bool dt_can_fuse(const dt_graph *g, int node);
typedef struct dt_node_list {
    int n, cap, *v;
} dt_node_list;
/* Nodes that run as one step, in order. */
typedef struct dt_fused_list {
    dt_node_list node;
    int shape, segment; /* shape: a node whose shape the step iterates over */
    dt_node_list again; /* nodes of other lists that this list computes again */
} dt_fused_list;
/* Whether a node is a sum over the batch for each piece that a fused step computes together with
 * its input. Its shape differs from the step's. */
bool dt_is_fused_sum(const dt_graph *g, int node);
/* Sets slot[].stored of values that one list computes and another reads, and chooses those that
 * are computed again instead (recompute.c). */
void dt_plan_recomputing(dt_exec *x, dt_fused_list *list, int n_lists);
/* slot[].stored selects the results that the step writes to memory. */
dt_status *dt_fused_step(dt_exec *x, const dt_fused_list *list, dt_step *step) DT_MUST_USE;
/* Prints its passes over memory: ": loop of 13" ops, or a loop for each named op. */
void dt_fused_print(const dt_step *step, dt_str *out);
typedef void dt_reader(dt_exec *x, int node, int number);
/* Calls read(x, node, number) for every node whose memory the step reads. */
void dt_fused_reads(dt_exec *x, const dt_step *step, dt_reader *read, int number);

/* ---- steps and memory (compile.c, memory.c, task_memory.c) ---- */

dt_status *dt_build_steps(dt_exec *x) DT_MUST_USE;
void dt_plan_memory(dt_exec *x);
typedef struct dt_taken {
    int node;
    int64_t bytes;
} dt_taken;
/* Assigns offsets to the slots of blocks such that blocks with overlapping lifetimes do not
 * overlap; returns the bytes they span. Sorts blocks. */
int64_t dt_place_blocks(dt_exec *x, dt_taken *blocks, int n);
/* a + b, or INT64_MAX if that overflows. */
int64_t dt_memory_sum(int64_t a, int64_t b);
/* Called when lifetimes in segments are known: gives values of single tasks DT_HOME_TASK and
 * offsets. */
void dt_plan_task_memory(dt_exec *x);
/* Bytes of a value with DT_HOME_TASK in a segment, for all of its copies. */
int64_t dt_task_memory_in(const dt_exec *x, int node, int segment);
/* Called when x->at is filled: creates the lanes' views. */
void dt_open_views(dt_exec *x);
/* Called at each run: passes its env and number to the views. */
void dt_begin_views(dt_exec *x);
/* The executable that a task's kernels are given. */
const dt_exec *dt_view_of_task(const dt_exec *x, const dt_exec_task *t, int lane);

#endif
