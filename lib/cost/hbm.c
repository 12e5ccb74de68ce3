/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates the memory of a device while it runs a program. Variables are in memory throughout. A
 * value is in memory from the kernel or collective that computes it to the last one that reads it.
 * The peak is the point with the most bytes. In a pipeline, devices have different variables and
 * values, and the device that needs the most memory counts.
 *
 *     weights     variables of the model         slots        variables of the optimizer
 *     gradients   the values that updates read. They count as being in memory to the end of the
 *                 step, each with as many bytes as its variable's new value on the device
 *     activations all other values at the peak, with the batch. They use the memory of gradients
 *                 that are not computed yet. With `model.scan_layers`, the backward loop of blocks
 *                 writes gradients into arrays of all blocks, which are in memory from its start.
 *                 Sums over micro-batches are in memory throughout
 *     padding     bytes by which tiles enlarge these
 *
 * Values that are gathered (weights from other replicas, and values from a replica's other devices)
 * are in memory during two periods: once for the forward pass, and once for the backward pass. So
 * are values that the host keeps in between; they are fetched one rematerialized unit (a few
 * layers) before the unit that reads them.
 */
#include <stdlib.h>
#include <string.h>

#include "cost/cost.h"
#include "cost/cost_impl.h"
#include "op/across.h"
#include "op/op.h"

/* ---- how long values are in memory ---- */

typedef struct holding {
    const dt_priced_program *r; /* the program as it is stored */
    /* the program as the clock runs it, in which readers compute some values again that are
     * stored */
    const dt_priced_program *clock;
    const dt_graph *g;
    const dt_launches *k;
    dt_arena *arena;
    int device; /* 1 + the logical device that is counted (dt_layout.on); 0: all do the same work */
    /* [kernels] whether the kernel computes the new value of a trainable variable or a slot */
    bool *updates;
    /* [nodes] whether no period in `lives` is counted for the node's value: an update or, unless
     * gradients_from is the end of the step, a gradient */
    bool *own;
    /* [nodes] whether convolutions read or write values of its shape (dt_priced_images) */
    const bool *image;
    int64_t gradient_padding; /* bytes by which tiles enlarge the gradients */
    /* position from which all gradients are in memory; n_nodes: the end of the step */
    int gradients_from;
    const bool *forward; /* [nodes] whether the node belongs to the forward pass */
    int *place;          /* [kernels] position in the program at which each kernel runs */
    int n_lives;
    struct life *lives; /* [n_lives] periods in which values are in memory; a value may have two */
} holding;

/* A period in which a node's value is in memory: from the node at position `from` to the one at
 * `to`, both included. */
typedef struct life {
    int node, from, to;
} life;

static int position_of(const holding *h, int i) {
    return h->k->of[i] >= 0 ? h->place[h->k->of[i]] : i;
}

/* Returns the bytes of a node's value on the device; 0 if only another device has the value. */
static int64_t bytes_of(const holding *h, int i, bool padded) {
    const int on = h->r->program->layout[i].on;
    if (h->device && on && on != h->device) return 0;
    const dt_type t = dt_priced_type(h->r, i);
    const int64_t bytes = padded ? dt_priced_stored_bytes(h->r, h->image, i) : dt_type_bytes(&t);
    return dt_priced_is_piece(h->r, i) ? bytes / h->r->program->how.pieces : bytes;
}

/* ---- what is stored ---- */

typedef struct shapes {
    dt_type *of;
    int n;
} shapes;

static bool has_shape_of(const dt_type *a, const dt_type *b) {
    return a->rank == b->rank && memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim) == 0;
}

static bool is_among(const shapes *s, const dt_type *t) {
    for (int i = 0; i < s->n; i++)
        if (has_shape_of(&s->of[i], t)) return true;
    return false;
}

static void add_shape(shapes *s, const dt_type *t) {
    if (dt_type_has_batch(t) && !is_among(s, t)) s->of[s->n++] = *t;
}

bool *dt_priced_images(const dt_priced_program *r, dt_arena *arena) {
    const dt_graph *g = r->program->local;
    shapes s = {dt_arena_array(arena, dt_type, 3 * g->n_nodes + 1), 0};
    bool *image = dt_arena_array(arena, bool, g->n_nodes + 1);
    for (int i = 0; i < g->n_nodes; i++) {
        const dt_node *n = &g->node[i];
        if (!dt_convolution_of(n)) continue;
        add_shape(&s, &n->type);
        for (int k = 0; k < n->n_in; k++) add_shape(&s, &g->node[n->in[k]].type);
    }
    for (int i = 0; i < g->n_nodes; i++)
        image[i] = g->node[i].n_in > 0 && is_among(&s, &g->node[i].type);
    return image;
}

