/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the section `backend`: the back end, and for plug-ins the path and settings. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "job/job.h"

struct backend {
    int type, matmul_precision;
    const char *plugin, *compilation_cache;
    const dt_tree *options;
    dt_location type_at, plugin_at, cache_at;
    double memory_fraction;
    bool preallocate, has_fraction, has_preallocate;
};
static const char *const backends[] = {
#define DT_BACKEND(name) #name,
#include "backend/backends.h"
#undef DT_BACKEND
    NULL};
/* names of dt_pjrt_products, in the same order */
static const char *const precisions[] = {"float32", "tensorfloat32", NULL};
static const dt_field backend_fields[] = {
    DT_ENUM(struct backend, type, backends, .required = true, .noun = "back end",
            DT_AT(struct backend, type_at), .help = "what computes"),
    DT_ONE_OF(plugin, DT_FORMS(DT_PLAIN(TEXT, struct backend, plugin)),
              DT_AT(struct backend, plugin_at),
              .help = "pjrt: path of the plug-in; default: DTRAIN_PJRT_PLUGIN"),
    DT_REAL(struct backend, memory_fraction, .above_min = true, .max = 1, .preset = "0.75",
            .set = 1 + offsetof(struct backend, has_fraction),
            .help = "pjrt on GPUs: part of each GPU's memory that the plug-in may take; default: "
                    "the plug-in's, 0.75"),
    DT_FLAG(struct backend, preallocate, .preset = "true",
            .set = 1 + offsetof(struct backend, has_preallocate),
            .help = "pjrt on GPUs: take that memory at the start, not when it is needed; default: "
                    "the plug-in's, true"),
    DT_ENUM(struct backend, matmul_precision, precisions, .noun = "precision",
            .help = "pjrt: operands of float32 products and convolutions keep all digits, or are "
                    "rounded to "
                    "TensorFloat-32, which GPUs multiply faster"),
    DT_ONE_OF(compilation_cache, DT_FORMS(DT_PLAIN(TEXT, struct backend, compilation_cache)),
              DT_AT(struct backend, cache_at),
              .help = "pjrt: folder that keeps compiled programs for the next start; "
                      "default: DTRAIN_PJRT_CACHE, or none"),
    DT_TREE(struct backend, options, .as = DT_TREE_MAP, .forms = DT_FORMS(DT_MAP_OF(DT_ANY)),
            .help = "pjrt: other options of the plug-in's client by name: {allocator: cuda_async}"),
    DT_END};

const dt_field *dt_backend_fields(void) { return backend_fields; }

/* Checks a plug-in's path, which is relative to the working directory of the process, even with -C.
 * A plug-in is code that will run, so a job's base, which may be another person's file, must not
 * choose it. */
static dt_status *check_plugin(const dt_job *j, const struct backend *x) {
    if (!x->plugin) return NULL;
    if (j->base && x->plugin_at.source == j->base)
        return dt_suggest(dt_fail(DT_E_BACKEND, &x->plugin_at,
                                  "backend.plugin is code that runs here, and cannot come from the "
                                  "file that a job extends"),
                          "name it in the job itself, with --plugin, or in " DT_PJRT_PLUGIN_ENV);
    if (!*x->plugin) return dt_fail(DT_E_BACKEND, &x->plugin_at, "backend.plugin must be a path");
    return NULL;
}

/* Finds the directory of the compilation cache. It holds code that will run, so the file that a job
 * extends must not choose it either. */
static dt_status *find_cache(const dt_job *j, const struct backend *x, const char **out) {
    const char *path = x->compilation_cache;
    char *local = NULL;
    *out = path;
    if (!path) return NULL;
    if (j->base && x->cache_at.source == j->base)
        return dt_suggest(dt_fail(DT_E_BACKEND, &x->cache_at,
                                  "backend.compilation_cache holds code that runs here, and cannot "
                                  "come from the file that a job extends"),
                          "name it in the job itself, or in DTRAIN_PJRT_CACHE");
    if (!*path)
        return dt_fail(DT_E_BACKEND, &x->cache_at, "backend.compilation_cache must be a path");
    DT_TRY(dt_at(dt_path_local(path, &local), &x->cache_at));
    if (local) *out = dt_arena_strdup(j->arena, local);
    free(local);
    return NULL;
}

/* ---- options of the client ---- */

/* Whether `s` is NULL; frees it, because a value may be read in another way. */
static bool worked(dt_status *s) {
    dt_status_free(s);
    return !s;
}

static dt_status *read_list(dt_arena *arena, const dt_tree *t, const char *what,
                            dt_pjrt_setting *out) {
    const int n = t->kind == DT_TREE_LIST ? t->n : 1;
    int64_t *list = dt_arena_array(arena, int64_t, n + 1);
    dt_status *faults = NULL;
    for (int i = 0; i < n; i++)
        dt_status_append(&faults, dt_tree_int(t->kind == DT_TREE_LIST ? t->item[i] : t, what,
                                              -INFINITY, INFINITY, &list[i]));
    out->kind = DT_PJRT_INT64_LIST;
    out->value.list = list;
    out->n = n;
    return faults;
}

