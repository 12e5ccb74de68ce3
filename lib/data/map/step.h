/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A step of `map` is one row in steps.h, and usually one file in this folder. It knows its
 * arguments, its output type, and how to transform one example.
 *
 * Random steps derive their random numbers from a seed, the pass over the data, the index of the
 * example, and the step's name (with its own seed) or purpose (with the job's, unless it combines
 * examples), so the result depends neither on replicas nor on threads nor on where a run was
 * resumed. They are random only in training. Otherwise random_crop takes the middle, and the other
 * random steps change at most the dtype.
 *
 * A mask goes through the steps of its image that move pixels, then through its own. Its class
 * numbers are not interpolated.
 *
 * A step that combines examples also sees another example of the same global batch, which has gone
 * through the steps before. Elements that have the same combining step combine with the same other
 * example and draw the same numbers, so that an image and its label are combined alike.
 */
#ifndef DT_DATA_MAP_STEP_H
#define DT_DATA_MAP_STEP_H

#include "base/random.h"
#include "data/map.h"
#include "op/op.h"

typedef struct dt_map_stage dt_map_stage;

/* The inputs that a step accepts. Images are (rows, columns) or (rows, columns, channels). */
typedef enum dt_map_takes {
    DT_TAKES_ANY,
    DT_TAKES_INTEGERS,
    DT_TAKES_IMAGES,
    DT_TAKES_TEXT,
    DT_TAKES_TEXT_TOO, /* numbers, or a text, which stays a text */
    DT_TAKES_EITHER    /* numbers, or a text, which becomes a number */
} dt_map_takes;

/* How a step learns from the training data, one example at a time, in order, as in Keras'
 * `adapt`. */
typedef struct dt_map_learning {
    /* Whether anything has to be learned; false if the arguments are complete. */
    bool (*wants)(const void *args);
    void *(*begin)(const dt_map_stage *s);
    void (*take)(void *lesson, const dt_map_stage *s, const dt_map_at *at, const void *in);
    /* Stores the learned values in the arena, or discards them if the arena is NULL. Frees
     * `lesson`. */
    void (*end)(void *lesson, const dt_map_stage *s, dt_arena *arena, dt_lesson *out);
} dt_map_learning;

typedef struct dt_map_step {
    dt_kind kind;
    /* the names of arguments that can be given as a bare value or a list, in order; NULL after the
     * last */
    const char *brief[3];
    /* a list without a name is the value of brief[0]; if not set, it has the values of brief[0],
     * brief[1], ... */
    bool takes_list;
    dt_map_takes takes;
    bool comes_first; /* the step needs values as they are stored, so it must be the first one */
    /* the step treats values one by one, or along the last axis, so it can take a window of rows at
     * once */
    bool takes_windows;
    bool moves; /* the step moves an image's pixels, and must move those of the mask alike */
    /* the step combines an example with dt_map_at.other; an element has at most one such step */
    bool combines;
    bool reads_float32; /* the step takes inputs of any dtype and makes float32 */
    /* outputs have the range of the inputs, unless `infer` sets stage->numbers */
    bool keeps_numbers;
    /* outputs have the class names of the inputs, unless `infer` sets stage->names */
    bool keeps_names;
    /* Checks arguments against each other; `at` is the step's location. NULL if there is nothing to
     * check. */
    dt_status *(*check)(const void *args, const dt_location *at);
    const dt_map_learning *learning; /* how the step learns; NULL if it never does */
    /* Sets stage->out, which starts as a copy of stage->in; may prepare tables in stage->made. */
    dt_status *(*infer)(dt_map_stage *s, dt_arena *arena);
    void (*run)(const dt_map_stage *s, const dt_map_at *at, const void *in, void *out);
    /* called instead of `run`, for a step that is not random and can fail */
    dt_status *(*attempt)(const dt_map_stage *s, const void *in, void *out);
    /* Returns the path of a file that the arguments name, as the job writes it; NULL if they name
     * none. */
    const char *(*file)(const void *args);
    /* Returns the limit of the inputs, which must lie in [0, limit). NULL: there is no limit. */
    int64_t (*classes)(const void *args);
    /* Adds to a graph what `run` does outside of training, for a whole batch (B, ...). Exported
     * models use it, because they take stored values. NULL: the step cannot be part of a graph. */
    dt_value (*emit)(const dt_map_stage *s, dt_value x);
    /* Whether the step treats the groups of windows differently. Such a step must be the first one
     * of its element and cannot be part of a graph, which does not know the groups. NULL: it treats
     * all alike. */
    bool (*by_group)(const void *args);
    /* These two are for steps with by_group. knows: whether the step has learned values for a
     * group. undo_group: does what `undo` does, for one example of n values; it does nothing if n
     * is not a multiple of the number of features. */
    bool (*knows)(const dt_map_stage *s, uint64_t group);
    void (*undo_group)(const dt_lesson *learned, uint64_t group, float *x, int64_t n);
    /* Inverts the step for a batch (B, ...): returns the values from which the step would make x.
     * learned: NULL if the arguments are complete. Returns a value without a trace if it cannot
     * invert the step here, such as for a wrong number of features. NULL: the step can never be
     * inverted. */
    dt_value (*undo)(const void *args, const dt_lesson *learned, dt_value x);
} dt_map_step;

