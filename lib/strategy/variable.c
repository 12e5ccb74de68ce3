/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles of variables: creation in the current scope, and queries. A mirrored variable is stored
 * as one array for all replicas until a step is compiled that may make its copies differ, or values
 * per replica are set, which is rare. A SyncOnReadVariable has one array per replica from the start
 * (`stack` in graph.h).
 */
#include "strategy/variable.h"

#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "op/cells.h"

static const char *const aggregations[] = {"NONE", "SUM", "MEAN", "ONLY_FIRST_REPLICA"};

const char *dt_aggregation_name(int aggregation) { return aggregations[aggregation]; }

/* ---- creating ---- */

static dt_status *check_options(const dt_strategy *s, const dt_variable_options *o,
                                dt_dtype dtype) {
    if ((unsigned)o->synchronization > DT_SYNC_ON_READ)
        return dt_fail(DT_E_VARIABLE, NULL, "%d is not a dt_synchronization",
                       (int)o->synchronization);
    if ((unsigned)o->aggregation > DT_AGGREGATE_ONLY_FIRST_REPLICA)
        return dt_fail(DT_E_VARIABLE, NULL, "%d is not a dt_aggregation", (int)o->aggregation);
    if ((unsigned)o->trainable > DT_TRAINABLE_NO)
        return dt_fail(DT_E_VARIABLE, NULL, "%d is not a dt_trainable", (int)o->trainable);
    if (s->row->plain) return NULL;
    if (o->synchronization == DT_SYNC_NONE)
        return dt_fail(DT_E_VARIABLE, NULL,
                       "variable '%s' cannot have synchronization NONE in the scope of a %s "
                       "strategy; use ON_WRITE, ON_READ or AUTO",
                       o->name ? o->name : "Variable", s->row->kind.name);
    if (o->aggregation == DT_AGGREGATE_MEAN && !dt_dtype_is_float(dtype))
        return dt_fail(DT_E_VARIABLE, NULL,
                       "variable '%s' is %s, but aggregation MEAN needs a floating-point dtype",
                       o->name ? o->name : "Variable", dt_dtype_name(dtype));
    return NULL;
}

static bool is_trainable(const dt_variable_options *o) {
    if (o->trainable == DT_TRAINABLE_DEFAULT) return o->synchronization != DT_SYNC_ON_READ;
    return o->trainable == DT_TRAINABLE_YES;
}

static void forget_strategy(dt_variable *v) { dt_strategy_unref(v->strategy); }

static dt_status *distribute(dt_variable *v, dt_strategy *s, const dt_variable_options *o) {
    v->synchronization = o->synchronization == DT_SYNC_ON_READ ? DT_SYNC_ON_READ : DT_SYNC_ON_WRITE;
    v->aggregation = (int)o->aggregation;
    if (s->row->plain) return NULL;
    v->strategy = dt_strategy_ref(s);
    v->forget = forget_strategy;
    v->may_diverge = v->aggregation == DT_AGGREGATE_NONE;
    return dt_variable_is_on_read(v) ? dt_variable_diverge(v, s->replicas) : NULL;
}

static dt_status *read_initializer(dt_arena *arena, dt_named *out, const char *format, ...) {
    dt_tree *tree = NULL;
    va_list args;

    va_start(args, format);
    dt_status *s = dt_fragment_read(arena, "initializer", format, args, &tree);
    va_end(args);
    return s ? s : dt_initializer_read(arena, tree, "zeros", out);
}

static dt_status *draw(dt_variable *v, const dt_variable_options *o) {
    dt_named initializer;

    if (!o->initializer) return NULL;
    if (!dt_dtype_is_float(v->type.dtype))
        return dt_fail(
            DT_E_VARIABLE, NULL,
            "variable '%s' is %s, but initializers generate floats; give an initial value", v->path,
            dt_dtype_name(v->type.dtype));
    dt_local_arena arena = dt_arena_create();
    dt_status *s = read_initializer(arena, &initializer, "%s", o->initializer);
    if (!s) s = dt_initializer_check(&initializer, &v->type);
    if (!s) dt_initialize(&initializer, o->seed, 0, v);
    return s;
}

static dt_status *fill(dt_variable *v, const dt_tensor *initial, const dt_variable_options *o) {
    if (!initial) return draw(v, o);
    memcpy(dt_host_edit(v), initial->data, (size_t)dt_type_bytes(&v->type));
    return NULL;
}

static dt_status *type_of(const dt_tensor *initial, const dt_variable_options *o, dt_type *out) {
    if (!initial) DT_TRY(dt_tensor_check(o->dtype, o->rank, o->shape));
    *out = initial ? initial->type : dt_type_of(o->dtype, o->rank, o->shape);
    return NULL;
}

