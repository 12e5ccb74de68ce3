/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels: nodes that a TPU's compiler would run as one launch, so that the values between them
 * never reach memory.
 *
 *     producer    if all readers of an element-wise node are in one kernel, it is computed there
 *     consumer    element-wise work on a product is done in its kernel: bias, activation, the sums
 *                 of a normalization
 *     siblings    several sums over an array, or element-wise updates of one size, read it once
 *
 * A kernel has a place in the program. A node joins a kernel at an earlier place only if everything
 * else that it reads comes before that place. So no kernel waits for one with a later place. But it
 * may wait for a bucket of collectives, which is sent at the place of its last member, if it reads
 * an earlier member, and if no member of the bucket depends on the kernel.
 *
 * The bytes of a kernel are those of each array that it reads, counted once, and of its values that
 * are read outside it or returned. Reshapes and broadcasts are other names for their inputs.
 */
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "cost/cost_impl.h"
#include "op/across.h"
#include "op/op.h"

typedef enum role {
    /* the node needs no work: an argument or a variable, another name of a value, or a value that
     * is computed where it is read */
    ROLE_NONE,
    ROLE_LINK,   /* the node's value arrives by a collective or from the host's memory */
    ROLE_LOOP,   /* an element-wise node, which can be part of any kernel */
    ROLE_REDUCE, /* a reduction, which can be fused with element-wise ops that compute its inputs */
    /* a product on matrix units, which can be fused with ops that compute its operands, and with
     * ops on its result */
    ROLE_PRODUCT,
    ROLE_ALONE /* any other op, which is a kernel of its own */
} role;

typedef struct fusing {
    const dt_priced_program *r;
    const dt_graph *g;
    dt_arena *arena;
    role *role;
    /* of: [nodes] the root of the node's kernel, to which its other nodes were joined; -1: none.
     * at: [nodes] for a root, the position of its kernel */
    int *of, *at;
    const bool *forward; /* [nodes] whether the node belongs to the forward pass */
    /* [nodes] whether the node is a single number that depends only on variables and constants */
    bool *early;
    bool *out; /* [nodes] whether the node is a result or an update */
    /* [nodes] whether convolutions read or write values of its shape (dt_priced_images) */
    const bool *image;
    /* [nodes] the last member of the node's bucket, which is launched as one; without a bucket the
     * node itself */
    int *arrives;
    /* until: [positions] the position of the last member of a bucket that a kernel reads at this
     * position or before, although members of the bucket come later; of several such buckets, the
     * last; -1: none. noted: [nodes] for the last member of a bucket, the first position with such
     * a kernel */
    int *until, *noted;
    /* the nodes of a launch are a linked list: first[launch], then next[node]; -1: the end */
    int *first, *next;
    /* after: the two kernels that waits_for_itself examines, then the launches found so far that
     * read their results, directly or through others; is_after: [nodes] whether the launch is in
     * `after` */
    int *after;
    bool *is_after;
    /* the nodes that read node i, directly or by another name, are reader[begin[i]] to
     * reader[begin[i + 1] - 1] */
    int *reader, *begin;
} fusing;

/* ---- roles ---- */

static role role_of(const dt_priced_program *r, int i) {
    const dt_node *n = &r->program->local->node[i];
    if (n->n_in == 0 || n->op->role == DT_ROLE_SIZE || dt_priced_source(r, i) != i)
        return ROLE_NONE;
    if (dt_is_from_host(n)) return ROLE_LINK;
    if (dt_is_elementwise(n->op) || n->op->role == DT_ROLE_MOVE) return ROLE_LOOP;
    if (n->op->across) return ROLE_LINK;
    return n->op->role == DT_ROLE_REDUCE    ? ROLE_REDUCE
           : n->op->role == DT_ROLE_PRODUCT ? ROLE_PRODUCT
                                            : ROLE_ALONE;
}

bool dt_launch_takes_producers(const dt_priced_program *r, int i) {
    role is = role_of(r, i);
    return is == ROLE_LOOP || is == ROLE_REDUCE || is == ROLE_PRODUCT;
}

