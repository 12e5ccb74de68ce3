#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: cost pass model
# Policies of rematerialization, pieces of the output layer, stored scores, divided sequences and 8-bit products: each policy trains
# to the same bits, and changes the plan as it should.
. tests/cli/setup.sh
job=configs/published/decoder.yaml
small="let.layers=2 let.width=32 let.heads=2 let.kv_heads=1 let.head_dim=16 let.intermediate=48 let.vocabulary=32 let.sequence=16
    let.examples=8 let.batch=4 let.slice=sim:v4-8 let.replicas=4 compile.precision=float32 fit.steps=4"
train() { # NAME OVERRIDE...: the weights after 4 steps
    name=$1
    shift
    # shellcheck disable=SC2086
    "$DTRAIN" fit -q $job $small output.dir="$TEST_DIR/$name" "$@" || return
    cat "$TEST_DIR/$name"/ckpt/step-00000004/*.safetensors | cksum
}
all=$(train none model.rematerialize=none)
for policy in full minimal minimal_with_context minimal_flash minimal_offloaded save_dot_except_mlpwi save_dot_except_mlp \
    save_dot_with_context_except_mlp save_qkv_proj save_out_proj qkv_proj_offloaded \
    '{save: [out_proj, mlpwo], offload: [decoder_layer_input, context]}'; do
    again=$(train "$(echo "$policy" | tr -dc a-z_)" "model.rematerialize=$policy")
    [ "$all" = "$again" ] || echo "$policy: other weights"
done
[ "$all" = "$(train pieces model.vocabulary_tiling=4 model.rematerialize=none)" ] || echo "vocabulary_tiling: other weights"
scores=$(train scores model.flash_attention=false) || echo "flash_attention=false does not train"
[ "$scores" = "$(train scores-below-17 model.flash_attention=17)" ] || echo "flash_attention=17: other weights than false"
[ "$all" = "$(train scores-below-16 model.rematerialize=none model.flash_attention=16)" ] ||
    echo "flash_attention=16: other weights than true"
# shellcheck disable=SC2086
"$DTRAIN" fit $job $small compile.quantization=int8 output.dir="$TEST_DIR/int8"
echo "exit $?"
# shellcheck disable=SC2086
"$DTRAIN" fit $job $small 'model.rematerialize={save: [out_prj]}' output.dir="$TEST_DIR/unknown"
echo "exit $?"

# what a device needs, with each: bytes of activations, bytes on the host, and whether the step takes longer than the one before
echo "plan of a block's policies, v6e-64: GiB of activations, on the host, step"
plan() { # LABEL OVERRIDE...
    label=$1
    shift
    "$DTRAIN" plan $job let.slice=sim:v6e-64 let.replicas=64 let.batch=128 let.examples=128 --json "$@" |
        python3 -c "import json, sys
p = json.load(sys.stdin)
print(f'{\"$label\":34} {p[\"logical_device\"][\"activations\"] / 2**30:7.2f} {p[\"offloaded_bytes\"] / 2**30:7.2f}  {p[\"step_time_s\"]:.2f} s')"
}
command -v python3 >/dev/null || exit 77
plan "none, blocks written out" model.rematerialize=none model.scan_layers=false
for policy in none full minimal minimal_offloaded save_qkv_proj save_out_proj; do plan "$policy" model.rematerialize=$policy; done
plan "inputs and products on the host" 'model.rematerialize={offload: [decoder_layer_input, qkv_proj, out_proj]}'
plan "full, output in 8 pieces" model.vocabulary_tiling=8
plan "full, scores stored" model.flash_attention=false
plan "full, scores of 8,192 stored" model.flash_attention=8193
plan "full, int8" compile.quantization=int8
plan "full, 131,072 tokens" let.sequence=131072 let.batch=64 let.examples=64 model.vocabulary_tiling=64
tensor="let.block=[8,1,1,1] let.tensor=8 let.replicas=8 model.rematerialize=none"
# shellcheck disable=SC2086
plan "8 devices a replica" $tensor
# shellcheck disable=SC2086
plan "the same, sequences divided" $tensor partition.sequence_parallel=true
# shellcheck disable=SC2086
plan "the same, products in pieces" $tensor partition.sequence_parallel=true partition.collective_products=true
# What minimal keeps of a block, of 24,576 tokens in bfloat16: its input, q, k, v, out (8,192 each) and 2 x 28,672, divided by 4.
# 64 blocks: 72 GiB. Nothing that is computed again is stored from the forward pass on.
plan "64 billion, minimal" let.slice=sim:v5p-128 'let.block=[1,1,4,1]' let.replicas=16 let.tensor=4 let.batch=192 let.examples=192 \
    let.width=8192 let.intermediate=28672 let.heads=64 let.kv_heads=64 let.layers=64 let.vocabulary=32000 let.sequence=2048 \
    model.rematerialize=minimal partition.sequence_parallel=true
# Experts have the names of a feed-forward network: their slots are 1.25 x 2 steps for each of 4,096.
job=configs/published/mixtral-8x7b.yaml
for policy in full minimal save_dot_except_mlpwi '{save: [mlpwi_0]}'; do
    plan "experts, $policy" let.slice=sim:v5p-128 let.replicas=64 let.batch=64 let.examples=64 "model.rematerialize=$policy"
done