int64_t dt_priced_stored_bytes(const dt_priced_program *r, const bool *image, int i) {
    const dt_type t = dt_priced_type(r, i);
    return r->topology->slice->chip->is_host ? dt_type_bytes(&t)
           : image[i]                        ? dt_padded_image_bytes(&t)
                                             : dt_padded_bytes(&t);
}

/* ---- places ---- */

enum { SHRINKS = 8 };

/* What a kernel reads and writes, with padding. largest: bytes of its largest input, arguments and
 * variables excluded; kept: bytes of all its results that are stored in memory. */
typedef struct flow {
    int64_t largest, kept;
    int ready; /* the last position in the program that computes one of the kernel's inputs */
} flow;

static void follow_inputs(const holding *h, int i, flow *f) {
    for (int k = 0; k < h->g->node[i].n_in; k++) {
        int from = dt_priced_source(h->r, h->g->node[i].in[k]);
        if (h->k->of[from] == h->k->of[i] || h->g->node[from].n_in == 0) continue;
        int64_t bytes = bytes_of(h, from, true);
        f->largest = bytes > f->largest ? bytes : f->largest;
        f->ready = position_of(h, from) > f->ready ? position_of(h, from) : f->ready;
    }
}

/* Finds where kernels run. A kernel runs as soon as its inputs are ready if its results have at
 * most 1 / SHRINKS of the bytes of its largest input, because a compiler orders it so to save
 * memory. Examples are losses and metrics, which run before the gradient needs more memory. Kernels
 * that recompute values for the backward pass stay where they are. */
static void find_places(holding *h) {
    flow *f = dt_arena_array(h->arena, flow, h->k->n + 1);
    h->place = dt_arena_array(h->arena, int, h->k->n + 1);
    for (int k = 0; k < h->k->n; k++) h->place[k] = h->k->kernel[k].at;
    int *last = dt_arena_array(h->arena, int, h->k->n + 1);
    bool *again = dt_arena_array(h->arena, bool, h->k->n + 1);
    for (int i = 0; i < h->g->n_nodes; i++)
        if (h->k->of[i] >= 0) {
            last[h->k->of[i]] = i;
            again[h->k->of[i]] |= dt_is_rematerialized(&h->g->node[i]);
        }
    for (int i = 0; i < h->g->n_nodes; i++) {
        int k = h->k->of[i];
        if (k < 0) continue;
        follow_inputs(h, i, &f[k]);
        if (h->k->kept[i]) f[k].kept += bytes_of(h, i, true);
        if (i == last[k] && !again[k] && f[k].kept * SHRINKS <= f[k].largest &&
            f[k].ready < h->place[k])
            h->place[k] = f[k].ready;
    }
}

/* ---- variables ---- */

/* Adds the bytes of `node`, which is the variable s itself or its new value (as large as its
 * gradient), without padding to *kind; their padding to p->bytes.padding; and both to the
 * `variables` of the variable's layer. A slot counts for the layer of its weight. */
static void count_variable(const holding *h, const dt_state *s, int node, int64_t *kind,
                           dt_plan *p) {
    const char *path = s->variable->path, *layer = strchr(path, '/');
    const int64_t bytes = bytes_of(h, node, false), padded = bytes_of(h, node, true);
    *kind += bytes;
    p->bytes.padding += padded - bytes;
    if (s->variable->slot && layer && strchr(layer + 1, '/')) path = layer + 1;
    dt_plan_layer_of(p, path)->variables += (double)padded;
}

static void count_states(const holding *h, dt_plan *p) {
    for (int i = 0; i < h->g->n_states; i++) {
        const dt_state *s = &h->g->state[i];
        count_variable(h, s, s->node, s->variable->slot ? &p->bytes.slots : &p->bytes.weights, p);
    }
}

static void mark_updates(holding *h) {
    h->updates = dt_arena_array(h->arena, bool, h->k->n + 1);
    for (int i = 0; i < h->g->n_states; i++) {
        const dt_state *s = &h->g->state[i];
        int kernel = s->update < 0 ? -1 : h->k->of[dt_priced_source(h->r, s->update)];
        if (kernel >= 0 && (s->variable->trainable || s->variable->slot)) h->updates[kernel] = true;
    }
}

/* ---- gradients ---- */

