/* SPDX-License-Identifier: Apache-2.0 */
/* Copies a user's settings, and converts them to the options of a client: those of the job and, for
 * GPU plug-ins, the devices that will compute and the options that JAX reads from the
 * environment. */
#include "pjrt/settings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/environment.h"
#include "pjrt/options.h"

/* ---- settings ---- */

dt_pjrt_settings *dt_pjrt_settings_copy(const dt_pjrt_settings *s) {
    if (!s) return NULL;
    dt_pjrt_settings *copy = dt_alloc(sizeof *copy);
    dt_arena *arena = dt_arena_create();
    dt_pjrt_setting *at = dt_arena_array(arena, dt_pjrt_setting, s->n + 1);

    for (int i = 0; i < s->n; i++) {
        at[i] = s->at[i];
        at[i].name = dt_arena_strdup(arena, s->at[i].name);
        if (at[i].kind == DT_PJRT_STRING)
            at[i].value.text = dt_arena_strdup(arena, s->at[i].value.text);
        if (at[i].kind == DT_PJRT_INT64_LIST)
            at[i].value.list =
                dt_arena_copy(arena, s->at[i].value.list, (size_t)at[i].n * sizeof(int64_t));
    }
    *copy = *s;
    copy->at = at;
    copy->cache = s->cache ? dt_arena_strdup(arena, s->cache) : NULL;
    copy->arena = arena;
    return copy;
}

void dt_pjrt_settings_destroy(dt_pjrt_settings *s) {
    if (!s) return;
    dt_arena_destroy(s->arena);
    free(s);
}

const dt_pjrt_setting *dt_pjrt_settings_find(const dt_pjrt_settings *s, const char *name) {
    for (int i = 0; s && i < s->n; i++)
        if (strcmp(s->at[i].name, name) == 0) return &s->at[i];
    return NULL;
}

/* The options of XLA's GPU plug-ins, and the kinds of values that they accept. */
static const struct {
    const char *name;
    dt_pjrt_kind kind;
} known[] = {
    {"platform_name", DT_PJRT_STRING},
    {"allocator", DT_PJRT_STRING},
    {"memory_fraction", DT_PJRT_FLOAT},
    {"preallocate", DT_PJRT_BOOL},
    {"collective_memory_size", DT_PJRT_INT64},
    {"visible_devices", DT_PJRT_INT64_LIST},
    {"node_id", DT_PJRT_INT64},
    {"num_nodes", DT_PJRT_INT64},
    {"partition_index", DT_PJRT_INT64},
    {"should_stage_host_to_device_transfers", DT_PJRT_BOOL},
    {"max_inflight_computations", DT_PJRT_INT64},
    {"abort_collectives_on_failure", DT_PJRT_BOOL},
    {"use_tfrt_gpu_client", DT_PJRT_BOOL},
    {"enable_mock_nccl", DT_PJRT_BOOL},
    {"mock_gpu_topology", DT_PJRT_STRING},
};

bool dt_pjrt_kind_of(const char *name, dt_pjrt_kind *out) {
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0) {
            *out = known[i].kind;
            return true;
        }
    return false;
}

/* ---- the environment, as JAX reads it ---- */

static dt_status *bad_value(const char *variable, const char *text, const char *expected) {
    return dt_fail(DT_E_BACKEND, NULL, "%s: expected %s, got '%.80s'", variable, expected, text);
}

static dt_status *read_fraction(const char *variable, const char *text, dt_pjrt_setting *out) {
    char *end;
    out->value.number = strtod(text, &end);
    if (*end || !isfinite(out->value.number) || out->value.number <= 0)
        return bad_value(variable, text, "a positive number such as 0.9");
    return NULL;
}

static dt_status *read_mebibytes(const char *variable, const char *text, dt_pjrt_setting *out) {
    char *end;
    const long long mebibytes = strtoll(text, &end, 10);
    if (*end || mebibytes < 0 || mebibytes > INT64_MAX >> 20)
        return bad_value(variable, text, "a number of MiB");
    out->value.whole = (int64_t)mebibytes << 20;
    return NULL;
}

static dt_status *read_text(const char *variable, const char *text, dt_pjrt_setting *out) {
    (void)variable;
    out->value.text = text;
    return NULL;
}

static dt_status *read_switch(const char *variable, const char *text, dt_pjrt_setting *out) {
    (void)variable;
    out->value.flag =
        strcmp(text, "0") != 0 && strcmp(text, "false") != 0 && strcmp(text, "False") != 0;
    return NULL;
}