/* ---- readers ---- */

static void count_readers(fusing *f) {
    int *n = dt_arena_array(f->arena, int, f->g->n_nodes + 2);
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < f->g->n_nodes; i++)
            for (int k = 0; f->role[i] != ROLE_NONE && k < f->g->node[i].n_in; k++) {
                int from = dt_priced_source(f->r, f->g->node[i].in[k]);
                if (pass == 1) f->reader[f->begin[from] + n[from]] = i;
                n[from]++;
            }
        for (int i = 0; pass == 0 && i < f->g->n_nodes; i++) {
            f->begin[i + 1] = f->begin[i] + n[i];
            n[i] = 0;
        }
        if (pass == 0) f->reader = dt_arena_array(f->arena, int, f->begin[f->g->n_nodes] + 1);
    }
}

/* ---- producers ---- */

static bool takes_producers(const fusing *f, int root) {
    return f->role[root] == ROLE_LOOP || f->role[root] == ROLE_REDUCE ||
           f->role[root] == ROLE_PRODUCT;
}

static bool is_same_place(const fusing *f, int a, int b) {
    return f->r->program->layout[a].on == f->r->program->layout[b].on;
}

/* Returns the kernel that has all readers of node i and can compute the node itself; -1: there is
 * none. */
static int only_reader(const fusing *f, int i) {
    int k = f->out[i] || f->begin[i] == f->begin[i + 1] ? -1 : f->of[f->reader[f->begin[i]]];
    for (int j = f->begin[i]; k >= 0 && j < f->begin[i + 1]; j++)
        if (f->of[f->reader[j]] != k) return -1;
    return k >= 0 && takes_producers(f, k) && is_same_place(f, i, k) ? k : -1;
}

static void join_producers(fusing *f) {
    for (int i = f->g->n_nodes - 1; i >= 0; i--) {
        f->of[i] = f->at[i] = -1;
        if (f->role[i] == ROLE_NONE || f->role[i] == ROLE_LINK) continue;
        int k = f->role[i] == ROLE_LOOP ? only_reader(f, i) : -1;
        f->of[i] = k >= 0 ? k : i;
        f->at[i] = i;
    }
}

/* ---- the nodes of kernels ---- */

/* The nodes of each kernel, as they were when this was made: those of the kernel with root r are
 * node[begin[r]] to node[begin[r + 1] - 1]. */
typedef struct members {
    int *node, *begin;
} members;

static members list_members(const fusing *f) {
    int n = f->g->n_nodes;
    members m = {.node = dt_arena_array(f->arena, int, n + 1),
                 .begin = dt_arena_array(f->arena, int, n + 2)};
    int *filled = dt_arena_array(f->arena, int, n + 1);
    for (int i = 0; i < n; i++)
        if (f->of[i] >= 0) m.begin[f->of[i] + 1]++;
    for (int i = 0; i < n; i++) m.begin[i + 1] += m.begin[i];
    for (int i = 0; i < n; i++)
        if (f->of[i] >= 0) m.node[m.begin[f->of[i]] + filled[f->of[i]]++] = i;
    return m;
}

static double size_of(const fusing *f, int i) {
    dt_type t = dt_priced_type(f->r, i);
    return (double)dt_type_bytes(&t);
}

/* ---- kernels that would wait for themselves ---- */

/* Returns what node i is launched with: the root of its kernel, or the last member of its bucket;
 * -1: nothing. */
static int launch_of(const fusing *f, int i) {
    return f->of[i] >= 0 ? f->of[i] : f->role[i] == ROLE_LINK ? f->arrives[i] : -1;
}

/* Returns the position of the last member of a bucket that node i reads, if that is after `at`; of
 * several such buckets, the last position; -1: none. */
static int read_early(const fusing *f, int i, int at) {
    int last = -1;
    for (int k = 0; k < f->g->node[i].n_in; k++) {
        const int from = dt_priced_source(f->r, f->g->node[i].in[k]);
        if (f->of[from] < 0 && f->role[from] == ROLE_LINK && f->arrives[from] > at)
            last = dt_max(last, f->arrives[from]);
    }
    return last;
}

