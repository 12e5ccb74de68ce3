/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of eval_steps_test.c: one for each layer, loss, metric and optimizer; values of their
 * options; steps that need no kernel, with reasons. */
#ifndef TESTS_JOB_EVAL_ROWS_H
#define TESTS_JOB_EVAL_ROWS_H

typedef struct eval_row {
    const char *sort, *kind;
    const char *keys;           /* that the kind must have */
    const char *element;        /* of the data */
    const char *before, *after; /* layers around the one that is tried */
    const char *loss;
    const char *outputs; /* of a functional model; NULL: a sequential one */
} eval_row;

#define SPARSE "SparseCategoricalCrossentropy: {from_logits: true}"
#define CLASSES "label: {num_classes: 3}"
#define END ", Flatten, Dense: {units: 3}"
#define JOINED ", Flatten: {name: f, inputs: t}, Dense: {name: y, units: 3, inputs: f}"

/* A layer between a Dense, so that gradients reach its input, and a classifier. */
#define LAYER(kind, keys, shape)                                                                   \
    {                                                                                              \
        "layer", kind, keys, "x: {shape: " shape "}, " CLASSES,                                    \
            "Input: {name: x, shape: " shape "}, Dense: {name: d, units: 4}, ", END, SPARSE, NULL  \
    }
#define VECTOR "[8]"
#define STEPS "[8, 4]"
#define IMAGE "[8, 8, 4]"
#define VOLUME "[6, 6, 6, 4]"
/* Of the words of a text. */
#define WORDS(kind, keys)                                                                          \
    {                                                                                              \
        "layer", kind, keys, "x: {shape: [8], num_classes: 12}, " CLASSES,                         \
            "Input: {name: x, shape: [8], dtype: int32}, ", END, SPARSE, NULL                      \
    }
/* Of two images, or of other pairs. */
#define MERGE(kind, keys) MERGE_OF(kind, keys, IMAGE)
#define MERGE_OF(kind, keys, shape_)                                                               \
    {                                                                                              \
        "layer", kind, keys, "x: {shape: " shape_ "}, " CLASSES,                                   \
            "Input: {name: x, shape: " shape_                                                      \
            "}, Dense: {name: a, units: 4, inputs: x}, Dense: {name: b, units: 4, inputs: x}, ",   \
            JOINED, SPARSE, "y"                                                                    \
    }

/* A loss or a metric of three outputs, or of one. */
#define OF_CLASSES(sort, kind, keys)                                                               \
    {                                                                                              \
        sort, kind, keys, "x: {shape: [8]}, " CLASSES, "Input: {name: x, shape: [8]}",             \
            ", Dense: {units: 3, activation: softmax}", SPARSE, NULL                               \
    }
#define OF_VECTOR(sort, kind, keys)                                                                \
    {                                                                                              \
        sort, kind, keys, "x: {shape: [8]}, label: {shape: [3], num_classes: 2}",                  \
            "Input: {name: x, shape: [8]}", ", Dense: {units: 3, activation: sigmoid}",            \
            "MeanSquaredError: {}", NULL                                                           \
    }
#define OF_ONE(sort, kind, keys)                                                                   \
    {                                                                                              \
        sort, kind, keys, "x: {shape: [8]}, label: {shape: [1], num_classes: 2}",                  \
            "Input: {name: x, shape: [8]}", ", Dense: {units: 1, activation: sigmoid}",            \
            "MeanSquaredError: {}", NULL                                                           \
    }
/* For training loops of C programs; no job has it. */
#define IN_PROGRAMS(sort, kind)                                                                    \
    { sort, kind, "", NULL, "", "", "", NULL }
/* Weights of more than a thousand elements. */
#define OPTIMIZER(kind)                                                                            \
    {                                                                                              \
        "optimizer", kind, "", "x: {shape: [64]}, " CLASSES, "Input: {name: x, shape: [64]}",      \
            ", Dense: {units: 64}, Dense: {units: 3}", SPARSE, NULL                                \
    }

