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
    dt_kernels kernels; /* kernels chosen for this processor; not AUTO */
    /* the library for products, and our own loops, which with LIBRARIES compute what `gemm`
     * refuses */
    dt_gemm_library gemm, own;
    /* the processor multiplies bfloat16, and our own loops compute products with these instructions
     * (dot_bf16.c) */
    bool packs_bf16;
    dt_packed *packed; /* variables that are packed for products */
    char *description;
    int64_t bucket_bytes;  /* bytes of a bucket in exchanges between workers */
    int64_t held;          /* bytes that libraries hold for products (dt_engine_held) */
    dt_recorder *recorder; /* where tasks are recorded; NULL: nowhere */
    dt_track **track;      /* [lanes] a track for each lane, if there is a recorder */
    /* number of calls that set a recorder; after each, executables register their spans again */
    int recordings;
    /* numbers of the spans for waiting for other lanes, and for waking them */
    int wait_mark, wake_mark;
};

/* Whether products take bfloat16 operands directly, and compute faster with these than with
 * float32. */
static inline bool dt_engine_multiplies_bf16(const dt_engine *e) {
    return e->gemm.bf16 || e->packs_bf16;
}

/* A product (exec/product.c) with its implementation: a plan of a library, or tiles. If all members
 * are NULL, there is no product. */
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

/* Where the memory of a node's value is. */
typedef enum dt_home {
    /* the value needs no memory: it is computed within a fused step, absorbed by its reader, or a
     * splat */
    DT_HOME_NONE,
    DT_HOME_ARG,
    DT_HOME_VARIABLE,
    DT_HOME_ARENA,
    /* one piece of the value is in memory of the task that writes and reads it (task_memory.c) */
    DT_HOME_TASK
} dt_home;

typedef struct dt_value_slot {
    dt_home home;
    int index;   /* with ARG and VARIABLE: number of the argument or variable */
    int owner;   /* the node that owns the memory: this node, or for a reshape its input */
    bool stored; /* the value is read outside its fused step, so it needs memory */
    /* with VARIABLE: the old value is copied into the arena first, for a result or for another
     * variable's update */
    bool kept;
    /* first and last segment that use the memory; with TASK: first and last step of its group */
    int first, last;
    /* with ARENA: offset in the arena; with TASK: bytes of the largest piece */
    int64_t offset, bytes;
} dt_value_slot;

typedef struct dt_step dt_step;

/* A call of a kernel: it computes one piece of one step. */
typedef struct dt_kernel_call {
    const dt_exec *x;
    const dt_step *step;
    int unit, lane;
    int64_t lo, hi; /* the rows of the result to compute */
    char *scratch;  /* step->scratch bytes, separate for each lane */
    /* step->kept bytes, separate for each lane and step, preserved between runs; 0 before the
     * first run */
    char *kept;
} dt_kernel_call;

struct dt_exchange;
/* A kernel: a row in exec/kernels.h. */
typedef struct dt_kernel {
    const char *name;
    /* the op that the kernel computes; NULL: any op; such kernels are not in the table, but chosen
     * by the compiler (fused, eval, copy) */
    const dt_op *op;
    /* how the result may be divided into pieces: bits of dt_division; true: by rows */
    unsigned splits;
    /* returns whether the kernel can compute the node; NULL: it can compute every node of the op */
    bool (*fits)(const dt_graph *g, int node);
    /* calls dt_store_wide for values that must not be stored in 16 bits; NULL: none of the result
     * and the inputs may be */
    void (*narrow)(dt_exec *x, int node);
    /* sets step->state and step->scratch; NULL: nothing to prepare */
    dt_status *(*prepare)(dt_exec *x, dt_step *step);
    void (*run)(const dt_kernel_call *c);
    void (*release)(void *state); /* frees step->state; NULL: nothing to free */
    /* For kernels that exchange values with other workers (exchange.c): exchanges all nodes at
     * once. */
    dt_status *(*carry)(const dt_exec *x, const struct dt_exchange *e);
    size_t item_bytes; /* bytes of the entry for each node in the list that `carry` passes on */
} dt_kernel;

struct dt_step {
    const dt_kernel *kernel;
    int node, pieces_of; /* the node; and the node whose pieces the step's pieces are */
    /* for a kernel's step: the node whose step computes the result, usually `node` itself */
    int made_by;
    void *state;
    size_t scratch, kept, kept_at;
    int mark; /* number of its span in recordings */
};

/* Steps whose results are divided into the same pieces. A task runs all steps of the group for one
 * piece, on one lane (a thread of the engine). */
