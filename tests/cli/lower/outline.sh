#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Nothing of the weights is allocated for what is not compiled: steps of 540 billion parameters are printed in the memory of their text.
. tests/cli/setup.sh
small='let.layers=1 let.vocabulary=4096 let.sequence=64'
for stage in graph gradient folded program; do
    # shellcheck disable=SC2086 # a list of words
    "$DTRAIN" lower configs/published/palm-540b.yaml $small --stage $stage >"$TEST_DIR/$stage" || echo "$stage: exit $?"
    [ -s "$TEST_DIR/$stage" ] || echo "$stage: empty"
done
grep -o 'variable gate_0/kernel  *: .*\|variable optimizer/gate_0/kernel/[a-z]*  *: .*' "$TEST_DIR/program"
