/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What people read about each error: DT_ERROR_TEXT(id, title, detail). The title is one line. The
 * detail is what `dtrain explain DTnnn` prints: what the error means, an example, what helps. Every
 * row of base/errors.h has its text here, in the same order (status.c does not compile otherwise).
 * No include guard.
 */
/* clang-format off */
DT_ERROR_TEXT(UNKNOWN_KEY, "unknown key",
    "The job file has a key that dtrain does not know. Unknown keys are errors and\n"
    "are never ignored: a misspelt key would otherwise train something else for\n"
    "hours.\n\n"
    "    model: {layesr: [...]}      did you mean 'layers'?\n\n"
    "The message suggests the nearest key, or lists all that are possible. 'dtrain\n"
    "config schema' prints every key of a job.")
DT_ERROR_TEXT(YAML_SYNTAX, "the job file is not valid YAML",
    "A bracket or quote is never closed, the indentation is inconsistent, or a ':' is\n"
    "missing. The message points at the cause where it is known: at the bracket that\n"
    "is never closed, for example, and not at the end of the file.\n\n"
    "    devices: [\"CPU:0\", \"CPU:1\"      '[' opened at line 1 is never closed\n\n"
    "Indent with spaces, never with tabs. Quote a value that contains ': ' or begins\n"
    "with one of @ ` %.")
DT_ERROR_TEXT(JOB_BYTES, "character not allowed in a job file",
    "Job files are UTF-8 text without control characters (tabs and line ends are\n"
    "allowed). The message names the byte and where it is. An editor that shows\n"
    "invisible characters helps; for an old file, try `iconv -f latin1 -t utf-8`.")
DT_ERROR_TEXT(JOB_LIMIT, "job file too large or too deep",
    "A job file may have 1 MiB, 64 levels of nesting and 10,000 values; copies made\n"
    "by aliases count. Larger files are refused at once, so that no file can exhaust\n"
    "memory or time. To write many equal layers, use Repeat.")
DT_ERROR_TEXT(EMPTY_JOB, "the job file is empty",
    "The job file contains nothing but comments or white space. 'dtrain config init\n"
    "mlp' prints a small job to start from.")
DT_ERROR_TEXT(DUPLICATE_KEY, "key given twice",
    "A mapping has the same key twice. Many YAML readers silently use the last one;\n"
    "dtrain does not guess which one was meant.\n\n"
    "    fit: {epochs: 5, epochs: 50}      duplicate key 'epochs', first given at line 1")
DT_ERROR_TEXT(MANY_DOCUMENTS, "more than one document",
    "A job file holds one YAML document. Many readers would silently ignore what\n"
    "follows a second '---'. Put each job into a separate file.")
DT_ERROR_TEXT(YAML_FEATURE, "YAML feature not supported",
    "Tags (!!int, !mine) and keys that are lists, mappings or empty are not\n"
    "supported. Anchors, aliases of values and merge keys are. Tags are never needed,\n"
    "because each key defines the type of its value. A merge key takes a mapping or a\n"
    "list of mappings:\n\n"
    "    x-dense: &dense {units: 64, activation: relu}\n"
    "    ...\n"
    "        - Dense: {<<: *dense, name: first}")
DT_ERROR_TEXT(BAD_ALIAS, "alias without a value",
    "An alias (*name) refers to an anchor (&name) that is not defined earlier in the\n"
    "file, or to a value that contains the alias itself.")
DT_ERROR_TEXT(MISSING_KEY, "required key missing",
    "A mapping lacks a key that has no default. The message points at the mapping.\n\n"
    "    compile: {optimizer: Adam}        required key 'loss' is missing in compile")
DT_ERROR_TEXT(WRONG_TYPE, "value of the wrong type",
    "A value does not have the type that its key needs. Each key defines the type;\n"
    "YAML's guess does not count. Integers are digits (or an exact 1e3), booleans are\n"
    "true and false only, and anything in quotes is text.\n\n"
    "    fit: {epochs: ten}                epochs: expected an integer, got 'ten'")
DT_ERROR_TEXT(AMBIGUOUS, "number with a leading zero",
    "YAML 1.1 reads 010 as eight; YAML 1.2 and most people read it as ten. Write the\n"
    "number that you mean without the leading zero.")
DT_ERROR_TEXT(UNKNOWN_NAME, "unknown name",
    "dtrain does not know this layer, loss, optimizer, metric, strategy, format or\n"
    "choice. Names are those of Keras: class names, or the lower-case identifiers\n"
    "that Keras accepts. The message suggests the nearest name.\n\n"
    "    optimizer: adm                    did you mean 'adam'?")
DT_ERROR_TEXT(BAD_OVERRIDE, "override of a key that does not exist",
    "Overrides on the command line have the form key.path=value. Items of lists are\n"
    "addressed by number, starting at 0.\n\n"
    "    dtrain fit job.yaml fit.epochs=1 model.layers.1.Dense.units=64\n\n"
    "Quote the whole argument if the value contains spaces or brackets.")
DT_ERROR_TEXT(RANGE, "value out of range",
    "A number in the job file is outside the limits of its key. The message states\n"
    "the limit and the value.\n\n"
    "    Dense: {units: 0}           units must be at least 1, got 0")
DT_ERROR_TEXT(FIT_KEYS, "conflicting keys of fit",
    "`fit` says how long to train: give either `epochs` or `steps`, not both.\n"
    "`initial_epoch` skips epochs and must be less than `epochs`. A callback may have\n"
    "needs of its own: GenerateText works with text data and a model that predicts\n"
    "the next token.\n\n"
    "    fit: {epochs: 5}          or  fit: {steps: 5000}\n"
    "    dtrain fit job.yaml fit.epochs= fit.steps=100     replaces epochs by steps")
DT_ERROR_TEXT(EXTENDS, "the base of a job",
    "With `extends: base.yaml` a job takes every key that it does not set itself from\n"
    "another file. The path is relative to the job file. The base may not extend a\n"
    "third file. Mappings are merged key by key; a mapping whose `type` changes is\n"
    "replaced as a whole.")
DT_ERROR_TEXT(SUBSTITUTION, "substitution without a value",
    "Text in a job may contain {name} and {run_dir}, and inside Repeat the variables\n"
    "of its `for`. Paths may also contain ${VARIABLE} and ${VARIABLE:-default}. A\n"
    "variable that is not set in the environment needs a default.\n\n"
    "    output: {dir: \"${SCRATCH:-runs}/{name}\"}")
DT_ERROR_TEXT(JOB_NAME, "name of a job",
    "The name of a job becomes part of paths. It consists of letters, digits, '.',\n"
    "'_' and '-', and does not begin with a dot. Without `name`, dtrain uses the name\n"
    "of the file without .yaml.")
DT_ERROR_TEXT(BACKEND, "back end and strategy",
    "The strategy determines the back end: `cpu` for default, one_device and\n"
    "mirrored, `sim` for tpu on a simulated slice. `backend` may repeat it but not\n"
    "contradict it; most jobs omit it.")
