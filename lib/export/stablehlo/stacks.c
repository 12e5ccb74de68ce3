/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the values that are stacked. If the blocks of a repeat read different items (these form a
 * list with an item for each block), the items become rows of a stack:
 *
 *     weights      states, in one argument of the function; their new values overwrite them
 *     kept values  written by blocks, mostly those of the forward pass, and read later, mostly by
 *                  blocks of the backward pass in reverse order
 *
 * An item has at most one row, apart from concatenations. If the items of a list have rows in one
 * stack, these are read, in any order. If none has a row, the list gets a new stack if its items
 * can share one. If a list continues where a stack ends, the stack is extended. Other lists are
 * concatenated separately, which costs a copy.
 */
#include <stdlib.h>
#include <string.h>

#include "export/stablehlo/blocks.h"

static const dt_node *node_of(const dt_hlo_plan *p, int item) {
    return &p->o->g->node[p->o->item[item].node];
}

dt_type dt_hlo_type_of(const dt_hlo_plan *p, int item) {
    return dt_type_at(&node_of(p, item)->type, p->batch);
}

static bool is_state(const dt_hlo_plan *p, int item) {
    return node_of(p, item)->op->role == DT_ROLE_STATE;
}

/* ---- creating stacks ---- */

static int add_stack(dt_hlo_plan *p, dt_hlo_stack_kind kind, dt_type type) {
    DT_GROW(p->stack, p->cap_stacks, p->n_stacks + 1);
    p->stack[p->n_stacks] =
        (dt_hlo_stack){.kind = kind, .of = -1, .updated = -1, .type = type, .value = {.id = -1}};
    return p->n_stacks++;
}

/* Adds a row for an item (-1: none) at the end of the stack. Returns the row's index. */
static int add_row(dt_hlo_plan *p, int stack, int item) {
    dt_hlo_stack *s = &p->stack[stack];
    DT_GROW(s->item, s->cap, s->n + 1);
    s->item[s->n] = item;
    if (item >= 0 && s->kind != DT_HLO_JOINED) {
        p->place[item].stack = stack;
        p->place[item].row = s->n;
    }
    return s->n++;
}

static void add_front(dt_hlo_plan *p, int stack, int item) {
    dt_hlo_stack *s = &p->stack[stack];
    add_row(p, stack, -1);
    memmove(s->item + 1, s->item, (size_t)(s->n - 1) * sizeof *s->item);
    s->item[0] = item;
    for (int i = 0; i < s->n; i++)
        if (s->item[i] >= 0) {
            p->place[s->item[i]].stack = stack;
            p->place[s->item[i]].row = i;
        }
}

/* Whether the items may be in one stack: all are states or none is, none is an argument, none is
 * light, and none occurs twice. */
static bool can_be_rows(const dt_hlo_plan *p, const int *list, int n) {
    bool good = true;
    int seen = 0;
    for (; seen < n && good; seen++) {
        good = !p->o->item[list[seen]].light &&
               node_of(p, list[seen])->op->role != DT_ROLE_ARGUMENT &&
               is_state(p, list[seen]) == is_state(p, list[0]);
        good = good && !p->covered[list[seen]];
        p->covered[list[seen]] = true;
    }
    for (int i = 0; i < seen; i++) p->covered[list[i]] = false;
    return good;
}

/* Sets *stack to the stack that holds items of the list (-1: none does), and *placed to the number
 * of items of the list that it holds. Returns false if several stacks hold items of the list. */
static bool common_stack(const dt_hlo_plan *p, const int *list, int n, int *stack, int *placed) {
    *stack = -1;
    *placed = 0;
    for (int i = 0; i < n; i++) {
        int at = p->place[list[i]].stack;
        if (at < 0) continue;
        if (*stack >= 0 && at != *stack) return false;
        *stack = at;
        ++*placed;
    }
    return true;
}

