/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal declarations of the room: from a graph to a text in which repeated blocks are loops.
 *
 *     graph -> items (order.c)      nodes in the order of the text, so that a block's work stands
 *                                   together
 *           -> repeats (repeat.c)   runs of items that are the same block again and again
 *           -> stacks (stacks.c)    stacked values of all blocks: weights, values that the forward
 *           pass keeps, gradients
 *           -> text (write.c, loop.c, whole.c)
 */
#ifndef DT_STABLEHLO_BLOCKS_H
#define DT_STABLEHLO_BLOCKS_H

#include "op/stablehlo.h"
#include "export/stablehlo/stablehlo.h"

/* g without barriers that do not delay values depending on examples. */
dt_status *dt_drop_barriers(const dt_graph *g, dt_graph **out) DT_MUST_USE;

/* g with products that have the same left operand joined to one: see products.c. */
dt_status *dt_hlo_join_products(const dt_graph *g, dt_graph **out) DT_MUST_USE;

/* ---- steps of sequences ---- */

/* g in which separate ops take and put each step of a sequence; NULL: g has no sequences. */
dt_status *dt_hlo_number_steps(const dt_graph *g, dt_graph **out) DT_MUST_USE;
bool dt_hlo_takes_step(const dt_node *n);
bool dt_hlo_puts_step(const dt_node *n);

/* ---- loops ---- */

/* A loop under construction. Its operands are a counter, an int32 from 0, and the values that
 * the loop carries. */
typedef struct dt_hlo_frame {
    dt_hlo *hlo;
    int n, times, id;
    /* [n] by operand: the value before the loop, inside its body, and for the next iteration */
    dt_hlo_value *init, *now, *next;
} dt_hlo_frame;
/* Opens the body. hlo, n, times, init and the arrays must be set; next is set to now. */
void dt_hlo_frame_open(dt_hlo_frame *f);
void dt_hlo_frame_close(dt_hlo_frame *f);
dt_hlo_value dt_hlo_frame_result(const dt_hlo_frame *f, int i);

/* ---- pieces of composites ---- */

typedef struct dt_hlo_pieces {
    int n;        /* pieces */
    int64_t size; /* size of the dimension that is divided */
    int in[DT_MAX_IN],
        out; /* the dimension that is divided; -1: none; for out -1: the pieces are summed */
} dt_hlo_pieces;
typedef struct dt_hlo_sizes {
    int64_t batch; /* rows of a batch: the value of B in shapes */
    int64_t large; /* bytes; values up to this size are not divided */
} dt_hlo_sizes;
/* Whether node i is a composite that must be computed piece by piece, and the pieces. */
bool dt_hlo_pieces_of(const dt_graph *g, int i, const dt_hlo_sizes *sizes, dt_hlo_pieces *out);
dt_status *dt_hlo_write_pieces(dt_hlo *h, const dt_node *n, const dt_hlo_pieces *p,
                               const dt_hlo_call *c, dt_hlo_value *out) DT_MUST_USE;
/* Decomposes ops of g that have no form and are not computed piece by piece. */
dt_status *dt_decompose_but_pieces(const dt_graph *g, const dt_hlo_sizes *sizes,
                                   dt_graph **out) DT_MUST_USE;
dt_status *dt_hlo_no_form(const dt_node *n) DT_MUST_USE;
bool dt_hlo_has_form(const dt_op *op);

/* ---- items ---- */

/* A statement of the text: a node, whose inputs are items before it. */
typedef struct dt_hlo_item {
    int node;
    int in[DT_MAX_IN];
    /* depends on constants alone, or broadcasts a value that precedes all loops, so it is
     * written again in each body that reads it */
    bool light;
} dt_hlo_item;

typedef struct dt_hlo_order {
    const dt_graph *g;
    /* items before `from` are arguments, states, and values that depend neither on examples nor on
     * weights */
    int n, from;
    dt_hlo_item *item;
    int *arg, *state;     /* items, by argument and state of the graph */
    int *result, *update; /* by result and by state; update -1: none */
} dt_hlo_order;

dt_hlo_order *dt_hlo_order_create(const dt_graph *g, dt_arena *arena);

/* ---- repeats ---- */

/* The source of a block's input. */
typedef enum dt_hlo_source {
    DT_HLO_INSIDE,  /* item number `at` of the block */
    DT_HLO_CARRIED, /* carry `at`: computed by the previous block */
    DT_HLO_SAME,    /* item `at`, which all blocks read */
    DT_HLO_EACH     /* list `at`: an item for each block */
} dt_hlo_source;
typedef struct dt_hlo_bind {
    dt_hlo_source from;
    int at;
} dt_hlo_bind;

/* Item `offset` of a block is an input of the next block; init: the item that the first block
 * reads instead. */
typedef struct dt_hlo_carry {
    int offset, init;
} dt_hlo_carry;

/* The repeat of items [first, first + n * period): n blocks. */
typedef struct dt_hlo_repeat {
    int first, n, period;
    dt_hlo_bind (*bind)[DT_MAX_IN]; /* by offset */
    int n_carries, cap_carries, n_lists, cap_lists, n_same, cap_same;
    dt_hlo_carry *carry;
    int **list; /* [n_lists][n] items */
    /* [n_same] items that all blocks read; a light item is replaced by its inputs */
    int *same;
    /* by offset: the number in its attributes differs between blocks (dt_op's `numbered`) */
    bool *numbered;
} dt_hlo_repeat;

/* Repeats in order, which do not overlap. dt_hlo_repeats_release frees them and leaves an empty
 * list. */
