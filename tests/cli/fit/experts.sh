#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: model op pass exec
# Mixtures of experts: the same weights, bit for bit, on any number of replicas and workers, and with the experts divided over logical devices; a step
# without a free slot is dropped, which a large capacity_factor avoids; the loss of balance is of training alone; what is refused.
. tests/cli/setup.sh
job=$TEST_DIR/job.yaml
cat >"$job" <<END
version: 1
seed: 3
strategy: {type: mirrored, replicas: 1}
reproducible: {shards: 4}
dataset:
  format: synthetic
  examples: 50
  element: {tokens: {shape: [16], num_classes: 11}, targets: {shape: [16], num_classes: 11}}
  global_batch_size: 16
  validation_split: 0.2
model:
  layers:
    - Input: {name: tokens, shape: [16], dtype: int32}
    - Embedding: {name: embed, input_dim: 11, output_dim: 12, mask_zero: true}
    - MixtureOfExperts: {name: moe, num_experts: 4, intermediate_dim: 20, router_aux_loss_coef: 0.5}
    - LlamaTransformerDecoder: {name: decoder, intermediate_dim: 8, num_query_heads: 2, num_key_value_heads: 1, num_experts: 4, capacity_factor: 1.0}
    - Dense: {name: logits, units: 11}
compile: {optimizer: {Adam: {learning_rate: 0.01}}, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {epochs: 3}
END
moe=model.layers.2.MixtureOfExperts
slice='strategy={type: tpu, cluster_resolver: {tpu: "sim:v3-8"}, device_assignment: {computation_shape: [1, 1, 1, 2], num_replicas: 4}, spmd_partitioning: true}'
parts='partition={tokens: replicate, targets: replicate, weights: [{match: "*/expert_*", split: [2, 1, 1]}, {match: "*", replicate: true}]}'
fit() {
    "$DTRAIN" fit "$job" --fresh --json output.dir="$TEST_DIR/run" "$@" >"$TEST_DIR/json" || echo "exit $?"
    weights "$TEST_DIR/json"
}
same() {
    name=$1
    shift
    [ "$(fit $moe.capacity_factor="$factor" "$@")" = "$one" ] || echo "$factor, $name: other weights"
}
for factor in null 1.0; do
    one=$(fit $moe.capacity_factor=$factor)
    [ -n "$one" ] || cat "$TEST_DIR/json"
    same "2 replicas" strategy.replicas=2
    same "8 replicas" strategy.replicas=8 --threads 3
    same "2 workers" strategy='{type: multi_worker_mirrored}' --workers 2
    one=$(fit $moe.capacity_factor=$factor reproducible=null)
    same "4 replicas by tiles" strategy.replicas=4 reproducible=null
    same "experts divided" reproducible=null "$slice" "$parts"
done

echo "== dropped steps"
all=$(fit model.layers.3.LlamaTransformerDecoder.capacity_factor=null)
[ "$(fit)" = "$all" ] && echo "1.0 drops nothing"
"$DTRAIN" fit "$job" --fresh -q output.dir="$TEST_DIR/all" || echo "exit $?"
loss_of() { "$DTRAIN" evaluate "$job" output.dir="$TEST_DIR/all" --json "$@" | sed -n 's/.*"loss":\([0-9]*\.[0-9]\{4\}\).*/\1/p'; }
for activation in silu softmax; do # softmax is over the features of one expert
    slots=$(loss_of $moe.activation=$activation $moe.capacity_factor=4) all=$(loss_of $moe.activation=$activation)
    [ -n "$all" ] && [ "$slots" = "$all" ] || echo "$activation, a slot for each step: $slots, not $all"
done

# each step as an example of its own: the loss of balance is part of TimeDistributed's
steps='model.layers.2={TimeDistributed: {layer: {MixtureOfExperts: {num_experts: 4, intermediate_dim: 20, router_aux_loss_coef: 0.5}}}}'
one=$(fit "$steps")
{ [ "${#one}" -eq 64 ] && [ "$(fit "$steps" strategy.replicas=2)" = "$one" ]; } || echo "each step, 2 replicas: $one"

echo "== balance"
[ "$(fit $moe.router_aux_loss_coef=0)" = "$(fit)" ] && echo "not part of training"
[ "$(loss_of $moe.router_aux_loss_coef=0)" = "$(loss_of)" ] || echo "part of evaluation"

echo "== the program of a device"
"$DTRAIN" lower "$job" $moe.capacity_factor=1.0 --stage gradient | sed -n 's/^ *%[0-9]* = dot_general(.*) \(batch.*in order\) .*: \([^ ]*\) .*moe$/\1 \2/p' | sort -u

echo "== experts on two devices"
"$DTRAIN" lower "$job" $moe.capacity_factor=1.0 reproducible=null "$slice" "$parts" >"$TEST_DIR/program"
sed -n 's/^ *%[0-9]* = variable \(moe[^ ]*\) .*: \([^ ]*\).*/\1 \2/p; s/^ *%[0-9]* = dot_general.*in order .*: \([^ ]*\) .*moe .*/\1/p' "$TEST_DIR/program"
sed -n 's/^ *%[0-9]* = \(all_[a-z]*\|reduce_scatter\|collective_permute\)(.*/\1/p' "$TEST_DIR/program" | sort -u

echo "== refused"
show validate "$job" $moe.top_k=5
show validate "$job" $moe.num_experts_per_tok=2
show validate "$job" model.layers.3.LlamaTransformerDecoder.num_experts=null
show validate "$job" 'model.layers.0.Input.dtype=float32' 'model.layers.1={Identity: {name: embed}}' $moe.capacity_factor=1
show validate "$job" $moe.capacity_factor=1e300 $moe.num_experts=65536 model.layers.0.Input.shape='[100000]' dataset.element.tokens.shape='[100000]' \
    dataset.element.targets.shape='[100000]'
