#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: pass strategy
# Recurrent layers of more steps than are left apart: the same weights, bit for bit, on any number of threads, replicas and workers, and with weights, input
# or layers placed on logical devices.
. tests/cli/setup.sh
job=$TEST_DIR/job.yaml
cat >"$job" <<END
version: 1
seed: 3
dataset: {format: synthetic, examples: 70, element: {x: {shape: [12, 4]}, y: {shape: [1]}}, global_batch_size: 33}
model:
  layers:
    - Input: {name: x, shape: [12, 4]}
    - Bidirectional: {name: both, layer: {LSTM: {units: 4, return_sequences: true}}}
    - GRU: {name: gru, units: 8}
    - Dense: {name: y, units: 1}
compile: {optimizer: {Adam: {learning_rate: 0.01}}, loss: mse}
fit: {epochs: 2}
END
divided='partition={x: replicate, y: replicate, weights: [{match: "gru/*recurrent_kernel", split: [1, 2]}, {match: "*", replicate: true}]}'
slice() {
    echo "strategy={type: tpu, cluster_resolver: {tpu: 'sim:v3-8'}, device_assignment: {computation_shape: [1, 1, 1, 2], num_replicas: 2}, spmd_partitioning: $1}"
}
fit() {
    "$DTRAIN" fit "$job" --fresh --json output.dir="$TEST_DIR/run" "$@" >"$TEST_DIR/json" || echo "exit $?"
    weights "$TEST_DIR/json"
}
same() {
    name=$1
    shift
    [ "$(fit "$how" "$@")" = "$one" ] || echo "$how, $name: other weights"
}
for how in reproducible=null 'reproducible={shards: 6}'; do
    one=$(fit "$how")
    [ -n "$one" ] || cat "$TEST_DIR/json"
    same "1 thread" --threads 1
    same "3 replicas" 'strategy={type: mirrored, replicas: 3}' --threads 3
    same "a weight divided" "$(slice true)" "$divided"
    same "the input divided" "$(slice true)" 'partition={x: {split: [1, 2, 1]}, y: replicate, weights: [{match: "*", replicate: true}]}'
    same "layers on two devices" "$(slice false)" 'partition={weights: [{match: "gru/*", assign: 1}, {match: "*", assign: 0}]}'
done
same "2 workers" 'strategy={type: multi_worker_mirrored}' --workers 2
chip='strategy={type: tpu, cluster_resolver: {tpu: "sim:v3-8", numerics: chip}, device_assignment: {computation_shape: [1, 1, 1, 1], num_replicas: 2}}'
one=$(fit "$how" "$chip")
same "a chip's numbers, a weight divided" "$(slice true | sed "s/'sim:v3-8'/'sim:v3-8', numerics: chip/")" "$divided"
echo "done"
