/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a compiler stores values in memory: in which tiles, with which dtypes, and which values not
 * at all. Found in programs that libtpu 0.0.42.1 optimized. These dtypes differ from those with
 * which the clock counts:
 *
 *     operands    float32 values that products alone read take two bytes, since matrix units round
 *                 what they multiply
 *     logits      in mixed precision, the last product writes 16 bits, and the loss converts what
 *                 it reads. The gradient takes 16 bits, too. With enough examples, some chips
 *                 compute it within the products that read it (dt_kernel_rates.loss_again).
 *                 Otherwise both are stored, which counts here as logits of 32 bits over which the
 *                 gradient is written
 *     normalized  in mixed precision, normalizations compute in 32 bits. A backward loop over
 *                 blocks reads their values as the forward loop has computed them
 */
#include <string.h>

#include "base/hash.h"
#include "base/hash_index.h"
#include "cost/cost_impl.h"
#include "op/op.h"

/* ---- tiles ---- */

/*
 * How arrays are stored in HBM. Two of the dimensions are stored in tiles of 8 sublanes by 128
 * lanes, and padded to whole tiles. The compiler chooses which two, and in which order, so that
 * padding is least. For example, the 100 columns of 1,024 rows are stored along the sublanes, where
 * padding adds 4 columns, and not along the lanes, where it would add 28. Tiles with few sublanes
 * are shorter: 1, 2 or 4. An array with one dimension has tiles of 1,024. If it has at most 512
 * numbers, its bytes are rounded up to a power of two, at least 512.
 *
 * What convolutions read and write has examples or channels along the lanes, whatever that costs:
 * libtpu stores bfloat16 values of (64, 128, 128, 64) with 64 channels padded to 128 lanes.
 *
 * tests/cost/layout_test.c compares the results with the sizes of arguments in libtpu 0.0.42.1.
 */

enum { LANES = 128, SUBLANES = 8, LINE = 1024, LEAST = 512 };

static int64_t up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/* Returns n, the length of the dimension that lies along the sublanes, with its padding: rounded up
 * to 1, 2, 4 or a multiple of 8. Numbers of less than 32 bits are packed into sublanes of 32 bits,
 * so the result is at least 4 / size, where `size` is the bytes of a number. */
static int64_t sublanes(int64_t n, int64_t size) {
    int64_t least = size >= 4 ? 1 : 4 / size;
    for (; least < SUBLANES; least *= 2)
        if (n <= least) return least;
    return up(n, SUBLANES);
}

static int64_t line_bytes(int64_t n, int64_t size) {
    int64_t bytes = LEAST;
    if (n > LINE / 2) return up(n, LINE) * size;
    while (bytes < n * size) bytes *= 2;
    return bytes;
}

/* Returns the bytes of an array of rank 2 or more, padded for the choice of two dimensions, one
 * along the lanes and one along the sublanes, that takes the least memory. Bit d of `lanes`:
 * dimension d may lie along the lanes. */
static int64_t tiled_bytes(const dt_type *t, unsigned lanes) {
    int64_t size = (int64_t)dt_dtype_size(t->dtype), all = dt_type_elements(t), least = INT64_MAX;
    for (int lane = 0; lane < t->rank; lane++)
        for (int row = 0; row < t->rank && (lanes >> lane & 1); row++) {
            int64_t filled = all / t->dim[lane] * up(t->dim[lane], LANES);
            if (row != lane && filled / t->dim[row] * sublanes(t->dim[row], size) < least)
                least = filled / t->dim[row] * sublanes(t->dim[row], size);
        }
    return least * size;
}

int64_t dt_padded_bytes(const dt_type *t) {
    const int64_t all = dt_type_elements(t);
    if (all == 0) return 0;
    return t->rank < 2 ? line_bytes(all, (int64_t)dt_dtype_size(t->dtype)) : tiled_bytes(t, ~0u);
}

bool dt_lies_in_rows(const dt_type *t) {
    return t->rank == 2 && dt_type_elements(t) > 0 && tiled_bytes(t, 2u) <= tiled_bytes(t, 1u);
}

int64_t dt_padded_image_bytes(const dt_type *t) {
    if (t->rank < 3 || dt_type_elements(t) == 0) return dt_padded_bytes(t);
    return tiled_bytes(t, 1u | 1u << (t->rank - 1));
}

/* ---- dtypes, and values that are not stored ---- */

/* [nodes] Whether only products read the node's value outside of the kernel that makes it, and it
 * is neither a result nor an update. Matrix units round what they multiply, so a compiler stores
 * such float32 values in two bytes. */
static bool *find_operands(const dt_priced_program *r, const dt_launches *k, dt_arena *arena) {
    const dt_graph *g = r->program->local;
    bool *is = dt_arena_array(arena, bool, g->n_nodes + 1);
    for (int i = 0; i < g->n_nodes; i++) is[i] = k->of[i] >= 0 && k->kept[i];
    for (int i = 0; i < g->n_nodes; i++)
        for (int j = 0; j < g->node[i].n_in; j++) {
            const int from = dt_priced_source(r, g->node[i].in[j]);
            is[from] &= g->node[i].op->role == DT_ROLE_PRODUCT || k->of[i] == k->of[from] ||
                        g->node[i].op->traits.read_through;
        }
    for (int i = 0; i < g->n_results; i++) is[dt_priced_source(r, g->result[i].node)] = false;
    for (int i = 0; i < g->n_states; i++)
        if (g->state[i].update >= 0) is[dt_priced_source(r, g->state[i].update)] = false;
    return is;
}

