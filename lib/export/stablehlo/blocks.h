/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal declarations of this folder, which turns a graph into a text with loops for repeated
 * blocks:
 *
 *     graph -> items (order.c)      nodes in the order of the text, those of a block adjacent
 *           -> repeats (repeat.c)   runs of items that are the same block again and again
 *           -> stacks (stacks.c)    stacked values of all blocks: weights, values that the forward
 *                                   pass keeps, gradients
 *           -> text (write.c, loop.c, whole.c)
 */
#ifndef DT_STABLEHLO_BLOCKS_H
#define DT_STABLEHLO_BLOCKS_H

#include "op/stablehlo.h"
#include "export/stablehlo/stablehlo.h"

/* Sets *out to g without barriers that delay nothing, or only values that do not depend on
 * arguments. With scores_again (see dt_hlo_request), *out also has barriers before gradients of
 * attention. */
dt_status *dt_hlo_set_barriers(const dt_graph *g, bool scores_again, dt_graph **out) DT_MUST_USE;

/* Sets *out to g in which products of one value with several kernels, and sums of products with
 * these kernels, are one product each (products.c). */
dt_status *dt_hlo_join_products(const dt_graph *g, dt_graph **out) DT_MUST_USE;

/* ---- steps of sequences ---- */

/* Sets *out to g with separate ops that read and write each time step of a sequence, or to NULL if
 * g has no sequence that is long enough (steps.c). */
dt_status *dt_hlo_number_steps(const dt_graph *g, dt_graph **out) DT_MUST_USE;
bool dt_hlo_takes_step(const dt_node *n);
bool dt_hlo_puts_step(const dt_node *n);

/* ---- loops ---- */

/* A loop under construction. Its operands are a counter, an int32 that begins with 0, and values
 * that each iteration replaces. */
typedef struct dt_hlo_frame {
    dt_hlo *hlo;
    /* n: number of operands, of which the counter is the first; times: number of iterations; id:
     * the loop's id in the text */
    int n, times, id;
    /* [n] for each operand: the value before the loop, inside its body, and for the next
     * iteration */
    dt_hlo_value *init, *now, *next;
} dt_hlo_frame;
/* Writes the loop's head and its condition, counter < times, and opens its body. The members hlo,
 * n, times, init and the arrays must be set. Sets `now`, and `next` to `now`. */
void dt_hlo_frame_open(dt_hlo_frame *f);
void dt_hlo_frame_close(dt_hlo_frame *f);
dt_hlo_value dt_hlo_frame_result(const dt_hlo_frame *f, int i);

/* ---- pieces of composites, and ops without a form ---- */

typedef struct dt_hlo_pieces {
    int n;        /* number of pieces in which the op is computed */
    int64_t size; /* size of the dimension that is divided into pieces */
    int in[DT_MAX_IN],
        /* the dimension that is divided into pieces, for each input and for the output; -1: none.
         * For the output, -1 means that the pieces are summed. */
        out;
} dt_hlo_pieces;
typedef struct dt_hlo_sizes {
    int64_t batch; /* the number that replaces B in shapes */
    int64_t large; /* as dt_hlo_request.large, but not 0 */
} dt_hlo_sizes;
/* Whether node i is a composite that must be computed piece by piece. Sets *out to the pieces. */
bool dt_hlo_pieces_of(const dt_graph *g, int i, const dt_hlo_sizes *sizes, dt_hlo_pieces *out);
dt_status *dt_hlo_write_pieces(dt_hlo *h, const dt_node *n, const dt_hlo_pieces *p,
                               const dt_hlo_call *c, dt_hlo_value *out) DT_MUST_USE;
/* Decomposes the ops of g that have no form in StableHLO, except those that are computed piece by
 * piece. */
dt_status *dt_decompose_but_pieces(const dt_graph *g, const dt_hlo_sizes *sizes,
                                   dt_graph **out) DT_MUST_USE;
dt_status *dt_hlo_no_form(const dt_node *n) DT_MUST_USE;
bool dt_hlo_has_form(const dt_op *op);

/* ---- items ---- */

/* A statement of the text: a node whose inputs are earlier items. */
typedef struct dt_hlo_item {
    int node;          /* index of the node in the graph */
    int in[DT_MAX_IN]; /* indices of the items that are its inputs */
    /* the item depends only on constants, or broadcasts or renames a value from before all loops,
     * so it is written again in each loop body that reads it */
    bool light;
} dt_hlo_item;