/* Enters in `until` and `noted` the buckets that node i reads at position `at`, before the position
 * of their last member. */
static void note_early(fusing *f, int i, int at) {
    for (int k = 0; k < f->g->node[i].n_in; k++) {
        const int from = dt_priced_source(f->r, f->g->node[i].in[k]), last = f->arrives[from];
        if (f->of[from] >= 0 || f->role[from] != ROLE_LINK) continue;
        for (; f->noted[last] > at; f->noted[last]--) {
            int *until = &f->until[f->noted[last] - 1];
            *until = dt_max(*until, last);
        }
    }
}

static void list_node(fusing *f, int launch, int i) {
    f->next[i] = f->first[launch];
    f->first[launch] = i;
}

static void list_launches(fusing *f) {
    for (int i = 0; i < f->g->n_nodes; i++) {
        f->noted[i] = i;
        f->until[i] = f->first[i] = -1;
    }
    for (int i = 0; i < f->g->n_nodes; i++) {
        if (launch_of(f, i) >= 0) list_node(f, launch_of(f, i), i);
        if (f->of[i] >= 0) note_early(f, i, f->at[f->of[i]]);
    }
}

/* Returns the position up to which launches could wait for each other in a circle if kernel `root`
 * ran at position `at`: the end of the last bucket that is read before its last member there, or
 * before one of these buckets ends. -1: no bucket is read so early. */
static int end_of_circle(const fusing *f, const members *m, int root, int at) {
    int end = f->until[at];
    for (int j = m->begin[root]; j < m->begin[root + 1]; j++)
        end = dt_max(end, read_early(f, m->node[j], at));
    for (int p = at; p < end; p++) end = dt_max(end, f->until[p]);
    return end;
}

/* Adds the launches that read results of `launch`, and come no later than position `end`, to the n
 * launches in `after`. Returns their new number. Returns -1 if `launch` is neither a nor b and one
 * of these two reads its result. */
static int add_readers(fusing *f, int launch, int a, int b, int end, int n) {
    for (int i = f->first[launch]; i >= 0; i = f->next[i])
        for (int j = f->begin[i]; j < f->begin[i + 1]; j++) {
            const int to = launch_of(f, f->reader[j]);
            if (to < 0 || to == launch) continue;
            if ((to == a || to == b) && launch != a && launch != b) return -1;
            if (f->is_after[to] || (f->of[to] == to ? f->at[to] : to) > end) continue;
            f->is_after[to] = true;
            f->after[n++] = to;
        }
    return n;
}

/* Whether the kernels `root` and `into`, joined at the place of `into`, would wait for a bucket
 * that sends what is computed from them. */
static bool waits_for_itself(fusing *f, const members *m, int root, int into) {
    const int end = end_of_circle(f, m, root, f->at[into]);
    int n = 0, known = 2;
    if (end < 0) return false;
    f->after[0] = root;
    f->after[1] = into;
    f->is_after[root] = f->is_after[into] = true;
    for (int i = 0; n >= 0 && i < known; i++) {
        n = add_readers(f, f->after[i], root, into, end, known);
        known = n < 0 ? known : n;
    }
    memset(f->is_after, 0, (size_t)f->g->n_nodes * sizeof *f->is_after);
    return n < 0;
}

/* ---- places of kernels, consumers and siblings ---- */

/* Whether kernel `root` can run at position `at`: all its inputs come before it, except those that
 * kernel `but` computes and single numbers that depend only on variables and constants. */
static bool can_run_at(const fusing *f, const members *m, int root, int at, int but) {
    for (int j = m->begin[root]; j < m->begin[root + 1]; j++)
        for (int k = 0; k < f->g->node[m->node[j]].n_in; k++) {
            int from = dt_priced_source(f->r, f->g->node[m->node[j]].in[k]), kernel = f->of[from];
            bool waits = kernel >= 0 ? !f->early[from] && f->at[kernel] >= at && kernel != but &&
                                           kernel != root
                                     : f->role[from] == ROLE_LINK && from >= at;
            if (waits) return false;
        }
    return true;
}