/* Makes a stack for a list. With `backwards`, its rows are the list's items in reverse order. */
static void found(dt_hlo_plan *p, const int *list, int n, bool backwards) {
    int stack =
        add_stack(p, is_state(p, list[0]) ? DT_HLO_FED : DT_HLO_KEPT, dt_hlo_type_of(p, list[0]));
    for (int i = 0; i < n; i++) add_row(p, stack, list[backwards ? n - 1 - i : i]);
}

/* Extends a stack by the items at both ends of the list that have no row. The items in the middle
 * must have consecutive rows that reach the end of the stack where rows are added. Returns false if
 * they do not, or if the stack cannot be extended. */
static bool prolong(dt_hlo_plan *p, const int *list, int n, int stack) {
    const dt_hlo_stack *s = &p->stack[stack];
    int from = 0, to = n, step;
    /* The stacks of groups cannot be extended. */
    if (stack < p->n_groups) return false;
    while (from < n && p->place[list[from]].stack < 0) from++;
    while (to > from && p->place[list[to - 1]].stack < 0) to--;
    if (s->kind == DT_HLO_UPDATED || s->updated >= 0) return false;
    step = to - from > 1           ? p->place[list[from + 1]].row - p->place[list[from]].row
           : list[0] < list[n - 1] ? 1
                                   : -1;
    for (int i = from; i < to; i++)
        if (p->place[list[i]].stack < 0 ||
            p->place[list[i]].row != p->place[list[from]].row + step * (i - from))
            return false;
    int first = p->place[list[from]].row, last = p->place[list[to - 1]].row,
        ends[2] = {step > 0 ? 0 : s->n - 1, step > 0 ? s->n - 1 : 0};
    if ((step != 1 && step != -1) || (from > 0 && first != ends[0]) || (to < n && last != ends[1]))
        return false;
    for (int i = from - 1; i >= 0; i--)
        step > 0 ? add_front(p, stack, list[i]) : (void)add_row(p, stack, list[i]);
    for (int i = to; i < n; i++)
        step > 0 ? (void)add_row(p, stack, list[i]) : add_front(p, stack, list[i]);
    return true;
}

/* Places the items of a list in one stack. With `backwards`, a new stack has them in reverse order.
 * Returns false if this is impossible. */
static bool stack_items(dt_hlo_plan *p, const int *list, int n, bool backwards) {
    int stack, placed;
    if (!can_be_rows(p, list, n) || !common_stack(p, list, n, &stack, &placed)) return false;
    if (placed == 0) found(p, list, n, backwards);
    return placed == 0 || placed == n || prolong(p, list, n, stack);
}

/* ---- placing states, lists and updates ---- */

static void place_groups(dt_hlo_plan *p) {
    for (int i = 0; i < p->n_groups; i++) {
        const dt_hlo_group *group = &p->group[i];
        const int stack = add_stack(p, DT_HLO_FED, dt_hlo_type_of(p, p->o->state[group->state[0]]));
        for (int k = 0; k < group->n; k++) add_row(p, stack, p->o->state[group->state[k]]);
    }
}

typedef struct listed {
    const int *list;
    int n, number;
} listed;

static int longest(const void *a, const void *b) {
    const listed *x = a, *y = b;
    return x->n != y->n ? y->n - x->n : x->number - y->number;
}

/* Stacks the states that loops read, the longest lists first: the optimizer's loop may read all
 * variables of a shape, whereas each of the model's loops reads only some of them. */
static void place_states(dt_hlo_plan *p) {
    int n = 0, cap = 0;
    DT_LOCAL listed *lists = NULL;
    for (int i = 0; i < p->repeats.n; i++)
        for (int l = 0; l < p->repeats.repeat[i].n_lists; l++)
            if (is_state(p, p->repeats.repeat[i].list[l][0])) {
                DT_GROW(lists, cap, n + 1);
                lists[n] = (listed){p->repeats.repeat[i].list[l], p->repeats.repeat[i].n, n};
                n++;
            }
    if (n > 0) /* qsort does not accept NULL */
        qsort(lists, (size_t)n, sizeof *lists, longest);
    for (int i = 0; i < n; i++)
        stack_items(p, lists[i].list, lists[i].n, lists[i].list[0] > lists[i].list[lists[i].n - 1]);
}

