/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What people read about each error: DT_ERROR_TEXT(id, title, detail). The title is one line. The detail is what
 * `dtrain explain DTnnn` prints: what the error means, an example, what helps. Every row of base/errors.h has its text
 * here, in the same order (status.c does not compile otherwise). No include guard.
 */
/* clang-format off */
DT_ERROR_TEXT(UNKNOWN_KEY, "unknown key",
    "A mapping in the job file has a key that dtrain does not know. Unknown keys are errors, never ignored: a misspelt key\n"
    "would otherwise train something else for hours.\n\n"
    "    model: {layesr: [...]}      did you mean 'layers'?\n\n"
    "'dtrain config schema' lists all keys; the message names the nearest one or all that are possible.")
DT_ERROR_TEXT(YAML_SYNTAX, "the job file is not YAML",
    "The job file cannot be read because a bracket or quote is open, the indentation fits nothing, or a ':' is missing. The\n"
    "place is that of the mistake as far as it can be told: the bracket that is never closed, not the end of the file.\n\n"
    "    devices: [\"CPU:0\", \"CPU:1\"      '[' opened at line 1 is never closed\n\n"
    "Indentation is made of spaces, never of tabs. A value that holds ': ' or begins with one of @ ` % needs quotes.")
DT_ERROR_TEXT(JOB_BYTES, "character not allowed in a job file",
    "Job files are UTF-8 text without control characters (tab and line ends are allowed). The message names the byte and its\n"
    "place; an editor that shows invisible characters helps, or `iconv -f latin1 -t utf-8` for an old file.")
DT_ERROR_TEXT(JOB_LIMIT, "job file too large or too deep",
    "A job file may have 1 MiB, 64 levels of nesting and 10,000 values (copies made by aliases count). Larger ones are refused\n"
    "at once, so that no file can exhaust memory or time. Many equal layers are written once, with Repeat.")
DT_ERROR_TEXT(EMPTY_JOB, "the job file is empty",
    "There is nothing in the job file, or nothing but comments. The smallest job has the keys version, strategy, dataset, model,\n"
    "compile and fit.")
DT_ERROR_TEXT(DUPLICATE_KEY, "key given twice",
    "A mapping has the same key twice. Many YAML readers take the last one silently; dtrain does not guess which was meant.\n\n"
    "    fit: {epochs: 5, epochs: 50}      duplicate key 'epochs', first given at line 1")
DT_ERROR_TEXT(MANY_DOCUMENTS, "more than one document",
    "A job file holds one YAML document. What follows a second '---' would be ignored silently by many readers; write it to a\n"
    "file of its own.")
DT_ERROR_TEXT(YAML_FEATURE, "YAML feature not supported",
    "Tags (!!int, !mine), merge keys (<<), and keys that are lists, mappings or empty are refused. Anchors and aliases of\n"
    "values are allowed; the field that reads a value gives it its type, so tags are not needed.")
DT_ERROR_TEXT(BAD_ALIAS, "alias without a value",
    "An alias (*name) refers to an anchor (&name) that does not stand before it, or to the very value that it is a part of.")
DT_ERROR_TEXT(MISSING_KEY, "required key missing",
    "A mapping lacks a key that has no default. The place is the mapping's.\n\n"
    "    compile: {optimizer: Adam}        required key 'loss' is missing in compile")
DT_ERROR_TEXT(WRONG_TYPE, "value of another type",
    "A value is not what its key needs. The key gives the type, not YAML's guess: integers are digits (or an exact 1e3),\n"
    "booleans are true and false only, anything in quotes is text.\n\n"
    "    fit: {epochs: ten}                epochs: expected an integer, got 'ten'")
DT_ERROR_TEXT(AMBIGUOUS, "number with a leading zero",
    "YAML 1.1 reads 010 as eight, YAML 1.2 and most people as ten. Write the number that you mean without the zero.")
DT_ERROR_TEXT(UNKNOWN_NAME, "unknown name",
    "A layer, loss, optimizer, metric, strategy, format or choice has a name that dtrain does not know. Names are Keras'\n"
    "(class names, or the lower-case identifiers where Keras has them); the message suggests the nearest.\n\n"
    "    optimizer: adm                    did you mean 'adam'?")
DT_ERROR_TEXT(BAD_OVERRIDE, "override that fits nothing",
    "Overrides on the command line are key.path=value. Items of lists are addressed by number, from 0.\n\n"
    "    dtrain fit job.yaml fit.epochs=1 model.layers.1.Dense.units=64\n\n"
    "Put quotes around the whole argument when the value has blanks or brackets.")
DT_ERROR_TEXT(RANGE, "value out of range",
    "A number in the job file lies outside the limits of its field. The message names the limit and the value.\n\n"
    "    Dense: {units: 0}           units must be at least 1, got 0")
DT_ERROR_TEXT(FIT_KEYS, "keys of fit",
    "`fit` says how long to train: `epochs`, passes over the training data, or `steps`, exactly one of them. `initial_epoch` leaves\n"
    "epochs out and must be less than `epochs`. A callback may ask more of the job: GenerateText wants text and a model of sequences.\n\n"
    "    fit: {epochs: 5}          or  fit: {steps: 5000}\n"
    "    dtrain fit job.yaml fit.epochs= fit.steps=100     drops the one for the other")
DT_ERROR_TEXT(EXTENDS, "base of a job",
    "`extends: base.yaml` takes every key that the job does not give itself from another file. The base lies relative to the job, and\n"
    "may have no base of its own: so every key has one of two places. Mappings are merged key by key; one whose `type` changes is\n"
    "replaced whole.")
DT_ERROR_TEXT(SUBSTITUTION, "substitution without a value",
    "Texts of a job may hold {name}, {run_dir}, ${VARIABLE} and ${VARIABLE:-default}, inside Repeat the variables of its `for`, and\n"
    "nothing else in such brackets. A variable that the environment does not have needs a default.\n\n"
    "    output: {dir: \"${SCRATCH:-runs}/{name}\"}")
