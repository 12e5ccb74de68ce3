/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of variables on devices. A copy is attached to its variable: it is uploaded if the host
 * has written to the variable, each step that changes the variable replaces it by the new value,
 * and it is fetched only when the host reads the variable. So steps transfer no variables as long
 * as the host neither reads nor writes them and all programs use one layout.
 *
 * Variables of blocks that a program repeats share one copy, stacked along a new first dimension;
 * on the host they are separate. A program that needs another layout gets the values through the
 * host.
 */
#include <stdlib.h>
#include <string.h>

#include "backend/pjrt/pjrt_impl.h"

static dt_status *fetch(void *state, dt_variable *v);

/* Returns the member of a copy on this device that belongs to the variable; NULL: this device has
 * none. */
static dt_pjrt_member *member_of(const dt_pjrt_device *d, const dt_variable *v) {
    dt_pjrt_member *m = v->held && v->held->fetch == fetch ? v->held->state : NULL;
    return m && m->copy->device == d ? m : NULL;
}

/* ---- downloading ---- */

/* Downloads the values of all variables of the copy that are newer than the host's. Variables that
 * the host has written since, and those that are not attached any more, are left out. */
static dt_status *collect(dt_pjrt_copy *c) {
    DT_LOCAL dt_view *row = dt_alloc(dt_size_mul((size_t)c->n_members, sizeof *row));
    for (int i = 0; i < c->n_members; i++) {
        dt_variable *v = c->member[i].variable;
        const bool wanted = v && v->newer == &c->member[i].holder;
        row[i] = (dt_view){c->row, wanted ? dt_host_edit(v) : NULL};
        c->member[i].wanted = wanted;
    }
    dt_status *s =
        dt_pjrt_collect_stack(c->device, c->buffer, c->n, &c->lie, row, c->n_members, c->stacked);
    for (int i = 0; i < c->n_members; i++)
        if (c->member[i].wanted) {
            c->member[i].written = c->member[i].variable->written;
            c->member[i].variable->newer = s ? &c->member[i].holder : NULL;
        }
    return s;
}

/* Fetches the value of a variable for the host. If the value was lost, this is an error even though
 * the host has an older value. */
static dt_status *fetch(void *state, dt_variable *v) {
    dt_pjrt_copy *c = ((dt_pjrt_member *)state)->copy;
    return c->lost
               ? dt_fail(DT_E_ACCELERATOR, NULL,
                         "the value of '%s' was lost on the device in a step that failed", v->path)
               : collect(c);
}

/* ---- creating, uploading and releasing copies ---- */

static void destroy(dt_pjrt_copy *c) {
    dt_pjrt_drop(c->device, c->buffer, c->n);
    *c->link = c->next;
    if (c->next) c->next->link = c->link;
    free(c->buffer);
    free(c->member);
    free(c);
}

/* Detaches a variable from its copy. The copy is released with the last of its variables. */
static void forget(void *state) {
    dt_pjrt_member *m = state;
    m->variable = NULL;
    if (--m->copy->n_held == 0) destroy(m->copy);
}

static bool is_of(const dt_pjrt_device *d, dt_variable *const *v, int n, bool stacked,
                  dt_pjrt_copy **out) {
    const dt_pjrt_member *m = member_of(d, v[0]);
    bool same = m && m->copy->n_members == n && m->copy->stacked == stacked;
    for (int i = 0; same && i < n; i++) same = m->copy->member[i].variable == v[i];
    if (same) *out = m->copy;
    return same;
}

static dt_pjrt_copy *make(dt_pjrt_device *d, dt_variable *const *v, int n, bool stacked) {
    dt_pjrt_copy *c = dt_alloc(sizeof *c);
    *c = (dt_pjrt_copy){.device = d,
                        .n_members = n,
                        .stacked = stacked,
                        .row = v[0]->type,
                        .next = d->copies,
                        .link = &d->copies};
    c->buffer = dt_alloc(dt_size_mul((size_t)d->n, sizeof *c->buffer));
    c->member = dt_alloc(dt_size_mul((size_t)n, sizeof *c->member));
    for (int i = 0; i < n; i++)
        c->member[i] = (dt_pjrt_member){
            .holder = {.fetch = fetch, .state = &c->member[i], .forget = forget}, .copy = c};
    if (c->next) c->next->link = &c->next;
    return d->copies = c;
}

