/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs with one mistake each, after the catalogue of bad inputs: exit code, place, words. A mistake
 * never hides behind another message, and never brings a second one.
 */
#define HERE "build/tmp/job-faults"
#include "kit.h"

typedef struct fault_case {
    /* in the catalogue; "": ours; +: what is refused is missing then, which is told as well */
    const char *id;
    int line; /* of the tiny job that is replaced */
    const char *with;
    int code, at_line, at_col;
    const char *text, *suggestion; /* parts; NULL: any */
} fault_case;

/* Long lists of mistakes are read by their columns. */
static const fault_case top_cases[] = {
    {"K01", 17, "compiel:", 78, 17, 1, "unknown key 'compiel'", "did you mean 'compile'?"},
    {"K03", 23, "frobnicate: 1", 78, 23, 1, "unknown key 'frobnicate'",
     "known keys: version, name, seed"},
    {"+K04", 11, "# model:\nignored:", 78, 12, 1, "unknown key 'ignored'", NULL},
    {"K07", 21, "fit: [1, 2]", 78, 21, 6, "fit: expected a mapping, got a list", NULL},
    {"K18", 3, "seed: 18446744073709551616", 78, 3, 7, "seed: 18446744073709551616 is out of range",
     NULL},
    {"", 3, "seed: -1", 78, 3, 7, "seed must be at least 0, got -1", NULL},
    {"K23", 4, "strategy: 4", 78, 4, 11, "strategy: expected a mapping, got 4", NULL},
    {"", 1, "version: 2", 78, 1, 10,
     "version 2 of job files is not known; this dtrain reads version 1", NULL},
    {"", 1, "version: '1'", 78, 1, 10, "version: expected an integer", "without quotes"},
    {"", 1, "", 78, 1, 1, "required key 'version' is missing", NULL},
    {"", 2, "name: ../x", 78, 2, 7, "'../x' cannot be the name of a job", "letters, digits"},
    {"", 2, "name: .x", 78, 2, 7, "'.x' cannot be the name of a job", NULL},
    {"", 2, "name: ''", 78, 2, 7, "'' cannot be the name of a job", NULL},
    {"", 2, "name: [a]", 78, 2, 7, "name: expected a string, got a list", NULL},
    {"", 2, "optimizer: Adam", 78, 2, 1, "unknown key 'optimizer'", "write compile.optimizer"},
    {"", 2, "lr: 0.1", 78, 2, 1, "unknown key 'lr'",
     "write it in the optimizer: compile: {optimizer: {Adam: {learning_rate: 0.001}}}"},
    {"", 2, "backend: {type: gpu}", 78, 2, 17, "unknown back end 'gpu'", "did you mean 'cpu'?"},
    {"", 2, "backend: {type: pjrt, plugin: ''}", 78, 2, 31, "backend.plugin must be a path", NULL},
    {"", 2, "backend: {type: cpu, plugin: x.so}", 78, 2, 30, "unknown key 'plugin' in backend",
     "only valid for type: pjrt"},
    {"", 2, "backend: {type: sim}", 78, 2, 17,
     "back end 'sim' does not go with strategy mirrored, which is computed by 'cpu'", NULL},
    {"", 2, "backend: {}", 78, 2, 10, "required key 'type' is missing in backend", NULL},
    {"", 2, "reproducible: {shards: 0}", 78, 2, 24, "shards must be in [1, 65536], got 0", NULL},
    {"", 2, "reproducible: {strict: 1}", 78, 2, 24, "strict: expected true or false, got 1",
     "write true"},
    {"", 2, "partition: {imag: replicate}", 78, 2, 13,
     "partition names 'imag', which is neither an element of the data nor a layer",
     "did you mean 'image'?"},
    {"", 2, "partition: {image: split}", 78, 2, 20,
     "partition of 'image' must be replicate, {split: [...]} or {assign: N}", NULL},
    {"", 2, "partition: {image: {split: [0]}}", 78, 2, 29, "split[0] must be in [1, 65536], got 0",
     NULL},
    {"", 2, "partition: {over_replicas: weigths}", 78, 2, 28, "unknown over_replicas 'weigths'",
     "did you mean 'weights'?"},
    {"", 2, "partition: {micro_batches: 0}", 78, 2, 28,
     "micro_batches must be in [1, 65536], got 0", NULL},
    {"", 2, "partition: {image: {split: [1, 2], assign: 0}}", 78, 2, 20,
     "partition of 'image' must be replicate, {split: [...]} or {assign: N}", NULL},
    {"", 2, "partition: {image: {replicate: false}}", 78, 2, 20,
     "partition of 'image' must be replicate, {split: [...]} or {assign: N}", NULL},
    {"", 2, "partition: {image: {spilt: [1, 2]}}", 78, 2, 21, "unknown key 'spilt' in image",
     "did you mean 'split'?"},
    {"", 2, "partition: {h/kernel: replicate}", 78, 2, 13, "layer 'h' has no value 'h/kernel'",
     "'h' is its output; weights have rules of their own, partition.weights"},
    {"", 2, "partition: {weights: {h: replicate}}", 78, 2, 22,
     "weights: expected a list, got a mapping", NULL},
    {"", 2, "partition: {weights: [h/kernel]}", 78, 2, 23,
     "weights: expected a mapping, got 'h/kernel'", NULL},
    {"", 2, "partition: {weights: [{split: [1, 2]}]}", 78, 2, 23,
     "required key 'match' is missing in weights", NULL},
    {"", 2, "partition: {weights: [{match: h/kernel}]}", 78, 2, 23,
     "a rule of weights has a match and one of split: [...], replicate: true and assign: N", NULL},
    {"", 2, "partition: {weights: [{match: h/kernle, replicate: true}]}", 78, 2, 31,
     "no weight matches 'h/kernle'", "did you mean 'h/kernel'?"},
    {"", 2, "partition: {weights: [{match: '*/gamma', replicate: true}]}", 78, 2, 31,
     "no weight matches '*/gamma'", "there are h/kernel, h/bias, dense/kernel, dense/bias"},
    {"", 2, "partition: {weights: [{match: '{h,dense/kernel', replicate: true}]}", 78, 2, 31,
     "match: '{' is never closed in '{h,dense/kernel'", NULL},
};

