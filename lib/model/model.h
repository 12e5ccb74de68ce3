/*
 * Models: layers, losses, metrics, optimizers and initialisers. Each is one file and one row in a table (layers.h, losses.h,
 * metrics.h, optimizers.h, initializers.h); a row begins with a dt_kind, so its arguments are read from the job file by a field
 * table, with Keras' names and defaults. What a row does is emit graph; nothing here computes on data but initialisers.
 *
 * Reading is apart from creating: dt_model_read checks every shape and lists the weights without allocating one, so that a job is
 * validated, and planned, without memory.
 *
 * Keras is 3.15: where a number or a formula below has no other source, it is that version's.
 */
#ifndef DT_MODEL_MODEL_H
#define DT_MODEL_MODEL_H

#include <math.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/random.h"
#include "conf/conf.h"
#include "graph/graph.h"
#include "op/op.h"

/* ---- reading ---- */

/* Formats a fragment of a job file and parses it; `name` stands for it in messages ("loss"). Text and tree live in the arena. */
dt_status *dt_fragment_read(dt_arena *arena, const char *name, const char *format, va_list args, dt_tree **out) DT_MUST_USE DT_PRINTF(3, 0);

/* "SparseCategoricalAccuracy" as Keras makes names of classes: "sparse_categorical_accuracy". */
char *dt_snake_case(dt_arena *arena, const char *class_name);

/* The arguments of a row as one JSON object, or its entries alone. */
void dt_config_print(const dt_named *named, dt_json *j, const char *key);
void dt_config_fields(const dt_named *named, dt_json *j);

/* ---- initialisers ---- */

typedef struct dt_initializer dt_initializer;

/* Elements first .. first + n - 1 of a variable, to be drawn. */
typedef struct dt_draw {
    const dt_initializer *row;
    dt_type type;         /* of the whole variable */
    double fan_in, fan_out; /* as Keras computes them */
    dt_random stream;     /* keyed by seed and path: see dt_draw_at */
    int64_t first, n;
} dt_draw;
/* The random numbers of element i: a pure function of (seed, path, i), whoever draws and in whatever order. */
dt_random dt_draw_at(const dt_draw *d, int64_t i);

/* The head of the args of initialisers that draw: theirs begins with it, their table has DT_SEED_FIELD. */
typedef struct dt_seed_head {
    int64_t seed;
    bool has_seed;
} dt_seed_head;
#define DT_SEED_FIELD(type, member) \
    { .kind = DT_FIELD_INT, .name = "seed", .offset = offsetof(type, member.seed), .max = INFINITY, .set = 1 + offsetof(type, member.has_seed), \
      .help = "a seed of its own: weights of one shape with the same seed begin alike; by default the job's, and each is drawn by itself" }

struct dt_initializer {
    dt_kind kind;
    void (*fill)(const void *args, const dt_draw *d, double *out); /* out[k] is element first + k */
    const void *preset; /* the row's own constants: rows may share a fill */
    bool whole;         /* fill makes all elements at once, or they would not fit together */
    bool draws;         /* its args begin with a dt_seed_head */
    dt_status *(*check)(const dt_type *type); /* MODEL_SHAPE where such a variable cannot be made; NULL: all can */
    void (*facts)(const void *args, const dt_draw *d, dt_json *j); /* entries that say what is drawn from; NULL: the arguments do */
};
const dt_kind *const *dt_initializers(int *n);
/* What arguments may be that a table reads as trees. */
extern const dt_field dt_initializer_forms[], dt_regularizer_forms[], dt_learning_rate_forms[], dt_schedule_forms[], dt_layer_forms[], dt_layers_forms[];
extern const dt_field dt_integers_forms[], dt_amounts_forms[], dt_text_forms[], dt_names_forms[];
/* Reads `kernel_initializer: he_normal`; t NULL or null: the one named `preset`. */
dt_status *dt_initializer_read(dt_arena *arena, const dt_tree *t, const char *preset, dt_named *out) DT_MUST_USE;
/* What the row's check says of a variable of that type. */
dt_status *dt_initializer_check(const dt_named *initializer, const dt_type *type) DT_MUST_USE;
/* Fans, and limits or deviations of what is drawn, as entries of JSON. */
void dt_initializer_describe(const dt_named *initializer, const dt_type *type, dt_json *j);
/* Draws a variable's value anew; integers become 0. */
void dt_initialize(const dt_named *initializer, uint64_t seed, dt_variable *v);

/* ---- layers ---- */

/* The largest weight, and the largest value that one example may become on its way through a model. */
#define DT_MAX_WEIGHT_BYTES 0x1p40
#define DT_MAX_EXAMPLE_BYTES 0x1p32

typedef struct dt_weight_spec {
    const char *name;   /* "kernel" */
    const char *path;   /* "dense/kernel" */
    dt_type type;
    bool trainable;
    dt_named initializer;
    dt_named regularizer; /* kind NULL: none */
} dt_weight_spec;

