/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of every function of the public headers, with arguments that the caller chooses. The
 * list of calls is generated from the headers (scripts/api-calls), so a function is in it from the
 * day it is declared; one with a type of argument that is not known here does not compile.
 *
 * Each kind of handle has some slots. What a call makes goes into a slot; what is released stays in
 * its slot, as a handle that was released already. A slot knows whether its handle is the caller's
 * to release: the library may hold further references to it, and those are not the caller's.
 */
#ifndef TESTS_SUPPORT_API_H
#define TESTS_SUPPORT_API_H

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/handle.h"
#include "dtrain.h"

enum { API_SLOTS = 3, API_FORMAT = 16 }; /* API_FORMAT + k: the format whose text is argument k */

/* Handles that functions make and release. */
/* clang-format off */
#define API_HANDLES(X) \
    X(tensor) X(variable) X(values) X(dataset) X(dist_dataset) X(iterator) X(job) X(row_writer) X(model) X(optimizer) X(loss) X(history) X(meter) \
    X(rate_schedule) X(function) X(strategy) X(resolver) X(topology) X(device_assignment) X(variables) X(checkpoint) \
    X(coordinator) X(per_worker) X(remote) X(sweep)
/* clang-format on */

typedef struct api {
    /* 0 .. n - 1; 0 is what is most likely to be right */
    int (*choose)(struct api *s, int argument, int n);
    void *user;
    const char *text; /* the right text for this function */
    dt_trace *trace;  /* of the step that the call is made in; NULL: outside */
    dt_value stale;   /* of a step that has ended */
    void *made;       /* one place for texts and lent pointers */
                      /* clang-format off */
#define X(type) struct { dt_##type *handle; bool own; } type[API_SLOTS]; int last_##type;
                      /* clang-format on */
    API_HANDLES(X)
#undef X
    dt_status *status; /* freed after the call */
} api;

#define MAYBE_UNUSED static inline __attribute__((unused))

/* ---- handles ---- */

/* A slot, or none; the first slot first. */
#define X(type)                                                                                    \
    MAYBE_UNUSED dt_##type *give_dt_##type##_p(api *s, int k) {                                    \
        int i = s->choose(s, k, API_SLOTS + 1);                                                    \
        s->last_##type = i;                                                                        \
        return i < API_SLOTS ? s->type[i].handle : NULL;                                           \
    }                                                                                              \
    MAYBE_UNUSED const dt_##type *give_const_dt_##type##_p(api *s, int k) {                        \
        return give_dt_##type##_p(s, k);                                                           \
    }                                                                                              \
    MAYBE_UNUSED dt_##type **give_dt_##type##_p_p(api *s, int k) {                                 \
        int i = s->choose(s, k, API_SLOTS + 1);                                                    \
        s->last_##type = i;                                                                        \
        if (i >= API_SLOTS) return NULL;                                                           \
        if (!s->type[i].own && dt_live(s->type[i].handle)) s->type[i].handle = NULL;               \
        s->type[i].own = true;                                                                     \
        return &s->type[i].handle;                                                                 \
    }                                                                                              \
    MAYBE_UNUSED void release_##type(api *s, int i) {                                              \
        if (i >= API_SLOTS || (dt_live(s->type[i].handle) && !s->type[i].own)) return;             \
        s->type[i].own = false;                                                                    \
        dt_##type##_unref(s->type[i].handle);                                                      \
    }
API_HANDLES(X)
#undef X

MAYBE_UNUSED const dt_topology **give_const_dt_topology_p_p(api *s, int k) {
    return s->choose(s, k, 2) ? NULL : (const dt_topology **)&s->made;
}

/* Statuses of the caller's: one, none, or one that was freed. */
MAYBE_UNUSED dt_status *give_dt_status_p(api *s, int k) {
    int i = s->choose(s, k, 3);
    dt_status *made =
        i == 1 ? NULL : dt_status_create(i ? INT_MIN : 17, "%s", "an error of the caller's");
    if (i == 2) dt_status_free(made);
    return made;
}

