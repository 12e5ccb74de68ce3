/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mapping `map` of a job has a list of steps for each element. A step transforms the element's
 * value in one example. A step is a row of map/steps.h. In a job file it is a bare name or a
 * mapping with one key, whose value may be the step's first arguments themselves.
 *
 *     map:
 *       image: [zero_padding: 4, random_crop: [32, 32], random_flip: horizontal,
 *               rescale: {scale: 0.00392156862745098}]
 *       label: [one_hot: 10]
 *
 * Reading needs no files. A plan is made once the stored type is known.
 */
#ifndef DT_DATA_MAP_H
#define DT_DATA_MAP_H

#include "data/data.h"

/* dt_map_kinds returns the rows of all steps. dt_map_brief returns the names of the arguments of a
 * step that can be given as a bare value or a list: at most two, with NULL after the last. *list
 * receives whether a list is the value of the first argument. */
const dt_kind *const *dt_map_kinds(int *n);
const char *const *dt_map_brief(const dt_kind *step, bool *list);
bool dt_texts_have(const dt_texts *names, const char *name);
/* Reads the mapping; t NULL: no element has steps. Only elements in `names` may have steps, unless
 * `names` is empty. */
dt_status *dt_map_read(dt_arena *arena, const dt_tree *t, const dt_texts *names,
                       const dt_map **out) DT_MUST_USE;

/* Whether any step has to learn from the training part. */
bool dt_map_learns(const dt_map *m);

typedef struct dt_map_plan dt_map_plan;
typedef struct dt_map_request {
    const dt_map *map;
    const dt_element_spec *stored; /* the element as stored; messages name its `file` */
    /* the folder at which relative paths start; NULL: the working directory */
    const char *directory;
    const dt_learned *learned; /* what steps have learned so far; NULL: nothing */
    bool none; /* no steps are run: examples stay as they are stored, and texts stay texts */
} dt_map_request;
/* Plans the steps of an element for stored examples. The plan ends before the first step that still
 * has to learn. Fails if the result of a complete plan is text and q->none is not set: all elements
 * must become numbers. */
dt_status *dt_map_plan_make(dt_arena *arena, const dt_map_request *q,
                            const dt_map_plan **out) DT_MUST_USE;
/* Returns the first step that still has to learn, before which the plan ends; NULL if the plan is
 * complete. */
const struct dt_map_stage *dt_map_plan_pending(const dt_map_plan *p);
/* Whether the plan has no steps, so that examples stay as they are stored. */
bool dt_map_plan_is_empty(const dt_map_plan *p);
/* Whether all steps are casts; true if there are no steps. */
bool dt_map_plan_is_plain(const dt_map_plan *p);
/* Returns the location of the step that combines each example with another one of its batch; NULL:
 * none does. */
const dt_location *dt_map_plan_combines(const dt_map_plan *p);
/* Returns the type of an example after all steps. */
const dt_type *dt_map_plan_type(const dt_map_plan *p);
/* Returns the limit of the output values, which lie in [0, limit); 0 if it is unknown. */
int64_t dt_map_plan_numbers(const dt_map_plan *p);
/* Returns the names of the classes that the outputs number, or of the entries along the last
 * dimension; n is 0 if they are unknown. */
const dt_texts *dt_map_plan_names(const dt_map_plan *p);
/* Returns the i-th path of a file that a step names, as the job writes it; NULL after the last
 * one. */
const char *dt_map_plan_file(const dt_map_plan *p, int i);
/* Returns the number of bytes of scratch that dt_map_run needs. */
int64_t dt_map_plan_scratch(const dt_map_plan *p);
/* Identifies an example and the pass over the data; random steps derive their random numbers from
 * it. */
typedef struct dt_map_at {
    uint64_t seed;
    int64_t pass, example;
    uint64_t group; /* the example's group, see dt_rows_group */
    bool training;  /* the example is used for training; otherwise steps do nothing random */
    /* the example, as stored, that a step such as mixup combines this one with; NULL: none */
    const void *other;
    int64_t other_pass, other_example;
    uint64_t other_group;
} dt_map_at;
/* Runs one example through all steps. If there are none, copies it. */
dt_status *dt_map_run(const dt_map_plan *p, const dt_map_at *at, const void *in, void *out,
                      void *scratch) DT_MUST_USE;

/* Returns the type of a window of lagged rows in a batch: (rows, n, ...) becomes (rows / lags,
 * lags * n, ...), and (rows) becomes (rows / lags, lags), since the `lags` values that belong to a
 * row are side by side. With lags 0 it returns *t. */
dt_type dt_map_lagged_type(const dt_type *t, int64_t lags);
/* Returns the type (B, ...) of a batch of examples of a type. */
dt_type dt_map_batch_type(const dt_type *t);
/* Adds all steps to a graph, as they run outside of training, for a batch (B, ...). Fails with
 * NO_ONNX if a step cannot be expressed in a graph. */
dt_status *dt_map_emit(const dt_map_plan *p, dt_value x, dt_value *out) DT_MUST_USE;

/* Converts outputs of a model, (B, ...), back to the units of the stored target: undoes the
 * element's steps from the last one on, up to one that cannot be undone. Only rescale, normalize,
 * cast, mixup and cutmix can be undone: rescale only if its scale is not 0, normalize only without
 * per_group and if it has numbers for the features of x. learned: as in dt_map_request. */
dt_value dt_map_undo(const dt_map *m, const dt_learned *learned, const char *element, dt_value x);

/* Returns the location of a step that treats groups of windows differently; NULL if there is
 * none. */
const dt_location *dt_map_by_group(const dt_map *m);
/* Whether all steps have learned values for a group of windows; true if no step treats groups
 * differently. */
bool dt_map_plan_knows(const dt_map_plan *p, uint64_t group);
/* Completes dt_map_undo for one example, of n values, if the element's first step treats groups
 * differently. */
void dt_map_undo_group(const dt_map *m, const dt_learned *learned, const char *element,
                       uint64_t group, float *x, int64_t n);

/* A limit that a step such as one_hot sets for its inputs, which are class numbers. All examples
 * have to be checked against it. */
typedef struct dt_map_limit {
    /* the plan of the steps before the one that sets the limit; its outputs are checked */
    const dt_map_plan *before;
    int64_t classes;
} dt_map_limit;
/* Gets the limits of a plan; returns their number. */
int dt_map_plan_limits(const dt_map_plan *p, const dt_map_limit **limits);

#endif
