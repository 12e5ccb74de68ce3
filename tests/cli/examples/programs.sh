#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The programs of examples/ that train on the sample digits run from the project's root without arguments, print, and exit with 0.
. tests/cli/setup.sh
. tests/cli/jobs.sh
needs_digits
for name in mirrored_mlp tpu_loop model_parts; do
    [ -x "$BUILD/examples/$name" ] || { echo "no $BUILD/examples/$name: make examples" && exit 77; }
    "$BUILD/examples/$name" >"$TEST_DIR/out" 2>"$TEST_DIR/err" || echo "$name: exit $?"
    cat "$TEST_DIR/err"
    sed "s/[0-9]\.[0-9]*/N/g; s/^/$name: /" "$TEST_DIR/out"
done
