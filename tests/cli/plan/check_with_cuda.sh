#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A step compiled for a GPU that this machine lacks: the report of a plug-in that makes its numbers
# up, and what is refused.
fake=$BUILD/tests/pjrt/fake_plugin.so
case $fake in /*) ;; *) fake=$PWD/$fake ;; esac
[ -f "$fake" ] || { echo "no fake plug-in: 'make tests' builds it"; exit 77; }
cd "$TEST_DIR" || exit 1
cat >job.yaml <<'EOF'
version: 1
name: mlp
seed: 1
dataset:
  format: synthetic
  examples: 64
  element: {image: {shape: [16]}, label: {num_classes: 10}}
  global_batch_size: 64
model: {type: sequential, layers: [Input: {name: image, shape: [16]}, Dense: {units: 10}]}
compile: {optimizer: SGD, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 1}
EOF
show() {
    echo "\$ dtrain plan $*"
    "$DTRAIN" plan "$@" 2>&1 |
        sed "s|$fake|FAKE|; s/step in [0-9.]* s/step in N s/; s/\"compile_s\": [^,]*/\"compile_s\": N/"
}
check() { show "$@" --check-with-cuda "$fake" | sed "s|$fake|FAKE|"; }
check job.yaml --target h100
check job.yaml --target l4 --json
# One replica on each GPU, as many as the job says; without a number it is unknown how many there will be.
check job.yaml --target h100 'strategy={type: mirrored, replicas: 3}' | sed -n '/^\$/p;/ x /p'
check job.yaml --target h100 'strategy={type: mirrored, devices: ["GPU:0", "GPU:1"]}' |
    sed -n '/^\$/p;/ x /p'
check job.yaml --target h100 'strategy={type: mirrored}' |
    sed -n '/^\$/p;/ x /p;/for one GPU/p'
# The same share of memory as the plug-in would take.
check job.yaml --target a100 'backend={type: pjrt, memory_fraction: 0.5}' | sed -n '/^\$/p;/fits/p'
"$DTRAIN" plan job.yaml --check-with-cuda "$fake" --target h100 \
    'backend={type: pjrt, memory_fraction: 0.00001}' >small.txt
echo "exit $?"
sed -n '/fits/p' small.txt
# Refused.
check job.yaml
check job.yaml --target v100
show job.yaml --target h100
check job.yaml --target h100 --budget 1GiB
check job.yaml --target h100 'strategy={type: tpu, cluster_resolver: {tpu: "sim:v3-8"}}'
FAKE_PJRT=refuse check job.yaml --target h100
show job.yaml --target h100 --check-with-cuda ./none.so
