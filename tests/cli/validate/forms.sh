#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The same errors as text, as JSON and for GitHub; all errors of a job at once.
. tests/cli/setup.sh
write_tiny
show validate "$tiny"
sed 's/metrics:/metics:/; s/epochs: 2/epochs: two/' "$tiny" >"$TEST_DIR/bad.yaml"
exits 78 validate "$TEST_DIR/bad.yaml"
hide <"$TEST_DIR/err"
for form in json github; do
    "$DTRAIN" validate --format $form "$tiny" "$TEST_DIR/bad.yaml" 2>/dev/null | hide
done
exits 78 validate "$tiny" "$TEST_DIR/bad.yaml" "$TEST_DIR/none.yaml"
exits 66 validate "$tiny" "$TEST_DIR/none.yaml"
exits 78 validate "$tiny" fit.epochs=0