static bool is_large(const holding *h, int i) {
    dt_type t = dt_priced_type(h->r, i);
    return t.rank > 0 && h->g->node[i].n_in > 0;
}

/* Returns the position from which all gradients are in memory: in a pipeline with several
 * micro-batches, which adds them up, the start of the step; with `model.scan_layers` the start of
 * the loop over blocks backward, which writes them into arrays of all blocks; else the end. */
static int gradients_from(const holding *h) {
    const dt_spmd *s = h->r->program;
    if (s->how.micro_batches > 1 && dt_plan_has_places(s)) return 0;
    const bool *looped = dt_priced_looped(h->r, h->arena);
    int i = 0;
    while (i < h->g->n_nodes && (h->forward[i] || !looped[i])) i++;
    return i;
}

/* Marks gradients in `own`: the inputs of kernels that update weights or slots, without scalars,
 * variables, constants and what the kernel computes itself. */
static void mark_gradients(holding *h) {
    for (int i = 0; i < h->g->n_nodes; i++)
        for (int k = 0; k < h->g->node[i].n_in; k++) {
            int from = dt_priced_source(h->r, h->g->node[i].in[k]);
            if (h->k->of[i] >= 0 && h->updates[h->k->of[i]] && h->k->of[from] != h->k->of[i] &&
                is_large(h, from))
                h->own[from] = true;
        }
}

/* Counts the bytes of gradients and, in gradient_padding, their padding. A gradient is as large as
 * its variable's new value. */
static void count_gradients(holding *h, dt_plan *p) {
    h->gradient_padding = -p->bytes.padding;
    for (int i = 0; i < h->g->n_states; i++) {
        const dt_state *s = &h->g->state[i];
        if (s->update >= 0 && s->variable->trainable && !s->variable->slot)
            count_variable(h, s, s->update, &p->bytes.gradients, p);
    }
    h->gradient_padding += p->bytes.padding;
}

/* ---- other values ---- */

static void live(holding *h, int i, int from, int to) {
    if (from <= to) h->lives[h->n_lives++] = (life){i, from, to};
}

typedef struct span {
    /* when a value is in memory, as positions in the program: from its computation to its last
     * reader in the forward pass, and from its first to its last reader in the backward pass */
    int first, last, again, end;
} span;

static void read_at(span *s, int place, bool forward) {
    if (forward) s->last = place > s->last ? place : s->last;
    else {
        s->again = place < s->again ? place : s->again;
        s->end = place > s->end ? place : s->end;
    }
}

/* Finds where fetching a value from the host begins: when the backward pass enters the unit before
 * the one that reads it. That is at the gradient for which the previously fetched unit waited. */
static void start_early(const holding *h, span *s) {
    int now = -1, before = -1;
    for (int i = 0; i < h->g->n_nodes; i++) {
        if (!dt_is_from_host(&h->g->node[i])) continue;
        int after = dt_priced_source(h->r, h->g->node[i].in[1]);
        if (after != now) {
            before = now;
            now = after;
        }
        if (before >= 0) s[i].first = position_of(h, before);
    }
}

static span *spans_of(const holding *h) {
    span *s = dt_arena_array(h->arena, span, h->g->n_nodes + 1);
    for (int i = 0; i < h->g->n_nodes; i++)
        s[i] = (span){.first = position_of(h, i), .last = -1, .again = h->g->n_nodes, .end = -1};
    for (int i = 0; i < h->g->n_nodes; i++)
        for (int k = 0; k < h->g->node[i].n_in && !dt_is_from_host(&h->g->node[i]); k++)
            read_at(&s[dt_priced_source(h->r, h->g->node[i].in[k])], position_of(h, i),
                    h->forward[i]);
    for (int i = 0; i < h->r->program->local->n_results; i++)
        s[dt_priced_source(h->r, h->g->result[i].node)].end = h->g->n_nodes;
    start_early(h, s);
    return s;
}

static bool takes_room(const holding *h, int i) {
    if (h->own[i] || h->g->node[i].n_in == 0 || dt_priced_source(h->r, i) != i) return false;
    const dt_node *n = &h->g->node[i];
    return h->k->of[i] >= 0
               ? h->k->kept[i]
               : n->op->across != NULL || dt_is_from_host(n) || h->clock->made_of[i] >= 0;
}

static int end_of(const span *s) { return s->end > s->last ? s->end : s->last; }

/* Whether kernel k can write value b over value a: both have as many elements, and b takes no more
 * bytes; if the kernel has a product, exactly as many. */