MAYBE_UNUSED const dt_status *give_const_dt_status_p(api *s, int k) {
    dt_status_free(s->status);
    return s->status = give_dt_status_p(s, k);
}

MAYBE_UNUSED dt_status **give_dt_status_p_p(api *s, int k) {
    static dt_status *place;
    dt_status_free(place);
    place = NULL;
    return s->choose(s, k, 2) ? NULL : &place;
}

/* Two of a list are right; a list may also have a hole. */
#define API_LIST(name, type, handle_type)                                                          \
    MAYBE_UNUSED type give_##name(api *s, int k) {                                                 \
        static handle_type *list[4];                                                               \
        int i = s->choose(s, k, 4);                                                                \
        for (int j = 0; j < 4; j++)                                                                \
            list[j] = i == 2 && j == 1 ? NULL : s->LIST_OF[i == 3 ? j % API_SLOTS : 0].handle;     \
        return i == 1 ? NULL : (type)list;                                                         \
    }
#define LIST_OF tensor
API_LIST(dt_tensor_p_const_p, dt_tensor *const *, dt_tensor)
#undef LIST_OF
#define LIST_OF variable
API_LIST(dt_variable_p_const_p, dt_variable *const *, dt_variable)
#undef LIST_OF
#define LIST_OF dataset
API_LIST(const_dt_dataset_p_const_p, const dt_dataset *const *, dt_dataset)
#undef LIST_OF

/* ---- numbers and texts ---- */

#define API_NUMBERS(name, type, ...)                                                               \
    MAYBE_UNUSED type give_##name(api *s, int k) {                                                 \
        static const type of[] = {__VA_ARGS__};                                                    \
        return of[s->choose(s, k, sizeof of / sizeof *of)];                                        \
    }
API_NUMBERS(int, int, 0, 1, 2, -1, 7, INT_MAX, INT_MIN)
API_NUMBERS(int64_t, int64_t, 1, 0, 2, -1, 64, INT64_MAX, INT64_MIN)
API_NUMBERS(uint32_t, uint32_t, 1, 0, UINT32_MAX)
API_NUMBERS(uint64_t, uint64_t, 1, 0, UINT64_MAX)
API_NUMBERS(double, double, 0.5, 0, -1, NAN, INFINITY)
API_NUMBERS(bool, bool, false, true)
API_NUMBERS(count, int, 2, 1, 0, -1, INT_MIN) /* of arrays that have at least two */

#define API_ENUM(type)                                                                             \
    MAYBE_UNUSED type give_##type(api *s, int k) {                                                 \
        static const int of[] = {0, 1, 2, 3, 6, -1, INT_MAX};                                      \
        return (type)of[s->choose(s, k, sizeof of / sizeof *of)];                                  \
    }
API_ENUM(dt_loss_average)
API_ENUM(dt_reduce_op)
API_ENUM(dt_write)
API_ENUM(dt_scatter)
API_ENUM(dt_direction)
MAYBE_UNUSED dt_dtype give_dt_dtype(api *s, int k) {
    static const int of[] = {DT_FLOAT32, 0, 1, 12, 99, -1};
    return (dt_dtype)of[s->choose(s, k, sizeof of / sizeof *of)];
}

static const char *const api_texts[] = {
    "x",
    "",
    "%s%n%x",
    "\x1b[31m\xff\xfe\n\r\"",
    "CPU:0",
    "sim:v2-8",
    "SUM",
    "dense/kernel",
    "momentum",
    "{}",
    "[",
    "{a: {b: [1, 2",
    "MeanSquaredError",
    "SGD: {learning_rate: 0.1}",
    "- Input: {shape: [2]}\n- Dense: {units: 3}\n",
    "{optimizer: SGD, loss: MeanSquaredError}",
    "{epochs: 1}",
    "{global_batch_size: 2}",
    "{format: synthetic, element: {x: {shape: [2]}}, global_batch_size: 2}",
    "ones",
    "relu",
    "run",
    "x.npy",
    /* no slash at its head: as a path it must stay in the folder of the test */
    "job:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/replica:0000000000/task:0000000000/device:CPU:0",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/replica:0000000000/task:0000000000",
    "1,2,2,2",
    "program",
    "16GiB",
    "/dev/null/none",
};
enum { API_TEXTS = sizeof api_texts / sizeof *api_texts };