/* [nodes] Whether the node is the logits of a softmax cross-entropy. */
static bool *find_logits(const dt_priced_program *r, dt_arena *arena) {
    const dt_graph *g = r->program->local;
    bool *is = dt_arena_array(arena, bool, g->n_nodes + 1);
    for (int i = 0; i < g->n_nodes; i++)
        if (g->node[i].op == &dt_op_softmax_cross_entropy)
            is[dt_priced_source(r, g->node[i].in[0])] = true;
    return is;
}

/* [nodes] Whether the node belongs to a layer that normalizes: one that takes a reciprocal root.
 * In mixed precision such layers compute in float32. */
static bool *find_normalizing(const dt_priced_program *r, dt_arena *arena) {
    const dt_graph *g = r->program->local;
    bool *is = dt_arena_array(arena, bool, g->n_nodes + 1);
    const char **path = dt_arena_array(arena, const char *, g->n_nodes + 1);
    dt_hash_index at = {0};
    int n = 0;
    for (int i = 0; i < g->n_nodes; i++)
        if (g->node[i].op == &dt_op_rsqrt) {
            path[n++] = g->node[i].path;
            dt_hash_index_add(&at, dt_name_hash(g->node[i].path));
        }
    for (int i = 0; i < g->n_nodes && n > 0; i++) {
        const uint64_t key = dt_name_hash(g->node[i].path);
        for (int k = dt_hash_index_first(&at, key); k >= 0; k = dt_hash_index_next(&at, k))
            is[i] |= strcmp(path[k], g->node[i].path) == 0;
    }
    dt_hash_index_release(&at);
    return is;
}

/* [nodes] Whether a forward loop over blocks computes the node, and normalizations of the backward
 * loop read it. This excludes what a unit is rematerialized from, since conversions of it are
 * computed again, too. */
static bool *find_wide(const dt_priced_program *r, const bool *normalizing, dt_arena *arena) {
    const dt_graph *g = r->program->local;
    const bool *forward = dt_priced_forward(r, arena), *looped = dt_priced_looped(r, arena);
    bool *is = dt_arena_array(arena, bool, g->n_nodes + 1),
         *again = dt_arena_array(arena, bool, g->n_nodes + 1);
    for (int i = 0; i < g->n_nodes; i++)
        for (int k = 0; k < g->node[i].n_in && !forward[i]; k++) {
            const int from = g->node[i].in[k];
            is[from] |= normalizing[i] && looped[from] && forward[from];
            again[from] |= dt_is_rematerialized(&g->node[i]);
        }
    for (int i = 0; i < g->n_nodes; i++) is[i] &= !again[i];
    return is;
}

/* Marks what normalizations give to other layers as stored (-1), for chips whose convolutions do
 * not compute it again. */
static void keep_normalized(const dt_priced_program *r, const bool *normalizing, int *made_of) {
    const dt_graph *g = r->program->local;
    for (int i = 0; i < g->n_nodes; i++)
        for (int k = 0; k < g->node[i].n_in; k++) {
            const int from = g->node[i].in[k];
            if (normalizing[from] && !normalizing[i] && made_of[from] >= 0) made_of[from] = -1;
        }
}

dt_priced_program dt_priced_stored(const dt_priced_program *r, const dt_launches *k,
                                   dt_arena *arena) {
    const dt_graph *g = r->program->local;
    const dt_chip *chip = r->topology->slice->chip;
    const bool mixed = r->program->how.mixed;
    dt_priced_program stored = *r;
    int8_t *dtype = dt_arena_array(arena, int8_t, g->n_nodes + 1);
    int *made_of = dt_duplicated_values(&stored, true, arena);
    const bool *normalizing = find_normalizing(r, arena);
    if (mixed && chip->kernel.keeps_normalized) keep_normalized(r, normalizing, made_of);
    stored.made_of = made_of;
    const bool *operand = find_operands(&stored, k, arena), *logits = find_logits(&stored, arena),
               *wide = find_wide(&stored, normalizing, arena);
    const bool halves = mixed && chip->kernel.loss_again > 0 &&
                        r->program->batch / g->batch_parts >= chip->kernel.loss_again;
    for (int i = 0; i < g->n_nodes; i++) {
        const dt_dtype now = dt_priced_type(r, i).dtype;
        const bool narrow = !chip->is_host && (operand[i] || (halves && logits[i]));
        dtype[i] = (int8_t)(narrow && now == DT_FLOAT32             ? DT_BFLOAT16
                            : wide[i] && mixed && now == DT_FLOAT16 ? DT_FLOAT32
                                                                    : now);
    }
    stored.dtype = dtype;
    return stored;
}
