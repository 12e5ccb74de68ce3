/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables on devices. A copy hangs on its variable: it is uploaded when the host has written since, each step replaces it by what the step made, and it is
 * fetched only when somebody on the host asks. Between two checkpoints no variable travels.
 */
#include <stdlib.h>
#include <string.h>

#include "backend/pjrt/pjrt_impl.h"

static dt_view host_view(dt_variable *v)
{
    return (dt_view){ v->type, dt_host_edit(v) };
}

/* Nothing may be said of a value that is gone, though the host has an old one. */
static dt_status *fetch(void *state, dt_variable *v)
{
    dt_pjrt_copy *c = state;
    dt_status *s = c->lost ? dt_fail(DT_E_ACCELERATOR, NULL, "the value of '%s' was lost on the device in a step that failed", v->path) : NULL;

    if (!s) {
        dt_view whole = host_view(v);
        s = dt_pjrt_collect(c->device, c->buffer, c->n, &c->lie, &whole);
    }
    c->written = v->written;
    if (s)
        v->newer = &c->holder;
    return s;
}

static void forget(void *state)
{
    dt_pjrt_copy *c = state;
    dt_pjrt_drop(c->device, c->buffer, c->n);
    *c->link = c->next;
    if (c->next)
        c->next->link = c->link;
    free(c->buffer);
    free(c);
}

dt_status *dt_pjrt_copy_of(dt_pjrt_device *d, dt_variable *v, dt_pjrt_copy **out)
{
    if (v->held && v->held->fetch == fetch && ((dt_pjrt_copy *)v->held->state)->device == d) {
        *out = v->held->state;
        return NULL;
    }
    dt_pjrt_copy *c = dt_alloc(sizeof *c);
    *c = (dt_pjrt_copy){ .holder = { .fetch = fetch, .state = c, .forget = forget }, .device = d, .variable = v, .buffer = dt_alloc(dt_size_mul((size_t)d->n, sizeof *c->buffer)),
                         .next = d->copies, .link = &d->copies };
    dt_status *s = dt_variable_hold(v, &c->holder);
    if (s) {
        free(c->buffer);
        free(c);
        return s;
    }
    if (c->next)
        c->next->link = &c->next;
    d->copies = c;
    *out = c;
    return NULL;
}

/* One that lies otherwise than it is wanted goes over the host. */
dt_status *dt_pjrt_copy_ready(dt_pjrt_copy *c, const dt_pjrt_lie *lie, int n)
{
    dt_variable *v = c->variable;
    const bool alike = c->n == n && dt_pjrt_lies_alike(&c->lie, lie, v->type.rank);

    if (alike && c->n && (v->newer == &c->holder || c->written == v->written) && !c->lost)
        return NULL;
    DT_TRY(dt_variable_fetch(v));
    dt_pjrt_drop(c->device, c->buffer, c->n);
    c->n = 0;
    c->mesh = lie->mesh ? *lie->mesh : (dt_mesh){ 0 };
    c->lie = (dt_pjrt_lie){ lie->mesh ? &c->mesh : NULL, lie->layout };
    const dt_view whole = { v->type, (void *)dt_host_data(v) };
    DT_TRY(dt_pjrt_place(c->device, &whole, &c->lie, n, c->buffer));
    c->n = n;
    c->lost = false;
    c->written = v->written;
    return NULL;
}

void dt_pjrt_copy_replace(dt_pjrt_copy *c, dt_pjrt_buffer *const *const *result, int i, dt_pjrt_buffer **old)
{
    for (int k = 0; k < c->n; k++) {
        old[k] = c->buffer[k];
        c->buffer[k] = result[k][i];
    }
    c->variable->newer = &c->holder;
}

void dt_pjrt_copy_lose(dt_pjrt_copy *c)
{
    c->lost = true;
    c->variable->newer = &c->holder;
}

static dt_status *fetch_gone(void *state, dt_variable *v)
{
    (void)state;
    return dt_fail(DT_E_ACCELERATOR, NULL, "the value of '%s' was lost with the device", v->path);
}

/* A variable may outlive its strategy. What cannot be fetched any more is lost, which the next reader is told. */
void dt_pjrt_copies_release(dt_pjrt_device *d)
{
    static const dt_variable_holder gone = { .fetch = fetch_gone };
    while (d->copies) {
        dt_pjrt_copy *c = d->copies;
        dt_variable *v = c->variable;
        dt_status *s = dt_variable_hold(v, NULL);
        if (!s)
            continue;
        dt_status_free(s);
        v->held = NULL;
        v->newer = &gone;
        forget(c);
    }
}
