#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# C01 to C08, C30: damage to any file of the newest checkpoint, or of all: the run resumes from the one before, with a warning, to the same weights; or
# the error names the damage, and training does not silently start over. Another model's checkpoint is refused by tensor and shape.
. tests/cli/setup.sh
. tests/cli/jobs.sh
write_tiny
whole=$TEST_DIR/whole run=$TEST_DIR/run secret=$TEST_DIR/secret
echo secret >"$secret"
want=$(hash "$tiny" fit.epochs=3)
"$DTRAIN" fit "$tiny" -q output.dir="$whole" || echo "exit $?"

# damage KIND FILE
damage() {
    size=$(wc -c <"$2")
    case $1 in
    cut) head -c $((size / 2)) "$2" >"$TEST_DIR/half" && cp "$TEST_DIR/half" "$2" ;;
    flip) { head -c $((size / 2)) "$2" && printf '\252' && tail -c +$((size / 2 + 2)) "$2"; } >"$TEST_DIR/half" && cp "$TEST_DIR/half" "$2" ;;
    empty) : >"$2" ;;
    removed) rm "$2" ;;
    link) ln -sf "$secret" "$2" ;;
    esac
}
# goes_on NAME WORDS...: the run goes on to three epochs; the exit code, what is said, the weights.
goes_on() {
    name=$1
    shift
    "$DTRAIN" fit "$tiny" fit.epochs=3 --json "$@" >"$TEST_DIR/out" 2>"$TEST_DIR/err"
    code=$?
    echo "$name: exit $code"
    sed 's/\(checksum mismatch\|not JSON\).*/\1/' "$TEST_DIR/err" | hide | cut -c1-200 | sed 's/^/    /'
    [ $code -ne 0 ] || [ "$(weights "$TEST_DIR/out")" = "$want" ] || echo "    other weights"
}
again() {
    rm -rf "$run"
    cp -r "$whole" "$run"
}

for kind in cut flip empty removed link; do
    for file in model.safetensors optimizer.safetensors state.json; do
        again
        damage $kind "$run/ckpt/step-00000012/$file"
        goes_on "$file $kind"
    done
done
again
for checkpoint in "$run"/ckpt/*; do damage flip "$checkpoint/model.safetensors"; done
goes_on 'all of them'
[ "$(cat "$secret")" = secret ] || echo "something was written through a link"

again
mkdir "$run/ckpt/step-00000099.tmp" "$run/ckpt/step-99999999999999999999"
goes_on 'names of others'
ls "$run/ckpt"
again
goes_on 'another model' model.layers.1.Dense.units=5
again
goes_on 'another optimizer' compile.optimizer=Adam
