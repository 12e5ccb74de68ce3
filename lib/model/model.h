/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models: layers, losses, metrics, optimizers and initializers. Each is a row in a table (layers.h,
 * losses.h, metrics.h, optimizers.h, initializers.h). A row begins with a dt_kind, whose field
 * table reads its arguments from the job file, with Keras' names and defaults. Rows emit graph
 * nodes; only initial values, results of metrics, and learning rates of given steps are computed
 * here.
 *
 * Reading is apart from creating: dt_model_read checks every shape and lists the weights without
 * allocating one, so that a job is validated, and planned, without memory for weights.
 *
 * Numbers and formulas in lib/model whose source is not named are those of Keras 3.15.
 */
#ifndef DT_MODEL_MODEL_H
#define DT_MODEL_MODEL_H

#include "base/hash.h"
#include "file/file.h"
#include "model/layer.h"
#include "model/loss.h"
#include "model/optimizer.h"

/* ---- the model ---- */

typedef struct dt_layer_spec {
    const dt_layer *row;
    const void *args;
    const char *name;
    dt_location at;
    int n_in;
    const int *from; /* [n_in] indices of the layers that are its inputs */
    dt_type in, out;
    bool out_mask; /* whether the output of the layer has a mask */
    int n_weights, n_borrowed;
    const dt_weight_spec *weight;
    int first_weight; /* index of its first weight among all weights of the model */
    /* index of the layer whose weights this one uses: itself, or an earlier layer, in which case
     * n_weights is 0 */
    int owner;
    /* [n_borrowed] indices, among all weights of the model, of weights of earlier layers that this
     * one uses */
    const int *borrowed;
    const void *made; /* data that `build` of the layer has made for `call`; NULL: none */
    int n_further;
    const dt_further_output *further; /* [n_further] outputs of the layer besides the first one */
    /* For a LayerOutput: 1 + the index of the further output of its input. 0 in all other
     * layers. */
    int taken;
    dt_named activity; /* penalty on the layer's output; kind NULL: none */
    /* a number that layers have in common if the same turn of a Repeat made them, with no inner
     * Repeat between them; numbers grow from 1 over all Repeats of the model. 0: the layer is in no
     * Repeat */
    int turn;
} dt_layer_spec;

typedef struct dt_input_spec {
    const char *name;
    dt_type type;             /* the type of the input, (B, ...) */
    dt_location at, shape_at; /* locations in the job of the input's name and of its shape */
} dt_input_spec;

typedef struct dt_output_spec {
    int layer;        /* index of the layer that computes the output */
    const char *name; /* name of the layer that computes the output */
    dt_type type;
} dt_output_spec;

/* Values of a block that a policy of rematerialization keeps, as a set of bits. */
typedef enum dt_remat_value {
    /* the input of a block, which every policy keeps, with or without this bit */
    DT_REMAT_LAYER_INPUT = 1 << 0,
    /* DT_REMAT_QUERY to DT_REMAT_VALUE: results of the products that project to queries, keys and
     * values */
    DT_REMAT_QUERY = 1 << 1,
    DT_REMAT_KEY = 1 << 2,
    DT_REMAT_VALUE = 1 << 3,
    DT_REMAT_CONTEXT = 1 << 4, /* the result of attention, before its output projection */
    DT_REMAT_OUT = 1 << 5,
    /* WI_0 and WI_1: the two first products of a feed-forward network, that of the gate and that of
     * the values which the gate multiplies */
    DT_REMAT_WI_0 = 1 << 6,
    DT_REMAT_WI_1 = 1 << 7,
    DT_REMAT_WO = 1 << 8
} dt_remat_value;

/* A policy of rematerialization: the values that are stored for the gradient. All others are
 * recomputed. */
typedef struct dt_rematerialize {
    const char *name; /* name of the policy; "custom": the job lists values */
    bool on;          /* whether values are recomputed; false: all values are stored */
    unsigned save;    /* the dt_remat_value bits of values that are kept on the device */
    unsigned offload; /* the dt_remat_value bits of values that are kept in the host's memory */
} dt_rematerialize;
/* Names of policies in jobs, ended by NULL; "none" and "full" come first. */
extern const char *const dt_rematerialize_names[];

/* Names of values in jobs, ended by NULL. Some stand for several values. */
extern const char *const dt_remat_value_names[];
/* Returns the dt_remat_value bits that a name stands for; 0: the name is unknown. */
unsigned dt_remat_values_of(const char *name);