static const fault_case yaml_cases[] = {
    {"Y01", 0, "", 78, 1, 1, "the job is empty", NULL},
    {"Y02", 0, "# nothing\n\n", 78, 1, 1, "the job is empty", NULL},
    {"Y03", 12, "\ttype: sequential", 78, 12, 1, "tab character in indentation", NULL},
    {"Y04", 21, "fit: {epochs: 2", 78, 21, 6, "'{' opened at line 21 is never closed", NULL},
    {"Y06", 3, "name: twice", 78, 3, 1, "duplicate key 'name', first given at line 2", NULL},
    {"Y07", 18, "  optimizer: {SGD: {learning_rate: 0.05, learning_rate: 0.1}}", 78, 18, 42,
     "duplicate key 'learning_rate'", NULL},
    {"Y08", 23, "---\nversion: 1", 78, 23, 1, "more than one YAML document", NULL},
    {"Y09", 0, "- 1\n", 78, 1, 1, "expected a mapping at the top, got a list", NULL},
    {"Y10", 0, "job\n", 78, 1, 1, "expected a mapping at the top, got a string", NULL},
    {"Y11", 2, "name: *nope", 78, 2, 7, "alias '*nope' has no anchor", NULL},
    {"+Y12", 2, "name: &a [*a]", 78, 2, 11, "alias '*a' refers to itself", NULL},
    {"Y20", 2, "name: !!python/object x", 78, 2, 7, "tag '!!python/object' is not supported", NULL},
    {"+Y21", 21, "fit: {<<: 2}", 78, 21, 11, "'<<' needs a mapping", NULL},
    {"Y24", 2, "[a]: b", 78, 2, 1, "keys must be strings", NULL},
    {"Y26", 19, "  loss: no", 78, 19, 9, "unknown loss 'no'", NULL},
    {"Y27", 21, "fit: {epochs: 010}", 78, 21, 15, "epochs: '010' is ambiguous; write 10 or 8",
     NULL},
    {"Y28", 18, "  optimizer: {SGD: {learning_rate: .nan}}", 78, 18, 36,
     "learning_rate must be a finite number, got nan", NULL},
    {"Y29", 18, "  optimizer: {SGD: {learning_rate: .inf}}", 78, 18, 36,
     "learning_rate must be a finite number, got inf", NULL},
    {"Y30", 21, "fit: {epochs: 99999999999999999999999999}", 78, 21, 15,
     "epochs: 99999999999999999999999999 is out of range", NULL},
};

