#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every starter is valid and trains as it is.
. tests/cli/setup.sh
for kind in mlp cnn text tabular; do
    "$DTRAIN" config init $kind >"$TEST_DIR/$kind.yaml" || echo "exit $?"
    exits 0 validate "$TEST_DIR/$kind.yaml"
    exits 0 fit "$TEST_DIR/$kind.yaml" --steps 3 output.dir="$TEST_DIR/$kind"
    head -n 1 "$TEST_DIR/$kind.yaml"
done
exits 64 config init
exits 64 config init gpt
sed 's/^dtrain: error: //' "$TEST_DIR/err"