/* What a penalty is on: weights by their last word, or what the layer gives. */
enum {
    DT_REGULARIZER_KERNEL, DT_REGULARIZER_BIAS, DT_REGULARIZER_ACTIVITY, DT_REGULARIZER_RECURRENT, DT_REGULARIZER_DEPTHWISE, DT_REGULARIZER_POINTWISE,
    DT_REGULARIZER_EMBEDDINGS, DT_REGULARIZER_GAMMA, DT_REGULARIZER_BETA, DT_REGULARIZER_ALPHA, DT_REGULARIZERS
};
/* A layer's field for one. */
#define DT_REGULARIZER(type, what, key) \
    { .kind = DT_FIELD_TREE, .name = (key), .offset = offsetof(type, head.regularizer) + (DT_REGULARIZER_##what) * sizeof(const dt_tree *), \
      .forms = dt_regularizer_forms, \
      .help = "what it adds to the loss: l2, {L1: {l1: 0.001}}, {L1L2: {l1: 0.001, l2: 0.01}}; none by default" }

/* The head of every layer's args: a layer's struct begins with `dt_layer_head head`, its table with DT_LAYER_FIELDS. */
typedef struct dt_layer_head {
    const char *name; /* NULL: Keras' name for an unnamed layer */
    bool trainable;
    const dt_tree *inputs; /* what it takes from, as written; NULL: the layer before */
    int dtype;             /* dt_policy, where it has_dtype; else the model's counts */
    bool has_dtype;
    const dt_tree *regularizer[DT_REGULARIZERS]; /* as written; NULL: none */
} dt_layer_head;

/* Keras' words for what layers compute in. Variables are float32 under any. */
extern const char *const dt_policies[];
typedef enum dt_policy { DT_POLICY_FLOAT32, DT_POLICY_MIXED_BFLOAT16, DT_POLICY_MIXED_FLOAT16 } dt_policy;
dt_dtype dt_policy_dtype(int policy);
#define DT_HEAD_FIELD(kind_, type, member, ...) { .kind = (kind_), .name = #member, .offset = offsetof(type, head.member), __VA_ARGS__ }
#define DT_NAME_FIELD(type) DT_HEAD_FIELD(DT_FIELD_TEXT, type, name, .help = "unlike all other layers' names; weights are NAME/kernel, ...")
#define DT_LAYER_FIELDS(type) \
    DT_NAME_FIELD(type), \
    DT_HEAD_FIELD(DT_FIELD_BOOL, type, trainable, .preset = "true", .help = "false: the optimizer leaves the weights alone"), \
    DT_HEAD_FIELD(DT_FIELD_TREE, type, inputs, .forms = dt_names_forms, .help = "of a functional model: the layer, or the list of layers, that it takes from"), \
    DT_HEAD_FIELD(DT_FIELD_ENUM, type, dtype, .choices = dt_policies, .set = 1 + offsetof(type, head.has_dtype), \
                  .help = "a policy of its own: float32 under a mixed one")

#define DT_MAX_WEIGHTS 32
#define DT_MAX_BORROWED 2
/* What a layer is told when shapes are checked, and what it answers. */
typedef struct dt_layer_build {
    dt_arena *arena;
    const void *args;     /* begins with a dt_layer_head */
    const char *name;     /* "dense_1" */
    dt_place at;          /* of the layer in the job file */
    dt_type in;           /* (B, ...): of the first input */
    int n_in;             /* 0: an Input */
    const dt_type *ins;   /* [n_in] */
    const char *const *from; /* [n_in] the layers' names */
    const bool *masks;    /* [n_in] which come with a mask: see dt_layer */
    dt_type out;          /* to be filled */
    bool out_mask;        /* whether it gives one; comes as that of the first input where the row supports masking */
    int n_weights;        /* to be filled: dt_layer_weight adds one */
    dt_weight_spec weight[DT_MAX_WEIGHTS];
    int n_earlier;        /* layers before this one */
    const struct dt_layer_spec *earlier;
    int n_borrowed;       /* to be filled: dt_layer_borrow adds one */
    int borrowed[DT_MAX_BORROWED]; /* numbers of weights, counted through the model */
    const void *made;     /* may be filled: what call wants to know besides args; in `arena` */
} dt_layer_build;

typedef struct dt_weight_request {
    const char *name;           /* its path is LAYER/name */
    dt_dtype dtype;
    int rank;
    int64_t dim[DT_MAX_RANK];
    const dt_tree *initializer; /* as the job has it, NULL: the preset */
    const char *preset;
    bool fixed;                 /* never trained, whatever the layer's `trainable` */
} dt_weight_request;
/* Adds a weight; MODEL_SIZE when it is larger than DT_MAX_WEIGHT_BYTES. */
dt_status *dt_layer_weight(dt_layer_build *b, const dt_weight_request *w) DT_MUST_USE;
/* Makes a weight of an earlier layer this one's too, behind its own: `path` is the weight's, or that of the layer or part whose only one it is.
 * WEIGHT at the path when there is no such weight. */
dt_status *dt_layer_borrow(dt_layer_build *b, const dt_tree *path, dt_type *type) DT_MUST_USE;
/* MODEL_SHAPE at the layer unless `in` is of floats and has at least `rank` dimensions, B included. */
dt_status *dt_layer_wants(const dt_layer_build *b, const char *kind, int rank) DT_MUST_USE;
/* The same with exactly `rank` dimensions: `shape` names them. */
dt_status *dt_layer_wants_exactly(const dt_layer_build *b, const char *kind, int rank, const char *shape) DT_MUST_USE;

/* MODEL_SHAPE: inputs i and k, whose names and types are told. */
dt_status *dt_layer_cannot_join(const dt_layer_build *b, const char *kind, int i, int k) DT_MUST_USE;

typedef struct dt_layer_call {
    dt_trace *trace;
    const void *args, *made; /* as build left them */
    dt_value x;             /* the first input */
    const dt_value *xs;     /* [n_in] all of them */
    const dt_value *masks;  /* [n_in] see dt_layer; no value: all counts */
    int n_in;
    const char *name;
    const dt_value *weight; /* in the order of build, the borrowed ones last */
    dt_variable *const *variable; /* the same, to be assigned what is kept from step to step: equal on all replicas */
    const dt_type *out;     /* as build said */
    uint64_t seed;          /* the model's */
    bool training;
    dt_dtype compute;       /* of the policy; float32: nothing is converted */
    const struct dt_model *model;
} dt_layer_call;
/* Inside of `call`: y, a value of the layer that users can name, by its full name ("decoder_0/self_attention"), with what the model's owner has
 * to say of it. Use the result instead of y. */
dt_value dt_layer_value(const dt_layer_call *c, const char *name, dt_value y);

/*
 * What a layer computes in under a policy of mixed precision, whose dtype is `compute` of the call. Variables are float32 under any.
 *
 *     NARROW    inputs and weights are converted, all of it is in that dtype
 *     WIDE      inputs are made float32, weights stay; what comes out is converted: layers that Keras keeps in float32
 *     BY_PARTS  inputs are converted, weights stay: its parts are asked each
 *     AS_IT_IS  nothing is converted: an Input
 */
typedef enum dt_layer_precision { DT_LAYER_NARROW, DT_LAYER_WIDE, DT_LAYER_BY_PARTS, DT_LAYER_AS_IT_IS } dt_layer_precision;

/*
 * Masks. Of a sequence that was padded some steps do not count. Its mask, bools of the shape of its values without the last dimension, goes along with
 * what layers make of it, as Keras' does: a layer that supports masking may read its inputs' masks, and the first one is that of what it gives, unless
 * it says otherwise; behind any other layer there is none. What comes out with a mask has losses and metrics where that is true alone.
 */
#define DT_MANY_LAYERS 1024
typedef struct dt_layer {
    dt_kind kind;
    dt_layer_precision precision;
    int least, most;        /* how many layers it takes from; both 0: one */
    dt_status *(*build)(dt_layer_build *b);
    dt_value (*call)(const dt_layer_call *c);
    bool supports_masking;
    int64_t (*rows)(const void *args); /* numbers that it takes lie below that; NULL: any */
    dt_value (*mask)(const dt_layer_call *c); /* of what it gives, where build said so; NULL: that of the first input */
} dt_layer;
/* The mask of what the layer gives; called where it has one. */
dt_value dt_layer_mask(const dt_layer *row, const dt_layer_call *c);
dt_value dt_mask_along(dt_value mask, dt_value x); /* repeated over the last dimension of x */
dt_value dt_masks_joined(const dt_layer_call *c);  /* true where one of the inputs' is: they are of one shape */
/* row->call, with inputs and weights in the dtypes that the call's policy, or the layer's own `dtype`, asks for. n_weights: all, the borrowed too. */
dt_value dt_layer_apply(const dt_layer *row, const dt_layer_call *c, int n_weights);
dt_value dt_to_float32(dt_value x); /* what is of few digits converted, all else as it is */
const dt_kind *const *dt_layers(int *n);
/* What stands beside them in a list of layers. */
const dt_kind *const *dt_repeats(int *n);

/* Activations are for floats. Names for `activation:` fields (index 0 "linear") and their graph with default arguments; dt_activation_call
 * takes arguments too. */
typedef struct dt_activation {
    dt_kind kind;
    dt_value (*call)(const void *args, dt_value x);
} dt_activation;
const dt_kind *const *dt_activation_kinds(int *n);
extern const char *const dt_activations[];
int dt_activation_find(const char *name); /* -1: none */
dt_value dt_activate(int activation, dt_value x);

typedef struct dt_relu_args {
    double negative_slope, max_value, threshold;
    bool has_max;
} dt_relu_args;
dt_value dt_relu(const dt_relu_args *r, dt_value x);
dt_value dt_hard_sigmoid(dt_value x);
int dt_axis_of(dt_value x, int64_t axis);    /* counted from the front; -1, and the trace has failed: there is none */
dt_value dt_swap_last(dt_value x, int axis); /* the axis and the last one exchanged; its own inverse */
dt_value dt_move_last(dt_value x, int axis); /* the axis last, the others as they stand */
dt_value dt_softplus(dt_value x); /* log(1 + exp x) */

/* ---- regularisers ---- */

/* What is added to the loss: of each element, or of all as a scalar. */
typedef struct dt_regularizer {
    dt_kind kind;
    dt_status *(*check)(const dt_type *type);        /* MODEL_SHAPE where such a weight cannot have it; NULL: all can */
    dt_value (*each)(const void *args, dt_value x);  /* NULL: see whole */
    dt_value (*whole)(const void *args, dt_value x);
} dt_regularizer;
const dt_kind *const *dt_regularizers(int *n);
/* Reads what the layer's head says of that weight, by its name; of what the layer gives. */
dt_status *dt_regularizer_read(dt_arena *arena, const dt_layer_head *head, dt_weight_spec *weight) DT_MUST_USE;
dt_status *dt_activity_read(dt_arena *arena, const dt_layer_head *head, dt_named *out) DT_MUST_USE;

/* ---- the model ---- */

typedef struct dt_layer_spec {
    const dt_layer *row;
    const void *args;
    const char *name;
    dt_place at;
    int n_in;
    const int *from;                /* [n_in] numbers of layers above */
    dt_type in, out;
    bool out_mask;       /* what it gives comes with a mask */
    int n_weights, n_borrowed;
    const dt_weight_spec *weight;
    const int *borrowed; /* numbers of earlier layers' weights in the model */
    const void *made;
    dt_named activity;   /* what its values add to the loss; kind NULL: nothing */
    int turn;            /* of a Repeat that it stands in, counted over the model from 1; 0: none */
} dt_layer_spec;

typedef struct dt_input_spec {
    const char *name;
    dt_type type; /* (B, ...) */
    dt_place at;
} dt_input_spec;

typedef struct dt_output_spec {
    int layer;        /* its number */
    const char *name; /* the layer's */
    dt_type type;
} dt_output_spec;

/* What is made again for the gradient instead of being kept; modes of Keras' RematScope. */
typedef enum dt_rematerialize { DT_REMAT_NONE, DT_REMAT_FULL } dt_rematerialize;

#define DT_MAX_INPUTS 32
#define DT_MAX_OUTPUTS 32
/* `init_from`: where the weights are taken from that training begins with. */
typedef struct dt_init_from {
    const char *path;               /* a checkpoint, a run's directory or a file of weights; NULL: weights are drawn */
    bool skip_mismatch;             /* those that are not there, or of another shape, are drawn */
    dt_place at;
} dt_init_from;

/* A model, checked. Lives in its arena. */
typedef struct dt_model_spec {
    dt_init_from init_from;
    int n_inputs;                   /* 1 to DT_MAX_INPUTS */
    const dt_input_spec *input;     /* in the order of the file */
    int n_layers;                   /* in the order of the file, Inputs too: layers take from layers above */
    const dt_layer_spec *layer;
    int n_outputs;                  /* 1 to DT_MAX_OUTPUTS */
    const dt_output_spec *output;   /* in the order of the job's `outputs` */
    int n_weights;                  /* all, in creation order */
    const dt_weight_spec *const *weight;
    int64_t parameters;
    dt_rematerialize rematerialize;
} dt_model_spec;

/* The list of layers with every Repeat written out. turns[i]: layer i stands in that turn of a Repeat, counted from 1; 0: in none. All faults. */
dt_status *dt_layers_expand(dt_arena *arena, const dt_tree *layers, const dt_tree **out, const int **turns) DT_MUST_USE;
/* Reads a job's `model`, or the list of layers alone, which is a sequential model. All faults that can be told apart are returned; they name
 * layer, shape and line. */
dt_status *dt_model_read(dt_arena *arena, const dt_tree *model, const dt_place *at, dt_model_spec *out) DT_MUST_USE;
/* The Input of that name; NULL: there is none. */
const dt_input_spec *dt_model_find_input(const dt_model_spec *m, const char *name);

/* ---- losses ---- */

/* How the losses of samples become one number; Keras' words. */
typedef enum dt_reduction {
    DT_REDUCTION_SUM_OVER_BATCH_SIZE, DT_REDUCTION_MEAN, DT_REDUCTION_MEAN_WITH_SAMPLE_WEIGHT, DT_REDUCTION_SUM, DT_REDUCTION_NONE
} dt_reduction;
extern const char *const dt_reductions[];

/* The head of every loss's args: its struct begins with `dt_loss_head head`, its table with DT_LOSS_FIELDS. */
typedef struct dt_loss_head {
    int reduction; /* dt_reduction */
    const char *name;
} dt_loss_head;
#define DT_LOSS_ARGS_SIZE 128 /* room for the args of any loss: a metric of its name has the same */
#define DT_LOSS_FIELDS(type) \
    DT_HEAD_FIELD(DT_FIELD_ENUM, type, reduction, .choices = dt_reductions, \
                  .help = "sum_over_batch_size: sum of losses / number of samples; fit divides by the global batch"), \
    DT_HEAD_FIELD(DT_FIELD_TEXT, type, name, .help = "of a metric: the key in the history"), DT_NOT_YET("dtype")
extern const dt_field dt_binary_crossentropy_fields[], dt_categorical_crossentropy_fields[], dt_sparse_categorical_crossentropy_fields[];

typedef struct dt_loss_call_args {
    const void *args;
    dt_value target;      /* (B) or (B, 1) integers, or (B, ..., C) */
    dt_value prediction;  /* (B, ..., C); a softmax node remembers its logits */
} dt_loss_call_args;

/* NULL if targets and predictions of these types can go together, else LABELS; types are (B, ...). */
typedef dt_status *dt_check_fn(const void *args, const dt_type *target, const dt_type *prediction);

#define DT_LOSS_PARTS 4
typedef struct dt_loss_row {
    dt_kind kind;
    bool sparse;          /* targets are class numbers */
    const char *accuracy; /* the metric class that `accuracy` means with this loss; NULL: by shape */
    dt_check_fn *check;
    dt_value (*rows)(const dt_loss_call_args *c); /* float (B, ...): one loss per sample */
    dt_value (*mask)(const dt_loss_call_args *c); /* bool (B, ...): samples that count; no value, or NULL: all */
    const int64_t *(*ignored)(const void *args);  /* the label of those that do not; NULL: there is none */
    /* Of a loss that is a function of sums; all NULL: it is none. With the batch's dimension among those that are summed it is one number for the batch. */
    uint32_t (*summed)(const void *args, const dt_type *prediction);        /* the dimensions */
    int (*parts)(const dt_loss_call_args *c, dt_value part[DT_LOSS_PARTS]); /* what is summed, of the predictions' shape; their number */
    dt_value (*join)(const void *args, const dt_value *sum);                /* the loss from the sums; its mean counts where sums are several */
} dt_loss_row;
const dt_kind *const *dt_losses(int *n);
/* Whether it is one number for the batch: no sum over examples, nothing to be weighed. */
bool dt_loss_is_whole(const dt_named *named, const dt_type *prediction);
dt_status *dt_loss_read(dt_arena *arena, const dt_tree *t, dt_named *out) DT_MUST_USE;
/* One loss per example, (B): the mean over its samples. */
dt_value dt_loss_rows(const dt_named *named, const dt_loss_call_args *c);

/* What rows of losses and metrics share. */
dt_value dt_logits_of(dt_value prediction, const dt_op *activation);   /* the input of that node; trace NULL: it is no such node */
dt_value dt_class_numbers(dt_value target);                            /* (B) of (B) or (B, 1) */
dt_value dt_targets_like(dt_value target, dt_value prediction);        /* converted, and reshaped between (B) and (B, 1) */
dt_value dt_sum_last(dt_value x);                                      /* (B, ...) of (B, ..., C); (B) stays */
dt_value dt_mean_last(dt_value x);
dt_value dt_mean_per_example(dt_value x);                              /* (B) of (B, ...) */
dt_value dt_clip_between(dt_value x, double low, double high);         /* passes the gradient at both limits */
/* -log p of the labelled class, (B, ...) of scores or probabilities (B, ..., classes); straight after a softmax by its input. */
dt_value dt_sparse_crossentropy(dt_value target, dt_value prediction, bool from_logits);
dt_value dt_clip_probability(dt_value p);                              /* to [1e-7, 1 - 1e-7], Keras' epsilon */
dt_value dt_smooth_labels(dt_value target, double smoothing, double classes); /* target * (1 - smoothing) + smoothing / classes */
dt_value dt_cosine_similarity(dt_value target, dt_value prediction, int64_t axis);
dt_value dt_weights_like(dt_value weight, dt_value values);            /* of the values' dtype and shape: (B) to (B, T) */
dt_value dt_mask_like(dt_value mask, dt_value values);                 /* of the values' shape, bools as they are */
dt_value dt_divide_no_nan(dt_value a, dt_value b);                     /* a / b, and 0 where b is 0 */
dt_check_fn dt_check_sparse, dt_check_one_hot, dt_check_same_shape;

struct dt_loss { /* the public handle */
    int refs;
    dt_arena *arena;
    dt_named named;
};

/* ---- metrics ---- */

/* What a metric that is no mean adds up: each part a scalar or a vector, over all examples. */
#define DT_METRIC_PARTS 8
typedef struct dt_metric_parts {
    const void *args;
    dt_value target, prediction;
    dt_value weight;                /* of examples, (B) or more; no value: all 1 */
    dt_value part[DT_METRIC_PARTS]; /* to be filled */
    int n;
} dt_metric_parts;

/*
 * Metrics are sums over examples, added up over batches and replicas in double, and a function of the sums: exact however batches divide.
 * Most are means: `update` gives a value per example (or per output, of which the mean counts). The others have `parts` and `results`.
 */
typedef enum dt_better { DT_BETTER_UNKNOWN, DT_BETTER_MORE, DT_BETTER_LESS } dt_better;

typedef struct dt_metric_row {
    dt_kind kind;
    dt_better better;                                      /* which way, for callbacks that watch it; Keras' direction */
    int sums;                                              /* of a mean: 1. 0: `accuracy`, which stands for another row until compile, and those with parts */
    bool alone;                                            /* of values as they come: they stand as prediction, there is no target */
    bool unmasked;                                         /* a mean that no mask weighs, as in the original */
    dt_check_fn *check;
    void (*follow)(void *args, bool from_logits);          /* takes over what the loss beside it says, unless told; NULL: nothing */
    dt_value (*update)(const dt_loss_call_args *c);        /* float (B, ...) */
    double (*result)(const void *args, const double *sum, double examples); /* examples: or the sum of their weights; 0: the result is 0 */
    void (*parts)(dt_metric_parts *m);
    int (*n_sums)(const void *args);                       /* numbers in all parts; NULL: as many as came */
    /* From the sums of all parts, one after the other: how many results, at most n, in out. */
    int (*results)(const void *args, const double *sum, int n, double *out);
    dt_status *(*fault)(const void *args, const double *sum, int n); /* METRICS where the sums show that there is no result; NULL: there is one */
} dt_metric_row;
const dt_kind *const *dt_metrics(int *n);
/* Of a mean, with weights of samples: rows, and weights that the sum of rows is divided by; (B) each, or of rank 0. Keras' rule: a value per output is
 * averaged down to the dimensions of the weights first, then weighted, then averaged down to the example. No weight: neither is there one out. */
void dt_metric_rows(const dt_metric_row *row, const dt_loss_call_args *c, dt_value weight, dt_value *rows, dt_value *divisor);
/* How many numbers the metric gives for targets and predictions of these types; 0: they do not fit. */
int dt_metric_width(const dt_metric_row *row, const void *args, const dt_type *target, const dt_type *prediction);
/* sum / examples, 0 without examples: the `result` of most rows. */
double dt_mean_of_sum(const void *args, const double *sum, double examples);

/* ---- learning-rate schedules ---- */

typedef struct dt_rate {
    dt_kind kind;
    dt_status *(*check)(const void *args, const dt_place *where); /* what no field can say; NULL: nothing */
    dt_value (*at)(const void *args, dt_value step);              /* step: int64 scalar; the rate: float32 scalar */
} dt_rate;
const dt_kind *const *dt_rates(int *n);
dt_status *dt_rate_read(dt_arena *arena, const dt_tree *t, dt_named *out) DT_MUST_USE;
dt_value dt_rate_emit(const dt_named *named, dt_value step);
dt_status *dt_rate_value(const dt_named *named, int64_t step, double *rate) DT_MUST_USE; /* the number */
dt_value dt_rate_step(dt_value step);  /* as float32 */
dt_value dt_rate_floor(dt_value x);    /* x >= 0 without its fraction */

/* ---- optimizers ---- */

/* The head of every optimizer's args: its struct begins with `dt_optimizer_head head`, its table with DT_OPTIMIZER_FIELDS. */
typedef struct dt_optimizer_head {
    const dt_tree *learning_rate;
    double rate;            /* what learning_rate says, else the row's */
    dt_named schedule;      /* kind NULL: the rate is constant */
    double weight_decay;    /* decoupled: w -= w * weight_decay * rate before the step; 0: none */
    double clipvalue, clipnorm, global_clipnorm; /* of gradients summed over replicas; at most one is given, and clips when above 0 */
    double ema_momentum, loss_scale_factor;      /* the latter 0: none */
    int64_t ema_overwrite_frequency, gradient_accumulation_steps; /* 0: none */
    dt_texts exclude_from_weight_decay;
    bool use_ema;
    bool has_decay, has_clipvalue, has_clipnorm, has_global_clipnorm, has_frequency, has_scale, has_accumulation; /* given */
} dt_optimizer_head;
#define DT_HEAD_SET(type, flag) .set = 1 + offsetof(type, head.flag)
#define DT_OPTIMIZER_FIELDS(type) DT_OPTIMIZER_FIELDS_DECAYING(type, NULL)
#define DT_OPTIMIZER_FIELDS_DECAYING(type, decay) \
    DT_HEAD_FIELD(DT_FIELD_TREE, type, learning_rate, .forms = dt_learning_rate_forms, .help = "step size, above 0, or a schedule"), \
    DT_HEAD_FIELD(DT_FIELD_REAL, type, weight_decay, .preset = (decay), .max = INFINITY, DT_HEAD_SET(type, has_decay), \
                  .help = "shrinks weights by this times the rate, each step"), \
    DT_HEAD_FIELD(DT_FIELD_TEXTS, type, exclude_from_weight_decay, \
                  .help = "weights that do not shrink: words in their names, [bias, gamma], or with a / in their paths, dense_1/bias"), \
    DT_HEAD_FIELD(DT_FIELD_REAL, type, clipvalue, DT_HEAD_SET(type, has_clipvalue), .help = "cuts every gradient element to +- this"), \
    DT_HEAD_FIELD(DT_FIELD_REAL, type, clipnorm, DT_HEAD_SET(type, has_clipnorm), .help = "shrinks each gradient to this norm"), \
    DT_HEAD_FIELD(DT_FIELD_REAL, type, global_clipnorm, DT_HEAD_SET(type, has_global_clipnorm), \
                  .help = "shrinks all gradients together to this norm"), \
    DT_HEAD_FIELD(DT_FIELD_BOOL, type, use_ema, .help = "keeps a running mean of the weights"), \
    DT_HEAD_FIELD(DT_FIELD_REAL, type, ema_momentum, .preset = "0.99", .help = "share of the mean that stays, each step"), \
    DT_HEAD_FIELD(DT_FIELD_INT, type, ema_overwrite_frequency, DT_HEAD_SET(type, has_frequency), \
                  .help = "steps after which the weights become their mean; none: only when training ends"), \
    DT_HEAD_FIELD(DT_FIELD_REAL, type, loss_scale_factor, DT_HEAD_SET(type, has_scale), \
                  .help = "the loss is multiplied by it, gradients are divided"), \
    DT_HEAD_FIELD(DT_FIELD_INT, type, gradient_accumulation_steps, DT_HEAD_SET(type, has_accumulation), \
                  .help = "steps whose gradients are averaged for one update"), \
    DT_INSTEAD("lr", "write 'learning_rate'"), DT_NOT_YET("name")

/* State of a variable: zero, or filled with one number, of the variable's type unless the row says another. */
typedef struct dt_slot_spec {
    const char *name; /* "momentum" for optimizer/dense/kernel/momentum */
    dt_type type;
    double initial;
    int lacks;        /* 1 + the variable's dimension that it is a mean over, so that it lies as the others do; 0: of the variable's shape */
} dt_slot_spec;

#define DT_MAX_SLOTS 4
#define DT_ALL_SLOTS (DT_MAX_SLOTS + 2) /* the rows', the mean of the weights, the sum of gradients */
/* One variable's update: reads w, g, slots; writes the new ones. All of the variable's dtype. */
typedef struct dt_update {
    dt_trace *trace;
    const void *args;
    dt_value w, g;               /* w in: before; out: after */
    dt_value slot[DT_MAX_SLOTS]; /* in: before; out: after */
    dt_value rate;               /* learning rate, scalar */
    dt_value t;                  /* iteration + 1, scalar of the variable's dtype */
} dt_update;

typedef struct dt_optimizer_row {
    dt_kind kind;
    double rate;                 /* the learning rate unless the job has one */
    dt_status *(*check)(const void *args, const dt_place *where); /* what no field can say; NULL: nothing */
    /* How many; fills slot[0 ..], which come with the variable's type. NULL: none. */
    int (*slots)(const void *args, const dt_type *variable, dt_slot_spec *slot);
    void (*apply)(dt_update *u);
} dt_optimizer_row;
const dt_kind *const *dt_optimizers(int *n);
dt_status *dt_optimizer_read(dt_arena *arena, const dt_tree *t, dt_named *out) DT_MUST_USE;

/*
 * Keras' LossScaleOptimizer: the loss is multiplied by a scale while gradients are taken, so that those of few digits do not vanish. After `growth`
 * updates in a row it doubles; gradients that are not finite halve it, and that update is left out.
 */
typedef struct dt_loss_scale {
    double initial;
    int64_t growth; /* 0: there is no scale */
} dt_loss_scale;

struct dt_optimizer { /* the public handle */
    int refs;
    dt_arena *arena;
    dt_named named;
    bool accumulates;            /* gradients are added up over steps of their own kind: dt_optimizer_add_sums */
    dt_variable *examples;       /* float32 scalar, "optimizer/accumulated_examples"; NULL: they are not */
    dt_loss_scale scaling;
    dt_variable *scale, *good_steps; /* float32 and int64 scalars, "optimizer/dynamic_scale" and "optimizer/step_counter"; NULL: not scaled */
    dt_variable *iteration;      /* int64 scalar, "optimizer/iteration"; made with the first slot */
    dt_variable *rate;           /* float32 scalar, where callbacks change the learning rate; NULL: it is as the job says */
    int n, cap;
    struct dt_optimizer_slot {
        const dt_variable *of;
        int n, own;              /* all; those of the row come first */
        dt_variable *slot[DT_ALL_SLOTS];
        dt_variable *average, *sum; /* among them; NULL: none */
    } *slot;                     /* per trainable variable */
};
/* Whether weight_decay leaves the weight of that path alone. */
bool dt_optimizer_excludes(const dt_optimizer_head *head, const char *path);
/* A handle over a row that has been read already, whose memory must outlive it. */
dt_optimizer *dt_optimizer_over(const dt_named *named);
/* The state of one variable; NULL: it has none yet. */
struct dt_optimizer_slot *dt_optimizer_find(const dt_optimizer *o, const dt_variable *v);
/* From now on the learning rate is a variable, which begins as the job says: steps recorded before do not know of it. */
dt_status *dt_optimizer_vary_rate(dt_optimizer *o) DT_MUST_USE;
/* Makes iteration and the slots of these variables, with their first values, where they are missing. */
dt_status *dt_optimizer_prepare(dt_optimizer *o, const dt_variables *v) DT_MUST_USE;
/* Emits the update of every variable from its gradient, which is already summed over replicas; variables without one are left alone.
 * Iteration + 1. All must be prepared. */
void dt_optimizer_emit(dt_optimizer *o, dt_trace *t, const dt_variables *v, const dt_value *gradient);
/* The loss as gradients should be taken of it: times loss_scale_factor, or the scale of the moment. */
dt_value dt_optimizer_scale_loss(const dt_optimizer *o, dt_value loss);
/* Of an optimizer that accumulates. add: gradients, summed over a batch and replicas, and the number of its examples are added to those kept. take: what
 * is kept comes to them (in place), and is 0 again. */
void dt_optimizer_add_sums(const dt_optimizer *o, dt_trace *t, const dt_variables *v, const dt_value *gradient, dt_value examples);
void dt_optimizer_take_sums(const dt_optimizer *o, dt_trace *t, const dt_variables *v, dt_value *gradient, dt_value *examples);
/* Clips gradients (in place) as the head says. */
void dt_optimizer_clip(const dt_optimizer_head *head, dt_value *gradient, int n);
/* With use_ema, variables become their running means; whether there were any. */
bool dt_optimizer_take_averages(const dt_optimizer *o, const dt_variables *v);
/* With use_ema, variables and their running means change places. */
void dt_optimizer_swap_averages(const dt_optimizer *o, const dt_variables *v);
/* All slots and iteration, for checkpoints: in a fixed order; *n of them, lent array in arena. */
dt_variable **dt_optimizer_variables(const dt_optimizer *o, dt_arena *arena, int *n);

/* ---- compile ---- */

#define DT_MAX_METRICS 64
#define DT_MAX_NUMBERS 256 /* of all metrics */
typedef struct dt_metric_use {
    const dt_metric_row *row;
    const void *args;
    const char *key; /* "accuracy" for the short form, else `name` or the snake-case class name; "kind_accuracy" of one of several outputs */
    int n;           /* how many numbers it gives */
    const char *const *keys; /* [n] in the history: key; of several numbers "f1_score_0", "f1_score_1", ... */
    dt_place at;
    int output;      /* of the model */
    bool weighted;   /* examples count as the loss beside it says */
} dt_metric_use;

/* What an output is trained towards. */
typedef struct dt_output_use {
    const char *name;      /* the output's; NULL: the model is faulty */
    dt_named loss;         /* kind NULL: none */
    double loss_weight;    /* what it counts in the whole */
    const char *loss_key;  /* "kind_loss"; NULL: the model has no other, and the whole is it */
    const char *target;    /* element name; NULL: see dt_match_names */
    dt_place target_at;
    const char *sample_weight; /* element name; NULL: examples count alike */
    dt_place sample_weight_at;
} dt_output_use;

typedef struct dt_compile_spec {
    dt_named optimizer;
    int n_outputs;               /* the model's; 1 where that is faulty */
    dt_output_use *output;       /* in their order */
    dt_place loss_at;
    int n_metrics;
    const dt_metric_use *metric; /* `accuracy` already resolved */
    dt_policy precision;         /* what layers compute in; variables are float32 */
    dt_place precision_at;
    dt_loss_scale scaling;       /* under mixed_float16, unless told otherwise */
} dt_compile_spec;
/* Reads `compile`. model: NULL if it is faulty; `accuracy` is resolved by the loss, else by the output. precision is one of dt_policies. */
dt_status *dt_compile_read(dt_arena *arena, const dt_tree *t, const dt_place *at, const dt_model_spec *model, dt_compile_spec *out) DT_MUST_USE;
/* The keys of the history, without those of validation: "loss", losses of single outputs, metrics. Their number. */
#define DT_MAX_KEYS (1 + DT_MAX_OUTPUTS + DT_MAX_NUMBERS)
int dt_compile_keys(const dt_compile_spec *c, const char *key[DT_MAX_KEYS]);
/* The tables of `compile` and `model`, for lists of all keys. */
const dt_field *dt_compile_fields(void);
const dt_field *dt_model_fields(void);

/* A handle over the optimizer of a job, with its loss scale. The spec must outlive it. */
dt_optimizer *dt_optimizer_compiled(const dt_compile_spec *c);

/* ---- the public model handle (made in the room train, which knows strategies) ---- */

struct dt_model {
    int refs;
    dt_arena *arena;
    const dt_tree *tree;            /* as written, see dt_model_read; NULL: made from a job's spec */
    dt_model_spec spec;
    int n_weights;
    dt_variable **weight;           /* in creation order */
    dt_variables trainable;
    uint64_t seed;
    dt_policy precision;            /* what layers compute in */
    struct dt_strategy *strategy;   /* the captured scope; counted by train */
    bool compiled;
    const dt_tree *compile_tree;    /* as written */
    dt_compile_spec compile;
    dt_optimizer *optimizer;
    void *runner;                   /* train's */
    /* What becomes of an input, a layer's output and a value within a layer, by name; NULL: nothing. */
    dt_value (*annotate)(const void *user, const char *name, dt_value x);
    /* What becomes of what a layer takes, by the layer's name; NULL: nothing. */
    dt_value (*enter)(const void *user, const char *name, dt_value x);
    const void *annotate_user;
    dt_digest *digest;              /* of dt_model_weights_sha256 */
};
/* The weight of that path; an error that names the nearest. */
dt_status *dt_model_find_weight(const dt_model *m, const char *path, dt_variable **out) DT_MUST_USE;
/* The forward pass; emits into the inputs' trace. There are as many as the model has Inputs, in their order; each is converted to its dtype. What
 * comes out goes into output[spec.n_outputs]; no values, and the trace has failed, where inputs do not fit. */
void dt_model_emit_outputs(const dt_model *m, const dt_value *input, int n, bool training, dt_value *output);
/* What a layer gives; mask: see dt_layer, no value: all counts. */
typedef struct dt_given_value {
    dt_value y, mask;
} dt_given_value;
/* The same, of all layers in order; NULL, and the trace has failed, where inputs do not fit. */
const dt_given_value *dt_model_emit_layers(const dt_model *m, const dt_value *input, int n, bool training);
/* What trained weights add to the loss, a scalar, the same on all replicas; no value: nothing. */
dt_value dt_model_penalty(const dt_model *m, dt_trace *t);
/* What values of layers add to it, (B), a number for each example; no value: nothing. */
dt_value dt_model_activity(const dt_model *m, const dt_given_value *done);
/* What results of traces are called: "prediction", of one of several outputs "prediction/kind"; in `arena`. */
const char *dt_output_result(dt_arena *arena, const dt_model_spec *m, int i);
/* The forward pass of a model of one output: MODEL_SHAPE where it has more; and of one input too. */
dt_value dt_model_emit_inputs(const dt_model *m, const dt_value *input, int n, bool training);
dt_value dt_model_emit(const dt_model *m, dt_value input, bool training);
/* The loss of `named` over this replica's examples, reduced as it says, times 1/num_replicas when it is a mean. weight: of the samples,
 * (B) or (B, ...); no value: all 1. */
dt_value dt_loss_emit(const dt_named *named, const dt_loss_call_args *c, dt_value weight);

/* ---- the tables ---- */

#define DT_LAYER_ROW(name) extern const dt_layer dt_layer_##name;
#include "model/layers.h"
#undef DT_LAYER_ROW
#define DT_ACTIVATION_ROW(row, name) extern const dt_activation dt_activation_##row;
#define DT_ACTIVATION_CALL_ROW(row) extern const dt_activation dt_activation_##row;
#include "model/activations.h"
#undef DT_ACTIVATION_CALL_ROW
#undef DT_ACTIVATION_ROW
#define DT_LOSS_ROW(name) extern const dt_loss_row dt_loss_##name;
#include "model/losses.h"
#undef DT_LOSS_ROW
#define DT_METRIC_ROW(name) extern const dt_metric_row dt_metric_##name;
#include "model/metrics.h"
#undef DT_METRIC_ROW
#define DT_REGULARIZER_ROW(name) extern const dt_regularizer dt_regularizer_##name;
#include "model/regularizers.h"
#undef DT_REGULARIZER_ROW
#define DT_RATE_ROW(name) extern const dt_rate dt_rate_##name;
#include "model/rates.h"
#undef DT_RATE_ROW
#define DT_OPTIMIZER_ROW(name) extern const dt_optimizer_row dt_optimizer_##name;
#include "model/optimizers.h"
#undef DT_OPTIMIZER_ROW
#define DT_INITIALIZER_ROW(name) extern const dt_initializer dt_initializer_##name;
#include "model/initializers.h"
#undef DT_INITIALIZER_ROW

#endif
