#!/bin/sh
# A pipeline is drawn in time, and every op and transfer says where it is.
. tests/cli/setup.sh
"$DTRAIN" lower tests/jobs/pipeline.yaml >"$TEST_DIR/program"
sed -n 1,6p "$TEST_DIR/program"
grep transfer "$TEST_DIR/program"
