/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Injected faults. Each is reported as an event when it happens, and then the run reacts as it
 * would to a real one: a lost core ends it at once and leaves what is on disk; a NaN propagates
 * until the loss or a checkpoint shows it.
 */
#include "strategy/cluster.h"
#include "train/faults.h"
#include "train/hook.h"

#include <math.h>

static void tell(const run *r, const dt_fault *f, int64_t step) {
    dt_run_emit(r, &(dt_event){.kind = DT_EVENT_FAULT, .step = step, .text = f->text});
}

void dt_faults_begin(const run *r) {
    for (int i = 0; i < r->q->faults.n; i++) {
        const dt_fault *f = &r->q->faults.v[i];
        dt_str text = {0};
        if (f->step > r->steps)
            dt_str_printf(&text, "--inject '%s' will not happen: the run ends with step %lld",
                          f->text, (long long)r->steps);
        else if (f->step && f->step <= r->at.step && f->kind != DT_FAULT_SLOW_LINK)
            dt_str_printf(&text, "--inject '%s' will not happen: step %lld was trained before",
                          f->text, (long long)f->step);
        if (text.size) dt_run_warn(r, dt_str_text(&text));
        dt_str_release(&text);
    }
}

/* ---- a core that stops ---- */

static const int *find_core(const dt_topology *t, int64_t core) {
    for (int i = 0; i < t->tasks * t->devices; i++)
        if (dt_topology_id(t, t->coordinates[i]) == core) return t->coordinates[i];
    return t->coordinates[0];
}

static bool stands_at(const int *a, const int *b) {
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2] && a[3] == b[3];
}

/* "replica 2, logical device 1"; a core that computes nothing takes the slice down all the same. */
static void print_work(const dt_assignment *a, const int *at, dt_str *out) {
    for (int i = 0; i < a->replicas * a->logical; i++)
        if (stands_at(dt_assignment_at(a, i / a->logical, i % a->logical), at)) {
            dt_str_printf(out, "replica %d, logical device %d", i / a->logical, i % a->logical);
            return;
        }
    dt_str_puts(out, "no replica is on it");
}

static dt_status *core_gone(const run *r, const dt_fault *f) {
    const dt_topology *t = r->strategy->resolver->topology;
    const int *at = find_core(t, f->core);
    dt_str work = {0};
    print_work(r->strategy->assignment, at, &work);
    dt_status *s =
        dt_fail(DT_E_CORE_GONE, NULL,
                "step %lld: core %lld of %s at (%d, %d, %d, %d) does not answer: %s, host %d",
                (long long)f->step, (long long)f->core, dt_topology_name(t), at[0], at[1], at[2],
                at[3], dt_str_text(&work), dt_topology_task(t, at));
    dt_str_release(&work);
    return r->checkpoint
               ? dt_note(s, "last checkpoint: %s; the same command resumes from it", r->checkpoint)
               : dt_note(s, "no checkpoint was saved: the same command starts from the beginning");
}

/* ---- a number that is none ---- */

/* A weight of the last layer that has one: every example meets it, which cannot be said of a row of
 * a table. */
static dt_variable *victim(const run *r) {
    return r->model->trainable.n ? r->model->trainable.v[r->model->trainable.n - 1] : NULL;
}

static dt_status *spoil(const run *r) {
    dt_variable *v = victim(r);
    if (!v) return NULL;
    DT_TRY(dt_variable_fetch(v));
    if (v->type.dtype == DT_FLOAT32) *(float *)dt_host_edit(v) = NAN;
    else if (v->type.dtype == DT_FLOAT64) *(double *)dt_host_edit(v) = (double)NAN;
    return NULL;
}

/* A bit of its first number, on one worker: what a cosmic ray does. It is the first one of the
 * digits, lest rounding forgets it. */
static dt_status *flip(const run *r, int64_t worker) {
    const dt_cluster *c = r->strategy->cluster;
    dt_variable *v = victim(r);
    if (!v || worker != (c ? c->rank : 0)) return NULL;
    DT_TRY(dt_variable_fetch(v));
    ((unsigned char *)dt_host_edit(v))[dt_dtype_size(v->type.dtype) - 2] ^= 0x40;
    return NULL;
}

dt_status *dt_faults_note(const run *r, dt_status *s) {
    for (int i = 0; s && i < r->q->faults.n; i++)
        if (r->q->faults.v[i].kind == DT_FAULT_NAN && r->q->faults.v[i].step <= r->at.step &&
            victim(r))
            s = dt_note(s, "injected: the first number of '%s' was NaN as step %lld began",
                        victim(r)->path, (long long)r->q->faults.v[i].step);
    return s;
}

/* ---- links that are slow ---- */

/* The step is priced again whenever one more is. */
static dt_status *slow_down(run *r, int64_t step) {
    virtual_time *v = &r->virtual_time;
    dt_slow_links *slow = dt_arena_array(r->arena, dt_slow_links, r->q->faults.n + 1);
    int n = dt_faults_slow_links(&r->q->faults, step, slow);
    if (n == v->n_slow || dt_trainer_price(r->q->trainer)->seconds == 0) return NULL;
    v->n_slow = n;
    return dt_trainer_slowed(r->q->trainer, slow, n, &v->slow_s);
}

/* ---- all of them ---- */

static dt_status *step_begin(run *r, dt_hook *h) {
    const int64_t step = r->at.step + 1;
    (void)h;
    for (int i = 0; i < r->q->faults.n; i++) {
        const dt_fault *f = &r->q->faults.v[i];
        if (f->step != step) continue;
        tell(r, f, step);
        if (f->kind == DT_FAULT_NAN) DT_TRY(spoil(r));
        if (f->kind == DT_FAULT_FLIP) DT_TRY(flip(r, f->worker));
        if (f->kind == DT_FAULT_KILL) return core_gone(r, f);
    }
    return r->q->faults.n > 0 ? slow_down(r, step) : NULL;
}

const dt_hook_row dt_hook_faults = {.step_begin = step_begin};
