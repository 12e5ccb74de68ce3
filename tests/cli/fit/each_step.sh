#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# TimeDistributed, EinsumDense and Normalization: the same weights for any number of replicas and in mixed precision, and what they refuse.
. tests/cli/setup.sh
. tests/cli/jobs.sh
job=$TEST_DIR/job.yaml
cat >"$job" <<END
version: 1
dataset: {format: synthetic, examples: 40, element: {x: {shape: [3, 6, 6, 1]}, label: {num_classes: 3}}, validation_split: 0.2, global_batch_size: 8}
model:
  type: sequential
  layers:
    - Input: {name: x, shape: [3, 6, 6, 1]}
    - Normalization: {mean: 0.5, variance: 0.1}
    - TimeDistributed: {layer: {Conv2D: {filters: 4, kernel_size: 3, activation: relu}}}
    - TimeDistributed: {layer: Flatten}
    - EinsumDense: {equation: 'abc,cd->abd', output_shape: [null, 8], bias_axes: d, activation: relu}
    - Flatten
    - Reshape: {target_shape: [3, 8]}
    - TimeDistributed: {layer: {BatchNormalization: {synchronized: true}}}
    - TimeDistributed: {layer: {Dropout: {rate: 0.3}}}
    - Flatten
    - Dense: {units: 3}
compile: {optimizer: Adam, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 2}
END
replicas_agree "$job"
exits 0 fit "$job" reproducible.shards=4 output.dir="$TEST_DIR/x" --fresh
"$DTRAIN" ckpt inspect "$TEST_DIR/x" | grep -o '^ *[a-z_0-9]*/[a-z/_0-9]*' | tr -d ' '
# refused NUMBER LAYER
refused() { show fit "$job" output.dir="$TEST_DIR/z" "model.layers.$1=$2" --dry-run -q; }
refused 2 '{TimeDistributed: {layer: {TimeDistributed: {layer: Flatten}}}}'
refused 2 '{TimeDistributed: {layer: {Dense: {units: 2, inputs: x}}}}'
refused 2 '{TimeDistributed: {layer: {Dense: {units: 2, name: a/b}}}}'
refused 2 '{TimeDistributed: {layer: Add}}'
refused 2 '{TimeDistributed: {layer: {Conv3D: {filters: 1, kernel_size: 1}}}}'
refused 5 '{TimeDistributed: {layer: {Dense: {units: 2, activity_regularizer: l2}}}}'
for equation in 'abc,cd->bad' 'abc,ca->ab' 'abc;cd->abd' 'abc,cd->abde' 'abc,cde->abd' 'ab,bc->ac' 'aac,cd->abd' 'abcdefg...,cd->abd...' 'a...c,cd->a...d' 'abc,...cd->abd' 'ab...,bc->ac' 'abc,cd->abd...'; do
    refused 4 "{EinsumDense: {equation: '$equation', output_shape: [null, 8]}}"
done
refused 4 "{EinsumDense: {equation: 'abc,cd->abd', output_shape: [4, 8]}}"
refused 4 "{EinsumDense: {equation: 'abc,cd->abd', output_shape: 8}}"
refused 4 "{EinsumDense: {equation: 'abc,cd->abd', output_shape: [null, 0]}}"
refused 4 "{EinsumDense: {equation: 'abc,cd->abd', output_shape: [null, 8], bias_axes: xa}}"
refused 1 '{Normalization: {mean: [1, 2], variance: [1, 2]}}'
refused 1 '{Normalization: {mean: 1}}'
refused 1 '{Normalization: {mean: 1, variance: -1}}'
# A frozen layer's weights are not state, which would limit the number of steps.
cat >"$TEST_DIR/long.yaml" <<'END'
version: 1
dataset: {format: synthetic, examples: 8, element: {x: {shape: [5000, 2]}, label: {num_classes: 3}}, global_batch_size: 4}
model:
  type: sequential
  layers:
    - Input: {name: x, shape: [5000, 2]}
    - TimeDistributed: {trainable: false, layer: RMSNormalization}
    - GlobalAveragePooling1D
    - Dense: {units: 3}
compile: {optimizer: Adam, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 1}
END
exits 0 fit "$TEST_DIR/long.yaml" output.dir="$TEST_DIR/z" --dry-run -q