/* The list of steps that `map` has for an element. */
typedef struct dt_map_chain {
    const char *name; /* name of the element */
    int n;
    const dt_named *step; /* [n] the steps, in order */
} dt_map_chain;

struct dt_map {
    int n;
    dt_map_chain *chains; /* [n] one per element that `map` names */
};

/* Returns the row of a step in a list. The row begins with the dt_kind that `named` points to. */
static inline const dt_map_step *dt_map_step_of(const dt_named *named) {
    return (const dt_map_step *)named->kind;
}

static inline bool dt_map_treats_groups(const dt_named *named) {
    const dt_map_step *step = dt_map_step_of(named);
    return step->by_group && step->by_group(named->args);
}

/* A step in a plan: a dt_map_step with its arguments and the types that it is applied to. */
struct dt_map_stage {
    const dt_map_step *step;
    const void *args;
    const dt_location *at; /* location of the step in the job file */
    const char *file;      /* path of the data file, for messages */
    const char *directory; /* the folder at which relative paths start, see dt_map_request */
    /* what the step learned; NULL if it has not learned yet, or does not learn */
    const dt_lesson *learned;
    /* name of what the step learned, such as "map/normalize/x/0", and usually of its random stream
     * (dt_map_draw) */
    const char *purpose;
    dt_type in, out;
    bool is_text; /* the input is text */
    /* the element is a mask and the step belongs to its image, so the step moves class numbers but
     * does not mix them */
    bool is_mask;
    int64_t values; /* number of values in the input */
    /* names of classes, as dt_map_plan_names has them; initially those of the inputs */
    dt_texts names;
    /* the limit of the outputs, which lie in [0, numbers); 0 if it is unknown; before `infer`, the
     * limit of the inputs */
    int64_t numbers;
    const void *made; /* tables made by infer */
};

/* Returns a stream of random numbers for an example. `seed` is the step's own seed, or NULL for the
 * job's. Steps of the same name with the same seed of their own get the same numbers in all
 * elements; so do steps that combine examples. A mask's step gets the numbers of its image's. */
dt_random dt_map_draw(const dt_map_stage *s, const dt_map_at *at, const int64_t *seed);

/* Adds numbers of a step, the values `v` of the type, to the graph of x, and returns them. They are
 * a variable that is never assigned, named s->purpose and `name` (map/normalize/x/0/mean). If there
 * is no memory for it, fails the trace and returns x. */
dt_value dt_map_numbers(const dt_map_stage *s, dt_value x, const char *name, const dt_type *type,
                        const void *v);

/* The sizes of an image. `pixel` is the number of bytes of one pixel, with all its channels. */
typedef struct dt_pixels {
    int64_t rows, columns, channels, pixel;
} dt_pixels;
dt_pixels dt_pixels_of(const dt_type *t);
/* Returns the image type with other numbers of rows and columns. */
dt_type dt_image_sized(const dt_type *t, int64_t rows, int64_t columns);
/* Copies the rectangle of out's rows and columns that begins at (row, column) of an image. */
void dt_image_cut(const dt_type *in, const dt_type *out, int64_t row, int64_t column,
                  const void *from, void *to);

#endif
