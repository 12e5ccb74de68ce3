#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Memory beside what libtpu 0.0.42.1 assigned to the same programs (docs/simulator.md): layouts that SparseCores change, what
# convolutions read after a normalization, logits in 16 bits, values within VMEM, and normalizations that a loop backward reads.
cat >"$TEST_DIR/mlp.yaml" <<'JOB'
version: 1
name: sweep
seed: 1
strategy: {type: tpu, cluster_resolver: {tpu: "{slice}"}, device_assignment: {num_replicas: "{replicas}"}}
compile: {precision: "{precision}", optimizer: "{optimizer}", loss: {SparseCategoricalCrossentropy: {from_logits: true}}, metrics: [accuracy]}
fit: {steps: 10}
dataset: {format: synthetic, examples: "{examples}", global_batch_size: "{batch}", element: {x: {shape: ["{width}"]}, y: {num_classes: 1000}}}
let: {slice: "sim:tpu7x-8", replicas: 4, batch: 65536, examples: 655360, width: 4096, depth: 3, precision: float32, optimizer: AdamW}
model:
  type: sequential
  layers:
    - Input: {name: x, shape: ["{width}"]}
    - Repeat: {for: {i: "{depth}"}, layers: [Dense: {name: "hidden_{i}", units: "{width}", activation: relu}]}
    - Dense: {name: logits, units: 1000}
JOB
cat >"$TEST_DIR/cnn.yaml" <<'JOB'
version: 1
name: sweep
seed: 1
strategy: {type: tpu, cluster_resolver: {tpu: "sim:tpu7x-8"}, device_assignment: {num_replicas: 4}}
compile: {precision: mixed_bfloat16, optimizer: SGD, loss: {SparseCategoricalCrossentropy: {from_logits: true}}, metrics: [accuracy]}
fit: {steps: 10}
dataset: {format: synthetic, examples: 10240, global_batch_size: 1024, element: {x: {shape: [64, 64, 3]}, y: {num_classes: 100}}}
model:
  type: functional
  layers:
    - Input: {name: x, shape: [64, 64, 3]}
    - Conv2D: {filters: 64, kernel_size: 3, padding: same, use_bias: false}
    - BatchNormalization: &norm {}
    - ReLU: {name: stem}
    - Conv2D: &conv {filters: 64, kernel_size: 3, padding: same, use_bias: false}
    - BatchNormalization: *norm
    - ReLU
    - Conv2D: *conv
    - BatchNormalization: {name: long}
    - Add: {inputs: [long, stem]}
    - ReLU
    - MaxPooling2D: {pool_size: 2}
    - Conv2D: *conv
    - BatchNormalization: *norm
    - ReLU
    - GlobalAveragePooling2D
    - Dense: {units: 100}
JOB
decoder=configs/published/decoder.yaml
# beside NAME MIB WORDS...: the plan's memory of a device, in percent of the compiler's MiB
beside() {
    name=$1 needed=$2
    shift 2
    total=$("$DTRAIN" plan "$@" --json | sed 's/.*"logical_device": {\([^}]*\)}.*/\1/; s/.*"total": \([0-9]*\).*/\1/')
    awk -v name="$name" -v mib="$needed" -v total="$total" 'BEGIN { printf "%-32s %+6.1f %%\n", name, 100 * (total / 1048576 / mib - 1) }'
}
size() { echo "let.width=$1 let.intermediate=$(($1 * 3)) let.heads=$(($1 / 128)) let.kv_heads=$(($1 / 512))"; }
beside "MLP, tpu7x-8" 2494.5 "$TEST_DIR/mlp.yaml"
beside "MLP in bfloat16, v5litepod-8" 605.3 "$TEST_DIR/mlp.yaml" let.width=1024 let.depth=6 let.precision=mixed_bfloat16 let.optimizer=Adam \
    let.slice=sim:v5litepod-8 let.replicas=8 let.batch=262144 let.examples=2621440
beside "convnet in bfloat16, tpu7x-8" 1109.5 "$TEST_DIR/cnn.yaml"
# shellcheck disable=SC2046
beside "decoder, v5litepod-8" 645.1 "$decoder" $(size 512) let.sequence=1024 let.layers=4 let.vocabulary=16384 let.shared=none \
    let.slice=sim:v5litepod-8 let.replicas=8 let.batch=64 let.examples=640
# shellcheck disable=SC2046
beside "decoder, blocks kept, v6e-8" 2982.5 "$decoder" $(size 1024) let.sequence=1024 let.layers=4 let.vocabulary=32768 \
    model.rematerialize=none let.slice=sim:v6e-8 let.replicas=8 let.batch=64 let.examples=640