static const fault_case strategy_cases[] = {
    {"S01", 4, "strategy: {type: mirrred}", 78, 4, 18, "unknown strategy 'mirrred'",
     "did you mean 'mirrored'?"},
    {"Y23", 4, "strategy: {type: \"\\e[2J\"}", 78, 4, 18, "unknown strategy '\\x1b[2J'", NULL},
    {"", 4, "strategy: {workers: 2}", 78, 4, 12, "unknown key 'workers' in strategy",
     "only valid for type: multi_worker_mirrored"},
    {"", 4, "strategy: {tpye: mirrored}", 78, 4, 12, "unknown key 'tpye' in strategy",
     "did you mean 'type'?"},
    {"", 4, "strategy: mirrored", 78, 4, 11, "strategy: expected a mapping, got 'mirrored'", NULL},
    {"", 4, "strategy: {type: [mirrored]}", 78, 4, 18, "type: expected a string, got a list", NULL},
    {"", 4, "strategy: {type: parameter_server, workers: 65}", 78, 4, 45,
     "workers must be in [1, 64], got 65", NULL},
    {"", 4, "strategy: {type: default, verify_replicas: 100}", 78, 4, 44,
     "verify_replicas: expected true or false, got 100", NULL},
    {"S02", 4, "strategy: {type: mirrored, replicas: 0}", 78, 4, 38,
     "replicas must be in [1, 65536], got 0", NULL},
    {"S03", 4, "strategy: {type: mirrored, replicas: -4}", 78, 4, 38,
     "replicas must be in [1, 65536], got -4", NULL},
    {"S04", 4, "strategy: {type: mirrored, replicas: 1000000000}", 78, 4, 38,
     "replicas must be in [1, 65536], got 1000000000", NULL},
    {"S05", 4, "strategy: {type: mirrored, replicas: 2147483648}", 78, 4, 38, "got 2147483648",
     NULL},
    {"S06", 4, "strategy: {type: mirrored, replicas: 18446744073709551617}", 78, 4, 38,
     "replicas: 18446744073709551617 is out of range", NULL},
    {"S07", 4, "strategy: {type: mirrored, replicas: two}", 78, 4, 38,
     "replicas: expected an integer, got 'two'", NULL},
    {"S08", 4, "strategy: {type: mirrored, devices: [\"CPU:0\", \"cpu:0\"]}", 78, 4, 47,
     "devices: 'cpu:0' is listed twice", NULL},
    {"S09", 4, "strategy: {type: mirrored, devices: [\"CPU:0\", \"gpu:99\"]}", 69, 4, 47,
     "no device 'gpu:99'; this machine has only CPU devices: CPU:0, CPU:1, ...", NULL},
    {"", 4, "strategy: {type: mirrored, devices: [\"CPU:zero\"]}", 78, 4, 38,
     "'CPU:zero' is not a device name", NULL},
    {"", 4, "strategy: {type: mirrored, devices: []}", 78, 4, 37,
     "devices must name at least one device", NULL},
    {"", 4, "strategy: {type: mirrored, devices: [[a]]}", 78, 4, 38,
     "devices[0]: expected a string, got a list", NULL},
    {"", 4, "strategy: {type: mirrored, devices: \"CPU:0\"}", 78, 4, 37,
     "devices: expected a list, got 'CPU:0'", NULL},
    {"S10", 4,
     "strategy: {type: mirrored, devices: [\"CPU:0\", \"CPU:1\", \"CPU:2\"], replicas: 2}", 78, 4,
     76, "3 devices, but replicas: 2", NULL},
    {"", 4, "strategy: {type: one_device}", 78, 4, 11,
     "required key 'device' is missing in strategy", NULL},
    {"", 4, "strategy: {type: one_device, device: \"TPU:0\"}", 69, 4, 38, "no device 'TPU:0'",
     NULL},
    {"S11", 4, "strategy: {type: tpu, cluster_resolver: {tpu: sim:0x0}}", 78, 4, 47,
     "every size must be at least 1, got 0", NULL},
    {"S12", 4, "strategy: {type: tpu, cluster_resolver: {tpu: sim:4x4x}}", 78, 4, 47,
     "is not of the form AxB or AxBxC", NULL},
    {"S13", 4, "strategy: {type: tpu, cluster_resolver: {tpu: sim:-2x2}}", 78, 4, 47,
     "every size must be at least 1, got -2", NULL},
    {"S14", 4, "strategy: {type: tpu, cluster_resolver: {tpu: sim:v3:1000000x1000000}}", 78, 4, 47,
     "unknown slice 'sim:v3:1000000x1000000'", NULL},
    {"S15", 4, "strategy: {type: tpu, cluster_resolver: {tpu: sim:v3:4294967296x4294967296}}", 78,
     4, 47, "out of range", NULL},
    {"", 4, "strategy: {type: tpu, cluster_resolver: {tpu: sim:v9-8}}", 78, 4, 47,
     "unknown slice 'sim:v9-8'; generations are v2, v3, v4, v5e, v5p, v6e and tpu7x; write v3-8 or "
     "v4:2x2x2",
     NULL},
    {"", 4, "strategy: {type: tpu, cluster_resolver: {tpu: sim:v3-9}}", 78, 4, 47,
     "unknown slice 'sim:v3-9'; the nearest are v3-8 and v3-16", NULL},
    {"", 4, "strategy: {type: tpu, cluster_resolver: {tpu: sim:v3-8, numerics: chips}}", 78, 4, 67,
     "unknown numerics 'chips'", "did you mean 'chip'?"},
    {"", 4, "strategy: {type: tpu, cluster_resolver: {tpu: sim:v3-8, cores_per_chip: 1}}", 78, 4,
     73, "cores_per_chip must be 2, got 1: each core of these chips is a device", NULL},
    {"", 4, "strategy: {type: tpu, topology: 2x2}", 78, 4, 23, "unknown key 'topology' in strategy",
     "write cluster_resolver: {tpu: ...}"},
    {"", 4, "strategy: {type: tpu, device_assignment: {computation_shape: [1, 2, 2, 2]}}", 78, 4,
     69, "computation_shape [1,2,2,2] does not fit v3-8, mesh [2,2,1,2]",
     "z is 2, the slice has 1"},
    {"", 4, "strategy: {type: tpu, device_assignment: {computation_stride: [1, 1, 1, 3]}}", 78, 4,
     73,
     "computation_shape [1,1,1,1] with computation_stride [1,1,1,3], a footprint of [1,1,1,3], "
     "does not fit v3-8, mesh [2,2,1,2]",
     "core is 3, the slice has 2"},
    {"", 4, "strategy: {type: tpu, device_assignment: {num_replicas: 3, device_order_mode: ring}}",
     78, 4, 79,
     "device_order_mode ring is not possible: the replicas do not fill all 3 axes of v3-8", NULL},
    {"", 4, "strategy: {type: tpu, device_assignment: {num_replicas: 9}}", 78, 4, 57,
     "requested 9 replicas but only 8", NULL},
    {"", 4, "strategy: {type: tpu, device_assignment: {num_replicas: 65537}}", 78, 4, 57,
     "num_replicas must be in [1, 65536], got 65537", NULL},
    {"S22", 4, "strategy: {type: mirrored, parameter_servers: 0}", 78, 4, 28,
     "unknown key 'parameter_servers'", "only valid for type: parameter_server"},
    {"S23", 4, "strategy: {type: mirrored, cluster_resolver: {tpu: sim:v3-8}}", 78, 4, 28,
     "unknown key 'cluster_resolver'",
     "only valid for type: multi_worker_mirrored, parameter_server, tpu"},
    {"S23", 4, "strategy: {type: tpu, replicas: 2}", 78, 4, 23, "unknown key 'replicas'",
     "only valid for type: mirrored"},
    {"", 4, "strategy: {type: default, device: \"CPU:0\"}", 78, 4, 27, "unknown key 'device'",
     "only valid for type: one_device"},
};