DT_ERROR_TEXT(JOB_NAME, "name of a job",
    "The name of a job becomes a part of paths, so it consists of letters, digits, '.', '_' and '-', and does not begin with a dot.\n"
    "Without `name`, it is the file's name without .yaml.")
DT_ERROR_TEXT(BACKEND, "back end and strategy",
    "The strategy decides which back end computes: `cpu` for default, one_device and mirrored, `sim` for tpu on a simulated slice.\n"
    "`backend` may say so, but not something else; most jobs leave it out.")
DT_ERROR_TEXT(NO_SLICE, "no slice to draw",
    "'dtrain topology' draws the chips of a TPU slice. A job with another strategy has none, so there is nothing to draw its\n"
    "replicas on.\n\n"
    "    dtrain topology job.yaml 'strategy={type: tpu, cluster_resolver: {tpu: sim:v3-8}}'\n"
    "    dtrain topology --tpu v3-8                the slice alone")
DT_ERROR_TEXT(NO_SPLIT, "part of the data that the job does not have",
    "'dtrain evaluate --split NAME' asks for a part of the data set that the job does not have. `validation` comes from\n"
    "`dataset.validation` or `dataset.validation_split`, `test` from `dataset.test`.")
DT_ERROR_TEXT(PARTITION, "annotation of a value",
    "`partition` says for inputs, targets, layers and values within them how they lie on the logical devices of a replica:\n"
    "`replicate`, `{split: [1, 2, 4, 1]}` (parts per dimension) or `{assign: 1}` (one device). For weights there are rules, of\n"
    "which the first that matches counts; a rule that matches no path is a mistake.\n\n"
    "    partition:\n"
    "      image: {split: [1, 2, 4, 1]}\n"
    "      label: replicate\n"
    "      weights:\n"
    "        - {match: \"*/{query,key,value}/kernel\", split: [1, 2, 1]}\n"
    "        - {match: \"*\", replicate: true}")
DT_ERROR_TEXT(CALLBACK, "callback that does not go with the job",
    "A callback of `fit.callbacks` asks for what the job does not have: validation data for `monitor: val_loss`, a learning rate that is a\n"
    "number and no schedule, an output.dir below which its file lies. Where a metric does not say whether more or less of it is better, `mode`\n"
    "must.\n\n"
    "    callbacks: [EarlyStopping: {monitor: val_accuracy, patience: 3}]\n\n"
    "Of Keras' callbacks some have no use in a job: checkpoints are `checkpoint`'s affair, the history is always written.")
DT_ERROR_TEXT(UNKNOWN_SLICE, "unknown slice",
    "`cluster_resolver.tpu` names a slice of a pod: the chips' generation and the number of cores (of chips on v5e and v6e), v3-8 or v5e-16,\n"
    "or the generation and the shape, v4:2x2x2 or v4:4x4x8_twisted, with sim: before it. The message names the nearest that exist. An empty\n"
    "name means this machine's own TPU; without one, a simulated v3-8.\n\n"
    "    cluster_resolver: {tpu: sim:v3-8}\n\n"
    "'dtrain topology --tpu v3-8' draws it.")
DT_ERROR_TEXT(UNKNOWN_SLICE_OPTION, "unknown slice on the command line",
    "--tpu names a slice of a pod: the chips' generation and the number of cores (of chips on v5e and v6e), v3-8 or v5e-16, or the\n"
    "generation and the shape, v4:2x2x2 or v4:4x4x8_twisted; sim: before it may be left out. The message names the nearest that exist.\n\n"
    "    dtrain topology --tpu v3-8")
DT_ERROR_TEXT(COMPUTATION_SHAPE, "computation_shape does not fit",
    "`computation_shape` is the block of cores of one replica, [x, y, z, core]; `computation_stride` the steps between them. Each\n"
    "has four numbers of at least 1, and their product must fit the slice's mesh in every dimension. Slices of v2 and v3 are flat: z is 1.\n\n"
    "    v3-8 has the mesh [2, 2, 1, 2]: two by two chips with two cores each\n"
    "    [1, 1, 1, 2] fits: both cores of a chip, 4 replicas of 2 logical devices\n"
    "    [1, 2, 2, 2] does not: z would have to be 2\n\n"
    "'dtrain topology JOB' draws a slice with its replicas.")
DT_ERROR_TEXT(TOO_MANY_REPLICAS, "more replicas than fit",
    "`num_replicas` blocks of `computation_shape` are asked for, but the slice has room for fewer. Blocks lie side by side from\n"
    "the first core on; what is left over by uneven division stays idle. Take fewer replicas, a smaller block or a larger slice.")
DT_ERROR_TEXT(DEVICE_ORDER, "no ring through these replicas",
    "Rings of neighbours exist where a replica takes all cores of its chips, every stride is 1, and the replicas fill the slice.\n"
    "Leave device_order_mode at auto, which takes rings where they exist and the order of coordinates elsewhere.")
DT_ERROR_TEXT(NOT_PARTITIONED, "input neither split nor replicated",
    "With `spmd_partitioning: true` and several logical devices a replica, every input must say where it lies: cut into tiles, one for\n"
    "each device, or whole on all of them.\n\n"
    "    partition: {image: {split: [1, 2, 4, 1]}, label: replicate}")
DT_ERROR_TEXT(MISSING_DEVICES, "the slice lacks devices",
    "Some places of the slice's mesh have no device. Replicas are then runs of cores in the order of hosts; that needs a\n"
    "computation_stride of ones, and enough cores.")
DT_ERROR_TEXT(TOPOLOGY, "malformed topology",
    "A topology has a mesh shape of four positive numbers, [x, y, z, core], and for each device of each task four coordinates in it.")