static const struct {
    const char *variable, *name;
    dt_status *(*read)(const char *variable, const char *text, dt_pjrt_setting *out);
} environment[] = {
    {"XLA_CLIENT_MEM_FRACTION", "memory_fraction", read_fraction},
    {"XLA_PYTHON_CLIENT_MEM_FRACTION", "memory_fraction", read_fraction},
    {"XLA_PYTHON_CLIENT_PREALLOCATE", "preallocate", read_switch},
    {"XLA_PYTHON_CLIENT_ALLOCATOR", "allocator", read_text},
    {"XLA_PYTHON_CLIENT_COLLECTIVE_MEM_SIZE_MB", "collective_memory_size", read_mebibytes},
    {"XLA_PYTHON_CLIENT_ABORT_COLLECTIVES_ON_FAILURE", "abort_collectives_on_failure", read_switch},
    {"XLA_PYTHON_CLIENT_USE_TFRT_GPU_CLIENT", "use_tfrt_gpu_client", read_switch},
};
enum { N_ENVIRONMENT = sizeof environment / sizeof *environment };

/* ---- options ---- */

static bool has_option(const dt_pjrt_options *o, const char *name) {
    for (int i = 0; i < o->n; i++)
        if (dt_pjrt_is_named(&o->at[i], name)) return true;
    return false;
}

static void add(dt_pjrt_options *o, const dt_pjrt_setting *s) {
    dt_pjrt_named_value *v = &o->at[o->n++];
    *v = (dt_pjrt_named_value){DT_PJRT_HEAD(dt_pjrt_named_value), .name = s->name,
                               .name_size = strlen(s->name), .kind = s->kind, .value_size = 1};
    switch (s->kind) {
    case DT_PJRT_STRING:
        v->value.string = s->value.text;
        v->value_size = strlen(s->value.text);
        break;
    case DT_PJRT_INT64: v->value.int64 = s->value.whole; break;
    case DT_PJRT_INT64_LIST:
        v->value.list = s->value.list;
        v->value_size = (size_t)s->n;
        break;
    case DT_PJRT_FLOAT: v->value.number = (float)s->value.number; break;
    case DT_PJRT_BOOL: v->value.boolean = s->value.flag; break;
    }
}

/* Adds the option of row i of `environment` from text[i], the value of its variable, unless that is
 * NULL or the option is set already. Fails with BACKEND for a bad value and, as JAX does, if an
 * earlier variable sets the same option. */
static dt_status *add_variable(dt_pjrt_options *o, int i, const char *const *text) {
    dt_pjrt_setting s = {.name = environment[i].name};
    if (!text[i]) return NULL;
    for (int k = 0; k < i; k++)
        if (text[k] && strcmp(environment[k].name, s.name) == 0)
            return dt_fail(DT_E_BACKEND, NULL, "%s and %s are both set; unset one of them",
                           environment[k].variable, environment[i].variable);
    if (has_option(o, s.name)) return NULL;
    if (!dt_pjrt_kind_of(s.name, &s.kind))
        return dt_fail(DT_E_INTERNAL, NULL, "%s: no kind is known", s.name);
    DT_TRY(environment[i].read(environment[i].variable, text[i], &s));
    add(o, &s);
    return NULL;
}

static dt_status *add_environment(dt_pjrt_options *o) {
    const char *text[N_ENVIRONMENT];
    dt_status *s = NULL;
    for (int i = 0; !s && i < N_ENVIRONMENT; i++) {
        text[i] = dt_environment(environment[i].variable);
        s = add_variable(o, i, text);
    }
    return s;
}

static int by_number(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Restricts the client to these devices, so that it does not reserve memory of other devices. */
static void add_visible(dt_pjrt_options *o, const dt_pjrt_opening *how) {
    o->visible = dt_alloc(dt_size_mul((size_t)how->n_ordinals + 1, sizeof *o->visible));
    for (int i = 0; i < how->n_ordinals; i++) o->visible[i] = how->ordinal[i];
    qsort(o->visible, (size_t)how->n_ordinals, sizeof *o->visible, by_number);
    add(o, &(dt_pjrt_setting){"visible_devices", DT_PJRT_INT64_LIST, .value.list = o->visible,
                              .n = how->n_ordinals});
}

enum { OWN_OPTIONS = 2 };

dt_status *dt_pjrt_options_of(const dt_pjrt *p, const dt_pjrt_opening *how, dt_pjrt_options *out) {
    const bool gpu = dt_pjrt_drives_gpus(p);
    const dt_pjrt_settings *s = how->settings;
    const int most = (s ? s->n : 0) + N_ENVIRONMENT + OWN_OPTIONS;
    *out = (dt_pjrt_options){.at = dt_alloc(dt_size_mul((size_t)most, sizeof *out->at))};

    /* Without this, listing devices would reserve three quarters of the memory of all GPUs. */
    if (gpu && how->looks)
        add(out, &(dt_pjrt_setting){"preallocate", DT_PJRT_BOOL, .value.flag = false});
    for (int i = 0; s && i < s->n; i++)
        if (!has_option(out, s->at[i].name)) add(out, &s->at[i]);
    if (gpu && how->ordinal && !has_option(out, "visible_devices")) add_visible(out, how);
    return gpu ? add_environment(out) : NULL;
}

void dt_pjrt_options_release(dt_pjrt_options *o) {
    free(o->at);
    free(o->visible);
    *o = (dt_pjrt_options){0};
}