static char api_long[100001];

MAYBE_UNUSED const char *text_at(api *s, int i) {
    if (!*api_long) memset(api_long, 'a', sizeof api_long - 1);
    return i == 0 && s->text ? s->text
           : i == 1          ? NULL
           : i == 2          ? api_long
                             : api_texts[i < 3 ? 0 : i - 3];
}

MAYBE_UNUSED const char *give_const_char_p(api *s, int k) {
    return text_at(s, s->choose(s, k, API_TEXTS + 3));
}
MAYBE_UNUSED const char *give_text(api *s, int k) {
    const char *t = give_const_char_p(s, k);
    return t ? t : "";
}
MAYBE_UNUSED const char *give_format(api *s, int k) {
    return s->choose(s, API_FORMAT + k, 2) ? NULL : "%s";
}
MAYBE_UNUSED const char *const *give_const_char_p_const_p(api *s, int k) {
    static const char *list[4];
    int i = s->choose(s, k, API_TEXTS + 4);
    for (int j = 0; j < 4; j++)
        list[j] = j == 1 && i == API_TEXTS + 3 ? NULL
                  : j == 0 || i < 3            ? text_at(s, i < API_TEXTS + 3 ? i : 0)
                                               : api_texts[4];
    return i == 1 ? NULL : list;
}

/* ---- places and arrays ---- */

#define API_PLACE(name, type)                                                                      \
    MAYBE_UNUSED type *give_##name(api *s, int k) {                                                \
        static type place[64];                                                                     \
        return s->choose(s, k, 2) ? NULL : place;                                                  \
    }
API_PLACE(int_p, int)
API_PLACE(int_a, int)
API_PLACE(int64_t_p, int64_t)
API_PLACE(int64_t_a, int64_t)
API_PLACE(bool_p, bool)
API_PLACE(dt_coordinator_counts_p, dt_coordinator_counts)
API_PLACE(dt_generation_p, dt_generation)
API_PLACE(size_t_p, size_t)
API_PLACE(double_p, double)
API_PLACE(dt_reduce_op_p, dt_reduce_op)
API_PLACE(dt_sharding_p, dt_sharding)
API_PLACE(dt_spec_p, dt_spec)
API_PLACE(dt_replica_context_p, dt_replica_context)
API_PLACE(dt_value_p, dt_value)
API_PLACE(dt_scope_p, dt_scope)
API_PLACE(const_char_p_p, const char *)
MAYBE_UNUSED char *give_char_p(api *s, int k) {
    static char place[64];
    return s->choose(s, k, 2) ? NULL : place;
}
MAYBE_UNUSED char **give_char_p_p(api *s, int k) {
    static char *place;
    free(place);
    place = NULL;
    return s->choose(s, k, 2) ? NULL : &place;
}
/* of dt_row_writer_put; ours look at none */
MAYBE_UNUSED void *give_void_p(api *s, int k) { return give_dt_row_writer_p(s, k); }
MAYBE_UNUSED const void *give_const_void_p(api *s, int k) {
    static const int64_t bytes[512] = {1, 2, 3};
    return s->choose(s, k, 2) ? NULL : bytes;
}
MAYBE_UNUSED const int64_t *give_const_int64_t_p(api *s, int k) {
    static const int64_t of[4][64] = {{1, 2, 1, 1}, {2, 1}, {-1, 0, INT64_MIN}, {0}};
    int i = s->choose(s, k, 5);
    return i == 1 ? NULL : of[i > 1 ? i - 1 : 0];
}
MAYBE_UNUSED const int *give_const_int_a(api *s, int k) {
    static const int of[4][64] = {{0}, {1, 1, 1, 1}, {-1, INT_MAX, INT_MIN, 0}};
    int i = s->choose(s, k, 4);
    return i == 1 ? NULL : of[i > 1 ? i - 1 : 0];
}