static const eval_row eval_rows[] = {
    LAYER("Flatten", "", IMAGE),
    LAYER("Dense", "units: 4", STEPS),
    LAYER("EinsumDense", "equation: 'abc,cd->abd', output_shape: [null, 4], bias_axes: d", STEPS),
    LAYER("TimeDistributed", "layer: {Dense: {units: 4}}", STEPS),
    LAYER("SpectralNormalization", "layer: {Dense: {units: 4}}, power_iterations: 2", STEPS),
    LAYER("Normalization", "mean: 0.5, variance: 2", IMAGE),
    LAYER("ReLU", "", IMAGE),
    LAYER("Softmax", "", IMAGE),
    LAYER("BatchNormalization", "", IMAGE),
    LAYER("LayerNormalization", "", IMAGE),
    LAYER("GroupNormalization", "groups: 2", IMAGE),
    LAYER("RMSNormalization", "", IMAGE),
    LAYER("UnitNormalization", "", IMAGE),
    WORDS("Embedding", "input_dim: 12, output_dim: 4"),
    LAYER("CategoryEncoding", "num_tokens: 12", "[8]"),
    LAYER("Discretization", "bin_boundaries: [0.2, 0.5], output_mode: count", "[8]"),
    LAYER("PositionEmbedding", "sequence_length: 8", STEPS),
    WORDS("TokenAndPositionEmbedding", "vocabulary_size: 12, sequence_length: 8, embedding_dim: 4"),
    {"layer", "Tied", "to: e", "x: {shape: [8], num_classes: 12}, " CLASSES,
     "Input: {name: x, shape: [8], dtype: int32}, Embedding: {name: e, input_dim: 12, output_dim: "
     "4}, ",
     END, SPARSE, NULL},
    {"layer", "MaskedLMHead", "name: t, inputs: [e, p], token_embedding: e",
     "x: {shape: [8], num_classes: 12}, p: {shape: [2], num_classes: 8}, " CLASSES,
     "Input: {name: x, shape: [8], dtype: int32}, Input: {name: p, shape: [2], dtype: int32}, "
     "Embedding: {name: e, input_dim: 12, output_dim: 4, inputs: x}, ",
     JOINED, SPARSE, "y"},
    {"layer", "Masking", "", "x: {shape: " STEPS "}, " CLASSES,
     "Input: {name: x, shape: " STEPS "}, ", ", LSTM: {units: 4}, Dense: {units: 3}", SPARSE, NULL},
    {"layer", "ViTPatchingAndEmbedding", "image_size: [8, 8], patch_size: [4, 4], hidden_dim: 4",
     "x: {shape: [8, 8, 3]}, " CLASSES, "Input: {name: x, shape: [8, 8, 3]}, ", END, SPARSE, NULL},
    LAYER("Dropout", "rate: 0.5", IMAGE),
    LAYER("SpatialDropout1D", "rate: 0.5", STEPS),
    LAYER("SpatialDropout2D", "rate: 0.5", IMAGE),
    LAYER("SpatialDropout3D", "rate: 0.5", VOLUME),
    LAYER("AlphaDropout", "rate: 0.5", IMAGE),
    LAYER("ActivityRegularization", "l1: 0.01, l2: 0.1", IMAGE),
    LAYER("GaussianNoise", "stddev: 0.1", IMAGE),
    LAYER("GaussianDropout", "rate: 0.5", IMAGE),
    /* b is a value of 8 features, or the mask of 8 steps by 8 */
    {"layer", "MultiHeadAttention", "name: t, inputs: [a, b], num_heads: 2, key_dim: 4",
     "x: {shape: " STEPS "}, " CLASSES,
     "Input: {name: x, shape: " STEPS "}, Dense: {name: a, units: 4, inputs: x}, "
     "Dense: {name: b, units: 8, inputs: x}, ",
     JOINED, SPARSE, "y"},
    MERGE_OF("Attention", "name: t, inputs: [a, b]", STEPS),
    MERGE_OF("AdditiveAttention", "name: t, inputs: [a, b]", STEPS),
    LAYER("GroupQueryAttention", "head_dim: 4, num_query_heads: 4, num_key_value_heads: 2", STEPS),
    LAYER("RotaryEmbedding", "", STEPS),
    LAYER("LlamaAttention", "num_query_heads: 2, num_key_value_heads: 1", STEPS),
    LAYER("T5MultiHeadAttention", "num_heads: 2, key_value_dim: 3", STEPS),
    LAYER("MultiHeadLatentAttention",
          "num_heads: 2, kv_lora_rank: 4, qk_nope_head_dim: 3, qk_rope_head_dim: 2, v_head_dim: 4",
          STEPS),
    LAYER("LlamaTransformerDecoder",
          "intermediate_dim: 8, num_query_heads: 2, num_key_value_heads: 1", STEPS),
    LAYER("MixtureOfExperts", "intermediate_dim: 8, num_experts: 4", STEPS),
    LAYER("TransformerDecoder", "intermediate_dim: 8, num_heads: 2", STEPS),
    LAYER("TransformerEncoder", "intermediate_dim: 8, num_heads: 2", STEPS),
    LAYER("LSTM", "units: 4", STEPS),
    {"layer", "LayerOutput", "name: t, inputs: a, output: state_c",
     "x: {shape: " STEPS "}, " CLASSES,
     "Input: {name: x, shape: " STEPS
     "}, LSTM: {name: a, units: 4, inputs: x, return_state: true}, ",
     JOINED, SPARSE, "y"},
    LAYER("GRU", "units: 4", STEPS),
    LAYER("SimpleRNN", "units: 4", STEPS),
    LAYER("ConvLSTM1D", "filters: 4, kernel_size: 3", IMAGE),
    LAYER("ConvLSTM2D", "filters: 4, kernel_size: 3, padding: same", VOLUME),
    LAYER("ConvLSTM3D", "filters: 2, kernel_size: 2", "[3, 4, 4, 4, 2]"),
    LAYER("Bidirectional", "layer: {LSTM: {units: 4}}", STEPS),
    LAYER("Activation", "activation: relu", IMAGE),
    LAYER("LeakyReLU", "", IMAGE),
    LAYER("PReLU", "", IMAGE),
    LAYER("ELU", "", IMAGE),
    LAYER("Identity", "", IMAGE),
    LAYER("Rescaling", "scale: 0.5", IMAGE),
    LAYER("Conv1D", "filters: 4, kernel_size: 3", STEPS),
    LAYER("Conv2D", "filters: 4, kernel_size: 3", IMAGE),
    LAYER("Conv3D", "filters: 4, kernel_size: 3", VOLUME),
    LAYER("Conv1DTranspose", "filters: 4, kernel_size: 3", STEPS),
    LAYER("Conv2DTranspose", "filters: 4, kernel_size: 3", IMAGE),
    LAYER("Conv3DTranspose", "filters: 4, kernel_size: 3", VOLUME),
    LAYER("DepthwiseConv1D", "kernel_size: 3", STEPS),
    LAYER("DepthwiseConv2D", "kernel_size: 3", IMAGE),
    LAYER("SeparableConv1D", "filters: 4, kernel_size: 3", STEPS),
    LAYER("SeparableConv2D", "filters: 4, kernel_size: 3", IMAGE),
    LAYER("MaxPooling1D", "", STEPS),
    LAYER("MaxPooling2D", "", IMAGE),
    LAYER("MaxPooling3D", "", VOLUME),
    LAYER("AdaptiveAveragePooling1D", "output_size: 3", STEPS),
    LAYER("AdaptiveAveragePooling2D", "output_size: 3", IMAGE),
    LAYER("AdaptiveAveragePooling3D", "output_size: 3", VOLUME),
    LAYER("AdaptiveMaxPooling1D", "output_size: 3", STEPS),
    LAYER("AdaptiveMaxPooling2D", "output_size: 3", IMAGE),
    LAYER("AdaptiveMaxPooling3D", "output_size: 3", VOLUME),
    LAYER("AveragePooling1D", "", STEPS),
    LAYER("AveragePooling2D", "", IMAGE),
    LAYER("AveragePooling3D", "", VOLUME),
    LAYER("GlobalMaxPooling1D", "", STEPS),
    LAYER("GlobalMaxPooling2D", "", IMAGE),
    LAYER("GlobalMaxPooling3D", "", VOLUME),
    LAYER("GlobalAveragePooling1D", "", STEPS),
    LAYER("GlobalAveragePooling2D", "", IMAGE),
    LAYER("GlobalAveragePooling3D", "", VOLUME),
    LAYER("UpSampling1D", "", STEPS),
    LAYER("UpSampling2D", "", IMAGE),
    LAYER("UpSampling3D", "", VOLUME),
    LAYER("ZeroPadding1D", "", STEPS),
    LAYER("ZeroPadding2D", "", IMAGE),
    LAYER("ZeroPadding3D", "", VOLUME),
    LAYER("Cropping1D", "", STEPS),
    LAYER("Cropping2D", "", IMAGE),
    LAYER("Cropping3D", "", VOLUME),
    MERGE("Add", "name: t, inputs: [a, b]"),
    MERGE("Subtract", "name: t, inputs: [a, b]"),
    MERGE("Multiply", "name: t, inputs: [a, b]"),
    MERGE("Average", "name: t, inputs: [a, b]"),
    MERGE("Maximum", "name: t, inputs: [a, b]"),
    MERGE("Minimum", "name: t, inputs: [a, b]"),
    MERGE("Concatenate", "name: t, inputs: [a, b]"),
    {"layer", "Dot", "name: t, inputs: [a, b], axes: 2", "x: {shape: " STEPS "}, " CLASSES,
     "Input: {name: x, shape: " STEPS
     "}, Dense: {name: a, units: 4, inputs: x}, Dense: {name: b, units: 4, inputs: x}, ",
     JOINED, SPARSE, "y"},
    LAYER("Reshape", "target_shape: [64, 4]", IMAGE),
    LAYER("Permute", "dims: [2, 1, 3]", IMAGE),
    LAYER("RepeatVector", "n: 3", VECTOR),
    LAYER("Take", "indices: 1, axis: 1", IMAGE),
    {"layer", "Input", "name: x, shape: [8]", "x: {shape: [8]}, " CLASSES, "", END, SPARSE, NULL},

    OF_CLASSES("loss", "SparseCategoricalCrossentropy", ""),
    OF_VECTOR("loss", "CategoricalCrossentropy", ""),
    OF_VECTOR("loss", "BinaryCrossentropy", ""),
    OF_VECTOR("loss", "MeanSquaredError", ""),
    OF_VECTOR("loss", "MeanAbsoluteError", ""),
    OF_VECTOR("loss", "MeanAbsolutePercentageError", ""),
    OF_VECTOR("loss", "MeanSquaredLogarithmicError", ""),
    OF_VECTOR("loss", "Huber", ""),
    OF_VECTOR("loss", "LogCosh", ""),
    OF_VECTOR("loss", "CategoricalFocalCrossentropy", ""),
    OF_VECTOR("loss", "BinaryFocalCrossentropy", ""),
    OF_VECTOR("loss", "KLDivergence", ""),
    OF_VECTOR("loss", "Poisson", ""),
    OF_VECTOR("loss", "CosineSimilarity", ""),
    OF_VECTOR("loss", "Hinge", ""),
    OF_VECTOR("loss", "SquaredHinge", ""),
    OF_VECTOR("loss", "CategoricalHinge", ""),
    OF_VECTOR("loss", "Dice", ""),
    OF_VECTOR("loss", "Tversky", ""),
    {"loss", "CTC", "", "x: {shape: [8, 4]}, label: {shape: [2], num_classes: 3}",
     "Input: {name: x, shape: [8, 4]}", ", Dense: {units: 3}", "CTC: {}", NULL},
    {"loss", "Circle", "", "x: {shape: [8]}, label: {num_classes: 3}",
     "Input: {name: x, shape: [8]}", ", Dense: {units: 4}, UnitNormalization", "Circle: {}", NULL},
    OF_CLASSES("loss", "CategoricalGeneralizedCrossEntropy", ""),

    OF_VECTOR("metric", "Accuracy", ""),
    OF_VECTOR("metric", "BinaryAccuracy", ""),
    OF_VECTOR("metric", "CategoricalAccuracy", ""),
    OF_CLASSES("metric", "SparseCategoricalAccuracy", ""),
    OF_VECTOR("metric", "TopKCategoricalAccuracy", "k: 2"),
    OF_CLASSES("metric", "SparseTopKCategoricalAccuracy", "k: 2"),
    OF_VECTOR("metric", "MeanSquaredError", ""),
    OF_VECTOR("metric", "RootMeanSquaredError", ""),
    OF_VECTOR("metric", "MeanAbsoluteError", ""),
    OF_VECTOR("metric", "MeanAbsolutePercentageError", ""),
    OF_VECTOR("metric", "MeanSquaredLogarithmicError", ""),
    OF_VECTOR("metric", "LogCoshError", ""),
    OF_VECTOR("metric", "CosineSimilarity", ""),
    OF_VECTOR("metric", "R2Score", ""),
    OF_VECTOR("metric", "KLDivergence", ""),
    OF_VECTOR("metric", "Poisson", ""),
    OF_VECTOR("metric", "Hinge", ""),
    OF_VECTOR("metric", "SquaredHinge", ""),
    OF_VECTOR("metric", "CategoricalHinge", ""),
    OF_VECTOR("metric", "BinaryCrossentropy", ""),
    OF_VECTOR("metric", "CategoricalCrossentropy", ""),
    OF_CLASSES("metric", "SparseCategoricalCrossentropy", ""),
    OF_CLASSES("metric", "Perplexity", ""),
    OF_ONE("metric", "TruePositives", ""),
    OF_ONE("metric", "FalsePositives", ""),
    OF_ONE("metric", "TrueNegatives", ""),
    OF_ONE("metric", "FalseNegatives", ""),
    OF_VECTOR("metric", "Precision", ""),
    OF_VECTOR("metric", "Recall", ""),
    OF_VECTOR("metric", "SensitivityAtSpecificity", "specificity: 0.5"),
    OF_VECTOR("metric", "SpecificityAtSensitivity", "sensitivity: 0.5"),
    OF_VECTOR("metric", "PrecisionAtRecall", "recall: 0.5"),
    OF_VECTOR("metric", "RecallAtPrecision", "precision: 0.5"),
    OF_VECTOR("metric", "AUC", ""),
    OF_VECTOR("metric", "F1Score", ""),
    OF_VECTOR("metric", "FBetaScore", ""),
    OF_CLASSES("metric", "IoU", "num_classes: 3, target_class_ids: [0, 1], sparse_y_pred: false"),
    OF_CLASSES("metric", "MeanIoU", "num_classes: 3, sparse_y_pred: false"),
    OF_VECTOR("metric", "OneHotIoU", "num_classes: 3, target_class_ids: [0, 1]"),
    OF_VECTOR("metric", "OneHotMeanIoU", "num_classes: 3"),
    OF_ONE("metric", "BinaryIoU", ""),
    OF_VECTOR("metric", "PearsonCorrelation", ""),
    OF_VECTOR("metric", "ConcordanceCorrelation", ""),
    IN_PROGRAMS("metric", "Mean"),
    IN_PROGRAMS("metric", "Sum"),

    OPTIMIZER("SGD"),
    OPTIMIZER("Adam"),
    OPTIMIZER("AdamW"),
    OPTIMIZER("Adamax"),
    OPTIMIZER("Nadam"),
    OPTIMIZER("RMSprop"),
    OPTIMIZER("Adagrad"),
    OPTIMIZER("Adadelta"),
    OPTIMIZER("Adafactor"),
    OPTIMIZER("Lamb"),
    OPTIMIZER("Lion"),
    OPTIMIZER("Ftrl"),
    OPTIMIZER("Muon"),
    OPTIMIZER("ScheduleFreeAdamW"),
};