DT_ERROR_TEXT(NO_SLICE, "no slice to draw",
    "'dtrain topology' draws the chips of a TPU slice. A job with another strategy\n"
    "has no slice.\n\n"
    "    dtrain topology job.yaml 'strategy={type: tpu, cluster_resolver: {tpu: sim:v3-8}}'\n"
    "    dtrain topology --tpu v3-8                the slice without a job")
DT_ERROR_TEXT(NO_SPLIT, "no such split of the data",
    "'dtrain evaluate --split NAME' names a split that the job does not have.\n"
    "`validation` comes from `dataset.validation` or `dataset.validation_split`,\n"
    "`test` from `dataset.test`.")
DT_ERROR_TEXT(PARTITION, "annotation of a value",
    "`partition` places inputs, targets, layers and values inside layers on the\n"
    "logical devices of a replica: `replicate`, `{split: [1, 2, 4, 1]}` (the number\n"
    "of parts in each dimension) or `{assign: 1}` (one device). Weights are placed by\n"
    "rules; the first rule that matches a weight applies. A rule that matches no\n"
    "weight is an error.\n\n"
    "    partition:\n"
    "      image: {split: [1, 2, 4, 1]}\n"
    "      label: replicate\n"
    "      weights:\n"
    "        - {match: \"*/{query,key,value}/kernel\", split: [1, 2, 1]}\n"
    "        - {match: \"*\", replicate: true}")
DT_ERROR_TEXT(CALLBACK, "callback that does not suit the job",
    "A callback in `fit.callbacks` needs something that the job does not have:\n"
    "validation data for `monitor: val_loss`, a learning rate that is a number and\n"
    "not a schedule, or an output.dir that contains its file. If dtrain cannot know\n"
    "whether a metric should grow or shrink, set `mode`.\n\n"
    "    callbacks: [EarlyStopping: {monitor: val_accuracy, patience: 3}]\n\n"
    "Some callbacks of Keras have no use in a job: `checkpoint` saves checkpoints,\n"
    "and the history is always written.")
DT_ERROR_TEXT(UNKNOWN_SLICE, "unknown slice",
    "`cluster_resolver.tpu` names a slice of a TPU pod: the generation and the number\n"
    "of cores (on v5e and v6e, of chips), such as v3-8 or v5e-16, or the generation\n"
    "and the shape, such as v4:2x2x2 or v4:4x4x8_twisted, with sim: in front. The\n"
    "message lists the nearest slices that exist. An empty name means the TPU of this\n"
    "machine or, if there is none, a simulated v3-8.\n\n"
    "    cluster_resolver: {tpu: sim:v3-8}\n\n"
    "'dtrain topology --tpu v3-8' draws it.")
DT_ERROR_TEXT(UNKNOWN_SLICE_OPTION, "unknown slice on the command line",
    "--tpu names a slice of a TPU pod: the generation and the number of cores (on v5e\n"
    "and v6e, of chips), such as v3-8 or v5e-16, or the generation and the shape,\n"
    "such as v4:2x2x2 or v4:4x4x8_twisted. The prefix sim: is optional here. The\n"
    "message lists the nearest slices that exist.\n\n"
    "    dtrain topology --tpu v3-8")
DT_ERROR_TEXT(COMPUTATION_SHAPE, "computation_shape does not fit",
    "`computation_shape` is the block of cores of one replica, [x, y, z, core];\n"
    "`computation_stride` is the distance between those cores. Each has four numbers\n"
    "of at least 1, and their product must fit the mesh of the slice in every\n"
    "dimension. Slices of v2 and v3 are flat: z is 1.\n\n"
    "    v3-8 has the mesh [2, 2, 1, 2]: two by two chips with two cores each\n"
    "    [1, 1, 1, 2] fits: both cores of a chip, 4 replicas of 2 logical devices\n"
    "    [1, 2, 2, 2] does not: z would have to be 2\n\n"
    "'dtrain topology JOB' draws a slice with its replicas.")
DT_ERROR_TEXT(TOO_MANY_REPLICAS, "more replicas than fit",
    "The slice does not have room for `num_replicas` blocks of `computation_shape`.\n"
    "Blocks are placed side by side, starting at the first core; cores left over by\n"
    "an uneven division stay idle. Use fewer replicas, a smaller block or a larger\n"
    "slice.")
DT_ERROR_TEXT(DEVICE_ORDER, "no ring through these replicas",
    "Replicas can form a ring if each takes all cores of its chips, every stride is\n"
    "1, and the replicas fill the slice. Leave device_order_mode at auto: it uses a\n"
    "ring where one exists and the order of coordinates elsewhere.")
DT_ERROR_TEXT(NOT_PARTITIONED, "input neither split nor replicated",
    "With `spmd_partitioning: true` and several logical devices per replica, every\n"
    "input must be placed: split into tiles, one for each device, or replicated on\n"
    "all of them.\n\n"
    "    partition: {image: {split: [1, 2, 4, 1]}, label: replicate}")
DT_ERROR_TEXT(MISSING_DEVICES, "the slice lacks devices",
    "Some coordinates of the mesh have no device. In that case replicas take\n"
    "consecutive cores in the order of hosts, which needs a computation_stride of\n"
    "ones and enough cores.")
DT_ERROR_TEXT(TOPOLOGY, "malformed topology",
    "A topology has a mesh shape of four positive numbers, [x, y, z, core], and four\n"
    "coordinates for each device of each task.")
DT_ERROR_TEXT(COORDINATES, "coordinates outside the mesh",
    "The coordinates of a device or of a logical core are outside the mesh, or belong\n"
    "to no device.")
DT_ERROR_TEXT(DEVICE_NAME, "malformed device name",
    "A device is named by type and number, such as CPU:0 or TPU:3 in upper or lower\n"
    "case, or by its full name:\n\n"
    "    /job:localhost/replica:0/task:0/device:CPU:0\n\n"
    "In a full name, job, replica and task are each optional.")
DT_ERROR_TEXT(DEVICE_TWICE, "device listed twice",
    "Each device of a strategy holds one replica, so list it once. CPU:0, cpu:0 and\n"
    "the full name are the same device. For more replicas than cores, list more\n"
    "virtual CPU devices (CPU:0, CPU:1, ...) or write `replicas: N`.")
DT_ERROR_TEXT(NO_DEVICE, "device not available",
    "The job names a device that this machine does not have, or that dtrain cannot\n"
    "use. CPU devices are virtual: you get as many as you request, on the real cores.\n"
    "TPU slices are simulated (`strategy: {type: tpu}`).\n\n"
    "'dtrain devices' lists what was found, and says why the rest was not.")