MAYBE_UNUSED const int *give_const_int_p(api *s, int k) { return give_const_int_a(s, k); }

/* ---- values of traces ---- */

MAYBE_UNUSED dt_trace *give_dt_trace_p(api *s, int k) {
    int i = s->choose(s, k, 3);
    return i == 0 ? s->trace : i == 1 ? NULL : s->stale.trace;
}
MAYBE_UNUSED dt_value give_dt_value(api *s, int k) {
    int i = s->choose(s, k, 6);
    if (i == 1 || !s->trace) return (dt_value){0};
    if (i == 2) return s->stale;
    return i == 3   ? (dt_value){.trace = s->trace, .node = INT_MAX}
           : i == 4 ? dt_arg(s->trace, "x")
                    : dt_constant(s->trace, i);
}
MAYBE_UNUSED const dt_value *give_const_dt_value_p(api *s, int k) {
    static dt_value of[4];
    int i = s->choose(s, k, 3);
    for (int j = 0; j < 4; j++)
        of[j] = i == 2 || !s->trace ? (dt_value){0} : dt_constant(s->trace, 1);
    return i == 1 ? NULL : of;
}
MAYBE_UNUSED dt_gradients give_dt_gradients(api *s, int k) {
    static dt_value value[4];
    int i = s->choose(s, k, 3);
    if (i == 2 && s->trace) return dt_gradient(dt_constant(s->trace, 1), NULL);
    return i || !s->trace ? (dt_gradients){0} : (dt_gradients){.value = value, .trace = s->trace};
}

MAYBE_UNUSED dt_sweep_trial *give_dt_sweep_trial_p(api *s, int k) {
    static dt_sweep_trial of;
    return s->choose(s, k, 2) ? NULL : &of;
}

/* ---- options ---- */

/* None of it said, no options, and for some a choice of what was said. */
#define API_OPTIONS(type, ...)                                                                     \
    MAYBE_UNUSED const type *give_const_##type##_p(api *s, int k) {                                \
        static type of[3];                                                                         \
        const type said = __VA_ARGS__;                                                             \
        of[0] = said;                                                                              \
        int i = s->choose(s, k, 3);                                                                \
        return i == 1 ? NULL : i == 2 ? &of[1] : &of[0];                                           \
    }
static const int64_t api_shape[4] = {1, 1, 1, 1}, api_places[3] = {1, 1, 4}, api_zeros[16];
static const char *const api_names[] = {"CPU:0", "CPU:1"}, *const api_runs[] = {"run"};
API_OPTIONS(dt_run_options, {.threads = 1, .dry_run = true})
API_OPTIONS(dt_input_share, {.workers = 1, .replicas = 1})
API_OPTIONS(dt_data_request, {.job = s->job[0].handle, .split = text_at(s, 0)})
API_OPTIONS(dt_draft_request, {.files = api_runs, .n_files = 1, .target = text_at(s, 0)})
API_OPTIONS(dt_input_options, {.workers = -1})
API_OPTIONS(dt_input_context, {1, 0, 2})
API_OPTIONS(dt_drawing, {0})
API_OPTIONS(dt_variable_options, {.name = text_at(s, 0), .dtype = DT_FLOAT32})
API_OPTIONS(dt_evaluation, {0})
API_OPTIONS(dt_tpu_options, {.spmd = true, .device_assignment = s->device_assignment[1].handle})
API_OPTIONS(dt_topology_request, {.tpu = text_at(s, 0), .job = s->job[0].handle})
API_OPTIONS(dt_topology_options, {api_shape, 4, api_zeros, api_places, 3})
API_OPTIONS(dt_step_options, {true})
API_OPTIONS(dt_spec, {.name = "value", .dtype = DT_INT64})
API_OPTIONS(dt_search_request, {0})
API_OPTIONS(dt_sweep_options, {0})
API_OPTIONS(dt_run_report_request, {.runs = api_runs, .n_runs = 1, .output = "report.html"})
API_OPTIONS(dt_row_writer_options, {.path = "rows.csv"})
API_OPTIONS(dt_predicted_rows, {0})
API_OPTIONS(dt_predict_request, {0})
API_OPTIONS(dt_generate_request, {.prompt = text_at(s, 0), .max_tokens = 1, .top_p = 1})
API_OPTIONS(dt_plan_request, {.jobs = &s->job[0].handle, .labels = api_names, .n_jobs = 1})
API_OPTIONS(dt_multi_worker_options, {2, -1, api_names, 2})
API_OPTIONS(dt_parameter_server_options, {.workers = 1, .shards = -1})
API_OPTIONS(dt_server_options, {.timeout = -1}) /* refused: it would wait */
API_OPTIONS(dt_closure_arguments,
            {.values = s->values[0].handle, .per_worker = {s->per_worker[0].handle}})
