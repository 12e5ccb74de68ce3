#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check-fast: model op
# A window of LlamaTransformerDecoder: what a position sees, in predictions of two rows that differ in the first step; a window as long as the
# sequence changes no bit; a plan multiplies less with it, and is compared with no run.
. tests/cli/setup.sh
command -v python3 >/dev/null || { echo "no python3 here" && exit 77; }
cat >"$TEST_DIR/job.yaml" <<END
version: 1
seed: 3
let: {window: null, blocks: 1}
dataset: {format: synthetic, examples: 32, element: {x: {shape: [6, 4]}, y: {shape: [6, 1]}}, global_batch_size: 16}
model:
  layers:
    - Input: {name: x, shape: [6, 4]}
    - Repeat:
        for: {i: "{blocks}"}
        layers:
          - LlamaTransformerDecoder: {name: "decoder_{i}", intermediate_dim: 8, num_query_heads: 2, num_key_value_heads: 1, sliding_window: "{window}"}
    - Dense: {name: y, units: 1}
compile: {optimizer: Adam, loss: MeanSquaredError, target: y}
fit: {epochs: 2}
output: {dir: "$TEST_DIR/run"}
END
fit() {
    "$DTRAIN" fit "$TEST_DIR/job.yaml" --fresh --json "$@" >"$TEST_DIR/json" || echo "exit $?"
    weights "$TEST_DIR/json"
}
all=$(fit)
[ -n "$all" ] && [ "$all" = "$(fit let.window=6)" ] || echo "a window of 6 of 6 steps: other weights"
[ "$(fit model.flash_attention=false)" = "$(fit model.flash_attention=false let.window=9223372036854775807)" ] ||
    echo "scores stored, the largest window: other weights"
[ "$all" = "$(fit let.window=5)" ] && echo "a window of 5 of 6 steps: the same weights"
python3 - >"$TEST_DIR/rows.jsonl" <<'PY'
import json
row = [[0.1 * (i + j) for j in range(4)] for i in range(6)]
print(json.dumps({"x": row}))
row[0] = [1, -1, 2, -2]
print(json.dumps({"x": row}))
PY
for words in "let.window=1" "let.window=2" "let.window=2 let.blocks=2" "let.window=4" "let.window=null"; do
    # shellcheck disable=SC2086
    fit $words >/dev/null
    # shellcheck disable=SC2086
    "$DTRAIN" predict "$TEST_DIR/job.yaml" $words --input "$TEST_DIR/rows.jsonl" >"$TEST_DIR/predicted" || echo "exit $?"
    python3 - "$words" "$TEST_DIR/predicted" <<'PY'
import sys
a, b = [line.strip().split(",") for line in open(sys.argv[2])][1:]
print(sys.argv[1] + ": the first step is seen by steps", *(i + 1 for i in range(6) if a[i] != b[i]))
PY
done
"$DTRAIN" validate "$TEST_DIR/job.yaml" let.window=0 2>&1 | sed -n '/error/s/.*error: //p'
for window in null 4096 1024; do
    "$DTRAIN" plan configs/published/llama3-8b.yaml let.window=$window --json | python3 -c "import json, sys; p = json.load(sys.stdin)
print(f'llama3-8b, window $window: {p[\"model_flops\"] / 1e15:.3f} PFLOP a device and step')"
done
for words in let.window=8192 let.window=4096 "let.window=4096 model.flash_attention=false"; do
    # shellcheck disable=SC2086
    "$DTRAIN" plan configs/published/llama3-8b.yaml $words | sed -n "s/.* \(of decoders\|windowed attention\) in .*/$words: \1/p"
done