static bool is_as_large(const holding *h, const dt_kernel_launch *k, int a, int b) {
    const dt_type s = dt_priced_type(h->r, a), t = dt_priced_type(h->r, b);
    const int64_t room = bytes_of(h, a, true), bytes = bytes_of(h, b, true);
    return dt_type_elements(&s) == dt_type_elements(&t) &&
           (k->work.product[0].count > 0 ? room == bytes : room >= bytes);
}

/* Whether this op reads each element where the result's element is written, so that the kernel can
 * write its result over the op's input: element-wise ops, reductions, and composites of these, such
 * as losses. Other ops (moves, lookups, windows) read elements at other places. */
static bool reads_in_place(const dt_op *op) {
    return dt_is_elementwise(op) || op->role == DT_ROLE_REDUCE || op->forms.decompose;
}

/* Whether kernel h->k->of[i] can write its result i over `from`, which node `reader` of the kernel
 * reads: the kernel is the last one to read it, reads each element where it writes one, and result
 * i fits there (is_as_large). Values that are gathered twice are never written over. */
static bool is_written_over(const holding *h, const span *s, int i, int reader, int from) {
    return reads_in_place(h->g->node[reader].op) && takes_room(h, from) &&
           h->k->of[from] != h->k->of[i] && end_of(&s[from]) == h->place[h->k->of[i]] &&
           !dt_priced_is_gathered_twice(h->r, from) &&
           is_as_large(h, &h->k->kernel[h->k->of[i]], from, i);
}

/* Returns [nodes]: whether the node is its kernel's product, or computes one of its operands. */
static bool *find_multiplied(const holding *h) {
    bool *is = dt_arena_array(h->arena, bool, h->g->n_nodes + 1);
    for (int i = h->g->n_nodes - 1; i >= 0; i--) {
        const int kernel = h->k->of[i];
        if (kernel < 0) continue;
        const dt_kernel_launch *k = &h->k->kernel[kernel];
        is[i] |= k->work.product[0].count > 0 && k->head == i;
        for (int j = 0; is[i] && j < h->g->node[i].n_in; j++) {
            const int from = dt_priced_source(h->r, h->g->node[i].in[j]);
            is[from] |= h->k->of[from] == kernel;
        }
    }
    return is;
}

/* If a value is written to the memory of an input, its period in memory begins where that of the
 * input ends. An operand of a product is read until the last element is written; what is added to
 * the product, or masks it, is not. */
static void reuse_inputs(const holding *h, span *s) {
    bool *taken = dt_arena_array(h->arena, bool, h->g->n_nodes + 1);
    /* [kernels] 1 + the node of the kernel's first result; 0: it has none in memory, or the result
     * is already written over an input */
    int *result = dt_arena_array(h->arena, int, h->k->n + 1);
    /* [nodes] 1 + the last kernel so far of whose product the node is an operand */
    int *operand = dt_arena_array(h->arena, int, h->g->n_nodes + 1);
    const bool *multiplied = find_multiplied(h);
    for (int i = h->g->n_nodes - 1; i >= 0; i--)
        if (h->k->of[i] >= 0 && takes_room(h, i)) result[h->k->of[i]] = 1 + i;
    for (int i = 0; i < h->g->n_nodes; i++) {
        const int kernel = h->k->of[i];
        int to = kernel >= 0 ? result[kernel] - 1 : -1;
        for (int k = 0; to >= 0 && k < h->g->node[i].n_in; k++) {
            int from = dt_priced_source(h->r, h->g->node[i].in[k]);
            if (multiplied[i]) operand[from] = 1 + kernel;
            if (operand[from] == 1 + kernel || taken[from] || !is_written_over(h, s, to, i, from))
                continue;
            taken[from] = true;
            result[kernel] = 0;
            s[to].first++;
            to = -1;
        }
    }
}

static void count_values(holding *h) {
    span *s = spans_of(h);
    reuse_inputs(h, s);
    for (int i = 0; i < h->g->n_nodes; i++) {
        if (!takes_room(h, i)) continue;
        if (dt_priced_is_gathered_twice(h->r, i) && s[i].end >= 0) {
            live(h, i, s[i].first, s[i].last);
            live(h, i, s[i].again, s[i].end);
        } else {
            live(h, i, s[i].first, end_of(&s[i]));
        }
    }
}

/* ---- copies of variables ---- */

/* Whether the variable is a matrix that is stored in rows and has the shape of one of the products,
 * and its new value is not gathered from replicas that each compute a part. */
