/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizers and the schedules of their learning rates. */
#ifndef DT_MODEL_OPTIMIZER_H
#define DT_MODEL_OPTIMIZER_H

#include "base/hash_index.h"
#include "model/layer.h"

/* ---- learning-rate schedules ---- */

typedef struct dt_rate {
    dt_kind kind;
    /* checks that no field can express; NULL: none */
    dt_status *(*check)(const void *args, const dt_location *where);
    /* step: int64 scalar; the rate: float32 scalar */
    dt_value (*at)(const void *args, dt_value step);
} dt_rate;
const dt_kind *const *dt_rates(int *n);
dt_status *dt_rate_read(dt_arena *arena, const dt_tree *t, dt_named *out) DT_MUST_USE;
dt_value dt_rate_emit(const dt_named *named, dt_value step);
/* Computes the rate as a number */
dt_status *dt_rate_value(const dt_named *named, int64_t step, double *rate) DT_MUST_USE;
dt_value dt_rate_step(dt_value step); /* the step as float32 */
dt_value dt_rate_floor(dt_value x);   /* x >= 0 rounded down */

/* ---- optimizers ---- */

/* The head of every optimizer's args: its struct begins with `dt_optimizer_head head`, its table
 * with DT_OPTIMIZER_FIELDS. */
typedef struct dt_optimizer_head {
    const dt_tree *learning_rate;
    double rate;         /* learning_rate, or else the row's default */
    dt_named schedule;   /* kind NULL: the rate is constant */
    double weight_decay; /* decoupled: w -= w * weight_decay * rate before the step; 0: none */
    /* limits of gradients summed over replicas; at most one is given, and it clips if above 0 */
    double clipvalue, clipnorm, global_clipnorm;
    double ema_momentum, loss_scale_factor;                       /* loss_scale_factor 0: none */
    int64_t ema_overwrite_frequency, gradient_accumulation_steps; /* 0: none */
    dt_texts exclude_from_weight_decay;
    bool use_ema;
    /* whether the key is given */
    bool has_decay, has_clipvalue, has_clipnorm, has_global_clipnorm, has_frequency, has_scale,
        has_accumulation;
} dt_optimizer_head;
#define DT_HEAD_SET(type, flag) .set = 1 + offsetof(type, head.flag)
#define DT_OPTIMIZER_FIELDS(type) DT_OPTIMIZER_FIELDS_DECAYING(type, NULL)
#define DT_OPTIMIZER_FIELDS_DECAYING(type, decay)                                                  \
    DT_HEAD_FIELD(TREE, type, learning_rate,                                                       \
                  .forms =                                                                         \
                      DT_FORMS(DT_FORM(DT_FIELD_REAL, .max = INFINITY), DT_NAMED("schedule")),     \
                  .help = "learning rate: a number of at least 0, or a schedule"),                 \
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

/* A state of a variable: filled with one number, and of the variable's type unless the row sets
 * another. */
typedef struct dt_slot_spec {
    const char *name; /* "momentum" for optimizer/dense/kernel/momentum */
    dt_type type;
    double initial;
    /* 1 + the dimension of the variable that it is a mean over, so that it is divided as the
     * other dimensions are; 0: it has the variable's shape */
    int lacks;
} dt_slot_spec;

#define DT_MAX_SLOTS 4
/* the row's slots, the mean of the weights, and the sum of gradients */
#define DT_ALL_SLOTS (DT_MAX_SLOTS + 2)
/* The update of one variable: reads w, g and slots; sets the new values. All have the variable's
 * dtype. */
typedef struct dt_update {
    dt_trace *trace;
    const void *args;
    const dt_variable *of;
    dt_value stored;             /* the variable before weight decay */
    dt_value w, g;               /* w in: after weight decay; out: after */
    dt_value slot[DT_MAX_SLOTS]; /* slots: before the step on entry, after it on return */
    dt_value rate;               /* learning rate, scalar */
    dt_value t;                  /* iteration + 1, scalar of the variable's dtype */
} dt_update;

typedef struct dt_optimizer_row {
    dt_kind kind;
    double rate; /* the learning rate unless the job has one */
    /* checks that no field can express; NULL: none */
    dt_status *(*check)(const void *args, const dt_location *where);
    /* Returns the number of slots and fills slot[], whose types are preset to the variable's.
     * NULL: no slots. */
    int (*slots)(const void *args, const dt_variable *of, dt_slot_spec *slot);
    void (*apply)(dt_update *u);
} dt_optimizer_row;
const dt_kind *const *dt_optimizers(int *n);
dt_status *dt_optimizer_read(dt_arena *arena, const dt_tree *t, dt_named *out) DT_MUST_USE;