DT_ERROR_TEXT(COORDINATES, "no such place in the mesh",
    "The coordinates of a device or of a logical core lie outside the mesh, or at a place that has no device.")
DT_ERROR_TEXT(DEVICE_NAME, "malformed name of a device",
    "A device is named by type and number, CPU:0 or TPU:3, in upper or lower case, or by its full name:\n\n"
    "    /job:localhost/replica:0/task:0/device:CPU:0\n\n"
    "Of a full name any of job, replica and task may be left out.")
DT_ERROR_TEXT(DEVICE_TWICE, "device listed twice",
    "Each device of a strategy holds one replica, so each may be listed once; CPU:0, cpu:0 and the full name are the same device.\n"
    "For more replicas than cores list more virtual CPU devices (CPU:0, CPU:1, ...), or write `replicas: N`.")
DT_ERROR_TEXT(NO_DEVICE, "device not there",
    "The job names a device that this machine does not have, or that dtrain cannot use here. CPU devices are virtual: there are as\n"
    "many as asked for, on the real cores. TPU slices are simulated (`strategy: {type: tpu}`).\n\n"
    "'dtrain devices' lists what was found, and says why the rest was not.")
DT_ERROR_TEXT(LOGICAL_DEVICE, "no such logical device",
    "A replica has as many logical devices as cores of its block in the device assignment: one without an assignment. They are\n"
    "counted from 0; experimental_logical_device also takes negative numbers, counted from the last. assign_to_logical_device is\n"
    "not possible with SPMD partitioning, where every value is either split or replicated.")
DT_ERROR_TEXT(SPLIT, "value cannot be split",
    "split_to_logical_devices, and `split` in a job's `partition`, cut a value into tiles, one for each logical device of a replica.\n"
    "There is a number of parts for each dimension; sizes that are known must be divisible by them, and their product is the\n"
    "number of logical devices. The message lists what can be done.\n\n"
    "    image (16, 4, 8, 3) over 8 logical devices: [1, 2, 4, 1], tiles of (16, 2, 2, 3)")
DT_ERROR_TEXT(TOPOLOGY_BYTES, "not a serialized topology",
    "The bytes are no TopologyProto: they end within a field, or have a field that no message can have.\n"
    "dt_topology_serialized gives bytes that can be read back, here and by TensorFlow.")
DT_ERROR_TEXT(SCHEDULE, "no such schedule of a collective",
    "An algorithm of collectives does not exist for this number of ranks: recursive halving needs a power of two, and no schedule\n"
    "is written out for more than 1,024 ranks. The ring works for every number.")
DT_ERROR_TEXT(WORKER_LATE, "a worker is late",
    "A worker waited for another until its deadline. The other one is slow, stopped, or waits for something itself; the message\n"
    "names it and what was expected of it. The last complete checkpoint is where the job goes on.")
DT_ERROR_TEXT(WORKER_GONE, "a worker is gone",
    "A worker left, or died, while another still expected something from it. The last complete checkpoint is where the job goes on.")
DT_ERROR_TEXT(WORKERS_DISAGREE, "workers do different things",
    "Two workers met in different collectives, or in the same with different sizes. They run other jobs, other versions, or a step\n"
    "function that does not do the same on every worker. Nothing was added up wrongly: the message was refused.")
DT_ERROR_TEXT(REPLICAS, "devices and replicas",
    "Each device of a strategy holds one replica. `devices` lists them, `replicas: N` is short for CPU:0 to CPU:N-1; where both are\n"
    "given they must agree, and an empty list is no strategy.\n\n"
    "    strategy: {type: mirrored, devices: [\"CPU:0\", \"CPU:1\"]}\n"
    "    strategy: {type: mirrored, replicas: 2}                       the same")
DT_ERROR_TEXT(MODEL_SHAPE, "shapes do not fit",
    "Values that meet in one operation have shapes or types that it cannot join. The message names the operation, the rule that\n"
    "is broken and both shapes; B stands for the number of rows of a batch. Sizes broadcast as in NumPy: aligned at the last\n"
    "dimension, a size of 1 stretches.\n\n"
    "    image (B, 784) times a kernel (128, 10): the second dimension of the left, 784, must be the first of the right, 128")
DT_ERROR_TEXT(TRACE_VALUE, "not a value of this trace",
    "A step function used a dt_value that its trace did not make: one kept from an earlier trace, one of another function, or the\n"
    "gradient of a variable on which the loss does not depend. Values live as long as the trace that made them; state that\n"
    "outlives a step belongs in variables.")
DT_ERROR_TEXT(NO_ARGUMENT, "no such argument",
    "A step function asked dt_arg for a name that its arguments do not have. The message lists the names there are: those of the\n"
    "dt_values passed to dt_strategy_run, or of the elements of the data set.")
DT_ERROR_TEXT(NAME_TAKEN, "name given twice",
    "Arguments and results of a step function are told apart by their names, so each name may be given once.")
DT_ERROR_TEXT(NOT_YET, "not implemented yet",
    "The job asks for something that Keras or tf.distribute has and that this version of dtrain does not have yet. It is refused,\n"
    "never ignored: what is trained is what the job says. The message says what there is in its place.")
DT_ERROR_TEXT(MODEL_LAYERS, "list of layers",
    "A sequential model is a list of layers. Its first layer, and only that, is an Input, which names the data element that the model\n"
    "is fed and says its shape, without the batch dimension. A Repeat stands for its layers, once for each turn: the lists of its\n"
    "variables have one length.\n\n"
    "    layers:\n"
    "      - Input: {name: image, shape: [28, 28]}\n"
    "      - Flatten\n"
    "      - Dense: {units: 10}")