/* The products of KerasHub's blocks, by the layer whose kernel they multiply. Products of experts
 * count as those of a single feed-forward network, as in MaxText. */
typedef struct dt_remat_product {
    dt_remat_value value;
    const char *layer; /* name of the layer whose product is the value, such as "query" */
} dt_remat_product;
enum { DT_REMAT_PRODUCTS = 10 };
extern const dt_remat_product dt_remat_products[DT_REMAT_PRODUCTS];
/* Whether a weight's path is LAYER or "LAYER/kernel", or ends with "/LAYER" or "/LAYER/kernel". */
bool dt_is_kernel_of(const char *path, const char *layer);

/* A policy that a job gives as lists of names of values. given false: the job has no such lists. */
typedef struct dt_remat_lists {
    bool given;
    dt_items save, offload; /* of `int`: indices of dt_remat_value_names */
} dt_remat_lists;
/* Returns the policy of the lists, if they are given (a value in both lists is offloaded); else the
 * one with that index in dt_rematerialize_names. */
dt_rematerialize dt_rematerialize_of(const dt_remat_lists *lists, int policy);

#define DT_MAX_INPUTS 32
#define DT_MAX_OUTPUTS 32
/* The key `init_from`: a file with initial weights, and how its weights are matched with the
 * model's. */
typedef struct dt_init_from {
    /* a checkpoint, a run's directory or a file of weights; NULL: weights are initialized */
    const char *path;
    /* whether weights that the file lacks, or has in another shape, are initialized as without
     * init_from */
    bool skip_mismatch;
    int names; /* whose names and shapes the file has: DT_NAMES_KERAS or DT_NAMES_TORCH */
    /* maps regular expressions to texts that replace their matches in the names of stored weights;
     * they are applied one after the other */
    dt_items map;
    /* skip: weights of the file that are not read, by their names after `map`; freeze: layers that
     * are not trained. Both are lists of regular expressions. */
    dt_items skip, freeze;
    dt_location at, map_at, skip_at, freeze_at;
} dt_init_from;
enum { DT_NAMES_KERAS, DT_NAMES_TORCH };
extern const char *const dt_weight_names[];
extern const dt_field dt_init_from_fields[];
/* Checks that all regular expressions of `from` are valid. Fails with RANGE at each one that is
 * not, and if there are too many. */
dt_status *dt_init_from_check(const dt_init_from *from) DT_MUST_USE;
/* Sets `trainable` to false in the layers whose names match `freeze`, and in those that use the
 * weights of such layers. Fails with RANGE at each expression that matches no layer, unless a layer
 * could not be read. name[n], named[n]: the layers; the kind of one that could not be read is NULL.
 * Does nothing if there are too many expressions, which dt_init_from_check reports. */
dt_status *dt_init_from_freeze(const dt_init_from *from, const char *const *name,
                               const dt_named *named, int n) DT_MUST_USE;

/* A checked model. Its memory is in the arena given to dt_model_read. */
typedef struct dt_model_spec {
    dt_init_from init_from;
    int n_inputs;               /* number of layers that are Inputs, from 1 to DT_MAX_INPUTS */
    const dt_input_spec *input; /* [n_inputs] the inputs in the order of `layer` */
    int n_layers;               /* number of layers, including Inputs */
    /* [n_layers] the layers in the order of the file, with Repeats expanded and LayerOutputs added;
     * inputs of a layer are earlier layers */
    const dt_layer_spec *layer;
    int n_outputs;                /* number of outputs, 1 to DT_MAX_OUTPUTS */
    const dt_output_spec *output; /* [n_outputs] the outputs in the order of the job's `outputs` */
    int n_weights;                /* number of weights of all layers */
    const dt_weight_spec *const *weight; /* [n_weights] the weights in the order of the layers */
    int64_t parameters;                  /* number of elements of all weights that are floats */
    dt_rematerialize rematerialize;
    /* Number of pieces in which a simulated slice computes the output layer, its loss and their
     * gradient. */
    int vocabulary_tiling;
    /* Attention stores its scores, instead of being one fused op, if it has fewer queries or keys
     * than this. 0: never; INT64_MAX: always. */
    int64_t scores_below;
    /* whether plans count the blocks of a Repeat as loops, as jax.lax.scan makes them */
    bool scan_layers;
    dt_documents documents; /* how texts of the data set are divided into documents */
} dt_model_spec;

