/* SPDX-License-Identifier: Apache-2.0 */
/* Layers: how they check shapes and emit their part of the graph; activations; regularizers and
 * constraints. */
#ifndef DT_MODEL_LAYER_H
#define DT_MODEL_LAYER_H

#include "model/initializer.h"

/* The range of a layer's output. Warnings compare the range of predictions with the one that the
 * loss expects. */
typedef enum dt_range {
    DT_RANGE_UNKNOWN,
    DT_RANGE_REAL, /* any real number */
    DT_RANGE_BOTH, /* positive and negative numbers within limits other than -1 to 1 */
    DT_RANGE_BENT, /* numbers from a little below 0 upwards, as elu and gelu return */
    DT_RANGE_NONNEGATIVE,
    DT_RANGE_POSITIVE,
    DT_RANGE_NEGATIVE,
    DT_RANGE_LOG_SHARES, /* logarithms of probabilities that sum to 1 */
    DT_RANGE_SIGNED,     /* -1 to 1 */
    DT_RANGE_UNIT,       /* 0 to 1 */
    DT_RANGE_SHARES,     /* 0 to 1, with the sum 1 */
    DT_RANGE_ONE_SHARE,  /* a single value with the sum 1: always 1, or its logarithm 0 */
} dt_range;
typedef struct dt_yield {
    dt_range range;
    const char *by; /* the activation or the kind of layer that gives it; may be NULL */
    bool scaled;    /* whether a Rescaling or a division by a norm gave the range */
} dt_yield;

/* Upper limits in bytes: of a weight, and of a layer's output for one example. */
#define DT_MAX_WEIGHT_BYTES 0x1p40
#define DT_MAX_EXAMPLE_BYTES 0x1p38

typedef struct dt_weight_spec {
    const char *name; /* name of the weight within its layer: "kernel" */
    const char *path; /* name of the weight within its model: "dense/kernel" */
    dt_type type;
    bool trainable;
    bool fixed; /* whether it is never trained, even if the layer is (dt_weight_request) */
    dt_named initializer;
    /* the number of the weight's first dimensions that are inputs; 0: see dt_initialize */
    int n_inputs;
    dt_named regularizer; /* the regularizer of the weight; kind NULL: it has none */
    dt_named constraint;  /* the constraint of the weight; kind NULL: it has none */
} dt_weight_spec;

/* A value in which a key `axis` selects dimensions, and what messages need to say about it. */
typedef struct dt_dims_of {
    const dt_type *type;
    const char *weight; /* path of the weight; NULL: an input, whose first dimension is the batch */
    /* the layer or other owner of the key `axis`, for messages; NULL: the location says enough */
    const char *who;
    const dt_location *at;
} dt_dims_of;
/* Sets *dims to the dimensions that `axis` names, one bit each; negative numbers count from the
 * end. Fails with MODEL_SHAPE at of->at if a dimension does not exist, is the batch of an input, or
 * is named twice. */
dt_status *dt_dims_find(const dt_dims_of *of, const dt_ints *axis, uint32_t *dims) DT_MUST_USE;

/* What a regularizer or a constraint of a layer applies to: all its weights whose path ends in a
 * name, such as `kernel`, or, for regularizers, the layer's output (ACTIVITY). */
enum {
    DT_ON_KERNEL,
    DT_ON_BIAS,
    DT_ON_RECURRENT,
    DT_ON_DEPTHWISE,
    DT_ON_POINTWISE,
    DT_ON_EMBEDDINGS,
    DT_ON_GAMMA,
    DT_ON_BETA,
    DT_ON_ALPHA,
    DT_ON_WEIGHTS,
    DT_ON_ACTIVITY = DT_ON_WEIGHTS,
    DT_ON_ANY
};
/* Returns the DT_ON value of a weight's regularizer and constraint by the last part of its name:
 * DT_ON_KERNEL for "kernel" and "query/kernel"; -1: a weight of that name has neither. */
int dt_layer_role(const char *weight);
/* Fields by which a layer takes a regularizer, such as kernel_regularizer, and a constraint, such
 * as kernel_constraint. */