DT_ERROR_TEXT(LAYER_NAME, "name of a layer",
    "Layers are told apart by their names, and weights are called LAYER/WEIGHT (dense/kernel), so a name may be given once and\n"
    "contains no '/' and no '..'. Layers without a name get Keras' names: dense, dense_1, ...")
DT_ERROR_TEXT(MODEL_SIZE, "model too large",
    "A weight of more than 1 TiB, or an example that becomes more than 4 GiB on its way through the model. Most often a size has a\n"
    "digit too many, or a Flatten stands in front of a Dense where pooling was meant.")
DT_ERROR_TEXT(LABELS, "labels do not go with the loss",
    "A loss or metric and the targets of the data set do not go together. There are two forms of the cross-entropy:\n\n"
    "    SparseCategoricalCrossentropy    labels are class numbers: integers, (B) or (B, 1)\n"
    "    CategoricalCrossentropy          labels are one-hot vectors: (B, classes)\n\n"
    "Take the form that fits, or change the labels: 'map: {label: [one_hot: 10]}' or 'map: {label: [cast: int32]}'. Other losses compare\n"
    "targets and predictions element by element, so both have one shape.")
DT_ERROR_TEXT(NO_GRADIENT, "no gradients",
    "The loss does not depend on any of the variables whose gradients are asked for, so nothing can be trained. Compute the loss from\n"
    "what the model returns, in the same step function, and by operations that have a gradient (argmax and comparisons have none).")
DT_ERROR_TEXT(INTERNAL, "internal error",
    "A fault of dtrain itself: an invariant of the compiler or the runtime does not hold. Please report it with the message\n"
    "and the job file.")
DT_ERROR_TEXT(METRICS, "a metric's name, or what it cannot be of",
    "Metrics are told apart by their keys in the history: 'accuracy' for the short form, the class name in snake case\n"
    "(sparse_categorical_accuracy), or the metric's 'name', a word without blanks. Each key may stand once, and 'loss',\n"
    "'val_...' and fields of a run's lines (epoch, step, examples, wall_s, learning_rate, ...) are taken.\n"
    "A metric of several numbers has a key for each (f1_score_0, f1_score_1), at most 256 in all.\n"
    "AUC is of predictions between 0 and 1; 'from_logits: true' takes scores before the sigmoid.")
DT_ERROR_TEXT(MODEL_INPUTS, "what a layer takes from",
    "In a functional model a layer names the layers that it takes from. They stand above it, so that no circle can arise; a layer that\n"
    "names none takes from the one before it. Every layer is used: by another, or as the model's output.\n\n"
    "    model:\n"
    "      type: functional\n"
    "      layers:\n"
    "        - Input: {name: x, shape: [8]}\n"
    "        - Dense: {name: h, units: 8, activation: relu}\n"
    "        - Add:   {name: sum, inputs: [x, h]}\n"
    "      outputs: sum                  without it: the last layer\n\n"
    "In a sequential model every layer takes from the one before it, and the last one is the output.")
DT_ERROR_TEXT(KERAS_MODEL, "model that Keras wrote",
    "A file named by model.keras_config is what `model.to_json()` of Keras 3 gives, or an archive of `model.save(\"model.keras\")`. It holds a\n"
    "Sequential or a functional model of Keras' own layers, each called once, on layers. The place is the way to the value in the file:\n\n"
    "    model.json: config.layers[3].config.activation: error: ...\n\n"
    "What dtrain has no layer for can be written otherwise in Keras, or left out of the file and written as `layers` of the job.")
DT_ERROR_TEXT(DATA_FILE, "malformed data file",
    "A file is not of the format that `dataset.format` names, or its header is damaged. dtrain looks at the first bytes, not at\n"
    "the file's name, and says what the file seems to be instead where it knows.\n\n"
    "    dataset: {format: npy, train: {image: x.h5, ...}}     x.h5: is an HDF5 file\n\n"
    "Formats: csv, idx (MNIST's files), npy (numpy.save, numpy.savez), tfrecord (tf.Examples), text (UTF-8), image_folder (PNG, JPEG),\n"
    "synthetic. Files of the first five may be compressed with gzip. Of a CSV file line and column are told, both from 1. Pictures\n"
    "must have the size that `element` says: dtrain does not scale them.")
DT_ERROR_TEXT(DATA_SIZE, "data file too short or too long",
    "The header of a data file declares sizes that do not agree with the bytes that are there. The file was most likely cut by\n"
    "an interrupted download or a full disk: fetch or write it again. Nothing was allocated for the sizes it declares.")
DT_ERROR_TEXT(DATA_EMPTY, "no examples",
    "A data file, or what `take` and `validation_split` leave of it for training, holds no example.")
DT_ERROR_TEXT(DATA_ROWS, "elements of unequal counts",
    "All files of one part of a data set (`train`, `validation`, `test`) must hold the same number of examples: row i of each\n"
    "belongs to example i.")
DT_ERROR_TEXT(DATA_TYPE, "unsupported type of data",
    "The values of a data file are of a type, or stored in an order, that dtrain does not read, or that a step of `map` or the\n"
    "loss cannot take. Object arrays hold Python pickles, which can run code when they are read, and are always refused.\n\n"
    "    numpy.save('x.npy', numpy.ascontiguousarray(x, dtype='float32'))     writes what every reader understands")
DT_ERROR_TEXT(LABEL_RANGE, "label out of range",
    "A class label is below 0 or not below the number of classes: the size of the model's last dimension, or num_classes of a\n"
    "one_hot step. The message names the file and the row (from 0). Labels that count from 1 must be made to count from 0.")
DT_ERROR_TEXT(GZIP_DAMAGED, "gzip data damaged",
    "A file begins like a gzip file but cannot be decompressed whole: it is cut, its checksum is wrong, or something else follows.\n"
    "'gzip -t FILE' looks at it too.")