typedef struct dt_group {
    int units, node; /* number of pieces, and a node that is divided into the same pieces */
    int segment;     /* number of the segment in which it runs */
    int n_steps, cap_steps;
    dt_step *step; /* [n_steps] in the order in which they run */
    /* estimated work of all pieces, by which tasks are distributed over lanes; the work of one
     * element of a loop, or of four multiply-adds of a product, is 1 */
    double work;
    /* nodes whose values have DT_HOME_TASK, and nodes that are other names of these */
    int n_own, most_own, *own;
    /* bytes of the values of a piece; offset of piece 0, if lanes do not have separate memory */
    int64_t own_bytes, own_at;
    int n_feeds, *feeds; /* numbers of the exchanges whose inputs the group's tasks compute */
} dt_group;

typedef struct dt_exec_task {
    int group, unit;        /* numbers of its group, and of the piece that it computes */
    int turn;               /* priority, by the exchanges that the group's tasks feed */
    double work;            /* its part of the group's work */
    _Atomic uint32_t taken; /* number of the last run in which a lane took the task */
} dt_exec_task;

typedef struct dt_segment {
    int n_tasks;
    dt_exec_task *task; /* [n_tasks] ordered by priority, then by decreasing work */
    /* [lanes][n_tasks] the order in which a lane looks for tasks, beginning with its own */
    int *of_lane;
    /* bytes that a lane has for the values of its task; 0: each task has separate memory */
    int64_t lane_bytes;
} dt_segment;

/* A packed variable that products of an executable read. */
typedef struct dt_packed_use {
    dt_packed *of;
    int64_t products, rows; /* how many; rows of all */
    bool is_updated;        /* by the executable */
} dt_packed_use;

struct dt_exec {
    dt_arena *arena; /* memory of the data structures */
    dt_engine *engine;
    const dt_program *p;
    const dt_graph *g;
    dt_type *type; /* [nodes] the type as stored, with the batch size in place of B */
    /* [nodes] whether the node rounds a value that is stored rounded, so that it needs no work
     * (storage.c) */
    bool *renamed;
    dt_value_slot *slot;
    void **at;     /* [nodes] address of the value at the moment; NULL: none */
    int *fused_in; /* [nodes] number of the fused step that the node runs in, -1: none */
    /* [nodes] the node of the variable whose memory the node overwrites, -1: none */
    int *overwrites;
    int n_groups, n_segments;
    /* number of segments at the start that have a single task; they run without waking the lanes */
    int n_alone;
    dt_group *group;
    dt_segment *segment;
    struct dt_exchanges *exchanges; /* exchanges with other workers; NULL: there are none */
    int n_packed, cap_packed;
    dt_packed_use *packed;
    /* bytes of values of several tasks; then bytes of values of single tasks */
    int64_t arena_bytes, task_bytes;
    /* number of lanes, or 0 if no value is used by only one task */
    int n_views;
    /* [n_views] the same executable for each lane, with a different `at` */
    dt_exec *view;
    size_t scratch_bytes, kept_bytes; /* bytes for one lane */
    dt_code code;                     /* machine code of the loops of fused steps */
    char *memory, *scratch;
    const dt_env *env;      /* environment of the current run */
    dt_status *failure;     /* error of the current run, from an exchange between workers */
    uint32_t run;           /* number of the current run */
    dt_lane_choice lanes;   /* decides whether all lanes take part in the next run */
    bool alone;             /* lane 0 runs the current run alone */
    dt_track *const *track; /* [lanes] tracks of the current run; NULL: nothing is recorded */
    /* number of the engine's recording in which the spans of steps are registered */
    int marked;
    int run_mark;
    /* in a recorded run: when lane 0 began to wake the others, later when it had finished its
     * part */
    int64_t since_ns;
};

/* Returns the kernel for a node: the first row of the table that fits, or the op's eval. */
const dt_kernel *dt_kernel_find(const dt_graph *g, int node);
#define DT_KERNEL(name) extern const dt_kernel dt_kernel_##name;
#include "exec/kernels.h"
#undef DT_KERNEL
extern const dt_kernel dt_kernel_fused, dt_kernel_eval, dt_kernel_copy_back;

/* Returns the memory from which a result or a copied update is read: the node's value, or the old
 * value of a variable that the step overwrites. */
const void *dt_final_value(const dt_exec *x, int node);
/* Returns the number of elements of one row of a node's value: the product of all dimensions except
 * dimension 0. */
int64_t dt_row_elements(const dt_exec *x, int node);
/* What pieces of a node divide: the number of parts of a row (1, or its time steps if it is divided
 * by time), and the number of elements of such a part. */
int64_t dt_steps_of(const dt_exec *x, int node);
int64_t dt_piece_elements(const dt_exec *x, int node);
static inline float *dt_floats(const dt_exec *x, int node) { return x->at[node]; }

/* ---- values in 16 bits (storage.c) ---- */