DT_ERROR_TEXT(LOGICAL_DEVICE, "no such logical device",
    "Without a device assignment a replica has one logical device; with one, it has\n"
    "as many as its block has cores. They are numbered from 0;\n"
    "experimental_logical_device also accepts negative numbers, which count from the\n"
    "end. With SPMD partitioning, assign_to_logical_device is not allowed: every\n"
    "value is split or replicated.")
DT_ERROR_TEXT(SPLIT, "value cannot be split",
    "split_to_logical_devices, and `split` in a job's `partition`, divide a value\n"
    "into tiles, one for each logical device of a replica. Give the number of parts\n"
    "for each dimension. Every known size must be divisible by its number of parts,\n"
    "and the product of all parts must equal the number of logical devices. The\n"
    "message lists the splits that are possible.\n\n"
    "    image (16, 4, 8, 3) over 8 logical devices: [1, 2, 4, 1], tiles of (16, 2, 2, 3)")
DT_ERROR_TEXT(TOPOLOGY_BYTES, "not a serialized topology",
    "The bytes are not a TopologyProto: they end inside a field, or contain a field\n"
    "that the message does not have. dt_topology_serialized writes bytes that dtrain\n"
    "and TensorFlow can read.")
DT_ERROR_TEXT(SCHEDULE, "no such schedule of a collective",
    "This collective algorithm does not exist for this number of ranks. Recursive\n"
    "halving needs a power of two, and no schedule is written out for more than 1,024\n"
    "ranks. The ring works for every number.")
DT_ERROR_TEXT(WORKER_LATE, "worker timed out",
    "A worker waited for another one until the deadline. The other worker is slow,\n"
    "stopped or waiting itself; the message names it and what was expected of it. The\n"
    "job can be resumed from the last complete checkpoint.")
DT_ERROR_TEXT(WORKER_GONE, "worker lost",
    "A worker left or died while another one still expected data from it. The job can\n"
    "be resumed from the last complete checkpoint.")
DT_ERROR_TEXT(WORKERS_DISAGREE, "workers disagree",
    "Two workers met in different collectives, or in the same collective with\n"
    "different sizes. They run different jobs or versions, or a step function that\n"
    "does not do the same on every worker. The message was refused, so no sum is\n"
    "wrong.\n\n"
    "Or their weights differ, which `strategy.verify_replicas` looks for: a processor\n"
    "or memory of one of them fails silently. Resume from a checkpoint without that\n"
    "machine; the newest one may already hold wrong weights.")
DT_ERROR_TEXT(REPLICAS, "devices and replicas",
    "Each device of a strategy holds one replica. `devices` lists them; `replicas: N`\n"
    "is short for CPU:0 to CPU:N-1. If you give both they must agree. The list may\n"
    "not be empty.\n\n"
    "    strategy: {type: mirrored, devices: [\"CPU:0\", \"CPU:1\"]}\n"
    "    strategy: {type: mirrored, replicas: 2}                       the same")
DT_ERROR_TEXT(MODEL_SHAPE, "shapes do not match",
    "An operation cannot combine values of these shapes or types. The message names\n"
    "the operation, the rule that is broken and both shapes; B stands for the number\n"
    "of rows of a batch. Sizes broadcast as in NumPy: shapes are aligned at the last\n"
    "dimension, and a size of 1 stretches.\n\n"
    "    image (B, 784) times a kernel (128, 10): the second dimension of the left, 784, must "
    "be the first of the right, 128")
DT_ERROR_TEXT(TRACE_VALUE, "not a value of this trace",
    "A step function used a dt_value that was not made by its own trace: it was kept\n"
    "from an earlier trace, comes from another function, or is the gradient of a\n"
    "variable on which the loss does not depend. Values live as long as the trace\n"
    "that made them. Keep state that outlives a step in variables.")
DT_ERROR_TEXT(NO_ARGUMENT, "no such argument",
    "A step function asked dt_arg for a name that its arguments do not have. The\n"
    "message lists the names that exist: those of the dt_values passed to\n"
    "dt_strategy_run, or of the elements of the data set.")
DT_ERROR_TEXT(NAME_TAKEN, "name given twice",
    "Arguments and results of a step function are identified by name, so each name\n"
    "may be used once.")
DT_ERROR_TEXT(NOT_YET, "not implemented yet",
    "The job uses a feature of Keras or tf.distribute that this version of dtrain\n"
    "does not have. It is refused, never ignored, so that the job trains exactly what\n"
    "it says. The message names the alternative, if there is one.")
DT_ERROR_TEXT(MODEL_LAYERS, "list of layers",
    "A sequential model is a list of layers. The first layer, and only the first, is\n"
    "an Input: it names the data element that feeds the model and gives its shape\n"
    "without the batch dimension. A Repeat stands for its layers, once for each value\n"
    "of its variables; all its variables have lists of the same length.\n\n"
    "    layers:\n"
    "      - Input: {name: image, shape: [28, 28]}\n"
    "      - Flatten\n"
    "      - Dense: {units: 10}")
DT_ERROR_TEXT(LAYER_NAME, "name of a layer",
    "Layers are identified by name, and weights are called LAYER/WEIGHT\n"
    "(dense/kernel). So each name may be used once and may not contain '/' or '..'.\n"
    "Layers without a name get the names that Keras would give them: dense, dense_1,\n"
    "...")
DT_ERROR_TEXT(MODEL_SIZE, "model too large",
    "A weight is larger than 1 TiB, or one example becomes larger than 4 GiB on its\n"
    "way through the model. Usually a size has a digit too many, or a Dense follows a\n"
    "Flatten where pooling was intended.")
DT_ERROR_TEXT(LABELS, "labels do not suit the loss",
    "The loss or metric and the targets of the data set do not match. Cross-entropy\n"
    "comes in two forms:\n\n"
    "    SparseCategoricalCrossentropy    labels are class numbers: integers, (B) or (B, 1)\n"
    "    CategoricalCrossentropy          labels are one-hot vectors: (B, classes)\n\n"
    "Use the form that matches your labels, or convert the labels: 'map: {label:\n"
    "[one_hot: 10]}' or 'map: {label: [cast: int32]}'. Other losses compare targets\n"
    "and predictions element by element, so both need the same shape.")
DT_ERROR_TEXT(NO_GRADIENT, "no gradients",
    "The loss does not depend on any of the variables whose gradients are requested,\n"
    "so nothing can be trained. Compute the loss from the outputs of the model, in\n"
    "the same step function, with operations that have a gradient (argmax and\n"
    "comparisons have none).")
DT_ERROR_TEXT(INTERNAL, "internal error",
    "A bug in dtrain: an invariant of the compiler or the runtime does not hold.\n"
    "Please report it with the message and the job file.")
DT_ERROR_TEXT(METRICS, "name of a metric, or a metric that cannot be computed",
    "Metrics are identified by their keys in the history: 'accuracy' for the short\n"
    "form, otherwise the class name in snake case (sparse_categorical_accuracy) or\n"
    "the metric's 'name', which is one word. Each key may be used once. 'loss',\n"
    "'val_...' and the other fields of a history line (epoch, step, examples, wall_s,\n"
    "learning_rate, ...) are reserved. A metric with several values has one key for\n"
    "each (f1_score_0, f1_score_1), at most 256 in all. AUC needs predictions between\n"
    "0 and 1; with 'from_logits: true' it accepts scores before the sigmoid.")
