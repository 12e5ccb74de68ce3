/* SPDX-License-Identifier: Apache-2.0 */
/*
 * split, replicate and assign: the placement of a value on the logical devices of a replica. The
 * calls check their arguments and add an annotation to the graph (op/sharding.c); the value itself
 * does not change. A variable's placement is kept with the variable, and the annotation is added
 * wherever a step reads the variable (op/state.c).
 *
 *     split [1, 2, 2]   of (16, 4, 6) over 4 devices: tile (16, 2, 3) on each, device 1 begins at
 *                       (0, 0, 3)
 */
#include <string.h>

#include "op/placement.h"
#include "strategy/split.h"
#include "strategy/variable.h"

/* ---- checks ---- */

static dt_status *check_strategy(const dt_strategy *s) {
    if (!s)
        return dt_fail(DT_E_LOGICAL_DEVICE, NULL,
                       "cannot place a value on logical devices: no strategy was given");
    if (!s->assignment)
        return dt_fail(DT_E_LOGICAL_DEVICE, NULL,
                       "a %s strategy has no logical devices; use a tpu strategy",
                       s->row->kind.name);
    return dt_scope_fits(s);
}

/* Whether x is a value of a running step of this strategy. If it belongs to another step, that
 * trace is marked as failed. Outside of step functions there is no trace, so the next public call
 * returns the error. If x is the result of a failed call, that call's error is kept. */
static bool is_usable(const dt_strategy *s, dt_value x, const char *call) {
    if (!x.trace && dt_context_now() == DT_OUTSIDE)
        dt_status_keep(dt_fail(DT_E_TRACE_VALUE, NULL,
                               "values can be split, replicated or assigned only in a step "
                               "function: outside there is no "
                               "graph to annotate"));
    if (!x.trace || !dt_trace_has(x, call)) return false;
    dt_status *bad = check_strategy(s);
    if (bad) dt_trace_fail(x.trace, bad);
    return !bad;
}

static void print_parts(dt_str *out, const int64_t *v, int n) {
    dt_str_puts(out, "partition_dimensions [");
    for (int i = 0; i < n && i < 16; i++)
        dt_str_printf(out, "%s%lld", i ? "," : "", (long long)v[i]);
    dt_str_puts(out, n > 16 ? ",...]" : "]");
}

static dt_status *check_split(const dt_strategy *s, const dt_type *t, const char *of,
                              const int64_t *parts, int n) {
    dt_local_str text = {0};

    if (n < 0 || (!parts && n > 0))
        return dt_fail(DT_E_SPLIT, NULL,
                       "partition_dimensions must be given, %d numbers of at least 1", t->rank);
    print_parts(&text, parts, n);
    return dt_split_check(&(dt_split){.what = dt_str_text(&text),
                                      .name = "partition_dimensions",
                                      .of = of,
                                      .type = t,
                                      .parts = parts,
                                      .n = n,
                                      .logical = s->logical});
}

static dt_status *check_device(const dt_strategy *s, int logical_device_id) {
    if (s->spmd)
        return dt_fail(DT_E_LOGICAL_DEVICE, NULL,
                       "a value cannot be assigned to a single logical device with SPMD "
                       "partitioning; split or replicate it");
    if (logical_device_id < 0 || logical_device_id >= s->logical)
        return dt_fail(DT_E_LOGICAL_DEVICE, NULL,
                       "no logical device %d to assign a value to: a replica has %d",
                       logical_device_id, s->logical);
    return NULL;
}

/* Returns the attribute for a split that has been checked. */
static dt_sharding_attr tiles(const int64_t *parts, int n) {
    dt_sharding_attr attr = {.kind = DT_SHARDING_OTHER, .rank = n};

    if (n > 0) memcpy(attr.parts, parts, (size_t)n * sizeof *attr.parts);
    return attr;
}

/* ---- values of a step ---- */

static dt_value failed(dt_value x, dt_status *s) {
    dt_trace_fail(x.trace, s);
    return (dt_value){0};
}

dt_value dt_strategy_split_to_logical_devices(dt_strategy *s, dt_value x,
                                              const int64_t *partition_dimensions, int n) {
    DT_LIVE(s);
    if (!is_usable(s, x, "dt_strategy_split_to_logical_devices")) return (dt_value){0};
    dt_type type = dt_type_of_value(x);
    dt_status *bad = check_split(s, &type, "the value", partition_dimensions, n);
    if (bad) return failed(x, bad);
    dt_sharding_attr attr = tiles(partition_dimensions, n);
    return dt_annotate(x, &attr);
}

dt_value dt_strategy_replicate_to_logical_devices(dt_strategy *s, dt_value x) {
    DT_LIVE(s);
    if (!is_usable(s, x, "dt_strategy_replicate_to_logical_devices")) return (dt_value){0};
    return dt_annotate(x, &(dt_sharding_attr){.kind = DT_SHARDING_REPLICATED});
}

/* Emits the op that made x once more, with its inputs moved to the device: assigning a value to a
 * device means that the device computes it. Returns x itself if no input is on another device, or
 * if its op is an annotation or a collective. */