static int state_at(const dt_hlo_plan *p, int item) {
    const dt_index_attr *a = node_of(p, item)->attr;
    return (int)a->index;
}

/* Stacks the new values of stacked states, in the order of the states, if a loop computes some of
 * them. */
static void place_updates(dt_hlo_plan *p) {
    for (int s = 0, n = p->n_stacks; s < n; s++) {
        int stack = -1, block, offset;
        for (int i = 0; i < p->stack[s].n; i++) {
            int u = p->o->update[state_at(p, p->stack[s].item[i])];
            if (stack < 0 && u >= 0 && dt_hlo_repeat_of(&p->repeats, u, &block, &offset) >= 0)
                stack = add_stack(p, DT_HLO_UPDATED, p->stack[s].type);
        }
        for (int i = 0; stack >= 0 && i < p->stack[s].n; i++) {
            int u = p->o->update[state_at(p, p->stack[s].item[i])];
            bool fits = u >= 0 && p->place[u].stack < 0 && u >= p->o->from;
            add_row(p, stack, fits ? u : -1);
        }
        if (stack >= 0) {
            p->stack[stack].of = s;
            p->stack[s].updated = stack;
        }
    }
}

/* Whether a repeat reads states from the last row to the first. Its other inputs are then stacked
 * in the same order, so that all blocks can be written at once. For a repeat that reads no stacked
 * states: whether the first block's item in `list` comes after the last block's. */
static bool goes_backwards(const dt_hlo_plan *p, const dt_hlo_repeat *r, const int *list) {
    for (int l = 0; l < r->n_lists; l++)
        if (is_state(p, r->list[l][0]) && p->place[r->list[l][0]].stack >= 0)
            return p->place[r->list[l][0]].row > p->place[r->list[l][r->n - 1]].row;
    return list[0] > list[r->n - 1];
}

static void place_lists(dt_hlo_plan *p) {
    for (int i = 0; i < p->repeats.n; i++) {
        const dt_hlo_repeat *r = &p->repeats.repeat[i];
        for (int l = 0; l < r->n_lists; l++)
            if (!is_state(p, r->list[l][0]))
                stack_items(p, r->list[l], r->n, goes_backwards(p, r, r->list[l]));
    }
}

/* ---- what loops read and write, and the plan ---- */

static void read_lists(dt_hlo_plan *p, int repeat) {
    const dt_hlo_repeat *r = &p->repeats.repeat[repeat];
    dt_hlo_rows *read = p->traffic[repeat].read =
        dt_arena_array(p->arena, dt_hlo_rows, r->n_lists + 1);
    for (int l = 0; l < r->n_lists; l++) {
        int stack, placed;
        read[l].row = dt_arena_array(p->arena, int, r->n);
        bool have = common_stack(p, r->list[l], r->n, &stack, &placed) && placed == r->n;
        if (!have) stack = add_stack(p, DT_HLO_JOINED, dt_hlo_type_of(p, r->list[l][0]));
        read[l].stack = stack;
        for (int b = 0; b < r->n; b++) {
            read[l].row[b] = have ? p->place[r->list[l][b]].row : add_row(p, stack, r->list[l][b]);
            p->single[r->list[l][b]] |= !have;
        }
    }
}

/* Marks in p->single the items that are needed as separate values: by statements outside of loops,
 * by all blocks of a repeat, by its first block, as results, or as new values of states. */