static const fault_case data_cases[] = {
    {"K12", 10, "  global_batch_size: 0", 78, 10, 22,
     "global_batch_size must be in [1, 16777216], got 0", NULL},
    {"K13", 10, "  global_batch_size: -8", 78, 10, 22, "got -8", NULL},
    {"K14", 10, "  global_batch_size: 1000000000000", 78, 10, 22, "got 1000000000000", NULL},
    {"", 10, "  per_replica_batch_size: 16777216", 78, 10, 27,
     "per_replica_batch_size 16777216 on 2 replicas is a global batch of 33554432; at most "
     "16777216",
     NULL},
    {"", 10, "  batch_size: 8", 78, 10, 3, "unknown key 'batch_size' in dataset",
     "global_batch_size"},
    {"+K05", 5, "data:", 78, 5, 1, "unknown key 'data'", "write 'dataset'"},
    {"D28", 6, "  format: parqet", 78, 6, 11, "unknown data format 'parqet'",
     "known: csv, idx, image_folder, jsonl, libsvm, npy, synthetic, text, text_folder, tfrecord"},
    {"", 8, "  element: {imgae: {shape: [8]}, label: {num_classes: 3}}", 78, 14, 21,
     "the data set has no element 'image' for the input; it has 'imgae', 'label'",
     "did you mean 'imgae'?"},
    {"", 8, "  element: {image: {shape: [8]}}", 78, 19, 10,
     "the data set has no element besides the input, so there is no target", NULL},
    {"", 8, "  element: {image: {shape: [8]}, a: {num_classes: 3}, b: {num_classes: 2}}", 78, 19,
     10, "several elements of the data set could be the target: 'a', 'b'",
     "compile.target names it, for example target: a"},
};