#define DT_REGULARIZER(type, what, key)                                                            \
    DT_KEY(TREE, key, type, head.regularizer[DT_ON_##what],                                        \
           .forms = DT_FORMS(DT_NAMED("regularizer")),                                             \
           .help =                                                                                 \
               "penalty added to the loss: l2, {L1: {l1: 0.001}}, {L1L2: {l1: 0.001, l2: 0.01}}")
#define DT_CONSTRAINT(type, what, key)                                                             \
    DT_KEY(                                                                                        \
        TREE, key, type, head.constraint[DT_ON_##what], .forms = DT_FORMS(DT_NAMED("constraint")), \
        .help =                                                                                    \
            "constraint applied after each update: non_neg, {MaxNorm: {max_value: 2, axis: 0}}")

/* The first member, `head`, of every layer's arguments. Every layer's table of fields contains
 * DT_LAYER_FIELDS, except that of Input, which has only DT_NAME_FIELD. */
typedef struct dt_layer_head {
    const char *name; /* the layer's name; NULL: it gets the name that Keras would give it */
    bool trainable;
    dt_texts inputs; /* names of the layers it reads; v NULL: the layer before it */
    /* the layer whose weights this layer uses; n 0: it has its own weights */
    dt_texts weights_of;
    dt_location inputs_at;
    /* the layer's own dtype policy, a dt_policy, if has_dtype is set; otherwise the model's policy
     * applies */
    int dtype;
    bool has_dtype;
    /* values of the keys for regularizers, as written; NULL: not given */
    const dt_tree *regularizer[DT_ON_ANY];
    const dt_tree *constraint[DT_ON_WEIGHTS];
} dt_layer_head;

/* Keras' names of dtype policies. */
extern const char *const dt_policies[];
typedef enum dt_policy {
    DT_POLICY_FLOAT32,
    DT_POLICY_MIXED_BFLOAT16,
    DT_POLICY_MIXED_FLOAT16
} dt_policy;
dt_dtype dt_policy_dtype(int policy);
#define DT_HEAD_FIELD(kind, type, member, ...) DT_KEY(kind, #member, type, head.member, __VA_ARGS__)
#define DT_NAME_FIELD(type)                                                                        \
    DT_HEAD_FIELD(TEXT, type, name,                                                                \
                  .help = "name of the layer, unique in the model; weights are NAME/kernel, ...")
#define DT_LAYER_FIELDS(type)                                                                      \
    DT_NAME_FIELD(type),                                                                           \
        DT_HEAD_FIELD(BOOL, type, trainable, .preset = "true",                                     \
                      .help = "false: freeze the weights"),                                        \
        DT_HEAD_FIELD(ONE_OF, type, inputs, .forms = DT_NAME_OR_NAMES,                             \
                      .at = 1 + offsetof(type, head.inputs_at),                                    \
                      .help = "for functional models: the input layer, or a list of layers"),      \
        DT_HEAD_FIELD(ONE_OF, type, weights_of, .forms = DT_NAME, .as = DT_TREE_SCALAR,            \
                      .help = "an earlier layer of the same kind and shape, whose weights this "   \
                              "one uses: a layer that is called twice"),                           \
        DT_HEAD_FIELD(                                                                             \
            ENUM, type, dtype, .choices = dt_policies, .set = 1 + offsetof(type, head.has_dtype),  \
            .help = "dtype policy of this layer, such as float32 in a mixed-precision model")

/* An output of a layer besides its first one, such as the state of an LSTM. */
typedef struct dt_further_output {
    const char *name; /* name of the output, such as "state_h" */
    dt_type type;
} dt_further_output;
#define DT_MAX_FURTHER 4

#define DT_MAX_WEIGHTS 32
#define DT_MAX_BORROWED 2
/* What `build` of a layer gets (types of inputs, arguments) and what it finds (type of the output,
 * weights). For parts of layers, n_in may be 0, and ins and from NULL. */
typedef struct dt_layer_build {
    dt_arena *arena;
    const struct dt_layer *row;
    const void *args; /* arguments of the layer, which begin with a dt_layer_head */
    const char *name; /* name of the layer, such as "dense_1" */
    dt_named within;  /* the layer that it wraps; kind NULL: it wraps none */
    const char *within_name;
    dt_location at;          /* location of the layer in the job file */
    dt_type in;              /* (B, ...): the type of the first input, if any */
    int n_in;                /* number of inputs; 0: an Input, or a part */
    const dt_type *ins;      /* [n_in] the types of all inputs */
    const char *const *from; /* [n_in] the names of the layers that the inputs come from */
    const bool *masks;       /* [n_in] whether the input has a mask: see dt_layer */
    dt_type out;             /* type of the output, which `build` sets */
    /* whether the output has a mask; set before build to whether the first input has one and the
     * row supports masking, and build may change it */
    bool out_mask;
    int n_weights; /* number of weights so far; dt_layer_weight adds one */
    dt_weight_spec weight[DT_MAX_WEIGHTS];
    int n_earlier; /* number of layers before this one */
    const struct dt_layer_spec *earlier;
    int n_borrowed; /* number of borrowed weights so far; dt_layer_borrow adds one */
    /* [n_borrowed] indices, among all weights of the model, of the earlier layers' weights that the
     * layer uses, too */
    int borrowed[DT_MAX_BORROWED];
    /* `build` may set it to data in `arena` that `call` needs in addition to args */
    const void *made;
    int n_further; /* number of further outputs so far; dt_layer_further adds one */
    dt_further_output further[DT_MAX_FURTHER];
    int taken; /* see dt_layer_spec.taken; set by the build of a LayerOutput */
} dt_layer_build;

typedef struct dt_weight_request {
    const char *name; /* name of the weight within its layer, such as "kernel" or "query/kernel" */
    dt_dtype dtype;
    int rank;
    int64_t dim[DT_MAX_RANK];
    const dt_tree *initializer; /* the initializer as written in the job; NULL: the preset */
    const char *preset;         /* name of the initializer to use if the job gives none */
    /* number of the weight's first dimensions that are inputs; 0: see dt_initialize */
    int n_inputs;
    bool fixed; /* whether the weight is never trained, even if the layer's `trainable` is true */
} dt_weight_request;
/* Adds a weight to b->weight, with the regularizer and the constraint that the layer's head has for
 * its name. Fails with MODEL_SIZE if it is larger than DT_MAX_WEIGHT_BYTES, with MODEL_SHAPE if its
 * shape does not suit its initializer, regularizer or constraint, and with errors of reading these
 * three. */
dt_status *dt_layer_weight(dt_layer_build *b, const dt_weight_request *w) DT_MUST_USE;
/*
 * Shares a weight of an earlier layer, and sets *type to its type. Shared weights come after the
 * layer's own. path->v[0] is the path of the weight, or of a layer or part that has no other
 * weight. Fails with WEIGHT at the path if no weight fits, or several do.
 */
dt_status *dt_layer_borrow(dt_layer_build *b, const dt_texts *path, dt_type *type) DT_MUST_USE;
/* Adds an output after `out`. Other layers read it through a LayerOutput. */
void dt_layer_further(dt_layer_build *b, const char *name, const dt_type *type);
/* Returns the error MODEL_SHAPE at the layer unless `in` holds floats and has at least `rank`
 * dimensions, including B; rank is at most 3. */
dt_status *dt_layer_wants(const dt_layer_build *b, const char *kind, int rank) DT_MUST_USE;
/* Returns the error MODEL_SHAPE at the layer unless `in` holds floats and has exactly `rank`
 * dimensions, which `shape` names in the message. */
dt_status *dt_layer_wants_exactly(const dt_layer_build *b, const char *kind, int rank,
                                  const char *shape) DT_MUST_USE;

/* Returns the error MODEL_SHAPE that inputs i and k do not fit together, with their names and
 * types. */
dt_status *dt_layer_cannot_join(const dt_layer_build *b, const char *kind, int i,
                                int k) DT_MUST_USE;

typedef struct dt_layer_call {
    dt_trace *trace;
    const void *args, *made; /* args: arguments of the layer; made: data that `build` has made */
    dt_value x;              /* the value of the first input */
    const dt_value *xs;      /* [n_in] the values of all inputs */
    /* [n_in] masks of the inputs: see dt_layer; no value: no step is masked. */
    const dt_value *masks;
    int n_in;
    const char *name;
    /* values of the layer's weights in the order of `build`; borrowed weights come last */
    const dt_value *weight;
    /* the variables of the weights, without borrowed ones, for a layer that assigns its state for
     * the next training step; the state is equal on all replicas */
    dt_variable *const *variable;
    const dt_type *out; /* type of the output, which `build` has set */
    uint64_t seed;      /* the seed of the model, which a layer's own seed replaces */
    bool training;
    dt_dtype compute; /* the dtype in which the policy of the layer computes */
    const struct dt_model *model;
    /* (B, L) for each input token the index of its document, as float32; no value: documents have
     * no effect */
    dt_value document;
    /* the sum of what dt_layer_add_loss has added, (B); no value: it has not been called */
    dt_value *loss;
    /* [DT_MAX_FURTHER] the further outputs, which `call` sets, in the order in which build added
     * them */
    dt_value *further;
} dt_layer_call;
/* For use in `call`: adds a number for each example, (B), to the loss of training, like Keras'
 * add_loss. The loss contains their mean over the examples of the global batch. */
void dt_layer_add_loss(const dt_layer_call *c, dt_value rows);
/* For use in `call`: returns bools (B, L, L): whether two steps belong to the same document. Fails
 * the trace unless there are L queries and L keys. */
dt_value dt_layer_same_document(const dt_layer_call *c, int64_t queries, int64_t keys);
/* For use in `call`: returns the position of each step in its document, (B, L) of int32. */
dt_value dt_layer_document_position(const dt_layer_call *c);
/* For use in `call`: applies the model's annotations (dt_model.annotate) to y, the layer's output
 * or a value within the layer, under its full name, such as "decoder_0/self_attention". Use the
 * result instead of y. */
dt_value dt_layer_value(const dt_layer_call *c, const char *name, dt_value y);

/*
 * The dtypes of a layer under a policy of mixed precision, whose dtype is `compute` of the call.
 *
 *     NARROW    inputs and weights are converted to that dtype
 *     WIDE      inputs are converted to float32, and outputs back; weights are not converted: for
 *               example normalizations
 *     BY_PARTS  inputs are converted; each part of the layer decides on its weights
 *     AS_IT_IS  nothing is converted: an Input or a LayerOutput
 */
typedef enum dt_layer_precision {
    DT_LAYER_NARROW,
    DT_LAYER_WIDE,
    DT_LAYER_BY_PARTS,
    DT_LAYER_AS_IT_IS
} dt_layer_precision;

/* `most` of layers such as Add, which accept many inputs */
#define DT_MANY_LAYERS 1024

/*
 * Masks. Some steps of a padded sequence do not count. Its mask, bools with the shape of its values
 * without the last dimension, is passed from layer to layer, as in Keras. A layer that supports
 * masking may read its inputs' masks, and its output has the first input's mask, unless its row has
 * `mask` or its build clears out_mask. Outputs of other layers have no mask. If a model's output
 * has a mask, losses of samples, and mean metrics that are not `unmasked`, count only the steps
 * where it is true.
 */
typedef struct dt_layer {
    dt_kind kind;
    dt_layer_precision precision;
    /* the least and the largest number of inputs that the layer accepts; 0 in either stands for
     * 1 */
    int least, most;
    /* number of spatial dimensions of a convolution, ConvLSTM or UpSampling: 1 for steps, 2 for
     * images, 3 for volumes; 0 for other layers, also poolings */
    int sides;
    dt_status *(*build)(dt_layer_build *b);
    dt_value (*call)(const dt_layer_call *c);
    bool supports_masking;
    /* the number of rows of the table that inputs are indices of; NULL: inputs may be any
     * numbers */
    int64_t (*rows)(const void *args);
    /* Reads the layer that this one wraps. NULL: it does not wrap a layer. */
    dt_status *(*within)(dt_arena *arena, const void *args, dt_named *out);
    /* the mask of the output, where build set out_mask; NULL: the first input's mask */
    dt_value (*mask)(const dt_layer_call *c);
    /* the range of the output. above: ranges of the earlier layers, by the index of the layer in
     * the model. A range REAL counts only if the layer's weights are trained without constraint.
     * NULL: the range is unknown. */
    dt_yield (*yields)(const struct dt_layer_spec *l, const dt_yield *above);
    /* whether the output in training depends on the division of the batch over replicas; NULL:
     * never, unless a wrapped layer's does */
    bool (*by_replica)(const void *args);
} dt_layer;
/* Functions for `yields`. dt_yields_inputs is for a layer whose values are those of its single
 * input, such as Reshape or Dropout. The others are for values between those of the inputs, such as
 * means (the range is unknown if the inputs' ranges differ), for sums and for products. */
dt_yield dt_yields_inputs(const struct dt_layer_spec *l, const dt_yield *above);
dt_yield dt_yields_between(const struct dt_layer_spec *l, const dt_yield *above);
dt_yield dt_yields_sum(const struct dt_layer_spec *l, const dt_yield *above);
dt_yield dt_yields_product(const struct dt_layer_spec *l, const dt_yield *above);
/* For `yields`: returns the range of any real number, as of a layer that scales by trained
 * weights. */
dt_yield dt_yields_real(const struct dt_layer_spec *l, const dt_yield *above);
/* For `yields`: returns the range of values that are divided by their norm. */
dt_yield dt_yields_of_norm(const struct dt_layer_spec *l, const dt_yield *above);
/* Returns the range of value * scale + offset for values of range r; UNKNOWN if scale is 0, the
 * limits of r are unknown or equal, or the result lies on both sides of 0 with only one limit. */
dt_range dt_range_scaled(dt_range r, double scale, double offset);
/* Returns the range of values that lie between values of range r, such as their mean or the largest
 * of them. SHARES becomes UNIT, since the largest of several probabilities no longer sums to 1 with
 * its neighbours. REAL, BOTH, SIGNED and UNIT do not change; all others become UNKNOWN. */
dt_range dt_range_between(dt_range r);
/* Returns the range of an activation's output, for any input. `out` is the type of the layer's
 * output. */
dt_yield dt_activation_yields(int activation, const dt_type *out);
dt_yield dt_yields_activated(dt_yield of_any, dt_yield in);
/* Emits the mask of the layer's output; only for layers whose output has one. */
dt_value dt_layer_mask(const dt_layer *row, const dt_layer_call *c);
/* Emits the mask, repeated along the last dimension of x. */
dt_value dt_mask_along(dt_value mask, dt_value x);
/* Returns a mask that is true where any input's mask is true. All inputs must have masks, of the
 * same shape. */
dt_value dt_masks_joined(const dt_layer_call *c);
extern const char *const dt_data_formats[]; /* the words channels_last and channels_first */
#define DT_DATA_FORMAT(type)                                                                       \
    DT_ENUM(type, data_format, dt_data_formats,                                                    \
            .help = "order of the dimensions: channels_last (B, ..., channels) or channels_first " \
                    "(B, channels, ...)")
/* These call b->row->build and row->call. For layers with data_format: channels_first, the types
 * that `build` sees and the values that `call` sees are transposed to channels_last and back. */
dt_status *dt_layer_build_row(dt_layer_build *b) DT_MUST_USE;
dt_value dt_layer_call_row(const dt_layer *row, const dt_layer_call *c);
/* Calls row->call, with inputs and weights converted as row->precision says for the layer's `dtype`
 * or else the call's policy; converts the outputs, too, unless it says AS_IT_IS. n_weights: number
 * of weights, borrowed ones included. */
dt_value dt_layer_apply(const dt_layer *row, const dt_layer_call *c, int n_weights);
/* Converts 16-bit floats to float32. Other values are returned unchanged. */
dt_value dt_to_float32(dt_value x);
const dt_kind *const *dt_layers(int *n);
/* Returns the kinds of repeats that lists of layers may contain. */
const dt_kind *const *dt_repeats(int *n);

/* Activations apply to floats. Fields `activation:` contain an activation's name (index 0 is
 * "linear") and apply it with default arguments; dt_activation_call also accepts arguments. */
typedef struct dt_activation {
    dt_kind kind;
    dt_value (*call)(const void *args, dt_value x);
    dt_range range;
} dt_activation;
const dt_kind *const *dt_activation_kinds(int *n);
extern const char *const dt_activations[];
dt_value dt_activate(int activation, dt_value x);

typedef struct dt_relu_args {
    double negative_slope, max_value, threshold;
    bool has_max;
} dt_relu_args;
dt_value dt_relu(const dt_relu_args *r, dt_value x);
dt_value dt_hard_sigmoid(dt_value x);
/* Returns the axis counted from the front, of a value with `rank` dimensions; -1 if it is out of
 * range. */
int dt_axis_in(int rank, int64_t axis);
/* Returns the axis counted from the front; -1 if it is out of range, in which case the trace has
 * failed. */
int dt_axis_of(dt_value x, int64_t axis);
/* Sets *dims to the dimensions that `axes` name. Returns false, and the trace has failed, if there
 * are none, one is named twice, or one does not exist. */
bool dt_axes_of(dt_value x, const dt_ints *axes, uint32_t *dims);
/* Returns x with that axis and the last one exchanged. Calling it twice restores x. */
dt_value dt_swap_last(dt_value x, int axis);
/* Returns x with the axis moved to the end and the others in order. */
dt_value dt_move_last(dt_value x, int axis);
/* Applies a function of the last dimension to the dimensions `dims` together: they are moved to the
 * end and joined, and afterwards split and moved back. */
dt_value dt_over_dims(dt_value x, uint32_t dims, dt_value (*over_last)(dt_value));
dt_value dt_softplus(dt_value x); /* Emits log(1 + exp x). */
/* Emits max(x, 0) and log(1 + exp -|x|). Their sum is softplus. */
void dt_softplus_parts(dt_value x, dt_value *positive, dt_value *tail);

/* A term that is added to the loss: one for each element of a weight or of a layer's output, or one
 * for a whole weight. */
typedef struct dt_regularizer {
    dt_kind kind;
    /* Returns the error MODEL_SHAPE if a weight of this type cannot be regularized, else NULL. The
     * member is NULL if all types can be. */
    dt_status *(*check)(const dt_type *type);
    /* Emits the term of each element; NULL: `whole` emits one term for the weight. */
    dt_value (*each)(const void *args, dt_value x);
    dt_value (*whole)(const void *args, dt_value x);
} dt_regularizer;
const dt_kind *const *dt_regularizers(int *n);
/* dt_regularizer_read sets weight->regularizer to the one that the layer's head has for a weight of
 * that name, and fails with MODEL_SHAPE if it cannot apply to the weight's type.
 * dt_activity_read sets *out to that of the layer's output, with kind NULL if there is none, and
 * fails with RANGE if it applies to whole weights only. */
dt_status *dt_regularizer_read(dt_arena *arena, const dt_layer_head *head,
                               dt_weight_spec *weight) DT_MUST_USE;
dt_status *dt_activity_read(dt_arena *arena, const dt_layer_head *head, dt_named *out) DT_MUST_USE;

/* The first member of the arguments of every constraint. */
typedef struct dt_constraint_head {
    /* the dimensions over which norms are taken; n 0: the constraint applies to each element */
    dt_ints axis;
    uint32_t dims; /* the dimensions that `axis` selects in the weight at hand, one bit each */
} dt_constraint_head;

/* A function that changes a weight after each of its updates. */
typedef struct dt_constraint {
    dt_kind kind;
    dt_value (*project)(const void *args, dt_value w);
} dt_constraint;
const dt_kind *const *dt_constraints(int *n);
/* Reads the constraint of a weight from the layer's head, by the weight's name. */
dt_status *dt_constraint_read(dt_arena *arena, const dt_layer_head *head,
                              dt_weight_spec *weight) DT_MUST_USE;
/* Attaches a copy of the constraint to the variable, which owns it; optimizers apply it after each
 * update. Does nothing if constraint->kind is NULL. */
void dt_constrain(dt_variable *v, const dt_named *constraint);
/* Applies the constraint of v to w. Returns w if v has none. */
dt_value dt_constrained(const dt_variable *v, dt_value w);

#define DT_LAYER_ROW(name) extern const dt_layer dt_layer_##name;
#include "model/layers.h"
#undef DT_LAYER_ROW
#define DT_ACTIVATION_ROW(row, name) extern const dt_activation dt_activation_##row;
#define DT_ACTIVATION_CALL_ROW(row) extern const dt_activation dt_activation_##row;
#include "model/activations.h"
#undef DT_ACTIVATION_CALL_ROW
#undef DT_ACTIVATION_ROW
#define DT_REGULARIZER_ROW(name) extern const dt_regularizer dt_regularizer_##name;
#include "model/regularizers.h"
#undef DT_REGULARIZER_ROW
#define DT_CONSTRAINT_ROW(name) extern const dt_constraint dt_constraint_##name;
#include "model/constraints.h"
#undef DT_CONSTRAINT_ROW

#endif