static void find_singles(dt_hlo_plan *p) {
    int block, offset;
    for (int i = p->o->from; i < p->o->n; i++)
        for (int k = 0;
             k < node_of(p, i)->n_in && dt_hlo_repeat_of(&p->repeats, i, &block, &offset) < 0; k++)
            p->single[p->o->item[i].in[k]] = true;
    for (int i = 0; i < p->repeats.n; i++) {
        for (int k = 0; k < p->repeats.repeat[i].n_same; k++)
            p->single[p->repeats.repeat[i].same[k]] = true;
        for (int k = 0; k < p->repeats.repeat[i].n_carries; k++)
            p->single[p->repeats.repeat[i].carry[k].init] = true;
    }
    for (int i = 0; i < p->o->g->n_results; i++) p->single[p->o->result[i]] = true;
    for (int i = 0; i < p->o->g->n_states; i++)
        if (p->o->update[i] >= 0) p->single[p->o->update[i]] = true;
}

/* Returns the item that a block writes: one of its own, or one that it received. */
static int written(const dt_hlo_repeat *r, const dt_hlo_rows *w, int block) {
    if (w->carry < 0) return r->first + block * r->period + w->offset;
    return block == 0 ? r->carry[w->carry].init : r->first + (block - 1) * r->period + w->offset;
}

/* Sets w->row to the row of w->stack that each block writes; -1: it writes none. Returns how many
 * blocks write one. */
static int fill_rows(const dt_hlo_plan *p, const dt_hlo_repeat *r, dt_hlo_rows *w) {
    int n = 0;
    w->row = dt_arena_array(p->arena, int, r->n);
    for (int b = 0; b < r->n; b++) {
        int item = written(r, w, b);
        w->row[b] = p->place[item].stack == w->stack ? p->place[item].row : -1;
        n += w->row[b] >= 0;
    }
    return n;
}

static void add_write(dt_hlo_plan *p, int repeat, dt_hlo_rows w) {
    struct dt_hlo_traffic *t = &p->traffic[repeat];
    const dt_hlo_repeat *r = &p->repeats.repeat[repeat];
    DT_GROW(t->write, t->cap_writes, t->n_writes + 1);
    int n = fill_rows(p, r, &w);
    p->stack[w.stack].scratch |= n < r->n;
    t->write[t->n_writes++] = w;
    for (int b = 0; b < r->n; b++) p->covered[written(r, &w, b)] |= w.row[b] >= 0;
}

/* Sets *stack to the next stack that has items at this offset. Returns false if there are no
 * more. */
static bool next_stack(const dt_hlo_plan *p, const dt_hlo_repeat *r, int offset, int *stack) {
    int next = -1;
    for (int b = 0; b < r->n; b++) {
        int at = p->place[r->first + b * r->period + offset].stack;
        if (at > *stack && (next < 0 || at < next)) next = at;
    }
    *stack = next;
    return next >= 0;
}

static bool is_read_before(const dt_hlo_plan *p, int repeat, int stack) {
    for (int i = 0; i < repeat; i++)
        for (int l = 0; l < p->repeats.repeat[i].n_lists; l++)
            if (p->traffic[i].read[l].stack == stack) return true;
    return false;
}

/* Returns the carry by which all blocks receive rows of that stack; -1: there is none, or an
 * earlier repeat reads the stack. */
static int carry_into(const dt_hlo_plan *p, int repeat, int offset, int stack) {
    const dt_hlo_repeat *r = &p->repeats.repeat[repeat];
    for (int c = 0; c < r->n_carries && !is_read_before(p, repeat, stack); c++) {
        dt_hlo_rows w = {.stack = stack, .offset = offset, .carry = c};
        int init = r->carry[c].init;
        if (r->carry[c].offset == offset && init >= p->o->from && p->place[init].stack == stack &&
            fill_rows(p, r, &w) == r->n)
            return c;
    }
    return -1;
}

/* Takes the items at this offset out of a stack of states' new values unless all blocks write rows
 * of it, since such a stack has no scratch row. */