static bool is_product_of_step(const holding *h, const dt_state *s, const shapes *product) {
    const dt_type t = dt_priced_type(h->r, s->node);
    return s->update >= 0 && !h->g->node[dt_priced_source(h->r, s->update)].op->across &&
           is_among(product, &t) && dt_lies_in_rows(&t);
}

/* On chips with dt_kernel_rates.copies_variables, adds copies of the matrices that are stored in
 * rows and whose gradient is a product of two matrices, and of their slots: SparseCores copy these
 * into columns at the start of the step, and the copies are in memory up to the update. */
static void copy_variables(holding *h) {
    shapes product = {dt_arena_array(h->arena, dt_type, h->g->n_nodes + 1), 0};
    if (!h->r->topology->slice->chip->kernel.copies_variables) return;
    for (int i = 0; i < h->g->n_nodes; i++) {
        const dt_node *n = &h->g->node[i];
        if (n->op->role == DT_ROLE_PRODUCT && !h->forward[i] && !dt_type_has_batch(&n->type) &&
            h->g->node[n->in[0]].type.rank == 2 && !is_among(&product, &n->type))
            product.of[product.n++] = n->type;
    }
    for (int i = 0; i < h->g->n_states; i++) {
        const dt_state *s = &h->g->state[i];
        if (is_product_of_step(h, s, &product))
            live(h, s->node, 0, position_of(h, dt_priced_source(h->r, s->update)));
    }
}

/* ---- values on the chip, and the peak ---- */

enum { LONGEST = 512 };

static int by_length(const void *a, const void *b) {
    const life *x = a, *y = b;
    const int longer = (x->to - x->from) - (y->to - y->from), later = x->from - y->from;
    return longer ? longer : later ? later : x->node - y->node;
}

/* Removes periods in which values lie in the chip's own memory (VMEM, CMEM): the compiler keeps
 * there what fits and is read soon, so the shortest periods come first. Those longer than LONGEST
 * positions are not considered. */
static void keep_on_chip(holding *h) {
    const int64_t room = h->r->topology->slice->chip->kernel.resident;
    int64_t *used = dt_arena_array(h->arena, int64_t, h->g->n_nodes + 2);
    int n = 0;
    qsort(h->lives, (size_t)h->n_lives, sizeof *h->lives, by_length);
    for (int i = 0; i < h->n_lives; i++) {
        const life l = h->lives[i];
        const int64_t bytes = bytes_of(h, l.node, true);
        bool fits = bytes <= room && l.to - l.from <= LONGEST;
        for (int at = l.from; at <= l.to && fits; at++) fits = used[at] + bytes <= room;
        for (int at = l.from; at <= l.to && fits; at++) used[at] += bytes;
        if (!fits) h->lives[n++] = l;
    }
    h->n_lives = n;
}

/* Removes updates, which need no memory, since they are computed in the memory of variables. */
static void forget_updates(holding *h) {
    for (int i = 0; i < h->g->n_states; i++)
        if (h->g->state[i].update >= 0)
            h->own[dt_priced_source(h->r, h->g->state[i].update)] = true;
}

/* Returns the path of node i. Nodes between layers (sums over replicas, counts of examples) have no
 * path; for them, returns the path of the nearest earlier node that has one, or else of the nearest
 * later one; "": no node has one. */
static const char *layer_at(const dt_graph *g, int i) {
    for (int k = i; k >= 0; k--)
        if (*g->node[k].path) return g->node[k].path;
    while (i < g->n_nodes && !*g->node[i].path) i++;
    return i < g->n_nodes ? g->node[i].path : "";
}

/* The change of memory at a position of the program. born: bytes, with padding, of values whose
 * period in memory begins there; dies: of those whose period ends there; true_born, true_dies: the
 * same without padding. */
typedef struct change {
    int64_t born, dies, true_born, true_dies;
} change;

static change *changes_of(const holding *h) {
    change *at = dt_arena_array(h->arena, change, h->g->n_nodes + 2);
    for (int i = 0; i < h->n_lives; i++) {
        const life *l = &h->lives[i];
        const int64_t padded = bytes_of(h, l->node, true), bytes = bytes_of(h, l->node, false);
        at[l->from].born += padded;
        at[l->from].true_born += bytes;
        at[l->to].dies += padded;
        at[l->to].true_dies += bytes;
    }
    return at;
}

/* Adds the padded bytes of the values that are in memory at the position `peak` (-1: none), and of
 * the batch, to the `values` of their layers. */