dt_status *dt_pjrt_copy_of(dt_pjrt_device *d, dt_variable *const *v, int n, bool stacked,
                           dt_pjrt_copy **out) {
    if (is_of(d, v, n, stacked, out)) return NULL;
    dt_pjrt_copy *c = make(d, v, n, stacked);
    dt_status *s = NULL;
    /* This function counts as a holder, so that the copy is not released before it returns. */
    c->n_held = 1;
    for (int i = 0; !s && i < n; i++) {
        s = dt_variable_hold(v[i], &c->member[i].holder);
        if (s) break;
        c->member[i].variable = v[i];
        c->n_held++;
    }
    for (int i = 0; s && i < n && c->member[i].variable; i++)
        /* This cannot fail, because the host has the variable's value. */
        dt_status_free(dt_variable_hold(v[i], NULL));
    if (--c->n_held == 0) destroy(c);
    else *out = c;
    return s;
}

static bool is_current(const dt_pjrt_copy *c) {
    bool current = !c->lost;
    for (int i = 0; i < c->n_members; i++) {
        const dt_variable *v = c->member[i].variable;
        current =
            current && (v->newer == &c->member[i].holder || c->member[i].written == v->written);
    }
    return current;
}

/* Does nothing if n devices have the current values in this layout. Otherwise fetches values that
 * are newer than the host's, and uploads all from the host. */
dt_status *dt_pjrt_copy_ready(dt_pjrt_copy *c, const dt_pjrt_lie *lie, int n) {
    if (c->n && c->n == n && dt_pjrt_lies_alike(&c->lie, lie, c->row.rank) && is_current(c))
        return NULL;
    for (int i = 0; i < c->n_members; i++) DT_TRY(dt_variable_fetch(c->member[i].variable));
    dt_pjrt_drop(c->device, c->buffer, c->n);
    c->n = 0;
    c->mesh = lie->mesh ? *lie->mesh : (dt_mesh){0};
    c->lie = (dt_pjrt_lie){lie->mesh ? &c->mesh : NULL, lie->layout};
    DT_LOCAL dt_view *row = dt_alloc(dt_size_mul((size_t)c->n_members, sizeof *row));
    for (int i = 0; i < c->n_members; i++)
        row[i] = (dt_view){c->row, (void *)dt_host_data(c->member[i].variable)};
    dt_status *s =
        dt_pjrt_place_stack(c->device, row, c->n_members, c->stacked, &c->lie, n, c->buffer);
    if (s) return s;
    c->n = n;
    c->lost = false;
    for (int i = 0; i < c->n_members; i++) c->member[i].written = c->member[i].variable->written;
    return NULL;
}

/* ---- steps ---- */

static void set_newer(dt_pjrt_copy *c) {
    for (int i = 0; i < c->n_members; i++)
        if (c->member[i].variable) c->member[i].variable->newer = &c->member[i].holder;
}

void dt_pjrt_copy_replace(dt_pjrt_copy *c, dt_pjrt_buffer *const *const *result, int i,
                          dt_pjrt_buffer **old) {
    for (int k = 0; k < c->n; k++) {
        old[k] = c->buffer[k];
        c->buffer[k] = result[k][i];
    }
    set_newer(c);
}

void dt_pjrt_lose(dt_pjrt_device *d, dt_variable *v) {
    dt_pjrt_member *m = member_of(d, v);
    if (!m) return;
    m->copy->lost = true;
    set_newer(m->copy);
}

/* ---- fixed layouts ---- */

