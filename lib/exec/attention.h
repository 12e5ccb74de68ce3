/* SPDX-License-Identifier: Apache-2.0 */
/* Attention in the executor: attention_plan.c plans it at compile time, kernel_attention.c runs
 * it. */
#ifndef DT_EXEC_ATTENTION_H
#define DT_EXEC_ATTENTION_H

#include "exec/exec_impl.h"

enum { DT_QUERY_BLOCK = 64, DT_OF_QUERY = 0, DT_OF_KEY, DT_OF_VALUE, DT_OF_NONE = -1 };
enum { DT_SCORES, DT_TAKE, DT_FORWARD_PRODUCTS };
enum { DT_TAKEN_BACK = DT_TAKE, DT_TO_VALUE, DT_TO_QUERY, DT_TO_KEY, DT_ATTENTION_PRODUCTS };

/* A block of queries [query, query + rows), and the range of keys [first, last) outside which none
 * of them attends to a key. */
typedef struct dt_query_block {
    int64_t query, rows, first, last;
    /* [lanes][DT_ATTENTION_PRODUCTS] matrix products for this block of queries; in the forward pass
     * only the first DT_FORWARD_PRODUCTS of each lane are planned. A lane, one of the engine's
     * threads, has its own plans */
    dt_product *product;
} dt_query_block;

typedef struct dt_attended {
    dt_attention_attr attr;
    int64_t queries, keys, heads, key_heads, key_size, value_size;
    /* number of examples for each index of the query's dimension 0: the product of the dimensions
     * between dimension 0 and the one that counts queries */
    int64_t each;
    int in_position; /* index of the node's input that holds the positions of queries */
    int lanes, n_blocks;
    dt_query_block *block;
    bool narrow; /* query, key, value and dy are stored and multiplied as bfloat16 */
    bool staged; /* operands are stored in 16 bits, and converted to float32 before products */
    /* offset in the scratch memory at which the working memory of matrix products begins, in
     * bytes */
    size_t for_products;
    int64_t bytes; /* number of bytes of an element when it is an operand of a product */
    /* if `narrow`: whether the gradient of query, key and value is stored as bfloat16; in the
     * forward pass element 0 is about the result y */
    bool narrow_to[3];
    /* nodes whose values are the gradients of query, key and value; DT_OF_NONE: this step does not
     * compute that gradient */
    int gradient[3];
    /* true: this step does nothing, because the step of another gradient of the same group computes
     * all that are needed in the group */
    bool is_done_elsewhere;
} dt_attended;

/* Distances in memory, in elements, between rows of queries, keys, values and results. A row
 * consists of all heads, one after the other, or one head if operands are staged. */
typedef struct dt_head_strides {
    int64_t query, key, value, y;
} dt_head_strides;

dt_head_strides dt_attention_strides(const dt_attended *a);

bool dt_attention_fits(const dt_graph *g, int node);
void dt_attention_narrow(dt_exec *x, int node);
/* Sets [*first, *last) to the indices of the keys that a query at this position may attend to
 * because of the window and the causal mask; *first = *last if there are none. The first
 * a->attr.sinks keys, to which every query may attend, are not considered. */
void dt_attention_keys(const dt_attended *a, int64_t position, int64_t *first, int64_t *last);
/* Returns a new description of the step's node, in the arena of x: its shapes and how its operands
 * are stored. Blocks and products are not planned yet, and `gradient` has DT_OF_NONE. */
dt_attended *dt_attention_read(dt_exec *x, const dt_step *step);
/* Plans blocks of queries and the matrix products of the forward or the backward pass, and sets
 * step->scratch, in bytes. `a` becomes step->state, also if a product cannot be planned and the
 * function fails. */
dt_status *dt_attention_plan(dt_exec *x, dt_step *step, dt_attended *a, bool backward) DT_MUST_USE;
void dt_attention_release(void *state);

#endif