static void share_peak(const holding *h, int peak, dt_plan *p) {
    for (int i = 0; i < h->r->program->whole->n_args; i++) {
        const int node = h->g->arg[i].node;
        dt_plan_layer_of(p, layer_at(h->g, node))->values += (double)bytes_of(h, node, true);
    }
    for (int i = 0; i < h->n_lives; i++) {
        const life *l = &h->lives[i];
        if (l->from <= peak && peak <= l->to)
            dt_plan_layer_of(p, layer_at(h->g, l->node))->values +=
                (double)bytes_of(h, l->node, true);
    }
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Adds the memory of values at the peak (`padded` bytes with padding, `bytes` without) and of the
 * batch to the plan. If not all gradients are in memory then (`shares`), values use the memory of
 * gradients, so only what exceeds it is added. */
static void add_values(const holding *h, int64_t padded, int64_t bytes, bool shares, dt_plan *p) {
    const int64_t shared = shares ? least(bytes, p->bytes.gradients) : 0,
                  padding = shares ? least(padded - bytes, h->gradient_padding) : 0;
    p->bytes.activations = bytes - shared;
    p->bytes.padding += padded - bytes - padding;
    p->bytes.shared = shared + padding;
    for (int i = 0; i < h->r->program->whole->n_args; i++) {
        const int64_t batch = bytes_of(h, h->g->arg[i].node, false);
        p->bytes.activations += batch;
        p->bytes.padding += bytes_of(h, h->g->arg[i].node, true) - batch;
    }
}

static void find_peak(const holding *h, dt_plan *p) {
    const int64_t gradients = p->bytes.gradients + h->gradient_padding;
    int64_t now = 0, true_now = 0, most = 0, at_most = 0, true_at_most = 0;
    int peak = -1;
    const change *at = changes_of(h);
    for (int i = 0; i < h->g->n_nodes; i++) {
        now += at[i].born;
        true_now += at[i].true_born;
        const int64_t all = now + (i < h->gradients_from ? 0 : gradients);
        if (all > most) {
            most = all;
            at_most = now;
            true_at_most = true_now;
            peak = i;
            p->bytes.peak = layer_at(h->g, i);
        }
        now -= at[i].dies;
        true_now -= at[i].true_dies;
    }
    add_values(h, at_most, true_at_most, peak < h->gradients_from, p);
    share_peak(h, peak, p);
}

static void forget_bytes(dt_plan *p) {
    p->bytes = (dt_plan_bytes){0};
    for (int i = 0; i < p->n_layers; i++) p->layer[i].variables = p->layer[i].values = 0;
}

/* Counts the memory of a device in place of any device counted before. device: as in holding. */
static void count_device(const dt_priced_program *r, const dt_launches *k, int device, dt_plan *p) {
    dt_local_arena arena = dt_arena_create();
    const dt_priced_program stored = dt_priced_stored(r, k, arena);
    holding h = {.r = &stored,
                 .clock = r,
                 .g = r->program->local,
                 .k = k,
                 .arena = arena,
                 .device = device,
                 .image = dt_priced_images(&stored, arena),
                 .forward = dt_priced_forward(r, arena),
                 .own = dt_arena_array(arena, bool, r->program->local->n_nodes + 1),
                 .lives = dt_arena_array(arena, life, 2 * r->program->local->n_nodes + 1)};
    forget_bytes(p);
    find_places(&h);
    mark_updates(&h);
    h.gradients_from = gradients_from(&h);
    if (h.gradients_from < h.g->n_nodes) mark_gradients(&h);
    count_gradients(&h, p);
    forget_updates(&h);
    count_states(&h, p);
    count_values(&h);
    copy_variables(&h);
    keep_on_chip(&h);
    find_peak(&h, p);
    p->bytes.total = p->bytes.weights + p->bytes.gradients + p->bytes.slots + p->bytes.activations +
                     p->bytes.padding;
    p->bytes.usable =
        dt_topology_device_cores(r->topology) * r->topology->slice->chip->core_hbm_usable;
}

void dt_plan_count_hbm(const dt_priced_program *r, const dt_launches *k, dt_plan *p) {
    const dt_spmd *s = r->program;
    const int devices = dt_plan_has_places(s) ? dt_mesh_logical(&s->mesh) : 0;
    int fullest = 0;
    int64_t most = -1;
    for (int d = devices > 0; d <= devices; d++) {
        count_device(r, k, d, p);
        if (p->bytes.total > most) {
            most = p->bytes.total;
            fullest = d;
        }
    }
    if (fullest < devices) count_device(r, k, fullest, p);
}
