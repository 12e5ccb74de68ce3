/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Examples in memory: a format without files, for data that a program has made itself. Job files
 * cannot name it. dt_dataset_hold makes the data set, which then works like all others: map, split,
 * order, feed.
 */
#include <string.h>

#include "data/parts.h"

/* One part of the data set. The arguments of the format are the examples themselves, so opening has
 * nothing to read. */
typedef struct held_part {
    dt_examples base;
    dt_example rows; /* the examples: each tensor has the type (count, ...) */
} held_part;

static dt_status *check_element(const held_part *x, int i, const char *name, const char *first) {
    const dt_type *t = &x->rows.tensor[i]->type;
    if (t->rank == 0)
        return dt_fail(
            DT_E_DATA_SHAPE, NULL,
            "element '%s' is a single number: its first dimension must count the examples", name);
    if (t->dim[0] == 0) return dt_fail(DT_E_DATA_EMPTY, NULL, "element '%s' has no example", name);
    if (t->dim[0] != x->base.count)
        return dt_fail(DT_E_DATA_ROWS, NULL, "element '%s' has %lld examples, '%s' has %lld", name,
                       (long long)t->dim[0], first, (long long)x->base.count);
    return NULL;
}

void dt_held_release(dt_examples *held) { dt_example_release(&((held_part *)held)->rows); }

dt_status *dt_held_make(dt_arena *arena, const dt_example_spec *spec, const dt_example *examples,
                        dt_examples **out) {
    held_part *x = dt_arena_new(arena, held_part);
    x->rows = *examples;
    *out = &x->base;
    if (spec->n < 1)
        return dt_fail(DT_E_DATA_EMPTY, NULL, "no elements given; a data set needs at least one");
    const dt_type *first = &x->rows.tensor[0]->type;
    x->base = (dt_examples){.n = spec->n,
                            .count = first->rank > 0 ? first->dim[0] : 0,
                            .stored = dt_arena_array(arena, dt_element_spec, spec->n)};
    for (int i = 0; i < spec->n; i++) {
        const dt_type *t = &x->rows.tensor[i]->type;
        DT_TRY(check_element(x, i, spec->c[i].name, spec->c[0].name));
        x->base.stored[i] = (dt_element_spec){.name = dt_arena_strdup(arena, spec->c[i].name),
                                              .type = dt_type_of(t->dtype, t->rank - 1, t->dim + 1),
                                              .file = "memory"};
    }
    return NULL;
}

/* ---- the format ---- */

static dt_status *check(const dt_format_request *r, dt_texts *names) {
    const held_part *x = r->args;
    const char **v = dt_arena_array(r->arena, const char *, x->base.n);
    for (int i = 0; i < x->base.n; i++) v[i] = x->base.stored[i].name;
    *names = (dt_texts){.n = x->base.n, .v = v};
    return NULL;
}

static dt_status *whole(dt_examples *base, int e, const void **rows) {
    held_part *x = (held_part *)base;
    *rows = x->rows.tensor[e]->data;
    return NULL;
}

static dt_status *read_example(dt_examples *base, int64_t row, dt_read_buffer *buffer,
                               void *const *out) {
    held_part *x = (held_part *)base;
    (void)buffer;
    for (int e = 0; e < base->n; e++) {
        const int64_t bytes = dt_type_bytes(&x->base.stored[e].type);
        if (out[e]) memcpy(out[e], x->rows.tensor[e]->data + row * bytes, (size_t)bytes);
    }
    return NULL;
}

static dt_status *open_part(const dt_format_request *r, dt_examples **out) {
    static const dt_example_reader reader = {
        .whole = whole, .at = read_example, .close = dt_held_release};
    *out = (dt_examples *)r->args;
    (*out)->reader = &reader;
    return NULL;
}

const dt_format dt_format_held = {.kind = {.name = "held", .about = "examples in memory"},
                                  .content = DT_CONTENT_NONE,
                                  .check = check,
                                  .open_part = open_part};