static const fault_case model_cases[] = {
    {"M01", 15, "    - Dense: {units: 0}", 78, 15, 22, "units must be at least 1, got 0", NULL},
    {"M02", 15, "    - Dense: {units: -5}", 78, 15, 22, "units must be at least 1, got -5", NULL},
    {"M03", 15, "    - Dense: {units: 1000000000000}", 78, 15, 7,
     "weight 'dense/kernel' of shape (8, 1000000000000) needs 29.1 TiB", NULL},
    {"M04", 15, "    - Dense: {units: 4611686018427387904}", 78, 15, 7,
     "needs 128.0 EiB; one weight may take at most 1 TiB", NULL},
    {"M05", 15, "    - Dense: {units: 4, activation: reu}", 78, 15, 37, "unknown activation 'reu'",
     "did you mean 'relu'?"},
    {"M06", 15, "    - Dese: {units: 4}", 78, 15, 7, "unknown layer 'Dese'",
     "did you mean 'Dense'?"},
    {"M07", 0,
     "version: 1\nstrategy: {type: default}\ndataset: {format: synthetic, examples: 8, element: "
     "{x: {shape: [2]}, y: {num_classes: 2}}, global_batch_size: 4}\n"
     "model: {layers: []}\ncompile: {optimizer: Adam, loss: sparse_categorical_crossentropy}\nfit: "
     "{epochs: 1}\n",
     78, 4, 17, "the model has no layers", NULL},
    {"M11", 18, "  optimizer: {SGD: {momentum: 2.0}}", 78, 18, 31, "momentum", NULL},
    {"M12", 18, "  optimizer: {SGD: {weight_decay: -0.1}}", 78, 18, 35,
     "weight_decay must be at least 0, got -0.1", NULL},
    {"M14", 14, "    - Input: {name: image, shape: [-4]}", 78, 14, 36,
     "shape[0] must be at least 1, got -4", NULL},
    {"M15", 14, "    - Input: {name: image, shape: [65536, 65536, 65536, 65536]}", 78, 14, 7,
     "needs 64.0 EiB; one may take at most 256 GiB", NULL},
    {"M16", 15, "    - Dense: {units: 4, name: ../../x}", 78, 15, 31,
     "layer name '../../x' contains '/' or '..'", NULL},
    {"M17", 16, "    - Dense: {units: 3, name: h}", 78, 16, 31,
     "'h' is already the name of layers[1]", NULL},
    {"M23", 18, "  optimizer: {Adam: {beta_2: 1.0}}", 78, 18, 30, "beta_2 must be", NULL},
    {"", 12, "  type: functionl", 78, 12, 9, "unknown type of model 'functionl'", "functional"},
    {"", 12, "  init_from: [runs/a]", 78, 12, 14, "init_from: expected", NULL},
    {"", 12, "  init_from: {skip_mismatch: true}", 78, 12, 14,
     "required key 'path' is missing in init_from", NULL},
    {"", 12, "  keras_config: model.json", 78, 14, 5,
     "model.layers conflicts with keras_config, which defines it",
     "to remove a key of the base, set it to null"},
    {"", 12, "  keras_config: \"{name}.json\"", 78, 12, 17,
     "nothing is substituted in keras_config, got '{name}.json'", "model.keras_config=FILE"},
    {"", 12, "  keras_config: [model.json]", 78, 12, 17,
     "keras_config: expected a string, got a list", NULL},
};