typedef struct dt_hlo_order {
    const dt_graph *g;
    /* number of items; items before `from` are arguments, states, and values that depend neither on
     * examples nor on weights */
    int n, from;
    dt_hlo_item *item; /* [n] the items, in the order of the text */
    int *arg, *state;  /* [args], [states] the index of the item of each argument and each state */
    /* [results], [states] the index of the item of each result, and of each state's new value;
     * update -1: the state does not change */
    int *result, *update;
} dt_hlo_order;

dt_hlo_order *dt_hlo_order_create(const dt_graph *g, dt_arena *arena);

/* ---- repeats ---- */

/* Where a block gets an input. Each of these comes with an index, `at`. */
typedef enum dt_hlo_source {
    DT_HLO_INSIDE,  /* the input is the result of item `at` of the same block */
    DT_HLO_CARRIED, /* the previous block passes it on, as carry `at` */
    DT_HLO_SAME,    /* the input is the result of item `at`, which all blocks read */
    DT_HLO_EACH     /* the input is in list `at`, which has an item for each block */
} dt_hlo_source;
typedef struct dt_hlo_bind {
    dt_hlo_source from;
    int at;
} dt_hlo_bind;

/* A value that a block hands to the next one: item `offset` of the block. The first block reads
 * `init` instead. */
typedef struct dt_hlo_carry {
    int offset, init;
} dt_hlo_carry;

/* A sequence of equal blocks: n blocks of `period` items each, items [first, first + n *
 * period). */
typedef struct dt_hlo_repeat {
    int first, n, period;
    /* [period] for each item of a block: where each of its inputs comes from */
    dt_hlo_bind (*bind)[DT_MAX_IN];
    int n_carries, cap_carries, n_lists, cap_lists, n_same, cap_same;
    dt_hlo_carry *carry;
    int **list; /* [n_lists][n] items of each list, one for each block */
    /* [n_same] items that all blocks read; in place of a light item its inputs are listed */
    int *same;
    /* [period] for each item of a block: whether the number in its attributes (dt_op_attr.number)
     * differs between blocks */
    bool *numbered;
} dt_hlo_repeat;

/* Sequences of equal blocks, in order and without overlaps. dt_hlo_repeats_release frees them and
 * leaves an empty list. */
typedef struct dt_hlo_repeats {
    int n, cap;
    dt_hlo_repeat *repeat;
} dt_hlo_repeats;
void dt_hlo_find_repeats(const dt_hlo_order *o, dt_arena *arena, dt_hlo_repeats *out);
/* Frees the arrays of the repeat; its position and size stay valid. */
void dt_hlo_repeat_release(dt_hlo_repeat *r);
void dt_hlo_repeats_release(dt_hlo_repeats *r);
/* Returns the index of the repeat that item i is in, and sets *block to its block and *offset to
 * its place in the block. Returns -1 if it is in none. */
int dt_hlo_repeat_of(const dt_hlo_repeats *r, int i, int *block, int *offset);

/* ---- stacks ---- */

typedef enum dt_hlo_stack_kind {
    DT_HLO_FED,     /* a stack of states, which is an argument of the function */
    DT_HLO_UPDATED, /* the new values of the states in stack `of`, written to the same memory */
    DT_HLO_KEPT,    /* its rows are written by a loop, or by statements outside of loops */
    DT_HLO_JOINED   /* the items of the stack are concatenated when the stack is first read */
} dt_hlo_stack_kind;

/* Values of one type that are stacked along a new first dimension. */
typedef struct dt_hlo_stack {
    dt_hlo_stack_kind kind;
    /* of an UPDATED stack: the stack of the states; of a FED stack: that of their new values; -1:
     * none */
    int of, updated;
    int n, cap;
    int *item;    /* [n] the item that each row of the stack holds; -1: none */
    dt_type type; /* type of a row, with the batch size in place of B */
    /* whether the stack has one more row, to which the blocks without a row of their own write */
    bool scratch;
    /* the current value of the stack; its id is -1 while it has none */
    dt_hlo_value value;
} dt_hlo_stack;

/* Rows of a stack, one for each block of a repeat, that blocks read or write. */
typedef struct dt_hlo_rows {
    int stack; /* index of the stack */
    int *row;  /* [blocks of the repeat] the row that each block reads or writes; -1: none */
    /* the value to write: carry -1: item `offset` of a block; else what carry number `carry` brings
     * to the block */
    int offset, carry;
} dt_hlo_rows;