DT_ERROR_TEXT(MODEL_INPUTS, "inputs of a layer",
    "In a functional model a layer names the layers that it uses. They must be\n"
    "defined earlier, so that there are no cycles. A layer that names none uses the\n"
    "layer before it. Every layer must be used, either by another layer or as an\n"
    "output of the model.\n\n"
    "    model:\n"
    "      type: functional\n"
    "      layers:\n"
    "        - Input: {name: x, shape: [8]}\n"
    "        - Dense: {name: h, units: 8, activation: relu}\n"
    "        - Add:   {name: sum, inputs: [x, h]}\n"
    "      outputs: sum                  default: the last layer\n\n"
    "In a sequential model every layer uses the one before it, and the last one is\n"
    "the output.")
DT_ERROR_TEXT(KERAS_MODEL, "model written by Keras",
    "The file named by model.keras_config is the output of `model.to_json()` in Keras\n"
    "3, or an archive made by `model.save(\"model.keras\")`. It contains a Sequential\n"
    "or functional model of Keras' built-in layers, each of which is called once. The\n"
    "source location is the path to the value in the file:\n\n"
    "    model.json: config.layers[3].config.activation: error: ...\n\n"
    "If dtrain lacks a layer, write the model differently in Keras, or list the\n"
    "layers in the job instead.")
DT_ERROR_TEXT(DATA_FILE, "malformed data file",
    "A file does not have the format given by `dataset.format`, or its header is\n"
    "damaged. dtrain looks at the first bytes, not at the name of the file, and\n"
    "reports what the file seems to be if it can tell.\n\n"
    "    dataset: {format: npy, train: {image: x.h5, ...}}     x.h5: is an HDF5 file\n\n"
    "Formats: csv, idx (the files of MNIST), npy (numpy.save, numpy.savez), tfrecord\n"
    "(tf.Example records), text (UTF-8), image_folder (PNG, JPEG), synthetic. Files\n"
    "of the first five may be compressed with gzip. For CSV files the message has\n"
    "line and column, both counted from 1.")
DT_ERROR_TEXT(DATA_SIZE, "data file too short or too long",
    "The header of a data file declares sizes that do not match the bytes that\n"
    "follow. Usually a download was interrupted or a disk was full: copy or write the\n"
    "file again. No memory was allocated for the declared sizes.")
DT_ERROR_TEXT(DATA_EMPTY, "no examples",
    "A data file contains no example, or `take` and `validation_split` leave none for\n"
    "training.")
DT_ERROR_TEXT(DATA_ROWS, "elements with different numbers of examples",
    "All files of one split (`train`, `validation`, `test`) must have the same number\n"
    "of examples: row i of each file belongs to example i.")
DT_ERROR_TEXT(DATA_TYPE, "unsupported type of data",
    "dtrain cannot read values of this type or storage order, or a step of `map` or\n"
    "the loss cannot use them. Object arrays contain Python pickles, which can run\n"
    "code when they are read, and are always refused.\n\n"
    "    numpy.save('x.npy', numpy.ascontiguousarray(x, dtype='float32'))     can always be read")
DT_ERROR_TEXT(LABEL_RANGE, "label out of range",
    "A class label is negative, or not less than the number of classes: the size of\n"
    "the model's last dimension, or num_classes of a one_hot step. The message names\n"
    "the file and the row, counted from 0. If your labels start at 1, subtract 1.")
DT_ERROR_TEXT(GZIP_DAMAGED, "damaged gzip data",
    "A file begins like a gzip file but cannot be decompressed completely: it is\n"
    "truncated, its checksum is wrong, or other data follows it. 'gzip -t FILE'\n"
    "checks it as well.")
DT_ERROR_TEXT(DATA_SHAPE, "splits of a data set differ",
    "Elements with the same name must have the same shape and, after `map`, the same\n"
    "type in `train`, `validation` and `test`.")
DT_ERROR_TEXT(BATCH_SIZE, "batch size",
    "A data set needs `global_batch_size`, the number of examples in one step over\n"
    "all replicas together. Alternatively give `per_replica_batch_size`, which is\n"
    "multiplied by the number of replicas. A bare `batch_size` means one of these in\n"
    "some programs and the other in others, so it is refused.")
DT_ERROR_TEXT(DATASET_KEYS, "keys of a data set",
    "The keys of `dataset` contradict each other, name elements that do not exist, or\n"
    "lack one that the format needs.\n\n"
    "    dataset:\n"
    "      format: idx\n"
    "      train: {image: train-images-idx3-ubyte, label: train-labels-idx1-ubyte}\n"
    "      validation_split: 0.2          # or validation: {image: ..., label: ...}\n"
    "      global_batch_size: 64")
DT_ERROR_TEXT(SYNTH_KIND, "unknown sample data",
    "'dtrain data synth KIND -o DIR' generates sample data. 'dtrain help data synth'\n"
    "lists the kinds.")
DT_ERROR_TEXT(RECORD, "damaged TFRecord file",
    "A TFRecord is framed by its length and two CRC-32C checksums. A checksum is\n"
    "wrong, the file ends inside a record, or other data follows the last record: the\n"
    "file was altered, was cut by an interrupted copy, or is not a TFRecord file. The\n"
    "message names the record, counted from 0, and its offset in bytes; all records\n"
    "before it are intact. No memory was allocated for an impossible length.")
DT_ERROR_TEXT(EXAMPLE, "not a tf.Example, or a feature is missing",
    "A record is read as a tf.Example: named features, each a list of integers,\n"
    "floats or byte strings. This record is something else, or a feature is missing,\n"
    "has another kind, or has a number of values that does not match the shape of the\n"
    "element.\n\n"
    "    element: {image: {shape: [28, 28], dtype: uint8, feature: image_raw}, label: {dtype: "
    "int64}}\n\n"
    "int64_list is for integer dtypes, float_list for float32 and float64, bytes_list\n"
    "for uint8 (one string with the bytes of the shape).")
DT_ERROR_TEXT(NOT_BATCHED, "elements without a batch dimension",
    "A data set is distributed by splitting its batches among the replicas, so its\n"
    "elements must have rows. Call batch with the global batch size before you\n"
    "distribute it:\n\n"
    "    dt_dataset_batch(&d, d, 64, false)\n\n"
    "If a function makes the per-replica batches itself, pass it to\n"
    "dt_strategy_distribute_datasets_from_function.")
DT_ERROR_TEXT(SHARD, "no such shard",
    "shard(num_shards, index) keeps every num_shards-th element. num_shards is at\n"
    "least 1 and index is from 0 to num_shards - 1.")