/* Returns the number of elements that kernel `root` works on: those of its result, or of what it
 * sums. */
static int64_t elements_of(const fusing *f, int root) {
    const dt_node *n = &f->g->node[root];
    dt_type t = dt_priced_type(f->r, f->role[root] == ROLE_REDUCE ? n->in[0] : root);
    return dt_type_elements(&t);
}

static bool updates_alike(const fusing *f, int a, int b) {
    return dt_is_of_optimizer(&f->g->node[a]) && dt_is_of_optimizer(&f->g->node[b]) &&
           elements_of(f, a) > 1 && elements_of(f, a) == elements_of(f, b);
}

/* Returns the latest kernel whose result kernel `root` reads, if `root` can be computed in it: that
 * kernel has a product, or both are updates of the same number of elements, and all other inputs of
 * `root` come before it. -1: it cannot. */
static int product_read(fusing *f, const members *m, int root) {
    int last = -1;
    for (int j = m->begin[root]; j < m->begin[root + 1]; j++)
        for (int k = 0; k < f->g->node[m->node[j]].n_in; k++) {
            int from = dt_priced_source(f->r, f->g->node[m->node[j]].in[k]), kernel = f->of[from];
            if (kernel >= 0 && kernel != root && !f->early[from] &&
                (last < 0 || f->at[kernel] > f->at[last]))
                last = kernel;
        }
    const bool takes = last >= 0 && (f->role[last] == ROLE_PRODUCT ||
                                     (f->role[last] == ROLE_LOOP && updates_alike(f, last, root)));
    return takes && can_run_at(f, m, root, f->at[last], last) && !waits_for_itself(f, m, root, last)
               ? last
               : -1;
}

/* Returns an earlier kernel in which kernel `root` can run, and which reads the largest input of
 * `root`: for a reduction, another reduction; for an update, another update of the same number of
 * elements. -1: there is none. */
static int sibling_of(fusing *f, const members *m, int root) {
    int largest = -1;
    for (int j = m->begin[root]; j < m->begin[root + 1]; j++)
        for (int k = 0; k < f->g->node[m->node[j]].n_in; k++) {
            int from = dt_priced_source(f->r, f->g->node[m->node[j]].in[k]);
            if (f->of[from] != root && (largest < 0 || size_of(f, from) > size_of(f, largest)))
                largest = from;
        }
    for (int j = largest < 0 ? 0 : f->begin[largest]; largest >= 0 && j < f->begin[largest + 1];
         j++) {
        int kernel = f->of[f->reader[j]];
        const bool alike = kernel >= 0 && kernel != root &&
                           (f->role[root] == ROLE_REDUCE
                                ? f->role[kernel] == ROLE_REDUCE
                                : f->role[kernel] == ROLE_LOOP && updates_alike(f, kernel, root));
        if (alike && f->at[kernel] < f->at[root] && can_run_at(f, m, root, f->at[kernel], -1) &&
            !waits_for_itself(f, m, root, kernel))
            return kernel;
    }
    return -1;
}

/* Whether the kernel recomputes values for the backward pass. Such a kernel must not be joined to
 * one of the forward pass, because the values would then be in memory from that time on. */
static bool recomputes(const fusing *f, const members *m, int root) {
    for (int j = m->begin[root]; j < m->begin[root + 1]; j++)
        if (dt_is_rematerialized(&f->g->node[m->node[j]])) return true;
    return false;
}

static void join_all(fusing *f, const members *m, int root, int into) {
    for (int j = m->begin[root]; j < m->begin[root + 1]; j++) {
        f->of[m->node[j]] = into;
        list_node(f, into, m->node[j]);
        note_early(f, m->node[j], f->at[into]);
    }
    f->at[root] = -1;
}

/* Joins consumers to kernels. The lists of members are not changed meanwhile; the kernel of a node
 * is found by `of` only. */
