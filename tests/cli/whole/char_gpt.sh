#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# configs/char-gpt.yaml has as many parameters as it says; made small, with its dropout, it trains to the same bits on 1, 4 and 8 replicas,
# stopped in between or not, and generates the same text. Any training text serves.
. tests/cli/setup.sh
. tests/cli/jobs.sh
write_text
small() {
    replicas=$1
    shift
    small_gpt fit --json "strategy={type: mirrored, replicas: $replicas}" fit.steps=6 fit.validation_freq=3 "output.dir=$TEST_DIR/$replicas" \
        'fit.callbacks.0={GenerateText: {every: 3, prompt: "ROMEO:", max_tokens: 12}}' "$@" 2>/dev/null || echo "exit $?"
}
"$DTRAIN" fit configs/char-gpt.yaml -n --json 'strategy={type: mirrored, replicas: 4}' dataset.global_batch_size=1 2>/dev/null >"$TEST_DIR/start"
value parameters "$TEST_DIR/start"

small 1 >"$TEST_DIR/1.json"
small 4 >"$TEST_DIR/4.json"
small 8 --steps 4 >"$TEST_DIR/8a.json"
small 8 >"$TEST_DIR/8.json"
want=$(weights "$TEST_DIR/1.json")
[ -n "$want" ] || cat "$TEST_DIR/1.json"
for run in 4 8; do
    [ "$(weights "$TEST_DIR/$run.json")" = "$want" ] || echo "$run replicas: other weights"
done
grep '"event":"text"' "$TEST_DIR/1.json" >"$TEST_DIR/texts"
wc -l <"$TEST_DIR/texts"
grep '"event":"text"' "$TEST_DIR/4.json" | cmp - "$TEST_DIR/texts"
cat "$TEST_DIR/8a.json" "$TEST_DIR/8.json" | grep '"event":"text"' | cmp - "$TEST_DIR/texts"
