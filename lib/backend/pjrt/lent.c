/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays that are uploaded in advance. The thread that prepares batches lends a batch as soon as it
 * is complete, while the device computes an earlier one. The step that later reads the same memory
 * finds the buffers in the device's list. It uploads arrays that are not in the list itself.
 */
#include <stdlib.h>

#include "backend/pjrt/program.h"

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

/* ---- the arrays of a later step ---- */

struct dt_pjrt_lent {
    dt_pjrt_device *device;
    dt_arena *arena;
    int n;
    dt_pjrt_loan *loan; /* [n] the lent arrays, by number of the argument */
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

/* Removes l from the device's list. It may not be in the list, if lending failed. */
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

/* Lends arrays in the layout of the program's first variant, which is for equal numbers of rows.
 * Nothing that is read here changes while steps run. */
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

/* Ends a loan. This is not part of a step, so an error of the device is stored for the next step to
 * return. */
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
