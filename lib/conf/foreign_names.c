/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and keys, mostly of other programs (Keras, PyTorch, XGBoost and others), and what to write
 * in a job instead. Comparisons of names ignore case, '_', '-', the part before the last dot, and
 * the noun at the end: nn.CrossEntropyLoss, DDPStrategy, data-parallel. Comparisons of keys ignore
 * case only.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "conf/conf_impl.h"

#define NO_MODEL "the layers of a model are written in model.layers itself"
#define ACTIVATION "write Activation: {activation: ...}, or activation: in the layer before"
#define ADD "use Add with 'inputs: [A, B]', in a model of type: functional"
#define LOGITS "write BinaryCrossentropy: {from_logits: true}"
#define CLASSES                                                                                    \
    "use SparseCategoricalCrossentropy for class numbers, CategoricalCrossentropy for one-hot "    \
    "rows; from_logits: true if the model has no softmax"
#define GPU                                                                                        \
    "a GPU is a device, not a strategy: use mirrored, with --backend pjrt --plugin PATH "          \
    "(docs/accelerators.md)"
#define SPLIT                                                                                      \
    "replicas hold whole models: use mirrored, and 'partition' to split them over logical "        \
    "devices (docs/model-parallelism.md)"

static const struct {
    const char *noun, *name, *hint;
} rows[] = {
    {"layer", "TextVectorization", "a step of dataset.map: text_vectorization"},
    {"layer", "StringLookup", "a step of dataset.map: string_lookup"},
    {"layer", "IntegerLookup", "a step of dataset.map: integer_lookup"},
    {"layer", "Hashing", "a step of dataset.map: hashing"},
    {"layer", "Resizing", "a step of dataset.map: resize"},
    {"layer", "CenterCrop", "a step of dataset.map: center_crop"},
    {"layer", "RandomCrop", "a step of dataset.map: random_crop"},
    {"layer", "RandomFlip", "a step of dataset.map: random_flip"},
    {"layer", "RandomRotation", "a step of dataset.map: random_rotation"},
    {"layer", "RandomZoom", "a step of dataset.map: random_zoom"},
    {"layer", "RandomTranslation", "a step of dataset.map: random_translation"},
    {"layer", "RandomShear", "a step of dataset.map: random_shear"},
    {"layer", "RandomBrightness", "a step of dataset.map: random_brightness"},
    {"layer", "RandomContrast", "a step of dataset.map: random_contrast"},
    {"layer", "RandomSaturation", "a step of dataset.map: random_saturation"},
    {"layer", "RandomHue", "a step of dataset.map: random_hue"},
    {"layer", "RandomColorJitter", "a step of dataset.map: random_color_jitter"},
    {"layer", "RandomErasing", "a step of dataset.map: random_erasing"},
    {"layer", "MixUp", "a step of dataset.map: mixup"},
    {"layer", "CutMix", "a step of dataset.map: cutmix"},
    {"layer", "RandAugment", "a step of dataset.map: rand_augment"},
    {"layer", "IntegerLookup",
     "for a column of a CSV file, element: {column: ..., vocabulary: [...]}"},
    {"layer", "RNN", "around one cell: LSTM, GRU or SimpleRNN; several cells are as many layers"},
    {"layer", "Linear", "did you mean 'Dense'?"},
    {"layer", "LayerNorm", "did you mean 'LayerNormalization'?"},
    {"layer", "BatchNorm", "did you mean 'BatchNormalization'?"},
    {"layer", "BatchNorm1d", "did you mean 'BatchNormalization'?"},
    {"layer", "BatchNorm2d", "did you mean 'BatchNormalization'?"},
    {"layer", "BatchNorm3d", "did you mean 'BatchNormalization'?"},
    {"layer", "ConvTranspose1d", "did you mean 'Conv1DTranspose'?"},
    {"layer", "ConvTranspose2d", "did you mean 'Conv2DTranspose'?"},
    {"layer", "AdaptiveAvgPool1d", "did you mean 'AdaptiveAveragePooling1D'?"},
    {"layer", "AdaptiveAvgPool2d", "did you mean 'AdaptiveAveragePooling2D'?"},
    {"layer", "Upsample", "did you mean 'UpSampling2D'?"},
    {"layer", "View", "did you mean 'Reshape'?"},
    {"layer", "Cat", "did you mean 'Concatenate'?"},
    {"layer", "Sum", ADD},
    {"layer", "Residual", ADD},
    {"layer", "Skip", ADD},
    {"layer", "Swish", ACTIVATION},
    {"layer", "SiLU", ACTIVATION},
    {"layer", "Mish", ACTIVATION},
    {"layer", "GELU", ACTIVATION},
    {"layer", "Sigmoid", ACTIVATION},
    {"layer", "Tanh", ACTIVATION},
    {"layer", "BiLSTM", "write Bidirectional: {layer: {LSTM: {units: ...}}}"},
    {"layer", "BiGRU", "write Bidirectional: {layer: {GRU: {units: ...}}}"},
    {"layer", "InputLayer", "did you mean 'Input'?"},
    {"layer", "Transformer", "did you mean 'TransformerEncoder'?"},
    {"layer", "CrossAttention", "did you mean 'MultiHeadAttention'?"},
    {"layer", "Sequential", NO_MODEL},
    {"layer", "Functional", NO_MODEL},
    {"layer", "Model", NO_MODEL},
    {"layer", "Lambda",
     "a job holds no code: write the same with Rescaling, Activation, Reshape, Permute or Add, "
     "or in C with a step function"},
    {"loss", "cross_entropy", CLASSES},
    {"loss", "CrossEntropyLoss", CLASSES},
    {"loss", "nll_loss", CLASSES},
    {"loss", "NLLLoss", CLASSES},
    {"loss", "SoftmaxLoss", CLASSES},
    {"loss", "softmax_cross_entropy_with_logits", CLASSES},
    {"loss", "log_loss", "did you mean 'binary_crossentropy'?"},
    {"loss", "logistic", LOGITS},
    {"loss", "binary:logistic", LOGITS},
    {"loss", "binary:logitraw", LOGITS},
    {"loss", "sigmoid_cross_entropy", LOGITS},
    {"loss", "sigmoid_cross_entropy_with_logits", LOGITS},
    {"loss", "softmax_cross_entropy", CLASSES},
    {"loss", "multi:softmax", CLASSES},
    {"loss", "multi:softprob", CLASSES},
    {"loss", "mlogloss", CLASSES},
    {"loss", "reg:squarederror", "did you mean 'mean_squared_error'?"},
    {"loss", "reg:absoluteerror", "did you mean 'mean_absolute_error'?"},
    {"loss", "reg:pseudohubererror", "did you mean 'huber'?"},
    {"loss", "count:poisson", "did you mean 'poisson'?"},
    {"loss", "BCELoss", "did you mean 'BinaryCrossentropy'?"},
    {"loss", "BCEWithLogitsLoss", LOGITS},
    {"loss", "MSELoss", "did you mean 'MeanSquaredError'?"},
    {"loss", "l2", "did you mean 'mean_squared_error'?"},
    {"loss", "l1", "did you mean 'mean_absolute_error'?"},
    {"loss", "L1Loss", "did you mean 'MeanAbsoluteError'?"},
    {"loss", "smooth_l1", "did you mean 'huber'?"},
    {"loss", "SmoothL1Loss", "did you mean 'Huber'?"},
    {"loss", "HuberLoss", "did you mean 'Huber'?"},
    {"loss", "KLDivLoss", "did you mean 'KLDivergence'?"},
    {"loss", "focal", "BinaryFocalCrossentropy or CategoricalFocalCrossentropy"},
    {"loss", "FocalLoss", "BinaryFocalCrossentropy or CategoricalFocalCrossentropy"},
    {"loss", "rmse", "mse has its minimum at the same weights; rmse is a metric"},
    {"metric", "confusion_matrix",
     "its cells: TruePositives, FalsePositives, TrueNegatives, FalseNegatives"},
    {"metric", "top5", "write TopKCategoricalAccuracy: {k: 5}"},
    {"metric", "f1_macro", "write F1Score: {average: macro}"},
    {"metric", "f1_micro", "write F1Score: {average: micro}"},
    {"metric", "f1_weighted", "write F1Score: {average: weighted}"},
    {"metric", "pr_auc", "write AUC: {curve: PR}"},
    {"metric", "auprc", "write AUC: {curve: PR}"},
    {"metric", "average_precision", "write AUC: {curve: PR}"},
    {"metric", "balanced_accuracy", "it is the mean of the classes' Recall: {class_id: K}"},
    {"metric", "jaccard", "did you mean 'BinaryIoU'?"},
    {"metric", "dice", "of two classes it is F1Score"},
    {"metric", "error_rate", "it is 1 - accuracy"},
    {"optimizer", "sgd_momentum", "write SGD: {momentum: 0.9}"},
    {"optimizer", "momentum", "write SGD: {momentum: 0.9}"},
    {"optimizer", "AdamW8bit", "did you mean 'AdamW'?"},
    {"callback", "LearningRateMonitor", "leave it out: the learning rate is recorded in any case"},
    {"callback", "TQDMProgressBar", "leave it out; -q and -v control the output"},
    {"callback", "RichProgressBar", "leave it out; -q and -v control the output"},
    {"strategy", "gpu", GPU},
    {"strategy", "cuda", GPU},
    {"strategy", "cpu", "leave strategy out: one replica uses all cores"},
    {"strategy", "auto", "leave strategy out: one replica uses all cores"},
    {"strategy", "none", "leave strategy out: one replica uses all cores"},
    {"strategy", "single_device", "did you mean 'one_device'?"},
    {"strategy", "ddp", "did you mean 'mirrored'?"},
    {"strategy", "ddp_spawn", "did you mean 'mirrored'?"},
    {"strategy", "ddp_notebook", "did you mean 'mirrored'?"},
    {"strategy", "ddp_find_unused_parameters_true", "did you mean 'mirrored'?"},
    {"strategy", "dp", "did you mean 'mirrored'?"},
    {"strategy", "data_parallel", "did you mean 'mirrored'?"},
    {"strategy", "distributed_data_parallel", "did you mean 'mirrored'?"},
    {"strategy", "pmap", "did you mean 'mirrored'?"},
    {"strategy", "tower", "did you mean 'mirrored'?"},
    {"strategy", "central_storage", "did you mean 'parameter_server'?"},
    {"strategy", "ps", "did you mean 'parameter_server'?"},
    {"strategy", "horovod", "did you mean 'multi_worker_mirrored'?"},
    {"strategy", "hvd", "did you mean 'multi_worker_mirrored'?"},
    {"strategy", "mpi", "did you mean 'multi_worker_mirrored'?"},
    {"strategy", "mwms", "did you mean 'multi_worker_mirrored'?"},
    {"strategy", "xla", "did you mean 'tpu'?"},
    {"strategy", "fsdp", SPLIT},
    {"strategy", "fsdp2", SPLIT},
    {"strategy", "fully_shard", SPLIT},
    {"strategy", "fully_sharded_data_parallel", SPLIT},
    {"strategy", "deepspeed", SPLIT},
    {"strategy", "zero", SPLIT},
    {"strategy", "zero1", SPLIT},
    {"strategy", "zero2", SPLIT},
    {"strategy", "zero3", SPLIT},
    {"strategy", "sharded", SPLIT},
    {"strategy", "model_parallel", SPLIT},
    {"strategy", "tensor_parallel", SPLIT},
    {"strategy", "pipeline_parallel", SPLIT},
    {"strategy", "megatron", SPLIT},
    {"strategy", "colossalai", SPLIT},
    {"strategy", "MirroredStrategy", "did you mean 'mirrored'?"},
    {"strategy", "MultiWorkerMirroredStrategy", "did you mean 'multi_worker_mirrored'?"},
    {"strategy", "OneDeviceStrategy", "did you mean 'one_device'?"},
    {"strategy", "ParameterServerStrategy", "did you mean 'parameter_server'?"},
    {"strategy", "TPUStrategy", "did you mean 'tpu'?"},
};