DT_ERROR_TEXT(DATA_SHAPE, "parts of a data set differ",
    "Elements of the same name must have the same shape and, after `map`, the same type in `train`, `validation` and `test`.")
DT_ERROR_TEXT(BATCH_SIZE, "batch size",
    "A data set needs `global_batch_size`: the examples of one step over all replicas, never multiplied by anything. Instead of\n"
    "it, `per_replica_batch_size` may be given: the global one is that times the number of replicas. A bare `batch_size` means\n"
    "one thing in some programs and the other in others, so it is refused.")
DT_ERROR_TEXT(DATASET_KEYS, "keys of a data set",
    "The keys of `dataset` contradict each other, name elements that are not there, or lack one that the format needs.\n\n"
    "    dataset:\n"
    "      format: idx\n"
    "      train: {image: train-images-idx3-ubyte, label: train-labels-idx1-ubyte}\n"
    "      validation_split: 0.2          # or validation: {image: ..., label: ...}\n"
    "      global_batch_size: 64")
DT_ERROR_TEXT(SYNTH_KIND, "unknown sample data",
    "'dtrain data synth KIND -o DIR' draws sample data. The only kind is digits: 28x28 handwritten-looking digits.")
DT_ERROR_TEXT(RECORD, "damaged file of records",
    "A TFRecord is framed by its length and two CRC-32C checksums. One of them is wrong, the file ends within a record, or something\n"
    "else follows the last one: the file was altered, cut by an interrupted copy, or is no TFRecord at all. The message names the\n"
    "record (from 0) and its offset in bytes; records before it are whole. Nothing was allocated for a length that cannot be.")
DT_ERROR_TEXT(EXAMPLE, "record that is no tf.Example, or lacks a feature",
    "A record is read as a tf.Example: features by name, each a list of integers, floats or byte strings. This one is none, or a feature\n"
    "is missing, of another kind, or has another number of values than the element's shape.\n\n"
    "    element: {image: {shape: [28, 28], dtype: uint8, feature: image_raw}, label: {dtype: int64}}\n\n"
    "int64_list goes with integer dtypes, float_list with float32 and float64, bytes_list with uint8 (one string of shape's bytes).")
DT_ERROR_TEXT(NOT_BATCHED, "elements without batch dimension",
    "A data set is distributed by cutting the batches for the replicas, so its elements must have rows. Call batch with the global\n"
    "batch size before distributing:\n\n"
    "    dt_dataset_batch(&d, d, 64, false)\n\n"
    "A function that makes per-replica batches itself goes to dt_strategy_distribute_datasets_from_function.")
DT_ERROR_TEXT(SHARD, "no such shard",
    "shard(num_shards, index) keeps every num_shards-th element: num_shards is at least 1, index from 0 to num_shards - 1. Workers and\n"
    "replicas are counted the same way.")
DT_ERROR_TEXT(SHARD_HINT, "shard hint that nobody followed",
    "shard(DT_SHARD_HINT, ...) marks where a worker's share is taken. Only the auto-shard policy HINT puts one there; the data set can\n"
    "neither be iterated by itself nor distributed under another policy.")
DT_ERROR_TEXT(UNSHARDABLE, "no files to shard by",
    "The auto-shard policy FILE gives each worker some of the files, but this data set does not read files (or does so within a function\n"
    "of interleave, which cannot be looked into). Take DATA, or AUTO, which takes DATA by itself.")
DT_ERROR_TEXT(TOO_FEW_FILES, "fewer files than workers",
    "The auto-shard policy FILE gives each worker at least one file. There are fewer files than workers: split them into more files, or\n"
    "take DATA (each worker reads all and keeps its part), AUTO (takes DATA here), or OFF.")
DT_ERROR_TEXT(PIPELINE, "argument of a data set's transformation",
    "A transformation of a data set was given something that it cannot take; the message says what it takes. Components that follow each\n"
    "other (concatenate) must agree in name, dtype and rank. A data set in a job file's words cannot be transformed further.")
DT_ERROR_TEXT(INPUT_MODE, "one input pipeline per replica",
    "DT_PER_REPLICA makes one data set for each replica, which only a function can do: call\n"
    "dt_strategy_distribute_datasets_from_function. TPU strategies feed replicas by host and do not have it.")
DT_ERROR_TEXT(GLOBAL_BATCH, "global batch that does not divide",
    "The batch size per replica is the global batch size divided by num_replicas_in_sync, without a rest. Take a global batch size that\n"
    "is a multiple of the number of replicas, or dt_strategy_distribute_dataset, which cuts any.")
DT_ERROR_TEXT(ELEMENT_SHAPE, "elements of different shapes",
    "Elements that become one batch must have one dtype and shape; components of an element that is cut into rows must have the same\n"
    "number of them; what map returns must be as its spec says. padded_batch fills shorter elements up with zeros.")
DT_ERROR_TEXT(INPUT_WORKERS, "replicas do not divide among workers",
    "dt_input_options.workers divides the strategy's replicas among that many virtual workers, each with the same number of replicas.")
DT_ERROR_TEXT(NEXT_IN_REPLICA, "next in replica context",
    "dt_iterator_next gives the values of all replicas at once, so it is called outside of step functions; what a step needs comes in by\n"
    "dt_arg.")
DT_ERROR_TEXT(OUTPUT_FORMAT, "data cannot be written so",
    "`dtrain data convert` writes the format that the end of the output's name says: .npy and .idx (or -ubyte, as MNIST's files are called) hold\n"
    "one array, .npz all of them, .csv and .tfrecord one record an example, in several files with --shards. {element} in a name stands for\n"
    "the element's, so that several arrays become several files:\n\n"
    "    dtrain data convert train.tfrecord -o 'train-{element}.npy'")
