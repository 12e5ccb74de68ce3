#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The first N batches; if there are fewer, all. An override with another type of strategy drops the file's keys of the old one, as a job that extends a base does.
. tests/cli/setup.sh
write_tiny
"$DTRAIN" fit "$tiny" -q || echo "exit $?"
for steps in '' '--steps 1' '--steps 2' '--steps 9'; do
    # shellcheck disable=SC2086 # words
    "$DTRAIN" evaluate "$tiny" $steps --json >"$TEST_DIR/out" || echo "exit $?"
    echo "$steps: $(sed -n 's/.*"examples":\([0-9]*\)}.*/\1/p' "$TEST_DIR/out") examples"
    cp "$TEST_DIR/out" "$TEST_DIR/steps${steps#--steps }"
done
cmp "$TEST_DIR/steps" "$TEST_DIR/steps9"
exits 64 evaluate "$tiny" --steps 0
exits 0 plan "$tiny" --tpu v3-8
exits 0 fit "$tiny" -n strategy.type=tpu strategy.cluster_resolver.tpu=sim:v2-8
exits 0 fit "$tiny" -n strategy.device=CPU:0 strategy.type=one_device
exits 78 fit "$tiny" -n strategy.type=one_device
exits 78 fit "$tiny" -n strategy.type=mirored