#define READERS "write dataset.num_parallel_calls, or leave it out"
#define FIRST "begin the layers with Input: {shape: [...]}"
#define TREES "dtrain trains neural networks; it has no decision trees"
#define FEATURES                                                                                   \
    "write dataset: {element: {x: {columns: [...]}, y: {column: ...}}}, and model: {layers: "      \
    "[...]}"
#define RATE "write it in the optimizer: compile: {optimizer: {Adam: {learning_rate: 0.001}}}"
#define RATES                                                                                      \
    "a schedule takes the place of the optimizer's number: learning_rate: {CosineDecay: {...}}"
#define CLIP "write it in the optimizer: compile: {optimizer: {Adam: {global_clipnorm: 1.0}}}"
#define STOP "write fit: {callbacks: [EarlyStopping: {patience: 3}]}"
#define BEST "write fit: {callbacks: [ModelCheckpoint: {...}]}"
#define ELEMENT "write element: {NAME: {column: ...}}"
#define STEPS "write map: {ELEMENT: [STEP, ...]}"

/* Keys of other programs, or in the wrong place, and what to write instead. what NULL: the key is
 * recognized in any mapping that does not have it. */
static const struct {
    const char *what, *key, *hint;
} keys[] = {
    {NULL, "lr", RATE},
    {NULL, "decay", "write a schedule: learning_rate: {InverseTimeDecay: {...}}"},
    {NULL, "nb_epoch", "write epochs"},
    {"fit", "workers", READERS},
    {"fit", "use_multiprocessing", READERS},
    {"fit", "max_queue_size", "write dataset.prefetch"},
    {NULL, "input_shape", FIRST},
    {NULL, "input_dim", FIRST},
    {NULL, "batch_input_shape", FIRST},
    {NULL, "init", "write kernel_initializer"},
    {NULL, "W_regularizer", "write kernel_regularizer"},
    {NULL, "b_regularizer", "write bias_regularizer"},
    {NULL, "nb_filter", "write filters"},
    {NULL, "nb_row", "write kernel_size"},
    {NULL, "nb_col", "write kernel_size"},
    {NULL, "border_mode", "write padding"},
    {NULL, "subsample", "write strides"},
    {NULL, "inner_activation", "write recurrent_activation"},
    {NULL, "eta", RATE},
    {NULL, "objective", "write compile: {loss: ...}"},
    {NULL, "eval_metric", "write compile: {metrics: [...]}"},
    {NULL, "num_round", "write fit: {epochs: ...}"},
    {NULL, "num_boost_round", "write fit: {epochs: ...}"},
    {NULL, "n_estimators", "write fit: {epochs: ...}"},
    {NULL, "max_depth", TREES},
    {NULL, "booster", TREES},
    {NULL, "tree_method", TREES},
    {NULL, "input_features", FEATURES},
    {NULL, "output_features", FEATURES},
    {NULL, "combiner", "write model: {layers: [...]}"},
    {NULL, "preprocessing", STEPS},
    {NULL, "learning_rate", RATE},
    {NULL, "lr_scheduler", RATES},
    {NULL, "lr_schedule", RATES},
    {NULL, "scheduler", RATES},
    {NULL, "clipnorm", CLIP},
    {NULL, "grad_clip", CLIP},
    {NULL, "max_grad_norm", CLIP},
    {NULL, "gradient_clip_val", CLIP},
    {NULL, "accumulate_grad_batches", "write fit.gradient_accumulation_steps"},
    {NULL, "gradient_accumulation_steps", "write fit.gradient_accumulation_steps"},
    {NULL, "early_stopping", STOP},
    {NULL, "patience", STOP},
    {NULL, "callbacks", "write fit.callbacks"},
    {NULL, "max_epochs", "write fit.epochs"},
    {NULL, "num_epochs", "write fit.epochs"},
    {NULL, "num_train_epochs", "write fit.epochs"},
    {NULL, "class_weight", "write fit.class_weight"},
    {NULL, "batch_size", "write dataset.global_batch_size"},
    {NULL, "validation_split", "write dataset.validation_split"},
    {NULL, "precision", "write compile.precision"},
    {NULL, "mixed_precision", "write compile.precision"},
    {NULL, "fp16", "write compile.precision: mixed_float16"},
    {NULL, "bf16", "write compile.precision: mixed_bfloat16"},
    {NULL, "pretrained", "write model.init_from"},
    {NULL, "weights", "write model.init_from"},
    {NULL, "num_workers", "write dataset.num_parallel_calls"},
    {NULL, "save_steps", "write checkpoint.save_freq"},
    {NULL, "output_dir", "write output.dir"},
    {NULL, "trainer", "write fit, strategy and checkpoint"},
    {NULL, "training", "write 'fit', and data files in 'dataset'"},
    {"output", "path", "write output.dir"},
    {"checkpoint", "dir", "checkpoints are written below output.dir"},
    {"checkpoint", "filepath", "checkpoints are written below output.dir"},
    {"checkpoint", "every", "write save_freq"},
    {"checkpoint", "save_best_only", BEST},
    {"checkpoint", "monitor", BEST},
    {"compile", "criterion", "write loss"},
    {"compile", "loss_fn", "write loss"},
    {"dataset", "path", "write train, and validation"},
    {"dataset", "file", "write train, and validation"},
    {"dataset", "data", "write train, and validation"},
    {"dataset", "name", "data are read from files: write format and train"},
    {"dataset", "split", "write validation_split, or the files of validation"},
    {"dataset", "target", ELEMENT},
    {"dataset", "label", ELEMENT},
    {"dataset", "labels", ELEMENT},
    {"dataset", "features", ELEMENT},
    {"dataset", "columns", ELEMENT},
    {"dataset", "dtype", "write element: {NAME: {column: ..., dtype: ...}}"},
    {"dataset", "sep", "write field_delim"},
    {"dataset", "delimiter", "write field_delim"},
    {"dataset", "batch", "write global_batch_size"},
    {"dataset", "shuffle_buffer", "write shuffle: true, which shuffles the whole epoch"},
    {"dataset", "transform", STEPS},
    {"dataset", "transforms", STEPS},
    {"dataset", "augment", STEPS},
    {"model", "name", "write name at the top of the job"},
    {"model", "inputs", "write layers: [Input: {...}, ...]"},
};

