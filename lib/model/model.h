/*
 * Models: layers, losses, metrics, optimizers and initialisers. Each is one file and one row in a table (layers.h, losses.h,
 * metrics.h, optimizers.h, initializers.h); a row begins with a dt_kind, so its arguments are read from the job file by a field
 * table, with Keras' names and defaults. What a row does is emit graph; nothing here computes on data but initialisers.
 *
 * Reading is apart from creating: dt_model_read checks every shape and lists the weights without allocating one, so that a job is
 * validated, and planned, without memory.
 */
#ifndef DT_MODEL_MODEL_H
#define DT_MODEL_MODEL_H

#include "base/hash.h"
#include "conf/conf.h"
#include "graph/graph.h"
#include "op/op.h"

/* ---- initialisers ---- */

typedef struct dt_initializer {
    dt_kind kind;
    /* Fills float64 values of `type`; element i is drawn from (seed, path, i), never from the order of calls. fan_in and fan_out as Keras computes them. */
    void (*fill)(const void *args, const dt_type *type, uint64_t seed, const char *path, double *out);
} dt_initializer;
const dt_kind *const *dt_initializers(int *n);
/* Reads `kernel_initializer: he_normal`; NULL tree: the named default. */
dt_status *dt_initializer_read(dt_arena *arena, const dt_tree *t, const char *preset, dt_named *out) DT_MUST_USE;
/* Draws a variable's value anew. */
void dt_initialize(const dt_named *initializer, uint64_t seed, dt_variable *v);

/* ---- layers ---- */

typedef struct dt_weight_spec {
    const char *name;   /* "kernel" */
    const char *path;   /* "dense/kernel" */
    dt_type type;
    bool trainable;
    dt_named initializer;
} dt_weight_spec;

#define DT_MAX_WEIGHTS 8
/* What a layer is told when shapes are checked, and what it answers. */
typedef struct dt_layer_build {
    dt_arena *arena;
    const void *args;
    const char *name;     /* "dense_1" */
    dt_place at;          /* of the layer in the job file */
    dt_type in;           /* (B, ...) */
    dt_type out;          /* to be filled */
    int n_weights;        /* to be filled: dt_layer_weight adds one */
    dt_weight_spec weight[DT_MAX_WEIGHTS];
} dt_layer_build;
/* Adds weight `name` of a shape, its path being LAYER/name. initializer: tree or NULL, then `preset`. */
dt_status *dt_layer_weight(dt_layer_build *b, const char *name, int rank, const int64_t *shape, const dt_tree *initializer,
                           const char *preset, bool trainable) DT_MUST_USE;

typedef struct dt_layer_call {
    dt_trace *trace;
    const void *args;
    dt_value x;
    const dt_value *weight; /* in the order of build */
    bool training;
} dt_layer_call;

typedef struct dt_layer {
    dt_kind kind;           /* args have a field `name` (text) first, as all Keras layers do: use DT_LAYER_FIELDS */
    dt_status *(*build)(dt_layer_build *b);
    dt_value (*call)(const dt_layer_call *c);
} dt_layer;
const dt_kind *const *dt_layers(int *n);

/* Activations: names for `activation:` fields (index 0 "linear"), and their graph. */
extern const char *const dt_activations[];
dt_value dt_activate(int activation, dt_value x);

/* ---- the model ---- */

typedef struct dt_layer_spec {
    const dt_layer *row;
    const void *args;
    const char *name;
    dt_place at;
    dt_type in, out;
    int n_weights;
    const dt_weight_spec *weight;
} dt_layer_spec;

typedef struct dt_input_spec {
    const char *name;
    dt_type type; /* (B, ...) */
    dt_place at;
} dt_input_spec;

/* A sequential model, checked. Lives in its arena. */
typedef struct dt_model_spec {
    dt_input_spec input;
    int n_layers;
    const dt_layer_spec *layer;
    dt_type output;
    int n_weights;                  /* all, in creation order */
    const dt_weight_spec *const *weight;
    int64_t parameters;
} dt_model_spec;

/* Reads the list of layers (a job's model.layers). Faults name layer, shape and line. */
dt_status *dt_model_read(dt_arena *arena, const dt_tree *layers, const dt_place *at, dt_model_spec *out) DT_MUST_USE;

/* ---- losses ---- */

typedef struct dt_loss_call_args {
    const void *args;
    dt_value target;      /* (B) or (B, 1) integers, or (B, C) */
    dt_value prediction;  /* (B, C); a softmax node remembers its logits */
} dt_loss_call_args;