/* Sets x->type to bfloat16 or float16 for those float32 values that are stored in 16 bits. */
void dt_choose_storage(dt_exec *x);
bool dt_is_stored_narrow(const dt_exec *x, int node);
void dt_store_wide(dt_exec *x, int node);
/* Return the instruction that converts stored elements to float, and the one for the other
 * direction; DT_S_COPY for float32. */
dt_strip_op dt_strip_load(dt_dtype d);
dt_strip_op dt_strip_store(dt_dtype d);
/* Convert n elements of a float value, beginning at element `from`, from the stored type to float32
 * memory, and back. Do nothing if that memory is the value's own. */
void dt_fetch_floats(const dt_exec *x, int node, int64_t from, int64_t n, float *to);
void dt_store_floats(const dt_exec *x, int node, int64_t to, int64_t n, const float *from);
/* The function `narrow` for kernels whose inputs and result must have the same stored type. */
void dt_narrow_alike(dt_exec *x, int node);
dt_gemm_float dt_gemm_float_of(dt_dtype d);
/* Returns the number of bytes of a stored element. */
static inline int64_t dt_element_bytes(const dt_exec *x, int node) {
    return (int64_t)dt_dtype_size(x->type[node].dtype);
}

/* ---- packed variables (packed.c) ---- */

/* For so many products, whose B is a node: where B is kept packed, of the engine; NULL: nowhere,
 * since it is not a variable or a library multiplies. */
dt_panels *dt_packed_for(dt_exec *x, int node, const dt_gemm *g, int64_t products);
void dt_packed_release(dt_exec *x);
/* Bytes of the variables that runs may pack. */
int64_t dt_packed_bytes(const dt_exec *x);
/* Called before and after a run. */
dt_status *dt_packed_begin(const dt_exec *x) DT_MUST_USE;
void dt_packed_end(const dt_exec *x);

/* ---- recording of runs (record.c) ---- */

/* Called before a run. Sets x->track, and registers the spans of x if the run is recorded. */
void dt_exec_listen(dt_exec *x);

/* ---- fused steps (strip_program.c) ---- */

/* Whether a node can be an instruction of a strip program. */
bool dt_can_fuse(const dt_graph *g, int node);
typedef struct dt_node_list {
    int n, cap, *v;
} dt_node_list;
/* Nodes that are computed as one step, in order. */
typedef struct dt_fused_list {
    dt_node_list node;
    int shape, segment; /* shape: a node whose shape the step iterates over */
    dt_node_list again; /* nodes of other lists that this list computes again */
} dt_fused_list;
/* Whether a node is a sum over the batch, for each piece, that a fused step can compute together
 * with the sum's input. Its shape differs from that of the step. */
bool dt_is_fused_sum(const dt_graph *g, int node);
/* Decides about values that one list computes and another one reads: either stores them
 * (slot[].stored), or lets the other list compute them again (recompute.c). */
void dt_plan_recomputing(dt_exec *x, dt_fused_list *list, int n_lists);
/* Makes a fused step. slot[].stored says which results it writes to memory. */
dt_status *dt_fused_step(dt_exec *x, const dt_fused_list *list, dt_step *step) DT_MUST_USE;
/* Prints the step's passes over memory: ": loop of 13" ops, or the name of each op that has its own
 * loop. */
void dt_fused_print(const dt_step *step, dt_str *out);
typedef void dt_reader(dt_exec *x, int node, int number);
/* Calls read(x, node, number) for every node whose memory the step reads. */
void dt_fused_reads(dt_exec *x, const dt_step *step, dt_reader *read, int number);

/* ---- steps and memory (compile.c, storage.c, task_memory.c) ---- */

dt_status *dt_build_steps(dt_exec *x) DT_MUST_USE;
void dt_plan_memory(dt_exec *x);
typedef struct dt_taken {
    int node;
    int64_t bytes;
} dt_taken;
/* Assigns offsets to the slots of blocks such that blocks with overlapping lifetimes do not
 * overlap; returns the bytes they span. Sorts blocks. */
int64_t dt_place_blocks(dt_exec *x, dt_taken *blocks, int n);
/* Returns a + b, or INT64_MAX if that overflows. */
int64_t dt_memory_sum(int64_t a, int64_t b);
/* Called when the segments in which values are used are known. Gives values that only one task uses
 * DT_HOME_TASK and offsets. */
void dt_plan_task_memory(dt_exec *x);
/* Returns the bytes of a value with DT_HOME_TASK in a segment, for all of its copies. */
int64_t dt_task_memory_in(const dt_exec *x, int node, int segment);
/* Called when x->at is complete. Creates the lanes' views of the executable. */
void dt_open_views(dt_exec *x);
/* Called at the start of each run. Copies its env and its number to the views. */
void dt_begin_views(dt_exec *x);
/* Returns the executable that is passed to a task's kernels. */
const dt_exec *dt_view_of_task(const dt_exec *x, const dt_exec_task *t, int lane);

#endif
