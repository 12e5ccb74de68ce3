#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Plans for people: what is exact stands in full, what constants move is masked. Side by side, on other slices, within a budget; what is refused.
. tests/cli/setup.sh
cd "$TEST_DIR" || exit 1
cat >job.yaml <<'END'
version: 1
name: mlp
let: {slice: sim:v3-8}
strategy: {type: tpu, cluster_resolver: {tpu: "{slice}"}}
dataset: {format: synthetic, examples: 60, element: {image: {shape: [16]}, label: {num_classes: 10}}, global_batch_size: 16}
model:
  layers: [Input: {name: image, shape: [16]}, Dense: {name: hidden, units: 32, activation: relu}, Dense: {name: logits, units: 10}]
compile: {optimizer: Adam, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 1}
END
# Times, rates, the peak and what padding and activations are: a model's. The arena depends on the cores (tests/job/host_test.c).
mask_plan() {
    sed '/^  \(activations\|  in \|padding\|total\|matrix\|memory\|vector\|kernel launches\|waiting\)/d; /^host arena/d
         /^\(step time\|examples\|model FLOPs\|1,000\|received\|error to\|  *products\|traffic\|warning\)/d
         /^programs/s/: [0-9.]* [mu]*s/: N/g; /^layers of a step/,$d'
}
show_plan() {
    echo "\$ dtrain plan $*"
    "$DTRAIN" plan "$@" >out 2>&1 && status=0 || status=$?
    mask_plan <out
    echo "exit $status"
    awk 'length > 100 { print "long: " $0 }' out
}
show_plan job.yaml
show_plan job.yaml --what-if partition.over_replicas=optimizer --what-if partition.over_replicas=weights
show_plan job.yaml --tpu v4-8
show_plan job.yaml --budget 1KiB
has out 'NO, of 1.0 KiB'
show_plan job.yaml --budget 16GiB --tpu=v2-8 | head -n 2
cat >large.yaml <<'END'
version: 1
name: large
strategy: {type: tpu, cluster_resolver: {tpu: sim:v2-8}}
dataset: {format: synthetic, examples: 64, element: {x: {shape: [9]}, label: {num_classes: 10}}, global_batch_size: 64}
model: {layers: [Input: {name: x, shape: [9]}, Dense: {units: 70000}, Dense: {units: 70000}, Dense: {units: 10}]}
compile: {optimizer: SGD, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 1}
END
show_plan large.yaml
for bad in '--budget much' '--budget 1GB' '--budget 0' '--what-if batch' '--tpu v99' '--svg p.svg --json' '--search --what-if seed=1'; do
    # shellcheck disable=SC2086 # options are words
    exits 64 plan job.yaml $bad
done
exits 78 plan job.yaml --what-if no_such_key=1
exits 78 plan job.yaml --what-if let.nobody=1
exits 78 plan job.yaml strategy.cluster_resolver.tpu=sim:v99
sed 's/^strategy.*/strategy: {type: mirrored}/; /^let/d' job.yaml >mirrored.yaml
show plan mirrored.yaml --svg -
show trace mirrored.yaml
exits 0 plan mirrored.yaml --tpu v3-8
# a family that no published run belongs to
"$DTRAIN" plan job.yaml 2>&1 | grep -c "not compared with any run"
# keys that change nothing on this slice or in this model
"$DTRAIN" plan job.yaml strategy.cluster_resolver.tpu=sim:v3-8 compile.quantization=int8 model.rematerialize=minimal_offloaded \
    partition.sequence_parallel=true 2>&1 | grep -E "no rate|without effect|keeps nothing"
"$DTRAIN" plan job.yaml model.rematerialize=minimal_flash model.flash_attention=false 2>&1 | grep "keep context"
