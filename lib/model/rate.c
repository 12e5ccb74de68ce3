/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Learning-rate schedules: a rate as a function of the step, emitted as graph nodes that depend on
 * the step counter, and computed as a number. Rates are computed in float32, as in Keras.
 */

#include "model/model.h"

/* ---- graph ---- */

dt_value dt_rate_step(dt_value step) { return dt_convert(step, DT_FLOAT32); }

dt_value dt_rate_floor(dt_value x) {
    return dt_convert(dt_convert(x, DT_INT64), dt_type_of_value(x).dtype);
}

dt_value dt_rate_emit(const dt_named *named, dt_value step) {
    return ((const dt_rate *)named->kind)->at(named->args, step);
}

/* ---- reading ---- */

dt_status *dt_rate_read(dt_arena *arena, const dt_tree *t, dt_named *out) {
    int n;
    const dt_kind *const *rows = dt_rates(&n);
    DT_TRY(dt_named_read(arena, rows, n, "learning rate schedule", t, out));
    const dt_rate *row = (const dt_rate *)out->kind;
    return row->check ? row->check(out->args, &out->at) : NULL;
}

/* ---- the rate of one step ---- */

dt_status *dt_rate_value(const dt_named *named, int64_t step, double *rate) {
    static const int64_t no_rows = 1;
    const dt_view arg = {dt_scalar_type(DT_INT64), &step};
    dt_trace *t = dt_trace_create("rate");
    dt_graph *g = NULL;
    dt_interpretation result;
    dt_return(t, "rate", dt_rate_emit(named, dt_trace_declare(t, "step", &arg.type)));
    DT_TRY(dt_trace_end(t, &g));
    dt_status *s = dt_interpret(g, NULL, 1, &no_rows, &arg, &result);
    if (!s) {
        *rate = (double)*(const float *)result.result[0].data;
        dt_interpretation_release(&result);
    }
    dt_graph_destroy(g);
    return s;
}

/* ---- the handle ---- */

struct dt_rate_schedule {
    int refs;
    dt_arena *arena;
    dt_named named;
};

static dt_status *read_handle(dt_rate_schedule *r, const char *format, va_list args) {
    dt_tree *tree;
    DT_TRY(dt_fragment_read(r->arena, "schedule", format, args, &tree));
    return dt_rate_read(r->arena, tree, &r->named);
}

dt_status *dt_rate_schedule_create(dt_rate_schedule **out, const char *format, ...) {
    DT_REQUIRE({out, "place for the schedule"}, {format, "fragment"});
    dt_rate_schedule *r = dt_alloc(sizeof *r);
    *r = (dt_rate_schedule){.refs = 1, .arena = dt_arena_create()};
    va_list args;
    va_start(args, format);
    dt_status *s = read_handle(r, format, args);
    va_end(args);
    if (s) {
        dt_rate_schedule_unref(r);
        return s;
    }
    dt_rate_schedule_unref(*out);
    *out = r;
    return NULL;
}

void dt_rate_schedule_unref(dt_rate_schedule *r) {
    if (!DT_LAST(r)) return;
    dt_arena_destroy(r->arena);
    DT_RETIRE(r);
}

dt_status *dt_rate_schedule_at(const dt_rate_schedule *r, int64_t step, double *rate) {
    DT_REQUIRE({DT_LIVE(r), "schedule"}, {rate, "place for the rate"});
    return dt_rate_value(&r->named, step, rate);
}

dt_value dt_rate_schedule_call(const dt_rate_schedule *r, dt_value step) {
    DT_LIVE(r);
    return step.trace && r ? dt_rate_emit(&r->named, step) : step;
}

dt_status *dt_rate_schedule_config(const dt_rate_schedule *r, char **json) {
    DT_REQUIRE({DT_LIVE(r), "schedule"}, {json, "place for the text"});
    dt_str text = {0};
    dt_json j = {.out = &text};
    dt_config_print(&r->named, &j, NULL);
    *json = dt_str_take(&text);
    return NULL;
}
