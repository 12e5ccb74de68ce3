/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the executor, for its own files. */
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
    dt_gemm_library gemm;
    dt_kernels kernels; /* who chose it */
    /* the processor multiplies bfloat16, and products are ours to make (dot_bf16.c) */
    bool packs_bf16;
    dt_gemm_library second; /* OpenBLAS for what `gemm` refuses; name NULL: not opened yet */
    char *description;
    int64_t bucket_bytes;     /* of what workers exchange */
    int64_t held;             /* by libraries for products, see dt_engine_held */
    dt_recorder *recorder;    /* NULL: nobody listens */
    dt_track **track;         /* (lanes), with a recorder */
    int recordings;           /* how often one was given: executables make their marks anew */
    int wait_mark, wake_mark; /* waiting for other lanes; starting them */
};

/* Products take bfloat16 as it is, faster than float32. */
static inline bool dt_engine_multiplies_bf16(const dt_engine *e) {
    return e->gemm.bf16 || e->packs_bf16;
}

/* exec/product.c: a product and who makes it: by one plan of the library, or in tiles. All NULL:
 * none. */
typedef struct dt_product {
    const dt_gemm_library *library;
    void *plan;
    struct dt_tiles *tiles;
    size_t scratch; /* bytes that running it takes beside its matrices */
} dt_product;
/* exec/product_choice.c: whether OpenBLAS is to compute it though oneDNN is there. */
bool dt_product_prefers_openblas(const dt_engine *e, const dt_gemm *g);
dt_status *dt_product_plan(dt_engine *e, const dt_gemm *g, dt_product *out) DT_MUST_USE;
/* scratch: p->scratch bytes. */
void dt_product_run(const dt_product *p, const void *a, const void *b, void *c, void *scratch);
void dt_product_release(dt_product *p);
/* NO_MEMORY where `ulimit -v` leaves no room for the library's buffers. */
dt_status *dt_gemm_find_room(const dt_gemm_library *l, int threads) DT_MUST_USE;

/* Where a node's value lies. */
typedef enum dt_home {
    DT_HOME_NONE, /* within a fused step, absorbed, or a splat: no memory */
    DT_HOME_ARG,
    DT_HOME_VARIABLE,
    DT_HOME_ARENA,
    /* a piece of it in memory of the task that makes and reads it, see task_memory.c */
    DT_HOME_TASK
} dt_home;

typedef struct dt_slot {
    dt_home home;
    int index;   /* ARG, VARIABLE */
    int owner;   /* the node whose memory this is: itself, or what a reshape renames */
    bool stored; /* somebody outside its fused step reads it */
    /* VARIABLE: its old value is copied into the arena first, for a result or for another
     * variable's update */
    bool kept;
    int first, last; /* segments between which the memory is taken; TASK: steps of its group */
    int64_t offset, bytes; /* ARENA; TASK: of its largest piece */
} dt_slot;

typedef struct dt_step dt_step;

/* One piece of one step. */
typedef struct dt_kernel_call {
    const dt_exec *x;
    const dt_step *step;
    int unit, lane;
    int64_t lo, hi; /* rows of the result */
    char *scratch;  /* step->scratch bytes, the lane's own */
    /* step->kept bytes, the lane's and the step's own: what they hold stays; all 0 before the
     * first run */
    char *kept;
} dt_kernel_call;

struct dt_exchange;
/* A kernel: a row in exec/kernels.h. */
typedef struct dt_kernel {
    const char *name;
    /* NULL: whatever fits; not in the table, chosen by the compiler itself (fused, eval, copy) */
    const dt_op *op;
    bool splits;                               /* computes any range of rows */
    bool (*fits)(const dt_graph *g, int node); /* NULL: whenever the op is */
    /* calls dt_store_wide for what cannot lie in 16 bits; NULL: nothing can */
    void (*narrow)(dt_exec *x, int node);
    /* makes step->state, sets step->scratch; may be NULL */
    dt_status *(*prepare)(dt_exec *x, dt_step *step);
    void (*run)(const dt_kernel_call *c);
    void (*release)(void *state); /* NULL: nothing to free */
    /* Of kernels that exchange something with other workers (exchange.c): carries all nodes of an
     * exchange at once. */
    dt_status *(*carry)(const dt_exec *x, const struct dt_exchange *e);
    size_t item_bytes; /* of what it lists for the fabric, for each node */
} dt_kernel;

struct dt_step {
    const dt_kernel *kernel;
    int node, pieces_of; /* pieces_of: the node whose pieces the step's are */
    int made_by;         /* of a kernel: the node whose step makes the result, most often its own */
    void *state;
    size_t scratch, kept, kept_at;
    int mark; /* what it is called in a recording */
};

typedef struct dt_group {
    int units, node; /* node: one that tells the borders of pieces */
    int segment, n_steps, cap_steps;
    dt_step *step;
    double work;               /* a guess, for dealing tasks out */
    int n_own, most_own, *own; /* values with DT_HOME_TASK, and other names of them */
    /* of a piece; where piece 0 is, unless lanes have room of their own */
    int64_t own_bytes, own_at;
    int n_feeds, *feeds; /* exchanges that its tasks make parts of */
} dt_group;

typedef struct dt_exec_task {
    int group, unit;
    int turn; /* by the exchanges that it feeds */
    double work;
    _Atomic uint32_t taken; /* number of the run that has taken it */
} dt_exec_task;

typedef struct dt_segment {
    int n_tasks;
    dt_exec_task *task; /* by turn, then the largest first */
    int *of_lane; /* [lanes][n_tasks]: the order in which a lane looks for work: its own first */
    int64_t lane_bytes; /* room of a lane for the values of its task; 0: each task has its own */
} dt_segment;

