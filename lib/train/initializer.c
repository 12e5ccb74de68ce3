/* Initialisers by themselves: they hold nothing, so a fragment is all there is of one. */
#include "train/train.h"

static dt_status *read_fragment(dt_arena *arena, const char *format, va_list args, dt_named *out)
{
    dt_tree *tree = NULL;
    DT_TRY(dt_fragment_read(arena, "initializer", format, args, &tree));
    return dt_initializer_read(arena, tree, NULL, out);
}

static dt_status *check_shape(const dt_drawing *what)
{
    if (what->dtype != DT_FLOAT32 && what->dtype != DT_FLOAT64)
        return dt_fail(DT_E_TENSOR, NULL, "initial values are floats");
    if (what->rank < 0 || what->rank > DT_MAX_RANK || (what->rank > 0 && !what->shape))
        return dt_fail(DT_E_TENSOR, NULL, "a tensor has 0 to %d dimensions, got %d", DT_MAX_RANK, what->rank);
    for (int i = 0; i < what->rank; i++)
        if (what->shape[i] < 0)
            return dt_fail(DT_E_TENSOR, NULL, "dimension %d is %lld; none is negative", i, (long long)what->shape[i]);
    return NULL;
}

static dt_status *draw(const dt_named *named, const dt_drawing *what, dt_tensor **out)
{
    dt_type type = dt_type_of(what->dtype, what->rank, what->shape);
    dt_variable *v = NULL;
    DT_TRY(dt_initializer_check(named, &type));
    DT_TRY(dt_variable_alloc(&v, "value", &type, false));
    dt_initialize(named, what->seed, v);
    dt_status *s = dt_tensor_create(out, type.dtype, type.rank, type.dim, v->data);
    dt_variable_unref(v);
    return s;
}

static dt_status *describe(const dt_named *named, const dt_drawing *what, char **json)
{
    dt_type type = dt_type_of(what->dtype, what->rank, what->shape);
    dt_str text = { 0 };
    dt_json j = { .out = &text };
    DT_TRY(dt_initializer_check(named, &type));
    dt_json_open(&j, NULL, '{');
    dt_initializer_describe(named, &type, &j);
    dt_json_close(&j, '}');
    *json = dt_str_take(&text);
    return NULL;
}

dt_status *dt_initializer_draw(dt_tensor **out, const dt_drawing *what, const char *format, ...)
{
    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(out, "dt_initializer_draw", "place for the tensor"));
    DT_TRY(dt_want(what, "dt_initializer_draw", "shape"));
    DT_TRY(dt_want(format, "dt_initializer_draw", "fragment"));
    DT_TRY(check_shape(what));
    dt_arena *arena = dt_arena_create();
    dt_named named;
    va_list args;
    va_start(args, format);
    dt_status *s = read_fragment(arena, format, args, &named);
    va_end(args);
    if (!s)
        s = draw(&named, what, out);
    dt_arena_destroy(arena);
    return s;
}

dt_status *dt_initializer_facts(char **json, const dt_drawing *what, const char *format, ...)
{
    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(json, "dt_initializer_facts", "place for the text"));
    DT_TRY(dt_want(what, "dt_initializer_facts", "shape"));
    DT_TRY(dt_want(format, "dt_initializer_facts", "fragment"));
    DT_TRY(check_shape(what));
    dt_arena *arena = dt_arena_create();
    dt_named named;
    va_list args;
    va_start(args, format);
    dt_status *s = read_fragment(arena, format, args, &named);
    va_end(args);
    if (!s)
        s = describe(&named, what, json);
    dt_arena_destroy(arena);
    return s;
}

static void print_config(const dt_named *named, char **json)
{
    dt_str text = { 0 };
    dt_json j = { .out = &text };
    dt_config_print(named, &j, NULL);
    *json = dt_str_take(&text);
}

dt_status *dt_initializer_config(char **json, const char *format, ...)
{
    DT_TRY(dt_status_kept());
    DT_TRY(dt_want(json, "dt_initializer_config", "place for the text"));
    DT_TRY(dt_want(format, "dt_initializer_config", "fragment"));
    dt_arena *arena = dt_arena_create();
    dt_named named;
    va_list args;
    va_start(args, format);
    dt_status *s = read_fragment(arena, format, args, &named);
    va_end(args);
    if (!s)
        print_config(&named, json);
    dt_arena_destroy(arena);
    return s;
}