#define LLAMA_SCALING                                                                              \
    "rope_frequency_adjustment_factor: 2, rope_low_freq_factor: 1, rope_high_freq_factor: 4, "     \
    "rope_pretraining_sequence_length: 4"

#define YARN                                                                                       \
    "head_dim: 8, rope_type: yarn, rope_max_wavelength: 10, rope_position_scaling_factor: 2, "     \
    "rope_pretraining_sequence_length: 64"

/* Options whose values do not follow from their types; kind NULL: of all. "": no job, since it
 * changes no step that others do not have. */
static const struct {
    const char *kind, *key, *value;
} values[] = {
    {NULL, "name", ""},
    {NULL, "inputs", ""},
    {NULL, "weights_of", ""},
    {NULL, "seed", ""},
    {"Input", "shape", ""},
    {"Input", "dtype", "dtype: float32"},
    {"Input", "batch_size", "batch_size: 34"},
    {"Input", "batch_shape", ""},
    {"GroupNormalization", "groups", ""},
    {"SparseCategoricalCrossentropy", "axis", ""},
    {"Dice", "axis", "axis: [1]"},
    {"Tversky", "axis", "axis: [1]"},
    {NULL, "num_labels", "multi_label: true, num_labels: 3"},
    /* of other targets and outputs, which rows of other metrics have */
    {NULL, "sparse_y_true", ""},
    {NULL, "sparse_y_pred", ""},
    /* without one the sum is for training loops of C programs */
    {NULL, "reduction", "reduction: mean_with_sample_weight"},
    {"MaskedLMHead", "token_embedding", ""},
    {"MaskedLMHead", "vocabulary_size", ""},
    {"LlamaAttention", "rope_frequency_adjustment_factor", LLAMA_SCALING},
    {"LlamaTransformerDecoder", "rope_frequency_adjustment_factor", LLAMA_SCALING},
    {"LlamaTransformerDecoder", "num_experts", "num_experts: 4"},
    {"LlamaTransformerDecoder", "capacity_factor", "num_experts: 4, capacity_factor: 1.5"},
    {"MixtureOfExperts", "capacity_factor", "capacity_factor: 1.5"},
    {"MixtureOfExperts", "routed_scaling_factor", "routed_scaling_factor: 2.5"},
    {"LlamaAttention", "attention_chunk_size", "attention_chunk_size: 2"},
    {"LlamaAttention", "rope_type", YARN},
    {"LlamaAttention", "rope_beta_fast", YARN ", rope_beta_fast: 3"},
    {"LlamaAttention", "rope_beta_slow", YARN ", rope_beta_slow: 0.1"},
    {"LlamaAttention", "rope_grid", "head_dim: 8, rope_grid: [2, 4]"},
    {"LlamaAttention", "layer_norm_epsilon", "qk_norm: rms_norm, layer_norm_epsilon: 0.1"},
    {"MultiHeadAttention", "layer_norm_epsilon", "qk_norm: rms_norm, layer_norm_epsilon: 0.1"},
    {"MixtureOfExperts", "swiglu_limit", "swiglu_limit: 0.5"},
    {"MultiHeadLatentAttention", "q_lora_rank", "q_lora_rank: 3"},
    {"T5MultiHeadAttention", "relative_attention_num_buckets", "relative_attention_num_buckets: 8"},
    {"T5MultiHeadAttention", "relative_attention_max_distance",
     "relative_attention_max_distance: 16"},
    {"T5MultiHeadAttention", "position_bias_of", ""}, /* needs another such layer */
    {NULL, "router_aux_loss_coef", "router_aux_loss_coef: 0.1"},
    {NULL, "rope_low_freq_factor", ""}, /* together with the one above */
    {NULL, "rope_high_freq_factor", ""},
    {NULL, "rope_pretraining_sequence_length", ""},
    {"ZeroPadding1D", "padding", "padding: 2"},
    {"ZeroPadding2D", "padding", "padding: 2"},
    {"ZeroPadding3D", "padding", "padding: 2"},
    {NULL, "output_padding", "strides: 2, output_padding: 1"},
    {NULL, "dtype", "dtype: float32"}, /* mixed precision is of a whole model */
    {NULL, "kernel_initializer", ""},
    {NULL, "bias_initializer", ""},
    {NULL, "beta_initializer", ""},
    {NULL, "gamma_initializer", ""},
    {NULL, "moving_mean_initializer", ""},
    {NULL, "moving_variance_initializer", ""},
    {NULL, "embeddings_initializer", ""},
    {NULL, "initializer", ""},
    {NULL, "recurrent_initializer", ""},
    {NULL, "alpha_initializer", ""},
    {NULL, "depthwise_initializer", ""},
    {NULL, "pointwise_initializer", ""},
#define EACH(key, value)                                                                           \
    { NULL, key, key ": " value }
    EACH("kernel_regularizer", "{L1L2: {l1: 0.1, l2: 0.1}}"),
    EACH("bias_regularizer", "{L1L2: {l1: 0.1, l2: 0.1}}"),
    EACH("activity_regularizer", "{L1L2: {l1: 0.1, l2: 0.1}}"),
    EACH("beta_regularizer", "{L1L2: {l1: 0.1, l2: 0.1}}"),
    EACH("gamma_regularizer", "{L1L2: {l1: 0.1, l2: 0.1}}"),
    EACH("embeddings_regularizer", "{L1L2: {l1: 0.1, l2: 0.1}}"),
    EACH("recurrent_regularizer", "{L1L2: {l1: 0.1, l2: 0.1}}"),
    EACH("alpha_regularizer", "{L1L2: {l1: 0.1, l2: 0.1}}"),
    EACH("depthwise_regularizer", "{L1L2: {l1: 0.1, l2: 0.1}}"),
    EACH("pointwise_regularizer", "{L1L2: {l1: 0.1, l2: 0.1}}"),
    EACH("kernel_constraint", "{MaxNorm: {max_value: 2}}"),
    EACH("bias_constraint", "{MaxNorm: {max_value: 2}}"),
    EACH("beta_constraint", "{MaxNorm: {max_value: 2}}"),
    EACH("gamma_constraint", "{MaxNorm: {max_value: 2}}"),
    EACH("embeddings_constraint", "{MaxNorm: {max_value: 2}}"),
    EACH("recurrent_constraint", "{MaxNorm: {max_value: 2}}"),
    EACH("alpha_constraint", "{MaxNorm: {max_value: 2}}"),
    EACH("depthwise_constraint", "{MaxNorm: {max_value: 2}}"),
    EACH("pointwise_constraint", "{MaxNorm: {max_value: 2}}"),
    EACH("strides", "2"),
    EACH("dilation_rate", "2"),
    EACH("groups", "2"),
    EACH("depth_multiplier", "2"),
    EACH("pool_size", "3"),
    EACH("size", "3"),
    EACH("cropping", "2"),
    EACH("epsilon", "1e-2"),
    EACH("momentum", "0.5"),
    EACH("axis", "1"),
    EACH("dropout", "0.5"),
    EACH("recurrent_dropout", "0.5"),
    EACH("value_dim", "6"),
    EACH("sliding_window", "3"),
    EACH("output_shape", "6"),
    EACH("max_value", "6"),
    EACH("negative_slope", "0.1"),
    EACH("threshold", "0.5"),
    EACH("layer_norm_epsilon", "1e-2"),
    EACH("alpha", "0.3"),
    EACH("shared_axes", "[1, 2]"),
    EACH("offset", "0.5"),
    EACH("mask_value", "1"),
    EACH("max_wavelength", "100"),
    EACH("scaling_factor", "2"),
    EACH("rope_max_wavelength", "100"),
    EACH("rope_position_scaling_factor", "2"),
    EACH("rope_scaling_factor", "2"),
    EACH("head_dim", "6"),
    EACH("num_channels", "3"),
    EACH("noise_shape", "[null, 1, 1, 4]"),
    EACH("lora_rank", "2"),
    EACH("weights", "w"),
    EACH("learning_rate", "{CosineDecay: {initial_learning_rate: 0.1, decay_steps: 10}}"),
    EACH("weight_decay", "0.01"),
    EACH("exclude_from_weight_decay", "[bias]"),
    EACH("clipvalue", "1"),
    EACH("clipnorm", "1"),
    EACH("global_clipnorm", "1"),
    EACH("ema_momentum", "0.9"),
    EACH("ema_overwrite_frequency", "2"),
    EACH("loss_scale_factor", "2"),
    EACH("gradient_accumulation_steps", "2"),
    EACH("beta_1", "0.8"),
    EACH("beta_2", "0.8"),
    EACH("rho", "0.8"),
    EACH("initial_accumulator_value", "0.2"),
    EACH("beta_2_decay", "-0.7"),
    EACH("epsilon_1", "1e-20"),
    EACH("epsilon_2", "1e-2"),
    EACH("clip_threshold", "2"),
    EACH("learning_rate_power", "-0.7"),
    EACH("l1_regularization_strength", "0.1"),
    EACH("l2_regularization_strength", "0.1"),
    EACH("l2_shrinkage_regularization_strength", "0.1"),
    EACH("beta", "0.5"),
    EACH("adam_beta_1", "0.8"),
    EACH("adam_beta_2", "0.8"),
    EACH("adam_weight_decay", "0.01"),
    EACH("exclude_layers", "[bias]"),
    EACH("muon_a", "2"),
    EACH("muon_b", "-1.5"),
    EACH("muon_c", "0.5"),
    EACH("adam_lr_ratio", "0.5"),
    EACH("ns_steps", "3"),
    EACH("rms_rate", "0"),
    EACH("warmup_steps", "2"),
    EACH("ignore_class", "1"),
    EACH("label_smoothing", "0.1"),
    EACH("margin", "0.25"),
    EACH("delta", "0.5"),
    EACH("gamma", "1"),
    EACH("q", "0.5"),
    EACH("k", "1"),
    EACH("num_regressors", "1"),
    EACH("mask_token_id", "1"),
    EACH("thresholds", "[0.3, 0.6]"),
    EACH("top_k", "2"),
    EACH("class_id", "1"),
    EACH("num_thresholds", "20"),
    EACH("label_weights", "[1, 2, 3]"),
    EACH("target_class_ids", "[1]"),
#undef EACH
};

/* Steps that may run as eval: a piece of the job's name (SORT KIND: {KEYS}, STRATEGY), of the step,
 * and why. */
static const struct {
    const char *what, *step, *why;
} exceptions[] = {
    {"", "get_dimension_size", "a number of rows; it reads none"},
    {"", "gather", "its eval copies rows of the table whole"},
};
enum { N_EXCEPTIONS = sizeof exceptions / sizeof *exceptions };

#endif