typedef struct dt_loss_row {
    dt_kind kind;
    bool sparse;          /* targets are class numbers */
    const char *accuracy; /* the metric class that `accuracy` means with this loss ("" : by shape) */
    /* MODEL_SHAPE when the types cannot go together; types are (B, ...). */
    dt_status *(*check)(const void *args, const dt_type *target, const dt_type *prediction);
    dt_value (*rows)(const dt_loss_call_args *c); /* float (B): one loss per example */
} dt_loss_row;
const dt_kind *const *dt_losses(int *n);

struct dt_loss { /* the public handle */
    int refs;
    dt_arena *arena;
    dt_named named;
};

/* ---- metrics ---- */

/* A metric is `n` sums over examples, added up over batches and replicas, and a function of the sums: exact however batches divide. */
typedef struct dt_metric_row {
    dt_kind kind;
    int sums;
    dt_value (*update)(const dt_loss_call_args *c);        /* float (B, sums), or (B) when sums is 1: per example */
    double (*result)(const void *args, const double *sum, double examples); /* examples 0: NaN */
} dt_metric_row;
const dt_kind *const *dt_metrics(int *n);

/* ---- optimizers ---- */

#define DT_MAX_SLOTS 4
/* One variable's update: reads w, g, slots; writes the new ones. All of the variable's dtype. */
typedef struct dt_update {
    dt_trace *trace;
    const void *args;
    dt_value w, g;
    dt_value slot[DT_MAX_SLOTS]; /* in: before; out: after */
    dt_value rate;               /* learning rate, scalar */
    dt_value t;                  /* iteration + 1, scalar of the variable's dtype */
} dt_update;

typedef struct dt_optimizer_row {
    dt_kind kind;                /* its struct begins with `const dt_tree *learning_rate`'s value: see dt_optimizer_rate */
    int (*slots)(const void *args, const char **name); /* how many, and their names ("m", "v": paths are optimizer/dense/kernel/m) */
    void (*apply)(dt_update *u);
} dt_optimizer_row;
const dt_kind *const *dt_optimizers(int *n);

struct dt_optimizer { /* the public handle */
    int refs;
    dt_arena *arena;
    dt_named named;
    dt_variable *iteration;      /* int64 scalar, "optimizer/iteration"; made with the first slot */
    int n, cap;
    struct dt_optimizer_slot { const dt_variable *of; dt_variable *slot[DT_MAX_SLOTS]; } *slot; /* per trainable variable */
};
/* Makes iteration and the slots of these variables where they are missing (zeros, or the row's start value). */
dt_status *dt_optimizer_prepare(dt_optimizer *o, const dt_variables *v) DT_MUST_USE;
/* Emits the update of every variable from its gradient, which is already summed over replicas. Iteration + 1. */
void dt_optimizer_emit(dt_optimizer *o, dt_trace *t, const dt_variables *v, const dt_value *gradient);
/* All slots and iteration, for checkpoints: in a fixed order; *n of them, lent array in arena. */
dt_variable **dt_optimizer_variables(const dt_optimizer *o, dt_arena *arena, int *n);

/* ---- compile ---- */

typedef struct dt_metric_use {
    const dt_metric_row *row;
    const void *args;
    const char *key; /* history key: "accuracy" for the short form, else the snake-case class name */
} dt_metric_use;

typedef struct dt_compile_spec {
    dt_named optimizer, loss;
    int n_metrics;
    const dt_metric_use *metric; /* `accuracy` already resolved */
    const char *target;          /* element name, NULL: the one that is no input */
    dt_place target_at;
} dt_compile_spec;
/* Reads `compile`. output: the model's output type; resolves `accuracy` by the loss. precision: float32 only for now, others are refused by name. */
dt_status *dt_compile_read(dt_arena *arena, const dt_tree *t, const dt_place *at, const dt_type *output, dt_compile_spec *out) DT_MUST_USE;

/* ---- the public model handle (made in the room train, which knows strategies) ---- */

struct dt_model {
    int refs;
    dt_arena *arena;
    dt_source *source;              /* text of the layers */
    dt_model_spec spec;
    int n_weights;
    dt_variable **weight;           /* in creation order */
    dt_variables trainable;
    uint64_t seed;
    struct dt_strategy *strategy;   /* the captured scope; counted by train */
    bool compiled;
    dt_compile_spec compile;
    dt_optimizer *optimizer;
    void *runner;                   /* train's */
    dt_digest *digest;              /* of dt_model_weights_sha256 */
};
/* The forward pass; emits into input's trace. */
dt_value dt_model_emit(const dt_model *m, dt_value input, bool training);

#endif
