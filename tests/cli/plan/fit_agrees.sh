#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: cost train
# fit's clock and memory limit, and trace's virtual step, are those that plan reports: for precisions, policies, pieces, divided
# replicas and several slices.
. tests/cli/setup.sh
command -v python3 >/dev/null || exit 77
job=configs/published/decoder.yaml
small="let.layers=2 let.width=32 let.heads=2 let.kv_heads=2 let.head_dim=16 let.intermediate=48 let.vocabulary=32 let.sequence=16
    let.examples=8 let.batch=4 let.slice=sim:v4-8 let.replicas=4 fit.steps=2"
tensor="let.block=[2,1,1,1] let.tensor=2 let.replicas=2"
field() { # PATH: a number of plan's JSON, in full
    python3 -c "import functools, json, sys
print(functools.reduce(lambda v, k: v[k], '$1'.split('.'), json.load(open('$TEST_DIR/plan.json'))))"
}
agrees() { # LABEL OVERRIDE...
    label=$1
    shift
    # shellcheck disable=SC2086
    "$DTRAIN" plan $job $small "$@" --json >"$TEST_DIR/plan.json" || echo "$label: plan exits with $?"
    # shellcheck disable=SC2086
    "$DTRAIN" fit $job $small "$@" output.dir="$TEST_DIR/run" --fresh --json >"$TEST_DIR/fit.json" 2>/dev/null ||
        echo "$label: fit exits with $?"
    python3 -c "import json
p = json.load(open('$TEST_DIR/plan.json'))
steps = [json.loads(l) for l in open('$TEST_DIR/fit.json')]
virtual = [e['virtual_s'] for e in steps if e['event'] == 'end'][0] / 2
planned = max(p['step_time_s'], p['infeed_s'])
print('$label:', 'equal' if abs(virtual / planned - 1) < 1e-12 else f'fit {virtual}, plan {planned}')"
    # one byte less than planned does not fit
    # shellcheck disable=SC2086
    "$DTRAIN" fit $job $small "$@" output.dir="$TEST_DIR/run" --fresh -q \
        --inject "hbm=$(field logical_device.total)" 2>/dev/null ||
        echo "$label: what is planned does not fit"
    # shellcheck disable=SC2086
    "$DTRAIN" fit $job $small "$@" output.dir="$TEST_DIR/run" --fresh -q 2>/dev/null \
        --inject "hbm=$(($(field logical_device.total) - 1))"
    [ $? -eq 78 ] || echo "$label: less than what is planned fits"
}
agrees float32 compile.precision=float32
agrees bfloat16 compile.precision=mixed_bfloat16
agrees float16 compile.precision=mixed_float16
for policy in none minimal save_qkv_proj '{save: [out_proj], offload: [decoder_layer_input]}'; do
    agrees "bfloat16, $policy" "model.rematerialize=$policy"
done
agrees "in pieces" model.vocabulary_tiling=4
# shellcheck disable=SC2086
agrees "2 devices a replica" $tensor
# shellcheck disable=SC2086
agrees "2 devices a replica, products in pieces" $tensor partition.sequence_parallel=true partition.collective_products=true
# shellcheck disable=SC2086
agrees "2 devices a replica, reproducible" $tensor 'reproducible={shards: 2}'

# shellcheck disable=SC2086
"$DTRAIN" plan $job $small strategy.cluster_resolver.num_slices=2 let.batch=8 --json >"$TEST_DIR/plan.json" || echo "plan of 2 slices exits with $?"
# shellcheck disable=SC2086
"$DTRAIN" trace $job $small strategy.cluster_resolver.num_slices=2 let.batch=8 >"$TEST_DIR/trace.json" || echo "trace of 2 slices exits with $?"
python3 -c "import json
p = json.load(open('$TEST_DIR/plan.json'))
end = max(e['ts'] + e['dur'] for e in json.load(open('$TEST_DIR/trace.json'))['traceEvents'] if e['ph'] == 'X') / 1e6
print('trace of 2 slices:', 'equal' if abs(end / p['step_time_s'] - 1) < 1e-9 else f'trace {end}, plan {p[\"step_time_s\"]}')"
