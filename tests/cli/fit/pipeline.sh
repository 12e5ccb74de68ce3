#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Layers on two cores and micro-batches change only the placement: every epoch's loss is that of the job without partition.
. tests/cli/setup.sh
. tests/cli/jobs.sh
losses() {
    "$DTRAIN" fit tests/jobs/pipeline.yaml "$@" output.dir="$TEST_DIR/run" --fresh 2>&1 | sed -n 's/^epoch \([0-9]*\).* loss \([0-9.]*\).*/\1 \2/p'
}
losses partition= >"$TEST_DIR/want"
cat "$TEST_DIR/want"
for micro in 1 4 8; do
    losses partition.micro_batches=$micro | cmp "$TEST_DIR/want" - || echo "$micro micro-batches: other losses"
done
