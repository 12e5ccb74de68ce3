#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: cost pass
# What an update costs a plan: libtpu 0.0.42.1 makes Adam's three new arrays in the kernel of the gradient, which reads as many, and Lamb's in two
# kernels, with the weights' norm in a third. Where replicas divide the optimizer, norms and new weights are sent together.
. tests/cli/setup.sh
command -v python3 >/dev/null || { echo "no python3 here" && exit 77; }
cat >"$TEST_DIR/job.yaml" <<'YAML'
version: 1
seed: 1
let: {optimizer: Lamb, replicas: 1, slice: sim:v3-8, layers: 2}
strategy: {type: tpu, cluster_resolver: {tpu: "{slice}"}, device_assignment: {num_replicas: "{replicas}"}}
dataset: {format: synthetic, examples: 64, element: {x: {shape: [1024]}, label: {num_classes: 1024}}, global_batch_size: 64}
model:
  layers:
    - Input: {name: x, shape: [1024]}
    - Repeat: {for: {i: "{layers}"}, layers: [Dense: {name: "dense_{i}", units: 1024, use_bias: false, activation: relu}]}
    - Dense: {name: out, units: 1024, use_bias: false}
compile: {optimizer: "{optimizer}", loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 1}
YAML
traced() { "$DTRAIN" trace "$TEST_DIR/job.yaml" "$@" >"$TEST_DIR/trace.json" || exit; }
for optimizer in SGD Adam AdamW Lamb; do
    traced let.optimizer=$optimizer
    python3 - "$optimizer" "$TEST_DIR/trace.json" <<'PY'
import json, sys
events = [e for e in json.load(open(sys.argv[2]))["traceEvents"] if e["ph"] == "X" and e["tid"] == 0]
last = [e for e in events if e["args"]["layer"].startswith(("out", "optimizer/out")) and e["args"]["bytes"] > 2**22]
print(sys.argv[1].ljust(6), "bytes of a weight in each kernel of the last layer:", *(round(e["args"]["bytes"] / 2**20) for e in last))
PY
done
for layers in 2 6 24; do # 4 MiB of weights each; a launch gathers up to 30
    traced let.layers=$layers let.replicas=8 partition.over_replicas=optimizer
    python3 - "$layers" "$TEST_DIR/trace.json" <<'PY'
import collections, json, sys
events = [e for e in json.load(open(sys.argv[2]))["traceEvents"] if e["ph"] == "X" and e["pid"] == 0 and e["tid"] == 1]
optimizer = collections.Counter(e["name"] for e in events if e["args"]["layer"].startswith("optimizer/"))
print(f"{sys.argv[1]} layers and one more: the optimizer sends", *(f"{n} x {name}" for name, n in sorted(optimizer.items())))
PY
done
echo "== Lamb's norms, where replicas divide the weights, too"
"$DTRAIN" lower "$TEST_DIR/job.yaml" let.layers=6 let.replicas=8 partition.over_replicas=weights | grep 'all_reduce .* launch'
