/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Examples in memory: a format without files, for data that a program has made itself. Job files
 * cannot name it. dt_dataset_hold makes the data set, which then works like all others: map, split,
 * order, feed.
 */
#include <string.h>

#include "data/dataset.h"

/* the format's args are the examples themselves, so there is nothing to open */
typedef struct held_part {
    dt_examples base;
    void **rows; /* [n] each (count, ...) */
} held_part;

static dt_status *check_element(const dt_named_view *e, const dt_named_view *first) {
    if (e->type.rank == 0)
        return dt_fail(
            DT_E_DATA_SHAPE, NULL,
            "element '%s' is a single number: its first dimension must count the examples",
            e->name);
    if (e->type.dim[0] == 0)
        return dt_fail(DT_E_DATA_EMPTY, NULL, "element '%s' has no example", e->name);
    if (e->type.dim[0] != first->type.dim[0])
        return dt_fail(DT_E_DATA_ROWS, NULL, "element '%s' has %lld examples, '%s' has %lld",
                       e->name, (long long)e->type.dim[0], first->name,
                       (long long)first->type.dim[0]);
    return NULL;
}

/* The type of one example, for an array of type (count, ...). */
static dt_type row_type(const dt_type *rows) {
    dt_type t = *rows;
    memmove(t.dim, t.dim + 1, sizeof t.dim - sizeof *t.dim);
    t.dim[--t.rank] = 0;
    return t;
}

dt_status *dt_held_copy(dt_arena *arena, const dt_named_view *element, int n, const void **args) {
    held_part *x = dt_arena_new(arena, held_part);
    if (n < 1)
        return dt_fail(DT_E_DATA_EMPTY, NULL, "no elements given; a data set needs at least one");
    x->base = (dt_examples){.n = n,
                            .count = element[0].type.rank > 0 ? element[0].type.dim[0] : 0,
                            .stored = dt_arena_array(arena, dt_element_spec, n)};
    x->rows = dt_arena_array(arena, void *, n);
    for (int i = 0; i < n; i++) {
        DT_TRY(check_element(&element[i], &element[0]));
        x->base.stored[i] = (dt_element_spec){.name = dt_arena_strdup(arena, element[i].name),
                                              .type = row_type(&element[i].type),
                                              .file = "memory"};
        x->rows[i] = dt_arena_copy(arena, element[i].data, (size_t)dt_type_bytes(&element[i].type));
    }
    *args = x;
    return NULL;
}

/* ---- the format ---- */

static dt_status *check(const dt_format_request *r, dt_texts *names) {
    const held_part *x = r->args;
    const char **v = dt_arena_array(r->arena, const char *, x->base.n);
    for (int i = 0; i < x->base.n; i++) v[i] = x->base.stored[i].name;
    *names = (dt_texts){x->base.n, v};
    return NULL;
}

static dt_status *whole(dt_examples *base, int e, const void **rows) {
    held_part *x = (held_part *)base;
    *rows = x->rows[e];
    return NULL;
}

static dt_status *read_example(dt_examples *base, int64_t row, dt_read_buffer *buffer,
                               void *const *out) {
    held_part *x = (held_part *)base;
    (void)buffer;
    for (int e = 0; e < base->n; e++) {
        const int64_t bytes = dt_type_bytes(&x->base.stored[e].type);
        if (out[e]) memcpy(out[e], (const char *)x->rows[e] + row * bytes, (size_t)bytes);
    }
    return NULL;
}

static dt_status *open_part(const dt_format_request *r, dt_examples **out) {
    static const dt_example_reader reader = {.whole = whole, .at = read_example};
    *out = (dt_examples *)r->args;
    (*out)->reader = &reader;
    return NULL;
}

const dt_format dt_format_held = {.kind = {.name = "held", .about = "examples in memory"},
                                  .content = DT_CONTENT_NONE,
                                  .check = check,
                                  .open_part = open_part};
