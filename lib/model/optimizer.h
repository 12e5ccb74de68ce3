/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizers and the schedules of their learning rates. */
#ifndef DT_MODEL_OPTIMIZER_H
#define DT_MODEL_OPTIMIZER_H

#include "base/hash_index.h"
#include "model/layer.h"

/* ---- learning-rate schedules ---- */

typedef struct dt_rate {
    dt_kind kind;
    /* Checks arguments in ways that fields cannot express. NULL: there is nothing to check. */
    dt_status *(*check)(const void *args, const dt_location *where);
    /* Emits the rate, a float32 scalar. step: an int64 scalar. */
    dt_value (*at)(const void *args, dt_value step);
} dt_rate;
const dt_kind *const *dt_rates(int *n);
dt_status *dt_rate_read(dt_arena *arena, const dt_tree *t, dt_named *out) DT_MUST_USE;
dt_value dt_rate_emit(const dt_named *named, dt_value step);
/* Sets *rate to the rate at `step`. */
dt_status *dt_rate_value(const dt_named *named, int64_t step, double *rate) DT_MUST_USE;
dt_value dt_rate_step(dt_value step); /* Returns the step, an int64 scalar, as float32. */
dt_value dt_rate_floor(dt_value x);   /* Rounds x, which is at least 0, down. */

/* ---- optimizers ---- */

/* The first member, `head`, of every optimizer's arguments. The optimizer's table of fields
 * contains DT_OPTIMIZER_FIELDS. */
typedef struct dt_optimizer_head {
    double rate;       /* the argument learning_rate, or the row's default */
    dt_named schedule; /* of the learning rate; kind NULL: only callbacks change it */
    /* Decoupled weight decay: w -= w * weight_decay * rate before the step; 0: none. */
    double weight_decay;
    /* limits of gradients after their sum over replicas; at most one is given, and it applies if it
     * is above 0 */
    double clipvalue, clipnorm, global_clipnorm;
    /* ema_momentum: of the running mean of weights; loss_scale_factor: factor of the loss, which
     * applies if has_scale is set */
    double ema_momentum, loss_scale_factor;
    /* ema_overwrite_frequency: running means overwrite the weights every so many updates;
     * gradient_accumulation_steps: number of steps whose gradients are averaged for one update; 0:
     * off */
    int64_t ema_overwrite_frequency, gradient_accumulation_steps;
    dt_texts exclude_from_weight_decay;
    bool use_ema;
    /* whether the argument that the member is named after was given; has_rate: learning_rate, as a
     * number; has_scale: loss_scale_factor, or a number as loss_scale of `compile` */
    bool has_rate, has_decay, has_clipvalue, has_clipnorm, has_global_clipnorm, has_frequency,
        has_scale, has_accumulation;
} dt_optimizer_head;
#define DT_HEAD_SET(type, flag) .set = 1 + offsetof(type, head.flag)
#define DT_OPTIMIZER_FIELDS(type) DT_OPTIMIZER_FIELDS_DECAYING(type, NULL)
#define DT_OPTIMIZER_FIELDS_DECAYING(type, decay)                                                  \
    DT_ONE_OF(                                                                                     \
        learning_rate,                                                                             \
        DT_FORMS(DT_HEAD_FIELD(REAL, type, rate, DT_HEAD_SET(type, has_rate), .max = INFINITY),    \
                 DT_HEAD_FIELD(NAMED, type, schedule, .noun = "schedule", .read = dt_rate_read)),  \
        .help = "learning rate: a number of at least 0, or a schedule"),                           \
        DT_HEAD_FIELD(REAL, type, weight_decay, .preset = (decay), .max = INFINITY,                \
                      DT_HEAD_SET(type, has_decay),                                                \
                      .help = "weight decay: multiplied by the rate at each step"),                \
        DT_HEAD_FIELD(TEXTS, type, exclude_from_weight_decay,                                      \
                      .help = "weights without decay: words in their names, [bias, gamma], or "    \
                              "paths, dense_1/bias"),                                              \
        DT_HEAD_FIELD(REAL, type, clipvalue, DT_HEAD_SET(type, has_clipvalue),                     \
                      .help = "clip each element of the gradients to +- this value"),              \
        DT_HEAD_FIELD(REAL, type, clipnorm, DT_HEAD_SET(type, has_clipnorm),                       \
                      .help = "clip each gradient to this norm"),                                  \
        DT_HEAD_FIELD(REAL, type, global_clipnorm, DT_HEAD_SET(type, has_global_clipnorm),         \
                      .help = "clip all gradients together to this norm"),                         \
        DT_HEAD_FIELD(BOOL, type, use_ema, .help = "keep a moving average of the weights"),        \
        DT_HEAD_FIELD(REAL, type, ema_momentum, .preset = "0.99",                                  \
                      .help = "momentum of the moving average"),                                   \
        DT_HEAD_FIELD(                                                                             \
            INT, type, ema_overwrite_frequency, DT_HEAD_SET(type, has_frequency),                  \
            .help =                                                                                \
                "overwrite the weights with the average every N steps; default: only at the end"), \
        DT_HEAD_FIELD(REAL, type, loss_scale_factor, DT_HEAD_SET(type, has_scale),                 \
                      .help = "factor of the loss; gradients are divided by it"),                  \
        DT_HEAD_FIELD(INT, type, gradient_accumulation_steps, DT_HEAD_SET(type, has_accumulation), \
                      .help = "number of steps whose gradients are averaged per update"),          \
        DT_INSTEAD("lr", "write 'learning_rate'"), DT_NOT_YET("name")