dt_status *dt_variable_create(dt_variable **out, const dt_tensor *initial,
                              const dt_variable_options *options) {
    DT_LIVE(initial);
    const dt_variable_options o = options ? *options : (dt_variable_options){.name = NULL};
    dt_strategy *strategy = dt_get_strategy();
    dt_variable *v = NULL;
    dt_status *s;
    dt_type type;

    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(out, "dt_variable_create", "handle to fill"));
    DT_TRY(initial || options
               ? NULL
               : dt_fail(DT_E_VARIABLE, NULL,
                         "a variable needs an initial value, or options with dtype and shape"));
    DT_TRY(type_of(initial, &o, &type));
    DT_TRY(check_options(strategy, &o, type.dtype));
    DT_TRY(dt_variable_alloc(&v, o.name ? o.name : "Variable", &type, is_trainable(&o)));
    DT_GO(s, fill(v, initial, &o));
    DT_GO(s, distribute(v, strategy, &o));
    dt_variable_unref(*out);
    *out = v;
    return NULL;
out:
    dt_variable_unref(v);
    return s;
}

/* ---- queries ---- */

dt_status *dt_want_variable(const dt_variable *v, const char *call) {
    return dt_want(v, call, "variable");
}

const char *dt_variable_kind(const dt_variable *v) {
    DT_LIVE(v);
    if (!v || !v->strategy) return "Variable";
    return dt_variable_is_on_read(v) ? "SyncOnReadVariable" : "MirroredVariable";
}

int dt_variable_copies(const dt_variable *v) {
    DT_LIVE(v);
    return v && v->strategy ? v->strategy->replicas : 1;
}

static void print_name(const dt_variable *v, int replica, dt_str *out) {
    dt_str_puts(out, v->path);
    if (replica > 0) dt_str_printf(out, "/replica_%d", replica);
    dt_str_puts(out, ":0");
}

char *dt_variable_name(const dt_variable *v, int replica) {
    DT_LIVE(v);
    dt_str text = {0};

    if (!v || replica < 0 || replica >= dt_variable_copies(v)) return NULL;
    print_name(v, replica, &text);
    return dt_str_take(&text);
}

dt_dtype dt_variable_dtype(const dt_variable *v) {
    DT_LIVE(v);
    return v ? v->type.dtype : DT_FLOAT32;
}

int dt_variable_rank(const dt_variable *v) {
    DT_LIVE(v);
    return v ? v->type.rank : 0;
}

int64_t dt_variable_dim(const dt_variable *v, int axis) {
    DT_LIVE(v);
    return v && axis >= 0 && axis < v->type.rank ? v->type.dim[axis] : -1;
}

bool dt_variable_trainable(const dt_variable *v) {
    DT_LIVE(v);
    return v && v->trainable;
}

dt_view dt_variable_copy(const dt_variable *v, int replica) {
    return (dt_view){v->type,
                     (char *)dt_host_data(v) + (v->stack ? replica * dt_type_bytes(&v->type) : 0)};
}

/* ---- printing as tf.distribute does ---- */

static void print_copy(const dt_variable *v, int replica, dt_str *out) {
    dt_view copy = dt_variable_copy(v, replica);

    dt_str_puts(out, "<tf.Variable '");
    print_name(v, replica, out);
    dt_str_puts(out, "' ");
    dt_text_array(&copy, "", out);
    dt_str_puts(out, ">");
}

char *dt_variable_text(const dt_variable *v) {
    DT_LIVE(v);
    dt_str text = {0};
    dt_status *s = v ? dt_variable_fetch(v) : NULL;

    dt_status_free(s);
    if (!v || s) return NULL;
    if (v->strategy) dt_str_printf(&text, "%s:{\n", dt_variable_kind(v));
    for (int r = 0; r < dt_variable_copies(v); r++) {
        if (v->strategy) dt_str_printf(&text, "  %d: ", r);
        print_copy(v, r, &text);
        dt_str_puts(&text, !v->strategy ? "" : r + 1 < dt_variable_copies(v) ? ",\n" : "\n}");
    }
    return dt_str_take(&text);
}

/* ---- lists ---- */

static dt_status *check_list(dt_variable *const *v, int n) {
    if (n < 0 || (n > 0 && !v))
        return dt_fail(DT_E_VARIABLE, NULL, "cannot create a list of %d variables", n);
    for (int i = 0; i < n; i++) DT_TRY(dt_want_variable(dt_live(v[i]), "dt_variables_create"));
    return NULL;
}

dt_status *dt_variables_create(dt_variables **out, dt_variable *const *v, int n) {
    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(out, "dt_variables_create", "handle to fill"));
    DT_TRY(check_list(v, n));
    dt_variables *list = dt_alloc(sizeof *list);
    *list = (dt_variables){.n = n, .v = dt_alloc(((size_t)n + 1) * sizeof *list->v)};
    for (int i = 0; i < n; i++) {
        list->v[i] = v[i];
        v[i]->refs++;
    }
    dt_variables_unref(*out);
    *out = list;
    return NULL;
}

void dt_variables_unref(dt_variables *list) {
    if (!list || !list->v) /* A list that was released already has no `v`. */
        return;
    for (int i = 0; i < list->n; i++) dt_variable_unref(list->v[i]);
    free(list->v);
    DT_RETIRE(list);
}

dt_variable *dt_variables_at(const dt_variables *list, int i) {
    return list && i >= 0 && i < list->n ? list->v[i] : NULL;
}