const char *dt_name_last(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

static const char *skip_marks(const char *s) { return s + strspn(s, "_-"); }

/* Whether `written` is `name`, possibly followed by the noun. */
static bool is_name(const char *written, const char *name, const char *noun) {
    written = skip_marks(written);
    for (name = skip_marks(name); *name; name = skip_marks(name + 1)) {
        if (tolower((unsigned char)*written) != tolower((unsigned char)*name)) return false;
        written = skip_marks(written + 1);
    }
    return !*written || strcasecmp(written, noun) == 0;
}

const char *dt_foreign_name(const char *noun, const char *name) {
    const char *last = dt_name_last(name);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].noun, noun) == 0 && is_name(last, rows[i].name, noun))
            return rows[i].hint;
    return NULL;
}

/* What to write instead of a single value in place of a mapping or a list. */
static const struct {
    const char *what, *hint;
} lone[] = {
    {"model", "write model: {layers: [...]}"},
    {"devices", "write each device: [\"CPU:0\", \"CPU:1\"]"},
};

/* Whether a value looks like `epochs:1`, which YAML reads as a text because the space is missing.
 * Sets *key to the number of letters and '_' at its start. */
static bool lacks_space(const char *value, size_t *key) {
    *key = strspn(value, "abcdefghijklmnopqrstuvwxyz_");
    return *key > 1 && value[*key] == ':' && !strchr(" /\\", value[*key + 1]);
}

dt_status *dt_suggest_lone(dt_status *s, const char *what, const char *value) {
    size_t key;
    if (lacks_space(value, &key))
        return dt_suggest(s, "write a space after the colon: %.*s: %.60s", (int)key, value,
                          value + key + 1);
    for (size_t i = 0; what && i < sizeof lone / sizeof *lone; i++)
        if (strcmp(lone[i].what, what) == 0) return dt_suggest(s, "%s", lone[i].hint);
    return s;
}

const char *dt_foreign_key(const char *what, const char *key) {
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcasecmp(keys[i].key, key) == 0 &&
            (!keys[i].what || (what && strcmp(keys[i].what, what) == 0)))
            return keys[i].hint;
    return NULL;
}