/* Replaces every Repeat in the list of layers by its copies, and sets *out to the new list and
 * *turns to an array with an element for each of its layers: dt_layer_spec.turn. Both are in the
 * arena. A Repeat stops at its first turn with an error. Returns these errors of all Repeats. */
dt_status *dt_layers_expand(dt_arena *arena, const dt_tree *layers, const dt_tree **out,
                            const int **turns) DT_MUST_USE;
/* Reads a job's `model`, or the list of layers alone, which is a sequential model. Returns all
 * independent errors. */
dt_status *dt_model_read(dt_arena *arena, const dt_tree *model, const dt_location *at,
                         dt_model_spec *out) DT_MUST_USE;
/* Returns the Input of that name; NULL: the model does not have it. */
const dt_input_spec *dt_model_find_input(const dt_model_spec *m, const char *name);

/* ---- compile ---- */

#define DT_MAX_METRICS 64
#define DT_MAX_NUMBERS 256 /* the most results of all metrics of a model together */
typedef struct dt_metric_use {
    const dt_metric_row *row;
    const void *args;
    /* for `accuracy`: the metric that replaces it if targets are class numbers; NULL: none */
    const dt_named *if_sparse;
    /* the metric's name: its argument `name`, else the alias by which the job calls it, such as
     * "acc", else the row's label or the class name in snake case. Keras' prefixes and suffixes are
     * added, as in "kind_accuracy" for the output `kind`, "weighted_accuracy" or "auc_1" */
    const char *key;
    int n; /* number of results of the metric, for example one for each class or threshold */
    /* [n] keys in the history: `key`, or for several results "f1_score_0", "f1_score_1", ... */
    const char *const *keys;
    dt_location at;
    int output; /* index of the model's output that the metric is about */
    /* whether examples have the weights that they have in the loss of the same output */
    bool weighted;
    /* whether the key is from the job, by `name` or by a word such as "acc"; else it is derived
     * from the class */
    bool is_named;
} dt_metric_use;

/* What `compile` says about one output: its loss, and the elements with its targets and sample
 * weights. */
typedef struct dt_output_use {
    const char *name; /* name of the output; NULL: the model has errors */
    dt_named loss;    /* the loss of the output; kind NULL: the output has no loss */
    /* for `crossentropy`: the loss that replaces it if targets are class numbers; NULL: none */
    const dt_named *if_sparse;
    double loss_weight; /* factor of this loss in the total loss */
    /* name of the loss in the history, such as "kind_loss" for the output `kind`; NULL: the output
     * has no loss, or the only one of the model */
    const char *loss_key;
    const char *target; /* name of the element with the targets; NULL: see dt_match_names */
    dt_location target_at;
    /* name of the data set's element with the sample weights; NULL: there are none */
    const char *sample_weight;
    dt_location sample_weight_at;
} dt_output_use;

/* How operands of products with weights are quantized to 8 bits. */
typedef enum dt_quantization {
    DT_QUANTIZE_NONE,
    DT_QUANTIZE_INT8,
    DT_QUANTIZE_FP8
} dt_quantization;
extern const char *const dt_quantizations[];

typedef struct dt_compile_spec {
    dt_named optimizer;
    int n_outputs;         /* number of the model's outputs; 1 if the model has errors */
    dt_output_use *output; /* [n_outputs] what `compile` says about each output, in their order */
    dt_location loss_at;
    int n_metrics;
    dt_metric_use *metric;
    /* the policy that determines in which dtype layers compute; variables of floats are not
     * affected */
    dt_policy precision;
    dt_quantization quantization;
    dt_location quantization_at;
    /* the dynamic loss scale; its `growth` is 0 if there is none */
    dt_loss_scale scaling;
    /* whether metrics and predictions of regressions use the units in which the data set stores the
     * target */
    bool original_units;
} dt_compile_spec;
/* Reads `compile`. model: NULL if it has errors. Until dt_compile_see_targets, `accuracy` and
 * `crossentropy` stand for the kinds that fit one-hot targets, or a single unit. */
dt_status *dt_compile_read(dt_arena *arena, const dt_tree *t, const dt_location *at,
                           const dt_model_spec *model, dt_compile_spec *out) DT_MUST_USE;
/* Replaces `accuracy` and `crossentropy` of the output by the kinds for targets of that type,
 * permanently. */
