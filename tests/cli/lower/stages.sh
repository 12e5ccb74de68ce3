#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every stage prints text, and no two print the same.
. tests/cli/setup.sh
write_tiny
for stage in graph gradient folded program executable; do
    "$DTRAIN" lower "$tiny" --stage $stage >"$TEST_DIR/$stage" || echo "$stage: exit $?"
    [ -s "$TEST_DIR/$stage" ] || echo "$stage: empty"
done
cmp -s "$TEST_DIR/graph" "$TEST_DIR/gradient" && echo "gradient is graph"
"$DTRAIN" lower "$tiny" | cmp - "$TEST_DIR/program"