/* A slot of a variable. It is filled with one number, and has the variable's type unless the row
 * sets another. */
typedef struct dt_slot_spec {
    /* last part of the slot's path: "momentum" in optimizer/dense/kernel/momentum */
    const char *name;
    dt_type type;
    double initial;
    /* 1 + the dimension of the variable over which the slot is a mean, and which the slot lacks, so
     * that the slot can be divided like the variable's other dimensions; 0: it is no such mean */
    int lacks;
} dt_slot_spec;

#define DT_MAX_SLOTS 4
/* the most slots of a variable: those of the row, the mean of the weights, the sum of gradients */
#define DT_ALL_SLOTS (DT_MAX_SLOTS + 2)
/* The update of one variable. The row's function reads w, g and slots, and sets the new values. All
 * have the variable's dtype. */
typedef struct dt_update {
    dt_trace *trace;
    const void *args;
    const dt_variable *of;
    dt_value stored; /* the variable's value in memory, before weight decay */
    /* w: at first the value after weight decay, then the new value, which the row sets; g: the
     * gradient */
    dt_value w, g;
    /* values of the slots: at first the old ones, then the new ones, which the row sets */
    dt_value slot[DT_MAX_SLOTS];
    dt_value rate; /* the learning rate, a scalar */
    dt_value t; /* the number of this update, counted from 1, as a scalar of the variable's dtype */
} dt_update;

typedef struct dt_optimizer_row {
    dt_kind kind;
    double rate; /* default of the argument learning_rate */
    /* Checks arguments in ways that fields cannot express. NULL: there is nothing to check. */
    dt_status *(*check)(const void *args, const dt_location *where);
    /* Fills slot[] and returns the number of slots. Their types are preset to the variable's. NULL:
     * no slots. */
    int (*slots)(const void *args, const dt_variable *of, dt_slot_spec *slot);
    void (*apply)(dt_update *u);
} dt_optimizer_row;
const dt_kind *const *dt_optimizers(int *n);
dt_status *dt_optimizer_read(dt_arena *arena, const dt_tree *t, dt_named *out) DT_MUST_USE;

/*
 * Keras' LossScaleOptimizer: the loss is multiplied by a scale while gradients are taken, so that
 * those in float16 do not vanish. After `growth` steps in a row it doubles; gradients that are not
 * finite halve it, and their step is skipped.
 */
typedef struct dt_loss_scale {
    double initial;
    int64_t growth; /* number of successive finite steps that double the scale; 0: no scale */
} dt_loss_scale;

struct dt_optimizer { /* The type behind the public handle of an optimizer. */
    int refs;
    dt_arena *arena;
    dt_named named;
    /* whether gradients are accumulated over several steps by a separate step program:
     * dt_optimizer_add_sums */
    bool accumulates;
    /* number of accumulated examples, the float32 scalar "optimizer/accumulated_examples"; NULL
     * unless `accumulates`, and until dt_optimizer_prepare */
    dt_variable *examples;
    dt_loss_scale scaling;
    /* the dynamic loss scale and its counter, the float32 and int64 scalars
     * "optimizer/dynamic_scale" and "optimizer/step_counter"; NULL: there is no dynamic scale, or
     * dt_optimizer_prepare has not created it yet */
    dt_variable *scale, *good_steps;
    /* the int64 scalar "optimizer/iteration": number of steps of dt_optimizer_emit, without those
     * that the dynamic loss scale skipped; with gradient_accumulation_steps k, k steps make one
     * update. NULL until dt_optimizer_prepare */
    dt_variable *iteration;
    /* learning rate that callbacks change, a float32 scalar; NULL: the learning rate of the job
     * applies */
    dt_variable *rate;
    int n, cap;
    struct dt_optimizer_slot {
        const dt_variable *of;
        /* n: number of all slots of the variable; own: number of slots that the optimizer's row
         * asks for, which come first */
        int n, own;
        dt_variable *slot[DT_ALL_SLOTS];
        /* average: the slot for the running mean of the weights; sum: the slot for the sum of
         * gradients. NULL: the variable does not have it */
        dt_variable *average, *sum;
    } * slot;               /* [n] for each trainable variable: its slots */
    dt_hash_index slots_at; /* finds an element of `slot` by the address of its variable */
    int n_all, cap_all;
    /* the slots of all variables in the order of their creation; `slot` owns them */
    const dt_variable **all;
    dt_hash_index all_at; /* finds an element of `all` by its path */
};
/* Whether the arguments exclude the weight of that path from weight decay. */
bool dt_optimizer_excludes(const dt_optimizer_head *head, const char *path);
/* Emits stored - stored * weight_decay * rate; `stored` itself if weight_decay is 0 or the variable
 * is excluded from weight decay. */