void dt_compile_see_targets(const dt_compile_spec *c, int output, const dt_type *target,
                            const dt_type *prediction);
/* Reports layers, and pairs of an output and its loss, that are certainly a mistake, for example a
 * softmax before from_logits: true. The reports are sentences in the arena. */
void dt_output_warnings(const dt_model_spec *m, const dt_compile_spec *c, dt_arena *arena,
                        dt_texts *out);
#define DT_MAX_KEYS (1 + DT_MAX_OUTPUTS + DT_MAX_NUMBERS)
/* Lists the keys of the history, without those of validation and of callbacks: "loss", losses of
 * single outputs, metrics. Returns their number. */
int dt_compile_keys(const dt_compile_spec *c, const char *key[DT_MAX_KEYS]);
/* These return the tables of keys of `compile` and `model`. */
const dt_field *dt_compile_fields(void);
const dt_field *dt_model_fields(void);

/* Creates the optimizer of `compile`, with its loss scale. The spec must outlive it. */
dt_optimizer *dt_optimizer_compiled(const dt_compile_spec *c);

/* ---- the public model handle (created in lib/train, which knows strategies) ---- */

struct dt_model {
    int refs;
    dt_arena *arena;
    /* The tree that dt_model_read read; NULL: the model was created from a job's spec. */
    const dt_tree *tree;
    dt_model_spec spec;
    int n_weights;
    dt_variable **weight; /* [n_weights] the weights in the order of their creation */
    dt_variables trainable;
    uint64_t seed;
    dt_policy precision; /* the policy that determines in which dtype layers compute */
    /* The strategy in whose scope the model was created; NULL: none. lib/train counts the
     * reference. */
    struct dt_strategy *strategy;
    bool compiled;
    const dt_tree *compile_tree; /* `compile` as written; NULL: dt_model_compile was not called */
    dt_compile_spec compile;
    dt_optimizer *optimizer;
    void *runner; /* data that lib/train attaches to the model */
    /* Replaces an element of the data set, an input, a layer's output or a value within a layer, by
     * its name; NULL: no change. */
    dt_value (*annotate)(const void *user, const char *name, dt_value x);
    /* Replaces an input of a layer, by the layer's name; NULL: no change. */
    dt_value (*enter)(const void *user, const char *name, dt_value x);
    const void *annotate_user;
    dt_digest *digest; /* where dt_model_weights_sha256 stores its result */
};
/* Sets *out to the weight of that path, which the model owns. If there is none, sets *out to NULL
 * and fails with WEIGHT; the error suggests a similar path, if there is one. */
dt_status *dt_model_find_weight(const dt_model *m, const char *path, dt_variable **out) DT_MUST_USE;
/* Emits the forward pass into the trace of the inputs. There is one value per Input of the model,
 * in their order; each is converted to the Input's dtype. Results go to output[spec.n_outputs]; if
 * the inputs do not fit, they are empty values and the trace has failed. */
void dt_model_emit_outputs(const dt_model *m, const dt_value *input, int n, bool training,
                           dt_value *output);
/* The output of a layer. mask: see dt_layer; no value: nothing is masked. loss: (B), the loss that
 * the layer adds for each example; no value: it adds none. */
typedef struct dt_given_value {
    dt_value y, mask, loss;
    dt_value further[DT_MAX_FURTHER];
} dt_given_value;
/* Emits all layers. Returns [spec.n_layers] their outputs, in the arena of the trace; NULL if
 * inputs do not fit, and then the trace has failed. */
const dt_given_value *dt_model_emit_layers(const dt_model *m, const dt_value *input, int n,
                                           bool training);
/* Emits the sum of the penalties on trained weights, a scalar that is the same on all replicas; no
 * value: there are none. */
dt_value dt_model_penalty(const dt_model *m, dt_trace *t);
/* Emits the sum of penalties on layers' outputs and of losses that layers add, (B), a number for
 * each example; no value: there are none. */
dt_value dt_model_activity(const dt_model *m, const dt_given_value *done);
/* Returns the name of output i among the results of traces, in `arena`: "prediction", or with
 * several outputs "prediction/NAME" with the output's name. */
const char *dt_output_result(dt_arena *arena, const dt_model_spec *m, int i);
/* Emits the forward pass of a model with one output. Fails the trace with MODEL_SHAPE if it has
 * several. */
dt_value dt_model_emit_inputs(const dt_model *m, const dt_value *input, int n, bool training);

#endif