DT_ERROR_TEXT(NO_INPUT, "input missing",
    "A file that the job or the command line names is not there or cannot be opened. Data files are looked for relative to the\n"
    "job file, output relative to the working directory.")
DT_ERROR_TEXT(NOT_REGULAR, "not a regular file",
    "The path names a directory, a FIFO or a device. dtrain reads regular files only, so that it never hangs on one.")
DT_ERROR_TEXT(PERMISSION, "permission denied",
    "The system refuses access, or dtrain refuses it as unsafe (a world-writable run directory without sticky bit).")
DT_ERROR_TEXT(CANT_CREATE, "cannot create output",
    "A directory or file below output.dir cannot be created: it exists as something else, its file system is read-only, or the\n"
    "run directory is in use by another job. This is found before the first step.")
DT_ERROR_TEXT(IO, "read or write failed",
    "The system reported an I/O error: no space left, quota, a broken device. What was complete before stays valid; a checkpoint\n"
    "that could not be written whole is not committed, and a failed fsync is not retried.")
DT_ERROR_TEXT(NO_MEMORY, "out of memory, threads or descriptors",
    "This host has no memory, threads or file descriptors left. A smaller global batch or fewer threads needs less.")
DT_ERROR_TEXT(FILE_CHANGED, "file changed while in use",
    "A data file became shorter while it was read.")
DT_ERROR_TEXT(TOO_LARGE, "file too large",
    "A file is larger than dtrain reads at once: the message names the limit. Job files, state files and headers are small;\n"
    "a large one is most likely another file under that name.")
DT_ERROR_TEXT(CHECKPOINT, "checkpoint or weights file malformed or altered",
    "A checkpoint or safetensors file is cut, altered or not what its name says. Each file's SHA-256 stands in state.json, and\n"
    "state.json has one of its own, so that a single changed bit is found before it can become a weight.\n\n"
    "    step-00000295/model.safetensors: checksum mismatch\n\n"
    "With 'resume: auto' the checkpoint before is taken, with a warning. PyTorch, Keras and NumPy files are refused by name: a\n"
    "pickle runs code when it is read; write safetensors with the tool that made it.")
DT_ERROR_TEXT(CHECKPOINT_VERSION, "checkpoint of another format version",
    "state.json says which version of the format it has. A newer dtrain wrote this one; read it with that version.")
DT_ERROR_TEXT(CHECKPOINT_MODEL, "checkpoint of another model",
    "The tensors of the file are not those of the model or optimizer: one is missing, extra, or has another shape or dtype.\n\n"
    "    tensor 'dense/kernel': the checkpoint has (4, 8), the model (4, 16)\n\n"
    "Restore the job that wrote it, or start over with 'dtrain fit JOB --fresh'.")
DT_ERROR_TEXT(CHECKPOINT_NONE, "no checkpoint verifies",
    "The run directory has checkpoints, but each is damaged; the notes say how. Training never starts over by itself in such a\n"
    "directory: restore one of them, or start over with 'dtrain fit JOB --fresh'.")
DT_ERROR_TEXT(CHECKPOINT_NOT_FINITE, "checkpoint with values that are not finite",
    "A weight or optimizer slot is not-a-number or infinite: the run that saved it had diverged. Resume from an older one with\n"
    "'--resume PATH', and look at the learning rate.")
DT_ERROR_TEXT(IN_USE, "run directory in use",
    "Another process holds the lock of output.dir; the message names it. Two jobs in one directory would overwrite each other's\n"
    "checkpoints: wait for it, stop it, or give this job an output.dir of its own. The lock goes with its process, so a killed\n"
    "job never leaves one; removing .lock by hand is never needed.")
DT_ERROR_TEXT(OTHER_JOB, "checkpoint of another job",
    "A key of the job that decides what is trained has changed since the checkpoint was saved. fit, output, checkpoint,\n"
    "strategy, partition, backend, name and words of let may change between save and resume; everything else must stay.\n\n"
    "    compile.optimizer.SGD.learning_rate is not what the checkpoint was trained with\n\n"
    "Change it back, or start over with 'dtrain fit JOB --fresh', or give the new job an output.dir of its own.")
DT_ERROR_TEXT(CHECKPOINTS_DIFFER, "checkpoints differ",
    "`dtrain ckpt diff` found tensors that are not equal, bit for bit, or further apart than --within allows, or names, shapes or\n"
    "dtypes of one that the other does not have. Its table says which. Exit code 80 is a gate for CI; 0 means that there is no\n"
    "difference.")
DT_ERROR_TEXT(USAGE, "command line wrong",
    "The command line does not have the form of the verb: an unknown verb or option, a missing or extra operand, a value out of\n"
    "range. Overrides of the job come after it, without an option:\n\n"
    "    dtrain fit job.yaml fit.epochs=3 --steps 100\n\n"
    "'dtrain help VERB' shows the operands, the options and examples.")
DT_ERROR_TEXT(EXPECT_METRIC, "expectation of a metric that the job does not have",
    "--expect names a metric that this job never reports. fit reports `loss`, the metrics of `compile` and, with validation data,\n"
    "the same with val_ before them; evaluate reports them without val_. This is found before training.\n\n"
    "    dtrain fit job.yaml --expect 'val_accuracy>=0.94'\n"
    "    dtrain evaluate job.yaml --expect 'accuracy>=0.94'")
DT_ERROR_TEXT(EXPECT, "expectation not met",
    "Training or evaluation is complete and saved, but a metric does not keep what --expect asks for. It is the last value of the\n"
    "run that counts. Exit code 80 is a gate for CI: the job is fine, the result is not good enough.")
DT_ERROR_TEXT(STDOUT, "standard output cannot be written",
    "A write to standard output failed: its disk is full, or the reader of a pipe has gone away. The run itself went on to its end\n"
    "and saved what it had to save; only what it printed is incomplete.")
