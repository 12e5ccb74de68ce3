/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `map`: per element a list of steps that turn one example. A step is a row of map/steps.h; in a
 * job file it is a bare name or a one-key mapping, whose value may be the step's first arguments
 * themselves.
 *
 *     map:
 *       image: [zero_padding: 4, random_crop: [32, 32], random_flip: horizontal, rescale: {scale: 0.00392156862745098}]
 *       label: [one_hot: 10]
 *
 * Reading needs no files. A plan is made once the stored type is known.
 */
#ifndef DT_DATA_MAP_H
#define DT_DATA_MAP_H

#include "data/data.h"

/* The rows of steps, and the arguments of one that can be given as a bare value or a list:
 * at most two, NULL after the last. *list: a list is the value of the first. */
const dt_kind *const *dt_map_kinds(int *n);
const char *const *dt_map_brief(const dt_kind *step, bool *list);
bool dt_texts_have(const dt_texts *names, const char *name);
/* Reads the mapping, NULL: no steps. Only elements in `names` may have steps. */
dt_status *dt_map_read(dt_arena *arena, const dt_tree *t, const dt_texts *names,
                       const dt_map **out) DT_MUST_USE;

/* Whether any step has to learn from the training part. */
bool dt_map_learns(const dt_map *m);

typedef struct dt_map_plan dt_map_plan;
typedef struct dt_map_request {
    const dt_map *map;
    const dt_element_spec *stored; /* whose steps; its file is for messages */
    const char *directory;         /* relative paths start here; NULL: where the program runs */
    const dt_learned *learned;     /* so far; NULL: nothing */
    bool none;                     /* no steps: examples as they are stored, texts too */
} dt_map_request;
/* The steps of an element for examples as they are stored. Text must become numbers. */
dt_status *dt_map_plan_make(dt_arena *arena, const dt_map_request *q,
                            const dt_map_plan **out) DT_MUST_USE;
/* The first step that has nothing learned: the plan ends before it. NULL: the plan is whole. */
const struct dt_map_stage *dt_map_plan_pending(const dt_map_plan *p);
/* No steps: examples are as they are stored. */
bool dt_map_plan_is_empty(const dt_map_plan *p);
/* Values are as they are stored, though their dtype may be another. */
bool dt_map_plan_is_plain(const dt_map_plan *p);
/* An example after all steps. */
const dt_type *dt_map_plan_type(const dt_map_plan *p);
/* Values lie in [0, that), 0: unknown. */
int64_t dt_map_plan_numbers(const dt_map_plan *p);
/* Of the classes that values number, or that the last dimension has; n 0: they have none. */
const dt_texts *dt_map_plan_names(const dt_map_plan *p);
/* Bytes of scratch that a run needs. */
int64_t dt_map_plan_scratch(const dt_map_plan *p);
/* Which example it is, of which pass over the data: what random steps draw from. */
typedef struct dt_map_at {
    uint64_t seed;
    int64_t pass, example;
    bool training; /* else nothing is drawn */
} dt_map_at;
/* One example through all steps. With no step it is copied. */
void dt_map_run(const dt_map_plan *p, const dt_map_at *at, const void *in, void *out,
                void *scratch);

/* (B, ...) for examples of a type. */
dt_type dt_map_batch_type(const dt_type *t);
/* All steps outside of training over a batch, (B, ...), in a graph. NO_ONNX at a step that has no
 * such form. */
dt_status *dt_map_emit(const dt_map_plan *p, dt_value x, dt_value *out) DT_MUST_USE;

/* Values that a step numbers classes with (one_hot) must lie below a limit, and it takes a look at
 * all examples to know. */
typedef struct dt_map_limit {
    const dt_map_plan *before; /* the steps before that one: its values are to be checked */
    int64_t classes;
} dt_map_limit;
/* Limits of a plan; the number of them. */
int dt_map_plan_limits(const dt_map_plan *p, const dt_map_limit **limits);

#endif
