#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# model.init_from: training begins with weights of a checkpoint, a run or a file; what does not fit is named, or drawn.
. tests/cli/setup.sh
write_tiny
# without the line of the override and its carets, whose lengths are the folder's name's
show_brief() {
    show "$@" | grep -vE '^ +(1 )?\|'
}
sha() {
    sed -n 's/.*"weights_sha256":"\([0-9a-f]*\)".*/\1/p' "$1" | tail -n 1
}
"$DTRAIN" fit "$tiny" --json >"$TEST_DIR/first" || echo "exit $?"
"$DTRAIN" export "$tiny" -o "$TEST_DIR/w.safetensors" -q || echo "exit $?"
# a rate so small that no weight moves: what comes out is what went in
still='compile.optimizer.SGD.learning_rate=1e-30'
for from in run run/ckpt/step-00000012 w.safetensors; do
    "$DTRAIN" fit "$tiny" $still seed=8 model.init_from="$TEST_DIR/$from" output.dir="$TEST_DIR/second" --fresh --json >"$TEST_DIR/second.out" || echo "exit $?"
    [ "$(sha "$TEST_DIR/second.out")" = "$(sha "$TEST_DIR/first")" ] || echo "$from: other weights"
done
# a run that goes on has its own weights: the file may be gone
mv "$TEST_DIR/w.safetensors" "$TEST_DIR/v.safetensors"
"$DTRAIN" fit "$tiny" $still seed=8 model.init_from="$TEST_DIR/w.safetensors" output.dir="$TEST_DIR/second" fit.epochs=3 -q || echo "exit $?"
exits 66 fit "$tiny" model.init_from="$TEST_DIR/w.safetensors" output.dir="$TEST_DIR/third"
# another model
other='model.layers.1.Dense.name=hidden model.layers.2.Dense.units=4'
# shellcheck disable=SC2086
show_brief fit "$tiny" $other model.init_from="$TEST_DIR/v.safetensors" output.dir="$TEST_DIR/third" -q
# shellcheck disable=SC2086
show_brief fit "$tiny" model.layers.2.Dense.units=4 "model.init_from={path: $TEST_DIR/v.safetensors, skip_mismatch: true}" output.dir="$TEST_DIR/third" -q
# shellcheck disable=SC2086
show_brief fit "$tiny" $other "model.init_from={path: $TEST_DIR/v.safetensors, skip_mismatch: true}" output.dir="$TEST_DIR/fourth" -q
# Keras' paths begin with the name of the whole model
size=$(od -An -tu4 -N4 "$TEST_DIR/v.safetensors" | tr -d ' ')
head=$(tail -c +9 "$TEST_DIR/v.safetensors" | head -c "$size" | sed 's#"\([a-z_0-9]*/[a-z]*\)": *{"dtype#"sequential/\1": {"dtype#g')
{
    # shellcheck disable=SC2059 # the bytes of the length
    printf "\\$(printf %o $((${#head} % 256)))\\$(printf %o $((${#head} / 256)))\\0\\0\\0\\0\\0\\0%s" "$head"
    tail -c +$((size + 9)) "$TEST_DIR/v.safetensors"
} >"$TEST_DIR/p.safetensors"
grep -c 'sequential/' "$TEST_DIR/p.safetensors"
"$DTRAIN" fit "$tiny" $still seed=8 model.init_from="$TEST_DIR/p.safetensors" output.dir="$TEST_DIR/second" --fresh --json >"$TEST_DIR/second.out" || echo "exit $?"
[ "$(sha "$TEST_DIR/second.out")" = "$(sha "$TEST_DIR/first")" ] || echo "other weights"
