#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every starter is valid and trains as it is, fits a terminal, and is valid with the lines for one's own data, too.
. tests/cli/setup.sh
for kind in mlp cnn text tabular; do
    "$DTRAIN" config init $kind >"$TEST_DIR/$kind.yaml" || echo "exit $?"
    exits 0 validate "$TEST_DIR/$kind.yaml"
    exits 0 fit "$TEST_DIR/$kind.yaml" --steps 3 output.dir="$TEST_DIR/$kind"
    head -n 1 "$TEST_DIR/$kind.yaml"
    awk 'length > 80 { print "longer than a line: " $0 }' "$TEST_DIR/$kind.yaml"
    sed '/^  format: synthetic/,/^  element: /d; s/^  #   /  /' "$TEST_DIR/$kind.yaml" >"$TEST_DIR/own.yaml"
    exits 0 validate --no-data "$TEST_DIR/own.yaml"
    grep -c '^  format: ' "$TEST_DIR/own.yaml"
done
exits 64 config init
exits 64 config init gpt
sed 's/^dtrain: error: //' "$TEST_DIR/err"