DT_ERROR_TEXT(SHARD_HINT, "shard hint without the HINT policy",
    "shard(DT_SHARD_HINT, ...) marks where the share of a worker is taken, which only\n"
    "the auto-shard policy HINT does. Such a data set cannot be iterated directly or\n"
    "distributed under another policy.")
DT_ERROR_TEXT(UNSHARDABLE, "no files to shard by",
    "The auto-shard policy FILE gives each worker some of the files, but this data\n"
    "set does not read files, or reads them inside a function of interleave, which\n"
    "dtrain cannot look into. Use DATA, or AUTO, which falls back to DATA.")
DT_ERROR_TEXT(TOO_FEW_FILES, "fewer files than workers",
    "The auto-shard policy FILE gives each worker at least one file, and there are\n"
    "fewer files than workers. Split the data into more files, or use DATA (each\n"
    "worker reads everything and keeps its part), AUTO (falls back to DATA here) or\n"
    "OFF.")
DT_ERROR_TEXT(PIPELINE, "argument of a transformation",
    "A transformation of a data set cannot use this argument; the message says what\n"
    "it accepts. Components that follow each other (concatenate) must agree in name,\n"
    "dtype and rank. A data set that is described like one of a job file cannot be\n"
    "transformed further.")
DT_ERROR_TEXT(INPUT_MODE, "one input pipeline per replica",
    "DT_PER_REPLICA makes one data set for each replica. Only a function can do that:\n"
    "call dt_strategy_distribute_datasets_from_function. TPU strategies feed replicas\n"
    "by host and do not support it.")
DT_ERROR_TEXT(GLOBAL_BATCH, "global batch size not divisible",
    "The batch size per replica is the global batch size divided by\n"
    "num_replicas_in_sync, without a remainder. Use a multiple of the number of\n"
    "replicas, or dt_strategy_distribute_dataset, which splits a batch of any size.")
DT_ERROR_TEXT(ELEMENT_SHAPE, "elements of different shapes",
    "Elements that form one batch must have one dtype and one shape. Components of an\n"
    "element that is split into rows must have the same number of rows. What map\n"
    "returns must match its spec. padded_batch pads shorter elements with zeros.")
DT_ERROR_TEXT(INPUT_WORKERS, "replicas cannot be divided among workers",
    "dt_input_options.workers divides the replicas of the strategy among that many\n"
    "virtual workers, each with the same number of replicas.")
DT_ERROR_TEXT(NEXT_IN_REPLICA, "next in replica context",
    "dt_iterator_next returns the values of all replicas at once, so call it outside\n"
    "step functions. A step function receives its values through dt_arg.")
DT_ERROR_TEXT(OUTPUT_FORMAT, "data cannot be written in this format",
    "`dtrain data convert` chooses the format by the end of the output's name: .npy\n"
    "and .idx (or -ubyte, as MNIST names its files) hold one array, .npz holds all of\n"
    "them, .csv and .tfrecord hold one record per example, in several files with\n"
    "--shards. {element} in a name stands for the name of the element, so that\n"
    "several arrays become several files:\n\n"
    "    dtrain data convert train.tfrecord -o 'train-{element}.npy'")
DT_ERROR_TEXT(NO_INPUT, "input missing",
    "A file that the job or the command line names does not exist or cannot be\n"
    "opened. Paths of data files are relative to the job file; paths of output are\n"
    "relative to the working directory.")
DT_ERROR_TEXT(NOT_REGULAR, "not a regular file",
    "The path names a directory, a FIFO or a device. dtrain reads only regular files\n"
    "here, so that it cannot hang.")
DT_ERROR_TEXT(PERMISSION, "permission denied",
    "The system refuses access, or dtrain refuses it as unsafe (a world-writable run\n"
    "directory without the sticky bit).")
DT_ERROR_TEXT(CANT_CREATE, "cannot create output",
    "A directory or file below output.dir cannot be created: something else has that\n"
    "name, the file system is read-only, or another job is using the run directory.\n"
    "This is checked before the first step.")
DT_ERROR_TEXT(IO, "read or write failed",
    "The system reported an I/O error: no space left, a quota, a broken device. Files\n"
    "that were complete before are still valid. A checkpoint that could not be\n"
    "written completely is not committed, and a failed fsync is not retried.")
DT_ERROR_TEXT(NO_MEMORY, "out of memory, threads or descriptors",
    "This host has no memory, threads or file descriptors left. Use a smaller global\n"
    "batch or fewer threads.")
DT_ERROR_TEXT(FILE_CHANGED, "file changed while in use",
    "A data file became shorter while dtrain was reading it.")
DT_ERROR_TEXT(NOT_LOCAL, "path that is not on this machine",
    "dtrain reads and writes local files. URLs and other remote names (s3://, gs://,\n"
    "hdfs://, https://, host:/path), paths of Windows, and variables of a shell that\n"
    "were not replaced are refused before anything is written: a folder called 's3:'\n"
    "would be lost with the machine. Copy the files, or mount the storage. In the paths\n"
    "of a job, ~/ stands for your home directory, and ${VARIABLE} for a variable of\n"
    "the environment.\n\n"
    "    output: {dir: /mnt/bucket/run}")
DT_ERROR_TEXT(TOO_LARGE, "file too large",
    "A file is larger than dtrain reads at once; the message states the limit. Job\n"
    "files, state files and headers are small, so a large one is most likely another\n"
    "file with that name.")
DT_ERROR_TEXT(CHECKPOINT, "checkpoint or weights file malformed or altered",
    "A checkpoint or safetensors file is truncated, altered or not what its name\n"
    "says. state.json records the SHA-256 of every file and of itself, so a single\n"
    "changed bit is detected before it can become a weight.\n\n"
    "    step-00000295/model.safetensors: checksum mismatch\n\n"
    "With 'resume: auto' dtrain warns and uses the previous checkpoint. Pickles of\n"
    "PyTorch, Keras and NumPy are refused, because reading a pickle can run code;\n"
    "export the weights as safetensors with the tool that wrote them.")
DT_ERROR_TEXT(CHECKPOINT_VERSION, "checkpoint of another format version",
    "state.json records the version of the format. This checkpoint was written by a\n"
    "newer dtrain; use that version to read it.")
DT_ERROR_TEXT(CHECKPOINT_MODEL, "checkpoint of another model",
    "The tensors in the file are not those of the model or optimizer: one is missing,\n"
    "is unknown, or has another shape or dtype.\n\n"
    "    tensor 'dense/kernel': the checkpoint has (4, 8), the model (4, 16)\n\n"
    "Restore the job that wrote it, or start over with 'dtrain fit JOB --fresh'.")
DT_ERROR_TEXT(CHECKPOINT_NONE, "no valid checkpoint",
    "The run directory contains checkpoints, but every one is damaged; the notes say\n"
    "how. dtrain never starts over by itself in such a directory. Restore one of\n"
    "them, or start over with 'dtrain fit JOB --fresh'.")