typedef struct dt_hlo_repeats {
    int n, cap;
    dt_hlo_repeat *repeat;
} dt_hlo_repeats;
void dt_hlo_find_repeats(const dt_hlo_order *o, dt_arena *arena, dt_hlo_repeats *out);
void dt_hlo_repeat_release(dt_hlo_repeat *r); /* Frees its arrays; its position and size stay. */
void dt_hlo_repeats_release(dt_hlo_repeats *r);
/* The repeat that item i is in and its block, or -1. */
int dt_hlo_repeat_of(const dt_hlo_repeats *r, int i, int *block, int *offset);

/* ---- stacks ---- */

typedef enum dt_hlo_stack_kind {
    DT_HLO_FED,     /* states: an argument of the function */
    DT_HLO_UPDATED, /* new values of the states of stack `of`, written to its memory */
    DT_HLO_KEPT,    /* written by a loop, or by statements outside of loops */
    DT_HLO_JOINED   /* items that are stacked where they are first needed */
} dt_hlo_stack_kind;

/* Values of one type that are stacked along a new first dimension. */
typedef struct dt_hlo_stack {
    dt_hlo_stack_kind kind;
    /* UPDATED: the stack of the states; FED: the stack of their new values, -1: none */
    int of, updated;
    int n, cap;
    int *item;          /* [n] by row; -1: none */
    dt_type type;       /* type of a row, concrete */
    bool scratch;       /* has an additional row, for blocks that have nothing to write */
    dt_hlo_value value; /* id -1: the stack has not been written to yet */
} dt_hlo_stack;

/* Rows of a stack that the blocks of a repeat read or write. */
typedef struct dt_hlo_rows {
    int stack;
    int *row; /* [n] by block; -1: none */
    /* the value to be written: item `offset` of a block, or the input `carry`; carry -1: the
     * item */
    int offset, carry;
} dt_hlo_rows;

typedef struct dt_hlo_plan {
    const dt_hlo_order *o;
    dt_arena *arena;
    int64_t batch;
    const dt_hlo_group *group; /* [n_groups] existing stacks of states */
    int n_groups;
    dt_hlo_repeats repeats;
    struct {
        int stack, row;
    } * place;     /* by item; stack -1: in none */
    bool *single;  /* by item: it is needed by itself, not only as a row */
    bool *covered; /* by item: the loop that receives it writes its row */
    int n_stacks, cap_stacks;
    dt_hlo_stack *stack;
    struct dt_hlo_traffic {
        dt_hlo_rows *read; /* by list */
        int n_writes, cap_writes, n_lasts, cap_lasts;
        dt_hlo_rows *write;
        int *last; /* offsets of items of the last block that are needed by themselves */
    } * traffic;   /* by repeat */
} dt_hlo_plan;

void dt_hlo_plan_create(dt_hlo_plan *p); /* o, arena, batch, groups and repeats must be set */
void dt_hlo_plan_release(dt_hlo_plan *p);

/* ---- text ---- */

typedef struct dt_hlo_writer {
    dt_hlo hlo;
    dt_hlo_sizes sizes;
    dt_hlo_plan plan;
    dt_hlo_value *value;  /* by item; id -1: not written yet */
    int n_undo, cap_undo; /* items of a body, which are forgotten at its end */
    struct {
        int item;
        dt_hlo_value before;
    } * undo;
    bool in_body;
    dt_status *failed; /* the error of a value that was written when it was needed */
} dt_hlo_writer;

/* The value of item i: a light item is written again, a row is sliced from its stack; any other
 * item has been written. */
dt_hlo_value dt_hlo_value_of(dt_hlo_writer *w, int item);
void dt_hlo_set_value(dt_hlo_writer *w, int item, dt_hlo_value v);
/* Writes an item with these inputs; NO_STABLEHLO. number: replaces the number in its attributes;
 * NULL: keeps it. */
dt_status *dt_hlo_write_item(dt_hlo_writer *w, int item, const dt_hlo_value *in,
                             const dt_hlo_value *number) DT_MUST_USE;
dt_type dt_hlo_type_of(const dt_hlo_plan *p, int item);
/* The current value of the stack. */
dt_hlo_value dt_hlo_stack_now(dt_hlo_writer *w, int stack);
/* Reads a row of x, and replaces a row; row: a scalar. */
dt_hlo_value dt_hlo_get_row(dt_hlo *h, dt_hlo_value x, dt_hlo_value row);
dt_hlo_value dt_hlo_set_row(dt_hlo *h, dt_hlo_value x, dt_hlo_value v, dt_hlo_value row);
dt_hlo_value dt_hlo_zeros(dt_hlo *h, const dt_type *type);
/* Replaces the rows of a stack, beginning with row `first`. */
void dt_hlo_set_rows(dt_hlo_writer *w, int stack, int first, dt_hlo_value v);
/* The type of n stacked rows. */
dt_type dt_hlo_stacked(const dt_type *row, int64_t n);
/* Writes item i into its row of a stack, unless a loop does. */
void dt_hlo_put_row(dt_hlo_writer *w, int item);
/* The stack from which a repeat reads rows: that of the new values if a block reads the row that it
 * will overwrite. */
int dt_hlo_read_from(const dt_hlo_plan *p, int repeat, const dt_hlo_rows *read);
dt_status *dt_hlo_write_loop(dt_hlo_writer *w, int repeat) DT_MUST_USE;
/* Whether all blocks can be written as one block over whole stacks: see whole.c. */
bool dt_hlo_is_whole(const dt_hlo_writer *w, int repeat);
dt_status *dt_hlo_write_whole(dt_hlo_writer *w, int repeat) DT_MUST_USE;

#endif
