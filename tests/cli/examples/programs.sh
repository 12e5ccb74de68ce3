#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The programs of examples/ that train on the sample digits run from the project's root without arguments, print, and exit with 0.
. tests/cli/setup.sh
. tests/cli/jobs.sh
needs_digits
for name in mirrored_mlp tpu_loop model_parts parameter_server; do
    [ -x "$BUILD/examples/$name" ] || { echo "no $BUILD/examples/$name: make examples" && exit 77; }
    "$BUILD/examples/$name" >"$TEST_DIR/out" 2>"$TEST_DIR/err" || echo "$name: exit $?"
    cat "$TEST_DIR/err"
    sed "s/[0-9]\.[0-9]*/N/g; s/, [0-9]* of them/, N of them/; s/^/$name: /" "$TEST_DIR/out"
done

# A loop that is killed at random moments and restarted on another slice each time ends with the weights of an undisturbed one.
[ -x "$BUILD/examples/checkpoint" ] || { echo "no $BUILD/examples/checkpoint: make examples" && exit 77; }
"$BUILD/examples/checkpoint" "$TEST_DIR/whole" >"$TEST_DIR/out" || echo "checkpoint: exit $?"
for slice in sim:v2-2 sim:v3-8 sim:v5litepod-1 sim:v2-8; do
    (timeout -s KILL 0.06 "$BUILD/examples/checkpoint" "$TEST_DIR/killed" $slice >/dev/null; :) 2>/dev/null
done
"$BUILD/examples/checkpoint" "$TEST_DIR/killed" sim:v5litepod-4 >"$TEST_DIR/again" || echo "checkpoint: exit $?"
tail -n 1 "$TEST_DIR/again" >"$TEST_DIR/end"
tail -n 1 "$TEST_DIR/out" | diff - "$TEST_DIR/end" && echo "checkpoint: the same weights"
