#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A BatchNormalization takes the statistics of each replica's examples, unless it is synchronized: then results are the same for any number of
# replicas. Where they are not, training warns.
. tests/cli/setup.sh
write_tiny

# trained NAME REPLICAS ARGUMENTS: prints the output, and writes the weights to NAME
trained() {
    echo "$2 replicas, BatchNormalization: {$3}"
    "$DTRAIN" fit "$tiny" strategy.replicas="$2" "model.layers.1={BatchNormalization: {$3}}" output.dir="$TEST_DIR/$1" --json >"$TEST_DIR/out" || echo "exit $?"
    grep '"event":"warning"' "$TEST_DIR/out" | sed 's/"time[a-z_]*":[^,]*,//'
    weights "$TEST_DIR/out" >"$TEST_DIR/$1.sha"
}
trained one 1 ''
trained two 2 ''
trained resting 2 'trainable: false'
trained all 2 'synchronized: true'
trained four 4 'synchronized: true'
cmp "$TEST_DIR/one.sha" "$TEST_DIR/all.sha"
cmp "$TEST_DIR/one.sha" "$TEST_DIR/four.sha"
cmp -s "$TEST_DIR/one.sha" "$TEST_DIR/two.sha" && echo "there was nothing to warn of"
show fit "$tiny" "model.layers.1=BatchNormalization" output.dir="$TEST_DIR/three" -q