API_OPTIONS(dt_merge, {.trace = s->trace, .n_in = -1, .n_out = 1})
MAYBE_UNUSED dt_status *map_nothing(const dt_values *element, void *user, dt_values *result) {
    (void)element, (void)user, (void)result;
    return NULL;
}
MAYBE_UNUSED dt_status *expand_nothing(const dt_values *e, void *user, dt_dataset **result) {
    (void)e, (void)user, (void)result;
    return NULL;
}
API_OPTIONS(dt_map_options, {.fn = map_nothing})
API_OPTIONS(dt_interleave_options, {.fn = expand_nothing, .n_spec = 1})
API_OPTIONS(dt_job_source, {.path = text_at(s, 0)})
API_OPTIONS(dt_file_options, {.kind = DT_FIXED_LENGTH, .record_bytes = -1})
API_OPTIONS(dt_export_request, {.path = "x.onnx"})
API_OPTIONS(dt_device_assignment_options,
            {.computation_shape = api_shape, .shape_rank = 4, .num_replicas = 1})
API_OPTIONS(dt_axes, {9, {0}})

/* ---- functions of the caller's ---- */

MAYBE_UNUSED void step_nothing(dt_trace *t, void *user) {
    (void)user;
    dt_return(t, "one", dt_constant(t, 1));
}
MAYBE_UNUSED void key_nothing(const dt_job_key *key, void *user) { (void)key, (void)user; }
MAYBE_UNUSED void merge_nothing(const dt_merge *m) { (void)m; }
MAYBE_UNUSED dt_status *keep_all(const dt_values *e, void *user, bool *keep) {
    (void)e, (void)user;
    *keep = true;
    return NULL;
}
MAYBE_UNUSED dt_status *make_range(const dt_input_context *c, void *user, dt_dataset **out) {
    (void)c, (void)user;
    return dt_dataset_range(out, 0, 4, 1);
}
MAYBE_UNUSED dt_status *value_none(const dt_value_context *c, dt_values *out, void *user) {
    (void)c, (void)out, (void)user;
    return NULL;
}
#define API_FUNCTION(name, result, arguments, function)                                            \
    MAYBE_UNUSED result(*give_##name(api *s, int k)) arguments {                                   \
        return s->choose(s, k, 2) ? NULL : function;                                               \
    }
API_FUNCTION(function_step, void, (dt_trace *, void *), step_nothing)
API_FUNCTION(function_key, void, (const dt_job_key *, void *), key_nothing)
API_FUNCTION(function_fn, void, (const dt_merge *), merge_nothing)
MAYBE_UNUSED dt_filter_fn give_dt_filter_fn(api *s, int k) {
    return s->choose(s, k, 2) ? NULL : keep_all;
}
MAYBE_UNUSED dt_dataset_fn give_dt_dataset_fn(api *s, int k) {
    return s->choose(s, k, 2) ? NULL : make_range;
}
MAYBE_UNUSED dt_value_fn give_dt_value_fn(api *s, int k) {
    return s->choose(s, k, 2) ? NULL : value_none;
}

