/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A step of `map`: one file in this folder, one row in steps.h. It knows its arguments, what type
 * it makes of what, and how to turn one example.
 *
 * Random steps draw from (seed, pass over the data, number of the example) and nothing else, so
 * what an example becomes depends neither on replicas nor on threads nor on where a run was
 * resumed. They draw for training only; for other parts they are fixed: a random crop is the
 * central one, a random flip does nothing.
 */
#ifndef DT_DATA_MAP_STEP_H
#define DT_DATA_MAP_STEP_H

#include "base/random.h"
#include "data/map.h"
#include "op/op.h"

typedef struct dt_map_stage dt_map_stage;

/* The inputs of a step; images are (rows, columns) or (rows, columns, channels). */
typedef enum dt_map_takes {
    DT_TAKES_ANY,
    DT_TAKES_INTEGERS,
    DT_TAKES_IMAGES,
    DT_TAKES_TEXT,
    DT_TAKES_TEXT_TOO /* anything; a text becomes a text */
} dt_map_takes;

/* Learning from the training part, an example at a time, in order; Keras' `adapt`. */
typedef struct dt_map_learning {
    bool (*wants)(const void *args); /* false: the arguments have everything */
    void *(*begin)(const dt_map_stage *s);
    void (*take)(void *lesson, const dt_map_stage *s, const void *in);
    /* Frees it. The arena keeps the learned values; NULL: they are not wanted any more. */
    void (*end)(void *lesson, const dt_map_stage *s, dt_arena *arena, dt_lesson *out);
} dt_map_learning;

typedef struct dt_map_step {
    dt_kind kind;
    /* arguments that can be given as a bare value or a list; NULL: none, the last is NULL */
    const char *brief[3];
    bool takes_list; /* a bare list is brief[0] itself */
    dt_map_takes takes;
    bool comes_first;   /* it needs values as they are stored, so no step may stand before it */
    bool reads_float32; /* any type is read as float32 */
    bool keeps_numbers; /* values are those of the input, unless infer sets numbers */
    /* names of classes are those of the input, unless infer sets stage->names */
    bool keeps_names;
    /* Checks arguments against each other; `at` is the step's. NULL: nothing to check. */
    dt_status *(*check)(const void *args, const dt_location *at);
    const dt_map_learning *learning; /* NULL: nothing to learn */
    /* stage->out from stage->in, of which it is a copy; may make tables. */
    dt_status *(*infer)(dt_map_stage *s, dt_arena *arena);
    void (*run)(const dt_map_stage *s, const dt_map_at *at, const void *in, void *out);
    int64_t (*classes)(const void *args); /* its input must lie in [0, classes); NULL: any */
    /* What run does outside of training, of a whole batch (B, ...) in a graph: exported models take
     * stored values. */
    dt_value (*emit)(const dt_map_stage *s, dt_value x);
} dt_map_step;

/* One step of a plan: a row with its arguments, applied to one example. */
struct dt_map_stage {
    const dt_map_step *step;
    const void *args;
    const dt_location *at;    /* the step's in the job file */
    const char *file;         /* for messages */
    const char *directory;    /* see dt_map_request */
    const dt_lesson *learned; /* NULL: nothing, and nothing is to be */
    /* of what it draws: the element's name and the step's place in the list are in it */
    const char *purpose;
    dt_type in, out;
    bool is_text;   /* in is a text */
    int64_t values; /* of in */
    dt_texts names; /* of the classes that values of out number; comes as those of in */
    /* values of out are in [0, numbers), 0: unknown; initially those of in */
    int64_t numbers;
    const void *made; /* by infer */
};

/* What a stage draws of an example. seed: the step's own, else NULL; steps of one name and one seed
 * draw alike, as an image and its mask must. */
dt_random dt_map_draw(const dt_map_stage *s, const dt_map_at *at, const int64_t *seed);

/* Numbers that a step knows, in a graph: a constant named after the step. */
dt_value dt_map_numbers(const dt_map_stage *s, dt_value x, const char *name, const dt_type *type,
                        const void *v);

/* The sizes of an image type. pixel: bytes of all channels at one place. */
typedef struct dt_pixels {
    int64_t rows, columns, channels, pixel;
} dt_pixels;
dt_pixels dt_pixels_of(const dt_type *t);
/* The type with other rows and columns. */
dt_type dt_image_sized(const dt_type *t, int64_t rows, int64_t columns);
/* The part of `rows` by `columns` of an image that begins at (row, column), into out. */
void dt_image_cut(const dt_type *in, const dt_type *out, int64_t row, int64_t column,
                  const void *from, void *to);

#endif