void dt_pjrt_copy_settle(dt_pjrt_copy *c) { c->settled = true; }

const dt_pjrt_copy *dt_pjrt_settled(const dt_pjrt_device *d, const dt_variable *v) {
    const dt_pjrt_member *m = member_of(d, v);
    return m && m->copy->settled ? m->copy : NULL;
}

/* ---- releasing all copies ---- */

static dt_status *fetch_gone(void *state, dt_variable *v) {
    (void)state;
    return dt_fail(DT_E_ACCELERATOR, NULL, "the value of '%s' was lost with the device", v->path);
}

static dt_pjrt_member *any_member(dt_pjrt_copy *c) {
    int i = 0;
    while (!c->member[i].variable) i++;
    return &c->member[i];
}

/* A variable may live longer than its strategy. If its value cannot be downloaded any more, it is
 * lost, which the next read reports. */
void dt_pjrt_copies_release(dt_pjrt_device *d) {
    static const dt_variable_holder gone = {.fetch = fetch_gone};
    while (d->copies) {
        dt_pjrt_member *m = any_member(d->copies);
        dt_variable *v = m->variable;
        dt_status *s = dt_variable_hold(v, NULL);
        if (!s) continue;
        dt_status_free(s);
        v->held = NULL;
        v->newer = &gone;
        forget(m);
    }
}

/*
 * Arrays that are uploaded in advance. The thread that prepares batches lends a batch as soon as it
 * is complete, while the device computes an earlier one. The step that later reads the same memory
 * finds the buffers in the device's list. The step itself uploads the arrays that are not in the
 * list.
 */

/* ---- one array ---- */

dt_pjrt_loan *dt_pjrt_make_loans(dt_arena *arena, int args, int devices) {
    dt_pjrt_loan *l = dt_arena_array(arena, dt_pjrt_loan, args + 1);
    for (int i = 0; i < args; i++) {
        l[i].buffer = dt_arena_array(arena, dt_pjrt_buffer *, devices);
        l[i].free = dt_arena_array(arena, void *, devices);
    }
    return l;
}

dt_status *dt_pjrt_loan_give(dt_pjrt_device *d, dt_pjrt_loan *l) {
    if (dt_pjrt_is_cut(&l->lie, l->array.type.rank))
        return dt_pjrt_place(d, &l->array, &l->lie, d->n, l->buffer);
    for (int k = 0; k < d->n; k++)
        DT_TRY(dt_pjrt_lend(d->client, d->ordinal[k], &l->array, &l->buffer[k], &l->free[k]));
    return NULL;
}

/* Destroys the buffers and waits for the events after which nothing reads the array. These occur at
 * the latest when the buffers are destroyed. */
dt_status *dt_pjrt_loan_drop(const dt_pjrt_device *d, dt_pjrt_loan *l) {
    dt_status *s = NULL;
    dt_pjrt_drop(d, l->buffer, d->n);
    for (int k = 0; k < d->n; k++) {
        dt_status *bad = dt_pjrt_await(d->client, l->free[k]);
        l->free[k] = NULL;
        if (s) dt_status_free(bad);
        else s = bad;
    }
    return s;
}

/* ---- lists of lent arrays ---- */

struct dt_pjrt_lent {
    dt_pjrt_device *device;
    dt_arena *arena;
    int n;
    dt_pjrt_loan *loan; /* [n] the lent arrays: arguments of a program, or results of one */
    dt_pjrt_lent *next, **link;
};

static void list(dt_pjrt_lent *l) {
    dt_pjrt_device *d = l->device;
    pthread_mutex_lock(&d->lock);
    l->next = d->lent;
    l->link = &d->lent;
    if (l->next) l->next->link = &l->next;
    d->lent = l;
    pthread_mutex_unlock(&d->lock);
}

/* Removes l from the device's list. If lending failed, it is not in the list. */
static void unlist(dt_pjrt_lent *l) {
    pthread_mutex_lock(&l->device->lock);
    if (l->link) *l->link = l->next;
    if (l->next) l->next->link = l->link;
    pthread_mutex_unlock(&l->device->lock);
}