DT_ERROR_TEXT(CHECKPOINT_NOT_FINITE, "checkpoint with values that are not finite",
    "A weight or optimizer slot is NaN or infinite: the run that saved it had\n"
    "diverged. Resume from an older checkpoint with '--resume PATH', and consider a\n"
    "lower learning rate.")
DT_ERROR_TEXT(IN_USE, "run directory in use",
    "Another process holds the lock of output.dir; the message names it. Two jobs in\n"
    "one directory would overwrite each other's checkpoints. Wait for the other\n"
    "process, stop it, or give this job another output.dir. The system releases the\n"
    "lock when the process ends, even if it is killed, so you never need to remove\n"
    ".lock.")
DT_ERROR_TEXT(OTHER_JOB, "checkpoint of another job",
    "A key that determines what is trained has changed since the checkpoint was\n"
    "saved. Only fit, output, checkpoint, strategy, partition, backend, name and\n"
    "unused words of let may change between save and resume.\n\n"
    "    compile.optimizer.SGD.learning_rate is not what the checkpoint was trained with\n\n"
    "Change it back, start over with 'dtrain fit JOB --fresh', or give the new job\n"
    "another output.dir.")
DT_ERROR_TEXT(CHECKPOINTS_DIFFER, "checkpoints differ",
    "`dtrain ckpt diff` found tensors that are not bit-identical, that differ by more\n"
    "than --within allows, or whose name, shape or dtype exists in only one\n"
    "checkpoint. Its table lists them. Exit code 80 lets CI fail on a difference; 0\n"
    "means that there is none.")
DT_ERROR_TEXT(CHECKPOINT_PARTS, "checkpoint of another custom loop",
    "A checkpoint of a custom loop records which models, optimizers, variables,\n"
    "iterators, data sets and counters it was saved with. dt_checkpoint_restore needs\n"
    "the same ones, by the same names, and copies of variables that suit the\n"
    "strategy. Checkpoints of 'dtrain fit' and dt_model_save have none of this.\n\n"
    "    the checkpoint has no counter 'epoch'\n\n"
    "Add the same objects before you restore, or use dt_model_load for the model\n"
    "alone.")
DT_ERROR_TEXT(CHECKPOINT_DATA, "data not as it was when the checkpoint was saved",
    "To resume in the middle of an epoch, a custom loop reads its data up to the batch\n"
    "where the checkpoint was saved, and compares that batch. It is another one: the\n"
    "files, the transformations, the seed, the global batch size or the sharding have\n"
    "changed, or a function of map, filter or interleave does not depend on its\n"
    "element alone.\n\n"
    "    data set 'train': batch 10 of iteration 1 is not the batch that was read\n"
    "    when it was saved\n\n"
    "Put the data back, or begin the epoch anew with a checkpoint object that does\n"
    "not track the data set.")
DT_ERROR_TEXT(USAGE, "invalid command line",
    "The command line does not suit the verb: an unknown verb or option, a missing or\n"
    "extra operand, or a value out of range. Overrides of the job follow its name and\n"
    "need no option:\n\n"
    "    dtrain fit job.yaml fit.epochs=3 --steps 100\n\n"
    "'dtrain help VERB' shows operands, options and examples.")
DT_ERROR_TEXT(EXPECT_METRIC, "expectation for an unknown metric",
    "--expect names a metric that this job does not report. fit reports `loss`, the\n"
    "metrics of `compile` and, with validation data, each of them with the prefix\n"
    "val_; evaluate reports them without a prefix. This is checked before training.\n\n"
    "    dtrain fit job.yaml --expect 'val_accuracy>=0.94'\n"
    "    dtrain evaluate job.yaml --expect 'accuracy>=0.94'")
DT_ERROR_TEXT(EXPECT, "expectation not met",
    "Training or evaluation is complete and saved, but the last value of a metric\n"
    "does not meet the condition of --expect. Exit code 80 is a quality gate for CI:\n"
    "the job is valid, but its result is not good enough.")
DT_ERROR_TEXT(STDOUT, "cannot write to standard output",
    "A write to standard output failed, for example because its disk is full. The run\n"
    "continued to its end and saved its state; only the printed output is incomplete.")
DT_ERROR_TEXT(INJECT, "unknown fault to inject",
    "`fit --inject FAULT` makes a run encounter a fault. The option can be repeated:\n\n"
    "    kill:core=5@step=120            core 5 of the slice stops in step 120: exit code 69\n"
    "    slow-link:x=1,y=2@step=50*4     from step 50, links of the chip at x=1, y=2 (z=0) are "
    "4 times slower, in virtual time only\n"
    "    nan@step=7                      a weight is NaN when step 7 begins: exit code 79\n"
    "    hbm=8GiB                        a device has only this much memory: exit code 78 if "
    "that is too little\n\n"
    "All but nan need a simulated slice. Cores are numbered as `dtrain topology`\n"
    "shows them, steps from 1.")
DT_ERROR_TEXT(CANNOT_FOLD, "no folded form",
    "The compiler runs the replicas of one machine as one program over their stacked\n"
    "rows. This step contains an op that cannot be run in that way, and there is no\n"
    "slower way either. Please report it with the job file.")
DT_ERROR_TEXT(KERNELS, "kernel library not available",
    "The kernel library given by --kernels cannot be used on this machine. dtrain\n"
    "needs OpenBLAS (Debian: libopenblas0) and uses oneDNN if its shared library is\n"
    "installed (libdnnl2). 'dtrain devices' lists what was found.")
DT_ERROR_TEXT(DOES_NOT_FIT, "the job does not fit in memory",
    "The device must hold the weights, their gradients, the slots of the optimizer\n"
    "and the activations of its part of the batch. The message names what a step\n"
    "needs, the layer at the peak and the bytes of each kind, in the words of XLA's\n"
    "message. Any change that it suggests was checked and fits. More replicas (a\n"
    "larger slice), more logical devices, or an optimizer with fewer slots help as\n"
    "well.")
DT_ERROR_TEXT(DIVERGED, "training diverged",
    "The loss is no longer finite. Training stops; the checkpoints written before are\n"
    "intact. Usually the learning rate is too high, or the data contains NaN or\n"
    "infinite values. If dtrain knows the cause, the message names it: an example\n"
    "that is not finite, or one that consists of padding only (with mask_zero,\n"
    "GlobalAveragePooling1D then has no step to average). If it happens in step 1,\n"
    "the learning rate is not the cause, because that loss is computed with the\n"
    "initial weights.")
DT_ERROR_TEXT(STOPPED, "stopped, state saved",
    "A signal (SIGINT, SIGTERM, SIGHUP) or a limit stopped the run after a complete\n"
    "step, and its state was saved. Run the same command again to resume; the final\n"
    "weights are those of an uninterrupted run.")