DT_ERROR_TEXT(INJECT, "no such fault to rehearse",
    "`fit --inject FAULT` lets a run meet a fault, and may be given again and again:\n\n"
    "    kill:core=5@step=120            core 5 of the slice stops in step 120: exit code 69\n"
    "    slow-link:x=1,y=2@step=50*4     from step 50 on, links of the chip at x=1, y=2 (z=0) are 4 times slower: virtual time alone\n"
    "    nan@step=7                      a weight is not a number as step 7 begins: exit code 79\n"
    "    hbm=8GiB                        programs get so much of a device's memory: exit code 78 where that is too little\n\n"
    "All but nan are for simulated slices. Cores are numbered as `dtrain topology` draws them, steps from 1.")
DT_ERROR_TEXT(CANNOT_FOLD, "no folded form",
    "The compiler runs the replicas of one machine as one program over their stacked rows. This step uses an op that has no such\n"
    "form, and no slower way was found. Please report it with the job file.")
DT_ERROR_TEXT(KERNELS, "kernel library not there",
    "The kernel library that --kernels names cannot be used on this machine. dtrain needs OpenBLAS (Debian: libopenblas0); oneDNN\n"
    "is used where its shared library is installed (libdnnl2). 'dtrain devices' lists what was found.")
DT_ERROR_TEXT(DOES_NOT_FIT, "the job does not fit the device's memory",
    "Every replica of a simulated slice keeps the weights, their gradients, the optimizer's slots and the activations of its part\n"
    "of the batch in the memory of its core. The message is in the words of XLA's: it names what the step\n"
    "needs of a device, the layer at the peak, and the bytes of each kind, padding to the chip's tiles among them. What it says would fit\n"
    "was tried. What helps besides: more replicas (a larger slice), more logical devices, an optimizer with fewer slots.")
DT_ERROR_TEXT(DIVERGED, "training diverged",
    "The loss is not finite any more: training stops, and the checkpoints written before stay. Most often the learning rate is too\n"
    "high, or the data holds values that are not finite. The message says more where it is known: an example of the batch that is not finite, or\n"
    "is nothing but padding (with mask_zero, GlobalAveragePooling1D has no step to take the mean of); and in step 1, whose loss is that of the\n"
    "first weights, it cannot be the learning rate.")
DT_ERROR_TEXT(STOPPED, "stopped, state saved",
    "A signal (SIGINT, SIGTERM, SIGHUP) or a limit stopped the run after a complete step, and its state is saved. The same command\n"
    "goes on from there and ends with the same weights as an undisturbed run.")
DT_ERROR_TEXT(STOPPED_AT_ONCE, "stopped at once",
    "A second signal stopped the run before its state could be saved. The checkpoints written before are complete; the same\n"
    "command goes on from the newest.")
DT_ERROR_TEXT(ELEMENTS, "data set and model do not go together",
    "Elements of a data set have names. The model's Input takes the element of its own name; the one that is left is the target, or\n"
    "compile.target names it:\n\n"
    "    dataset: {train: {image: x.idx, label: y.idx}}     model: Input: {name: image, ...}     the target is label")
DT_ERROR_TEXT(ROW_NUMBER, "row number out of range",
    "An Embedding looks up the rows of a table by their numbers, and was given a number that the table has no row for. The message says\n"
    "where in the input the number stands. `input_dim` is the number of rows: one more than the largest number. Negative numbers count\n"
    "from the last row.\n\n"
    "    Embedding: {input_dim: 1000, output_dim: 16}      takes 0 to 999")
DT_ERROR_TEXT(ROWS, "malformed file of published rows",
    "`dtrain bench --simulator` reads a JSON object with a list `rows`. Every row is an object with an `id` and a `kind`, and\n"
    "gives what was published as `measured` or `answer`, with its `unit`:\n\n"
    "    {\"rows\": [{\"id\": \"a\", \"kind\": \"compiler-estimate\", \"config\": {\"gen\": \"v4\", \"dtype\": \"bfloat16\", \"m\": 64, \"k\": 4096,\n"
    "     \"n\": 4096}, \"measured\": 14269, \"unit\": \"cycles\"}]}\n\n"
    "A row that is well formed but does not say enough to be planned is no error: it is listed with what is missing.")
DT_ERROR_TEXT(REPLAY_STOPPED, "stopped before the steps were done again",
    "A signal stopped `ckpt verify --replay` before it came to the checkpoint that it was to be held against. Nothing was compared, so\n"
    "nothing is known of the checkpoint; the run itself was only read. What was trained again is thrown away: the same command begins\n"
    "at the same place once more. A smaller N needs fewer steps, where the run kept a checkpoint near its end.")
DT_ERROR_TEXT(NO_STABLEHLO, "no form in StableHLO",
    "The step cannot be written as one StableHLO program. Pipelines and ops that have a place of their own are several programs;\n"
    "sums by the fixed tree of `reproducible` have no counterpart there.\n\n"
    "`dtrain lower --stage program` shows what the step is made of; jobs without `reproducible` and with use_spmd can be written.")
DT_ERROR_TEXT(PLUGIN, "compiler plug-in cannot be used",
    "A compiler is a shared library with the PJRT C API, which the user has installed: libtpu.so for --check-with-libtpu. The\n"
    "message says what was wrong with it: no such file, no GetPjrtApi in it, another major version of the API, a function that it\n"
    "lacks, or its own error.\n\n"
    "    pip download libtpu && unzip libtpu-*.whl      then PATH is libtpu/libtpu.so\n\n"
    "Another program that holds the library is waited for by libtpu itself; its terms are Google's.")
DT_ERROR_TEXT(COMPILER, "the compiler refused the program",
    "The plug-in took the program and did not compile it, or told something of it that cannot be read. The message is the\n"
    "compiler's. RESOURCE_EXHAUSTED there means that it found the program too large for a device's memory.\n\n"
    "`dtrain lower --stage stablehlo` prints the program that it was given.")