static dt_value made_on(dt_value x, int device) {
    const dt_node *n = dt_node_of(x);
    dt_value in[DT_MAX_IN];
    bool moves = false;
    for (int k = 0; k < n->n_in; k++) {
        in[k] = (dt_value){x.trace, n->in[k], x.generation};
        int from = dt_placement_of_value(in[k]).device;
        if (from >= 0 && from != device) {
            in[k] = dt_move_to(in[k], device);
            moves = true;
        }
    }
    return moves && n->op->role != DT_ROLE_NOTE && !n->op->traits.collective
               ? dt_emit(x.trace, n->op, in, n->n_in, n->attr)
               : x;
}

dt_value dt_strategy_assign_to_logical_device(dt_strategy *s, dt_value x, int logical_device_id) {
    DT_LIVE(s);
    if (!is_usable(s, x, "dt_strategy_assign_to_logical_device")) return (dt_value){0};
    dt_status *bad = check_device(s, logical_device_id);
    if (bad) return failed(x, bad);
    return dt_move_to(made_on(x, logical_device_id), logical_device_id);
}

/* ---- variables ---- */

static dt_status *check_variable(const dt_strategy *s, const dt_variable *v, const char *call) {
    DT_TRY(dt_variable_outside(v, call));
    DT_TRY(check_strategy(s));
    if (v->strategy && v->strategy != s)
        return dt_fail(DT_E_LOGICAL_DEVICE, NULL,
                       "variable '%s' was made in the scope of another strategy (%s)", v->path,
                       v->strategy->what);
    return NULL;
}

dt_status *dt_strategy_split_variable(dt_strategy *s, dt_variable *v,
                                      const int64_t *partition_dimensions, int n) {
    DT_LIVE(s);
    DT_LIVE(v);
    dt_local_str name = {0};

    DT_TRY(check_variable(s, v, "dt_strategy_split_variable"));
    dt_str_printf(&name, "variable '%s'", v->path);
    dt_status *bad = check_split(s, &v->type, dt_str_text(&name), partition_dimensions, n);
    if (bad) return bad;
    dt_sharding_attr attr = tiles(partition_dimensions, n);
    dt_variable_annotate(v, &attr);
    return NULL;
}

dt_status *dt_strategy_replicate_variable(dt_strategy *s, dt_variable *v) {
    DT_LIVE(s);
    DT_LIVE(v);
    DT_TRY(check_variable(s, v, "dt_strategy_replicate_variable"));
    dt_variable_annotate(v, &(dt_sharding_attr){.kind = DT_SHARDING_REPLICATED});
    return NULL;
}

dt_status *dt_strategy_assign_variable(dt_strategy *s, dt_variable *v, int logical_device_id) {
    DT_LIVE(s);
    DT_LIVE(v);
    DT_TRY(check_variable(s, v, "dt_strategy_assign_variable"));
    DT_TRY(check_device(s, logical_device_id));
    dt_variable_annotate(
        v, &(dt_sharding_attr){.kind = DT_SHARDING_MAXIMAL, .device = logical_device_id});
    return NULL;
}

/* ---- reading annotations ---- */

static const dt_sharding_attr *attr_of(dt_value x) {
    const dt_node *n = dt_node_of(x);
    return n && n->op->role == DT_ROLE_NOTE ? n->attr : NULL;
}

bool dt_sharding_of(dt_value x, dt_sharding *out) {
    const dt_sharding_attr *a = attr_of(x);

    if (!out) return a != NULL;
    *out = (dt_sharding){.kind = a ? (dt_sharding_kind)a->kind : DT_SHARDING_NONE};
    if (out->kind == DT_SHARDING_OTHER) {
        out->rank = a->rank;
        memcpy(out->tile_dimensions, a->parts, sizeof a->parts);
        out->n_devices = 1;
        for (int d = 0; d < a->rank; d++)
            /* The number of logical devices is the product of all parts. */
            out->n_devices *= (int)a->parts[d];
    } else if (out->kind == DT_SHARDING_MAXIMAL) {
        out->rank = out->n_devices = 1;
        out->tile_dimensions[0] = 1;
        out->first_device = (int)a->device;
    }
    return a != NULL;
}

static void whole_tile(const dt_type *t, int64_t begin[8], int64_t size[8]) {
    for (int d = 0; d < t->rank; d++) {
        begin[d] = 0;
        size[d] = t->dim[d] < 0 ? -1 : t->dim[d];
    }
}

bool dt_tile_of(dt_value x, int logical_device, int64_t begin[8], int64_t size[8]) {
    dt_sharding s;
    dt_type t = dt_type_of_value(x);

    if (!dt_sharding_of(x, &s) || logical_device < 0 || !begin || !size) return false;
    whole_tile(&t, begin, size);
    if (s.kind == DT_SHARDING_REPLICATED) return true;
    if (logical_device < s.first_device || logical_device >= s.first_device + s.n_devices)
        return false;
    for (int d = t.rank - 1; s.kind == DT_SHARDING_OTHER && d >= 0; d--) {
        int64_t tile = logical_device % s.tile_dimensions[d];
        logical_device /= (int)s.tile_dimensions[d];
        size[d] = size[d] < 0 ? -1 : size[d] / s.tile_dimensions[d];
        begin[d] = size[d] < 0 && s.tile_dimensions[d] > 1 ? -1 : size[d] < 0 ? 0 : tile * size[d];
    }
    return true;
}