/* ---- calls ---- */

/* What comes back is the caller's where it is a status or a text. */
#define API_DROP_dt_status_p(call) dt_status_free(call)
#define API_DROP_void(call) call
#define API_DROP(call) (void)(call)
#define API_DROP_bool API_DROP
#define API_DROP_int API_DROP
#define API_DROP_int64_t API_DROP
#define API_DROP_double API_DROP
#define API_DROP_char_p(call) free(call)
#define API_DROP_const_char_p API_DROP
#define API_DROP_const_void_p API_DROP
#define API_DROP_dt_dtype API_DROP
#define API_DROP_dt_gradients API_DROP
#define API_DROP_dt_resume API_DROP
#define API_DROP_dt_sweep_counts API_DROP
#define API_DROP_dt_remote_state API_DROP
#define API_DROP_dt_scope(call)                                                                    \
    do {                                                                                           \
        dt_scope entered = call;                                                                   \
        dt_scope_leave(&entered);                                                                  \
    } while (0)
#define API_DROP_dt_value API_DROP
#define API_DROP_dt_strategy_p API_DROP
#define API_DROP_dt_variable_p API_DROP
#define API_DROP_const_dt_device_assignment_p API_DROP
#define API_DROP_const_dt_resolver_p API_DROP
#define API_DROP_const_dt_strategy_p API_DROP
#define API_DROP_const_dt_status_p API_DROP
#define API_DROP_const_dt_tensor_p API_DROP
#define API_DROP_const_dt_topology_p API_DROP
#define API_DROP_const_dt_variables_p API_DROP

typedef struct api_call {
    const char *name;
    int arguments;
    const char *given; /* the makers of its arguments */
    void (*call)(api *s);
} api_call;

#define CALL(name, result, n, arguments)                                                           \
    MAYBE_UNUSED void call_##name(api *s) {                                                        \
        (void)s;                                                                                   \
        API_DROP_##result(name arguments);                                                         \
    }
/* gives back what it got */
#define dt_input_context_text(c, text, size) (dt_input_context_text(c, text, size), NULL)
#include "api_calls.inc"
#undef CALL
#undef dt_input_context_text

static const api_call api_calls[] = {
#define CALL(name, result, n, arguments) {#name, n, #arguments, call_##name},
#include "api_calls.inc"
#undef CALL
};
enum { API_CALLS = sizeof api_calls / sizeof *api_calls };

/* Releasing goes by slots. */
MAYBE_UNUSED bool api_releases(api *s, const char *name) {
#define X(type)                                                                                    \
    if (strcmp(name, "dt_" #type "_unref") == 0) {                                                 \
        release_##type(s, s->choose(s, 0, API_SLOTS + 1));                                         \
        return true;                                                                               \
    }
    API_HANDLES(X)
#undef X
    return false;
}

MAYBE_UNUSED bool api_is_of_steps(const api_call *c) {
    return strstr(c->given, "dt_trace_p") || strstr(c->given, "dt_value(") ||
           strstr(c->given, "dt_gradients") || strstr(c->given, "dt_merge_p");
}

MAYBE_UNUSED void api_make(api *s, const api_call *c) {
    if (!api_releases(s, c->name)) c->call(s);
    dt_status_free(s->status);
    s->status = NULL;
}

MAYBE_UNUSED void api_release_all(api *s) {
#define X(type)                                                                                    \
    for (int i = 0; i < API_SLOTS; i++) {                                                          \
        release_##type(s, i);                                                                      \
        s->type[i].handle = NULL;                                                                  \
    }
    API_HANDLES(X)
#undef X
}

#endif
