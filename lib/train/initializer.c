/* SPDX-License-Identifier: Apache-2.0 */
/* Initializers as public calls. An initializer has no state: each call reads a YAML fragment. */
#include "train/train.h"

/* The arguments of a public call about an initializer, and the function that answers it. */
typedef struct request {
    const char *function, *format;
    void *out;
    const dt_drawing *what; /* what to draw, and its shape; NULL: the call draws nothing */
    dt_status *(*use)(const dt_named *named, const struct request *r);
} request;

static dt_status *read_fragment(dt_arena *arena, const char *format, va_list args, dt_named *out) {
    dt_tree *tree = NULL;
    DT_TRY(dt_fragment_read(arena, "initializer", format, args, &tree));
    return dt_initializer_read(arena, tree, NULL, out);
}

static dt_status *answer(const request *r, va_list args) {
    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(r->out, r->function, "place for the result"));
    DT_TRY(dt_want(r->format, r->function, "fragment"));
    dt_local_arena arena = dt_arena_create();
    dt_named named;
    DT_TRY(read_fragment(arena, r->format, args, &named));
    return r->use(&named, r);
}

static dt_status *type_wanted(const dt_named *named, const request *r, dt_type *type) {
    const dt_drawing *what = r->what;
    DT_TRY(dt_want(what, r->function, "shape"));
    if (what->dtype != DT_FLOAT32 && what->dtype != DT_FLOAT64)
        return dt_fail(DT_E_TENSOR, NULL, "initial values are floats");
    if (what->rank < 0 || what->rank > DT_MAX_RANK || (what->rank > 0 && !what->shape))
        return dt_fail(DT_E_TENSOR, NULL, "a tensor has 0 to %d dimensions, got %d", DT_MAX_RANK,
                       what->rank);
    for (int i = 0; i < what->rank; i++)
        if (what->shape[i] < 0)
            return dt_fail(DT_E_TENSOR, NULL, "dimension %d is %lld; it cannot be negative", i,
                           (long long)what->shape[i]);
    *type = dt_type_of(what->dtype, what->rank, what->shape);
    return dt_initializer_check(named, type);
}

static dt_status *draw(const dt_named *named, const request *r) {
    dt_type type;
    dt_variable *v = NULL;
    DT_TRY(type_wanted(named, r, &type));
    DT_TRY(dt_variable_alloc(&v, "value", &type, false));
    dt_initialize(named, r->what->seed, 0, v);
    dt_status *s = dt_tensor_create(r->out, type.dtype, type.rank, type.dim, dt_host_data(v));
    dt_variable_unref(v);
    return s;
}

static dt_status *describe(const dt_named *named, const request *r) {
    dt_type type;
    dt_str text = {0};
    dt_json j = {.out = &text};
    DT_TRY(type_wanted(named, r, &type));
    dt_json_open(&j, NULL, '{');
    dt_initializer_describe(named, &type, &j);
    dt_json_close(&j, '}');
    *(char **)r->out = dt_str_take(&text);
    return NULL;
}

static dt_status *configure(const dt_named *named, const request *r) {
    dt_str text = {0};
    dt_json j = {.out = &text};
    dt_config_print(named, &j, NULL);
    *(char **)r->out = dt_str_take(&text);
    return NULL;
}

dt_status *dt_initializer_draw(dt_tensor **out, const dt_drawing *what, const char *format, ...) {
    va_list args;
    va_start(args, format);
    dt_status *s = answer(&(request){"dt_initializer_draw", format, out, what, draw}, args);
    va_end(args);
    return s;
}

dt_status *dt_initializer_facts(char **json, const dt_drawing *what, const char *format, ...) {
    va_list args;
    va_start(args, format);
    dt_status *s = answer(&(request){"dt_initializer_facts", format, json, what, describe}, args);
    va_end(args);
    return s;
}

dt_status *dt_initializer_config(char **json, const char *format, ...) {
    va_list args;
    va_start(args, format);
    dt_status *s = answer(&(request){"dt_initializer_config", format, json, NULL, configure}, args);
    va_end(args);
    return s;
}