typedef struct dt_hlo_plan {
    const dt_hlo_order *o;
    dt_arena *arena;
    int64_t batch;
    const dt_hlo_group *group; /* [n_groups] stacks of states that exist already */
    int n_groups;
    dt_hlo_repeats repeats;
    struct {
        int stack, row;
    } * place; /* [items] the stack and the row that hold the item; stack -1: no stack does */
    /* [items] whether the item is needed as a separate value, not only as a row of a stack */
    bool *single;
    bool *covered; /* [items] whether a loop, which computes or receives the item, writes its row */
    int n_stacks, cap_stacks;
    dt_hlo_stack *stack;
    struct dt_hlo_traffic {
        /* [lists] for each list of items that blocks read: the rows of the stack that holds the
         * list */
        dt_hlo_rows *read;
        int n_writes, cap_writes, n_lasts, cap_lasts;
        dt_hlo_rows *write;
        /* offsets of the items of the last block that are needed after the loop: as separate
         * values, or for rows that the loop does not write */
        int *last;
    } * traffic; /* [repeats] what the loop of each repeat reads and writes */
} dt_hlo_plan;

/* The members o, arena, batch, group, n_groups and repeats must be set. */
void dt_hlo_plan_create(dt_hlo_plan *p);
void dt_hlo_plan_release(dt_hlo_plan *p);

/* ---- text ---- */

typedef struct dt_hlo_writer {
    dt_hlo hlo;
    dt_hlo_sizes sizes;
    dt_hlo_plan plan;
    /* [items] the value of each item in the text; id -1: the item has not been written */
    dt_hlo_value *value;
    /* [n_undo] items that the current loop body has written, and their values before it */
    int n_undo, cap_undo;
    struct {
        int item;
        dt_hlo_value before;
    } * undo;
    bool in_body;
    dt_status *failed; /* the error of an item that was written because another one needed it */
} dt_hlo_writer;

/* Returns the value of an item. If the item has none at this point of the text, it must be light,
 * and is written, or have a row in a stack, from which it is sliced. */
dt_hlo_value dt_hlo_value_of(dt_hlo_writer *w, int item);
void dt_hlo_set_value(dt_hlo_writer *w, int item, dt_hlo_value v);
/* Writes an item with the given inputs. number: replaces the number in its attributes; NULL: keeps
 * it. Fails with NO_STABLEHLO if the item's op has no form and is not computed piece by piece. */
dt_status *dt_hlo_write_item(dt_hlo_writer *w, int item, const dt_hlo_value *in,
                             const dt_hlo_value *number) DT_MUST_USE;
dt_type dt_hlo_type_of(const dt_hlo_plan *p, int item);
/* Returns the current value of a stack. */
dt_hlo_value dt_hlo_stack_now(dt_hlo_writer *w, int stack);
/* dt_hlo_get_row writes statements that read a row of the stack x, dt_hlo_set_row those that
 * replace it by v; they return the row, and the new stack. `row` is a scalar, the index of the
 * row. */
dt_hlo_value dt_hlo_get_row(dt_hlo *h, dt_hlo_value x, dt_hlo_value row);
dt_hlo_value dt_hlo_set_row(dt_hlo *h, dt_hlo_value x, dt_hlo_value v, dt_hlo_value row);
dt_hlo_value dt_hlo_zeros(dt_hlo *h, const dt_type *type);
/* Replaces rows of a stack, beginning with row `first`, by the rows of v. */
void dt_hlo_set_rows(dt_hlo_writer *w, int stack, int first, dt_hlo_value v);
/* Returns the type of n stacked rows. */
dt_type dt_hlo_stacked(const dt_type *row, int64_t n);
/* Writes an item into its row of a stack, unless a loop does that or no stack holds it. */
void dt_hlo_put_row(dt_hlo_writer *w, int item);
/* Returns the stack from which a repeat reads rows. It is the stack of the new values if each
 * block overwrites the row that it reads. */
int dt_hlo_read_from(const dt_hlo_plan *p, int repeat, const dt_hlo_rows *read);
dt_status *dt_hlo_write_loop(dt_hlo_writer *w, int repeat) DT_MUST_USE;
/* Whether all blocks of a repeat can be written as one block over whole stacks (whole.c). */
bool dt_hlo_is_whole(const dt_hlo_writer *w, int repeat);
dt_status *dt_hlo_write_whole(dt_hlo_writer *w, int repeat) DT_MUST_USE;

#endif
