/* SPDX-License-Identifier: Apache-2.0 */
/* The table of back ends, and calls through it. Calls of a device that wraps another one go to that
 * one, except checks. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend_impl.h"
#include "exec/gemm.h"
#include "exec/instructions.h"

#define DT_BACKEND(name) extern const dt_backend dt_backend_##name;
#include "backend/backends.h"
#undef DT_BACKEND

const dt_backend *const *dt_backends(int *n) {
    static const dt_backend *const rows[] = {
#define DT_BACKEND(name) &dt_backend_##name,
#include "backend/backends.h"
#undef DT_BACKEND
    };
    *n = (int)(sizeof rows / sizeof *rows);
    return rows;
}

const dt_backend *dt_backend_find(const char *name) {
    int n;
    const dt_backend *const *rows = dt_backends(&n);

    for (int i = 0; i < n; i++)
        if (strcmp(rows[i]->kind.name, name) == 0) return rows[i];
    return NULL;
}

const char *dt_backend_name(const dt_backend *b) { return b->kind.name; }

bool dt_backend_takes_plugin(const char *name) {
    const dt_backend *b = name ? dt_backend_find(name) : NULL;
    return b && b->takes_plugin;
}

const char *dt_backend_about(const dt_backend *b) { return b->kind.about; }

/* ---- devices ---- */

dt_status *dt_device_open(dt_device **out, const dt_backend *b, const dt_device_options *o) {
    dt_device *d = dt_alloc(sizeof *d);
    dt_status *s;

    d->backend = b;
    s = b->open(d, o);
    if (s) free(d);
    else *out = d;
    return s;
}

void dt_device_close(dt_device *d) {
    if (!d) return;
    d->backend->close(d);
    free(d);
}

static const dt_device *innermost(const dt_device *d) {
    while (d->inner) d = d->inner;
    return d;
}

dt_device_facts dt_device_facts_of(const dt_device *d) {
    const dt_device *computes = d ? innermost(d) : NULL;
    return computes ? computes->backend->facts(computes) : (dt_device_facts){0};
}

int64_t dt_device_peak_bytes(const dt_device *d) {
    const dt_device *computes = d ? innermost(d) : NULL;
    return computes && computes->backend->peak_bytes ? computes->backend->peak_bytes(computes) : 0;
}

int dt_device_count(const dt_device *d) {
    const int n = innermost(d)->count;
    return n > 1 ? n : 1;
}

bool dt_device_runs_ahead(const dt_device *d) { return innermost(d)->runs_ahead; }

void dt_device_record(dt_device *d, dt_recorder *r) {
    while (d->inner) d = d->inner;
    d->backend->record(d, r);
}

bool dt_device_is_priced(const dt_device *d) { return d->priced; }

static dt_status *check(const dt_device *d, const dt_compile_request *r, dt_price *price) {
    return d->priced ? d->backend->check(d, r, price) : NULL;
}

dt_status *dt_device_check(const dt_device *d, const dt_compile_request *r) {
    dt_price price = {0};
    return check(d, r, &price);
}

/* ---- executables ---- */

dt_status *dt_device_compile(dt_device *d, const dt_compile_request *r, dt_executable **out) {
    dt_executable *x = dt_alloc(sizeof *x);
    dt_status *s = NULL;

    for (x->device = d; !s && x->device->inner; x->device = x->device->inner)
        s = check(x->device, r, &x->price);
    if (!s) s = x->device->backend->compile(x->device, r, &x->state);
    if (s) free(x);
    else *out = x;
    return s;
}

void dt_executable_destroy(dt_executable *x) {
    if (!x) return;
    x->device->backend->release(x->state);
    free(x);
}

dt_status *dt_executable_start(dt_executable *x, const dt_env *env, const dt_view *arg,
                               dt_view *result, bool *flies) {
    const dt_backend *b = x->device->backend;
    *flies = false;
    DT_TRY(b->start(x->state, env, arg, result));
    *flies = b->finish && !(env->refusal && env->refusal->finders);
    x->flies += *flies;
    return NULL;
}

dt_status *dt_executable_finish(dt_executable *x) {
    x->flies--;
    return x->device->backend->finish(x->state);
}

dt_status *dt_executable_lend(dt_executable *x, const dt_view *arg, dt_lent **out) {
    const dt_backend *b = x->device->backend;
    *out = NULL;
    if (!b->lend) return NULL;
    dt_lent *l = dt_alloc(sizeof *l);
    *l = (dt_lent){.backend = b};
    dt_status *s = b->lend(x->state, arg, &l->state);
    if (s) free(l);
    else *out = l;
    return s;
}

void dt_lent_take_back(dt_lent *l) {
    if (!l) return;
    l->backend->take_back(l->state);
    free(l);
}

bool dt_executable_flies(const dt_executable *x) { return x && x->flies > 0; }

const dt_price *dt_executable_price(const dt_executable *x) { return &x->price; }

int64_t dt_executable_host_bytes(const dt_executable *x) {
    return x->device->backend->host_bytes(x->state);
}

const char *dt_executable_largest_layer(const dt_executable *x, dt_arena *arena, int64_t *bytes) {
    return x->device->backend->largest_layer(x->state, arena, bytes);
}

void dt_executable_print(const dt_executable *x, dt_str *out) {
    x->device->backend->print(x->state, out);
}

/* ---- what this machine has ---- */

static_assert((int)DT_HOST_SETS >= (int)DT_MAX_SIMD, "all sets have room");

/* Opens a library and closes it again. Returns whether it can be used, and what it says about
 * itself or why it cannot. */
static dt_host_library find_library(const char *name, dt_status *(*open)(dt_gemm_library *)) {
    dt_gemm_library l = {0};
    dt_status *s = open(&l);
    dt_host_library found = {name, !s, dt_strdup(s ? dt_status_text(s) : l.about)};
    if (!s) l.close(&l);
    dt_status_free(s);
    return found;
}

static dt_host_library about_own(const dt_simd *simd) {
    return (dt_host_library){
        "own", true,
        dt_strdup(simd->fuses ? "dtrain's own loops, the default: the same bits on every processor"
                              : "dtrain's own loops, slow without FMA: libraries are the default, "
                                "and bits depend on them")};
}

dt_status *dt_host_facts_find(dt_host_facts *out) {
    const dt_simd *chosen = NULL, *set[DT_MAX_SIMD];
    *out = (dt_host_facts){0};
    DT_TRY(dt_instructions_choose(NULL, &chosen));
    *out = (dt_host_facts){.instructions = chosen->name,
                           .sets = dt_simd_list(set),
                           .limited = dt_instructions_limit()};
    for (int i = 0; i < out->sets; i++) out->set[i] = set[i]->name;
    out->library[0] = about_own(chosen);
    out->library[1] = find_library("openblas", dt_gemm_open_openblas);
    out->library[2] = find_library("onednn", dt_gemm_open_onednn);
    return NULL;
}

void dt_host_facts_release(dt_host_facts *f) {
    for (int i = 0; i < DT_HOST_LIBRARIES; i++) free(f->library[i].about);
    *f = (dt_host_facts){0};
}

const char *dt_host_instructions(void) {
    const dt_simd *chosen = NULL;
    dt_status *s = dt_instructions_choose(NULL, &chosen);
    dt_status_free(s);
    return s ? "" : chosen->name;
}