static void join_consumers(fusing *f) {
    const members m = list_members(f);
    list_launches(f);
    for (int i = 0; i < f->g->n_nodes; i++) {
        bool root = f->of[i] == i && (f->role[i] == ROLE_LOOP || f->role[i] == ROLE_REDUCE);
        int into = root ? product_read(f, &m, i) : -1;
        if (root && into < 0) into = sibling_of(f, &m, i);
        if (into >= 0 && f->forward[into] && recomputes(f, &m, i)) into = -1;
        if (into >= 0 && is_same_place(f, i, into)) join_all(f, &m, i, into);
    }
}

/* ---- the list of kernels, and what they cost ---- */

static bool is_kept(const fusing *f, int i) {
    for (int j = f->begin[i]; j < f->begin[i + 1]; j++)
        if (f->of[f->reader[j]] != f->of[i]) return true;
    return f->out[i];
}

/* Returns the bytes that a kernel moves to read or write node i. Images are moved in whole tiles.
 * The padding of other arrays, whose layout the compiler chooses, hardly counts. */
static double moved_bytes(const fusing *f, int i) {
    return f->image[i] ? (double)dt_priced_stored_bytes(f->r, f->image, i) : size_of(f, i);
}

/* Returns the bytes that a kernel reads for node i. Each source is counted once: seen[source] is 1
 * + the last kernel that counted it. */
static double read_bytes(const fusing *f, int i, int kernel, int *seen) {
    double bytes = 0;
    for (int k = 0; k < f->g->node[i].n_in; k++) {
        int from = dt_priced_source(f->r, f->g->node[i].in[k]);
        if (f->of[from] == kernel || seen[from] == kernel + 1 || !dt_priced_lies_there(f->r, from))
            continue;
        seen[from] = kernel + 1;
        bytes += moved_bytes(f, from);
    }
    return bytes;
}

/* Returns the bytes that an op reads from outside its kernel, by the op's own cost, because some
 * ops read only parts of their inputs. */
static double own_bytes(const fusing *f, int i, const dt_cost *alone) {
    double bytes = alone->bytes - size_of(f, i);
    for (int k = 0; k < f->g->node[i].n_in; k++) {
        int from = dt_priced_source(f->r, f->g->node[i].in[k]);
        if (f->of[from] == f->of[i]) bytes -= size_of(f, from);
    }
    return bytes > 0 ? bytes : 0;
}

static void add_member(const fusing *f, int i, dt_kernel_launch *k, int root, bool kept,
                       int *seen) {
    dt_cost alone = dt_priced_cost(f->r, i), eight = alone;
    dt_priced_quantize(f->r, i, &eight);
    bool own = f->role[i] == ROLE_ALONE;
    k->work.flops += alone.flops;
    k->work.vector += eight.vector;
    k->work.bytes += eight.bytes - alone.bytes +
                     (own ? own_bytes(f, i, &alone) : read_bytes(f, i, root, seen)) +
                     (kept ? moved_bytes(f, i) : 0);
    if (alone.product[0].count > 0) {
        memcpy(k->work.product, eight.product, sizeof alone.product);
        k->head = i;
    }
}

