/* SPDX-License-Identifier: Apache-2.0 */
/* Initializers, which compute the initial values of weights; functions that read fragments of jobs
 * and print arguments, for all of lib/model. */
#ifndef DT_MODEL_INITIALIZER_H
#define DT_MODEL_INITIALIZER_H

#include <math.h>

#include "base/json.h"
#include "base/random.h"
#include "conf/conf.h"
#include "graph/graph.h"
#include "op/op.h"

/* Formats a fragment of a job file and parses it. Messages call it `name` ("loss"). Text and
 * tree are in the arena. Fails with MISUSE if `format` is NULL, and with errors of parsing. */
dt_status *dt_fragment_read(dt_arena *arena, const char *name, const char *format, va_list args,
                            dt_tree **out) DT_MUST_USE DT_PRINTF(3, 0);

/* Converts a class name to Keras' snake case: "SparseCategoricalAccuracy" to
 * "sparse_categorical_accuracy". */
char *dt_snake_case(dt_arena *arena, const char *class_name);

/* dt_config_print prints the arguments of a layer, loss and so on as a JSON object,
 * dt_config_fields only the object's entries, and dt_config_field one of them. */
void dt_config_print(const dt_named *named, dt_json *j, const char *key);
void dt_config_fields(const dt_named *named, dt_json *j);
void dt_config_field(const dt_field *f, const void *args, dt_json *j);

typedef struct dt_initializer dt_initializer;

/* A range of elements of a variable to be drawn: first .. first + n - 1. */
typedef struct dt_draw {
    const dt_initializer *row;
    dt_type type; /* type of the whole variable */
    /* numbers of inputs and outputs that the variable's shape implies: see dt_initialize */
    double fan_in, fan_out;
    /* the variable's random stream, whose key is the seed and the path, or the initializer's own
     * seed */
    dt_random stream;
    int64_t first, n;
} dt_draw;
/* Returns the random stream of element i, from which several numbers can be drawn. It depends only
 * on d->stream and i, so any thread may draw elements in any order. */
dt_random dt_draw_at(const dt_draw *d, int64_t i);

/* The first member of the arguments of initializers that draw numbers. Their tables of fields
 * contain DT_SEED_FIELD. */
typedef struct dt_seed_head {
    int64_t seed;
    bool has_seed;
} dt_seed_head;
#define DT_SEED_FIELD(type, member)                                                                \
    DT_KEY(INT, "seed", type, member.seed, .max = INFINITY,                                        \
           .set = 1 + offsetof(type, member.has_seed),                                             \
           .help = "seed; weights of one shape with the same seed start equal; default: from the " \
                   "job's seed and the weight's path")

struct dt_initializer {
    dt_kind kind;
    /* Fills out: out[k] is element first + k of the variable. */
    void (*fill)(const void *args, const dt_draw *d, double *out);
    const void *preset; /* constants for `fill`, if several initializers have the same `fill` */
    /* whether `fill` must compute all elements at once, because they depend on each other */
    bool whole;
    /* whether the arguments begin with a dt_seed_head, for the random numbers that `fill` draws */
    bool draws;
    /* Returns the error MODEL_SHAPE if a variable of this type cannot be initialized, else NULL.
     * The member is NULL if all types can be. */
    dt_status *(*check)(const dt_type *type);
    /* Adds entries that describe the distribution to JSON. NULL: the arguments are enough. */
    void (*facts)(const void *args, const dt_draw *d, dt_json *j);
};
const dt_kind *const *dt_initializers(int *n);
/* An initializer as an argument of a layer. It is checked when the layer's shapes are known. */
#define DT_INITIALIZER(type, member, ...)                                                          \
    DT_TREE(type, member, .forms = DT_FORMS(DT_NAMED("initializer")), __VA_ARGS__)
/* A key whose value is an axis or a list of axes: see dt_dims_find. */
#define DT_AXES(type, member, ...)                                                                 \
    DT_INTS(type, member, .lone = true, .some = true, .min = -DT_MAX_RANK, .max = DT_MAX_RANK,     \
            __VA_ARGS__)
/* DT_NAME: the name of something in the model; DT_NAME_OR_NAMES: a name or a list of names. The
 * member is a dt_texts. */
#define DT_NAME DT_FORMS(DT_FORM(DT_FIELD_TEXT, .lone = true))
#define DT_NAME_OR_NAMES DT_FORMS(DT_FORM(DT_FIELD_TEXT, .lone = true), DT_FORM(DT_FIELD_TEXTS))
#define DT_LAYER_LIST DT_FORMS(DT_LIST_OF(DT_NAMED("layer"), DT_NAMED("repeat")))
/* Reads an initializer, such as `kernel_initializer: he_normal`. If t is NULL or null, the one
 * named `preset` is used. */
dt_status *dt_initializer_read(dt_arena *arena, const dt_tree *t, const char *preset,
                               dt_named *out) DT_MUST_USE;
/* Checks whether the initializer can initialize a variable of that type. */
dt_status *dt_initializer_check(const dt_named *initializer, const dt_type *type) DT_MUST_USE;
/* Returns the error MODEL_SHAPE of a shape that an initializer cannot fill: the sentence `makes`,
 * such as "Identity needs exactly 2 dimensions", followed by "; shape (3) has 1". */
dt_status *dt_initializer_refuse(const char *makes, const dt_type *type) DT_MUST_USE;
/* Adds the numbers of inputs and outputs, counted as for convolutions, and limits or deviations of
 * the distribution, to JSON. */
void dt_initializer_describe(const dt_named *initializer, const dt_type *type, dt_json *j);
/* Initializes a variable; integers become 0. The first `n_inputs` dimensions are inputs, the
 * others outputs; 0: as for the kernel of a convolution. */
void dt_initialize(const dt_named *initializer, uint64_t seed, int n_inputs, dt_variable *v);

#define DT_INITIALIZER_ROW(name) extern const dt_initializer dt_initializer_##name;
#include "model/initializers.h"
#undef DT_INITIALIZER_ROW

/* ---- distributions, which fill out[d->n] ---- */

void dt_draw_uniform(const dt_draw *d, double low, double high, double *out);
void dt_draw_normal(const dt_draw *d, double mean, double deviation, double *out);
/* Draws from a normal distribution; values beyond 2 deviations are drawn again. `deviation` is that
 * of the distribution before this cut. */
void dt_draw_truncated(const dt_draw *d, double mean, double deviation, double *out);

#endif