/* Reads an option's value by the kind that GPU plug-ins expect. */
static dt_status *read_known(dt_arena *arena, const dt_tree *t, const char *what,
                             dt_pjrt_setting *out) {
    switch (out->kind) {
    case DT_PJRT_STRING: return dt_tree_text(t, what, &out->value.text);
    case DT_PJRT_INT64: return dt_tree_int(t, what, -INFINITY, INFINITY, &out->value.whole);
    case DT_PJRT_INT64_LIST: return read_list(arena, t, what, out);
    case DT_PJRT_FLOAT: return dt_tree_real(t, what, &out->value.number);
    case DT_PJRT_BOOL: return dt_tree_bool(t, what, &out->value.flag);
    }
    return NULL;
}

/* Reads an option that another plug-in may have, by the form of its value. */
static dt_status *read_unknown(dt_arena *arena, const dt_tree *t, const char *what,
                               dt_pjrt_setting *out) {
    if (t->kind == DT_TREE_LIST) return read_list(arena, t, what, out);
    out->kind = DT_PJRT_BOOL;
    if (!t->quoted && worked(dt_tree_bool(t, what, &out->value.flag))) return NULL;
    out->kind = DT_PJRT_INT64;
    if (!t->quoted && worked(dt_tree_int(t, what, -INFINITY, INFINITY, &out->value.whole)))
        return NULL;
    out->kind = DT_PJRT_FLOAT;
    if (!t->quoted && worked(dt_tree_real(t, what, &out->value.number))) return NULL;
    out->kind = DT_PJRT_STRING;
    return dt_tree_text(t, what, &out->value.text);
}

static dt_status *read_option(dt_arena *arena, const dt_entry *e, dt_pjrt_setting *out) {
    dt_local_str what = {0};
    *out = (dt_pjrt_setting){.name = e->key};
    dt_str_printf(&what, "backend.options.%s", e->key);
    return dt_pjrt_kind_of(e->key, &out->kind)
               ? read_known(arena, e->value, dt_str_text(&what), out)
               : read_unknown(arena, e->value, dt_str_text(&what), out);
}

/* Reads the plug-in's settings. Those with a key of their own are read first, and an option must
 * not set them again. */
static dt_status *read_settings(dt_job *j, const struct backend *x) {
    const int n = x->options ? x->options->n : 0;
    dt_pjrt_setting *at = dt_arena_array(j->arena, dt_pjrt_setting, n + 2);
    dt_pjrt_settings *s = dt_arena_new(j->arena, dt_pjrt_settings);
    dt_status *faults = NULL;
    const char *cache = NULL;

    DT_TRY(find_cache(j, x, &cache));
    *s = (dt_pjrt_settings){
        .at = at, .cache = cache, .products = (dt_pjrt_products)x->matmul_precision};
    if (x->has_fraction)
        at[s->n++] =
            (dt_pjrt_setting){"memory_fraction", DT_PJRT_FLOAT, .value.number = x->memory_fraction};
    if (x->has_preallocate)
        at[s->n++] = (dt_pjrt_setting){"preallocate", DT_PJRT_BOOL, .value.flag = x->preallocate};
    for (int i = 0; i < n; i++) {
        const dt_entry *e = &x->options->entry[i];
        if (dt_pjrt_settings_find(s, e->key))
            dt_status_append(
                &faults, dt_fail(DT_E_BACKEND, &e->key_at,
                                 "backend.options.%s: backend.%s says the same; remove one of them",
                                 e->key, e->key));
        else dt_status_append(&faults, read_option(j->arena, e, &at[s->n++]));
    }
    j->settings = s;
    return faults;
}

/* ---- the section ---- */

static dt_status *refuse_keys(const dt_tree *t) {
    static const char *const keys[] = {"plugin",           "memory_fraction",   "preallocate",
                                       "matmul_precision", "compilation_cache", "options"};
    dt_status *faults = NULL;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (dt_tree_get(t, keys[i]))
            dt_status_append(&faults,
                             dt_suggest(dt_fail(DT_E_UNKNOWN_KEY, dt_tree_value_at(t, keys[i]),
                                                "unknown key '%s' in backend", keys[i]),
                                        "only valid for type: pjrt"));
    return faults;
}

dt_status *dt_job_read_backend(dt_job *j, const dt_tree *t) {
    struct backend x;
    if (!t) return NULL;
    DT_TRY(dt_fields_read(j->arena, backend_fields, t, &t->at, "backend", &x));
    if (!dt_backend_takes_plugin(backends[x.type])) DT_TRY(refuse_keys(t));
    else {
        DT_TRY(check_plugin(j, &x));
        j->plugin = x.plugin ? x.plugin : j->plugin;
        DT_TRY(read_settings(j, &x));
    }
    j->backend = backends[x.type];
    j->backend_at = x.type_at;
    return NULL;
}

void dt_job_take_backend(dt_job *j, const dt_job_source *source) {
    if (source->backend) {
        j->backend = source->backend;
        j->backend_at = (dt_location){0};
    }
    if (source->plugin) {
        j->plugin = source->plugin;
        if (!source->backend) j->backend = "pjrt";
    }
}