DT_ERROR_TEXT(STOPPED_AT_ONCE, "stopped at once",
    "A second signal stopped the run before its state could be saved. Earlier\n"
    "checkpoints are complete; run the same command again to resume from the newest.")
DT_ERROR_TEXT(ELEMENTS, "data set and model do not match",
    "Elements of a data set are matched by name. Each Input of the model takes the\n"
    "element with its name. The one that is left over is the target; if there are\n"
    "several, compile.target names it:\n\n"
    "    dataset: {train: {image: x.idx, label: y.idx}}     model: Input: {name: image, ...}    "
    " the target is label")
DT_ERROR_TEXT(ROW_NUMBER, "row number out of range",
    "An Embedding looks up rows of a table by number, and the table does not have\n"
    "this row. The message says where in the input the number is. `input_dim` is the\n"
    "number of rows: the largest number plus one. Negative numbers count from the\n"
    "last row.\n\n"
    "    Embedding: {input_dim: 1000, output_dim: 16}      accepts 0 to 999")
DT_ERROR_TEXT(ROWS, "malformed file of published rows",
    "`dtrain bench --simulator` reads a JSON object with a list `rows`. Each row is\n"
    "an object with an `id` and a `kind`, the published value as `measured` or\n"
    "`answer`, and its `unit`:\n\n"
    "    {\"rows\": [{\"id\": \"a\", \"kind\": \"compiler-estimate\",\n"
    "      \"config\": {\"gen\": \"v4\", \"dtype\": \"bfloat16\", \"m\": 64, \"k\": 4096, "
    "\"n\": 4096},\n"
    "      \"measured\": 14269, \"unit\": \"cycles\"}]}\n\n"
    "A well-formed row that lacks information needed for a prediction is not an\n"
    "error; it is listed with what is missing.")
DT_ERROR_TEXT(REPLAY_STOPPED, "replay stopped",
    "A signal stopped `ckpt verify --replay` before it reached the checkpoint to\n"
    "compare with. Nothing was compared, and the run was not changed. Run the same\n"
    "command again to repeat the replay. A smaller N needs fewer steps if the run\n"
    "kept a checkpoint near its end.")
DT_ERROR_TEXT(EXAMPLE_NOT_FINITE, "an example is not finite",
    "An example that was to be evaluated holds NaN or an infinite number, or a\n"
    "sequence that is padding only. Its loss is not a number, and neither would be\n"
    "the mean over all examples. The message names the element, the example and the\n"
    "file. Correct the file, or leave the example out.")
DT_ERROR_TEXT(NO_STABLEHLO, "no StableHLO form",
    "The step cannot be written as one StableHLO program. Pipelines, and ops assigned\n"
    "to different devices, are several programs; the fixed summation tree of\n"
    "`reproducible` has no counterpart in StableHLO.\n\n"
    "Jobs with use_spmd and without `reproducible` can be written. `dtrain lower\n"
    "--stage program` prints the step.")
DT_ERROR_TEXT(PLUGIN, "plug-in cannot be used",
    "A plug-in is a shared library with the PJRT C API that you install yourself:\n"
    "libtpu.so for TPUs and for --check-with-libtpu, xla_cuda_plugin.so for NVIDIA. The\n"
    "message says what is wrong: the file does not exist, it lacks GetPjrtApi or another\n"
    "function, it has another major version of the API, or it reports an error itself,\n"
    "for example that this machine has no such device.\n\n"
    "    pip download libtpu && unzip libtpu-*.whl      then PATH is libtpu/libtpu.so\n\n"
    "If another program uses the library, libtpu itself waits for it. libtpu has\n"
    "terms of its own, by Google.")
DT_ERROR_TEXT(COMPILER, "the compiler refused the program",
    "The plug-in did not compile the program, or returned something that dtrain\n"
    "cannot read. The message is the compiler's. RESOURCE_EXHAUSTED means that the\n"
    "program needs more memory than a device has.\n\n"
    "`dtrain lower --stage stablehlo` prints the program.")
DT_ERROR_TEXT(CORE_GONE, "a core of the slice failed",
    "A core no longer responds, and all others wait for it at their next collective,\n"
    "so the run ends. Checkpoints written before are complete; run the same command\n"
    "again to resume from the newest and end with the weights of an undisturbed run.\n"
    "Slices are simulated, so this fault was requested with --inject.")
DT_ERROR_TEXT(NO_ONNX, "no ONNX form",
    "The model cannot be written as an ONNX file. The message names the op that ONNX\n"
    "lacks (random numbers, or operations across replicas), or the step of `map` that\n"
    "a file cannot contain; `--without-map` exports the model without `map`.\n\n"
    "`dtrain export JOB --to onnx` writes the model in its prediction form, without\n"
    "dropout and other noise; a layer that always generates random numbers cannot be\n"
    "exported. `--to safetensors` and `--to npz` write the weights of any model.")
DT_ERROR_TEXT(VARYING_UPDATE, "replicas would assign different values",
    "A variable that was created in the scope of a strategy is shared by all\n"
    "replicas. This step function assigns a value computed from the data of one\n"
    "replica, so the copies would diverge. Combine the values first:\n\n"
    "    dt_all_reduce(DT_SUM, value)     or DT_MEAN\n\n"
    "dt_optimizer_apply does this for gradients automatically.")
DT_ERROR_TEXT(TENSOR, "invalid tensor",
    "A tensor has 0 to 8 dimensions, none of them negative, and one of the dtypes in\n"
    "dtrain.h.")
DT_ERROR_TEXT(SCOPE, "scopes of different strategies",
    "Inside the scope of one strategy you cannot enter the scope of another, or call\n"
    "its run or reduce. Leave the first scope before. You may enter the scope of the\n"
    "same strategy again.")
DT_ERROR_TEXT(ARGUMENT, "invalid arguments of a step",
    "strategy.run passes each replica its own part of every distributed argument, so\n"
    "an argument has one value per replica, or one value for all. The first dimension\n"
    "of a distributed argument is the replica's rows, and all arguments must agree on\n"
    "it.")
DT_ERROR_TEXT(REDUCE, "values cannot be reduced",
    "reduce adds or averages the values of one entry over all replicas. The entry\n"
    "must exist, have a value for each replica of the strategy, and have the given\n"
    "axis. A single value that all replicas share cannot be summed over them; that is\n"
    "most likely a mistake.")
DT_ERROR_TEXT(WEIGHT, "unknown weight, or model not ready",
    "Weights are named LAYER/name, such as \"dense/kernel\". To set one, pass a tensor\n"
    "of the same dtype and shape. Before fit and evaluate, call dt_model_compile to\n"
    "give the model an optimizer and a loss.")
DT_ERROR_TEXT(REDUCE_TYPE, "values of different shapes or dtypes",
    "reduce adds the values of the replicas element by element, so all must have one\n"
    "numeric dtype and one shape. With an axis, sizes may differ along it. After a\n"
    "partial last batch the replicas have different numbers of rows: reduce along\n"
    "axis 0.\n\n"
    "    dt_strategy_reduce(strategy, DT_MEAN, result, \"loss\", 0, &mean)     divides by the "
    "rows of all replicas")