/*
 * Keras' LossScaleOptimizer: the loss is multiplied by a scale while gradients are taken, so that
 * those in float16 do not vanish. After `growth` updates in a row it doubles; gradients that are
 * not finite halve it, and their update is skipped.
 */
typedef struct dt_loss_scale {
    double initial;
    int64_t growth; /* 0: no loss scale */
} dt_loss_scale;

struct dt_optimizer { /* the public handle */
    int refs;
    dt_arena *arena;
    dt_named named;
    /* gradients are accumulated over steps by a separate step: dt_optimizer_add_sums */
    bool accumulates;
    /* float32 scalar, "optimizer/accumulated_examples"; NULL: gradients are not accumulated */
    dt_variable *examples;
    dt_loss_scale scaling;
    /* float32 and int64 scalars, "optimizer/dynamic_scale" and "optimizer/step_counter"; NULL:
     * not scaled */
    dt_variable *scale, *good_steps;
    dt_variable *iteration; /* int64 scalar, "optimizer/iteration"; created with the first slot */
    /* float32 scalar that callbacks change; NULL: the learning rate of the job applies */
    dt_variable *rate;
    int n, cap;
    struct dt_optimizer_slot {
        const dt_variable *of;
        int n, own; /* number of all slots; number of those of the row, which come first */
        dt_variable *slot[DT_ALL_SLOTS];
        dt_variable *average, *sum; /* elements of `slot`; NULL: none */
    } * slot;                       /* per trainable variable */
    dt_hash_index slots_at;         /* by address of the variable */
    int n_all, cap_all;
    /* slots of all variables, owned by `slot`, in order of creation */
    const dt_variable **all;
    dt_hash_index all_at; /* by path */
};
/* Whether weight_decay excludes the weight of that path. */
bool dt_optimizer_excludes(const dt_optimizer_head *head, const char *path);
/* stored - stored * weight_decay * rate; `stored` if decay excludes the variable */
dt_value dt_optimizer_decayed(const dt_update *u, double weight_decay);
/* The state of one variable; NULL: it has none yet. */
struct dt_optimizer_slot *dt_optimizer_find(const dt_optimizer *o, const dt_variable *v);
/* Turns the learning rate into a variable with the job's value. Steps that were traced before keep
 * the constant. */
dt_status *dt_optimizer_vary_rate(dt_optimizer *o) DT_MUST_USE;
/* Creates iteration and the slots of these variables that do not exist, with their first values. */
dt_status *dt_optimizer_prepare(dt_optimizer *o, const dt_variables *v) DT_MUST_USE;
/* Resets all state to its first values. */
void dt_optimizer_reset(dt_optimizer *o);
/* Emits the update of every variable from its gradient, which is already summed over replicas;
 * variables without one are left alone. Iteration + 1. All must be prepared. */
void dt_optimizer_emit(dt_optimizer *o, dt_trace *t, const dt_variables *v,
                       const dt_value *gradient);
/* The loss to take gradients of: multiplied by loss_scale_factor, or by the current loss scale. */
dt_value dt_optimizer_scale_loss(const dt_optimizer *o, dt_value loss);
/* For an optimizer that accumulates. add: adds gradients, summed over a batch and replicas, and the
 * number of its examples, to the stored sums. take: replaces the gradients by the stored sums,
 * which become 0. */
void dt_optimizer_add_sums(const dt_optimizer *o, dt_trace *t, const dt_variables *v,
                           const dt_value *gradient, dt_value examples);
void dt_optimizer_take_sums(const dt_optimizer *o, dt_trace *t, const dt_variables *v,
                            dt_value *gradient, dt_value *examples);
/* With use_ema, sets variables to their running means; *any: whether there are any. */
dt_status *dt_optimizer_take_averages(const dt_optimizer *o, const dt_variables *v,
                                      bool *any) DT_MUST_USE;
/* With use_ema, exchanges variables and their running means. */
dt_status *dt_optimizer_swap_averages(const dt_optimizer *o, const dt_variables *v) DT_MUST_USE;
/* All slots and iteration, for checkpoints: in a fixed order; *n of them, lent array in arena. */
dt_variable **dt_optimizer_variables(const dt_optimizer *o, dt_arena *arena, int *n);

#define DT_RATE_ROW(name) extern const dt_rate dt_rate_##name;
#include "model/rates.h"
#undef DT_RATE_ROW
#define DT_OPTIMIZER_ROW(name) extern const dt_optimizer_row dt_optimizer_##name;
#include "model/optimizers.h"
#undef DT_OPTIMIZER_ROW

#endif