static const fault_case training_cases[] = {
    {"K02", 18, "  optimizer: {SGD: {learnig_rate: 0.05}}", 78, 18, 21,
     "unknown key 'learnig_rate' in SGD", "did you mean 'learning_rate'?"},
    {"K06", 19, "", 78, 18, 3, "required key 'loss' is missing in compile", NULL},
    {"K08", 21, "fit: {epochs: ten}", 78, 21, 15, "epochs: expected an integer, got 'ten'", NULL},
    {"K09", 21, "fit: {epochs: -1}", 78, 21, 15, "epochs must be in [1, 2147483647], got -1", NULL},
    {"K10", 21, "fit: {epochs: 0}", 78, 21, 15, "epochs must be in [1, 2147483647], got 0", NULL},
    {"K11", 21, "fit: {epochs: 1.5}", 78, 21, 15, "epochs: expected an integer, got 1.5", NULL},
    {"K16", 18, "  optimizer: {SGD: {learning_rate: -0.1}}", 78, 18, 36,
     "learning_rate must be at least 0, got -0.1", NULL},
    {"K17", 18, "  optimizer: {SGD: {learning_rate: fast}}", 78, 18, 36,
     "learning_rate: expected a number, got 'fast'", NULL},
    {"K19", 18, "  optimizer: adm", 78, 18, 14, "unknown optimizer 'adm'", "did you mean 'adam'?"},
    {"K20", 19, "  loss: sparse_categorical_crssentropy", 78, 19, 9,
     "unknown loss 'sparse_categorical_crssentropy'",
     "did you mean 'sparse_categorical_crossentropy'?"},
    {"K21", 20, "  metrics: [accuacy]", 78, 20, 13, "unknown metric 'accuacy'",
     "did you mean 'accuracy'?"},
    {"K22", 20, "  metrics: {accuracy: {}}", 78, 20, 12, "metrics: expected a list, got a mapping",
     NULL},
    {"", 20, "  target: labl", 78, 20, 11, "the data set has no element 'labl' for the target",
     "did you mean 'label'?"},
    {"K24", 22, "checkpoint: {save_freq: 0}", 78, 22, 25, "save_freq must be in [1, 1e+15], got 0",
     NULL},
    {"", 22, "checkpoint: {save_freq: sometimes}", 78, 22, 25,
     "save_freq: expected epoch, a number of steps, or a time as in 10m, got 'sometimes'", NULL},
    {"", 22, "checkpoint: {save_freq: 0m}", 78, 22, 25, "save_freq", NULL},
    {"", 22, "checkpoint: {save_freq: [1]}", 78, 22, 25, "got a list", NULL},
    {"K25", 22, "checkpoint: {max_to_keep: 0}", 78, 22, 27,
     "max_to_keep must be in [1, 1000000], got 0", NULL},
    {"", 22, "checkpoint: {resume: atuo}", 78, 22, 22, "unknown resume 'atuo'",
     "did you mean 'auto'?"},
    {"K26", 23, "output: {dir: ''}", 78, 23, 15, "dir must not be empty", NULL},
    {"K30", 21, "fit: {epochs: 2, steps: 10}", 78, 21, 25, "fit: give epochs or steps, not both",
     NULL},
    {"", 21, "fit: {}", 78, 21, 6, "fit needs epochs or steps", NULL},
    {"", 21, "", 78, 1, 1, "required key 'fit' is missing", NULL},
    {"", 21, "fit: {epochs: 2, initial_epoch: 2}", 78, 21, 33,
     "initial_epoch must be less than epochs, 2, got 2", NULL},
    {"", 21, "fit: {epochs: 2, callbacks: [SwapEMAWeights: {swap_on_epoch: true}]}", 78, 21, 30,
     "SwapEMAWeights: the optimizer keeps no averages of the weights", "give it use_ema: true"},
    {"", 21, "fit: {epochs: 2, gradient_accumulation_steps: 0}", 78, 21, 47,
     "gradient_accumulation_steps must be in [1, 1000000], got 0", NULL},
    {"", 21, "fit: {epochs: 2, validation_steps: 0}", 78, 21, 36,
     "validation_steps must be in [1, 1e+15], got 0", NULL},
    {"", 21, "fit: {epochs: 2, batch_size: 5}", 78, 21, 18, "unknown key 'batch_size' in fit",
     "write dataset.global_batch_size"},
    {"", 23, "output: {trace: {steps: [2, 1]}}", 78, 23, 25,
     "steps must be the first and the last step, at least 1, in this order", "steps: [10, 12]"},
    {"", 23, "output: {report: pdf}", 78, 23, 18, "unknown report 'pdf'", "known: none, html"},
    {"", 23, "output: {dir: \"runs/{nmae}\"}", 78, 23, 15, "unknown substitution '{nmae}'",
     "did you mean '{name}'?"},
};