DT_ERROR_TEXT(REDUCE_BOOL, "truth values cannot be reduced along an axis",
    "Bools have neither a sum nor a mean. Convert them in the step function: the sum\n"
    "of numbers that are 0 or 1 is a count, their mean is a share.\n\n"
    "    dt_return(t, \"hits\", dt_convert(hit, DT_FLOAT32));")
DT_ERROR_TEXT(SLOT, "unknown state of an optimizer",
    "The state of an optimizer is \"iteration\", \"learning_rate\", and VARIABLE/slot for\n"
    "each variable, such as \"dense/kernel/momentum\". Slots are created when the first\n"
    "step of the optimizer is recorded; dt_optimizer_slot_name lists them.")
DT_ERROR_TEXT(VARIABLE, "invalid use of a variable",
    "A variable with synchronization NONE cannot be distributed. An integer variable\n"
    "cannot have the aggregation MEAN, because a mean of integers is a fraction. A\n"
    "SyncOnReadVariable is read from outside through its aggregation, which must not\n"
    "be NONE. With SUM, its copies are shares of one value, so nothing can be added\n"
    "to it from outside:\n\n"
    "    dt_variable_set(v, DT_ASSIGN, total)        each of n copies becomes total / n\n\n"
    "A number that is the same on all replicas cannot be summed over them; a tensor\n"
    "made in the step function can.")
DT_ERROR_TEXT(SCATTER, "scatter to a distributed variable",
    "You can scatter to parts of a variable only if every copy can do so\n"
    "independently: a MirroredVariable with aggregation NONE or ONLY_FIRST_REPLICA.\n"
    "Otherwise compute the whole value in the step function and assign it.")
DT_ERROR_TEXT(MISUSE, "invalid argument of a library call",
    "A function of dtrain.h received NULL where it needs a handle, a name or an\n"
    "address, or a handle that has been released, which counts as NULL. Only unref\n"
    "functions accept NULL; where NULL has a meaning, dtrain.h says so. Often an\n"
    "earlier call that should have created the handle failed, and its error was not\n"
    "checked.")
DT_ERROR_TEXT(STRUCTURE, "replicas make different values",
    "The values that are made for each replica are combined by name, so all replicas\n"
    "must make values with the same names. The message names the replica that does\n"
    "not. Shapes may differ.")
DT_ERROR_TEXT(NEEDS_ROWS, "unknown number of rows",
    "dt_all_gather concatenates the rows of the replicas, so their number must be\n"
    "known when the step is recorded. It accepts the rows of arguments. For values\n"
    "whose first dimension is a multiple of the rows (a reshape), gather the original\n"
    "value instead.")
DT_ERROR_TEXT(NO_WORKER_DEVICES, "the default strategy has no devices",
    "Outside of all scopes the default strategy is in force: one replica, nothing\n"
    "distributed. It has no worker devices that could be named, as in TensorFlow.\n"
    "For a strategy with one named device, use dt_one_device_strategy.")
DT_ERROR_TEXT(OTHER_VARIABLES, "optimizer applied to other variables",
    "An optimizer is built for the variables of its first dt_optimizer_apply, and has\n"
    "slots and a number of steps for these. Apply it to those variables only, or to\n"
    "some of them; create another optimizer for other variables. To train two models\n"
    "with one optimizer, apply it once to a list of the variables of both:\n\n"
    "    dt_variables_create(&both, variables, n)")
DT_ERROR_TEXT(LAUNCH, "conflicting launcher settings",
    "A launcher (mpirun, srun, torchrun, or whoever set TF_CONFIG) tells each worker\n"
    "through its environment the number of workers and its rank. Here two launchers\n"
    "disagree, the rank is out of range, or the job sets another number of workers.\n"
    "Start the job with one launcher only, and omit strategy.workers in a job that a\n"
    "launcher starts.\n\n"
    "    mpirun -n 4 dtrain fit job.yaml")
DT_ERROR_TEXT(ACCELERATOR, "the accelerator failed",
    "A device that a PJRT plug-in drives did not do what it was asked: it was lost, it\n"
    "reported an error of its own, or returned an array of another size. The message\n"
    "holds the plug-in's words. Weights that were on the device are gone, so nothing is\n"
    "saved after this error; checkpoints written before are complete. Run the same\n"
    "command again to resume from the last one, on this back end or on cpu.")
DT_ERROR_TEXT(ROW_FORMAT, "predictions cannot be written in this format",
    "Predictions are written as CSV, NPY, NPZ or JSON lines, depending on the end of\n"
    "the file's name (.csv, .npy, .npz, .jsonl) or on --format. An NPY file contains\n"
    "one array and begins with the number of rows, so a model with several outputs,\n"
    "or a stream from a pipe to a pipe, needs another format. An NPZ file contains an\n"
    "array for each output and can only be written to a file. --top K needs classes\n"
    "to choose from; an output that is a single number, such as a price, has none.\n\n"
    "    dtrain predict job.yaml -o y.npz\n"
    "    dtrain predict job.yaml --input - --format jsonl")
DT_ERROR_TEXT(MESSAGES, "processes cannot be connected",
    "Processes that mpirun or srun did not start are connected by ZeroMQ (libzmq5),\n"
    "which is loaded when a job asks for it. This error means that the library is\n"
    "missing, that a name or an interface is unknown, or that the address cannot be\n"
    "used: its port is taken, or it belongs to another machine. Choose another port,\n"
    "or an interface of this machine:\n\n"
    "    DTRAIN_INTERFACE=eth0 dtrain fit job.yaml")
DT_ERROR_TEXT(SECRET, "the run's secret is missing or cannot be used",
    "Processes on several machines encrypt what they send, with keys that are derived\n"
    "from a secret of the run; whoever does not have it can neither join nor listen.\n"
    "The same file with at least 16 bytes must be on every machine:\n\n"
    "    (umask 077; head -c 32 /dev/urandom | base64 > secret)\n"
    "    DTRAIN_SECRET_FILE=secret dtrain fit job.yaml\n\n"
    "Without a secret, processes are connected on the loopback interface only.")
DT_ERROR_TEXT(CANCELLED, "a scheduled function was cancelled",
    "When a function that a coordinator has scheduled fails, those that no worker has\n"
    "begun are cancelled, as they are when all workers are lost and when the\n"
    "coordinator is released. They have changed nothing. dt_remote_state_of says which\n"
    "functions finished; schedule the others again.")
DT_ERROR_TEXT(END_OF_DATA, "the worker's data set has ended",
    "A scheduled function takes the next element of its worker's data set, and there\n"
    "was none. Workers are not equally fast, so each needs more elements than its share\n"
    "of the functions: let the data set repeat.\n\n"
    "    dt_dataset_repeat(&d, d, -1);")
/* clang-format on */