static int by_place(const void *a, const void *b) {
    const dt_kernel_launch *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

static dt_launches collect(fusing *f) {
    int n = f->g->n_nodes, *number = dt_arena_array(f->arena, int, n + 1),
        *seen = dt_arena_array(f->arena, int, n + 1);
    const members m = list_members(f);
    dt_launches k = {.of = f->of,
                     .kept = dt_arena_array(f->arena, bool, n + 1),
                     .kernel = dt_arena_array(f->arena, dt_kernel_launch, n + 1)};
    for (int i = 0; i < n; i++) k.kept[i] = f->of[i] >= 0 && is_kept(f, i);
    for (int root = 0; root < n; root++)
        if (m.begin[root] < m.begin[root + 1]) {
            dt_kernel_launch *now = &k.kernel[k.n++];
            *now = (dt_kernel_launch){.at = f->at[root], .head = root, .times = 1, .share = 1};
            for (int j = m.begin[root]; j < m.begin[root + 1]; j++)
                add_member(f, m.node[j], now, root, k.kept[m.node[j]], seen);
        }
    qsort(k.kernel, (size_t)k.n, sizeof *k.kernel, by_place);
    for (int i = 0; i < k.n; i++) number[k.kernel[i].at] = i;
    for (int i = 0; i < n; i++) k.of[i] = f->of[i] >= 0 ? number[f->at[f->of[i]]] : -1;
    return k;
}

/* Sets k->again, the runs of the kernel that repeat work for the backward pass: all, if the node by
 * which it is named does, else 0. The output layer's product of the forward pass, if it is computed
 * in pieces, runs once for the loss and once more for the gradient, so 1 is added to `times` and
 * `again`. */
static void repeat_pieces(const fusing *f, dt_kernel_launch *k) {
    const dt_node *n = &f->g->node[k->head];
    k->again = dt_is_rematerialized(n) ? k->times : 0;
    if (f->role[k->head] != ROLE_PRODUCT || !f->forward[k->head] ||
        !dt_priced_is_piece(f->r, k->head))
        return;
    k->again += 1;
    k->times += 1;
}

static void find_early(fusing *f) {
    for (int i = 0; i < f->g->n_nodes; i++) {
        const dt_type t = dt_priced_type(f->r, i);
        const dt_node *n = &f->g->node[i];
        f->early[i] = t.rank == 0 && f->role[i] != ROLE_LINK && n->op->role != DT_ROLE_ARGUMENT;
        for (int k = 0; k < n->n_in; k++) f->early[i] &= f->early[n->in[k]];
    }
}

static void find_arrivals(fusing *f) {
    const int *bucket = f->r->program->bucket;
    int *last = dt_arena_array(f->arena, int, f->g->n_nodes + 1);
    for (int i = 0; i < f->g->n_nodes; i++)
        if (bucket[i] >= 0) last[bucket[i]] = i;
    for (int i = 0; i < f->g->n_nodes; i++) f->arrives[i] = bucket[i] >= 0 ? last[bucket[i]] : i;
}

dt_launches dt_launches_create(const dt_priced_program *r, dt_arena *arena) {
    const dt_graph *g = r->program->local;
    const dt_core core = dt_core_of(r->topology);
    int n = g->n_nodes + 2;
    fusing f = {.r = r,
                .g = g,
                .arena = arena,
                .image = dt_priced_images(r, arena),
                .forward = dt_priced_forward(r, arena),
                .role = dt_arena_array(arena, role, n),
                .of = dt_arena_array(arena, int, n),
                .at = dt_arena_array(arena, int, n),
                .early = dt_arena_array(arena, bool, n),
                .out = dt_arena_array(arena, bool, n),
                .arrives = dt_arena_array(arena, int, n),
                .until = dt_arena_array(arena, int, n),
                .noted = dt_arena_array(arena, int, n),
                .first = dt_arena_array(arena, int, n),
                .next = dt_arena_array(arena, int, n),
                .after = dt_arena_array(arena, int, n),
                .is_after = dt_arena_array(arena, bool, n),
                .begin = dt_arena_array(arena, int, n)};
    for (int i = 0; i < g->n_nodes; i++) f.role[i] = role_of(r, i);
    for (int i = 0; i < g->n_results; i++) f.out[dt_priced_source(r, g->result[i].node)] = true;
    for (int i = 0; i < g->n_states; i++)
        if (g->state[i].update >= 0) f.out[dt_priced_source(r, g->state[i].update)] = true;
    count_readers(&f);
    find_early(&f);
    find_arrivals(&f);
    join_producers(&f);
    join_consumers(&f);
    dt_launches k = collect(&f);
    for (int i = 0; i < k.n; i++) repeat_pieces(&f, &k.kernel[i]);
    for (int i = 0; i < k.n; i++) k.kernel[i].price = dt_core_time(&core, &k.kernel[i].work);
    return k;
}