struct dt_exec {
    dt_arena *arena; /* of the structures */
    dt_engine *engine;
    const dt_program *p;
    const dt_graph *g;
    dt_type *type; /* by node, as it is stored, at this batch */
    bool *renamed; /* by node: a rounding of what is stored rounded, see storage.c */
    dt_slot *slot;
    void **at;       /* by node: its memory now; NULL: none */
    int *fused_in;   /* by node: the fused step it runs in, -1: none */
    int *overwrites; /* by node: the variable that it updates in place, as a node, -1: none */
    int n_groups, n_segments;
    int n_alone; /* segments at the start that are one task each: run without waking the lanes */
    dt_group *group;
    dt_segment *segment;
    struct dt_exchanges *exchanges;   /* NULL: none */
    int64_t arena_bytes, task_bytes;  /* of values of many tasks; behind them, of single tasks */
    int n_views;                      /* lanes, 0 without such values */
    dt_exec *view;                    /* by lane: the same executable with another `at` */
    size_t scratch_bytes, kept_bytes; /* a lane's */
    dt_code code;                     /* of the loops of fused steps */
    char *memory, *scratch;
    const dt_env *env;      /* of the current run */
    dt_status *failure;     /* of it: workers could not exchange what they have */
    uint32_t run;           /* counts runs */
    dt_lane_choice lanes;   /* whether all take part in the next run */
    bool alone;             /* lane 0 does, in the current one */
    dt_track *const *track; /* (lanes) of the current run; NULL: nothing is recorded */
    int marked;             /* the engine's recording that steps have marks of */
    int run_mark;
    /* of a recorded run: when lane 0 began to wake the others, later when its own part was done */
    int64_t since_ns;
};

/* The kernel for a node: a fitting row of the table, or the op's eval. */
const dt_kernel *dt_kernel_find(const dt_graph *g, int node);
#define DT_KERNEL(name) extern const dt_kernel dt_kernel_##name;
#include "exec/kernels.h"
#undef DT_KERNEL
extern const dt_kernel dt_kernel_fused, dt_kernel_eval, dt_kernel_copy_back;

/* What a result or a copied update shows: the node's value, the old one for a variable that the
 * step overwrites. */
const void *dt_final_value(const dt_exec *x, int node);
/* Elements of one row (dimension 0 taken off) of a node's value. */
int64_t dt_row_elements(const dt_exec *x, int node);
static inline float *dt_floats(const dt_exec *x, int node) { return x->at[node]; }

/* ---- values in 16 bits (storage.c) ---- */

/* Says in x->type which values of float32 are stored as bfloat16 or float16. */
void dt_choose_storage(dt_exec *x);
bool dt_is_stored_narrow(const dt_exec *x, int node);
void dt_store_wide(dt_exec *x, int node);
/* The loop that makes floats of elements in memory, and back; DT_S_COPY: they are float32. */
dt_strip_op dt_strip_load(dt_dtype d);
dt_strip_op dt_strip_store(dt_dtype d);
/* n elements of a value of floats, from element `from` on: into memory that is not its own,
 * whatever it is stored as; and back. In place they stay. */
void dt_fetch_floats(const dt_exec *x, int node, int64_t from, int64_t n, float *to);
void dt_store_floats(const dt_exec *x, int node, int64_t to, int64_t n, const float *from);
/* A kernel's `narrow`: inputs and result are stored alike. */
void dt_narrow_alike(dt_exec *x, int node);
/* Whether a node is no work but another name for its first input. */
bool dt_is_renamed(const dt_exec *x, int node);
dt_gemm_float dt_gemm_float_of(dt_dtype d);
/* Bytes of an element, as it is stored. */
static inline int64_t dt_element_bytes(const dt_exec *x, int node) {
    return (int64_t)dt_dtype_size(x->type[node].dtype);
}

/* ---- what is recorded (record.c) ---- */

/* Before a run: sets x->track, and makes the marks of x where they are wanted. */
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
    int shape, segment; /* shape: a node of the shape that the step goes over */
    dt_node_list again; /* nodes of other lists that are made here once more */
} dt_fused_list;
/* A sum over the batch, for each piece of it, that is formed while the step goes over what is
 * summed; it is of another shape. */
bool dt_is_fused_sum(const dt_graph *g, int node);
/* Decides slot[].stored of what one list makes and another reads, and what is made again
 * (recompute.c). */
void dt_plan_recomputing(dt_exec *x, dt_fused_list *list, int n_lists);
/* slot[].stored says which results leave the step. */
dt_status *dt_fused_step(dt_exec *x, const dt_fused_list *list, dt_step *step) DT_MUST_USE;
/* Its passes over memory: ": loop of 13" ops, or a loop for each op named. */
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
/* Gives the slots of blocks offsets such that none overlap that are taken at the same time; the
 * bytes they span. Sorts blocks. */
int64_t dt_place_blocks(dt_exec *x, dt_taken *blocks, int n);
/* Stays at INT64_MAX. */
int64_t dt_memory_sum(int64_t a, int64_t b);
/* After lifetimes in segments are known: gives values of single tasks DT_HOME_TASK, and places
 * them. */
void dt_plan_task_memory(dt_exec *x);
/* Bytes of a value with DT_HOME_TASK, over all that exist of it in a segment. */
int64_t dt_task_memory_in(const dt_exec *x, int node, int segment);
/* When x->at is filled: makes the lanes' views. */
void dt_open_views(dt_exec *x);
/* At each run: tells them its env and its number. */
void dt_begin_views(dt_exec *x);
/* What the task's kernels get as their executable. */
const dt_exec *dt_view_of_task(const dt_exec *x, const dt_exec_task *t, int lane);

#endif