dt_value dt_optimizer_decayed(const dt_update *u, double weight_decay);
/* Returns the slots of one variable; NULL: they have not been created. */
struct dt_optimizer_slot *dt_optimizer_find(const dt_optimizer *o, const dt_variable *v);
/* Turns the learning rate into a variable with the job's value, unless it is one already or follows
 * a schedule. Steps that were traced before keep the constant. */
dt_status *dt_optimizer_vary_rate(dt_optimizer *o) DT_MUST_USE;
/* Creates, with their first values, `iteration`, the loss scale, what accumulation needs, and the
 * slots of the variables v, as far as they do not exist. Fails with DOES_NOT_FIT if there is no
 * memory for the slots, and with RANGE if `accumulates` is set, but gradient_accumulation_steps is,
 * too, or slots were created without it. */
dt_status *dt_optimizer_prepare(dt_optimizer *o, const dt_variables *v) DT_MUST_USE;
/* Sets iteration, the loss scale and its counter, the number of accumulated examples and all slots
 * to their initial values; a learning rate that callbacks changed (`rate`) is left as it is. */
void dt_optimizer_reset(dt_optimizer *o);
/* Emits the update of every variable from its gradient, which is already summed over replicas; a
 * variable without a gradient changes only if its running mean overwrites it. Increases `iteration`
 * by 1. With a dynamic loss scale, gradients that are not finite change nothing but the scale and
 * its counter. All variables must be prepared. */
void dt_optimizer_emit(dt_optimizer *o, dt_trace *t, const dt_variables *v,
                       const dt_value *gradient);
/* Returns the loss whose gradients are computed: the loss multiplied by loss_scale_factor, or by
 * the current loss scale; without either, the loss itself. */
dt_value dt_optimizer_scale_loss(const dt_optimizer *o, dt_value loss);
/* For an optimizer that accumulates. dt_optimizer_add_sums adds gradients, summed over a batch and
 * replicas, and the number of its examples, to the stored sums. dt_optimizer_take_sums adds the
 * stored sums to the gradients and to *examples, and sets them to 0. */
void dt_optimizer_add_sums(const dt_optimizer *o, dt_trace *t, const dt_variables *v,
                           const dt_value *gradient, dt_value examples);
void dt_optimizer_take_sums(const dt_optimizer *o, dt_trace *t, const dt_variables *v,
                            dt_value *gradient, dt_value *examples);
/* If use_ema is set, sets variables to their running means. *any: whether there are such
 * variables. */
dt_status *dt_optimizer_take_averages(const dt_optimizer *o, const dt_variables *v,
                                      bool *any) DT_MUST_USE;
/* If use_ema is set, exchanges variables and their running means. */
dt_status *dt_optimizer_swap_averages(const dt_optimizer *o, const dt_variables *v) DT_MUST_USE;
/* Lists `iteration`, the loss scale and its counter, the number of accumulated examples, as far as
 * they exist, and all slots, in a fixed order, for checkpoints. *n is their number. The array is in
 * the arena; the optimizer still owns the variables. */
dt_variable **dt_optimizer_variables(const dt_optimizer *o, dt_arena *arena, int *n);

#define DT_RATE_ROW(name) extern const dt_rate dt_rate_##name;
#include "model/rates.h"
#undef DT_RATE_ROW
#define DT_OPTIMIZER_ROW(name) extern const dt_optimizer_row dt_optimizer_##name;
#include "model/optimizers.h"
#undef DT_OPTIMIZER_ROW

/* ---- running means: many optimizers keep those of gradients and of their squares ---- */

/* The fields for Adam's arguments. The struct `type` must have doubles with these names. */
#define DT_MOMENT_FIELDS(type)                                                                     \
    DT_REAL(type, beta_1, .preset = "0.9", .max = 1, .below_max = true,                            \
            .help = "decay rate of the mean of gradients"),                                        \
        DT_REAL(type, beta_2, .preset = "0.999", .max = 1, .below_max = true,                      \
                .help = "decay rate of the mean of squared gradients"),                            \
        DT_REAL(type, epsilon, .preset = "1e-7", .above_min = true,                                \
                .help = "small constant that avoids division by 0")
/* The function `slots` of optimizers with two slots, "momentum" and "velocity". */
int dt_moment_slots(const void *args, const dt_variable *of, dt_slot_spec *slot);

/* Returns 1 - beta^t, a scalar: the sum of the weights that a running mean has given to values so
 * far. Dividing by it corrects a mean that began at 0. */
dt_value dt_moment_filled(const dt_update *u, double beta);
/* Emits mean + (x - mean) share. */
dt_value dt_moment_moved(dt_value mean, dt_value x, double share);
/* Emits share * mean + (1 - share) * x. This equals dt_moment_moved(mean, x, 1 - share) except for
 * rounding; Keras has both forms. */
dt_value dt_moment_mixed(dt_value mean, dt_value x, double share);

#endif
