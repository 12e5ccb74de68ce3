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
         /^\(step time\|examples\|model FLOPs\|1,000\|received\|error to\|  *products\|  .*, split: \|  *on v\|traffic\|warning\)/d
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
cat >wide.yaml <<'END'
version: 1
strategy: {type: tpu, cluster_resolver: {tpu: sim:v3-8}}
dataset: {format: synthetic, examples: 4096, element: {x: {shape: [32]}, label: {num_classes: 10}}, global_batch_size: 4096}
model:
  layers:
    - Input: {name: x, shape: [32]}
    - Repeat: {for: {i: 4}, layers: [{Dense: {name: "up_{i}", units: 1024, activation: gelu}}, {Dense: {name: "down_{i}", units: 32, activation: gelu}}]}
    - Dense: {units: 10}
compile: {optimizer: Adam, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 1}
END
show_plan large.yaml
# what does not fit: the layers that hold most, and changes that the same command takes
awk '/^does not fit/,/^warning/' out | sed 's/[0-9.]* [KMG]iB/N/g'
fitting() { "$DTRAIN" plan "$@" 2>&1 | sed -n 's/.*iB with //p'; }
for budget in 14MiB 9MiB 5MiB 1MiB 64KiB; do
    echo "budget $budget"
    fitting wide.yaml --budget "$budget" | while read -r change; do
        echo "  $change"
        eval "\"$DTRAIN\" plan wide.yaml --budget $budget $change" >/dev/null || echo "that does not fit"
    done
done
for bad in '--budget much' '--budget 1GB' '--budget 0' '--what-if batch' '--tpu v99' '--svg p.svg --json' '--search --what-if seed=1'; do
    # shellcheck disable=SC2086 # options are words
    exits 64 plan job.yaml $bad
done
exits 78 plan job.yaml --what-if no_such_key=1
exits 78 plan job.yaml --what-if let.unknown=1
# a column that cannot be planned does not end the others
for bad in no_such_key=1 dataset.global_batch_size=0 'partition.weights=[{match: nothing, split: [2]}]'; do
    "$DTRAIN" plan job.yaml --what-if seed=2 --what-if "$bad" --what-if seed=3 >out 2>err && status=0 || status=$?
    echo "exit $status, $(grep -c '^per logical device.*\[1\].*\[2\]' out) row of columns, $(grep -c 'error:' err) error"
done
exits 78 plan job.yaml strategy.cluster_resolver.tpu=sim:v99
sed 's/^strategy.*/strategy: {type: mirrored}/; /^let/d' job.yaml >mirrored.yaml
show plan mirrored.yaml --svg -
show trace mirrored.yaml
exits 0 plan mirrored.yaml --tpu v3-8
# kinds of plans that no published run belongs to, and one on a chip without any of its kind
"$DTRAIN" plan job.yaml 2>&1 | sed -n '/^error to expect/,/products/p' | sed 's/: median.*//'
decoder() { "$DTRAIN" plan "$OLDPWD/configs/published/decoder.yaml" let.layers=2 let.batch=64 let.examples=64 "$@" 2>&1; }
expected() { decoder "$@" | sed -n '/^error to expect/,/products/p' | sed 's/median [0-9.]* %, worst [0-9.]* % of [0-9]*/N of N/'; }
expected
expected let.slice=sim:v6e-64
expected compile.precision=float32
expected compile.quantization=fp8 "let.block=[2,1,1,1]" let.tensor=2 let.replicas=32
# slices that Cloud TPU hands out otherwise; names of tpu7
for slice in v5p-12288 v5p-16384 v5p-256 v5p:4x4x8_twisted v4-256 tpu7-16; do
    echo "$slice: $("$DTRAIN" plan job.yaml let.slice=sim:$slice dataset.global_batch_size=16384 dataset.examples=16384 2>&1 | grep -E "^warning.*(several slices|twist)|unknown slice")"
done
# keys that change nothing on this slice or in this model
"$DTRAIN" plan job.yaml strategy.cluster_resolver.tpu=sim:v3-8 compile.quantization=int8 model.rematerialize=minimal_offloaded \
    partition.sequence_parallel=true 2>&1 | grep -E "no rate|without effect|no layer"
"$DTRAIN" plan job.yaml model.rematerialize=minimal_flash model.flash_attention=false 2>&1 | grep "keep context"
# the same in validate and fit, with their places: policies and values that no layer has, sequences that do not divide
sed 's/^model:/&\n  rematerialize: {save: [out_proj, decoder_layer_input], offload: [mlpwi]}/' job.yaml >values.yaml
for verb in validate plan "fit -qn"; do
    # shellcheck disable=SC2086 # a verb and its options
    "$DTRAIN" $verb values.yaml 2>&1 | grep "no layer"
done
odd() { decoder "let.block=[2,1,1,1]" let.tensor=2 let.replicas=32 partition.sequence_parallel=true "$@" | grep sequence_parallel; }
odd let.sequence=513
odd let.sequence=512 || echo "divided"
cat >pair.yaml <<'END'
version: 1
strategy:
  type: tpu
  cluster_resolver: {tpu: sim:v3-8}
  device_assignment: {computation_shape: [1, 1, 1, 2], num_replicas: 4}
  spmd_partitioning: true
partition: {image: replicate, label: replicate, weights: [{match: hidden/kernel, split: [1, 2]}], sequence_parallel: true}
dataset: {format: synthetic, examples: 64, element: {image: {shape: [16]}, label: {num_classes: 10}}, global_batch_size: 16}
model: {layers: [Input: {name: image, shape: [16]}, Dense: {name: hidden, units: 32}, Dense: {units: 10}]}
compile: {optimizer: SGD, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 1}
END
"$DTRAIN" validate pair.yaml 2>&1 | grep sequence_parallel