static bool is_as_expected(const fault_case *c, const dt_status *s) {
    const char *suggestion = dt_status_suggestion(s);
    return s && (dt_status_count(s) == 1 || *c->id == '+') && dt_status_code(s) == c->code &&
           dt_status_line(s) == c->at_line && dt_status_column(s) == c->at_col &&
           strstr(dt_status_text(s), c->text) &&
           (!c->suggestion || (suggestion && strstr(suggestion, c->suggestion)));
}

static bool try_case(const fault_case *c) {
    dt_job *job;
    write_job("job.yaml", c->line, c->with);
    dt_status *s = open_job(&job, &(opening){.name = "job.yaml"});
    bool right = is_as_expected(c, s);
    char *text = dt_status_format(s);
    if (!right)
        print_error("%s %s\nexpected exit %d at %d:%d, %s\ngot %s\n", c->id, c->with, c->code,
                    c->at_line, c->at_col, c->text, s ? text : "no error\n");
    free(text);
    dt_status_free(s);
    dt_job_unref(job);
    return right;
}

static void try_cases(const fault_case *cases, size_t n) {
    int wrong = 0;
    for (size_t i = 0; i < n; i++) wrong += !try_case(&cases[i]);
    assert_int_equal(wrong, 0);
}
#define TRY_CASES(table) try_cases(table, sizeof(table) / sizeof *(table))

static void test_tiny_job_is_valid(void **state) {
    (void)state;
    dt_job *job;
    write_job("job.yaml", 2, "name: other");
    ok(open_job(&job, &(opening){.name = "job.yaml"}));
    assert_string_equal(dt_job_name(job), "other");
    dt_job_unref(job);
}

static void test_top_level(void **state) {
    (void)state;
    TRY_CASES(top_cases);
}

static void test_yaml(void **state) {
    (void)state;
    TRY_CASES(yaml_cases);
}

static void test_strategies(void **state) {
    (void)state;
    TRY_CASES(strategy_cases);
}

static void test_data(void **state) {
    (void)state;
    TRY_CASES(data_cases);
}

static void test_models(void **state) {
    (void)state;
    TRY_CASES(model_cases);
}

static void test_training(void **state) {
    (void)state;
    TRY_CASES(training_cases);
}

/* ---- several at once ---- */

static dt_status *faults_of(const char *text) {
    dt_job *job;
    write_job("many.yaml", 0, text);
    dt_status *s = open_job(&job, &(opening){.name = "many.yaml"});
    assert_non_null(s);
    return s;
}

