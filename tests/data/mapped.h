/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of `map` steps, and tensors that were recorded as JSON. */
#ifndef MAPPED_H
#define MAPPED_H

#include <jansson.h>
#include <math.h>

#include "file/cast.h"
#include "data/map.h"

typedef struct mapped {
    dt_arena *arena;
    const dt_map_plan *plan;
    void *out, *scratch;
} mapped;

/* A plan of element `name` for examples of that type. */
static dt_status *make_plan(dt_arena *arena, const char *name, const char *steps, const dt_type *in,
                            const dt_map_plan **out) {
    const dt_map *m;
    dt_tree *tree;
    dt_source *source = dt_arena_new(arena, dt_source);
    *source = (dt_source){.name = "map", .text = dt_arena_printf(arena, "{%s: %s}", name, steps)};
    source->size = strlen(source->text);
    OK(dt_tree_parse(arena, source, &tree));
    DT_TRY(dt_map_read(arena, tree, &(dt_texts){.n = 1, .v = &name}, &m));
    return dt_map_plan_make(
        arena,
        &(dt_map_request){.map = m,
                          .stored = &(dt_element_spec){.name = name, .type = *in, .file = "x.npy"}},
        out);
}

__attribute__((unused)) static mapped open_map(const char *name, const char *steps,
                                               const dt_type *in) {
    mapped m = {.arena = dt_arena_create()};
    OK(make_plan(m.arena, name, steps, in, &m.plan));
    m.out = dt_try_alloc((size_t)dt_type_bytes(dt_map_plan_type(m.plan)) + 1);
    m.scratch = dt_try_alloc((size_t)dt_map_plan_scratch(m.plan) + 1);
    assert_true(m.out && m.scratch);
    return m;
}

__attribute__((unused)) static void close_map(mapped *m) {
    free(m->out);
    free(m->scratch);
    dt_arena_destroy(m->arena);
}

static dt_dtype dtype_named(const char *name) {
    for (int d = 0; d <= DT_FLOAT64; d++)
        if (strcmp(dt_dtype_name((dt_dtype)d), name) == 0) return (dt_dtype)d;
    fail_msg("no dtype '%s'", name);
    return DT_BOOL;
}

/* A recorded tensor: its type, and its values in double. */
__attribute__((unused)) static double *read_tensor(const json_t *t, dt_type *type) {
    json_t *shape = json_object_get(t, "shape"), *data = json_object_get(t, "data");
    *type = dt_scalar_type(dtype_named(json_string_value(json_object_get(t, "dtype"))));
    for (size_t i = 0; i < json_array_size(shape); i++)
        type->dim[type->rank++] = json_integer_value(json_array_get(shape, i));
    double *v = malloc((json_array_size(data) + 1) * sizeof *v);
    assert_non_null(v);
    assert_int_equal(json_array_size(data), dt_type_elements(type));
    for (size_t i = 0; i < json_array_size(data); i++)
        v[i] = json_number_value(json_array_get(data, i));
    return v;
}

#endif
