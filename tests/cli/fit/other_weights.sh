#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checksums have no key, so an attacker who replaces a checkpoint's weights can write new ones. The hash of the weights that the run announced
# is compared by every verb that reads them.
. tests/cli/setup.sh
. tests/cli/jobs.sh
write_tiny
run=$TEST_DIR/run
sha() { sha256sum | cut -d' ' -f1; }
"$DTRAIN" fit "$tiny" -q || echo "exit $?"
"$DTRAIN" ckpt verify -q "$run" || echo "exit $?"
from=$run/ckpt/step-00000006 to=$run/ckpt/step-00000012
was=$(sha <"$to/model.safetensors")
cp "$from/model.safetensors" "$to/model.safetensors"
is=$(sha <"$to/model.safetensors")
head -c -80 "$to/state.json" | sed "s/$was/$is/" | tr -d '\n' >"$TEST_DIR/state"
printf ', "sha256": "%s"}\n' "$(sha <"$TEST_DIR/state")" | cat "$TEST_DIR/state" - >"$to/state.json"
echo '== whatever reads them'
echo 1,2,3,4,5,6,7,8 >"$TEST_DIR/x.csv"
for verb in "evaluate $tiny" "predict $tiny --input $TEST_DIR/x.csv -o $TEST_DIR/y.csv" "export $tiny -o $TEST_DIR/m.onnx" "ckpt convert $run -o $TEST_DIR/w.npz" \
    "ckpt verify $to" "fit $tiny --fresh output.dir=$TEST_DIR/second model.init_from=$run"; do
    # shellcheck disable=SC2086 # words
    "$DTRAIN" $verb >"$TEST_DIR/out" 2>&1
    echo "${verb%% *}: exit $?"
    sed 's/sha [0-9a-f]\{12\}/sha H/; s/says [0-9a-f]\{12\}/says H/' "$TEST_DIR/out" | grep 'but state' | hide
done
for how in auto must "$to"; do
    "$DTRAIN" fit "$tiny" fit.epochs=3 --resume "$how" >"$TEST_DIR/out" 2>&1
    echo "$how: exit $?" | hide
    sed 's/sha [0-9a-f]\{12\}/sha H/; s/says [0-9a-f]\{12\}/says H/' "$TEST_DIR/out" | hide
done
"$DTRAIN" fit "$tiny" fit.epochs=3 -q --resume "$from"
echo "an older one: exit $?"