DT_ERROR_TEXT(CORE_GONE, "a core of the slice is gone",
    "A core does not answer any more, and all others wait for it at their next collective: the run ends. Checkpoints written before are\n"
    "complete; the same command goes on from the newest and ends with the weights of an undisturbed run. dtrain simulates its slices, so\n"
    "this is a fault that was asked for with --inject.")
DT_ERROR_TEXT(NO_ONNX, "no form in ONNX",
    "The model cannot be written as an ONNX file: the message names the op that has no ONNX operators (random numbers, what several\n"
    "replicas do together), or a step of `map` that a file cannot do.\n\n"
    "`dtrain export JOB --to onnx` writes the model as it predicts, so that dropout and other noise are gone; what is left of them\n"
    "stands in a layer that always draws. `--to safetensors` and `--to npz` write the weights of any model.")
DT_ERROR_TEXT(VARYING_UPDATE, "replicas would assign different values",
    "A variable made in a strategy's scope is one for all replicas. A step function that assigns it a value computed from a\n"
    "replica's own data would make the copies drift apart. Combine the values first:\n\n"
    "    dt_all_reduce(DT_SUM, value)     or DT_MEAN\n\n"
    "dt_optimizer_apply does this for gradients by itself.")
DT_ERROR_TEXT(TENSOR, "no such tensor",
    "A tensor has 0 to 8 dimensions, none of them negative, and one of the dtypes of dtrain.h.")
DT_ERROR_TEXT(SCOPE, "scopes of different strategies",
    "Within the scope of one strategy, another strategy's scope cannot be entered, nor its run or reduce called. Leave the first\n"
    "scope before; the same strategy's scope may be entered again.")
DT_ERROR_TEXT(ARGUMENT, "arguments of a step do not fit",
    "strategy.run gives every replica its own part of each distributed argument, so an argument has one value per replica, or a\n"
    "single one for all. The first dimension of distributed arguments is the replica's rows: all arguments must agree on them.")
DT_ERROR_TEXT(REDUCE, "values cannot be reduced",
    "reduce adds (or averages) the replicas' values of one entry. The entry must be there, with a value for each replica of the strategy,\n"
    "and have the axis. One value for all replicas cannot be summed over them: as it is the same on each, that is most likely a mistake.")
DT_ERROR_TEXT(WEIGHT, "no such weight, or model not ready",
    "Weights are named LAYER/name, as in \"dense/kernel\"; setting one needs a tensor of its dtype and shape. fit and evaluate need a\n"
    "model that dt_model_compile has given an optimizer and a loss.")
DT_ERROR_TEXT(REDUCE_TYPE, "values of different shapes or dtypes cannot be reduced",
    "reduce adds the replicas' values element by element, so all must have one dtype, a number's, and one shape; with an axis, sizes may\n"
    "differ along it. After a partial last batch the replicas' rows differ: reduce along axis 0.\n\n"
    "    dt_strategy_reduce(strategy, DT_MEAN, result, \"loss\", 0, &mean)     divides by the rows of all replicas")
DT_ERROR_TEXT(SLOT, "no such state of an optimizer",
    "An optimizer's state is \"iteration\", \"learning_rate\", and per variable VARIABLE/slot, as in \"dense/kernel/momentum\". Slots are made when\n"
    "the optimizer's first step is recorded; dt_optimizer_slot_name lists them.")
DT_ERROR_TEXT(VARIABLE, "variable cannot be made or used so",
    "A variable with synchronization NONE cannot be distributed. The mean of integers is a fraction, so an integer variable cannot have the\n"
    "aggregation MEAN. A SyncOnReadVariable is read from outside by its aggregation, which must not be NONE then; with SUM its copies are shares of\n"
    "one value, so that nothing can be added to it from outside:\n\n"
    "    dt_variable_set(v, DT_ASSIGN, total)        each of n copies becomes total / n\n\n"
    "A number that is the same on all replicas cannot be summed over them; a tensor made in the step function can.")
DT_ERROR_TEXT(SCATTER, "scatter of a distributed variable",
    "Parts of a variable can be scattered to only where every copy can do it by itself: a MirroredVariable with aggregation NONE or\n"
    "ONLY_FIRST_REPLICA. Compute the whole value in the step function and assign it.")
DT_ERROR_TEXT(MISUSE, "argument missing in a call of the library",
    "A function of dtrain.h was given NULL where it needs a handle, a name, or the address of one. Only unref functions take NULL; others say in\n"
    "dtrain.h what NULL stands for. Often the handle was to be made by a call whose error went unseen.")
DT_ERROR_TEXT(STRUCTURE, "replicas make different values",
    "What is made for each replica by itself is put together by name, so all replicas must make values of the same names. The message says which\n"
    "replica does not. Shapes may differ.")
DT_ERROR_TEXT(NEEDS_ROWS, "number of rows not known",
    "dt_all_gather joins the replicas' rows, so their number must be known when the step is recorded. It is for the rows of arguments; of values whose\n"
    "first dimension is a multiple of them (a reshape of rows) gather what they were made from.")
DT_ERROR_TEXT(ROW_FORMAT, "predictions cannot be written so",
    "Predictions are written as CSV, NPY, NPZ or JSON lines, as the file's name ends (.csv, .npy, .npz, .jsonl) or --format says. An NPY file holds\n"
    "one array and begins with the number of its rows: a model of several outputs, or rows that come through a pipe to a pipe, need another format.\n"
    "An NPZ file has an array for each output, by its name, and goes to files only.\n\n"
    "    dtrain predict job.yaml -o y.npz\n"
    "    dtrain predict job.yaml --input - --format jsonl")
/* clang-format on */