static void expel(dt_hlo_plan *p, const dt_hlo_repeat *r, int offset) {
    int stack = p->place[r->first + offset].stack, n = 0;
    for (int b = 0; b < r->n; b++) n += p->place[r->first + b * r->period + offset].stack == stack;
    for (int b = 0; b < r->n; b++) {
        int item = r->first + b * r->period + offset, at = p->place[item].stack;
        if (at < 0 || p->stack[at].kind != DT_HLO_UPDATED || n == r->n) continue;
        p->stack[at].item[p->place[item].row] = -1;
        p->place[item].stack = -1;
    }
}

static void write_offset(dt_hlo_plan *p, int repeat, int offset) {
    const dt_hlo_repeat *r = &p->repeats.repeat[repeat];
    int last = r->first + (r->n - 1) * r->period + offset;
    bool loose = false;
    expel(p, r, offset);
    for (int b = 0; b < r->n - 1; b++) {
        int item = r->first + b * r->period + offset;
        loose |= p->single[item] && p->place[item].stack < 0;
    }
    if (loose) {
        int stack = add_stack(p, DT_HLO_KEPT, dt_hlo_type_of(p, last));
        for (int b = 0; b < r->n; b++)
            if (p->place[r->first + b * r->period + offset].stack < 0)
                add_row(p, stack, r->first + b * r->period + offset);
    }
    for (int stack = -1; next_stack(p, r, offset, &stack);)
        add_write(p, repeat,
                  (dt_hlo_rows){.stack = stack,
                                .offset = offset,
                                .carry = carry_into(p, repeat, offset, stack)});
    if (p->place[last].stack < 0 ? p->single[last] : !p->covered[last]) {
        struct dt_hlo_traffic *t = &p->traffic[repeat];
        DT_GROW(t->last, t->cap_lasts, t->n_lasts + 1);
        t->last[t->n_lasts++] = offset;
    }
}

/* Turns stacks that no loop writes, except those of states, into joined ones: their items are
 * concatenated where they are needed. */
static void join_unwritten(dt_hlo_plan *p) {
    bool *written_to = dt_arena_array(p->arena, bool, p->n_stacks + 1);
    for (int i = 0; i < p->repeats.n; i++)
        for (int k = 0; k < p->traffic[i].n_writes; k++)
            written_to[p->traffic[i].write[k].stack] = true;
    for (int s = 0; s < p->n_stacks; s++) {
        if (written_to[s] || p->stack[s].kind == DT_HLO_FED) continue;
        if (p->stack[s].kind == DT_HLO_UPDATED) p->stack[p->stack[s].of].updated = -1;
        p->stack[s].kind = DT_HLO_JOINED;
        for (int i = 0; i < p->stack[s].n; i++)
            if (p->stack[s].item[i] >= 0 && p->place[p->stack[s].item[i]].stack == s)
                p->place[p->stack[s].item[i]].stack = -1;
    }
}

void dt_hlo_plan_create(dt_hlo_plan *p) {
    int n = p->o->n + 1;
    p->place = dt_arena_alloc(p->arena, (size_t)n * sizeof *p->place);
    p->single = dt_arena_array(p->arena, bool, n);
    p->covered = dt_arena_array(p->arena, bool, n);
    p->traffic = dt_arena_alloc(p->arena, ((size_t)p->repeats.n + 1) * sizeof *p->traffic);
    for (int i = 0; i < n; i++) p->place[i].stack = -1;
    place_groups(p);
    place_states(p);
    place_updates(p);
    place_lists(p);
    find_singles(p);
    for (int i = 0; i < p->repeats.n; i++) read_lists(p, i);
    for (int i = 0; i < p->repeats.n; i++)
        for (int j = 0; j < p->repeats.repeat[i].period; j++) write_offset(p, i, j);
    join_unwritten(p);
}

void dt_hlo_plan_release(dt_hlo_plan *p) {
    for (int i = 0; i < p->n_stacks; i++) free(p->stack[i].item);
    for (int i = 0; i < p->repeats.n && p->traffic; i++) {
        free(p->traffic[i].write);
        free(p->traffic[i].last);
    }
    free(p->stack);
}