/* K28, and faults of every section. */
static void test_all_faults_of_a_file_come_in_one_run(void **state) {
    (void)state;
    static const int numbers[] = {DT_E_UNKNOWN_KEY, DT_E_UNKNOWN_NAME, DT_E_RANGE,
                                  DT_E_BATCH_SIZE,  DT_E_RANGE,        DT_E_UNKNOWN_NAME,
                                  DT_E_WRONG_TYPE,  DT_E_RANGE,        DT_E_UNKNOWN_NAME};
    dt_status *s =
        faults_of("version: 1\nsped: 3\nstrategy: {type: mirrrored}\nreproducible: {shards: 0}\n"
                  "dataset: {format: npy, train: {x: x.npy, y: y.npy}}\n"
                  "model: {layers: [Input: {name: x, shape: [4]}, Dense: {units: 0}]}\n"
                  "compile: {optimizer: adm, loss: MeanSquaredError}\nfit: {epochs: ten}\n"
                  "checkpoint: {max_to_keep: 0}\noutput: {report: pdf}\n");
    const dt_status *one = s;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++, one = dt_status_next(one)) {
        assert_non_null(one);
        assert_int_equal(dt_status_number(one), numbers[i]);
        assert_int_equal(dt_status_code(one), 78);
        assert_string_equal(dt_status_file(one), path_of("many.yaml"));
    }
    assert_null(one);
    dt_status_free(s);
}

/* A missing device (69) is told last, so that it does not make an invalid job look like a passing
 * trouble. */
static void test_faults_come_before_missing_devices(void **state) {
    (void)state;
    dt_status *s =
        faults_of("version: 1\nstrategy: {type: one_device, device: \"GPU:0\"}\nfit: {epochs: 0}\n"
                  "dataset: {format: npy, train: {x: x.npy, y: y.npy}, global_batch_size: 4}\n"
                  "model: {layers: [Input: {name: x, shape: [4]}]}\ncompile: {optimizer: Adam, "
                  "loss: MeanSquaredError}\n");
    assert_int_equal(dt_status_code(s), 78);
    assert_int_equal(dt_status_count(s), 2);
    assert_int_equal(dt_status_code(dt_status_next(s)), 69);
    dt_status_free(s);
}

/* Y22 and Y25: long values are cut, many errors are counted. */
static void test_hostile_jobs(void **state) {
    (void)state;
    dt_str text = {0};
    dt_str_puts(&text, "version: 1\nstrategy: {type: ");
    for (int i = 0; i < 900000; i++) dt_str_putc(&text, 'a');
    dt_str_puts(&text, "}\n");
    dt_status *s = faults_of(dt_str_text(&text));
    char *all = dt_status_format(s);
    assert_true(strlen(all) < 4096);
    assert_non_null(strstr(all, "aaa...' (900000 characters)"));
    free(all);
    dt_status_free(s);
    dt_str_clear(&text);
    for (int i = 0; i < 9000; i++) dt_str_printf(&text, "k%d: 1\n", i);
    s = faults_of(dt_str_text(&text));
    /* and five keys that are missing */
    assert_int_equal(dt_status_dropped(s), 9005 - DT_MAX_ERRORS);
    dt_status_free(s);
    dt_str_release(&text);
}

/* F01, F02, F03: files that are none. */
static void test_files_that_are_no_jobs(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int code;
        const char *text;
    } cases[] = {{"none.yaml", 66, "no such file"},
                 {".", 66, "is a directory"},
                 {"fifo", 66, "not a regular file"},
                 {"big.yaml", 78, "may not exceed 1 MiB"}};
    remove(path_of("fifo"));
    assert_int_equal(mkfifo(path_of("fifo"), 0600), 0);
    char *big = dt_alloc(2 << 20);
    memset(big, '#', 2 << 20);
    write_file("big.yaml", big, 2 << 20);
    free(big);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dt_job *job;
        dt_status *s = open_job(&job, &(opening){.name = cases[i].name});
        assert_int_equal(dt_status_code(s), cases[i].code);
        assert_non_null(strstr(dt_status_text(s), cases[i].text));
        dt_status_free(s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tiny_job_is_valid),
        cmocka_unit_test(test_top_level),
        cmocka_unit_test(test_yaml),
        cmocka_unit_test(test_strategies),
        cmocka_unit_test(test_data),
        cmocka_unit_test(test_models),
        cmocka_unit_test(test_training),
        cmocka_unit_test(test_all_faults_of_a_file_come_in_one_run),
        cmocka_unit_test(test_faults_come_before_missing_devices),
        cmocka_unit_test(test_hostile_jobs),
        cmocka_unit_test(test_files_that_are_no_jobs),
    };
    return cmocka_run_group_tests_name("job/faults", tests, make_here, NULL);
}