static dt_pjrt_buffer *const *find_in(const dt_pjrt_lent *l, const dt_view *array,
                                      const dt_pjrt_lie *lie) {
    for (int i = 0; i < l->n; i++)
        if (l->loan[i].array.data == array->data &&
            dt_type_equal(&l->loan[i].array.type, &array->type) &&
            dt_pjrt_lies_alike(&l->loan[i].lie, lie, array->type.rank))
            return l->loan[i].buffer;
    return NULL;
}

dt_pjrt_buffer *const *dt_pjrt_find_lent(dt_pjrt_device *d, const dt_view *array,
                                         const dt_pjrt_lie *lie) {
    dt_pjrt_buffer *const *found = NULL;
    pthread_mutex_lock(&d->lock);
    for (const dt_pjrt_lent *l = d->lent; l && !found; l = l->next) found = find_in(l, array, lie);
    pthread_mutex_unlock(&d->lock);
    return found;
}

/* Lends the arrays arg[graph->n_args] of a step in the layout of the variant for equal numbers of
 * rows; if the rows do not divide evenly into segments, each device gets whole arrays. Nothing that
 * is read here changes while steps run. */
dt_status *dt_pjrt_lend_arrays(void *executable, const dt_view *arg, void **lent) {
    const dt_pjrt_program *x = executable;
    const dt_spmd *over = x->segments && x->rows % x->segments ? NULL : x->cut;
    dt_arena *arena = dt_arena_create();
    dt_pjrt_lent *l = dt_arena_new(arena, dt_pjrt_lent);
    dt_status *s = NULL;

    *l = (dt_pjrt_lent){.device = x->device,
                        .arena = arena,
                        .n = x->graph->n_args,
                        .loan = dt_pjrt_make_loans(arena, x->graph->n_args, x->device->n)};
    for (int i = 0; !s && i < l->n; i++) {
        l->loan[i].array = arg[i];
        l->loan[i].lie = dt_pjrt_lie_of(over, over ? over->arg : NULL, i);
        s = dt_pjrt_loan_give(l->device, &l->loan[i]);
    }
    if (s) dt_pjrt_take_back(l);
    else list(*lent = l);
    return dt_pjrt_explain(x, s);
}

dt_pjrt_lent *dt_pjrt_lend_made(dt_pjrt_device *d, int n, const dt_pjrt_loan *made) {
    dt_arena *arena = dt_arena_create();
    dt_pjrt_lent *l = dt_arena_new(arena, dt_pjrt_lent);
    *l = (dt_pjrt_lent){
        .device = d, .arena = arena, .n = n, .loan = dt_pjrt_make_loans(arena, n, d->n)};
    for (int i = 0; i < n; i++) {
        l->loan[i].array = made[i].array;
        l->loan[i].lie = made[i].lie;
        for (int k = 0; k < d->n; k++) {
            l->loan[i].buffer[k] = made[i].buffer[k];
            made[i].buffer[k] = NULL;
        }
    }
    list(l);
    return l;
}

static void keep_first_fault(dt_pjrt_device *d, dt_status *s) {
    pthread_mutex_lock(&d->lock);
    if (d->bad) dt_status_free(s);
    else d->bad = s;
    pthread_mutex_unlock(&d->lock);
}

void dt_pjrt_take_back(void *lent) {
    dt_pjrt_lent *l = lent;
    unlist(l);
    for (int i = 0; i < l->n; i++)
        keep_first_fault(l->device, dt_pjrt_loan_drop(l->device, &l->loan[i]));
    dt_arena_destroy(l->arena);
}

dt_status *dt_pjrt_late_fault(dt_pjrt_device *d) {
    pthread_mutex_lock(&d->lock);
    dt_status *s = d->bad;
    d->bad = NULL;
    pthread_mutex_unlock(&d->lock);
    return s;
}
